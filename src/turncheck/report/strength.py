"""The report's section on the strength of the tests."""

from __future__ import annotations

from typing import Any, Final, Literal

from turncheck.messages.finding import Location
from turncheck.report.part import Count, Figure, Part

Killer = Literal["sentence", "story", "case", "validation"]
KILLERS: Final[tuple[Killer, ...]] = ("sentence", "story", "case", "validation")


class MutantResult(Part, frozen=True, kw_only=True):
    """The project with one small fault, and whether anything noticed it."""

    operator: str
    """What kind of fault it is: ``drop-step``, ``swap-responses`` …"""
    kind: str
    """The part of the project that it is in: ``sentences``, ``responses``, ``stories``, ``slots``, ``forms`` …"""
    what: str
    """The fault, in words."""
    location: Location
    """The line that is lost or altered."""
    outcome: Literal["killed", "survived", "equivalent"]
    """``equivalent``: it behaves as the project does, so there is nothing to notice."""
    by: Killer | None = None
    """What noticed it first: a sentence, a story, an end-to-end case, or validation alone."""
    test: str | None = None
    """The test that noticed it; of validation the code of the finding."""
    test_location: Location | None = None
    """Where that is."""


class MutantGroup(Part, frozen=True, kw_only=True):
    """The mutants of one kind, or of one file."""

    name: str
    """The kind, or the file's path."""
    score: Figure | None
    """killed / (killed + survived); ``None`` where there is nothing to kill."""
    by_tests: Figure | None = None
    """The same, counting only what tests noticed, not validation."""
    killed: Count
    """How many were noticed."""
    survived: Count
    """How many went unnoticed."""
    equivalent: Count
    """How many behave as the project does."""


class Fault(Part, frozen=True, kw_only=True):
    """What identifies a planted fault."""

    operator: str
    """What kind of fault it is."""
    what: str
    """The fault, in words."""
    location: Location
    """The line that is lost or altered."""


class SuggestedTest(Part, frozen=True, kw_only=True):
    """A test that nobody has written yet: it passes now, and notices what no test notices."""

    kind: Literal["case", "story"]
    """An end-to-end case, or a test story."""
    name: str
    """What it would be called."""
    along: str
    """What it walks along: a rule, a story, or one sentence."""
    location: Location
    """Where that is."""
    walked: bool = True
    """Whether a test walks along that already."""
    notices: tuple[Fault, ...] = ()
    """The faults that it was tried on and notices."""
    steps: tuple[dict[str, Any], ...] = ()
    """Its steps, as they are written."""
    fixture: dict[str, Any] = {}
    """The slots that a case begins with."""


class Strength(Part, frozen=True, kw_only=True):
    """How many small faults the tests would notice."""

    scope: Literal["all", "changed"] = "all"
    """Whether all mutants were meant, or those of the lines that the change touches."""
    score: Figure | None
    """killed / (killed + survived), 0 to 1; ``None`` where there is nothing to kill."""
    by_tests: Figure | None = None
    """The same, counting only what tests noticed, not validation."""
    killed: Count
    """How many were noticed, by tests or by validation."""
    survived: Count
    """How many went unnoticed."""
    equivalent: Count
    """How many behave as the project does; they do not count."""
    not_tried: Count = 0
    """How many there was no time for."""
    killed_by: dict[Killer, Count] = {}
    """How many each kind of test noticed first; ``validation``: no test did."""
    by_kind: tuple[MutantGroup, ...] = ()
    """The results by part of the project."""
    by_file: tuple[MutantGroup, ...] = ()
    """The results by file."""
    mutants: tuple[MutantResult, ...] = ()
    """All that were tried, by place."""
    suggested: tuple[SuggestedTest, ...] = ()
    """Tests that would notice what no test notices, the most useful first; of runs and of ``turncheck suggest``."""
    remarks: tuple[str, ...] = ()
    """What else a reader must know."""
