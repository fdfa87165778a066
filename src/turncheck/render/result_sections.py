"""What a terminal shows of one evaluation besides what every document says: scores, and where to look first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import UnsetType

from turncheck.evaluations.nlu import NOTHING_TO_FIND
from turncheck.messages.phrasing import count
from turncheck.render.phrases import confidence_text, how_judged
from turncheck.render.spans import Code, Column, Entry, NeutralSection, Prose, Row, Said, Section, at, line, listed
from turncheck.render.strength_notes import rate_in_words, worst_first
from turncheck.render.wording.figures import figure
from turncheck.render.wording.tests import passing_in_quarantine
from turncheck.report.entities import overlapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.messages.finding import Location
    from turncheck.render.spans import Line
    from turncheck.report.model import Core, EndToEnd, KindCoverage, MutantGroup, Nlu, NoiseGroup, Report, Spread
    from turncheck.report.repeats import Attempt

_MEASURES: Final = ("accuracy", "precision", "recall", "f1")
_LONGEST_NAME: Final = 80
_MOST_NAMES: Final = 20
_MOST_INTENTS: Final = 20


def result_sections(report: Report) -> tuple[NeutralSection, ...]:
    """Return the sections that have something to show, in the order in which they are printed."""
    nlu, strength, robustness = report.nlu, report.strength, report.robustness
    sections = [
        _scores(report),
        *([_counted_once(report.core)] if report.core else ()),
        *(_of_sentences(nlu) if nlu else ()),
        _varying(report),
        *([_assertions(report.e2e)] if report.e2e else ()),
        _not_reached(report),
        _unexpected(report),
        *(_of_mutants("By kind", strength.by_kind) if strength else ()),
        *(_of_mutants("By file", strength.by_file) if strength else ()),
        *(_of_noise("By family", robustness.by_family) if robustness else ()),
        *(
            _of_noise("Worst intents", [one for one in worst_first(robustness.by_intent) if one.failed])
            if robustness
            else ()
        ),
    ]
    return tuple(section for section in sections if section.total)


def _list(title: str, entries: Sequence[Entry]) -> NeutralSection:
    return Section(title, title, tuple(entries), len(entries))


def _table(title: str, heads: Sequence[str], rows: Sequence[Row]) -> NeutralSection:
    columns = (Column(""), *(Column(head, "right") for head in heads))
    return Section(title, title, tuple(rows), len(rows), columns=columns)


# Scores: a row for everything that has precision, recall and F1, and one for its mean over the folds.


def _scores(report: Report) -> NeutralSection:
    rows = list(_rows_of_sentences(report.nlu)) if report.nlu else []
    if (core := report.core) is not None:
        scores = {"accuracy": core.accuracy, "precision": core.precision, "f1": core.f1}
        is_end_to_end = any(step.kind == "intent" for story in core.stories for step in story.steps)
        rows.append(_score_row(line("Actions, intents and entities" if is_end_to_end else "Actions"), scores))
    of = f" ({count(report.nlu.examples, 'sentence')}, {how_judged(report.nlu)})" if report.nlu else ""
    return _table(f"Scores{of}", ("accuracy", "precision", "recall", "F1"), rows)


def _counted_once(core: Core) -> NeutralSection:
    """The stories that are the same as others to every policy: scores count them once, as Rasa's do."""
    copies = [story for story in core.stories if story.duplicate]
    entries = [Entry(line(Code(story.name)), at(story.location)) for story in copies]
    return _list(f"Identical to others for every policy, and counted once in the scores ({len(copies)})", entries)


def _rows_of_sentences(nlu: Nlu) -> Iterator[Row]:
    if nlu.intents:
        yield from _score_rows(line("Intents"), _figures(nlu.intents), nlu.intents.folds)
    for name, entities in nlu.entities.items():
        head = line("Entities by ", Code(name, _LONGEST_NAME))
        if entities.says_nothing:
            yield Row((line(head, f": not scored: {NOTHING_TO_FIND}"), *[()] * len(_MEASURES)))
            continue
        yield from _score_rows(line(head, ", by token"), _figures(entities), entities.folds)
        if entities.spans is not None:
            yield _score_row(line(head, ", exact spans"), _figures(entities.spans))
    if len(nlu.entities) > 1 and nlu.entity_spans:
        yield _score_row(line("All extractors together, exact spans"), _figures(nlu.entity_spans))
    for name, responses in nlu.responses.items():
        yield from _score_rows(line("Responses by ", Code(name, _LONGEST_NAME)), _figures(responses), responses.folds)


def _figures(scores: object) -> dict[str, float | None]:
    return {name: getattr(scores, name, None) for name in _MEASURES}


def _score_rows(head: Line, figures: Mapping[str, float | None], folds: Mapping[str, Spread]) -> Iterator[Row]:
    yield _score_row(head, figures)
    if folds:
        spreads = (folds.get(name) for name in _MEASURES)
        cells = ("" if spread is None else f"{spread.mean:.3f} ± {spread.deviation:.3f}" for spread in spreads)
        yield Row((line("  mean of the folds"), *map(line, cells)))


def _score_row(head: Line, figures: Mapping[str, float | None]) -> Row:
    values = (figures.get(name) for name in _MEASURES)
    return Row((head, *(line("" if value is None else figure(value, "score")) for value in values)))


# Sentences: what the fallback does, labels that may be wrong, entities that overlap.


def _of_sentences(nlu: Nlu) -> Iterator[NeutralSection]:
    yield _list("After the fallback", list(_after_fallback(nlu)))
    mislabelled = [nlu.predictions[index] for index in nlu.insights.mislabelled]
    yield _list(
        f"Perhaps mislabelled ({len(mislabelled)})",
        [
            Entry(
                line(
                    *(Said(one.text), " is labelled ", Code(one.expected.intent or "", _LONGEST_NAME), ", looks like "),
                    *(Code(one.predicted.intent or "", _LONGEST_NAME), confidence_text(one.predicted.confidence)),
                ),
                at(one.location),
            )
            for one in mislabelled
        ],
    )
    yield _list(f"Entities that overlap ({len(nlu.insights.overlapping)})", list(_overlapping(nlu)))


def _after_fallback(nlu: Nlu) -> Iterator[Entry]:
    understood = nlu.understood
    if understood is None:
        return
    yield Entry(
        line(f"right {understood.right:,}, wrong {understood.wrong:,}, not understood {understood.not_understood:,}")
    )
    if (point := understood.suggested) is not None:
        wrong = _fewer(understood.wrong_avoided, "wrong answers avoided", "more wrong answers")
        right = _fewer(understood.right_lost, "right answers lost", "more right answers")
        yield Entry(
            line(
                f"suggested threshold {point.threshold:g}: answers {point.coverage:.1%} of the sentences,"
                f" {point.precision:.1%} of them right ({wrong}, {right})"
            )
        )


def _fewer(number: int, fewer: str, more: str) -> str:
    return f"{fewer} {number}" if number >= 0 else f"{more} {-number}"


def _overlapping(nlu: Nlu) -> Iterator[Entry]:
    for index in nlu.insights.overlapping:
        prediction = nlu.predictions[index]
        pairs = overlapping(prediction.predicted.entities)
        found = [
            line(
                *(Said(prediction.text[entity.start : entity.end]), " is ", Code(entity.entity, _LONGEST_NAME)),
                *(" (", Code(entity.extractor or "", _LONGEST_NAME), ")"),
            )
            for entity in prediction.predicted.entities
            if any(entity in pair for pair in pairs)
        ]
        yield Entry(line(Said(prediction.text), ": ", listed(found)), at(prediction.location))


# Tests that were run a number of times, which assertions were met, and what no test reaches.

_PLACED_STEPS: Final = frozenset({"bot", "utter", "slot_was_set", "slot_was_not_set"})
"""Kinds of steps that are also the bot's turns: only without a place are they assertions."""


def _varying(report: Report) -> NeutralSection:
    """The sentences and tests that were run a number of times and did not pass each time."""
    asked = [(name, location, attempts) for name, location, attempts in _attempts(report) if attempts is not None]
    failing = [
        Entry(
            line("flaky: " if runs.passed else "", Said(name), f": passed {runs.passed} of {runs.of} times"), at(where)
        )
        for name, where, runs in asked
        if runs.passed < runs.of
    ]
    return _list(f"Not passed each time ({len(failing)} of {len(asked):,})", failing)


def _times(attempts: Attempt) -> str:
    return f"passed {attempts.passed} of {attempts.of} times"


def _attempts(report: Report) -> Iterator[tuple[str, Location, Attempt | None]]:
    for sentence in report.nlu.predictions if report.nlu else ():
        yield sentence.text, sentence.location, _unless_unset(sentence.attempts)
    for case in report.e2e.cases if report.e2e else ():
        yield case.name, case.location, case.attempts
    for utterance in report.batch.cases if report.batch else ():
        yield utterance.text, utterance.location, _unless_unset(utterance.attempts)


def _unless_unset(attempts: Attempt | UnsetType) -> Attempt | None:
    return None if isinstance(attempts, UnsetType) else attempts


def _assertions(cases: EndToEnd) -> NeutralSection:
    """How many of each kind of assertion were met, of those that were run."""
    counts: dict[str, Counter[str]] = {}
    for case in cases.cases:
        for step in case.steps:
            if step.kind not in _PLACED_STEPS or step.location is None:
                counts.setdefault(step.kind, Counter())[step.outcome] += 1
    rows = [
        Row(
            (
                line(Code(kind)),
                *(line(f"{number:,}") for number in (found["passed"], found["failed"], found["skipped"])),
            )
        )
        for kind, found in sorted(counts.items())
    ]
    return _table("Assertions", ("met", "not met", "not run"), rows)


def _unexpected(report: Report) -> NeutralSection:
    """The tests that pass although their quarantine expects them to fail."""
    held = passing_in_quarantine(report)
    entries = [Entry(line(f"{test.kind} ", Code(test.name), ": release it"), at(test.location)) for test in held]
    return _list(f"Passing, but in quarantine as failing ({len(held)})", entries)


_REACHED_BY_STORIES: Final = ("intents", "actions", "responses", "forms", "flows", "rules", "stories")
_REACHED_BY_CASES: Final = ("intents", "actions", "responses", "slots", "forms", "flows")


def _not_reached(report: Report) -> NeutralSection:
    test, kinds = ("case", _REACHED_BY_CASES) if report.e2e else ("test story", _REACHED_BY_STORIES)
    incomplete = [(kind, report.coverage[kind]) for kind in kinds if kind in report.coverage]
    entries = [_unreached(kind, reach) for kind, reach in incomplete if reach.share is not None and reach.share != 1]
    return _list(f"No {test} reaches", entries)


def _unreached(kind: str, reach: KindCoverage) -> Entry:
    names = [item.name for item in reach.items if not item.covered]
    more = len(names) - _MOST_NAMES
    shown = listed(line(Prose(name, 60)) for name in names[:_MOST_NAMES])
    return Entry(line(f"{kind}: ", shown, f" and {more:,} more" if more > 0 else ""))


# Faults that were planted, and sentences that were varied, in groups.


def _of_mutants(title: str, groups: Sequence[MutantGroup]) -> Iterable[NeutralSection]:
    rows = [
        Row(
            (
                line(Code(group.name, _LONGEST_NAME)),
                line("–" if group.score is None else f"{group.score:.2f}"),
                line("–" if group.by_tests is None else f"{group.by_tests:.2f}"),
                line(f"{group.killed:,} of {group.killed + group.survived:,}"),
            )
        )
        for group in groups
    ]
    yield _table(title, ("score", "by tests alone", "noticed"), rows)


def _of_noise(title: str, groups: Sequence[NoiseGroup]) -> Iterable[NeutralSection]:
    rows = [
        Row((line(Code(group.name, _LONGEST_NAME)), line(rate_in_words(group)))) for group in groups if group.variants
    ]
    yield Section(title, title, tuple(rows[:_MOST_INTENTS]), len(rows), columns=(Column(""), Column("misunderstood")))
