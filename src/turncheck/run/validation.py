"""The data of a run: the findings on the project and its tests, without suppressed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.config import smallest_max_history
from turncheck.report.model import FindingCounts, Validation
from turncheck.validation.pipeline import validate
from turncheck.validation.suppressions import suppress

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.project.model import Project
    from turncheck.run.inputs import Inputs
    from turncheck.validation.facts import ProjectTests


def checked_data(
    inputs: Inputs,
    project: Project,
    tests: ProjectTests,
    of_tests: Iterable[Finding],
    refusals: Mapping[Location, Finding],
    *,
    cases_read: bool,
) -> Validation:
    """Check what Rasa checks, and what it accepts silently.

    Args:
        inputs: their settings, and which codes are ignored.
        project: what is checked.
        tests: its tests, which name its intents and actions.
        of_tests: the findings from reading them.
        refusals: what cannot be trained, by place; reported if no error at the same place says more.
        cases_read: whether end-to-end cases were, so that a comment which suppresses nothing there is noticed.
    """
    strict = inputs.settings.strict
    checked = validate(project, max_history=smallest_max_history(project.config), strict=strict, tests=tests)
    checked = checked.with_tests(of_tests, eased=False)
    known = {finding.location for finding in checked.findings if finding.severity == "error"}
    checked = checked.without((), (one for place, one in refusals.items() if place not in known))
    kept = suppress(checked, project, inputs.ignored, tests=tests, strict=strict, cases_read=cases_read)
    return validation_of(kept.findings, kept.suppressed)


def validation_of(found: Iterable[Finding], left_out: Iterable[Finding] = ()) -> Validation:
    """Return the report's section on these findings, each once; ``left_out``: those suppressed on purpose."""
    findings = tuple(sorted({*found}, key=lambda finding: finding.order))
    suppressed = (finding for finding in {*left_out} if finding.severity != "info")
    severities = [finding.severity for finding in findings]
    return Validation(
        findings=findings,
        counts=FindingCounts(
            error=severities.count("error"), warning=severities.count("warning"), info=severities.count("info")
        ),
        suppressed=tuple(sorted(suppressed, key=lambda finding: finding.order)),
    )
