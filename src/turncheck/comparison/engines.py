"""Reports of several engines on the same tests → one document, test by test, and its gates. Pure computation."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.comparison.cases import batch_cases, end_to_end_cases, intent_cases, story_cases
from turncheck.comparison.rules import read_threshold
from turncheck.messages.errors import UserError
from turncheck.report.engines import ComparedEngine, ComparedTest, EngineAnswer, EngineGate, EnginesCompared
from turncheck.report.trust import Agreement, Agreements, ConfidenceMap

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.cases import Case
    from turncheck.comparison.rules import Threshold
    from turncheck.report.engines import Side, TestKind
    from turncheck.report.model import EntitySpan, Nlu, NluPrediction, Report, Understood

Key = tuple["Hashable", ...]
_METRIC: Final = re.compile(r"(?P<what>agreement|right)(?:\[(?P<engine>.+)\])?")
_KNOWN: Final = ("agreement", "agreement[ENGINE]", "right[ENGINE]")


class Asked(Struct, frozen=True):
    """An engine that was asked. ``problem``: why there is no report, or why it is not complete."""

    name: str
    report: Report | None = None
    problem: str = ""
    seconds: float = 0.0


class _Answered(Struct, frozen=True):
    """A test as one engine answered it.

    Two engines say the same if ``said`` is equal, and so are the details that both know: entities that they judge, the
    bots of the intents.
    """

    case: Case
    kind: TestKind
    answer: EngineAnswer | None
    said: Hashable
    details: Mapping[tuple[str, str], Hashable] = field(default_factory=dict)
    key: Hashable = None
    """What identifies it, if that is not what it expects."""


def _say_the_same(answers: Sequence[_Answered]) -> bool:
    known = sorted(set.intersection(*(set(answer.details) for answer in answers)))
    return len({(answer.said, tuple(answer.details[name] for name in known)) for answer in answers}) == 1


def compare_engines(asked: Sequence[Asked], rules: Sequence[Threshold] = ()) -> EnginesCompared:
    """Compare what engines made of the same tests; at least one has a report.

    Sentences and batch cases agree if the same was understood, stories and end-to-end cases if both pass or both fail.
    The first engine that answered anything is the reference for who changed sides.
    """
    found = [dict(_answers(one.report)) if one.report else {} for one in asked]
    keys: dict[Key, _Answered] = {}
    for answers in found:
        for key, one in answers.items():
            keys.setdefault(key, one)
    answered = [sum(answer.answer is not None for answer in answers.values()) for answers in found]
    reference = next((number for number, count in enumerate(answered) if count), -1)
    tests = tuple(_test(key, first, found, reference) for key, first in keys.items())
    reports = [one.report for one in asked if one.report is not None]
    document = EnginesCompared(
        tool=reports[0].tool,
        project=reports[0].project,
        source=reports[0].source,
        engines=tuple(_column(one, number, tests, found, reference) for number, one in enumerate(asked)),
        reference=reference,
        compared=sum(test.agree is not None for test in tests),
        agreeing=sum(test.agree is True for test in tests),
        on_training=max(map(_on_training, reports)),
        tests=tests,
    )
    return replace(document, gates=tuple(_judged(document, rule) for rule in rules))


def _on_training(report: Report) -> int:
    sentences = report.nlu.on_training_sentences if report.nlu else 0
    return sentences + (report.batch.on_training if report.batch else 0)


def _answers(report: Report) -> Iterator[tuple[Key, _Answered]]:
    """Yield each test with its key: what identifies it, and which of several equal ones it is."""
    seen: Counter[Key] = Counter()
    for one in _all(report):
        key = (one.kind, one.case.suite, one.case.name, one.case.expectation if one.key is None else one.key)
        seen[key] += 1
        yield (*key, seen[key]), one


def _all(report: Report) -> Iterator[_Answered]:
    for case in intent_cases(report):
        got = case.actual or "no intent"
        yield _Answered(case, "sentence", EngineAnswer(got=got, passed=case.passed), folded_name(got))
    for case in story_cases(report):
        yield _dialogue(case, "story")
    for case in end_to_end_cases(report):
        yield _dialogue(case, "end-to-end case")
    results = (batch_case for suite in (report.batch.suites if report.batch else ()) for batch_case in suite.cases)
    for case, result in zip(batch_cases(report), results, strict=True):
        entities = {entity.name: entity.matched for entity in result.entities}
        found = ", ".join(f"{name}: {value or 'not found'}" for name, value in entities.items())
        pairs = zip_longest(result.matched, result.matched_bots, fillvalue="")
        names = " and ".join(f"{name} of {bot}" if bot else name for name, bot in pairs)
        got = f"{names or 'no intent'}{f' ({found})' if found else ''}"
        answer = None if result.result == "not-evaluated" else EngineAnswer(got=got, passed=case.passed)
        said = tuple(sorted(map(folded_name, result.matched)))
        details: dict[tuple[str, str], Hashable] = {("entity", name): value for name, value in entities.items()}
        if all(result.matched_bots) and result.matched_bots:
            details["bots", ""] = tuple(sorted(map(folded_name, result.matched_bots)))
        key = (result.parent, result.kind == "trait", result.expected)  # not every engine judges every entity
        yield _Answered(case, "batch case", answer, said, details, key)


def _dialogue(case: Case, kind: TestKind) -> _Answered:
    got = "passes" if case.passed else f"got {case.actual}" if case.actual else "fails"
    return _Answered(case, kind, EngineAnswer(got=got, passed=case.passed) if case.judged else None, case.passed)


def folded_name(name: str) -> str:
    """Names of intents differ between platforms in case, and in ``_`` for a space."""
    return " ".join(name.replace("_", " ").split()).casefold()


def _test(key: Key, first: _Answered, found: Sequence[dict[Key, _Answered]], reference: int) -> ComparedTest:
    each = [answers.get(key) for answers in found]
    answers = tuple(None if one is None else one.answer for one in each)
    answered = [one for one in each if one is not None and one.answer is not None]
    base = answers[reference] if reference >= 0 else None
    case = first.case
    return ComparedTest(
        kind=first.kind,
        name=case.name,
        suite=case.suite,
        location=case.location,
        expected=_expected(first),
        answers=answers,
        sides=tuple(_side(base, answer) for answer in answers),
        agree=_say_the_same(answered) if len(answered) > 1 else None,
    )


def _expected(first: _Answered) -> str:
    if first.kind in {"story", "end-to-end case"}:
        return "passes"
    if first.kind == "sentence":
        return first.case.expected
    _, is_trait, names = cast("tuple[object, bool, tuple[str, ...]]", first.key)
    return (" and " if is_trait else " or ").join(names) or "no intent"


def _side(base: EngineAnswer | None, answer: EngineAnswer | None) -> Side:
    if base is None or answer is None or base.passed == answer.passed:
        return ""
    return "better" if answer.passed else "worse"


def _column(
    asked: Asked, number: int, tests: Sequence[ComparedTest], found: Sequence[dict[Key, _Answered]], reference: int
) -> ComparedEngine:
    own = [answer for test in tests if (answer := test.answers[number]) is not None]
    is_other = reference not in {-1, number}
    pairs = [
        (mine, base)
        for key, mine in found[number].items()
        if is_other and mine.answer is not None and (base := found[reference].get(key)) and base.answer is not None
    ]
    sides = Counter(test.sides[number] for test in tests)
    report = asked.report
    engine = report.engine if report else None
    skipped = [one for one in (report.skipped if report else ()) if not one.no_tests and not one.part]
    wanted = report.settings.evaluations if report else ()
    return ComparedEngine(
        name=asked.name,
        engine=f"{engine.name} {engine.version}" if engine else "",
        model=(engine.model or "") if engine else "",
        problem=asked.problem,
        left_out={one.evaluation: one.reason for one in skipped if one.evaluation in wanted},
        seconds=round(asked.seconds, 3),
        answered=len(own),
        right=sum(answer.passed for answer in own),
        compared=len(pairs),
        agreeing=sum(map(_say_the_same, pairs)),
        better=sides["better"],
        worse=sides["worse"],
    )


# --- gates -----------------------------------------------------------------------------------------------------------


def read_engine_rules(lines: Sequence[str], engines: Sequence[str]) -> tuple[Threshold, ...]:
    """Read rules such as ``agreement >= 0.9``, ``right[kore:published] >= 0.95``.

    Raises:
        UserError: a rule cannot be read, or is about a figure or an engine that there is not.
    """

    def ensure_known(name: str) -> None:
        match = _METRIC.fullmatch(name)
        if match is None or (match["what"] == "right" and match["engine"] is None):
            raise UserError(
                f"thresholds: a comparison of engines has no figure '{name[:200]}'",
                hint=f"It has {', '.join(_KNOWN)}.",
            )
        if match["engine"] is not None and match["engine"] not in engines:
            raise UserError(
                f"thresholds: '{match['engine'][:200]}' is not among the engines",
                hint=f"They are {', '.join(engines)}.",
            )

    return tuple(read_threshold(line, ensure_known) for line in lines)


def _judged(document: EnginesCompared, rule: Threshold) -> EngineGate:
    match = _METRIC.fullmatch(rule.name)
    name = match["engine"] if match else None
    columns = [engine for engine in document.engines if name in {None, engine.name}]
    if match is None or name is None:
        value = document.agreement
    else:
        value = columns[0].share_right if match["what"] == "right" else columns[0].agreement
    about = EngineGate(
        rule=rule.text,
        outcome="not judged",
        metric=rule.name,
        value=value,
        operator=rule.operator,
        limit=rule.limit,
        silent=tuple(column.name for column in columns if column.problem or not column.answered),
    )
    if value is None:
        return about
    if not rule.holds(value):
        return replace(about, outcome="failed")
    return about if about.silent else replace(about, outcome="passed")


# How far two reports on the same tests agree: the stand-in's and that of the team's own model.

FEWEST_FOR_MAP: Final = 20
"""A map of confidences is not made from fewer sentences: its lowest quantiles would be single sentences."""
_QUANTILES: Final = 20
Pair = tuple["NluPrediction", "NluPrediction"]
"""A sentence as the stand-in understood it, and as the team's model did."""


def compared_sentences(ours: Report, theirs: Report) -> list[Pair]:
    """Pair the sentences that both judged, by text; a repeated one is paired as often as it occurs on both sides."""
    waiting: dict[str, list[NluPrediction]] = defaultdict(list)
    for prediction in theirs.nlu.predictions if theirs.nlu else ():
        waiting[prediction.text].append(prediction)
    return [
        (prediction, waiting[prediction.text].pop(0))
        for prediction in (ours.nlu.predictions if ours.nlu else ())
        if waiting[prediction.text]
    ]


def agreements_of(ours: Report, theirs: Report) -> Agreements:
    """Count agreements of both reports, for the sentences and stories that both judged.

    Intents are those before the fallback. If a report does not list any entities, entities are not compared.
    """
    pairs = compared_sentences(ours, theirs)
    understood = [(mine.predicted.intent or "", other.predicted.intent or "") for mine, other in pairs]
    found = [(_spans(mine.predicted.entities), _spans(other.predicted.entities)) for mine, other in pairs]
    of_types = _by_name(
        (
            (entity for entity, _, _ in mine),
            (entity for entity, _, _ in other),
            (entity for entity, _, _ in mine & other),
        )
        for mine, other in found
    )
    words = _stories(ours, theirs)
    return Agreements(
        sentences=_of_all(understood),
        entities=_summed(of_types.values()),
        stories=_of_all(words),
        intents=_by_name(
            ([mine], [other], [mine] if mine == other else []) for mine, other in understood if mine or other
        ),
        entity_types=of_types,
    )


def _of_all(pairs: Sequence[tuple[object, object]]) -> Agreement | None:
    if not pairs:
        return None
    return Agreement(both=sum(mine == other for mine, other in pairs), ours=len(pairs), theirs=len(pairs))


def _by_name(
    said: Iterable[tuple[Iterable[str], Iterable[str], Iterable[str]]],
) -> dict[str, Agreement]:
    """Count names by whether the stand-in, the team's model or both predicted them for a sentence."""
    ours, theirs, both = Counter[str](), Counter[str](), Counter[str]()
    for mine, other, common in said:
        ours.update(mine)
        theirs.update(other)
        both.update(common)
    names = sorted((ours.keys() | theirs.keys()) - {""})
    return {name: Agreement(both=both[name], ours=ours[name], theirs=theirs[name]) for name in names}


def _summed(parts: Iterable[Agreement]) -> Agreement | None:
    known = list(parts)
    if not known:
        return None
    return Agreement(
        both=sum(agreement.both for agreement in known),
        ours=sum(agreement.ours for agreement in known),
        theirs=sum(agreement.theirs for agreement in known),
    )


def _spans(entities: Iterable[EntitySpan]) -> frozenset[tuple[str, int, int]]:
    """The entities that were found, by any extractor."""
    return frozenset((entity.entity, entity.start, entity.end) for entity in entities)


def _stories(ours: Report, theirs: Report) -> list[tuple[bool, bool]]:
    waiting: dict[str, list[bool]] = defaultdict(list)
    for story in theirs.core.stories if theirs.core else ():
        waiting[story.name].append(story.passed)
    return [
        (story.passed, waiting[story.name].pop(0))
        for story in (ours.core.stories if ours.core else ())
        if waiting[story.name]
    ]


# --- confidences -----------------------------------------------------------------------------------------------------


def confidence_map(pairs: Sequence[Pair], ours: Nlu | None) -> ConfidenceMap | None:
    """Map the stand-in's confidences to those of the team's model by quantiles; ``None`` for too few sentences.

    Quantiles are used instead of an isotonic regression because a threshold then keeps its share of fallbacks, while a
    regression would pull both ends to the middle. If there is a fallback in ``ours``, the stand-in's report, it is
    recorded how often the team's model falls back.
    """
    if len(pairs) < FEWEST_FOR_MAP or ours is None:
        return None
    left = sorted(_within(mine.predicted.confidence) for mine, _ in pairs)
    right = sorted(_within(other.predicted.confidence) for _, other in pairs)
    last = len(pairs) - 1
    at: dict[float, list[float]] = {}
    for step in range(_QUANTILES + 1):
        place = round(step * last / _QUANTILES)
        at.setdefault(round(left[place], 4), []).append(right[place])
    quantiles = sorted(at.items())
    return ConfidenceMap(
        ours=tuple(mine for mine, _ in quantiles),
        theirs=tuple(round(sum(others) / len(others), 4) for _, others in quantiles),
        fallbacks=_share_of_fallbacks(pairs, ours.understood.threshold) if ours.understood else None,
        thresholds=_thresholds_of(ours.understood),
        mode=ours.mode,
    )


def _thresholds_of(understood: Understood | None) -> tuple[float, float] | None:
    if understood is None or understood.threshold is None or understood.ambiguity_threshold is None:
        return None
    return understood.threshold, understood.ambiguity_threshold


def _within(confidence: float) -> float:
    return min(1.0, max(0.0, confidence))


def _share_of_fallbacks(pairs: Sequence[Pair], threshold: float | None) -> float | None:
    """The files of ``rasa test`` do not say when it fell back, only its confidence."""
    if threshold is None:
        return None
    fell = sum(other.predicted.fallback or other.predicted.confidence < threshold for _, other in pairs)
    return round(fell / len(pairs), 4)
