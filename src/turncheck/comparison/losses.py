"""Many small losses: whether more runs fail over all tests, and what that means for those that are compared later."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, TypeVar

from msgspec import UNSET, UnsetType, structs

from turncheck.comparison import together
from turncheck.comparison.model import ManyLosses
from turncheck.comparison.quarantine import without_tests_in_quarantine
from turncheck.evaluations.kind import REPEATED, how_repeated, repeats_of, section_of, tests_of
from turncheck.report.model import BatchCase, CaseResult, NluPrediction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import HowRepeated, Repeats, Report

Test = NluPrediction | CaseResult | BatchCase
OneOf = TypeVar("OneOf", NluPrediction, CaseResult, BatchCase)


def many_losses(report: Report) -> ManyLosses | UnsetType:
    """Return how many runs fail over all tests of a kind that the base ran, too; left out if there are none.

    Of kinds with runs in turn with the base, these count: its report may be of another day. Of several kinds, which
    share the false alarms, that with the strongest evidence is returned.
    """
    return _losses(report, {name: repeats_of(report, name) for name in REPEATED})


def losses_in_turn(report: Report) -> ManyLosses | UnsetType:
    """Return the same of a run without a report of the base: what its bot did in turn with this side is known."""
    is_in_turn = any(one.in_turn for name in REPEATED for one in repeats_of(report, name))
    return many_losses(report) if is_in_turn else UNSET


def losing_tests(report: Report, losses: ManyLosses | UnsetType) -> list[Test]:
    """Return the tests behind real losses of all together: those that fail more often than on the base, worst first.

    Without those that have failed by themselves, and those in quarantine, which are not among all.
    """
    if isinstance(losses, UnsetType) or not losses.real:
        return []
    found = []
    for test in tests_of(section_of(without_tests_in_quarantine(report), losses.kind)):
        runs = test.repeats
        if isinstance(runs, UnsetType) or runs.outcome in {"regressed", "failed"} or _fails_by_itself(test):
            continue
        stratum = _stratum(runs)
        if stratum.runs and stratum.base_runs and together.loses(stratum):
            found.append((stratum.base_failed / stratum.base_runs - stratum.failed / stratum.runs, test))
    return [test for _, test in sorted(found, key=lambda one: one[0])]


def _fails_by_itself(test: Test) -> bool:
    """Whether a test that is worse by less than the setting ``worth`` counts as failed."""
    passed = test.correct if isinstance(test, NluPrediction) else test.passed
    return not isinstance(test.repeats, UnsetType) and test.repeats.outcome == "worse" and not passed


def without_runs_before_losses(report: Report) -> Report:
    """Return a base's report without the runs of earlier bases if its own fail more often: they say nothing any more.

    Else a loss that was accepted would count as new in all that follows. Where the base was asked in turn, and did no
    better, the model itself has become another: then its runs differ from those of the earlier reports. What regressed
    by itself says nothing of the other tests.
    """
    judged = without_tests_in_quarantine(report)
    others = {name: [one for one in repeats_of(judged, name) if one.outcome != "regressed"] for name in REPEATED}
    of_reports = {name: [structs.replace(one, in_turn="") for one in tests] for name, tests in others.items()}
    if not any(_are_real(_losses(judged, tests)) for tests in (others, of_reports)):
        return report
    nlu, e2e, batch = report.nlu, report.e2e, report.batch
    if nlu is not None:
        nlu = structs.replace(nlu, predictions=tuple(map(_with_own_runs, nlu.predictions)))
    if e2e is not None:
        e2e = structs.replace(e2e, cases=tuple(map(_with_own_runs, e2e.cases)))
    if batch is not None:
        suites = (structs.replace(one, cases=tuple(map(_with_own_runs, one.cases))) for one in batch.suites)
        batch = structs.replace(batch, suites=tuple(suites))
    return structs.replace(report, nlu=nlu, e2e=e2e, batch=batch)


def _losses(report: Report, repeated: Mapping[Evaluation, Sequence[Repeats]]) -> ManyLosses | UnsetType:
    how = {name: found for name in repeated if (found := how_repeated(report, name)) is not None}
    kinds = []
    for name, rules in how.items():
        level = together.allowed(rules.false_alarms, len(how))
        if (losses := _of_one_kind(name, repeated[name], rules, level)) is not None:
            kinds.append(losses)
    return min(kinds, key=lambda one: (not one.real, one.p_value)) if kinds else UNSET


def _of_one_kind(name: Evaluation, repeated: Sequence[Repeats], rules: HowRepeated, level: float) -> ManyLosses | None:
    """Return what all tests of a kind together lost; ``level``: how often that may be found by chance.

    Once they lost anything, the others are looked at by themselves, at the whole level of a run.
    """
    in_turn = any(one.in_turn for one in repeated)
    compared = [one for one in repeated if one.in_turn or not in_turn]
    compared = [one for one in compared if (stratum := _stratum(one)).runs and stratum.base_runs]
    strata = [*map(_stratum, compared)]
    if not strata:
        return None
    p_value = _p_value(compared)
    if not in_turn:
        level = together.level_at(min(one.runs for one in strata), rules.first, rules.most, level)
    others = [one for one in compared if one.outcome not in {"regressed", "failed"}]
    return ManyLosses(
        kind=name,
        failed=sum(one.failed for one in strata),
        runs=sum(one.runs for one in strata),
        base_failed=sum(one.base_failed for one in strata),
        base_runs=sum(one.base_runs for one in strata),
        p_value=p_value,
        real=p_value <= level,
        tests=len(strata),
        losing=sum(map(together.loses, strata)),
        widespread=p_value <= level and bool(others) and _p_value(others) <= rules.false_alarms,
    )


def _stratum(one: Repeats) -> together.Stratum:
    return together.stratum_of(one.runs, one.base, one.in_turn)


def _p_value(repeated: Sequence[Repeats]) -> float:
    """Return how likely so many runs of tests fail by chance: by those in turn with the base, if there are any."""
    if in_turn := [one.in_turn for one in repeated if one.in_turn]:
        lost, gained, _ = together.pairs_of(in_turn)
        return min(1.0, exp(-together.evidence_of_pairs(lost, gained)))
    return together.p_value_of_losses(map(_stratum, repeated), middle=True)


def _are_real(losses: ManyLosses | UnsetType) -> bool:
    return not isinstance(losses, UnsetType) and losses.real


def _with_own_runs(test: OneOf) -> OneOf:
    if isinstance(test.repeats, UnsetType):
        return test
    if test.repeats.outcome in {"regressed", "worse"}:  # none of the base's count anyhow
        return test
    return structs.replace(test, repeats=structs.replace(test.repeats, base=""))
