"""Figures of what turns took, of an assistant that is asked over the network: milliseconds, tokens, cost.

They are of the runs that every case gets: how many more one gets depends on whether it fails.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, Final

from msgspec import UnsetType

from turncheck.evaluations.kind import REPEATED, how_repeated, metric_named, section_of, tests_of
from turncheck.report.model import CaseResult, MeasuredRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.report.measured import MeasuredTurn
    from turncheck.report.model import BatchCase, NluPrediction, Report

P50: Final = "turns.ms.p50"
P95: Final = "turns.ms.p95"
MEANS: Final = {"tokens.in": "tokens_in", "tokens.out": "tokens_out", "cost": "cost"}
"""Figures that are a mean over turns, and the field of a turn."""
SHARES: Final = {P50: 0.5, P95: 0.95}
"""Figures that are a percentile of the turns' milliseconds, and below which share of them they are."""
TURN_FIGURES: Final = (*SHARES, *MEANS)
_SURE: Final = 0.05
LEAST_TURNS: Final = {P50: 5, P95: 59}
"""With fewer turns not even the slowest is above the percentile, with a probability of 95 %: 0.95^59 is below 5 %."""

TURN_METRICS: Final = tuple(
    metric_named(pattern, "e2e", "lower", "permutation", "amount", label=label)
    for pattern, label in (
        (r"turns\.ms\.p50", "Milliseconds per turn, median"),
        (r"turns\.ms\.p95", "Milliseconds per turn, 95th percentile"),
        (r"tokens\.in", "Tokens read per turn"),
        (r"tokens\.out", "Tokens written per turn"),
        (r"cost", "Cost per turn"),
    )
)


def usual_turns(report: Report) -> Iterator[MeasuredTurn]:
    """Yield the turns of the runs that every test got."""
    for name in REPEATED:
        how = how_repeated(report, name)
        for test in tests_of(section_of(report, name)):
            for run in measured_runs(test)[: None if how is None else how.first]:
                yield from run.turns


def measured_runs(test: CaseResult | NluPrediction | BatchCase) -> tuple[MeasuredRun, ...]:
    """Return what runs of a test took; of a sentence and an utterance the first one alone."""
    if isinstance(test, CaseResult):
        return test.measured_runs
    return () if isinstance(test.measured, UnsetType) else (MeasuredRun(turns=(test.measured,)),)


def figures_of_turns(report: Report) -> Iterator[tuple[str, Any]]:
    """Yield the figures, if any turn was measured; one that no turn says has no value."""
    turns = list(usual_turns(report))
    if not turns:
        return
    times = sorted(turn.ms for turn in turns if turn.ms is not None)
    for name in SHARES:
        yield name, percentile_of(times, name)
    for name, field in MEANS.items():
        values = [value for turn in turns if (value := getattr(turn, field)) is not None]
        yield name, sum(values) / len(values) if values else None


def percentile_of(times: Sequence[float], name: str) -> float | None:
    """Return a percentile of sorted times (nearest rank); ``None``: they are too few to say anything of it."""
    if not times or (name == P95 and len(times) < LEAST_TURNS[P95]):
        return None
    share = SHARES[name]
    return times[max(0, -(-int(share * 100) * len(times) // 100) - 1)]


def interval_of(times: Sequence[float], name: str) -> tuple[float, float] | None:
    """Return between which of the sorted times a percentile is, of all turns that there might be.

    Each end is right with a probability of 95 %, whatever the distribution: that so many turns are above the percentile
    is binomial. ``None``: too few turns for an upper end.
    """
    number, share = len(times), SHARES[name]
    if number < LEAST_TURNS[name]:
        return None
    below = [comb(number, k) * share**k * (1 - share) ** (number - k) for k in range(number + 1)]
    chance, low = 0.0, -1
    for k in range(number + 1):  # the k lowest are below it
        chance += below[k]
        if chance > _SURE:
            low = k - 1
            break
    chance, high = 0.0, number - 1
    for k in range(number, -1, -1):
        chance += below[k]
        if chance > _SURE:
            high = k
            break
    return times[max(0, low)], times[min(number - 1, high)]


def times_of(report: Report) -> list[float]:
    """Return the milliseconds of the turns, sorted."""
    return sorted(turn.ms for turn in usual_turns(report) if turn.ms is not None)


def why_no_turns(report: Report, name: str) -> str | None:
    """Say why a figure of turns has no value; ``None``: it is none of these."""
    if name not in TURN_FIGURES:
        return None
    turns = list(usual_turns(report))
    if not turns:
        return "only turns with a bot over HTTP or a Rasa server are measured"
    if name in SHARES:
        times = sum(turn.ms is not None for turn in turns)
        return too_few_turns(name, times) if times else "in no turn a message came"
    if name == "cost" and any(turn.tokens_in is not None and turn.tokens_out is not None for turn in turns):
        return "`prices` under `bot:` has no price of the model that answered"
    return "no answer says how many tokens it took (`usage` under `bot:` names where)"


def too_few_turns(name: str, number: int) -> str:
    """Say why so few turns say nothing of a percentile."""
    least = LEAST_TURNS[name]
    return (
        f"it takes {least} turns, and there are {number}: of fewer, all may be fast by chance"
        f" ({SHARES[name]:g}^{least} is below 5 %)"
    )
