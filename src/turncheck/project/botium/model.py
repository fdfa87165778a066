"""What is in Botium's files: conversations, utterance lists and tables of values, everything with its location."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.messages.finding import Location

Sender = Literal["begin", "include", "me", "bot", "end"]
SENDERS: tuple[Sender, ...] = ("begin", "include", "me", "bot", "end")


class Called(Struct, frozen=True):
    """A line that is not text: an asserter (perhaps ``!`` negated, ``?`` optional), a logic hook or a user input."""

    name: str
    args: tuple[str, ...]
    location: Location
    negated: bool = False
    optional: bool = False


class Section(Struct, frozen=True):
    """A section of a conversation. ``text`` is ``None`` without a message; ``json`` is a message written as JSON."""

    sender: Sender
    location: Location
    channel: str | None = None
    text: str | None = None
    json: Any = None
    negated: bool = False
    optional: bool = False
    asserters: tuple[Called, ...] = ()
    hooks: tuple[Called, ...] = ()
    inputs: tuple[Called, ...] = ()

    @property
    def includes(self) -> tuple[str, ...]:
        """The partial conversations that are included here, by their names."""
        if self.sender != "include":
            return tuple(name for hook in self.hooks if hook.name == "INCLUDE" for name in hook.args)
        lines = (line.strip() for line in (self.text or "").split("\n"))
        return (*((self.channel,) if self.channel else ()), *(line for line in lines if line))

    @property
    def does_something(self) -> bool:
        """Whether there is more in it than partial conversations to be included."""
        has_hooks = any(hook.name != "INCLUDE" for hook in self.hooks)
        return bool(self.text or self.json is not None or self.asserters or self.inputs or has_hooks)


class Convo(Struct, frozen=True):
    """A conversation, or one that others include."""

    name: str
    location: Location
    sections: tuple[Section, ...]
    description: str = ""


class UtteranceList(Struct, frozen=True):
    """Texts with a name: what users may say, or any of the texts that an assistant may answer with.

    ``files``: what each file adds to it, by their paths, if there are several.
    """

    name: str
    texts: tuple[str, ...]
    location: Location
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def by_file(self) -> Mapping[str, tuple[str, ...]]:
        """The texts that each file adds to it."""
        return self.files or {self.location.path: self.texts}


class MemoryRow(Struct, frozen=True):
    """A named row of a table of values: ``$product`` and others."""

    name: str
    values: Mapping[str, str | None]
    location: Location


class Plugins(Struct, frozen=True):
    """The names that a ``botium.json`` gives to plug-ins; ``everywhere``: those that are part of every conversation."""

    asserters: frozenset[str] = frozenset()
    hooks: frozenset[str] = frozenset()
    inputs: frozenset[str] = frozenset()
    everywhere: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        return self.asserters | self.hooks | self.inputs


NAMES: Final[Mapping[str, Any]] = {
    "PROJECTNAME": "Botium Project",
    "TESTSESSIONNAME": "Botium Test Session",
    "TESTCASENAME": "Botium Test Case",
}
"""Settings that Botium has in every project."""


class Capabilities(Struct, frozen=True):
    """The settings of a ``botium.json`` that matter to how conversations are read and judged, with Botium's defaults.

    ``memory``: whether ``$name`` in texts is a value; ``None`` if nothing says so. ``word_errors``: the share of words
    that may differ with the matching mode ``wer``. ``expansion``: which texts of an utterance list a user says.
    ``removed_pattern``: what is taken out of texts, as it is written for JavaScript.
    ``goes_on``: whether a conversation goes on after an assertion that failed. ``given``: all settings, as written.
    """

    matching: str = "wildcardIgnoreCase"
    word_errors: str = ""
    normalised: bool = True
    removed_characters: tuple[str, ...] = ()
    removed_pattern: str = ""
    memory: bool | None = None
    memory_words: str = ""
    memory_columns: str = ""
    keeps_originals: bool = False
    expansion: str = "all"
    random_count: int = 1
    names_texts: bool = False
    longest_name: int = 16
    all_consumed: bool = False
    goes_on: bool = False
    given: Mapping[str, Any] = field(default_factory=lambda: NAMES)
    plugins: Plugins = Plugins()
    location: Location | None = None


# How a conversation is held and judged.


class Check(Struct, frozen=True):
    """An asserter of a section; ``texts``: its arguments, the names of utterance lists replaced by their texts."""

    asserter: Called
    texts: tuple[str, ...]


class Reply(Struct, frozen=True):
    """A section ``#bot``: what the next message has to be. ``texts``: any of them is right; without any, all are.

    ``matching``: how texts are compared, with the share of ``word_errors`` for ``wer``.
    """

    section: Section
    texts: tuple[str, ...]
    checks: tuple[Check, ...]
    matching: str
    word_errors: str


@dataclass(frozen=True, slots=True)
class Part:
    """What belongs to one message of the user: its logic hooks, the replies, and what is done and judged at the end.

    ``must_be_read``: whether a message that no section has read is a fault.
    """

    hooks: tuple[Called, ...] = ()
    replies: tuple[Reply, ...] = ()
    last_hooks: tuple[Called, ...] = ()
    last_checks: tuple[Called, ...] = ()
    must_be_read: bool = False


class Script(Struct, frozen=True):
    """What holds for a whole conversation: the settings, and the logic hooks at its beginning.

    ``memory_from``: what makes ``$name`` in its texts a value, if anything does.
    """

    name: str
    settings: Capabilities
    hooks: tuple[Called, ...] = ()
    memory_from: Location | None = None
