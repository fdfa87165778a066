"""Sentences of test stories that were understood differently than written, and the training sentences behind that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import structs

from turncheck.evaluation.intents import before_fallback
from turncheck.evaluation.neighbours import find_neighbours
from turncheck.evaluation.predictions import ranked, span_found
from turncheck.messages.location import Location
from turncheck.report.model import EntitySpan, ExpectedParse, Misunderstanding, NearSentence, StoryParse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.evaluation.story_run import Misheard
    from turncheck.project.nlu_data import Example

_Span = tuple[int, int, str]


def misunderstandings(
    misheard: Sequence[Sequence[Misheard]], training: Sequence[Example]
) -> list[tuple[Misunderstanding, ...]]:
    """Return what each story's misunderstood messages were understood as, with their neighbours.

    Args:
        misheard: the messages of each story.
        training: the sentences that the engine was trained on, if they are known.
    """
    return with_neighbours([[_written(one) for one in messages] for messages in misheard], training)


def with_neighbours(
    tests: Sequence[Sequence[Misunderstanding]], training: Sequence[Example]
) -> list[tuple[Misunderstanding, ...]]:
    """Return the misunderstood sentences of each test, with the training sentences that explain them."""
    # Dialogues that branch at a checkpoint share their messages.
    different = {_place(sentence): sentence for sentences in tests for sentence in sentences}
    neighbours = _neighbours(tuple(different.values()), training)
    known = {place: neighbours.get(number, ()) for number, place in enumerate(different)}
    return [
        tuple(structs.replace(sentence, neighbours=known[_place(sentence)]) for sentence in sentences)
        for sentences in tests
    ]


def _place(sentence: Misunderstanding) -> tuple[str, Location]:
    return sentence.text, sentence.location


def _neighbours(
    sentences: Sequence[Misunderstanding], training: Sequence[Example]
) -> dict[int, tuple[NearSentence, ...]]:
    """Return by index the nearest sentences that can have caused the misunderstanding, or else the nearest ones."""
    texts = {number: sentence.text for number, sentence in enumerate(sentences)}
    drew = find_neighbours(training, texts, lambda number, index: _can_draw(training[index], sentences[number]))
    left = {number: text for number, text in texts.items() if not drew.get(number)}
    found = {**drew, **find_neighbours(training, left, lambda _number, _index: True)}
    return {
        number: tuple(
            NearSentence(
                text=training[index].text,
                intent=training[index].intent or "",
                location=training[index].location,
                similarity=similarity,
            )
            for index, similarity in near
        )
        for number, near in found.items()
    }


def _can_draw(example: Example, sentence: Misunderstanding) -> bool:
    """Whether a training sentence is an example of what was understood, and not of what is written."""
    expected, predicted = sentence.expected, sentence.predicted
    if predicted.fallback:  # no intent was sure enough: anything near that does not have the right intent
        return example.base_intent != expected.intent
    if predicted.intent != expected.intent:
        return example.base_intent == predicted.intent
    if predicted.response != expected.response and predicted.response is not None:
        return example.intent == predicted.response
    wanted, found = _labels(sentence.text, expected.entities), _labels(sentence.text, predicted.entities)
    taught = _labels(example.text, example.entities)
    text = example.text.lower()
    return any(
        word in text and taught.get(word) != wanted.get(word) and taught.get(word) == found.get(word)
        for word in {**wanted, **found}
        if wanted.get(word) != found.get(word)
    )


def _labels(text: str, entities: Sequence[Any]) -> dict[str, str]:
    """The label of each annotated part of a sentence, by its words."""
    parts = ((text[entity.start : entity.end].lower(), entity.entity) for entity in entities)
    return {words: label for words, label in parts if words}


def _written(one: Misheard) -> Misunderstanding:
    event, parse = one.event, one.parse
    intent, ranking, fallback = before_fallback(parse)
    selected = next(
        (chosen for chosen in parse.responses.values() if _is_about(chosen.intent_response_key, one.response)), None
    )
    text = event.text or ""
    return Misunderstanding(
        text=text,
        location=event.location or Location(""),
        expected=ExpectedParse(
            intent=event.intent_name,
            response=one.response,
            entities=tuple(span_written(text, entity) for entity in event.entities),
        ),
        predicted=StoryParse(
            intent=intent.name,
            confidence=intent.confidence,
            ranking=ranked(ranking),
            response=selected.intent_response_key if selected else None,
            response_confidence=selected.confidence if selected else None,
            entities=tuple(map(span_found, parse.entities)),
            fallback=fallback,
        ),
    )


def _is_about(chosen: str | None, response: str | None) -> bool:
    return None not in {chosen, response} and str(chosen).partition("/")[0] == str(response).partition("/")[0]


def span_written(text: str, entity: Mapping[str, Any]) -> EntitySpan:
    """Return an entity as written in the story; if it has no place, that of its value in the text, if any."""
    value, start, end = entity.get("value"), entity.get("start"), entity.get("end")
    if start is None or end is None:
        start = max(text.find(str(value)), 0) if value else 0
        end = start + len(str(value)) if value and str(value) in text else start
    return EntitySpan(
        start=start, end=end, entity=entity["entity"], value=value, role=entity.get("role"), group=entity.get("group")
    )
