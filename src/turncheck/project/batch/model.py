"""Batch suites, read and typed. Everything has its :class:`~turncheck.messages.finding.Location`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from turncheck.messages.finding import Finding, Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


MAX_INPUT: Final = 3000
"""The most characters in an utterance; the platform refuses a suite with a longer one."""
MAX_CASES: Final = 1000
"""The most utterances in a suite that is uploaded. Assertions are counted, not rows."""
MAX_ALTERNATIVES: Final = 3

THRESHOLDS: Final = (
    "minThreshold",
    "maxThreshold",
    "exactMatchThreshold",
    "isActive",
    "taskMatchTolerance",
    "wordCoverage",
    "suggestionsCount",
    "pathCoverage",
)
"""The settings of each of the platform's engines that are in its report of a run, in the report's order."""
THRESHOLD_MODES: Final = ("ml", "faq", "or", "cs")
"""The modes in which that report has them, in its order."""

NOWHERE: Final = Location("")


@dataclass(frozen=True, slots=True)
class ExpectedEntity:
    """An entity that has to be found with any of the ``values``, which are as written."""

    name: str
    values: tuple[str, ...]
    location: Location = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """An utterance and what is expected of it.

    ``intents``: alternatives, of which one has to match; with ``is_trait`` traits, all of which have to be found; empty
    if nothing may match. ``parent``: the intents in whose context it is said, topmost first. ``order``: the order in
    which entities are to be extracted. ``bots``: for a universal bot, the bot of each intent. ``generated``: no user
    said it, a program generated it. ``intent_location``: where the intent is written.
    """

    text: str
    intents: tuple[str, ...]
    is_trait: bool = False
    parent: tuple[str, ...] = ()
    entities: tuple[ExpectedEntity, ...] = ()
    order: tuple[str, ...] = ()
    bots: tuple[str, ...] = ()
    generated: bool = False
    location: Location = field(default=NOWHERE, compare=False)
    intent_location: Location = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of one file. ``name``: the file's name without its extension, unless another one is set.

    ``path``: as shown in reports; ``file``: where it is read.
    """

    name: str
    path: str
    cases: tuple[SuiteCase, ...] = ()
    description: str = ""
    file: Path | None = field(default=None, compare=False, repr=False)


class Suites(msgspec.Struct, frozen=True):
    """Suites in the order of their files, and the faults of the files. A file with an error has no suite."""

    suites: tuple[Suite, ...] = ()
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings because of which a file is refused."""
        return tuple(finding for finding in self.findings if finding.severity == "error")


def comparable(name: str) -> str:
    """Normalise a name for comparison: trimmed, case-folded, ``_`` as a space, runs of spaces as one.

    >>> comparable(" Book_Flight ")
    'book flight'
    """
    return " ".join(name.replace("_", " ").split()).casefold()


_STOP_WORDS: Final = frozenset({"a", "an", "and", "are", "be", "is", "it", "of", "or", "that", "the", "this", "was"})
"""Those that are on any list: an assistant's own is not part of what is exported with its suites."""


_MOST_WORDS: Final = 5


def why_unusual(name: str, special: str) -> str | None:
    """Say in what the name of an intent is not as the platform advises, ``None`` if it is: few and plain words.

    ``special``: the characters in it that are not plain.

    >>> why_unusual("Track the order", "")
    "has 'the', which the platform ignores in sentences"
    """
    words = comparable(name).split()
    if special:
        return f"has the characters {special}"
    if len(words) > _MOST_WORDS:
        return f"has {len(words)} words"
    ignored = " and ".join(f"'{word}'" for word in dict.fromkeys(words) if word in _STOP_WORDS)
    return f"has {ignored}, which the platform ignores in sentences" if ignored else None


# The names in a project that a suite may expect.

KINDS: Final = ("dialog", "faq", "small_talk", "trait")


class KnownIntent(msgspec.Struct, frozen=True):
    """An intent of the project; ``in_total``: whether coverage counts it."""

    name: str
    kind: str
    in_total: bool = True


class KnownNames(msgspec.Struct, frozen=True):
    """Names by their comparable forms, including an intent's other names (older ones, in other languages).

    ``disabled``: FAQs that are switched off; they are not among the ``intents``. ``extracted_first``: the entities that
    are learnt or found by a pattern, in comparable form: the platform extracts these before the others. ``path``: the
    file that they are from, if they are from one.
    """

    intents: Mapping[str, KnownIntent] = msgspec.field(default_factory=dict)
    traits: Mapping[str, KnownIntent] = msgspec.field(default_factory=dict)
    entities: Mapping[str, str] = msgspec.field(default_factory=dict)
    disabled: Mapping[str, str] = msgspec.field(default_factory=dict)
    extracted_first: frozenset[str] = frozenset()
    path: str = ""

    def kind_of(self, name: str) -> str | None:
        """Return the kind of an intent or trait; ``None`` if the project has none of this name."""
        known_intent = self.intents.get(comparable(name)) or self.traits.get(comparable(name))
        return None if known_intent is None else known_intent.kind

    def canonical(self, name: str, *, is_trait: bool = False) -> str:
        """Return the name by which an intent or trait is compared."""
        known_intent = (self.traits if is_trait else self.intents).get(comparable(name))
        return comparable(name if known_intent is None else known_intent.name)

    def in_total(self, kind: str) -> dict[str, str]:
        """Return the intents of a kind that coverage counts, by their comparable names."""
        known = self.traits if kind == "trait" else self.intents
        return {
            comparable(intent.name): intent.name for intent in known.values() if intent.kind == kind and intent.in_total
        }


def by_comparable(names: Iterable[str]) -> dict[str, str]:
    """Return names by their comparable forms; of two with the same form the first counts."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(comparable(name), name)
    return found
