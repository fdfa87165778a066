"""Compares a report with its baseline: :func:`compare`, which looks only at the content of the two."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET, UnsetType, structs
from msgspec.structs import replace

from turncheck.comparison import changed_parts, explanations, matching, model, quarantine
from turncheck.comparison.cases import (
    batch_cases,
    copied_stories,
    end_to_end_cases,
    entity_cases,
    intent_cases,
    response_cases,
    story_cases,
)
from turncheck.comparison.causes import reached_by_proof, with_causes
from turncheck.comparison.changed_settings import settings_changed
from turncheck.comparison.chosen_rules import with_chosen
from turncheck.comparison.consistent_tests import consistency_beside
from turncheck.comparison.contradictions import at_their_causes, with_faults_by_cause
from turncheck.comparison.fallbacks import fallback_change, without_shifts
from turncheck.comparison.hidden import as_both_show, hidden_on
from turncheck.comparison.losses import losses_in_turn, many_losses
from turncheck.comparison.matching import removed_evaluations
from turncheck.comparison.metric_deltas import has_unlisted, measured_otherwise, metric_deltas
from turncheck.comparison.metrics import MetricDelta, metrics_of
from turncheck.comparison.misunderstood import misunderstood_sentences
from turncheck.comparison.newly_judged import newly_judged
from turncheck.comparison.renames import renamed_names, renamed_on_both, validation_beside
from turncheck.comparison.significance import paired_predictions
from turncheck.comparison.training_changes import cut_intents, names_now, relabelled, stripped, without_stripped
from turncheck.comparison.understood_differently import not_yet_recorded, with_messages
from turncheck.messages.phrasing import count, first_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.changes import (
        CaseChange,
        ChangedCases,
        CutIntent,
        DeletedFile,
        FindingChange,
        SettingChange,
    )
    from turncheck.comparison.hidden import Hidden
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report, Unread, Validation
    from turncheck.report.understanding import Confusion


_OF_SENTENCES: Final = ("nlu.intents", "nlu.understood", "nlu.entities", "nlu.responses")
TEST_KINDS: Final[tuple[Evaluation, ...]] = ("core", "e2e", "batch")
UNLISTED: Final = (
    "one side does not list all sentences that it judged: it is not known what changed, nor whether that is noise"
)


def compare(report: Report, baseline: model.Baseline) -> model.Comparison:
    """Compare a report with its baseline.

    Without a baseline, or with the report itself as its baseline, the comparison says why and holds only the values.
    The same two reports give the same comparison, byte for byte.
    """
    match baseline:
        case model.Unreachable(reason, warnings, remedy=remedy):
            own_branch = baseline.own_branch or UNSET
            used = model.BaselineUsed(
                status="unreachable", reason=reason, remedy=remedy, warnings=warnings, own_branch=own_branch
            )
            return _without_baseline(report, used, settings_changed=baseline.settings_changed)
        case model.Missing(reason, warnings, agreed):
            used = model.BaselineUsed(status="missing", reason=reason, warnings=warnings)
            return _without_baseline(report, used, agreed=agreed, settings_changed=baseline.settings_changed)
        case model.Unreadable(reason):
            return _without_baseline(report, model.BaselineUsed(status="unreadable", reason=reason))
        case model.Present(base):
            if _is_itself(base, report):
                reason = "the baseline is this report itself"
                return _without_baseline(report, model.BaselineUsed(status="missing", reason=reason), agreed=True)
            if baseline.way in {"file", "url"} and _is_repeated(base, report):
                reason = "the baseline is a report of this same commit, and says the same"
                return _without_baseline(report, model.BaselineUsed(status="missing", reason=reason), agreed=True)
            seen_base, seen = as_both_show(base, report)
            validation, suspects = validation_beside(seen, seen_base), not_yet_recorded(report, base)
            validation = at_their_causes(validation or report.validation, report, base) or validation
            messages = tuple(
                model.CaseMessages(case=number, messages=case_messages) for number, case_messages in suspects.items()
            )
            head = _with_base_dependent(report, validation or UNSET, messages)
            used = _used(baseline, hidden_on(base, report).places, report.project.root)
            compared = _beside_quarantine(_compare(head, base, used), head, base, agreed=baseline.agreed)
            return structs.replace(
                compared,
                settings_changed=(*baseline.settings_changed, *compared.settings_changed),
                gone_assistants=baseline.gone,
                deleted_files=_deleted_files(base, head, baseline, compared),
                changed_lines=UNSET if baseline.changed_lines is None else baseline.changed_lines,
                validation=validation or UNSET,
                messages=messages or UNSET,
                consistency=consistency_beside(report, base),
            )


def _deleted_files(
    base: Report, head: Report, baseline: model.Present, compared: model.Comparison
) -> tuple[DeletedFile, ...]:
    if not baseline.deleted:
        return ()
    from turncheck.comparison.deleted_files import deleted_files  # few changes delete a file

    errors = [finding for finding in compared.new_findings if finding.severity == "error"]
    return deleted_files(base, head, baseline.deleted, errors, compared.removed_items)


def shown_beside_base(report: Report, comparison: model.Comparison | None) -> Report:
    """Return the report as it is shown beside its base: what depends on the base, the comparison says."""
    if (settings := with_chosen(report.settings, comparison)) != report.settings:
        report = structs.replace(report, settings=settings)
    if comparison is None:
        return report
    if not isinstance(comparison.quarantine, UnsetType):
        report = structs.replace(report, quarantine=comparison.quarantine)
    return _with_base_dependent(report, comparison.validation, comparison.messages or ())


def _with_base_dependent(
    report: Report, validation: Validation | UnsetType, messages: Iterable[model.CaseMessages]
) -> Report:
    if not isinstance(validation, UnsetType):
        report = with_faults_by_cause(structs.replace(report, validation=validation))
    return with_messages(report, {message.case: message.messages for message in messages})


def _used(baseline: model.Present, hidden: tuple[Unread, ...], root: str) -> model.BaselineUsed:
    source, stopped = baseline.report.source, baseline.report.stopped
    cut_short = (f"the run of the base ended before its end: {first_line(stopped)}",) if stopped else ()
    return model.BaselineUsed(
        status="present",
        way=baseline.way,
        commit=baseline.commit or source.commit,
        run_id=baseline.run_id or source.run_id,
        passed_over=baseline.passed_over,
        warnings=(*baseline.warnings, *cut_short),
        mended=baseline.mended,
        doubtful=baseline.doubtful,
        hidden=hidden,
        own_branch=baseline.agreed or UNSET,
        root=UNSET if baseline.report.project.root == root else baseline.report.project.root,
    )


def _is_itself(base: Report, head: Report) -> bool:
    """Whether both are the same measurement: equal down to the timings, or equal and from one run of one commit.

    Two equal reports with neither (made by hand, say) are compared.
    """
    known = base.source.run_id is not None and base.source.commit is not None
    return base == head and (known or bool(head.timings))


def _is_repeated(base: Report, head: Report) -> bool:
    """Whether one commit was measured twice with the same result. Whoever names such a baseline meant another one."""
    same = base.source.commit is not None and base.source.commit == head.source.commit
    return same and msgspec.structs.replace(base, timings={}, source=head.source) == msgspec.structs.replace(
        head, timings={}
    )


def _beside_quarantine(compared: model.Comparison, head: Report, base: Report, *, agreed: bool) -> model.Comparison:
    """Return the comparison with the entries of the quarantine that count: their tests do not newly fail."""
    if isinstance(head.quarantine, UnsetType):
        return compared
    tests = quarantine.tests_of_head(head, base)
    counting = quarantine.effective_beside_base(head.quarantine, base.quarantine, tests, agreed=agreed)
    judged = structs.replace(head, quarantine=counting.quarantine)
    kinds = compared.stories, compared.e2e, compared.batch
    stories, e2e, batch = (quarantine.without_quarantined(kind, judged) for kind in kinds)
    return structs.replace(
        compared,
        stories=stories,
        e2e=e2e,
        batch=batch,
        many_losses=many_losses(quarantine.without_tests_in_quarantine(judged)),
        quarantine=counting.quarantine,
        settings_changed=(*compared.settings_changed, *counting.added),
        warnings=(*compared.warnings, *counting.warnings),
    )


def _without_baseline(
    report: Report,
    used: model.BaselineUsed,
    *,
    agreed: bool = False,
    settings_changed: tuple[SettingChange, ...] = (),
) -> model.Comparison:
    metrics = tuple(
        MetricDelta(name=metric.name, better=metric.better, kind=metric.kind, value=metric.value, base=None)
        for metric in metrics_of(report).values()
    )
    found = model.Comparison(
        baseline=used, metrics=metrics, settings_changed=settings_changed, many_losses=losses_in_turn(report)
    )
    if isinstance(report.quarantine, UnsetType):
        return found
    counting = quarantine.effective_without_base(report.quarantine, agreed=agreed)
    judged = structs.replace(report, quarantine=counting.quarantine)
    return structs.replace(
        found,
        baseline=structs.replace(used, warnings=(*used.warnings, *counting.warnings)),
        quarantine=counting.quarantine,
        many_losses=losses_in_turn(quarantine.without_tests_in_quarantine(judged)),
    )


def _compare(head: Report, base: Report, used: model.BaselineUsed) -> model.Comparison:
    other_mode = measured_otherwise(base, head)
    matched = matching.match_nothing if other_mode else matching.match_sentences
    intents = matched(intent_cases(base), intent_cases(head))
    seen_base, seen = as_both_show(base, head)
    on_base, here = hidden_on(base, head), hidden_on(head, base)
    renamed = renamed_names(seen_base, seen)
    with_blocks = renamed_on_both(seen_base, seen, renamed)
    items = explanations.relocated_to_first_change(explanations.changed_items(seen_base, seen, with_blocks), base, head)
    items = reached_by_proof(items, head, base)
    batch = matching.match_sentences(batch_cases(base), batch_cases(head))
    tests = _matched_tests(base, head, batch)
    removed = changed_parts.removed_items(seen_base, seen, with_blocks)
    difference = explanations.training_difference(base, head)
    explainer = explanations.Explainer(difference, head.nlu)
    changed_sentences = partial(_changed_sentences, base=base, other_mode=other_mode)
    examples = _explained(changed_sentences(intents, by_intent=True), explainer)
    entities = without_stripped(matched(entity_cases(base, head), entity_cases(head, base)))
    responses = matched(response_cases(base), response_cases(head))
    faults = matching.base_faults(base)
    stories, cases, utterances = (
        matching.without_unknown(tests[name], name, faults, on_base, doubtful=used.doubtful) for name in TEST_KINDS
    )
    stories, cases = (changed_parts.with_changed_rules(changed, base, head, removed) for changed in (stories, cases))
    new_findings, gone_findings = changed_parts.changed_findings(base, head, renamed, used.mended)
    unknown_findings = tuple(finding for finding in new_findings if on_base.hides(finding))
    new_findings = tuple(finding for finding in new_findings if not on_base.hides(finding))
    gone_findings = tuple(finding for finding in gone_findings if not here.hides(finding))
    suppressions = changed_parts.new_suppressions(base, head, renamed)
    lost_sentences = "nlu" not in here.parts
    cut = cut_intents(seen_base, seen, renamed) if lost_sentences else ()
    is_configured = {"config", "pipeline"}.isdisjoint(on_base.parts | here.parts)
    components = changed_parts.changed_components(base, head) if is_configured else ()
    metrics = _no_gain_from_gone(metric_deltas(base, head, intents, tests, items), cut)
    metrics = _as_far_as_shown(_judged_by_the_change(metrics, new_findings, head), on_base, here)
    if not any(component.kind == "pipeline" for component in components):
        metrics = without_shifts(base, head, paired_predictions(base, head), metrics)
    compared = model.Comparison(
        baseline=used,
        warnings=_differences(base, head),
        settings_changed=settings_changed(base, head),
        metrics=metrics,
        examples=examples,
        entities=changed_sentences(entities),
        responses=changed_sentences(responses),
        stories=stories,
        e2e=cases,
        batch=utterances,
        base_lacks=matching.missing_on_base(base, head, tests),
        base_faults=faults,
        lost=removed_evaluations(base, head),
        unlisted=has_unlisted(base, head),
        other_mode=other_mode,
        new_findings=new_findings,
        unknown_findings=unknown_findings,
        gone_findings=gone_findings,
        new_suppressions=suppressions.found,
        suppressions_known=suppressions.known,
        unseen_changes=changed_parts.unseen_changes(base, head) if is_configured else (),
        intents=changed_parts.changed_names(seen_base, seen, "intents", renamed),
        entity_types=changed_parts.changed_names(seen_base, seen, "entities", renamed),
        newly_judged=()
        if "nlu" in on_base.parts or has_unlisted(base, head)
        else newly_judged(base, head, renamed, examples, batch),
        base_confusions=_confused_there(base, renamed),
        base_overlap=_overlap(base, head),
        base_notes=base.engine.notes if base.engine else (),
        base_unjudged=tuple(left_out.intent for left_out in base.nlu.unjudged) if base.nlu else (),
        collisions=explanations.collisions(examples.newly_failing, examples.better, explainer),
        relabelled=relabelled(difference, head.training_sentences, renamed) if lost_sentences else (),
        misunderstood=misunderstood_sentences(stories.newly_misunderstood, explainer),
        misunderstood_in_cases=misunderstood_sentences(cases.newly_misunderstood, explainer),
        training_known=explainer.knows,
        changed_items=items,
        removed_items=(*removed, *changed_parts.cut_word_lists(base, head, renamed)),
        changed_components=components,
        cut_intents=cut,
        stripped=stripped(seen_base, seen, renamed) if lost_sentences else (),
        fallback=None if other_mode else fallback_change(base, head, paired_predictions(base, head), metrics),
        renamed=renamed,
        base_tests=matching.base_tests(base, stories, cases, utterances),
        many_losses=many_losses(head),
    )
    return with_causes(compared, head, base)


def _matched_tests(base: Report, head: Report, batch: matching.Matched) -> dict[Evaluation, matching.Matched]:
    """Match the tests of both sides; utterances, ``batch``, are matched as sentences are."""
    end_to_end = matching.match_tests(end_to_end_cases(base, all_there=True), end_to_end_cases(head, all_there=True))
    matched: dict[Evaluation, matching.Matched] = {
        "core": _matched_stories(base, head),
        "e2e": end_to_end,
        "batch": batch,
    }
    return {evaluation: matching.still_there(found, head, evaluation) for evaluation, found in matched.items()}


def _judged_by_the_change(
    metrics: tuple[MetricDelta, ...], new: Sequence[FindingChange], head: Report
) -> tuple[MetricDelta, ...]:
    """Return the figures; what another number of files or an end before the end does is not worse."""
    return _no_worse_by_the_end(_no_worse_by_parts(metrics, new), head)


def _no_worse_by_parts(metrics: tuple[MetricDelta, ...], new: Sequence[FindingChange]) -> tuple[MetricDelta, ...]:
    """Return the figures; warnings that are more only because a file was split into parts are no worse."""
    is_split = all(change.severity == "info" for change in new)
    return _not_judged_worse("validation.warnings", metrics) if is_split else metrics


def _no_worse_by_the_end(metrics: tuple[MetricDelta, ...], head: Report) -> tuple[MetricDelta, ...]:
    """Return the figures; cases that were not run, because the run was stopped, make none worse."""
    return metrics if head.stopped is None else _not_judged_worse("e2e.skipped", metrics)


def _as_far_as_shown(metrics: tuple[MetricDelta, ...], on_base: Hidden, here: Hidden) -> tuple[MetricDelta, ...]:
    """Return the figures; what a side cannot show is in none of its numbers of findings, nor in its coverage."""

    def is_unknown(metric: MetricDelta) -> bool:
        worse = metric.judgement == "worse" and on_base.places
        better = metric.judgement == "better" and here.places
        of_coverage = metric.name.startswith("coverage.") and (on_base.places or here.places)
        return bool(of_coverage or (metric.name.startswith("validation.") and (worse or better)))

    return tuple(
        structs.replace(metric, judgement="not judged") if is_unknown(metric) else metric for metric in metrics
    )


def _not_judged_worse(name: str, metrics: tuple[MetricDelta, ...]) -> tuple[MetricDelta, ...]:
    return tuple(
        msgspec.structs.replace(metric, judgement="not judged")
        if metric.judgement == "worse" and metric.name == name
        else metric
        for metric in metrics
    )


def _no_gain_from_gone(metrics: tuple[MetricDelta, ...], cut: Sequence[CutIntent]) -> tuple[MetricDelta, ...]:
    """Return the figures; if intents lost their sentences, others are understood better because these compete less."""
    if not cut:
        return metrics
    return tuple(
        msgspec.structs.replace(metric, judgement="not judged")
        if metric.judgement == "better" and metric.name.startswith(_OF_SENTENCES)
        else metric
        for metric in metrics
    )


def _confused_there(base: Report, renamed: Sequence[model.Renamed]) -> tuple[Confusion, ...]:
    """The intents that were confused on the base, as they are called now."""
    confusions = base.nlu.intents.confusions if base.nlu and base.nlu.intents else ()
    now = names_now("intents", renamed)
    return tuple(replace(one, expected=now(one.expected), predicted=now(one.predicted)) for one in confusions)


def _overlap(base: Report, head: Report) -> model.Overlap | None:
    """How many of the base's sentences were trained on; not comparable if the base was run in another mode."""
    if base.nlu is None or head.nlu is None or base.nlu.mode != head.nlu.mode:
        return None
    return model.Overlap(
        on_training_sentences=base.nlu.on_training_sentences, under_other_intents=base.nlu.under_other_intents
    )


def _changed_sentences(
    matched: matching.Matched, *, base: Report, other_mode: bool, by_intent: bool = False
) -> ChangedCases:
    """What changed for sentences; if the base measured them in another mode, their earlier results are not known.

    One that the base only trained on, since its intent had too few to be judged, is not new: it has a place there.
    """
    changed = matching.changed_cases(matched)
    if other_mode:
        return msgspec.structs.replace(changed, added_failing=())
    places = {(one.text, one.intent if by_intent else ""): one.location for one in reversed(base.training_sentences)}
    added = (
        msgspec.structs.replace(case, base_location=places.get((case.name, case.expected if by_intent else "")))
        for case in changed.added_failing
    )
    return msgspec.structs.replace(changed, added_failing=tuple(added))


def _matched_stories(base: Report, head: Report) -> matching.Matched:
    """Match the stories of both sides; one that has become a copy of another is edited, not gone.

    A copy that the base has as well is no other story of its: it excuses none that is gone.
    """
    before = story_cases(base, unnamed=False)
    copied = matching.match_named(copied_stories(base), copied_stories(head)).added
    copies = matching.match_named(matching.match_named(before, story_cases(head)).removed, copied).pairs
    apart = {(pair.head.name, pair.head.location) for pair in copies}
    matched = matching.match_named(before, story_cases(head, apart=apart))
    return replace(matched, removed=matching.match_named(matched.removed, copied).removed)


def _explained(cases: ChangedCases, explainer: explanations.Explainer) -> ChangedCases:
    def each(changes: tuple[CaseChange, ...]) -> tuple[CaseChange, ...]:
        return tuple(change if change.passed else explainer.explain(change) for change in changes)

    return msgspec.structs.replace(
        cases, worse=each(cases.worse), edited=each(cases.edited), added_failing=each(cases.added_failing)
    )


def _differences(base: Report, head: Report) -> tuple[str, ...]:
    """What makes the two sides less comparable than two states of the same project."""
    facts = [
        ("engine", _engine(base), _engine(head)),
        ("mode of the NLU evaluation", _mode(base), _mode(head)),
        ("seed", str(base.seed), str(head.seed)),
        ("version of turncheck", base.tool.version, head.tool.version),
    ]
    parts = [
        f"another {what} on the base: {one}, now {other}"
        for what, one, other in facts
        if one and other and one != other
    ]
    return (*parts, UNLISTED) if has_unlisted(base, head) else tuple(parts)


def _engine(report: Report) -> str:
    return f"{report.engine.name} {report.engine.version}" if report.engine else ""


def _mode(report: Report) -> str:
    if report.nlu is None:
        return ""
    return report.nlu.mode if report.nlu.folds is None else f"{report.nlu.mode} with {count(report.nlu.folds, 'fold')}"
