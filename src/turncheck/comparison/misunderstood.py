"""Sentences of tests that were not understood as they should have been: each once, with the tests that it breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UnsetType

from turncheck.comparison.changes import CaseChange, MisunderstoodSentence, Named, TrainingChange
from turncheck.messages.finding import Location
from turncheck.report.conversations import FALLBACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.explanations import Explainer
    from turncheck.report.model import EntitySpan, Misunderstanding, StoryParse

ELSE: Final = ", else "
"""What separates a fallback from the intent whose confidence was too low."""


def misunderstood_sentences(
    stories: Iterable[CaseChange], explainer: Explainer | None = None
) -> tuple[MisunderstoodSentence, ...]:
    """Gather the misunderstood sentences of stories or end-to-end cases, those that break most of them first.

    If imported files do not say a story's sentence, the story has an entry of its own, without a sentence. Without an
    ``explainer`` nothing is known about a change: the explanation is the training sentence nearest to the sentence.
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
    location = story.location or Location("")
    return MisunderstoodSentence(
        text="",
        location=location,
        expected="",
        predicted="",
        stories=(Named(name=story.name, location=story.location),),
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
    """Return the confidence in what was understood: that of the intent; several entities have no common confidence."""
    expected, predicted = sentence.expected, sentence.predicted
    if expected.intent != predicted.intent or predicted.fallback:
        return predicted.confidence
    differs = expected.response is not None and predicted.response not in {None, expected.response}
    return predicted.response_confidence if differs else None


def expected_and_predicted(sentence: Misunderstanding) -> tuple[str, str]:
    """Say what was expected and what was understood instead: an intent, a response, or entities.

    For a fallback, the intent whose confidence was too low is named.
    """
    expected, predicted = sentence.expected, sentence.predicted
    if predicted.fallback:
        return expected.intent or "", f"{FALLBACK}{ELSE}{predicted.intent}" if predicted.intent else "nothing"
    if expected.intent != predicted.intent:
        return expected.intent or "", predicted.intent or "nothing"
    if expected.response is not None and predicted.response not in {None, expected.response}:
        return expected.response, predicted.response or "nothing"
    wanted, found = _entities(sentence.text, expected.entities), _entities(sentence.text, predicted.entities)
    if wanted == found:  # they differ only in their values or roles
        wanted = _entities(sentence.text, expected.entities, values=True)
        found = _entities(sentence.text, predicted.entities, values=True)
    if wanted == found and expected.response is not None and predicted.response is None:  # none was selected
        return expected.response, predicted.intent or "nothing"
    return wanted, found


def understanding_in_words(text: str, understood: StoryParse | None) -> str:
    """Say what a message was understood as: the intent or response, and the entities; empty if not known."""
    if understood is None:
        return ""
    commands = "" if isinstance(understood.commands, UnsetType) else ", ".join(understood.commands)
    intent = understood.response or understood.intent or commands or "nothing"
    intent = f"{FALLBACK}{ELSE}{intent}" if understood.fallback else intent
    found = _entities(text, understood.entities, values=True) if understood.entities else ""
    return f"{intent}; {found}" if found else intent


def _entities(text: str, entities: Sequence[EntitySpan], *, values: bool = False) -> str:
    return "; ".join(_entity_in_words(text, entity, value=values) for entity in entities) or "no entity"


def _entity_in_words(text: str, entity: EntitySpan, *, value: bool) -> str:
    words = text[entity.start : entity.end] or str(entity.value)
    stands_for = f": {entity.value}" if value and str(entity.value) != words else ""
    roles = [f"{what} {name}" for what, name in (("role", entity.role), ("group", entity.group)) if value and name]
    return f"{words} ({', '.join([f'{entity.entity}{stands_for}', *roles])})"
