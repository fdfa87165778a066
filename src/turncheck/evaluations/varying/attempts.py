"""One test of an assistant whose answers vary: its runs, those of its base, and what they say."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, Protocol, TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from turncheck.comparison.repeats import RunBesideBase, fails_rarely
from turncheck.comparison.shares import more_in_words
from turncheck.messages.phrasing import count
from turncheck.report.measured import MeasuredRun
from turncheck.report.repeats import LONGEST_BASE, UNTOLD, Attempt, RepeatedOutcome, Repeats, too_many_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from turncheck.engines.base import UtteranceAnswer
    from turncheck.engines.conversation import Parse
    from turncheck.evaluations.e2e.case import CaseOutcome
    from turncheck.report.measured import MeasuredTurn

_RUNS_THAT_TELL: Final = 5
"""A test that passes in half of its runs fails in so many of them once in 32 times."""
_LATEST: Final = 20
"""So many of the latest runs say whether a test that used to fail still does."""
_OTHER_BASE: Final = "its shard took it for judged: it compared with other runs of the base"
Answer = TypeVar("Answer")
Sign = Literal["passed", "failed", "error", "left out"]
Beside = Literal["", "p", "f"]


# What is known of a test from its base.


class BaseRuns(Struct, frozen=True):
    """The runs of a test on the base, and whether it counted as failed there."""

    runs: str = ""
    failed: bool = False

    @property
    def never_passes(self) -> bool:
        """Whether none of its runs passed, and there are enough to tell."""
        return len(self.runs) >= _RUNS_THAT_TELL and "P" not in self.runs.upper()


NO_RUNS: Final = BaseRuns()


def base_runs(repeats: Repeats | UnsetType, attempts: Attempt | UnsetType, *, passed: bool) -> BaseRuns:
    """Return the runs that a test of the base says something about; one that was run once has one."""
    if isinstance(repeats, UnsetType):
        runs = (passed,) if isinstance(attempts, UnsetType) else attempts.runs
        return BaseRuns("".join("P" if one else "F" for one in runs)[-LONGEST_BASE:], not passed)
    return BaseRuns(repeats.usual_runs, not passed and repeats.outcome != "unclear")


def by_key(keys: Iterable[Hashable], known: Iterable[tuple[Hashable, BaseRuns]]) -> list[BaseRuns]:
    """Return for each key the runs of the base's test with it; several tests of one key belong together in order."""
    found: dict[Hashable, list[BaseRuns]] = defaultdict(list)
    for key, runs in known:
        found[key].append(runs)
    return [found[key].pop(0) if found[key] else NO_RUNS for key in keys]


# Its runs.


class Run(NamedTuple, Generic[Answer]):
    """One run of a test; ``base``: how the base fared beside it, ``p`` or ``f``, if it was asked.

    ``why``: why it ended in an error, in one line. ``turns``: what its turns took, and ``base_turns``, those of the
    base.
    """

    answer: Answer
    sign: Sign
    seconds: float = 0.0
    base: Beside = ""
    why: str = ""
    turns: tuple[MeasuredTurn, ...] = ()
    base_turns: tuple[MeasuredTurn, ...] = ()


class AskFunction(Protocol[Answer]):
    """What runs a test, by its number and that of its run: here, or on the base if that can be asked."""

    def __call__(self, number: int, attempt: int) -> Run[Answer]:
        """Run it once.

        Raises:
            EngineError: the engine is gone.
        """


class StoredRun(Struct, frozen=True):
    """One of several runs of a test; ``answer`` is ``None`` if a sentence had none.

    ``base``: whether the base passed beside it, if it was asked; ``base_turns``: what its turns took.
    """

    answer: CaseOutcome | Parse | UtteranceAnswer | None
    base: Literal["", "p", "f"] = ""
    base_turns: tuple[MeasuredTurn, ...] = ()


class StoredRuns(Struct, frozen=True):
    """All runs of a test, in their order; ``why``: why there are no more, unless they say how it fares.

    ``in_turn``: those in turn with the base, see :attr:`RepeatedTest.in_turn`. ``usual``: how many every test got.
    """

    runs: tuple[StoredRun, ...]
    why: str = ""
    in_turn: str = ""
    usual: int = 0


# A test in progress, and what all may cost.


class BudgetShare(Struct, frozen=True):
    """What some tests of a run may cost: their share of the budget.

    ``tests``: how many share the false alarms, and ``kinds``: of how many kinds they are. ``suffices_for_all``: whether
    it is enough to run all again: else only those that fail are.
    """

    turns: int
    seconds: float
    tests: int
    kinds: int = 1
    suffices_for_all: bool = True


@dataclass(eq=False)
class RepeatedTest(Generic[Answer]):
    """The runs of one test so far, and what they say. ``turns``: how many messages a run of it sends.

    ``known``: its runs, if they were made elsewhere; ``why_known``: why there are no more, unless it was judged.
    """

    number: int
    turns: int = 1
    known: Sequence[Run[Answer]] | None = None
    why_known: str = ""
    known_usual: int = 0
    """How many of the known ones every test got."""
    answers: list[Run[Answer]] = field(default_factory=list)
    runs: str = ""
    in_turn: str = ""
    """Of each pair of runs in turn with the base, a letter for this side's and one for the base's: ``P`` or ``F``."""
    usual: int = 0
    """How many of its answers are of runs that every test got."""
    errors: int = 0
    asked: int = 0
    base: BaseRuns = NO_RUNS
    is_compared: bool = False
    """Whether the base was looked up: else nothing is known of it."""
    verdict: RepeatedOutcome | None = None
    is_late: bool = False
    """Whether it passed each time that every test was run, and failed when all were run again for the sake of all."""
    is_tolerated: bool = False
    """Whether it counts as passed although it is worse: by less than the setting ``worth`` asks."""
    is_worse: bool = False
    """Whether the statistical test found it to be worse than it may be."""
    is_never_judged: bool = False
    """Whether it is left out whatever is answered, so that asking again says nothing."""
    is_concluded: bool = False
    """Whether it was judged although its runs do not say how it fares, since there are no more."""

    @property
    def failed(self) -> int:
        """How many of its runs failed."""
        return self.runs.upper().count("F")

    @property
    def passed(self) -> int:
        """How many of its runs passed."""
        return self.runs.upper().count("P")

    @property
    def seconds(self) -> float | None:
        """How long its runs took, if there were any."""
        return sum(run.seconds for run in self.answers) or None

    @property
    def is_over(self) -> bool:
        """Whether it is not run again: what it says is known, or it cannot be judged."""
        return self.verdict is not None or self.is_broken or self.is_left_out

    @property
    def is_left_out(self) -> bool:
        """Whether it is not judged: it never is, or not in so many runs that the others do not count."""
        left_out = sum(run.sign == "left out" for run in self.answers)
        return self.is_never_judged or too_many_errors(left_out, len(self.runs))

    @property
    def is_broken(self) -> bool:
        """Whether so many of its runs ended in an error that it is not known how it fares."""
        return self.verdict is None and too_many_errors(self.errors, len(self.runs))

    @property
    def is_undecided(self) -> bool:
        """Whether its runs do not say how it fares, whatever it counts as."""
        return self.verdict in {None, "worse"} or self.is_concluded

    @property
    def is_wanted(self) -> bool:
        """Whether another run of it is needed for its own sake, and may be had."""
        return not self.is_over and not self.is_late and (self.known is None or len(self.answers) < len(self.known))

    @property
    def has_more(self) -> bool:
        """Whether it has more known runs: they were needed where they were made."""
        return self.known is not None and len(self.answers) < len(self.known)

    @property
    def judged(self) -> list[Answer]:
        """The answers of the runs that passed or failed."""
        return [run.answer for run in self.answers if run.sign in {"passed", "failed"}]

    @property
    def beside_base(self) -> list[RunBesideBase]:
        """Its runs that passed or failed, each with the base's that followed it."""
        return [
            RunBesideBase(run.sign == "failed", run.base == "f" if run.base else None)
            for run in self.answers
            if run.sign in {"passed", "failed"}
        ]

    def loses_less_than(self, worth: float) -> bool:
        """Whether it fails more often than on the base by less than this; one that never passes does not."""
        base = self.base.runs.upper()
        if not (base and self.passed):
            return False
        return self.failed / len(self.runs) - base.count("F") / len(base) < worth

    @property
    def fails_beside_base(self) -> bool:
        """Whether the base, asked in turn with this side often enough to tell, never passed."""
        return BaseRuns("".join(run.base for run in self.answers)).never_passes

    @property
    def as_usual(self) -> RepeatedOutcome | None:
        """What it is if it is not worse than on the base: failed, as it was there, or flaky once a run has passed.

        What failed there is flaky once its latest runs, those of the base included, show that it fails as rarely as a
        new test may. One that never passes, neither here nor in so many runs there, has failed, whether or not there is
        a report of the base.
        """
        if self.base.never_passes and not self.passed:
            return "failed"
        if self.base.failed and not (self.passed and fails_rarely(f"{self.base.runs}{self.runs}".upper()[-_LATEST:])):
            return "failed"
        return "flaky" if self.passed else None

    @property
    def passes(self) -> bool:
        """Whether it counts as passed."""
        return self.verdict in {"passed", "flaky"} or (self.verdict == "worse" and self.is_tolerated)

    @property
    def shown(self) -> Answer:
        """The answer of the first run that shows what became of it."""
        sign = "passed" if self.passes else "failed"
        return next((run.answer for run in self.answers if run.sign == sign), self.judged[0])

    def add(self, run: Run[Answer], *, usual: bool) -> None:
        """Add a run; ``usual``: one of those that every test gets. One that had passed is open again once it fails."""
        self.base = replace(self.base, runs=f"{self.base.runs}{run.base}"[-LONGEST_BASE:])
        self.answers.append(run)
        self.usual += usual
        if run.sign == "error":
            self.errors += 1
        elif run.sign != "left out":
            sign = "P" if run.sign == "passed" else "F"
            self.runs += sign if usual else sign.lower()
            if run.base and self.known is None:
                self.in_turn += f"{sign}{run.base.upper()}"
            if sign == "F" and self.verdict == "passed":
                self.verdict, self.is_late = None, True

    def measured(self) -> tuple[MeasuredRun, ...] | UnsetType:
        """Return what the turns of its runs took that passed or failed, if anything was measured."""
        judged = [run for run in self.answers if run.sign in {"passed", "failed"}]
        if not any(run.turns for run in judged):
            return UNSET
        return tuple(MeasuredRun(turns=run.turns, base=run.base_turns) for run in judged)

    def repeats(self) -> Repeats:
        """Return its runs as the report has them."""
        return Repeats(
            runs=self.runs,
            outcome=self.verdict or "unclear",
            errors=self.errors,
            base=self.base.runs,
            in_turn=self.in_turn,
        )

    def written(self, of: Callable[[Run[Answer]], Any], why_unclear: str) -> StoredRuns:
        """Return its runs to be judged elsewhere; ``of``: returns what is kept of a run."""
        runs = tuple(StoredRun(of(run), run.base, run.base_turns) for run in self.answers)
        return StoredRuns(runs, self.why_unclear(why_unclear) if self.is_undecided else "", self.in_turn, self.usual)

    @property
    def errors_in_words(self) -> str:
        """``3 runs ended in an error; 1 of 1 other passed``."""
        return f"{self.errors} runs ended in an error; {self.passed} of {count(len(self.runs), 'other')} passed"

    def in_words(self, why_no_more: str) -> str:
        """Return its runs in words; if they do not say how it fares, also why there are no more."""
        why = self.why_unclear(why_no_more) if self.is_undecided else ""
        return in_words(self.repeats(), why, is_compared=self.is_compared, is_tolerated=self.is_tolerated)

    def why_unclear(self, otherwise: str) -> str:
        """Return why its runs do not say how it fares."""
        if self.is_broken:
            return f"{self.errors} runs ended in an error"
        return otherwise if self.known is None else self.why_known or _OTHER_BASE


def in_words(repeats: Repeats, why_no_more: str = "", *, is_compared: bool = True, is_tolerated: bool = False) -> str:
    """Return ``regressed: 0 of 6 runs pass; base 19 of 20``; of what is unclear, the outcome of the test says that.

    ``why_no_more``: why there are no more runs, if these do not say how it fares. ``is_compared``: whether it is known
    what runs the base has. ``is_tolerated``: whether the setting ``worth`` lets it be worse.
    """
    if repeats.outcome == "worse":
        less = "but by less than the setting `worth`"
        less += ", so that it counts as passed" if is_tolerated else ""
        runs = f"{repeats.passed} of {len(repeats.runs)} runs pass; base {repeats.base_passed} of {len(repeats.base)}"
        return f"worse than on the base, {less}: {runs}; {more_in_words(repeats)}"
    base = f"; base {repeats.base_passed} of {len(repeats.base)}" if repeats.base else "; the base has no runs of it"
    why = f" ({why_no_more})" if why_no_more else ""
    runs = count(len(repeats.runs), "run passes", "runs pass")
    base += f"; {UNTOLD}" if repeats.is_untold else ""
    outcome = "" if repeats.outcome == "unclear" else f"{repeats.outcome}: "
    return f"{outcome}{repeats.passed} of {runs}{base if is_compared else ''}{why}"
