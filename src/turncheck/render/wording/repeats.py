"""Runs of tests, in words: how an assistant whose answers vary fared."""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING, Final

from msgspec import UnsetType

from turncheck.comparison.failed_tests import failing_of, tests_of
from turncheck.comparison.model import ManyLosses
from turncheck.comparison.shares import ENOUGH_OF_A_BASE, more_in_words
from turncheck.evaluations.kind import REPEATED, how_repeated, repeats_of
from turncheck.evaluations.kinds import CASES
from turncheck.messages.phrasing import count
from turncheck.report.repeats import UNTOLD
from turncheck.settings.engines import flag_of_base

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.changes import CaseChange
    from turncheck.comparison.model import Comparison
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import CaseResult, Repeats, Report


def runs_in_words(repeats: Repeats, *, is_new: bool = False, in_short: bool = False) -> str:
    """``0 of 6 runs pass; base 19 of 20``; of one that has no answer also how many runs ended in an error.

    The base does not have a test that ``is_new``: only its bot was asked, in turn with this side. ``in_short``: without
    what they say.
    """
    where = "on the base's bot" if is_new else "base"
    base = f"; {where} {repeats.base_passed:,} of {len(repeats.base):,}" if repeats.base else ""
    number = len(repeats.runs)
    errors = ""
    if repeats.is_unanswered:
        errors = f"{count(repeats.errors, 'run')} ended in an error"
        if not number:
            return f"{errors}{base}"
        errors = f"{errors}, of the others "
    more = f"; {more_in_words(repeats)}" if repeats.outcome == "worse" else f"; {UNTOLD}" if repeats.is_untold else ""
    more = "" if in_short else more
    return f"{errors}{repeats.passed:,} of {count(number, 'run')} {'passes' if number == 1 else 'pass'}{base}{more}"


def runs_of_new_tests(report: Report, comparison: Comparison, evaluation: Evaluation) -> list[Repeats]:
    """Return the runs of the tests that fail and that the base does not have."""
    cases = dict(tests_of(comparison)).get(evaluation)
    failing = failing_of(report, cases) if cases is not None else ()
    return _runs(case for case in failing if case.base_location is None)


def _runs(cases: Iterable[CaseChange]) -> list[Repeats]:
    return [case.repeats for case in cases if not isinstance(case.repeats, UnsetType)]


def repeats_in_words(
    report: Report, comparison: Comparison | None = None, *, failures_said: bool = False, newly_said: bool = False
) -> str:
    """``2 regressed (0 of 6 runs pass; base 19 of 20), 3 flaky as before, 1 unclear``; the worst of each is shown.

    If sentences or utterances were repeated, each kind is named: ``sentences: 1 flaky``. ``failures_said``: new tests
    that fail are said elsewhere, with their runs, and how many fail on the base too; ``newly_said``: those that newly
    fail, with the runs of the worst.
    """
    found = {}
    for name in REPEATED:
        repeated, newly = repeats_of(report, name), []
        if comparison is not None:
            changed = dict((*tests_of(comparison), ("nlu", comparison.examples)))
            newly = _runs(changed[name].newly_failing)
            if failures_said and name != "nlu":
                new = runs_of_new_tests(report, comparison, name)
                newly = _without(newly, new)
                repeated = _without(_without(repeated, new), _as_before(repeated, (*new, *newly)))
        losses = comparison.many_losses if comparison is not None else None
        explained = isinstance(losses, ManyLosses) and losses.real and losses.kind == name
        if words := _of_one_kind(repeated, newly, newly_said=newly_said, explained=explained):
            found[name] = words
    named = (f"{CASES[name][1]}: {words}" for name, words in found.items())
    return found["e2e"] if list(found) == ["e2e"] else "; ".join(named)


def _without(repeated: Iterable[Repeats], others: Iterable[Repeats]) -> list[Repeats]:
    """Return the runs of all tests but some; two tests with the same runs are told apart by nobody."""
    left = list(repeated)
    for one in others:
        if one in left:
            left.remove(one)
    return left


def _as_before(repeat: Iterable[Repeats], newly: Iterable[Repeats]) -> list[Repeats]:
    return _without((one for one in repeat if one.outcome == "failed" and one.base), newly)


def _of_one_kind(
    repeat: Sequence[Repeats], newly: Sequence[Repeats], *, newly_said: bool, explained: bool = False
) -> str:
    """Say how tests of one kind fared; ``newly``: those that fail and do not on the base, whatever its bot does.

    ``newly_said``: they are said elsewhere, so that another number of the same tests would look like more of them.
    ``explained``: it is known that all of them together fail more often than on the base.
    """
    failed = [one for one in repeat if one.outcome == "failed"]
    as_before = _as_before(repeat, newly)
    regressed = [one for one in repeat if one.outcome == "regressed"]
    worse = [one for one in repeat if one.outcome == "worse"]
    if newly_said:
        regressed, worse = (_without(found, newly) for found in (regressed, worse))
    flaky = [one for one in repeat if one.outcome == "flaky" and not one.was_flaky]
    parts = [
        _some(regressed, "regressed"),
        _some(worse, "worse"),
        _some(_without(failed, as_before), "failing"),
        _number(as_before, "failing as before"),
        _number([one for one in repeat if one.outcome == "flaky" and one.was_flaky], "flaky as before"),
        _number([one for one in flaky if explained or not one.is_untold], "flaky"),
        _number([one for one in flaky if one.is_untold and not explained], f"flaky ({UNTOLD})"),
        _some([one for one in repeat if one.is_unanswered], "not answered"),
        _number([one for one in repeat if one.outcome == "unclear" and not one.is_unanswered], "unclear"),
    ]
    return ", ".join(part for part in parts if part)


def _number(repeated: Sequence[Repeats], what: str) -> str:
    return f"{len(repeated):,} {what}" if repeated else ""


def _some(repeated: Sequence[Repeats], what: str) -> str:
    if not repeated:
        return ""
    return f"{len(repeated):,} {what} ({worst_runs_in_words(repeated)})"


def worst_runs_in_words(repeated: Sequence[Repeats], *, are_new: bool = False) -> str:
    """``0 of 6 runs pass`` if that is true of each, else ``worst: 0 of 6 runs pass``."""
    worst = min(repeated, key=lambda repeats: (repeats.passed / max(1, len(repeats.runs)), -len(repeats.runs)))
    words = {runs_in_words(one, is_new=are_new, in_short=True) for one in repeated}
    return f"{'worst: ' if len(words) > 1 else ''}{runs_in_words(worst, is_new=are_new, in_short=True)}"


def short_base_in_words(report: Report, compared: Comparison | None) -> str:
    """Say that more runs fail than on the base, whose few runs do not tell whether that is chance; "" if they may.

    ``judged on 2 runs a case of the base: `--bot-url-base` lets both be asked in turn``
    """
    if compared is None or report.stopped is not None:  # what ended early may not have come to asking the base
        return ""
    for name in REPEATED:
        found = [one for one in repeats_of(report, name) if one.runs and one.base]
        longest = max((len(one.base) for one in found), default=0)
        is_short = 0 < longest < ENOUGH_OF_A_BASE and not any(one.in_turn for one in found)
        if is_short and any(
            one.failed * len(one.base) > (len(one.base) - one.base_passed) * len(one.runs) for one in found
        ):
            flag = flag_of_base(report.engine.name) if report.engine else None
            lets = f": `{flag}` lets both be asked in turn" if flag else ""
            return f"judged on {count(longest, 'run')} a {ONE_TEST[name]} of the base{lets}"
    return ""


ONE_TEST: Final[Mapping[Evaluation, str]] = {"nlu": "sentence", "e2e": "case", "batch": "utterance"}
_WRONG: Final = 0.05
"""How often a bot is wrong that many would not accept, and passes a few runs nevertheless."""
_MISSED: Final = 0.02
"""How often that may happen before it is not worth a word."""


def few_runs(report: Report) -> Iterator[str]:
    """Yield what it is worth that all end-to-end cases passed, if they were run a few times and there is no base.

    Once as well, of a bot over HTTP: it may vary, whatever the setting ``repeats`` says.
    """
    if report.e2e is not None and (how_repeated(report, "e2e") is not None or report.settings.bot):
        yield from few_attempts(report.e2e.cases, "--repeats 'first: {}'", least=1)


def few_attempts(cases: Sequence[CaseResult], flag: str = "--repeat {}", *, least: int = 2) -> Iterator[str]:
    """Yield the same for cases of which each was run so many times; ``least``: of fewer there is nothing to say."""
    judged = [case for case in cases if case.outcome != "skipped"]
    run = [(case, _passed_of(case)) for case in judged]
    times = {of for _, (_, of) in run}
    if len(times) == 1 and max(times) >= least and all(passed == of for _, (passed, of) in run):
        (of_each,) = times
        answers = sum(of_each * max(1, len(case.messages)) for case, _ in run)
        yield from worth_of_passing(len(run), len(judged), of_each, answers, flag)


def _passed_of(case: CaseResult) -> tuple[int, int]:
    """How many runs of a case passed, and how many there are; of one whose answers could not be had, none passed."""
    if not isinstance(case.repeats, UnsetType):
        return (0 if case.repeats.errors else case.repeats.passed), len(case.repeats.runs)
    if case.attempts is not None:
        return case.attempts.passed, case.attempts.of
    return int(case.outcome == "passed"), 1


def worth_of_passing(passed: int, cases: int, times: int, answers: int, flag: str) -> Iterator[str]:
    """Yield how often a bot that is wrong now and then passes all of so many answers, if that is not rare."""
    missed = (1 - _WRONG) ** answers
    if not passed or missed < _MISSED:
        return
    needed = ceil(log(_MISSED) / log(1 - _WRONG) / answers * times)
    often = f"passes so {missed * 100:.0f} times in 100 ({1 - _WRONG:g}^{answers})"
    all_passed = f"{passed:,} of {cases:,} passed in {count(times, 'run')} each"
    yield f"{all_passed}; a bot that is wrong in one of twenty answers {often}: {flag.format(needed)}"


def losses_in_words(losses: ManyLosses) -> str:
    """``over all cases, 31 of 200 runs fail, on the base 12 of 400: more than chance explains (p = 0.0004)``."""
    p_value = "< 0.0001" if losses.p_value < 0.0001 else f"= {losses.p_value:.2g}"
    tests = {"nlu": "sentences", "batch": "utterances"}.get(losses.kind, "cases")
    return (
        f"over all {tests}, {losses.failed:,} of {count(losses.runs, 'run')} fail,"
        f" on the base {losses.base_failed:,} of {losses.base_runs:,}: more than chance explains (p {p_value})"
    )
