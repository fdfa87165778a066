"""A run from top to bottom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Baseline, Comparison, Missing, Present
from turncheck.comparison.quarantine import with_passes_of_base
from turncheck.conclude import Outcome, conclude
from turncheck.messages.errors import INTERRUPTED
from turncheck.run.evaluated_project import evaluate_project, rejudged_against_base
from turncheck.run.inputs import NONE_PRECOMPUTED, Inputs, PrecomputedAnswers
from turncheck.run.masking import masked, values_in

if TYPE_CHECKING:
    from turncheck.process.screen import Console
    from turncheck.render.links import Links
    from turncheck.report.model import Report

FindBaseline = Callable[["Report"], "Baseline"]


@dataclass(eq=False)
class _Search:
    """The search for the baseline: done once, when it is first needed, which may be in the middle of the run."""

    find: FindBaseline
    screen: Console
    found: Baseline | None = field(default=None, init=False)

    def baseline(self, report: Report) -> Baseline:
        """Return what a report is compared with; its results do not matter for that."""
        if self.found is None:
            with self.screen.step("baseline", "Looking for the baseline"):
                self.found = self.find(report)
        return self.found

    def report(self, report: Report) -> Report | None:
        """Return the same, if it is a report."""
        found = self.baseline(report)
        return found.report if isinstance(found, Present) else None


def run_and_conclude(
    inputs: Inputs,
    links: Links,
    find_baseline: FindBaseline,
    screen: Console,
    precomputed: PrecomputedAnswers = NONE_PRECOMPUTED,
) -> Outcome:
    """Read the project, measure it, compare it with its baseline, judge it, and render the result.

    Args:
        inputs: the settings, and whatever else determines what is measured.
        links: how to link to files, commits and runs.
        find_baseline: called once, with the report, for what to compare it with.
        screen: where progress is shown.
        precomputed: the answers that are already known.

    Raises:
        UserError: the run could not be done at all.
    """
    search = _Search(partial(_find_sized, inputs, find_baseline), screen)
    evaluated = evaluate_project(inputs, screen, precomputed, find_base=search.report)
    report = evaluated.report
    baseline = search.found or Missing("not searched completely, since the run was interrupted")
    compared: tuple[Report, Comparison] | None = None
    if report.stopped != INTERRUPTED:
        try:
            baseline = search.baseline(report)
            if isinstance(baseline, Present):
                report = rejudged_against_base(report, baseline.report, evaluated.project, evaluated.cases_again)
                report = with_passes_of_base(report, baseline.report)
                if evaluated.run is not None and report.stopped is None:
                    from turncheck.run.causes import with_causes  # only against a base

                    compared = report, compare(report, baseline)
                    report = with_causes(report, baseline.report, compared[1], evaluated.run)
                report = masked(report, values_in(evaluated.project))  # what was added, such as causes
        except KeyboardInterrupt:
            report = structs.replace(report, stopped=INTERRUPTED)
    settings = inputs.settings
    return conclude(
        report,
        baseline,
        links,
        inputs.rules,
        flavour=settings.junit_flavour,
        formats=settings.output_format,
        comparison=compared[1] if compared is not None and compared[0] is report else None,
    )


def _find_sized(inputs: Inputs, find: FindBaseline, report: Report) -> Baseline:
    """Find the baseline, with the number of changed lines if the host knows it."""
    found = find(report)
    if isinstance(found, Present) and found.changed_lines is None and inputs.sized is not None:
        return inputs.sized(found)
    return found
