"""End-to-end cases: whole conversations, with custom actions."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, Final

from msgspec import UnsetType

from turncheck.evaluations.kind import EvaluationKind, metric_named, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.report.model import EndToEnd, Repeats, Report


ALL_OF_1: Final = "e2e.pass_at_1"
ALL_OF_3: Final = "e2e.pass_hat_3"
JUDGED_BY_BOUND: Final = frozenset({ALL_OF_1})
"""Shares of runs: a threshold holds if the 95 % interval of the share is above it."""
_OF: Final = 3


def _has_results(report: Report) -> bool:
    return report.e2e is not None and any(case.outcome != "skipped" for case in report.e2e.cases)


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    if report.e2e:
        yield from names_of("e2e", ("passed", "misunderstood", "failed", "skipped"), report.e2e)
        if not isinstance(report.e2e.repeats, UnsetType):
            yield from figures_of_runs(repeats_of(report.e2e))


def repeats_of(section: EndToEnd) -> list[Repeats]:
    """Return the runs of the cases that were run several times."""
    return [case.repeats for case in section.cases if not isinstance(case.repeats, UnsetType)]


def first_runs(repeats: Repeats) -> tuple[int, int]:
    """Return how many of the runs that every case gets passed, and how many there are.

    How many more a case gets depends on whether it fails: with those, shares would not be comparable.
    """
    return repeats.runs.count("P"), repeats.runs.count("P") + repeats.runs.count("F")


def figures_of_runs(repeated: Sequence[Repeats]) -> Iterator[tuple[str, Any]]:
    """Yield the figures about the runs of cases."""
    first = [(passed, runs) for passed, runs in map(first_runs, repeated) if runs]
    yield ALL_OF_1, _mean([passed / runs for passed, runs in first])
    enough = first and all(runs >= _OF for _, runs in first)
    yield ALL_OF_3, _mean([share_of_all_passing(*one, _OF) for one in first]) if enough else None
    yield "e2e.flaky", sum(one.outcome == "flaky" for one in repeated)
    yield "e2e.runs", sum(len(one.runs) for one in repeated)


def share_of_all_passing(passed: int, runs: int, of: int) -> float:
    """Return how likely ``of`` runs drawn from these all passed: C(c, k) / C(n, k), tau-bench's estimate of pass^k.

    >>> share_of_all_passing(3, 4, 2)
    0.5
    """
    return comb(passed, of) / comb(runs, of)


def _mean(shares: list[float]) -> float | None:
    return sum(shares) / len(shares) if shares else None


def _why_no_figure(report: Report, name: str) -> str | None:
    """Figures of runs need runs."""
    if name not in {ALL_OF_1, ALL_OF_3, "e2e.flaky", "e2e.runs"} or report.e2e is None:
        return None
    if isinstance(report.e2e.repeats, UnsetType):
        return "each case was run once (`repeats` in docs/varying.md)"
    return f"not every case was run {_OF} times: set `first` in `repeats` to {_OF}" if name == ALL_OF_3 else None


E2E: Final = EvaluationKind(
    name="e2e",
    capability="no_conversation",
    has_results=_has_results,
    metrics=(
        metric_named(
            r"e2e\.passed",
            "e2e",
            "higher",
            "counted",
            "count",
            label="End-to-end cases passed",
            of=("e2e.failed", "e2e.misunderstood"),
            only_if_any=True,
        ),
        metric_named(r"e2e\.(?:misunderstood|failed|skipped)", "e2e", "lower", "counted", "count"),
        metric_named(r"e2e\.pass_(?:at_1|hat_3)", "e2e", "higher", "permutation"),
        metric_named(r"e2e\.flaky", "e2e", "lower", "mcnemar", "count"),
        metric_named(r"e2e\.runs", "e2e", "neither", "counted", "count"),
    ),
    figures=_figures,
    why_no_figure=_why_no_figure,
    examples=("e2e.passed", "e2e.failed", ALL_OF_1),
    not_run="no end-to-end cases were run",
    tests=("end-to-end case", "end-to-end cases"),
    lost="the end-to-end cases are no longer run",
    refused="the end-to-end cases cannot be run",
    in_files="the end-to-end cases",
)
