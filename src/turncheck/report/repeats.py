"""The runs of a test of an assistant whose answers vary, and what they say."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from turncheck.report.part import LARGEST, Count, Part

LONGEST_BASE: Final = 100
"""How many runs of the base a test is compared with at most: the latest."""

MOST_ERRORS: Final = 3
"""After so many runs that ended in an error, and no other, a test is not run any more."""
_MANY_ERRORS: Final = 5
"""After so many it is not run any more either, if fewer ended otherwise."""
RUNS_FOR_AN_ERROR: Final = 2
"""How many runs that passed or failed make up for one that ended in an error."""

OTHER_BOT: Final = "this change alters `bot:`, and the base's own is not at hand (no checkout with its commit)"
SAME_BOT: Final = "it would be asked at the same address"
"""Why the base was not asked in turn, although somebody said where it runs."""
UNTOLD: Final = "too few runs to tell whether that is worse"
"""Of a flaky test that never failed on the base."""
Runs = Annotated[str, msgspec.Meta(pattern=r"^[PFpf]*(?!\n)$", max_length=1000)]
"""Runs in their order: ``P`` passed, ``F`` failed; small letters: run because others of the test had failed."""
Pairs = Annotated[str, msgspec.Meta(pattern=r"^([PF][PF])*(?!\n)$", max_length=2000)]
RepeatedOutcome = Literal["passed", "flaky", "failed", "regressed", "worse", "unclear"]


def not_in_turn(why: str) -> str:
    """Return the remark that says why the base was not asked in turn."""
    return f"The base is not asked in turn with this side: {why}. Cases are compared with the base's report alone."


def too_many_errors(errors: int, runs: int) -> bool:
    """Whether so many runs of a test ended in an error that the others do not say how it fares."""
    return errors >= MOST_ERRORS and (not runs or (errors >= _MANY_ERRORS and errors > runs))


class Attempt(Part, frozen=True, kw_only=True):
    """How a test fared that was run a number of times."""

    passed: Count
    """How many times it passed."""
    of: Count
    """How many times it was run."""
    runs: tuple[bool, ...] = ()
    """Whether it passed, run by run."""


class Repeats(Part, frozen=True, kw_only=True):
    """How a test fared that was run several times, since the assistant's answers vary.

    ``flaky``: it fails in some runs, not provably more often than on the base; ``regressed``: more often; ``failed``:
    it fails as it did on the base, is new and fails too often, or never passes; ``worse``: it fails more often than on
    the base beyond chance, by less than the setting ``worth`` asks; ``unclear``: its runs do not say which.
    """

    runs: Runs
    """Its runs, in their order: ``P`` passed, ``F`` failed; in small letters those that it alone needed."""
    outcome: RepeatedOutcome
    """What its runs say."""
    errors: Count = 0
    """How many more runs ended in an error, which says nothing of the assistant."""
    base: Runs = ""
    """The runs of the base that they were compared with, the latest last; empty: the base has none."""
    in_turn: Pairs = ""
    """Of each run in turn with the base, two letters: this side's run and the base's."""

    def __post_init__(self) -> None:
        """Refuse an outcome that the runs contradict.

        Raises:
            ValueError: it does not fit them.
        """
        fits = {
            "passed": self.passed and not self.failed,
            "flaky": self.passed and self.failed,
            "failed": self.failed,
            "regressed": self.failed and self.base,
            "worse": self.failed and self.passed and self.base,
            "unclear": True,
        }
        if not fits[self.outcome]:
            raise ValueError(f"the runs '{self.runs[:40]}' cannot be '{self.outcome}'")

    @property
    def passed(self) -> int:
        """How many runs passed."""
        return self.runs.count("P") + self.runs.count("p")

    @property
    def failed(self) -> int:
        """How many runs failed."""
        return len(self.runs) - self.passed

    @property
    def base_passed(self) -> int:
        """How many of the base's runs passed."""
        return self.base.count("P") + self.base.count("p")

    @property
    def was_flaky(self) -> bool:
        """Whether some runs of the base failed, and some passed."""
        return 0 < self.base_passed < len(self.base)

    @property
    def is_untold(self) -> bool:
        """Whether it is flaky, and no run of the base failed: these are too few to tell whether it is worse."""
        return self.outcome == "flaky" and bool(self.base) and self.base_passed == len(self.base)

    @property
    def is_unanswered(self) -> bool:
        """Whether so many runs ended in an error that it was not run any more."""
        return self.outcome == "unclear" and too_many_errors(self.errors, len(self.runs))

    @property
    def usual_runs(self) -> str:
        """All runs that say how it usually fares, the latest last: what a later change is compared with."""
        before = "" if self.outcome in {"regressed", "worse"} else self.base
        return f"{before}{self.runs}"[-LONGEST_BASE:]


class HowRepeated(Part, frozen=True, kw_only=True):
    """How the tests of an evaluation were repeated."""

    first: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    """How often each was run."""
    most: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    """How often those were run at most that failed in some of these runs."""
    false_alarms: Annotated[float, msgspec.Meta(gt=0, le=1)]
    """How often a run without any change may fail."""


def refuse_other_result(repeats: Repeats | msgspec.UnsetType, *, passed: bool) -> None:
    """Refuse a result of a test that contradicts what its runs say.

    Raises:
        ValueError: it does.
    """
    if isinstance(repeats, msgspec.UnsetType) or repeats.outcome in {"worse", "unclear"}:  # what it counts as is set
        return
    if (repeats.outcome in {"passed", "flaky"}) != passed:
        raise ValueError(f"what is '{repeats.outcome}' in its runs cannot have {'passed' if passed else 'failed'}")
