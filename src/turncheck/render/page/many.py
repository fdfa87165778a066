"""Conversations that are created while they are written: thousands of transcripts do not fit into memory at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

from msgspec import structs

from turncheck.render.page.model import Conversation, Side


@dataclass(frozen=True, slots=True)
class Listed:
    """What is known of a conversation before it is made."""

    make: Callable[[], Conversation]
    key: str
    outcome: str
    side: Side


Change = Callable[[Conversation], Conversation]
Applies = Callable[[Listed], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Conversations(Sequence[Conversation]):
    """Conversations, created anew on each iteration, with each of the ``changes`` that applies."""

    listed: tuple[Listed, ...]
    changes: tuple[tuple[Change, Applies], ...] = ()

    def __iter__(self) -> Iterator[Conversation]:
        """Create them, one by one."""
        return map(self._made, self.listed)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.listed)

    @overload
    def __getitem__(self, index: int) -> Conversation: ...
    @overload
    def __getitem__(self, index: slice) -> Conversations: ...

    def __getitem__(self, index: int | slice) -> Conversation | Conversations:
        """Create one, or return a slice without creating it."""
        if isinstance(index, slice):
            return replace(self, listed=self.listed[index])
        return self._made(self.listed[index])

    def __eq__(self, other: object) -> bool:
        """Whether all are equal."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return self is other or (len(self) == len(other) and all(map(Conversation.__eq__, self, other)))

    __hash__ = None  # type: ignore[assignment]  # as lists have none

    def _made(self, listed: Listed) -> Conversation:
        made = structs.replace(listed.make(), key=listed.key)
        for change, applies in self.changes:
            if applies(listed):
                made = change(made)
        return made


def changed(conversations: Sequence[Conversation], change: Change, applies: Applies) -> Sequence[Conversation]:
    """Return the conversations with a change; the same object if it applies to none."""
    if not isinstance(conversations, Conversations) or not any(map(applies, conversations.listed)):
        return conversations
    return replace(conversations, changes=(*conversations.changes, (change, applies)))


def keys_of(conversations: Sequence[Conversation]) -> Iterator[str]:
    """Yield their keys, without creating them."""
    if isinstance(conversations, Conversations):
        return (listed.key for listed in conversations.listed)
    return (conversation.key for conversation in conversations)
