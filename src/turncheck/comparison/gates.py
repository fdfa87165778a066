"""Gates: rules that can fail a run, each with its outcome and its reason; :func:`judge` makes the verdict of them.

A gate that cannot be judged (no baseline, an evaluation that did not run) is a third outcome, and the setting
``not-judged`` says what it counts as.
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from turncheck.comparison.gate_rules import GateRules, at_its_place, read_rules
from turncheck.comparison.metric_gates import judge_regression, judge_threshold
from turncheck.comparison.model import FailedBy, GateResult, Verdict, and_copies
from turncheck.comparison.summary import summarize
from turncheck.comparison.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.gate_rules import Places
    from turncheck.comparison.model import CaseChange, Comparison
    from turncheck.report.model import GateSettings, Report


def judge(
    report: Report, comparison: Comparison | None, settings: GateSettings, places: Places = MappingProxyType({})
) -> Verdict:
    """Judge all gates; ``places`` says where their lines stand, for one that is wrong.

    Raises:
        UserError: a rule that cannot be read, or about a metric that nobody knows.
    """
    gates = tuple(_gates(report, comparison, read_rules(settings, places), places))
    failing = {"failed", "not judged"} if settings.not_judged == "fail" else {"failed"}
    failed = any(gate.outcome in failing for gate in gates)
    return Verdict(
        outcome="failed" if failed else "passed",
        summary=summarize(report, comparison, gates, failing),
        gates=gates,
        not_judged=settings.not_judged,
    )


def _gates(report: Report, comparison: Comparison | None, rules: GateRules, places: Places) -> Iterable[GateResult]:
    if report.stopped is not None:
        yield GateResult(name="completed", outcome="failed", reason=report.stopped)
    if "errors" in rules.fail_on:
        yield _no_findings(report, "error", "errors")
    if rules.fail_on_warnings:
        yield _no_findings(report, "warning", "fail-on-warnings")
    if "test-failures" in rules.fail_on:
        yield _no_failed_tests(report)
    if "new-failures" in rules.fail_on:
        yield _no_new_failures(comparison)
    yield _something_was_tested(report)
    for evaluation in rules.require:
        yield _required(report, evaluation)
    for threshold in rules.thresholds:
        yield at_its_place(threshold.text, places, partial(judge_threshold, report, comparison, threshold))
    for regression in rules.regressions:
        yield at_its_place(regression.text, places, partial(judge_regression, report, comparison, regression))


def _no_findings(report: Report, severity: str, name: str) -> GateResult:
    if report.validation is None:
        return GateResult(name=name, outcome="not judged", reason=_skipped(report, "validate"))
    found = [finding for finding in report.validation.findings if finding.severity == severity]
    if not found:
        return GateResult(name=name, outcome="passed", reason=f"no {severity}s in the data")
    failed_by = tuple(
        FailedBy(what=f"{finding.code}: {finding.message} {finding.hint}".strip(), location=finding.location)
        for finding in found
    )
    return GateResult(
        name=name, outcome="failed", reason=f"{count(len(found), severity)} in the data", failed_by=failed_by
    )


def _no_failed_tests(report: Report) -> GateResult:
    """Stories, end-to-end cases and batch cases. Wrong NLU examples are no failed tests, since no model is perfect."""
    name = "test-failures"
    ran, failed = [], []
    if report.core and report.core.stories:
        stories = [story for story in report.core.stories if not story.passed]
        ran.append((len(stories), len(report.core.stories), "story", "stories"))
        failed += [FailedBy(what=f"story {story.name}", location=story.location) for story in stories]
    if report.e2e and report.e2e.passed + report.e2e.failed:
        cases = [case for case in report.e2e.cases if case.outcome in {"failed", "error"}]
        ran.append((len(cases), report.e2e.passed + report.e2e.failed, "end-to-end case", "end-to-end cases"))
        failed += [FailedBy(what=f"end-to-end case {case.name}", location=case.location) for case in cases]
    if report.batch and report.batch.suites:
        batch = [case for suite in report.batch.suites for case in suite.cases]
        wrong = [case for case in batch if not case.passed]
        ran.append((len(wrong), len(batch), "batch case", "batch cases"))
        failed += [FailedBy(what=f"batch case {case.text}", location=case.location) for case in wrong]
    if not ran:
        return GateResult(name=name, outcome="not judged", reason="no stories, end-to-end or batch cases were run")
    if not failed:
        counts = " and ".join(count(of, one, many) for _, of, one, many in ran)
        return GateResult(name=name, outcome="passed", reason=f"{counts} passed")
    counts = " and ".join(f"{wrong} of {count(of, one, many)}" for wrong, of, one, many in ran if wrong)
    return GateResult(name=name, outcome="failed", reason=f"{counts} failed", failed_by=tuple(failed))


def _no_new_failures(comparison: Comparison | None) -> GateResult:
    name = "new-failures"
    if comparison is None or not comparison.judged:
        return GateResult(name=name, outcome="not judged", reason=no_baseline(comparison))
    tests = newly_failing(comparison)
    failed = [FailedBy(what=f"{kind} {case.name}{and_copies(case)}", location=case.location) for kind, case in tests]
    failed += [
        FailedBy(what=f"{finding.code}: {finding.message}", location=finding.location)
        for finding in comparison.new_findings
        if finding.severity == "error"
    ]
    if not failed:
        return GateResult(name=name, outcome="passed", reason="nothing fails that passed on the base")
    copies = sum(case.copies for _, case in tests)
    reason = f"{count(len(failed) + copies, 'failure')} that the base does not have"
    return GateResult(name=name, outcome="failed", reason=reason, failed_by=tuple(failed))


def newly_failing(comparison: Comparison) -> list[tuple[str, CaseChange]]:
    """Return the stories, end-to-end and batch cases that fail and did not on the base, new ones included."""
    kinds = (("story", comparison.stories), ("end-to-end case", comparison.e2e), ("batch case", comparison.batch))
    return [(kind, case) for kind, cases in kinds for case in cases.newly_failing]


def _something_was_tested(report: Report) -> GateResult:
    """A run that tested nothing must never look like success."""
    name = "something-was-tested"
    tested = [
        count(number, one, many)
        for number, one, many in (
            (report.nlu.examples if report.nlu else 0, "sentence", "sentences"),
            (len(report.core.stories) if report.core else 0, "story", "stories"),
            (report.e2e.passed + report.e2e.failed if report.e2e else 0, "end-to-end case", "end-to-end cases"),
            (sum(len(s.cases) for s in report.batch.suites) if report.batch else 0, "batch case", "batch cases"),
        )
        if number
    ]
    if tested:
        return GateResult(name=name, outcome="passed", reason=f"tested: {', '.join(tested)}")
    reasons = tuple(FailedBy(what=f"{s.evaluation} was skipped: {s.reason}") for s in report.skipped)
    return GateResult(name=name, outcome="failed", reason="nothing was tested", failed_by=reasons)


def _required(report: Report, evaluation: str) -> GateResult:
    name = f"require: {evaluation}"
    ran = {
        "validate": report.validation is not None,
        "nlu": report.nlu is not None and report.nlu.examples > 0,
        "core": report.core is not None and bool(report.core.stories),
        "e2e": report.e2e is not None and report.e2e.passed + report.e2e.failed > 0,
        "batch": report.batch is not None and any(suite.cases for suite in report.batch.suites),
    }[evaluation]
    if ran:
        return GateResult(name=name, outcome="passed", reason=f"{evaluation} was run")
    return GateResult(name=name, outcome="failed", reason=f"{evaluation} was not run: {_skipped(report, evaluation)}")


def _skipped(report: Report, evaluation: str) -> str:
    reasons = [skipped.reason for skipped in report.skipped if skipped.evaluation == evaluation]
    return reasons[0] if reasons else "it had nothing to judge"


def no_baseline(comparison: Comparison | None) -> str:
    """Say why nothing can be compared."""
    if comparison is None:
        return "no baseline: none was asked for"
    return f"no baseline: {comparison.baseline.reason}"
