"""Sentences of test stories that were understood differently than written, and the training sentences behind that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, structs

from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent, SelectedResponse, Turn
from turncheck.evaluations.nlu.predictions import RANKING_LENGTH, find_neighbours, ranked, span_found
from turncheck.evaluations.nlu.scores import before_fallback
from turncheck.messages.finding import Location
from turncheck.report.conversations import FALLBACK
from turncheck.report.model import EntitySpan, ExpectedParse, Misunderstanding, NearSentence, RankedIntent, StoryParse

if TYPE_CHECKING:
    from turncheck.evaluations.core.story_run import MisparsedMessage
    from turncheck.project.nlu_data import Example


_Span = tuple[int, int, str]


def misunderstandings(
    misparsed: Sequence[Sequence[MisparsedMessage]], training: Sequence[Example]
) -> list[tuple[Misunderstanding, ...]]:
    """Return what each story's misunderstood messages were understood as, with their neighbours.

    Args:
        misparsed: the messages of each story.
        training: the sentences that the engine was trained on, if they are known.
    """
    return with_neighbours([[_written(message) for message in messages] for messages in misparsed], training)


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


def _written(misparsed: MisparsedMessage) -> Misunderstanding:
    event, parse = misparsed.event, misparsed.parse
    intent, ranking, fallback = before_fallback(parse)
    selected = next(
        (chosen for chosen in parse.responses.values() if _is_about(chosen.intent_response_key, misparsed.response)),
        None,
    )
    text = event.text or ""
    return Misunderstanding(
        text=text,
        location=event.location or Location(""),
        expected=ExpectedParse(
            intent=event.intent_name,
            response=misparsed.response,
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


# What the messages of end-to-end cases were understood as: read from a turn, compared, and converted back.

_ENTITY_KEYS = frozenset({"start", "end", "entity", "value", "role", "group", "extractor", "confidence_entity"})


def heard_in(turn: Turn) -> StoryParse | None:
    """Return what the turn's message was understood as, according to its event; ``None`` if there is none.

    Events have Rasa's shape, and other servers may leave out what is optional there.
    """
    event = next((event for event in turn.events if event["event"] == "user"), None)
    if event is None:
        return None
    parsed: Mapping[str, Any] = event["parse_data"]
    intent, ranking = _intent(parsed["intent"]), _ranking(parsed.get("intent_ranking"))
    fallback = intent.name == FALLBACK
    if fallback and len(ranking) > 1:
        intent, ranking = ranking[1], ranking[1:]
    response, confidence = _response(parsed.get("response_selector"), intent.name)
    return StoryParse(
        intent=intent.name or None,
        confidence=intent.confidence,
        ranking=tuple(ranking[:RANKING_LENGTH]),
        response=response,
        response_confidence=confidence,
        entities=tuple(span for entity in parsed["entities"] if (span := _span(entity)) is not None),
        fallback=fallback,
        commands=tuple(_commands_in_words(parsed)) or UNSET,
    )


def _commands_in_words(parsed: Mapping[str, Any]) -> Iterator[str]:
    """The commands of a message's event, each with what it is about: ``start flow order_pizza``."""
    for command in parsed.get("commands") or ():
        if isinstance(command, dict) and isinstance(command.get("command"), str):
            about = (value for key, value in command.items() if key in _ABOUT and isinstance(value, (str, int, float)))
            yield " ".join((command["command"], *map(str, about)))


_ABOUT: Final = ("flow", "name", "value")


def as_parse(text: str, understood: StoryParse) -> Parse:
    """Return the engine's answer that leads to this understanding: the opposite of :func:`heard_in`.

    A response is both that of the selector of its intent and that of the selector for all intents.
    """
    intent = PredictedIntent(understood.intent, understood.confidence or 0.0)
    ranking = tuple(
        PredictedIntent(ranked_intent.name, ranked_intent.confidence) for ranked_intent in understood.ranking
    )
    if understood.fallback and understood.intent != FALLBACK:
        ranking = ranking or (intent,)
        intent = PredictedIntent(FALLBACK, 1.0 - intent.confidence)
        ranking = (intent, *ranking)
    response, sure = understood.response, understood.response_confidence or 0.0
    selectors = (response.partition("/")[0], "default") if response else ()
    return Parse(
        text=text,
        intent=intent,
        ranking=ranking,
        entities=tuple(map(_entity, understood.entities)),
        responses={name: SelectedResponse(name, response, sure) for name in selectors},
    )


def _intent(shape: Mapping[str, Any]) -> RankedIntent:
    name, confidence = shape.get("name"), shape.get("confidence")
    return RankedIntent(
        name=name if isinstance(name, str) else "",
        confidence=float(confidence) if isinstance(confidence, int | float) else 0.0,
    )


def _ranking(shapes: object) -> list[RankedIntent]:
    return [_intent(shape) for shape in shapes if isinstance(shape, Mapping)] if isinstance(shapes, list) else []


def _response(selectors: object, intent: str) -> tuple[str | None, float | None]:
    """The response that was selected for this intent, if any."""
    for selector in selectors.values() if isinstance(selectors, Mapping) else ():
        chosen = selector.get("response") if isinstance(selector, Mapping) else None
        key = chosen.get("intent_response_key") if isinstance(chosen, Mapping) else None
        if isinstance(chosen, Mapping) and isinstance(key, str) and key.partition("/")[0] == intent:
            confidence = chosen.get("confidence")
            return key, float(confidence) if isinstance(confidence, int | float) else None
    return None, None


def _span(shape: Mapping[str, Any]) -> EntitySpan | None:
    """An entity. In ``/inform{"city": "Bonn"}`` its place is that of the braces; without a place it is at the start."""
    entity, start, end = shape.get("entity"), shape.get("start"), shape.get("end")
    if not isinstance(entity, str):
        return None
    confidence = shape.get("confidence_entity")
    return EntitySpan(
        start=start if isinstance(start, int) else 0,
        end=end if isinstance(end, int) else 0,
        entity=entity,
        value=shape.get("value"),
        role=_text(shape.get("role")),
        group=_text(shape.get("group")),
        extractor=_text(shape.get("extractor")),
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
        extra={key: value for key, value in shape.items() if key not in _ENTITY_KEYS} or None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _entity(span: EntitySpan) -> PredictedEntity:
    return PredictedEntity(
        start=span.start,
        end=span.end,
        entity=span.entity,
        value=span.value,
        extractor=span.extractor or "",
        role=span.role,
        group=span.group,
        confidence=span.confidence,
        extra=span.extra or {},
    )


def missing_labels(before: StoryParse, understood: StoryParse) -> tuple[frozenset[str], frozenset[str]]:
    """Return the intents and the entities that were understood before and are not now."""
    intents = _intents(before) - _intents(understood)
    return intents, frozenset(span.entity for span in before.entities) - {span.entity for span in understood.entities}


def _intents(understood: StoryParse) -> frozenset[str]:
    return frozenset() if understood.fallback or understood.intent is None else frozenset({understood.intent})
