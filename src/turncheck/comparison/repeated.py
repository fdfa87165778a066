"""Runs of repeated tests on both sides: whether more fail over all cases, and whether figures differ by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from turncheck.comparison.mcnemar import LEVEL
from turncheck.comparison.metrics import Significance
from turncheck.comparison.model import ManyLosses
from turncheck.comparison.repeats import Stratum, p_value_of_losses
from turncheck.comparison.significance import Tested, flipped
from turncheck.evaluations.runs import OF_ONE, OF_THREE, REPEATED, figures_of_runs, first_runs, how_repeated, repeats_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.matching import Pair
    from turncheck.report.model import Repeats, Report
    from turncheck.report.part import Evaluation


def many_losses(report: Report) -> ManyLosses | UnsetType:
    """Return how many runs fail over all tests that the base ran, too; left out if there is nothing to compare.

    Half of the false alarms that are allowed may be due to it: the other test is that of each case, whose bound is
    rarely reached.
    """
    allowed = [how.false_alarms for name in REPEATED if (how := how_repeated(report, name)) is not None]
    repeated = [repeats for name in REPEATED for repeats in repeats_of(report, name)]
    strata = [Stratum(*_failed(one.runs), *_failed(one.base)) for one in repeated]
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


def _failed(runs: str) -> tuple[int, int]:
    """How many failed of the runs that every case gets, and how many there are."""
    return runs.count("F"), runs.count("F") + runs.count("P")


def tested_runs(section: Evaluation, pairs: Iterable[Pair]) -> dict[str, Tested]:
    """Judge the figures about runs of an evaluation on the tests that both sides ran several times.

    Shares of runs are judged by a permutation test in the direction of their difference, at half the level; flaky tests
    by how many changed sides.
    """
    sides = [
        (base, now)
        for pair in pairs
        if not isinstance(base := pair.base.repeats, UnsetType) and not isinstance(now := pair.head.repeats, UnsetType)
    ]
    if not sides:
        return {}
    before, after = ([side[number] for side in sides] for number in (0, 1))
    tested = {
        f"{section}.flaky": flipped([_is_flaky(repeats) for repeats in before], [_is_flaky(one) for one in after])
    }
    old, new = dict(figures_of_runs(section, before)), dict(figures_of_runs(section, after))
    p_value = min(1.0, 2 * min(_p_value(before, after), _p_value(after, before)))
    significance = Significance(
        method="permutation", p_value=p_value, changed=_changed(before, after), examples=len(sides)
    )
    for name in (f"{section}.{OF_ONE}", f"{section}.{OF_THREE}"):
        if old[name] is not None and new[name] is not None:
            tested[name] = old[name], new[name], significance, p_value < LEVEL
    return tested


def _is_flaky(repeats: Repeats) -> bool:
    return repeats.outcome == "flaky"


def _changed(before: Sequence[Repeats], after: Sequence[Repeats]) -> int:
    return sum(first_runs(old) != first_runs(new) for old, new in zip(before, after, strict=True))


def _p_value(before: Sequence[Repeats], after: Sequence[Repeats]) -> float:
    """How likely so many losses are by chance, from one side to the other."""
    pairs = zip(before, after, strict=True)
    return p_value_of_losses(Stratum(*_failed(new.runs), *_failed(old.runs)) for old, new in pairs)
