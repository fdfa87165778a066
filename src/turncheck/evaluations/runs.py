"""Figures about the runs of repeated tests, the same for each evaluation whose tests are repeated."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, Final

from msgspec import UnsetType

from turncheck.evaluations.kind import Metric, metric_named
from turncheck.report.model import (
    Batch,
    BatchCase,
    CaseResult,
    EndToEnd,
    HowRepeated,
    Nlu,
    NluPrediction,
    Repeats,
    Report,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.report.part import Evaluation

REPEATED: Final[tuple[Evaluation, ...]] = ("nlu", "e2e", "batch")
"""The evaluations whose tests are repeated, in their running order."""
OF_ONE: Final = "pass_at_1"
OF_THREE: Final = "pass_hat_3"
JUDGED_BY_BOUND: Final[Mapping[str, Evaluation]] = {f"{name}.{OF_ONE}": name for name in REPEATED}
"""Shares of runs: a threshold holds if the 95 % interval of the share is above it."""
_OF: Final = 3


def metrics_of_runs(section: Evaluation) -> tuple[Metric, ...]:
    """Return the figures about runs of an evaluation."""
    return (
        metric_named(rf"{section}\.pass_(?:at_1|hat_3)", section, "higher", "permutation"),
        metric_named(rf"{section}\.flaky", section, "lower", "mcnemar", "count"),
        metric_named(rf"{section}\.runs", section, "neither", "counted", "count"),
    )


def section_of(report: Report, name: Evaluation) -> Nlu | EndToEnd | Batch | None:
    """Return the section of an evaluation whose tests are repeated."""
    return {"nlu": report.nlu, "e2e": report.e2e, "batch": report.batch}[name]


def tests_of(section: Nlu | EndToEnd | Batch | None) -> Sequence[NluPrediction | CaseResult | BatchCase]:
    """Return the sentences, end-to-end cases or utterances of a section."""
    if section is None:
        return ()
    return section.predictions if isinstance(section, Nlu) else section.cases


def how_repeated(report: Report, name: Evaluation) -> HowRepeated | None:
    """Return how the tests of an evaluation were repeated, if they were."""
    section = section_of(report, name)
    return None if section is None or isinstance(section.repeats, UnsetType) else section.repeats


def repeats_of(report: Report, name: Evaluation) -> list[Repeats]:
    """Return the runs of the tests of an evaluation that were run several times."""
    tests = tests_of(section_of(report, name))
    return [test.repeats for test in tests if not isinstance(test.repeats, UnsetType)]


def first_runs(repeats: Repeats) -> tuple[int, int]:
    """Return how many of the runs that every test gets passed, and how many there are.

    How many more a test gets depends on whether it fails: with those, shares would not be comparable.
    """
    return repeats.runs.count("P"), repeats.runs.count("P") + repeats.runs.count("F")


def figures_of_report(report: Report, name: Evaluation) -> Iterator[tuple[str, Any]]:
    """Yield the figures about the runs of an evaluation, if its tests were repeated."""
    if how_repeated(report, name) is not None:
        yield from figures_of_runs(name, repeats_of(report, name))


def figures_of_runs(section: Evaluation, repeated: Iterable[Repeats]) -> Iterator[tuple[str, Any]]:
    """Yield the figures about runs."""
    repeated = list(repeated)
    first = [(passed, runs) for passed, runs in map(first_runs, repeated) if runs]
    yield f"{section}.{OF_ONE}", _mean([passed / runs for passed, runs in first])
    enough = first and all(runs >= _OF for _, runs in first)
    of_three = _mean([share_of_all_passing(*one, _OF) for one in first]) if enough else None
    yield f"{section}.{OF_THREE}", of_three
    yield f"{section}.flaky", sum(repeats.outcome == "flaky" for repeats in repeated)
    yield f"{section}.runs", sum(len(one.runs) for one in repeated)


def share_of_all_passing(passed: int, runs: int, of: int) -> float:
    """Return how likely ``of`` runs drawn from these all passed: C(c, k) / C(n, k), tau-bench's estimate of pass^k.

    >>> share_of_all_passing(3, 4, 2)
    0.5
    """
    return comb(passed, of) / comb(runs, of)


def _mean(shares: list[float]) -> float | None:
    return sum(shares) / len(shares) if shares else None


def why_no_figure_of_runs(report: Report, name: str, section: Evaluation) -> str | None:
    """Say why a figure about runs has no value, if it is one of this evaluation."""
    figure = name.removeprefix(f"{section}.")
    if figure not in {OF_ONE, OF_THREE, "flaky", "runs"} or section_of(report, section) is None:
        return None
    if how_repeated(report, section) is None:
        return "each test was run once (`repeats` in docs/varying.md)"
    return f"not every test was run {_OF} times: set `first` in `repeats` to {_OF}" if figure == OF_THREE else None
