"""Every metric with its value on both sides, the difference, and whether that is more than chance.

Of repeated tests, their runs on both sides say whether figures differ by chance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UnsetType, structs

from turncheck.comparison import metrics
from turncheck.comparison.cases import Case, batch_expectation, is_read_in_part
from turncheck.comparison.paired import LEVEL, mcnemar_exact
from turncheck.comparison.significance import (
    Tested,
    flipped,
    paired_predictions,
    predictions,
    tested_figures,
    tested_plugins,
)
from turncheck.comparison.together import p_value_of_losses, stratum_of
from turncheck.comparison.turns import tested_turns
from turncheck.evaluations.kind import (
    OF_ONE,
    OF_THREE,
    REPEATED,
    are_in_turn,
    figures_of_runs,
    first_runs,
    repeats_of,
    runs_of_all,
)
from turncheck.evaluations.turns import TURN_FIGURES
from turncheck.report.batch import numbers_of
from turncheck.report.model import BatchCase, CaseResult, NluPrediction, Repeats, Report, StoryResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.matching import Matched, Pair
    from turncheck.comparison.model import ChangedItem
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.trust import Trust


def tested_runs(section: Evaluation, pairs: Iterable[Pair], here: Sequence[Repeats]) -> dict[str, Tested]:
    """Judge the figures about runs of an evaluation on the tests that both sides ran several times.

    Shares of runs are judged by a permutation test in the direction of their difference, at half the level, on the runs
    that all together are judged by; flaky tests by how many changed sides.

    Args:
        section: the evaluation.
        pairs: its tests on both sides.
        here: the runs of all its tests of this side.
    """
    sides = [
        (base, now)
        for pair in pairs
        if not isinstance(base := pair.base.repeats, UnsetType) and not isinstance(now := pair.head.repeats, UnsetType)
    ]
    if not sides:
        return {}
    in_turn = are_in_turn(here)
    were_flaky = [_is_flaky(base) or (in_turn and _is_flaky(_of_runs(now.in_turn[1::2]))) for base, now in sides]
    tested = {f"{section}.flaky": flipped(were_flaky, [_is_flaky(now) for _, now in sides])}
    both = compared_runs(here) or [(base, structs.replace(now, in_turn="")) for base, now in sides]
    before, after = ([side[number] for side in both] for number in (0, 1))
    old, new = dict(figures_of_runs(section, before)), dict(figures_of_runs(section, after))
    p_value = min(1.0, 2 * min(_p_value(before, after), _p_value(after, before)))
    significance = metrics.Significance(
        method="permutation",
        p_value=p_value,
        changed=_changed(before, after),
        examples=len(both),
        runs=runs_of_all(after)[1],
        base_runs=runs_of_all(before)[1],
    )
    for name in (f"{section}.{OF_ONE}", f"{section}.{OF_THREE}"):
        if old[name] is not None and new[name] is not None:
            tested[name] = old[name], new[name], significance, p_value < LEVEL
    return tested


def compared_runs(here: Sequence[Repeats]) -> list[tuple[Repeats, Repeats]]:
    """Return the runs of the base and of this side that all tests together are judged by, of each test that has any.

    If all tests were run again in turn with the base, those runs say how both sides fare: a model that drifts lets more
    runs fail than in the base's report, and hits both alike. If only those were that had failed, nothing can be said
    with these runs: of the others, none had. Then it is the runs that every test gets, and those of the base that they
    were judged by, whatever the base's test counted as.
    """
    if are_in_turn(here):
        return [(_of_runs(one.in_turn[1::2]), _of_runs(one.in_turn[::2])) for one in here if one.in_turn]
    both = [(_of_runs(one.base), _of_runs(one.runs)) for one in here]
    return [(base, now) for base, now in both if first_runs(base)[1] and first_runs(now)[1]]


_MEASURED: Final = (CaseResult, NluPrediction, BatchCase)


def _tested_turns(
    tests: Mapping[Evaluation, Matched], sentences: Sequence[Pair], base: Report, head: Report
) -> dict[str, Tested]:
    """Judge the figures of turns on the tests that both sides ran; with other prices, nothing is cheaper."""
    pairs = [*sentences, *(pair for name in ("e2e", "batch") if name in tests for pair in tests[name].pairs)]
    both = ((pair.base.result, pair.head.result) for pair in pairs if not pair.edits)
    cases = ((old, new) for old, new in both if isinstance(old, _MEASURED) and isinstance(new, _MEASURED))
    tested = tested_turns(cases, head.seed)
    then, now = ([line for line in side.settings.bot or () if line.startswith("prices.")] for side in (base, head))
    return tested if then == now else {name: one for name, one in tested.items() if name != "cost"}


def _of_runs(runs: str) -> Repeats:
    return Repeats(runs=runs, outcome="flaky" if {"P", "F"} <= set(runs) else "unclear")


def _judged_by_other_runs(report: Report) -> set[str]:
    """The figures of runs that are not judged by all those that each side's report has."""
    in_turn = {f"{name}.flaky" for name in REPEATED if are_in_turn(repeats_of(report, name))}
    return in_turn | {f"{name}.{figure}" for name in REPEATED for figure in (OF_ONE, OF_THREE)}


def _is_flaky(repeats: Repeats) -> bool:
    return repeats.outcome == "flaky"


def _changed(before: Sequence[Repeats], after: Sequence[Repeats]) -> int:
    return sum(first_runs(old) != first_runs(new) for old, new in zip(before, after, strict=True))


def _p_value(before: Sequence[Repeats], after: Sequence[Repeats]) -> float:
    """How likely so many losses are by chance, from one side to the other."""
    pairs = zip(before, after, strict=True)
    return p_value_of_losses(stratum_of(new.runs, old.runs) for old, new in pairs)


# Figures of batch suites on the cases that both sides judged, and whether what changed sides is more than noise.

_OF_INTENTS: Final = ("intent_success", "accuracy", "precision", "recall", "f1")
_RIGHT: Final = frozenset({"tp", "tn"})


def tested_batch(base: Report, head: Report) -> dict[str, Tested]:
    """Judge the figures of each suite and of all of them by McNemar's test on cases or entities that changed sides."""
    pairs = _pairs(base, head)
    by_suite: dict[str, list[tuple[BatchCase, BatchCase]]] = defaultdict(list)
    for name, old, new in pairs:
        by_suite[name].append((old, new))
    tested = dict(_tested("batch", [(old, new) for _, old, new in pairs]))
    for name, of_suite in by_suite.items():
        tested |= _tested(f"batch[{name}]", of_suite)
    return tested


def _pairs(base: Report, head: Report) -> list[tuple[str, BatchCase, BatchCase]]:
    """Pair cases with equal words and expectation: first those in the suite of the same name, then in a renamed one."""
    waiting: dict[object, list[tuple[str, BatchCase]]] = defaultdict(list)
    for suite in base.batch.suites if base.batch else ():
        for case in suite.cases:
            waiting[_key(case)].append((suite.name, case))
    cases = [(suite.name, case) for suite in (head.batch.suites if head.batch else ()) for case in suite.cases]
    partners: dict[int, BatchCase] = {}
    for needs_name in (True, False):
        for number, (name, case) in enumerate(cases):
            left = waiting[_key(case)]
            found = next((one for one in left if not needs_name or one[0] == name), None)
            if number not in partners and found is not None:
                left.remove(found)
                partners[number] = found[1]
    return [(name, partners[number], case) for number, (name, case) in enumerate(cases) if number in partners]


def _key(case: BatchCase) -> object:
    return case.text, batch_expectation(case)


def _tested(prefix: str, pairs: Sequence[tuple[BatchCase, BatchCase]]) -> Iterator[tuple[str, Tested]]:
    if not pairs:
        return
    before, after = (numbers_of([pair[side] for pair in pairs]) for side in (0, 1))
    cases = [(old.result in _RIGHT, new.result in _RIGHT) for old, new in pairs]
    entities = [
        (entity.passed, other.passed)
        for old, new in pairs
        for entity, other in zip(old.entities, new.entities, strict=True)
    ]
    for fields, sides in ((_OF_INTENTS, cases), (("entity_success",), entities)):
        _, _, significance, real = flipped([old for old, _ in sides], [new for _, new in sides])
        for field in fields:
            if before[field] is not None and after[field] is not None:
                yield f"{prefix}.{field}", (before[field], after[field], significance, real)


_OF_REACH: Final = re.compile(r"coverage\.|(?:nlu|batch)\.coverage\.")
_OF_CASES: Final = re.compile(
    r"core\.(?:passed|failed|misunderstood|conversation_accuracy|as_written\.(?:passed|failed))"
    r"|e2e\.(?:passed|failed|misunderstood)|batch(?:\[.*\])?\.(?:passed|failed)",
    re.DOTALL,
)
"""Figures that are made of the outcomes of tests."""
_OF_PARTS: Final = re.compile(
    r"core\.(?:accuracy|precision|recall|f1)|batch(?:\[.*\])?\.(?:accuracy|precision|recall|f1|intent_success)",
    re.DOTALL,
)
"""Figures that are made of what a test consists of: the steps of a story, the intents of a batch case."""
_OF_STEPS: Final = ("core.accuracy", "core.precision", "core.recall", "core.f1")
"""Figures about the steps of stories: a misunderstood sentence is a wrong step."""


def metric_deltas(
    base: Report, head: Report, intents: Matched, tests: Mapping[Evaluation, Matched], items: Sequence[ChangedItem]
) -> tuple[metrics.MetricDelta, ...]:
    """Return all metrics of either side: in the baseline's order, then what only the new report has.

    Args:
        intents: the test sentences.
        tests: stories, end-to-end and batch cases, by their section of the report.
        items: the items that the change touched.
    """
    before, after = metrics.metrics_of(base), metrics.metrics_of(head)
    if base.strength and head.strength and base.strength.scope != head.strength.scope:
        # The mutants of a change are not a sample of all mutants.
        before = {name: metric for name, metric in before.items() if not name.startswith("strength.")}
    if base.robustness and head.robustness and base.robustness.mode != head.robustness.mode:
        before = {name: metric for name, metric in before.items() if not name.startswith("robustness")}
    if items and metrics.has_reach(head):
        share = sum(item.covered for item in items) / len(items)
        after[metrics.COVERAGE_OF_CHANGES] = metrics.Measured(
            metrics.COVERAGE_OF_CHANGES, share, "higher", "score", "counted"
        )
    # If a list is incomplete, what both sides have is not a sample of what they judged.
    known = not has_unlisted(base, head) and not measured_otherwise(base, head)
    same = [pair for pair in intents.pairs if known and not {"edited", "renamed"} & set(pair.edits)]
    pairs = paired_predictions(base, head) if known else []
    tested = tested_figures(base, head, same, pairs) | tested_batch(base, head)
    tested |= tested_plugins(base, head) if known else {}
    for repeated in REPEATED:
        if (found := tests.get(repeated)) is not None:  # without what is unclear, those that pass would be all
            both_ran = (*found.pairs, *found.unclear, *found.newly_run, *found.not_run)
            tested |= tested_runs(repeated, both_ran, repeats_of(head, repeated))
    tested |= tested_runs("nlu", same, repeats_of(head, "nlu"))
    tested |= _tested_turns(tests, same, base, head)
    same_intents = known and len(same) == len(intents.pairs) and intents.is_whole
    same_expectations = same_intents and {len(predictions(base)), len(predictions(head))} == {len(pairs)}
    same_cases = {name: matched.is_whole for name, matched in tests.items()}
    by_others = _judged_by_other_runs(head)
    counted = dict(_counted(tests))
    for section in ("core", "e2e"):
        tested |= _tested_by_sentences(section, tests[section], before, after) if section in tests else {}
    hidden = is_read_in_part(head)
    deltas = (
        _delta_of_tests(metric, before[name].value, after[name].value, counted[name], tested.get(name))
        if name in counted and name in before and name in after
        else _delta(
            metric,
            before.get(name),
            after.get(name),
            tested.get(name),
            same_examples=metric.noise == "counted"
            or (
                name not in by_others
                and name not in TURN_FIGURES
                and _is_same(name, same_intents, same_expectations, same_cases)
            ),
        )
        for name, metric in {**before, **after}.items()
    )
    known_deltas = (_unless_hidden(delta) if hidden else delta for delta in deltas)
    judged = (_unless_untrusted(delta, base.trust, head.trust) for delta in known_deltas)
    return _worse_by_cases(map(_unless_reach, judged), tests)


def _unless_reach(delta: metrics.MetricDelta) -> metrics.MetricDelta:
    """The delta, without a verdict if it is about what tests reach: that is no quality of the assistant."""
    return msgspec.structs.replace(delta, judgement="not judged") if _OF_REACH.match(delta.name) else delta


def _worse_by_cases(
    deltas: Iterable[metrics.MetricDelta], tests: Mapping[Evaluation, Matched]
) -> tuple[metrics.MetricDelta, ...]:
    """Mark the figures that are worse by tests that are listed, or that say again what another one of them says.

    Where a test newly fails, what its steps make of a figure is not told again, whatever else is in it. A test that
    failed and is only misunderstood now is better, so that more misunderstood ones are then no worse; nor are more
    stories that pass with a warning, unless one had passed without.
    """
    told = {name: _newly_fails(matched) or all(map(_is_alike, matched.pairs)) for name, matched in tests.items()}
    deltas = [*deltas]
    worse = {delta.name for delta in deltas if delta.judgement == "worse"}
    repaired = {
        f"{name}.misunderstood": sum(p.number for p in matched.pairs if p.base.failed and p.head.misunderstood)
        for name, matched in tests.items()
    }

    def marked(delta: metrics.MetricDelta) -> metrics.MetricDelta:
        if delta.judgement != "worse":
            return delta
        base, value = delta.sides
        if delta.name == "core.warned" and not _is_newly_warned(tests.get("core")):
            return msgspec.structs.replace(delta, judgement="not judged")
        if delta.name in repaired and (value or 0) - (base or 0) <= repaired[delta.name]:
            return msgspec.structs.replace(delta, judgement="not judged")
        of_cases = _OF_CASES.fullmatch(delta.name)
        section = next((name for name in told if re.match(rf"{name}[.\[]", delta.name)), None)
        accuracy = f"{delta.name.rpartition('.')[0]}.accuracy"
        again = delta.name != accuracy and accuracy in worse
        of_parts = section is not None and is_of_parts(delta.name) and (told[section] or again)
        return msgspec.structs.replace(delta, by_cases=of_cases is not None or of_parts)

    return tuple(map(marked, deltas))


def _is_newly_warned(stories: Matched | None) -> bool:
    """Whether a story passes with a warning that passed without."""
    both = ((pair.base.result, pair.head.result) for pair in (stories.pairs if stories else ()))
    return any(
        before.passed and not before.warned and now.warned
        for before, now in both
        if isinstance(before, StoryResult) and isinstance(now, StoryResult)
    )


def is_of_parts(name: str) -> bool:
    """Whether a figure is made of the parts of tests: the steps of stories, the intents of batch cases."""
    return _OF_PARTS.fullmatch(name) is not None


def _newly_fails(matched: Matched) -> bool:
    """Whether a test is worse than on the base, or fails that the base did not judge."""
    both = [(pair.base, pair.head) for pair in matched.pairs]
    broken = any((then.passed and not now.passed) or (now.failed and not then.failed) for then, now in both)
    new = (*matched.added, *(pair.head for pair in matched.newly_run))
    return broken or not all(case.passed for case in new)


def _is_alike(pair: Pair) -> bool:
    """Whether a test that is in no list, since it neither was edited nor changed sides, was answered the same."""
    before, now = pair.base, pair.head
    listed = pair.edits or (before.passed, before.misunderstood) != (now.passed, now.misunderstood)
    return bool(listed) or now.passed or _answers(before) == _answers(now)


def _answers(case: Case) -> object:
    if isinstance(case.result, StoryResult):
        return [(step.expected, step.predicted) for step in case.result.steps]
    return case.actual


def _unless_untrusted(delta: metrics.MetricDelta, base: Trust | None, head: Trust | None) -> metrics.MetricDelta:
    """The delta, without a verdict if the stand-in agrees too little with the team's model.

    A calibration that only this change has does not remove a verdict that the base's would have allowed.
    """
    known = [side.agreement_on(delta.name) for side in (base, head) if side is not None and not side.problem]
    agreement = known[-1] if known else None
    if delta.delta is None or agreement is None or not all(one is not None and one.too_low for one in known):
        return delta
    return msgspec.structs.replace(delta, judgement="not judged", agreement=agreement.share)


def _unless_hidden(delta: metrics.MetricDelta) -> metrics.MetricDelta:
    """Fewer findings are not an improvement if a file cannot be read: it was not checked."""
    better = delta.name.startswith("validation.") and delta.judgement == "better"
    return msgspec.structs.replace(delta, judgement="not judged") if better else delta


def has_unlisted(base: Report, head: Report) -> bool:
    """Whether one of the sides judged sentences that it does not list."""
    return any(report.nlu is not None and report.nlu.unlisted > 0 for report in (base, head))


def measured_otherwise(base: Report, head: Report) -> bool:
    """Whether one side judged held-out sentences and the other its training data: no figure can be compared then."""
    return base.nlu is not None and head.nlu is not None and base.nlu.mode != head.nlu.mode


def _delta(
    metric: metrics.Measured,
    before: metrics.Measured | None,
    after: metrics.Measured | None,
    test: Tested | None,
    *,
    same_examples: bool,
) -> metrics.MetricDelta:
    delta = after.value - before.value if after and before else None
    shared = None
    if test and not same_examples:
        shared = _shared(test[0], test[1])
    judgement, significance = _judge(metric, delta, test, same_examples=same_examples)
    return metrics.MetricDelta(
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


def _is_same(name: str, intents: bool, expectations: bool, cases: Mapping[Evaluation, bool]) -> bool:
    """Whether both sides judged the same examples for a figure."""
    for evaluation in ("batch", "e2e"):
        if name.startswith(evaluation):
            return cases.get(evaluation, True)
    return intents if name.startswith("nlu.intents") else expectations


def _counted(tests: Mapping[Evaluation, Matched]) -> Iterable[tuple[str, metrics.SharedDelta | None]]:
    """Figures about tests, on the shared tests if a side has others as well; ``None`` if they share none."""
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


def _fails_as_written(case: Case) -> bool:
    """Whether its dialogue fails with intents and entities as written, which imported files do not always say."""
    written = case.result.as_written if isinstance(case.result, StoryResult) else None
    return case.failed if written is None else not written


def _is_misunderstood(case: Case) -> bool:
    return case.misunderstood


def _counted_apart(pairs: Sequence[Pair]) -> Iterable[tuple[str, metrics.SharedDelta | None]]:
    """The figures that distinguish failed dialogues from misunderstood sentences; ``failed`` counts only the first."""
    number = sum(pair.number for pair in pairs)
    failed, were = _numbers(pairs, _has_failed), _numbers(pairs, _is_misunderstood)
    broken = _numbers(pairs, _fails_as_written)
    shared = {
        "core.failed": _shared(*failed),
        "core.misunderstood": _shared(*were),
        "core.as_written.failed": _shared(*broken),
        "core.as_written.passed": _shared(number - broken[0], number - broken[1]),
    }
    yield from ((name, delta if number else None) for name, delta in shared.items())


def _numbers(pairs: Sequence[Pair], counts: Callable[[Case], bool]) -> tuple[int, int]:
    """How many of the shared cases count on the base, and now."""
    return sum(p.number for p in pairs if counts(p.base)), sum(p.number for p in pairs if counts(p.head))


def _tested_by_sentences(
    section: str, tests: Matched, all_before: Mapping[str, metrics.Measured], all_after: Mapping[str, metrics.Measured]
) -> dict[str, Tested]:
    """Judge the figures that moved because tests are understood differently: their sentences are a sample, too.

    Distinct sentences are counted: one that breaks ten stories counts once. If a dialogue changed as well, the numbers
    of tests are used as they are.
    """
    pairs = tests.pairs
    before = {(sentence.text, sentence.expected.intent) for pair in pairs for sentence in pair.base.sentences}
    after = {(sentence.text, sentence.expected.intent) for pair in pairs for sentence in pair.head.sentences}
    lost, won = len(after - before), len(before - after)
    if not lost and not won:
        return {}
    p_value = mcnemar_exact(lost, won)
    significance = metrics.Significance(method="mcnemar", p_value=p_value, changed=lost + won)
    moved: dict[str, tuple[float, float]] = {f"{section}.misunderstood": _numbers(pairs, _is_misunderstood)}
    if all(pair.base.failed == pair.head.failed for pair in pairs):
        number = sum(pair.number for pair in pairs)
        before_passed, passed = _numbers(pairs, lambda case: case.passed)
        moved[f"{section}.passed"] = before_passed, passed
        if section == "core":
            moved["core.conversation_accuracy"] = before_passed / number, passed / number
        if tests.is_whole:
            of_steps = [name for name in _OF_STEPS if name in all_before and name in all_after]
            moved |= {name: (all_before[name].value, all_after[name].value) for name in of_steps}
    return {
        name: (base, value, significance, p_value < LEVEL) for name, (base, value) in moved.items() if base != value
    }


def _shared(base: float, value: float) -> metrics.SharedDelta:
    return metrics.SharedDelta(base=base, value=value, delta=value - base)


def _delta_of_tests(
    metric: metrics.Measured, base: float, value: float, shared: metrics.SharedDelta | None, test: Tested | None
) -> metrics.MetricDelta:
    judgement: metrics.Judgement = "not judged"
    significance: metrics.Significance | None = metrics.Significance(method="counted")
    if shared:
        judgement, significance = _judge(metric, shared.delta, test, same_examples=True)
    return metrics.MetricDelta(
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
    metric: metrics.Measured, delta: float | None, test: Tested | None, *, same_examples: bool
) -> tuple[metrics.Judgement, metrics.Significance | None]:
    if delta is None:
        return "not judged", None
    if test is None and metric.noise == "counted":
        judgement: metrics.Judgement = "not judged" if metric.better == "neither" else _direction(delta, metric)
        return judgement, metrics.Significance(method="counted")
    if test is None:
        return ("same" if delta == 0 and same_examples else "not judged"), None
    base, value, significance, real = test
    if not significance.changed:
        return "same", significance
    return (_direction(value - base, metric) if real else "noise"), significance


def is_counted(delta: metrics.MetricDelta) -> bool:
    """Whether a figure is a plain count: stories, cases and findings are all there are, not a sample."""
    metric = metrics.known_metric(delta.name)
    if metric is None or metric.noise == "as it says":
        return delta.significance is None or delta.significance.method == "counted"
    return metric.noise == "counted"


def _direction(delta: float, metric: metrics.Measured) -> metrics.Judgement:
    if delta == 0:
        return "same"
    return "better" if (delta > 0) == (metric.better == "higher") else "worse"
