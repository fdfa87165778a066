"""The messages of one answer: each text with the buttons, media and cards that are next to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.web.json_path import JsonPath, Place

KINDS: Final = ("buttons", "media", "cards")
"""What a message can have besides its text, by the keys of ``bot:``."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the bot's, perhaps without text. ``data``: its buttons (as Rasa has them), media and cards, if any.

    ``answer``: what it was in.
    """

    text: str | None
    data: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    answer: Any = field(default=None, repr=False)


def messages_of(
    replies: JsonPath,
    texts: Iterable[tuple[Place, str]],
    shown: Mapping[str, Iterable[tuple[Place, Any]]],
    answer: Any,
) -> tuple[Message, ...]:
    """Return the messages in the order in which their texts are selected.

    What is shown belongs to the text in the same entry of the list of messages. An entry without text is a message
    without text, in its place if the texts are selected in the order of the list, else after them. What is outside of
    the list belongs to every message.
    """
    said: dict[Place, list[str | None]] = {}
    data: dict[Place, dict[str, list[Any]]] = {}
    for place, text in texts:
        said.setdefault(replies.entry_of(place), []).append(text)
    for kind, values in shown.items():
        for place, value in values:
            data.setdefault(replies.entry_of(place), {}).setdefault(kind, []).append(value)
    outside = data.pop((), {}) if said or len(data) > 1 else {}
    messages: list[Message] = []
    in_order = list(said)
    entries = sorted({*said, *data})
    if in_order != sorted(in_order):
        entries = in_order + [entry for entry in entries if entry not in said]
    for entry in entries:
        own = {kind: (*data.get(entry, {}).get(kind, ()), *outside.get(kind, ())) for kind in KINDS}
        present = {kind: values for kind, values in own.items() if values}
        messages += [Message(text, present, answer) for text in said.get(entry, [None])]
    return tuple(messages)
