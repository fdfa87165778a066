"""Many small losses: whether more runs fail over all tests, and what that means for those that are compared later."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import UNSET, UnsetType, structs

from turncheck.comparison.model import ManyLosses
from turncheck.comparison.quarantine import without_tests_in_quarantine
from turncheck.comparison.repeats import Stratum, p_value_of_losses, stratum_of
from turncheck.evaluations.kind import REPEATED, how_repeated, repeats_of
from turncheck.report.model import BatchCase, CaseResult, NluPrediction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.report.model import Repeats, Report

Test = TypeVar("Test", NluPrediction, CaseResult, BatchCase)


def many_losses(report: Report) -> ManyLosses | UnsetType:
    """Return how many runs fail over all tests that the base ran, too; left out if there is nothing to compare.

    Of tests that were run again in turn with the base, those runs count: its report may be of another day.
    """
    strata = [stratum_of(one.runs, one.base, one.in_turn) for one in _repeated(report)]
    return _losses(report, strata)


def without_runs_before_losses(report: Report) -> Report:
    """Return a base's report without the runs of earlier bases if its own fail more often: they say nothing any more.

    Else a loss that was accepted would count as new in all that follows. Where the base was asked in turn, and did no
    better, the model itself has become another: then its runs differ from those of the earlier reports. What regressed
    by itself says nothing of the other tests.
    """
    judged = without_tests_in_quarantine(report)
    others = [one for one in _repeated(judged) if one.outcome != "regressed"]
    in_turn = [stratum_of(one.runs, one.base, one.in_turn) for one in others]
    of_reports = [stratum_of(one.runs, one.base) for one in others]
    if not any(_are_real(_losses(judged, strata)) for strata in (in_turn, of_reports)):
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


def _repeated(report: Report) -> list[Repeats]:
    return [repeats for name in REPEATED for repeats in repeats_of(report, name)]


def _losses(report: Report, strata: Iterable[Stratum]) -> ManyLosses | UnsetType:
    """Return what all tests together lost.

    Half of the false alarms that are allowed may be due to it: the other test is that of each case, whose bound is
    rarely reached.
    """
    allowed = [how.false_alarms for name in REPEATED if (how := how_repeated(report, name)) is not None]
    strata = [stratum for stratum in strata if stratum.runs and stratum.base_runs]
    if not strata or not allowed:
        return UNSET
    p_value = p_value_of_losses(strata)
    return ManyLosses(
        failed=sum(one.failed for one in strata),
        runs=sum(one.runs for one in strata),
        base_failed=sum(one.base_failed for one in strata),
        base_runs=sum(one.base_runs for one in strata),
        p_value=p_value,
        real=p_value <= min(allowed) / 2,
    )


def _are_real(losses: ManyLosses | UnsetType) -> bool:
    return not isinstance(losses, UnsetType) and losses.real


def _with_own_runs(test: Test) -> Test:
    if isinstance(test.repeats, UnsetType) or test.repeats.outcome == "regressed":  # none of the base's count anyhow
        return test
    return structs.replace(test, repeats=structs.replace(test.repeats, base=""))
