"""How the data are checked: the findings on the project and its tests, without suppressed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.config import smallest_max_history
from turncheck.project.quarantine import never_flaky, unknown_tests
from turncheck.report.model import EndToEnd, FindingCounts, Validation
from turncheck.run.repeats import answers_never_vary
from turncheck.run.skipping import is_asked, not_asked
from turncheck.validation.identity import identified
from turncheck.validation.pipeline import validate
from turncheck.validation.suppressions import suppress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project
    from turncheck.run.under_way import RunInProgress


def measure(run: RunInProgress) -> Validation | None:
    """Check what Rasa checks, and what it accepts silently.

    What cannot be trained is reported if no error at the same place says more.
    """
    if not is_asked(run.settings, "validate"):
        run.skip(not_asked(run.settings, "validate"))
        return None
    suites = run.suites.findings() if run.tests.batch and is_asked(run.settings, "batch") else ()
    of_tests = (*run.tests.findings, *(run.case_findings or ()), *suites, *_of_quarantine(run))
    project, tests, strict = run.project, run.project_tests, run.settings.strict
    with run.screen.step("validate", "Checking the data"):
        checked = validate(project, max_history=smallest_max_history(project.config), strict=strict, tests=tests)
        checked = checked.with_tests(of_tests, eased=False)
        errors = [finding for finding in checked.findings if finding.severity == "error"]
        known, said = ({getattr(finding, part) for finding in errors} for part in ("location", "message"))
        refusals = [finding for location, finding in run.refusals.items() if location not in known]
        checked = checked.without((), [finding for finding in refusals if finding.message not in said])
        # A comment that suppresses nothing in end-to-end cases is only noticed if they were read.
        were_read = run.case_findings is not None
        kept = suppress(checked, project, run.inputs.ignored, tests=tests, strict=strict, cases_read=were_read)
        return validation_of(kept.findings, kept.suppressed, project)


def _of_quarantine(run: RunInProgress) -> tuple[Finding, ...]:
    """What is wrong with the quarantine file: faults, entries that have expired, are about no test, or cannot be."""
    if (file := run.quarantine) is None:
        return ()
    named = {*run.named_tests}
    may_vary = _may_vary(run) if answers_never_vary(run) else named
    return (*file.findings, *unknown_tests(file.quarantine, named), *never_flaky(file.quarantine, named, may_vary))


def _may_vary(run: RunInProgress) -> set[tuple[str, str]]:
    """End-to-end cases that call custom actions, which may do anything, or of which that is not known."""
    section: EndToEnd | None = run.sections.get("e2e")
    results = section.cases if section is not None else ()
    steady = {
        (case.name, case.location.path)
        for case in results
        if case.outcome in {"passed", "failed"} and "real" not in case.actions.values()
    }
    return {(case.name, case.location.path) for case in run.cases.cases} - steady


def validation_of(found: Iterable[Finding], left_out: Iterable[Finding], project: Project | None) -> Validation:
    """Return the report's section on these findings, each once; ``left_out``: those suppressed on purpose.

    ``project``: where they are, ``None`` if it was not read.
    """
    findings = tuple(sorted(identified({*found}, project), key=lambda finding: finding.order))
    suppressed = (finding for finding in identified({*left_out}, project) if finding.severity != "info")
    severities = [finding.severity for finding in findings]
    return Validation(
        findings=findings,
        counts=FindingCounts(
            error=severities.count("error"), warning=severities.count("warning"), info=severities.count("info")
        ),
        suppressed=tuple(sorted(suppressed, key=lambda finding: finding.order)),
    )
