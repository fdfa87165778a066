"""What language understanding is trained on and tested with: sentences, their entities, synonyms, patterns, lists.

These classes hold only data, including their :class:`~turncheck.messages.finding.Location`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from turncheck.messages.finding import NOWHERE, Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Origin(Protocol):
    """Locates the ``index``-th example of a block on demand, which keeps reading fast."""

    def locate(self, index: int) -> Location:
        """Return the location of the example with this index."""


class EntityAnnotation(Struct, frozen=True):
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


class Synonym(Struct, frozen=True):
    """One surface form that stands for ``value``."""

    value: str
    synonym: str
    location: Location


class Regex(Struct, frozen=True):
    """A named pattern of the NLU data."""

    name: str
    pattern: str
    location: Location


class Lookup(Struct, frozen=True):
    """A lookup table; its ``elements`` come from the NLU file, or from ``file`` (relative to the project)."""

    name: str
    elements: tuple[str, ...]
    location: Location
    file: str | None = None


class NluData(Struct, frozen=True):
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
        return replace(self, examples=tuple(in_order_of_texts(self.examples)))


def in_order_of_texts(examples: Iterable[Example]) -> list[Example]:
    """Sort sentences by what they say, wherever they are written."""
    return sorted(examples, key=attrgetter("place_in_order"))


# Words as Rasa's WhitespaceTokenizer splits them, for training on sentences and for checking them.

_SEPARATORS: Final = (
    # before white space or the end
    r"[^\w#@&]+(?=\s|$)"
    # after white space or at the start, if neither a digit nor white space follows
    r"|(?:\s|^)[^\w#@&]+(?=[^0-9\s])"
    # within a word, characters that do not occur in a number, address or URL
    r"|(?<=[^0-9\s])[^\w._~:/?#\[\]()@!$&*+,;=-]+(?=[^0-9\s])"
)
"""What separates words in Rasa's WhitespaceTokenizer (a fact of its behaviour, tested against it)."""

_ASCII_SEPARATORS: Final = re.compile(_SEPARATORS)

_EMOJI: Final = (
    "[\U0001f600-\U0001f64f\U0001f300-\U0001f5ff\U0001f680-\U0001f6ff\U0001f1e0-\U0001f1ff"
    "\u2702-\u27b0\u24c2-\U0001f251\u200d\u200c]+"
)
"""The characters that Rasa treats as emoji; one of its ranges also holds Chinese, Japanese and Korean script.
Not compiled here: that takes milliseconds, and is needed only for texts beyond ASCII."""


@lru_cache(maxsize=1)
def _unicode_separators() -> Any:
    """``\\w`` of the third-party ``regex`` counts combining marks as word characters, ``re`` does not; Rasa uses it."""
    import regex  # only for texts beyond ASCII

    return regex.compile(_SEPARATORS)


def whitespace_words(text: str) -> list[str]:
    """Split ``text`` into words as Rasa's WhitespaceTokenizer does, before its ``token_pattern``."""
    plain = text.isascii() and text.isprintable()  # both engines agree then, and `re` is faster
    separators = _ASCII_SEPARATORS if plain else _unicode_separators()
    words: list[str] = separators.sub(" ", text).split()
    if not plain:
        words = [word for word in words if not is_dropped(word)]
    return words or [text]


def is_dropped(word: str) -> bool:
    """Whether Rasa's WhitespaceTokenizer drops a word since all of it is emoji, or letters that it takes for emoji."""
    return not word.isascii() and re.fullmatch(_EMOJI, word) is not None


def word_borders(words: Iterable[str], text: str) -> list[tuple[int, int]]:
    """Return the start and end of each word in ``text``, searching from the end of the previous one."""
    borders = []
    offset = 0
    for word in words:
        start = text.index(word, offset)
        offset = start + len(word)
        borders.append((start, offset))
    return borders
