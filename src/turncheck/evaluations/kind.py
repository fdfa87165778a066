"""What there is to know about a kind of evaluation, for everything that looks at reports: what its results are called,
its figures, and how their noise is judged."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from turncheck.report.model import Report
    from turncheck.report.part import Evaluation

Better = Literal["higher", "lower", "neither"]
Unit = Literal["score", "count"]
Noise = Literal["counted", "mcnemar", "bootstrap", "permutation", "as it says"]
"""How a difference is judged. ``counted``: stories, cases and findings are all there are, not a sample, so that any
difference is real (unless only sentences moved it). Figures about a sample of what people write are judged on what both
sides judged: ``mcnemar`` by how many changed sides, ``bootstrap`` by drawing from them
(:mod:`turncheck.comparison.significance`); figures about runs by ``permutation``, which of them are whose
(:mod:`turncheck.comparison.repeats`). ``as it says``: as the figure itself says, which is a plugin's."""

SCORES: Final = "(?:precision|recall|f1)"
"""The scores of a label, as a part of a metric's pattern."""


@dataclass(frozen=True, slots=True)
class Metric:
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


def no_reason(report: Report, name: str) -> str | None:  # noqa: ARG001 - the default of such functions
    """Return nothing: a figure without a value has no reason of its own."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationKind:
    """One kind of evaluation; ``measure.py`` in the folder of its name says how it is measured.

    ``figures``: the names and values of its metrics in a report, the main ones first; ``prefix``: what their names
    begin with. ``has_results``: whether it judged anything. ``why_no_figure``: why a figure has no value although the
    evaluation ran: "" if the name is that of nothing there is, ``None`` where the reason is not peculiar to it.
    """

    name: Evaluation
    has_results: Callable[[Report], bool]
    metrics: tuple[Metric, ...]
    figures: Callable[[Report], Iterator[tuple[str, Any]]]
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
    follows_unknown: str = ""
    """What follows if the base has no results of it: ``, so all errors in the data count as new``."""
    capability: str = ""
    """The field of an engine's capabilities that says why it does not support it; "": every engine does."""
    of_pipeline: bool = False
    """Whether it needs language understanding alone, so that a fault of the policies or stories does not matter."""
    prefix: str = ""
    why_no_figure: Callable[[Report, str], str | None] = field(default=no_reason)

    @property
    def begins(self) -> str:
        """What the names of its metrics begin with, and how its section of the report is called."""
        return self.prefix or self.name


def names_of(section: str, fields: Iterable[str], holder: object) -> Iterator[tuple[str, Any]]:
    """Yield the figures that a section holds in fields of the same names."""
    return ((f"{section}.{name}", getattr(holder, name)) for name in fields)
