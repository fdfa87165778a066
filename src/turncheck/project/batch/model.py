"""Batch suites, read and typed. Everything has its :class:`~turncheck.messages.location.Location`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turncheck.messages.location import Location

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.messages.finding import Finding

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


@dataclass(frozen=True, slots=True)
class Suites:
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
