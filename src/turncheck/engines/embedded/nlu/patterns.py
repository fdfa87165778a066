"""Regexes and lookup tables of the NLU data as named patterns, in the order in which Rasa tries them.

Rasa makes one alternation of a lookup table, which is tried at each character of each sentence: 56,000 names and 500
sentences take half a minute, in each fold. Here the entries that occur in a sentence are looked up first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

from msgspec import Struct

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.project.nlu_data import NluData

Span = tuple[int, int]
_FEW: Final = 200
"""An alternation of so few entries is as quick as looking them up."""


class PatternShape(TypedDict):
    """A pattern in a model; ``elements``: the entries of a lookup table."""

    name: str
    pattern: str
    flags: int
    elements: NotRequired[list[str]]


class NamedPattern(Struct, frozen=True):
    """A pattern and the name of the regex or lookup table it came from."""

    name: str
    pattern: re.Pattern[str] | LookupTable

    def spans(self, text: str) -> list[Span]:
        """Return where it matches, from left to right."""
        return [match.span() for match in self.pattern.finditer(text)]

    def as_json(self) -> PatternShape:
        """Its JSON in a model."""
        flags = self.pattern.flags & int(re.IGNORECASE)
        if isinstance(self.pattern, LookupTable):
            border, elements = self.pattern.border, list(self.pattern.elements)
            return {"name": self.name, "pattern": border, "flags": flags, "elements": elements}
        return {"name": self.name, "pattern": self.pattern.pattern, "flags": flags}

    @classmethod
    def from_json(cls, data: PatternShape) -> NamedPattern:
        """Inverse of :meth:`as_json`."""
        flags = data["flags"] & int(re.IGNORECASE)
        if "elements" in data:
            return cls(data["name"], LookupTable.of(tuple(data["elements"]), data["pattern"], flags))
        return cls(data["name"], re.compile(data["pattern"], flags))


class LookupTable(Struct, frozen=True):
    r"""The entries of a lookup table as one alternation, of which the first listed that fits wins."""

    elements: tuple[str, ...]
    border: str
    r"""What stands around each entry: ``\b``, or nothing."""
    flags: int
    places: Mapping[str, list[int]]
    """The places of the entries among ``elements``, by how they are compared."""
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, elements: tuple[str, ...], border: str, flags: int) -> LookupTable:
        """Index the entries."""
        places: dict[str, list[int]] = {}
        for place, element in enumerate(elements):
            places.setdefault(_compared(element, flags), []).append(place)
        return cls(elements, border, flags, places, tuple(sorted(set(map(len, elements)))))

    def finditer(self, text: str) -> list[re.Match[str]]:
        """Return what the alternation matches in a text: only the entries that occur in it are tried."""
        compared = _compared(text, self.flags)
        occurring: set[int] = set()
        for start in range(len(text) + 1):
            for length in self.lengths:
                occurring.update(self.places.get(compared[start : start + length], ()))
        if not occurring:
            return []
        pattern = alternation([self.elements[place] for place in sorted(occurring)], self.border)
        return list(re.finditer(pattern, text, self.flags))


def alternation(elements: list[str], border: str) -> str:
    """Join a lookup table's entries into one pattern."""
    return "(" + "|".join(f"{border}{re.escape(element)}{border}" for element in elements) + ")"


_ALIKE: Final = str.maketrans({"ı": "i", "İ": "i", "\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"})
"""What Python's patterns take for the same letter if case is ignored, beyond case folding."""


def _compared(text: str, flags: int) -> str:
    """A text, one character for each, that is the same for all that a pattern with these flags takes for the same."""
    if not flags & re.IGNORECASE:
        return text
    return "".join(map(_folded, text)).translate(_ALIKE)


def _folded(character: str) -> str:
    folded = character.casefold()
    return folded if len(folded) == 1 else lower if len(lower := character.lower()) == 1 else character


def collect_patterns(
    nlu: NluData, parameters: Mapping[str, Any], only: frozenset[str] | None = None
) -> tuple[NamedPattern, ...]:
    """Collect the patterns a component uses: the regexes sorted by ``name+pattern``, then the lookup tables.

    ``parameters`` are the component's (``use_regexes``, ``use_lookup_tables``, ``use_word_boundaries``,
    ``case_sensitive``); with ``only``, only patterns with these names are used.

    Raises:
        UserError: a regex is not a regular expression (Rasa then refuses to train, too).
    """
    flags = 0 if parameters["case_sensitive"] else int(re.IGNORECASE)
    named_patterns: list[NamedPattern] = []
    if parameters["use_regexes"]:
        for regex in sorted(nlu.regexes, key=lambda regex: f"{regex.name}+{regex.pattern}"):
            if only is None or regex.name in only:
                try:
                    named_patterns.append(NamedPattern(regex.name, re.compile(regex.pattern, flags)))
                except (re.error, OverflowError, RecursionError) as error:
                    raise UserError(
                        f"the regex {regex.name!r} is not a regular expression: {error}", location=regex.location
                    ) from None
    if parameters["use_lookup_tables"]:
        border = r"\b" if parameters["use_word_boundaries"] else ""
        named_patterns += [
            NamedPattern(lookup.name, _pattern_of(lookup.elements, border, flags))
            for lookup in nlu.lookups
            if lookup.elements and (only is None or lookup.name in only)
        ]
    return tuple(named_patterns)


def _pattern_of(elements: tuple[str, ...], border: str, flags: int) -> re.Pattern[str] | LookupTable:
    if len(elements) > _FEW:
        return LookupTable.of(elements, border, flags)
    return re.compile(alternation(list(elements), border), flags)
