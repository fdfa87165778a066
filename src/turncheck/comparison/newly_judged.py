"""What only this side judges: new intents, responses, entities and suites, and how many of their sentences are right.

No difference can be measured for them, so nothing about them is noise of one. They are judged by what they are: mostly
wrong is what is right in fewer than half of its sentences, if chance explains that in fewer than 5 of 100 such intents
of which in truth four sentences of five are understood (:func:`is_mostly_wrong`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import comb
from typing import TYPE_CHECKING, Final

from turncheck.comparison.cases import entity_spans
from turncheck.comparison.changes import NameCount, NewlyJudged
from turncheck.comparison.paired import LEVEL
from turncheck.comparison.training_changes import names_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from turncheck.comparison.changes import ChangedCases, NewlyJudgedKind
    from turncheck.comparison.matching import Matched
    from turncheck.comparison.model import Renamed
    from turncheck.messages.finding import Location
    from turncheck.report.model import NluPrediction, Report

_WELL_UNDERSTOOD: Final = 0.8
"""The share of sentences of which a new intent is to be right; what is that good is hardly ever called mostly wrong."""
_NOTHING: Final = ""


class _Judged:
    """The sentences of one name: how many are judged and right, and what was found instead."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.number = 0
        self.right = 0
        self.instead: Counter[str] = Counter()

    def add(self, location: Location, *, right: bool, instead: str) -> None:
        self.location = min(self.location, location, key=lambda place: place.sort_key)
        self.number += 1
        self.right += right
        if not right:
            self.instead[instead] += 1


def is_mostly_wrong(right: int, judged: int) -> bool:
    """Whether fewer than half are right, which chance hardly explains if four of five are right in truth.

    The binomial distribution has the chance of so few; single sentences therefore say nothing.

    >>> is_mostly_wrong(4, 10), is_mostly_wrong(5, 10)
    (True, False)
    >>> is_mostly_wrong(0, 1), is_mostly_wrong(0, 2), is_mostly_wrong(1, 3), is_mostly_wrong(1, 4)
    (False, True, False, True)
    """
    if 2 * right >= judged:
        return False
    chance = sum(
        comb(judged, number) * _WELL_UNDERSTOOD**number * (1 - _WELL_UNDERSTOOD) ** (judged - number)
        for number in range(right + 1)
    )
    return chance < LEVEL


def newly_judged(
    base: Report, head: Report, renamed: Iterable[Renamed], sentences: ChangedCases, batch: Matched
) -> tuple[NewlyJudged, ...]:
    """Return what this side judges and the base does not, those that are mostly wrong first.

    Args:
        base: the report before.
        head: the report now.
        renamed: what has only another name; it is not new.
        sentences: the sentences that changed sides, judged by their intent: a new intent may have taken some of them.
        batch: the cases of batch suites on both sides.
    """
    renamed = tuple(renamed)
    found: list[NewlyJudged] = []
    if base.nlu is not None and head.nlu is not None and base.nlu.mode == head.nlu.mode:
        taken = _taken(sentences)
        for kind in ("intents", "responses", "entities"):
            before, now = _of_kind(base, kind), _of_kind(head, kind)
            called = names_now(kind, renamed)
            old = _by_either_name(before, called)
            known = _by_either_name(_known(base, kind), called)
            found += [
                _newly_judged(kind, name, judged, taken if kind == "intents" else {}, known=name in known)
                for name, judged in now.items()
                if name not in old
            ]
    found += [_newly_judged("suites", name, judged, {}, known=False) for name, judged in _new_suites(base, head, batch)]
    return tuple(sorted(found, key=lambda one: (not one.mostly_wrong, one.right - one.judged, one.kind, one.name)))


def _by_either_name(names: Iterable[str], called: Callable[[str], str]) -> set[str]:
    """Names of the base, and what they are called now: data may keep the name of what the domain renamed."""
    return {either for name in names for either in (name, called(name))}


def _newly_judged(
    kind: NewlyJudgedKind, name: str, judged: _Judged, taken: Mapping[str, Counter[str]], *, known: bool
) -> NewlyJudged:
    takes = taken.get(name, Counter())
    return NewlyJudged(
        kind=kind,
        name=name,
        location=judged.location,
        judged=judged.number,
        right=judged.right,
        instead=_counted(judged.instead),
        takes=_counted(takes),
        known=known,
        mostly_wrong=is_mostly_wrong(judged.right, judged.number)
        or is_mostly_wrong(judged.right, judged.right + takes.total()),
    )


def _counted(names: Counter[str]) -> tuple[NameCount, ...]:
    ordered = sorted(names.items(), key=lambda one: (-one[1], one[0]))
    return tuple(NameCount(name=name, number=number) for name, number in ordered)


def _taken(sentences: ChangedCases) -> dict[str, Counter[str]]:
    """By intent: of which other intents it has sentences now that were right on the base."""
    taken: dict[str, Counter[str]] = defaultdict(Counter)
    for case in sentences.became_wrong:
        if case.base_passed:
            taken[case.actual][case.expected] += 1
    return taken


def _of_kind(report: Report, kind: NewlyJudgedKind) -> dict[str, _Judged]:
    judges = {"intents": _intents, "responses": _responses, "entities": _entities}[kind]
    scored = _scored_entities(report) if kind == "entities" else frozenset()
    found: dict[str, _Judged] = {}
    for example in report.nlu.predictions if report.nlu else ():
        for name, right, instead in judges(example):
            if kind != "entities" or name in scored:
                found.setdefault(name, _Judged(example.location)).add(example.location, right=right, instead=instead)
    return found


def _intents(example: NluPrediction) -> Iterator[tuple[str, bool, str]]:
    if example.expected.intent and not example.unclear:
        yield example.expected.intent, example.correct, example.predicted.intent or _NOTHING


def _responses(example: NluPrediction) -> Iterator[tuple[str, bool, str]]:
    expected, predicted = example.expected.response, example.predicted.response
    if expected and "/" in expected:
        yield expected, expected == predicted, predicted or _NOTHING


def _entities(example: NluPrediction) -> Iterator[tuple[str, bool, str]]:
    """A sentence is right for an entity if exactly the expected spans are found, whichever extractor found them."""
    expected, found = entity_spans(example, expected=True), entity_spans(example, expected=False)
    for name in dict.fromkeys(span[2] for span in expected):
        missed = [span for span in expected if span[2] == name and span not in found]
        more = [span for span in found if span[2] == name and span not in expected]
        others = [span[2] for span in found for lost in missed if span[0] < lost[1] and lost[0] < span[1]]
        yield name, not missed and not more, others[0] if others and others[0] != name else _NOTHING


def _scored_entities(report: Report) -> frozenset[str]:
    """The types that any extractor was to find."""
    scores = report.nlu.entities.values() if report.nlu else ()
    return frozenset(
        name
        for extractor in scores
        for name, figures in extractor.report.items()
        if isinstance(figures, dict) and figures.get("support")
    )


def _known(report: Report, kind: NewlyJudgedKind) -> set[str]:
    """The names that a side has, whether or not any sentence is judged by them."""
    names = {item.name for item in report.coverage[kind].items} if kind in report.coverage else set()
    if kind == "intents":
        return names | {sentence.intent.partition("/")[0] for sentence in report.training_sentences}
    if kind == "responses":
        return {sentence.intent for sentence in report.training_sentences if "/" in sentence.intent}
    return names


def _new_suites(base: Report, head: Report, batch: Matched) -> Iterator[tuple[str, _Judged]]:
    """The suites none of whose cases the base judged, if it judged suites or has none."""
    if any(skipped.evaluation == "batch" and not skipped.no_tests for skipped in base.skipped):
        return
    there = {pair.head.suite for pair in batch.pairs}
    for suite in head.batch.suites if head.batch else ():
        cases = [case for case in suite.cases if case.result != "not-evaluated" and not case.unclear]
        if cases and suite.name not in there:
            judged = _Judged(cases[0].location)
            for case in cases:
                judged.add(case.location, right=case.passed, instead=case.matched[0] if case.matched else _NOTHING)
            yield suite.name, judged
