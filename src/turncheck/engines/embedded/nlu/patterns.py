"""Regexes and lookup tables of the NLU data as named patterns, in the order in which Rasa tries them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypedDict

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.project.nlu_data import Lookup, NluData


class _PatternShape(TypedDict):
    name: str
    pattern: str
    flags: int


@dataclass(frozen=True, slots=True)
class NamedPattern:
    """A compiled pattern and the name of the regex or lookup table it came from."""

    name: str
    pattern: re.Pattern[str]

    def as_json(self) -> _PatternShape:
        """Its JSON in a model."""
        return {"name": self.name, "pattern": self.pattern.pattern, "flags": self.pattern.flags & int(re.IGNORECASE)}

    @classmethod
    def from_json(cls, data: _PatternShape) -> NamedPattern:
        """Inverse of :meth:`as_json`."""
        return cls(data["name"], re.compile(data["pattern"], data["flags"] & int(re.IGNORECASE)))


@dataclass(frozen=True, slots=True)
class OfPatterns:
    """A component whose only trained state is patterns."""

    patterns: tuple[NamedPattern, ...]

    def save(self, members: MemberWriter) -> None:
        """Write the patterns."""
        members.json("patterns", [pattern.as_json() for pattern in self.patterns])

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Read the patterns."""
        return cls(tuple(NamedPattern.from_json(pattern) for pattern in members.json("patterns", list[_PatternShape])))


def lookup_pattern(elements: tuple[str, ...], *, word_boundaries: bool) -> str:
    r"""Join a lookup table's elements into one alternation, ``\b`` around each; the first listed that fits wins."""
    border = r"\b" if word_boundaries else ""
    return "(" + "|".join(f"{border}{re.escape(element)}{border}" for element in elements) + ")"


def collect_patterns(
    nlu: NluData, parameters: Mapping[str, Any], only: frozenset[str] | None = None
) -> tuple[NamedPattern, ...]:
    """Collect the patterns a component uses: the regexes sorted by ``name+pattern``, then the lookup tables.

    ``parameters`` are the component's (``use_regexes``, ``use_lookup_tables``, ``use_word_boundaries``,
    ``case_sensitive``); with ``only``, only patterns with these names are used.

    Raises:
        UserError: a regex is not a regular expression (Rasa then refuses to train, too).
    """
    flags = 0 if parameters["case_sensitive"] else re.IGNORECASE
    found: list[NamedPattern] = []
    if parameters["use_regexes"]:
        for regex in sorted(nlu.regexes, key=lambda regex: f"{regex.name}+{regex.pattern}"):
            if only is None or regex.name in only:
                try:
                    found.append(NamedPattern(regex.name, re.compile(regex.pattern, flags)))
                except (re.error, OverflowError, RecursionError) as error:
                    raise UserError(
                        f"the regex {regex.name!r} is not a regular expression: {error}", location=regex.location
                    ) from None
    if parameters["use_lookup_tables"]:
        for name, elements in _lookup_tables(nlu.lookups):
            if elements and (only is None or name in only):
                source = lookup_pattern(elements, word_boundaries=parameters["use_word_boundaries"])
                found.append(NamedPattern(name, re.compile(source, flags)))
    return tuple(found)


def _lookup_tables(lookups: tuple[Lookup, ...]) -> list[tuple[str, tuple[str, ...]]]:
    return [(lookup.name, lookup.elements) for lookup in lookups]
