"""What language understanding is trained on and tested with: sentences, their entities, synonyms, patterns, lists.

These classes hold only data, including their :class:`~turncheck.messages.location.Location`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

from turncheck.messages.location import NOWHERE, Location

if TYPE_CHECKING:
    from collections.abc import Mapping


class Origin(Protocol):
    """Locates the ``index``-th example of a block on demand, which keeps reading fast."""

    def locate(self, index: int) -> Location:
        """Return the location of the example with this index."""


@dataclass(frozen=True, slots=True)
class EntityAnnotation:
    """An annotated entity. Offsets are code points in the plain text; ``value`` may be any JSON scalar."""

    start: int
    end: int
    entity: str
    value: Any
    role: str | None = None
    group: str | None = None


@dataclass(slots=True, unsafe_hash=True)
class Example:
    """A training or test sentence without its annotation marks. Never changed once it is made.

    Not declared frozen, since making a frozen instance takes four times as long, and there may be a hundred thousand.
    ``intent`` is the full label: ``faq/ask_hours`` for a retrieval intent; ``None`` if the file has none.
    ``metadata`` as Rasa keeps it: ``{"intent": …, "example": …}``, with only the keys that the file has.
    """

    text: str
    intent: str | None
    entities: tuple[EntityAnnotation, ...] = ()
    metadata: Mapping[str, Any] | None = None
    origin: Origin | None = field(default=None, repr=False, compare=False)
    index: int = field(default=0, repr=False, compare=False)

    @property
    def location(self) -> Location:
        """Where the sentence begins; computed when asked."""
        return NOWHERE if self.origin is None else self.origin.locate(self.index)

    @property
    def base_intent(self) -> str | None:
        """The intent without its response key: ``faq`` for ``faq/ask_hours``."""
        return None if self.intent is None else self.intent.partition("/")[0]

    @property
    def place_in_order(self) -> tuple[str, str, str, str]:
        """What sentences are sorted by where the order of files and lines must not matter."""
        return self.intent or "", self.text, repr(self.entities), repr(self.metadata)

    @property
    def retrieval_label(self) -> str | None:
        """The full label if it has a response key, else ``None``."""
        return self.intent if self.intent and "/" in self.intent else None


class WholeLabelExample(Example):
    """An example of a format without retrieval intents: a slash is a part of the intent's name."""

    __slots__ = ()

    @property
    def base_intent(self) -> str | None:
        """The intent."""
        return self.intent

    @property
    def retrieval_label(self) -> str | None:
        """Always ``None``: the format has no retrieval intents."""
        return None


@dataclass(frozen=True, slots=True)
class Synonym:
    """One surface form that stands for ``value``."""

    value: str
    synonym: str
    location: Location


@dataclass(frozen=True, slots=True)
class Regex:
    """A named pattern of the NLU data."""

    name: str
    pattern: str
    location: Location


@dataclass(frozen=True, slots=True)
class Lookup:
    """A lookup table; its ``elements`` come from the NLU file, or from ``file`` (relative to the project)."""

    name: str
    elements: tuple[str, ...]
    location: Location
    file: str | None = None


@dataclass(frozen=True, slots=True)
class NluData:
    """All NLU data of a project, in the order in which Rasa merges the files.

    Rasa drops an example that equals an earlier one in text, intent, entities and metadata; such examples are in
    ``duplicates``. Synonyms are those of synonym blocks and those that annotations imply (a value that differs from the
    text); if a text has several values the last one counts. Lookups with the same name are one table per file.
    """

    examples: tuple[Example, ...] = ()
    synonyms: tuple[Synonym, ...] = ()
    regexes: tuple[Regex, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    duplicates: tuple[Example, ...] = ()

    def in_order(self) -> NluData:
        """The same with sorted sentences: for what must not depend on their order in files."""
        return replace(self, examples=tuple(sorted(self.examples, key=attrgetter("place_in_order"))))
