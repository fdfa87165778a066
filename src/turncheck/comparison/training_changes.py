"""Training data that a change took away: most of an intent's sentences, or annotations of entities."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import CutIntent, StrippedIntent

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.cases import Case
    from turncheck.comparison.matching import Matched, Pair
    from turncheck.comparison.model import Renamed
    from turncheck.report.model import Report, TrainingSentence

_FEWEST_LOST: Final = 3
"""An intent of two sentences that lost one was hardly cut."""
_MOST_KEPT: Final = 0.5
"""An intent was cut if it kept at most this part of its sentences."""


def cut_intents(base: Report, head: Report, renamed: Iterable[Renamed]) -> tuple[CutIntent, ...]:
    """Return the intents that lost most of their training sentences or are no longer judged, the worst first.

    A sentence that moved to another intent is lost to the first one.
    """
    now_called = {one.old: one.new for one in renamed if one.kind == "intents"}
    before, after = _by_intent(base.training_sentences), _by_intent(head.training_sentences)
    if not before or not after:
        return ()
    judged, unjudged = _judged(base), {one.intent for one in (head.nlu.unjudged if head.nlu else ())}
    found = []
    for intent, had in before.items():
        name = now_called.get(intent, intent)
        has = after.get(name, [])
        no_longer = intent in judged and name in unjudged
        cut = len(had) - len(has) >= _FEWEST_LOST and len(has) <= _MOST_KEPT * len(had)
        if cut or (no_longer and len(has) < len(had)):
            place = (has or had)[0].location
            found.append(CutIntent(intent=name, base=len(had), now=len(has), unjudged=no_longer, location=place))
    return tuple(sorted(found, key=lambda one: (not one.unjudged, one.now - one.base, one.intent)))


def _by_intent(sentences: Iterable[TrainingSentence]) -> dict[str, list[TrainingSentence]]:
    found: dict[str, list[TrainingSentence]] = defaultdict(list)
    for sentence in sentences:
        if sentence.intent:
            found[sentence.intent.partition("/")[0]].append(sentence)
    return dict(found)


def _judged(report: Report) -> set[str]:
    """The intents with judged sentences."""
    predictions = report.nlu.predictions if report.nlu else ()
    return {one.expected.intent.partition("/")[0] for one in predictions if one.expected.intent}


def stripped(base: Report, head: Report, renamed: Iterable[Renamed]) -> tuple[StrippedIntent, ...]:
    """Return the intents whose sentences lost annotations, the one with most of them first.

    Only sentences that both sides have are compared; an entity that was renamed is the same.
    """
    now_called = {one.old: one.new for one in renamed if one.kind == "entities"}
    waiting: dict[Hashable, list[TrainingSentence]] = defaultdict(list)
    for sentence in base.training_sentences:
        waiting[sentence.text, sentence.intent].append(sentence)
    gone: dict[str, Counter[str]] = defaultdict(Counter)
    sentences: dict[str, list[TrainingSentence]] = defaultdict(list)
    had: Counter[str] = Counter()
    for sentence, lost, number in _annotations_lost(head.training_sentences, waiting, now_called):
        had[sentence.intent] += number
        if lost:
            gone[sentence.intent] += lost
            sentences[sentence.intent].append(sentence)
    found = [
        StrippedIntent(
            intent=intent,
            annotations=types.total(),
            base=had[intent],
            sentences=len(sentences[intent]),
            entities=tuple(name for name, _ in types.most_common()),
            location=sentences[intent][0].location,
        )
        for intent, types in gone.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.annotations, one.intent)))


def _annotations_lost(
    sentences: Iterable[TrainingSentence],
    waiting: Mapping[Hashable, list[TrainingSentence]],
    now_called: Mapping[str, str],
) -> Iterator[tuple[TrainingSentence, Counter[str], int]]:
    """Yield sentences with the annotations they lost, and how many they had. Copies count as alike as they can be."""
    here: dict[Hashable, list[TrainingSentence]] = defaultdict(list)
    for sentence in sentences:
        if (sentence.text, sentence.intent) in waiting:
            here[sentence.text, sentence.intent].append(sentence)
    for key, copies in here.items():
        before = [Counter(now_called.get(name, name) for name in one.entities) for one in waiting[key]]
        left = []
        for sentence in copies:
            annotations = Counter(sentence.entities)
            if annotations in before:
                before.remove(annotations)
                yield sentence, Counter(), annotations.total()
            else:
                left.append(sentence)
        for sentence, annotations in zip(left, before, strict=False):
            yield sentence, annotations - Counter(sentence.entities), annotations.total()


def without_stripped(matched: Matched) -> Matched:
    """Return judged sentences without those whose annotations were removed: what the model finds there is no error."""
    kept = tuple(pair for pair in matched.pairs if not _is_stripped(pair))
    return type(matched)(kept, matched.added, matched.removed, matched.not_run, matched.newly_run)


def _is_stripped(pair: Pair) -> bool:
    now, before = _spans(pair.head), _spans(pair.base)
    return "edited" in pair.edits and pair.base.name == pair.head.name and set(now) < set(before)


def _spans(case: Case) -> Sequence[Hashable]:
    return case.expectation if isinstance(case.expectation, tuple) else ()
