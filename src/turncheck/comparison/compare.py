"""Report against baseline: :func:`compare`, from the content of the two alone."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from turncheck.comparison.baseline import Baseline, Missing, Present, Unreadable
from turncheck.comparison.cases import (
    batch_cases,
    end_to_end_cases,
    entity_cases,
    intent_cases,
    response_cases,
    story_cases,
)
from turncheck.comparison.changed_cases import (
    changed_cases,
    changed_findings,
    changed_names,
    changed_tests,
    match_named,
    match_sentences,
)
from turncheck.comparison.explanations import Explainer, changed_items, collisions, training_difference
from turncheck.comparison.metric_deltas import has_unlisted, metric_deltas
from turncheck.comparison.metrics import metrics_of
from turncheck.comparison.model import (
    BaselineUsed,
    CaseChange,
    ChangedCases,
    Comparison,
    MetricDelta,
    SettingChange,
)
from turncheck.plurals import count

if TYPE_CHECKING:
    from turncheck.comparison.changed_cases import Matched
    from turncheck.report.model import Report


UNLISTED: Final = "one side does not list all sentences that it judged: what changed is not known, nor if it is noise"


def compare(report: Report, baseline: Baseline) -> Comparison:
    """Compare a report with its baseline.

    Without a baseline, or with the very report itself as one, the comparison says why and holds the values alone.
    The same two reports give the same comparison, byte for byte.
    """
    match baseline:
        case Missing(reason, warnings):
            return _alone(report, BaselineUsed(status="missing", reason=reason, warnings=warnings))
        case Unreadable(reason):
            return _alone(report, BaselineUsed(status="unreadable", reason=reason))
        case Present(base):
            if _is_itself(base, report):
                reason = "the baseline is this very report"
                return _alone(report, BaselineUsed(status="missing", reason=reason))
            if baseline.way in {"file", "url"} and _is_repeated(base, report):
                reason = "the baseline is a report of this very commit, and says the same"
                return _alone(report, BaselineUsed(status="missing", reason=reason))
            return _compare(report, base, _used(baseline))


def _used(baseline: Present) -> BaselineUsed:
    source = baseline.report.source
    return BaselineUsed(
        status="present",
        way=baseline.way,
        commit=baseline.commit or source.commit,
        run_id=baseline.run_id or source.run_id,
        passed_over=baseline.passed_over,
        warnings=baseline.warnings,
    )


def _is_itself(base: Report, head: Report) -> bool:
    """Whether both are one measurement: equal to the last timing, or equal and of one run of one commit.

    Two equal reports without either (made by hand, say) are compared.
    """
    known = base.source.run_id is not None and base.source.commit is not None
    return base == head and (known or bool(head.timings))


def _is_repeated(base: Report, head: Report) -> bool:
    """Whether one commit was measured twice with one result. Who names such a baseline meant another one."""
    same = base.source.commit is not None and base.source.commit == head.source.commit
    return same and msgspec.structs.replace(base, timings={}, source=head.source) == msgspec.structs.replace(
        head, timings={}
    )


def _alone(report: Report, used: BaselineUsed) -> Comparison:
    metrics = tuple(
        MetricDelta(name=metric.name, better=metric.better, kind=metric.kind, value=metric.value, base=None)
        for metric in metrics_of(report).values()
    )
    return Comparison(baseline=used, metrics=metrics)


def _not_gone(evaluation: Literal["core", "e2e"], matched: Matched, head: Report) -> Matched:
    """Tests that could not be run, or have no name, are still there: all are gone only where none is left to run."""
    left = any(one.evaluation == evaluation and one.no_tests for one in head.skipped)
    ran = (head.core if evaluation == "core" else head.e2e) is not None
    unnamed = evaluation == "core" and head.core is not None and not all(story.named for story in head.core.stories)
    return matched if (ran or left) and not unnamed else replace(matched, removed=())


def _compare(head: Report, base: Report, used: BaselineUsed) -> Comparison:
    intents = match_sentences(intent_cases(base), intent_cases(head))
    items = changed_items(base, head)
    stories = _not_gone("core", match_named(story_cases(base, unnamed=False), story_cases(head)), head)
    end_to_end = _not_gone("e2e", match_named(end_to_end_cases(base), end_to_end_cases(head)), head)
    batch = match_sentences(batch_cases(base), batch_cases(head))
    explainer = Explainer(training_difference(base, head), head.nlu)
    examples = _explained(changed_cases(intents), explainer)
    new_findings, gone_findings = changed_findings(base, head)
    return Comparison(
        baseline=used,
        warnings=_differences(base, head),
        settings_changed=_settings_changed(base, head),
        metrics=metric_deltas(base, head, intents, {"core": stories, "e2e": end_to_end, "batch": batch}, items),
        examples=examples,
        entities=changed_cases(match_sentences(entity_cases(base), entity_cases(head))),
        responses=changed_cases(match_sentences(response_cases(base), response_cases(head))),
        stories=changed_tests(stories),
        e2e=changed_tests(end_to_end),
        batch=changed_tests(batch),
        unlisted=has_unlisted(base, head),
        new_findings=new_findings,
        gone_findings=gone_findings,
        intents=changed_names(base, head, "intents"),
        entity_types=changed_names(base, head, "entities"),
        collisions=collisions(examples.newly_failing, examples.better, explainer),
        changed_items=items,
    )


def _explained(cases: ChangedCases, explainer: Explainer) -> ChangedCases:
    def each(changes: tuple[CaseChange, ...]) -> tuple[CaseChange, ...]:
        return tuple(change if change.passed else explainer.explain(change) for change in changes)

    return msgspec.structs.replace(
        cases, worse=each(cases.worse), edited=each(cases.edited), added_failing=each(cases.added_failing)
    )


def _differences(base: Report, head: Report) -> tuple[str, ...]:
    """What makes the two sides less comparable than two states of one project."""
    facts = [
        ("engine", _engine(base), _engine(head)),
        ("mode of the NLU evaluation", _mode(base), _mode(head)),
        ("seed", str(base.seed), str(head.seed)),
        ("version of turncheck", base.tool.version, head.tool.version),
    ]
    told = [
        f"another {what} on the base: {one}, now {other}"
        for what, one, other in facts
        if one and other and one != other
    ]
    return (*told, UNLISTED) if has_unlisted(base, head) else tuple(told)


def _engine(report: Report) -> str:
    return f"{report.engine.name} {report.engine.version}" if report.engine else ""


def _mode(report: Report) -> str:
    if report.nlu is None:
        return ""
    return report.nlu.mode if report.nlu.folds is None else f"{report.nlu.mode} with {count(report.nlu.folds, 'fold')}"


def _settings_changed(base: Report, head: Report) -> tuple[SettingChange, ...]:
    changes = []
    for field in head.settings.__struct_fields__:
        one, other = getattr(base.settings, field), getattr(head.settings, field)
        if one != other:
            changes.append(SettingChange(name=re.sub("_", "-", field), base=_setting(one), value=_setting(other)))
    return tuple(changes)


def _setting(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return ", ".join(str(part) for part in value) or "none"
        case _:
            return str(value)
