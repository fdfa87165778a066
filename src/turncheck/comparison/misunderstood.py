"""Sentences of tests that were understood differently than they should have been: each once, with what it spoils."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import CaseChange, MisunderstoodSentence, Named, TrainingChange
from turncheck.comparison.wording import expected_got
from turncheck.messages.location import Location
from turncheck.report.end_to_end import FALLBACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.explanations import Explainer
    from turncheck.report.model import EntitySpan, Misunderstanding, StoryParse

ELSE: Final = ", else "
"""Between a fallback and the intent that was not sure enough."""


def misunderstood_sentences(
    stories: Iterable[CaseChange], explainer: Explainer | None = None
) -> tuple[MisunderstoodSentence, ...]:
    """Gather the misunderstood sentences of stories or end-to-end cases, those that spoil most of them first.

    A story of which imported files do not say the sentence has an entry of its own, without one. Without an
    ``explainer`` nothing is known of a change: what drew a sentence away is the training sentence nearest to it.
    """
    found: dict[tuple[str, str, str], list[tuple[Misunderstanding, CaseChange]]] = {}
    unknown: list[MisunderstoodSentence] = []
    for story in stories:
        if not story.sentences:
            unknown.append(_unknown(story))
        for sentence in story.sentences:
            found.setdefault((sentence.text, *expected_and_predicted(sentence)), []).append((sentence, story))
    gathered = [_gathered(expected, predicted, cases, explainer) for (_, expected, predicted), cases in found.items()]
    return (*sorted(gathered, key=lambda sentence: -sentence.number), *unknown)


def _unknown(story: CaseChange) -> MisunderstoodSentence:
    place = story.location or Location("")
    return MisunderstoodSentence(
        text="", location=place, expected="", predicted="", stories=(Named(name=story.name, location=story.location),)
    )


def _gathered(
    expected: str, predicted: str, listed: Sequence[tuple[Misunderstanding, CaseChange]], explainer: Explainer | None
) -> MisunderstoodSentence:
    sentence = listed[0][0]
    stories = dict.fromkeys(Named(name=story.name, location=story.location) for _, story in listed)
    return MisunderstoodSentence(
        text=sentence.text,
        location=sentence.location,
        expected=expected,
        predicted=predicted,
        confidence=confidence_of(sentence),
        because=explainer.drew_away(sentence) if explainer and explainer.knows else _nearest(sentence),
        stories=tuple(stories),
        copies=sum(story.copies for _, story in listed),
    )


def _nearest(sentence: Misunderstanding) -> tuple[TrainingChange, ...]:
    return tuple(
        TrainingChange(
            change="unknown", text=near.text, intent=near.intent, location=near.location, similarity=near.similarity
        )
        for near in sentence.neighbours[:1]
    )


def confidence_of(sentence: Misunderstanding) -> float | None:
    """Return how sure the engine is of what it understood: of an intent; of entities that is not known together."""
    expected, predicted = sentence.expected, sentence.predicted
    if expected.intent != predicted.intent or predicted.fallback:
        return predicted.confidence
    differs = expected.response is not None and predicted.response not in {None, expected.response}
    return predicted.response_confidence if differs else None


def expected_and_predicted(sentence: Misunderstanding) -> tuple[str, str]:
    """Say what was expected and what was understood instead: an intent, a response, or entities.

    Of a fallback the intent is named that was not sure enough.
    """
    expected, predicted = sentence.expected, sentence.predicted
    if predicted.fallback:
        return expected.intent or "", f"{FALLBACK}{ELSE}{predicted.intent}" if predicted.intent else "nothing"
    if expected.intent != predicted.intent:
        return expected.intent or "", predicted.intent or "nothing"
    if expected.response is not None and predicted.response not in {None, expected.response}:
        return expected.response, predicted.response or "nothing"
    wanted, found = _entities(sentence.text, expected.entities), _entities(sentence.text, predicted.entities)
    if wanted == found:  # what differs is what they stand for, or their roles
        wanted = _entities(sentence.text, expected.entities, values=True)
        found = _entities(sentence.text, predicted.entities, values=True)
    return wanted, found


def words_of_difference(sentence: Misunderstanding, *, case: bool) -> str:
    """Say what was understood of a sentence, and what should have been: a story says so, a case's base did."""
    expected, predicted = expected_and_predicted(sentence)
    return (
        f"'{sentence.text}': on the base {expected}, now {predicted}"
        if case
        else f"'{sentence.text}': {expected_got(expected, predicted)}"
    )


def understanding_in_words(text: str, understood: StoryParse | None) -> str:
    """Say what a message was understood as: the intent, or the response, and the entities; nothing if not known."""
    if understood is None:
        return ""
    intent = understood.response or understood.intent or "nothing"
    intent = f"{FALLBACK}{ELSE}{intent}" if understood.fallback else intent
    found = _entities(text, understood.entities, values=True) if understood.entities else ""
    return f"{intent}; {found}" if found else intent


def _entities(text: str, entities: Sequence[EntitySpan], *, values: bool = False) -> str:
    return "; ".join(_entity_in_words(text, one, value=values) for one in entities) or "no entity"


def _entity_in_words(text: str, entity: EntitySpan, *, value: bool) -> str:
    words = text[entity.start : entity.end] or str(entity.value)
    stands_for = f": {entity.value}" if value and str(entity.value) != words else ""
    roles = [f"{what} {name}" for what, name in (("role", entity.role), ("group", entity.group)) if value and name]
    return f"{words} ({', '.join([f'{entity.entity}{stands_for}', *roles])})"
