"""What can make a gate fail: a test, a finding, a fault, a sentence, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

if TYPE_CHECKING:
    from turncheck.comparison.changes import CaseChange, FindingChange
    from turncheck.comparison.model import OneSided
    from turncheck.messages.finding import Finding, Location
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Misunderstanding, Repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """What made a gate fail is the same thing wherever a gate places it: a test begins here and fails there."""

    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FailedTest(_Placed):
    """A test that failed, or that only its sentences keep from passing (``misunderstood``)."""

    evaluation: Evaluation
    name: str
    misunderstood: tuple[Misunderstanding, ...] | None = field(default=None, compare=False)
    copies: int = 0
    repeats: Repeats | UnsetType = field(default=UNSET, compare=False)
    """Its runs, if it was run several times."""
    passes: bool = False
    """Whether it passes although its quarantine says that it fails."""
    is_new: bool = field(default=False, compare=False)
    """Whether the base does not have it."""
    reason: str = field(default="", compare=False)
    """Why its runs ended in an error, as its report says."""


@dataclass(frozen=True, slots=True)
class NotRunTest(_Placed):
    """A test that exists and was not run, or whose runs are unclear, and why, as its report says."""

    evaluation: Evaluation
    name: str
    reason: str
    is_unclear: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class GoneTest(_Placed):
    """A test that only the base has, at this commit."""

    evaluation: Evaluation
    name: str
    case: CaseChange = field(compare=False)
    commit: str | None


@dataclass(frozen=True, slots=True)
class BadFinding(_Placed):
    """A finding that fails a gate; ``message`` has the new name of what the change renamed.

    ``advises``: what to do about it is said, too.
    """

    finding: Finding | FindingChange
    message: str
    advises: bool


@dataclass(frozen=True, slots=True)
class FaultOf(_Placed):
    """Why evaluations did not run; ``skipped``: those that were not run for another reason than a fault.

    ``named``: the reason of the gate is this cause.
    """

    reason: str
    skipped: tuple[Evaluation, ...] = ()
    named: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class WrongSentence(_Placed):
    """A sentence that is understood otherwise than expected."""

    text: str
    expected: str | None
    got: str | None


@dataclass(frozen=True, slots=True)
class Uncovered(_Placed):
    """An item of the project that no test reaches; ``kind`` is empty if the gate says it."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class NoLongerMeasured(_Placed):
    """What only the base measures: the path of an assistant, or an evaluation. The reason of the gate names it."""

    what: str | OneSided


Cause = FailedTest | NotRunTest | GoneTest | BadFinding | FaultOf | WrongSentence | Uncovered | NoLongerMeasured
