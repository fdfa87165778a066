"""What everything that looks at reports knows about a kind of evaluation: names, figures, how their noise is judged.

The figures about the runs of repeated tests are the same for each kind whose tests are repeated.
"""

from __future__ import annotations

import re
from math import comb
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, UnsetType, field

from turncheck.report import model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.report.evaluations import Evaluation

Better = Literal["higher", "lower", "neither"]
Unit = Literal["score", "count", "amount"]
"""A share of 1, a number of things, or an amount: milliseconds, tokens, money."""
Noise = Literal["counted", "mcnemar", "bootstrap", "permutation", "as it says"]
"""How a difference is judged. ``counted``: stories, cases and findings are all there are, not a sample, so that any
difference is real (unless only sentences moved it). Figures about a sample of what people write are judged on what both
sides judged: ``mcnemar`` by how many changed sides, ``bootstrap`` by drawing from them
(:mod:`turncheck.comparison.significance`); figures about runs by ``permutation``, which of them are whose
(:mod:`turncheck.comparison.repeats`). ``as it says``: as the figure itself says, which is a plugin's."""

SCORES: Final = "(?:precision|recall|f1)"
"""The scores of a label, as a part of a metric's pattern."""


class Metric(Struct, frozen=True):
    """Figures with names of the same form, and all that is done with them.

    ``section``: the evaluation that measures them. ``better``: what a larger value means. ``noise``: how a difference
    is judged; there is no default. ``label``: what it is called in the table at the top, "" if it has no row of that
    name there. ``of``: what is counted besides it, so that it is shown as "7/9". ``only_if_any``: it has no row if
    there is nothing to count.
    """

    pattern: re.Pattern[str]
    section: str
    better: Better
    noise: Noise
    kind: Unit = "score"
    label: str = ""
    of: tuple[str, ...] = ()
    only_if_any: bool = False


def metric_named(pattern: str, section: str, better: Better, noise: Noise, kind: Unit = "score", **more: Any) -> Metric:
    """Return the metric of the names that a regular expression matches as a whole."""
    return Metric(re.compile(pattern, re.DOTALL), section, better, noise, kind, **more)


def no_reason(report: model.Report, name: str) -> str | None:  # noqa: ARG001 - the default of such functions
    """Return nothing: a figure without a value has no reason of its own."""
    return None


class EvaluationKind(Struct, frozen=True, kw_only=True):
    """One kind of evaluation; ``measure.py`` in the folder of its name says how it is measured.

    ``figures``: the names and values of its metrics in a report, the main ones first; ``prefix``: what their names
    begin with. ``has_results``: whether it judged anything. ``why_no_figure``: why a figure has no value although the
    evaluation ran: "" if the name is that of nothing there is, ``None`` where the reason is not peculiar to it.
    """

    name: Evaluation
    has_results: Callable[[model.Report], bool]
    metrics: tuple[Metric, ...]
    figures: Callable[[model.Report], Iterator[tuple[str, Any]]]
    examples: tuple[str, ...]
    """Metrics as they are proposed for a name that is none."""
    not_run: str
    """Said where there is no section: ``no stories were tested``."""
    on_request: bool = False
    """Whether it only runs if asked for: by its name in `evaluations`, or by a setting that is called as it is."""
    needs_engine: bool = True
    """Whether it needs more than files; those that do not run last, and know what reading the tests found."""
    tests: tuple[str, str] | None = None
    """What its tests are called, one and many; ``None``: what it judges are not tests that pass or fail."""
    judges: str = ""
    """What it judges, if not tests: ``the data``."""
    lost: str = ""
    """Said where the base has results and the change has none; "" if nobody misses them."""
    refused: str = ""
    """Said where it cannot be trained or run."""
    in_files: str = ""
    """What the files hold that it needs besides the assistant: ``the test stories``."""
    without_base_note: str = ""
    """What follows if the base has no results of it: ``, so all errors in the data count as new``."""
    capability: str = ""
    """The field of an engine's capabilities that says why it does not support it; "": every engine does."""
    nlu_only: bool = False
    """Whether it needs language understanding alone, so that a fault of the policies or stories does not matter."""
    prefix: str = ""
    why_no_figure: Callable[[model.Report, str], str | None] = field(default=no_reason)

    @property
    def metric_prefix(self) -> str:
        """What the names of its metrics begin with, and how its section of the report is called."""
        return self.prefix or self.name


def names_of(section: str, fields: Iterable[str], holder: object) -> Iterator[tuple[str, Any]]:
    """Yield the figures that a section holds in fields of the same names."""
    return ((f"{section}.{name}", getattr(holder, name)) for name in fields)


REPEATED: Final[tuple[Evaluation, ...]] = ("nlu", "e2e", "batch")
"""The evaluations whose tests are repeated, in their running order."""
OF_ONE: Final = "pass_rate"
OF_THREE: Final = "pass_hat_3"
FIGURES_OF_RUNS: Final = frozenset({OF_ONE, OF_THREE, "flaky", "unclear", "runs"})
"""Without the evaluation before them: they have a value only where tests are repeated."""
JUDGED_BY_BOUND: Final[Mapping[str, Evaluation]] = {f"{name}.{OF_ONE}": name for name in REPEATED}
"""Shares of runs: a threshold is judged by the 95 % interval of the share."""
FORMER_NAMES: Final[Mapping[str, str]] = {f"{name}.pass_at_1": f"{name}.{OF_ONE}" for name in REPEATED}
"""What metrics are called that settings may still name as they were."""
OF_RUNS: Final = 3
"""How many runs all have to pass."""


def metrics_of_runs(section: Evaluation, label: str = "") -> tuple[Metric, ...]:
    """Return the figures about runs of an evaluation; ``label``: what the share of those that pass is called."""
    return (
        metric_named(rf"{section}\.{OF_ONE}", section, "higher", "permutation", label=label),
        metric_named(rf"{section}\.{OF_THREE}", section, "higher", "permutation"),
        metric_named(rf"{section}\.unclear", section, "neither", "counted", "count"),
        metric_named(rf"{section}\.flaky", section, "lower", "mcnemar", "count"),
        metric_named(rf"{section}\.runs", section, "neither", "counted", "count"),
    )


def section_of(report: model.Report, name: Evaluation) -> model.Nlu | model.EndToEnd | model.Batch | None:
    """Return the section of an evaluation whose tests are repeated."""
    return {"nlu": report.nlu, "e2e": report.e2e, "batch": report.batch}[name]


def tests_of(
    section: model.Nlu | model.EndToEnd | model.Batch | None,
) -> Sequence[model.NluPrediction | model.CaseResult | model.BatchCase]:
    """Return the sentences, end-to-end cases or utterances of a section."""
    if section is None:
        return ()
    return section.predictions if isinstance(section, model.Nlu) else section.cases


def how_repeated(report: model.Report, name: Evaluation) -> model.HowRepeated | None:
    """Return how the tests of an evaluation were repeated, if they were."""
    section = section_of(report, name)
    return None if section is None or isinstance(section.repeats, UnsetType) else section.repeats


def repeats_of(report: model.Report, name: Evaluation) -> list[model.Repeats]:
    """Return the runs of the tests of an evaluation that were run several times."""
    tests = tests_of(section_of(report, name))
    return [test.repeats for test in tests if not isinstance(test.repeats, UnsetType)]


def first_runs(repeats: model.Repeats) -> tuple[int, int]:
    """Return how many of the runs that a test gets whatever they say passed, and how many there are."""
    return repeats.runs.count("P"), repeats.runs.count("P") + repeats.runs.count("F")


def are_in_turn(repeated: Sequence[model.Repeats]) -> bool:
    """Whether all tests were run in turn with the base, as they are once one was that had not failed."""
    are_all = bool(repeated) and all(one.in_turn for one in repeated)
    return are_all or any(one.in_turn and "F" not in one.runs for one in repeated)


def runs_of_all(repeated: Iterable[model.Repeats]) -> tuple[int, int]:
    """Return how many of the runs that every test gets passed, and how many there are, of all tests together.

    Those in turn with the base are among them if all tests were run so. Else how many more a test gets depends on
    whether it fails: with those, what fails now and then would count for more than the others. Of a test that is not
    answered, the runs that ended in an error did not pass.
    """
    repeated = list(repeated)
    of_each = [*map(first_runs, repeated), *((0, one.errors) for one in repeated if one.is_unanswered)]
    if are_in_turn(repeated):
        of_each += [(one.in_turn[::2].count("P"), len(one.in_turn) // 2) for one in repeated]
    return sum(passed for passed, _ in of_each), sum(runs for _, runs in of_each)


def figures_of_report(report: model.Report, name: Evaluation) -> Iterator[tuple[str, Any]]:
    """Yield the figures about the runs of an evaluation, if its tests were repeated."""
    if how_repeated(report, name) is not None:
        yield from figures_of_runs(name, repeats_of(report, name))


def figures_of_runs(section: Evaluation, repeated: Iterable[model.Repeats]) -> Iterator[tuple[str, Any]]:
    """Yield the figures about runs."""
    repeated = list(repeated)
    passed, runs = runs_of_all(repeated)
    yield f"{section}.{OF_ONE}", passed / runs if runs else None
    first = [one for one in map(first_runs, repeated) if one[1]]
    enough = first and all(runs >= OF_RUNS for _, runs in first)
    of_three = _mean([share_of_all_passing(*one, OF_RUNS) for one in first]) if enough else None
    yield f"{section}.{OF_THREE}", of_three
    yield f"{section}.flaky", sum(repeats.outcome == "flaky" for repeats in repeated)
    yield f"{section}.unclear", sum(one.outcome == "unclear" and not one.is_unanswered for one in repeated)
    yield f"{section}.runs", sum(len(one.runs) for one in repeated)


def share_of_all_passing(passed: int, runs: int, of: int) -> float:
    """Return how likely ``of`` runs drawn from these all passed: C(c, k) / C(n, k), tau-bench's estimate of pass^k.

    >>> share_of_all_passing(3, 4, 2)
    0.5
    """
    return comb(passed, of) / comb(runs, of)


def _mean(shares: list[float]) -> float | None:
    return sum(shares) / len(shares) if shares else None


def why_no_figure_of_runs(report: model.Report, name: str, section: Evaluation) -> str | None:
    """Say why a figure about runs has no value, if it is one of this evaluation."""
    figure = name.removeprefix(f"{section}.")
    if figure not in FIGURES_OF_RUNS or section_of(report, section) is None:
        return None
    if how_repeated(report, section) is None:
        return "each test was run once (`repeats` in docs/varying.md)"
    return (
        f"not every test was run {OF_RUNS} times: set `first` in `repeats` to {OF_RUNS}" if figure == OF_THREE else None
    )
