"""The verdict in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.model import number_of
from turncheck.comparison.wording import change, count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.comparison.model import Comparison, GateResult
    from turncheck.report.model import Report

_MOST_REASONS: Final = 2


def summarize(
    report: Report, comparison: Comparison | None, gates: Sequence[GateResult], failing: AbstractSet[str]
) -> str:
    """Say what happened: the reasons of the failing gates, else what was tested; what changed; what else to know."""
    reasons = [gate.reason for gate in gates if gate.outcome in failing]
    parts = reasons[:_MOST_REASONS]
    if len(reasons) > _MOST_REASONS:
        parts.append(f"{count(len(reasons) - _MOST_REASONS, 'more gate')} failed")
    if not parts:
        parts = [_tested(report)]
    if comparison and comparison.judged:
        parts.append(_changed(comparison))
    if report.e2e and report.e2e.skipped:
        parts.append(f"{count(report.e2e.skipped, 'end-to-end case')} not run")
    if report.nlu and report.nlu.on_training_sentences:
        copies, folded = report.nlu.on_training_sentences, report.nlu.mode == "cross-validation"
        of = f"{copies:,} of {count(report.nlu.examples, 'sentence' if folded else 'test sentence')}"
        if folded:
            parts.append(f"{of} {'has a copy' if copies == 1 else 'have copies'} in other folds")
        else:
            parts.append(f"{of} also {'appears' if copies == 1 else 'appear'} in the training data")
    return "; ".join(parts)


def _tested(report: Report) -> str:
    tested = []
    if report.core and report.core.stories:
        passed = sum(story.passed for story in report.core.stories)
        tested.append(f"{passed} of {count(len(report.core.stories), 'story', 'stories')}")
    if report.e2e and (ran := report.e2e.passed + report.e2e.failed):
        tested.append(f"{report.e2e.passed} of {count(ran, 'end-to-end case')}")
    if report.batch and report.batch.suites:
        cases = [case for suite in report.batch.suites for case in suite.cases]
        tested.append(f"{sum(case.passed for case in cases)} of {count(len(cases), 'batch case')}")
    passed_line = f"{' and '.join(tested)} passed" if tested else ""
    if (nlu := report.nlu) and nlu.intents:
        listed = sum(example.correct for example in nlu.predictions)
        right = round(nlu.intents.accuracy * nlu.examples) if nlu.unlisted else listed
        intents = f"the right intent for {right:,} of {count(nlu.examples, 'sentence')}"
        return f"{passed_line}, {intents}" if passed_line else intents
    if not passed_line and report.validation and report.settings.evaluations == ("validate",):
        return f"{count(len(report.validation.findings), 'finding')} in the data, nothing else was asked for"
    return passed_line or "nothing was tested"


def _changed(comparison: Comparison) -> str:
    """The most telling difference: the intents' F1 and the sentences that changed sides."""
    told = []
    f1 = comparison.metric("nlu.intents.f1")
    if f1 and f1.delta is not None and f1.judgement in {"better", "worse", "noise"}:
        word = {"better": "real gain", "worse": "real drop", "noise": "within noise"}[f1.judgement]
        base, value = f1.sides
        told.append(f"F1 of the intents {change(base or 0.0, value or 0.0, 'score')} ({word})")
    cases = (
        *(comparison.examples, comparison.entities, comparison.responses),
        *(comparison.stories, comparison.e2e, comparison.batch),
    )
    worse, better = sum(number_of(c.became_wrong) for c in cases), sum(number_of(c.better) for c in cases)
    if worse:
        told.append(f"{count(worse, 'case')} newly wrong")
    if better:
        told.append(f"{better:,} newly right" if worse else f"{count(better, 'case')} newly right")
    if added := sum(number_of(c.added_failing) for c in cases):
        told.append(f"{count(added, 'new case')} wrong from the start")
    serious = [finding for finding in comparison.new_findings if finding.severity != "info"]
    if serious:
        told.append(f"{count(len(serious), 'new finding')} in the data")
    tests = (
        *((comparison.stories, "story", "stories"), (comparison.e2e, "end-to-end case", None)),
        (comparison.batch, "batch case", None),
    )
    for kind, one, many in tests:
        if kind.removed:
            told.append(f"{count(kind.removed, one, many)} gone")
    if told:
        return ", ".join(told)
    return "no case changed sides against the base" if comparison.changed else "nothing changed against the base"
