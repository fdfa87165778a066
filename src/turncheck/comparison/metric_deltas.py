"""Every metric with its value on both sides, the difference, and whether that is more than chance."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from turncheck.comparison.batch_figures import tested_batch
from turncheck.comparison.cases import is_read_in_part
from turncheck.comparison.judgement import Judgement, MetricDelta, SharedDelta, Significance
from turncheck.comparison.metrics import COVERAGE_OF_CHANGES, Metric, metrics_of
from turncheck.comparison.significance import (
    LEVEL,
    Judged,
    PairedScore,
    PairedScores,
    mcnemar_exact,
    paired_calibration,
    paired_scores,
)
from turncheck.report.tags import NO_ENTITY, read_tokens, token_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.comparison.cases import Case
    from turncheck.comparison.changed_cases import Matched, Pair
    from turncheck.comparison.model import ChangedItem
    from turncheck.report.model import EntitySpan, Evaluation, NluPrediction, Report
    from turncheck.report.tags import Tokens
    from turncheck.report.trust import Trust

_MOST_TESTED: Final = 30
"""No pipeline has more extractors or selectors; a report from anywhere may, each for a pass over all sentences."""
_SAMPLED: Final = re.compile(
    r"nlu\.(?:intents|entities|responses|understood|calibration_error)\b.*"
    r"|batch(?:\[.*\])?\.(?:intent_success|accuracy|precision|recall|f1|entity_success)",
    re.DOTALL,
)
"""Figures about a sample of what people write. Stories, cases and findings are counted, they stand for themselves."""


def metric_deltas(
    base: Report, head: Report, intents: Matched, tests: Mapping[Evaluation, Matched], items: Sequence[ChangedItem]
) -> tuple[MetricDelta, ...]:
    """Return all metrics of either side: in the baseline's order, then what only the new report has.

    Args:
        intents: the test sentences.
        tests: stories, end-to-end and batch cases, by their section of the report.
        items: what the change touched.
    """
    before, after = metrics_of(base), metrics_of(head)
    if base.strength and head.strength and base.strength.scope != head.strength.scope:
        # The mutants of a change are not a sample of all.
        before = {name: metric for name, metric in before.items() if not name.startswith("strength.")}
    if base.robustness and head.robustness and base.robustness.mode != head.robustness.mode:
        before = {name: metric for name, metric in before.items() if not name.startswith("robustness")}
    if items:
        share = sum(item.covered for item in items) / len(items)
        after[COVERAGE_OF_CHANGES] = Metric(COVERAGE_OF_CHANGES, share, "higher", "score")
    # Of lists with holes, what both sides have is not a sample of what they judged.
    known = not has_unlisted(base, head) and not measured_otherwise(base, head)
    same = [pair for pair in intents.pairs if known and not {"edited", "renamed"} & set(pair.edits)]
    pairs = _paired_predictions(base, head) if known else []
    tested = _tested(base, head, same, pairs) | tested_batch(base, head)
    same_intents = known and len(same) == len(intents.pairs) and not intents.added and not intents.removed
    same_expectations = same_intents and {len(_predictions(base)), len(_predictions(head))} == {len(pairs)}
    same_cases = "batch" not in tests or tests["batch"].is_whole
    counted = dict(_counted(tests))
    for section in ("core", "e2e"):
        tested |= _tested_by_sentences(section, tests[section]) if section in tests else {}
    hidden = is_read_in_part(head)
    deltas = (
        _delta_of_tests(metric, before[name].value, after[name].value, counted[name], tested.get(name))
        if name in counted and name in before and name in after
        else _delta(
            metric,
            before.get(name),
            after.get(name),
            tested.get(name),
            same_examples=is_counted(name) or _is_same(name, same_intents, same_expectations, same_cases),
        )
        for name, metric in {**before, **after}.items()
    )
    known_deltas = (_unless_hidden(delta) if hidden else delta for delta in deltas)
    return tuple(_unless_untrusted(delta, base.trust, head.trust) for delta in known_deltas)


def _unless_untrusted(delta: MetricDelta, base: Trust | None, head: Trust | None) -> MetricDelta:
    """Without a verdict where the stand-in agrees too little with the team's model.

    A calibration of this change alone takes no verdict away that the base's would have allowed.
    """
    known = [side.agreement_on(delta.name) for side in (base, head) if side is not None and not side.problem]
    agreement = known[-1] if known else None
    if delta.delta is None or agreement is None or not all(one is not None and one.too_low for one in known):
        return delta
    return msgspec.structs.replace(delta, judgement="not judged", agreement=agreement.share)


def _unless_hidden(delta: MetricDelta) -> MetricDelta:
    """Fewer findings are not a gain where a file cannot be read: nobody looked for them there."""
    better = delta.name.startswith("validation.") and delta.judgement == "better"
    return msgspec.structs.replace(delta, judgement="not judged") if better else delta


def has_unlisted(base: Report, head: Report) -> bool:
    """Whether a side judged sentences that it does not list."""
    return any(report.nlu is not None and report.nlu.unlisted > 0 for report in (base, head))


def measured_otherwise(base: Report, head: Report) -> bool:
    """Whether one side judged held-out sentences and the other its training data: no figure is one of both."""
    return base.nlu is not None and head.nlu is not None and base.nlu.mode != head.nlu.mode


_NOTHING: Final = Judged(None, None, None)

_Test = tuple[float, float, Significance, bool]
"""A metric on the shared examples before and after, how it was judged, and whether it is real."""


def _delta(
    metric: Metric, before: Metric | None, after: Metric | None, test: _Test | None, *, same_examples: bool
) -> MetricDelta:
    delta = after.value - before.value if after and before else None
    shared = None
    if test and not same_examples:
        shared = _shared(test[0], test[1])
    judgement, significance = _judge(metric, delta, test, same_examples=same_examples)
    return MetricDelta(
        name=metric.name,
        better=metric.better,
        kind=metric.kind,
        value=after.value if after else None,
        base=before.value if before else None,
        delta=delta,
        shared=shared,
        judgement=judgement,
        significance=significance,
    )


def _is_same(name: str, intents: bool, expectations: bool, cases: bool) -> bool:
    """Whether both sides judged the same for a figure."""
    if name.startswith("batch"):
        return cases
    return intents if name.startswith("nlu.intents") else expectations


def _counted(tests: Mapping[Evaluation, Matched]) -> Iterable[tuple[str, SharedDelta | None]]:
    """The figures about tests, on those of both sides, where one side has others; ``None`` where they share none."""
    for section, matched in tests.items():
        if not matched.is_whole:
            number = sum(pair.number for pair in matched.pairs)
            before = sum(pair.number for pair in matched.pairs if pair.base.passed)
            after = sum(pair.number for pair in matched.pairs if pair.head.passed)
            yield f"{section}.passed", _shared(before, after) if number else None
            yield f"{section}.failed", _shared(number - before, number - after) if number else None
            if section == "core":
                yield "core.conversation_accuracy", _shared(before / number, after / number) if number else None
                yield from _counted_apart(matched.pairs)
            if section == "e2e":
                for name, is_so in (("failed", _has_failed), ("misunderstood", _is_misunderstood)):
                    yield f"e2e.{name}", _shared(*_numbers(matched.pairs, is_so)) if number else None


def _has_failed(case: Case) -> bool:
    return case.failed


def _is_misunderstood(case: Case) -> bool:
    return case.misunderstood


def _counted_apart(pairs: Sequence[Pair]) -> Iterable[tuple[str, SharedDelta | None]]:
    """The figures that tell failed dialogues from misunderstood sentences; ``failed`` counts the first alone."""
    number = sum(pair.number for pair in pairs)
    failed, were = _numbers(pairs, _has_failed), _numbers(pairs, _is_misunderstood)
    shared = {
        "core.failed": _shared(*failed),
        "core.misunderstood": _shared(*were),
        "core.as_written.failed": _shared(*failed),
        "core.as_written.passed": _shared(number - failed[0], number - failed[1]),
    }
    yield from ((name, delta if number else None) for name, delta in shared.items())


def _numbers(pairs: Sequence[Pair], counts: Callable[[Case], bool]) -> tuple[int, int]:
    """How many cases of both sides are so on the base, and now."""
    return sum(p.number for p in pairs if counts(p.base)), sum(p.number for p in pairs if counts(p.head))


def _tested_by_sentences(section: str, tests: Matched) -> dict[str, _Test]:
    """Judge the figures that moved because tests are understood differently: their sentences are a sample, too.

    What is counted is different sentences: one that spoils ten stories is one. Where a dialogue changed as well, the
    numbers of tests speak for themselves.
    """
    pairs = tests.pairs
    before = {(one.text, one.expected.intent) for pair in pairs for one in pair.base.sentences}
    after = {(one.text, one.expected.intent) for pair in pairs for one in pair.head.sentences}
    lost, won = len(after - before), len(before - after)
    if not lost and not won:
        return {}
    p_value = mcnemar_exact(lost, won)
    significance = Significance(method="mcnemar", p_value=p_value, changed=lost + won)
    moved: dict[str, tuple[float, float]] = {f"{section}.misunderstood": _numbers(pairs, _is_misunderstood)}
    if all(pair.base.failed == pair.head.failed for pair in pairs):
        number = sum(pair.number for pair in pairs)
        before_passed, passed = _numbers(pairs, lambda case: case.passed)
        moved[f"{section}.passed"] = before_passed, passed
        if section == "core":
            moved["core.conversation_accuracy"] = before_passed / number, passed / number
    return {
        name: (base, value, significance, p_value < LEVEL) for name, (base, value) in moved.items() if base != value
    }


def _shared(base: float, value: float) -> SharedDelta:
    return SharedDelta(base=base, value=value, delta=value - base)


def _delta_of_tests(
    metric: Metric, base: float, value: float, shared: SharedDelta | None, test: _Test | None
) -> MetricDelta:
    judgement: Judgement = "not judged"
    significance: Significance | None = Significance(method="counted")
    if shared:
        judgement, significance = _judge(metric, shared.delta, test, same_examples=True)
    return MetricDelta(
        name=metric.name,
        better=metric.better,
        kind=metric.kind,
        value=value,
        base=base,
        delta=value - base,
        shared=shared,
        judgement=judgement,
        significance=significance,
    )


def _judge(
    metric: Metric, delta: float | None, test: _Test | None, *, same_examples: bool
) -> tuple[Judgement, Significance | None]:
    if delta is None:
        return "not judged", None
    if test is None and is_counted(metric.name):
        judgement: Judgement = "not judged" if metric.better == "neither" else _direction(delta, metric)
        return judgement, Significance(method="counted")
    if test is None:
        return ("same" if delta == 0 and same_examples else "not judged"), None
    base, value, significance, real = test
    if not significance.changed:
        return "same", significance
    return (_direction(value - base, metric) if real else "noise"), significance


def is_counted(name: str) -> bool:
    """Whether a figure stands for itself: stories, cases, findings are all there are, no sample."""
    return not _SAMPLED.fullmatch(name)


def _direction(delta: float, metric: Metric) -> Judgement:
    if delta == 0:
        return "same"
    return "better" if (delta > 0) == (metric.better == "higher") else "worse"


# --- tests on the examples that both sides judged --------------------------------------------------------------------


def _tested(
    base: Report, head: Report, same: Sequence[Pair], pairs: Sequence[tuple[NluPrediction, NluPrediction]]
) -> dict[str, _Test]:
    """Judge every sampled figure.

    Args:
        base: the report before.
        head: the report now.
        same: sentences with the same intent on both sides.
        pairs: sentences with the same intent, response and entities on both sides.
    """
    tested: dict[str, _Test] = {}
    if same:
        judged = [(Judged(p.head.expected, p.base.actual or None, p.head.actual or None),) for p in same]
        _add_scores(tested, "nlu.intents", paired_scores(judged, head.seed))
        _add_accuracy(tested, "nlu.intents.accuracy", [one for (one,) in judged])
    _add_understood(tested, [(old, new) for old, new in pairs if new.expected.intent], head.seed)
    for extractor in islice(head.nlu.entities if head.nlu else (), _MOST_TESTED):
        if base.nlu and extractor in base.nlu.entities:
            words = [_words(old, new, extractor) for old, new in pairs]
            _add_scores(tested, f"nlu.entities.{extractor}", paired_scores(words, head.seed))
            spans = [_spans(old, new, extractor) for old, new in pairs]
            _add_scores(tested, f"nlu.entities.{extractor}.spans", paired_scores(spans, head.seed))
    for selector in islice(head.nlu.responses if head.nlu else (), _MOST_TESTED):
        responses = list(_responses(pairs, selector))
        _add_scores(tested, f"nlu.responses.{selector}", paired_scores([(one,) for one in responses], head.seed))
        _add_accuracy(tested, f"nlu.responses.{selector}.accuracy", responses)
    return tested


def _add_scores(tested: dict[str, _Test], prefix: str, scores: PairedScores | None) -> None:
    if scores is None:
        return
    for field, score in scores.overall.items():
        tested[f"{prefix}.{field}"] = _bootstrapped(score)
    for label, fields in scores.labels.items():
        for field, score in fields.items():
            tested[f"{prefix}[{label}].{field}"] = _bootstrapped(score)


def _bootstrapped(score: PairedScore) -> _Test:
    significance = Significance(
        method="bootstrap", low=score.low, high=score.high, changed=score.changed, examples=score.examples
    )
    return score.before, score.after, significance, score.real


def _add_accuracy(tested: dict[str, _Test], name: str, judged: Sequence[Judged]) -> None:
    if not judged:
        return
    before = [one.before == one.expected for one in judged]
    after = [one.after == one.expected for one in judged]
    were, are, significance, real = _flipped(before, after)
    tested[name] = were / len(judged), are / len(judged), significance, real


def _flipped(before: Sequence[bool], after: Sequence[bool]) -> _Test:
    """How many were so before and after, held against as many changes either way."""
    lost = sum(old and not new for old, new in zip(before, after, strict=True))
    won = sum(new and not old for old, new in zip(before, after, strict=True))
    p_value = mcnemar_exact(lost, won)
    significance = Significance(method="mcnemar", p_value=p_value, changed=lost + won, examples=len(before))
    return sum(before), sum(after), significance, p_value < LEVEL


def _add_understood(tested: dict[str, _Test], pairs: Sequence[tuple[NluPrediction, NluPrediction]], seed: int) -> None:
    if not pairs:
        return
    before, after = [_verdict(old) for old, _ in pairs], [_verdict(new) for _, new in pairs]
    for verdict in ("right", "wrong", "not_understood"):
        tested[f"nlu.understood.{verdict}"] = _flipped([v == verdict for v in before], [v == verdict for v in after])
    sure_before = [(old.predicted.confidence, old.correct) for old, _ in pairs]
    sure_after = [(new.predicted.confidence, new.correct) for _, new in pairs]
    tested["nlu.calibration_error"] = _bootstrapped(paired_calibration(sure_before, sure_after, seed))


def _verdict(example: NluPrediction) -> str:
    if example.predicted.fallback:
        return "not_understood"
    return "right" if example.correct else "wrong"


def _paired_predictions(base: Report, head: Report) -> list[tuple[NluPrediction, NluPrediction]]:
    """Sentences that both sides judged with the same expectation, entities and response included."""
    waiting: dict[object, list[NluPrediction]] = {}
    for example in _predictions(base):
        waiting.setdefault(_expectation(example), []).append(example)
    return [
        (partners.pop(0), example) for example in _predictions(head) if (partners := waiting.get(_expectation(example)))
    ]


def _predictions(report: Report) -> Sequence[NluPrediction]:
    return report.nlu.predictions if report.nlu else ()


def _expectation(example: NluPrediction) -> object:
    spans = tuple((span.start, span.end, span.entity) for span in example.expected.entities)
    return example.text, example.expected.intent, example.expected.response, spans


def _responses(pairs: Iterable[tuple[NluPrediction, NluPrediction]], selector: str) -> Iterable[Judged]:
    for old, new in pairs:
        label = new.expected.response
        if label and "/" in label and (selector in {"default", "all"} or label.startswith(f"{selector}/")):
            yield Judged(label, old.predicted.response, new.predicted.response)


def _words(old: NluPrediction, new: NluPrediction, extractor: str) -> list[Judged]:
    """The tokens of a sentence with their labels, as entities are scored."""
    tokens = _tokens(new) or _tokens(old) or tuple(word.span() for word in re.finditer(r"\S+", new.text))
    sides = (
        new.expected.entities,
        [span for span in old.predicted.entities if span.extractor == extractor],
        [span for span in new.predicted.entities if span.extractor == extractor],
    )
    labelled = zip(*(token_labels(tokens, spans) for spans in sides), strict=True)
    judged = [Judged(*(None if label == NO_ENTITY else label for label in labels)) for labels in labelled]
    return [one for one in judged if one != _NOTHING]


def _tokens(example: NluPrediction) -> Tokens:
    """The tokens that the engine said, none where it said none, or nothing that could be read."""
    try:
        return read_tokens(example.predicted.tokens)
    except ValueError:
        return ()


def _spans(old: NluPrediction, new: NluPrediction, extractor: str) -> list[Judged]:
    """The spans of a sentence, each right only with its exact borders and type."""

    def found(spans: Iterable[EntitySpan], by: str | None) -> set[tuple[int, int, str]]:
        return {(span.start, span.end, span.entity) for span in spans if by in {None, span.extractor}}

    expected = found(new.expected.entities, None)
    before, after = found(old.predicted.entities, extractor), found(new.predicted.entities, extractor)

    def label(place: tuple[int, int, str], side: set[tuple[int, int, str]]) -> str | None:
        return place[2] if place in side else None

    return [
        Judged(label(place, expected), label(place, before), label(place, after))
        for place in sorted(expected | before | after)
    ]
