"""The trained pipeline: understands sentences in batches."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from turncheck.engines import conversation
from turncheck.engines.embedded.nlu.batch import NO_INTENT, Batch, Component, Tokenizer
from turncheck.engines.embedded.nlu.duckling import EXTRACTOR as DUCKLING
from turncheck.engines.embedded.nlu.duckling import DucklingEntityExtractor

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from turncheck.engines.embedded.nlu.plan import Step
    from turncheck.engines.ngrams import Neighbour, TrainingSentences
    from turncheck.project.model import Domain, Project, Response
    from turncheck.report.model import EngineInfo
    from turncheck.report.trust import ConfidenceMap


class EmbeddedNlu(conversation.NluEngine, Protocol):
    """What the embedded engine understands sentences with, of whatever platform the assistant is."""

    @property
    def sentences(self) -> TrainingSentences:
        """The sentences that it learnt."""

    def model_parse(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Understand each text, and answer in the form of a server's ``/model/parse``."""


class EmbeddedTrainer(Protocol):
    """What trains it."""

    def fit(self, project: Project) -> EmbeddedNlu:
        """See :class:`turncheck.engines.conversation.NluTrainer`."""


# The result of understanding, in the shape of a Rasa server's answer to ``POST /model/parse``.


def as_model_parse(
    parse: conversation.Parse, responses: Mapping[str, Response], retrieval_intents: Collection[str] = ()
) -> dict[str, Any]:
    """Return ``parse`` as Rasa 3.6 writes it, ready for JSON.

    ``responses`` are the domain's, for the texts a response selector chose; ``retrieval_intents`` those of the training
    data. Empty keys are absent if they are absent in Rasa's.
    """
    answer: dict[str, Any] = {
        "text": parse.text,
        "intent": _intent(parse.intent),
        "entities": [_entity(entity) for entity in parse.entities],
    }
    if parse.tokens is not None:
        answer["text_tokens"] = [list(span) for span in parse.tokens]
    if parse.ranking:
        answer["intent_ranking"] = [_intent(intent) for intent in parse.ranking]
    if parse.responses:
        answer["response_selector"] = {
            "all_retrieval_intents": sorted(retrieval_intents),
            **{name: _choice(choice, responses) for name, choice in parse.responses.items()},
        }
        if parse.intent.name in retrieval_intents:
            own = parse.responses.get(str(parse.intent.name))
            full = own.intent_response_key if own else None
            for intent in (answer["intent"], *answer.get("intent_ranking", ())):
                if intent["name"] == parse.intent.name:
                    intent["full_retrieval_intent_name"] = full
    return answer


def _intent(intent: conversation.PredictedIntent) -> dict[str, Any]:
    return {"name": intent.name, "confidence": intent.confidence}


def _entity(entity: conversation.PredictedEntity) -> dict[str, Any]:
    extra = dict(entity.extra)
    written: dict[str, Any] = {"entity": entity.entity, "start": entity.start, "end": entity.end}
    if entity.confidence is not None:
        written["confidence" if entity.extractor == DUCKLING else "confidence_entity"] = entity.confidence
    for name, value in (("role", entity.role), ("group", entity.group)):
        if value is not None:
            written[name] = value
            if (confidence := extra.pop(f"confidence_{name}", None)) is not None:
                written[f"confidence_{name}"] = confidence
    return {**written, "value": entity.value, "extractor": entity.extractor, **extra}


def _choice(choice: conversation.SelectedResponse, responses: Mapping[str, Response]) -> dict[str, Any]:
    key = choice.intent_response_key
    known = responses.get(f"utter_{key}")
    texts = [dict(variation.content) for variation in known.variations] if known else [{"text": key}]
    return {
        "response": {
            "responses": texts,
            "confidence": choice.confidence,
            "intent_response_key": key,
            "utter_action": f"utter_{key}",
        },
        "ranking": [{"confidence": ranked.confidence, "intent_response_key": ranked.name} for ranked in choice.ranking],
    }


_BLOCK: Final = 4_096
"""This many texts go through the pipeline at once: the features and scores of a hundred thousand fill gigabytes."""


class EmbeddedNluEngine(Struct, frozen=True):
    """A trained pipeline. Its answers do not depend on how sentences are batched."""

    info: EngineInfo
    extractors: tuple[str, ...]
    tokenizer: Tokenizer
    components: tuple[tuple[Step, Component], ...]
    domain: Domain
    sentences: TrainingSentences
    retrieval_intents: tuple[str, ...] = ()
    """The intents whose examples have response keys, sorted."""
    trained: bool = True
    """``False`` for a project without NLU data: then only ``/intent`` messages are understood, as in Rasa."""
    team_confidences: ConfidenceMap | None = None
    """How sure the team's own model would be, if the two were compared: for the fallback."""

    def parse(self, texts: Sequence[str]) -> list[conversation.Parse]:
        """Understand each text."""
        direct = [
            conversation.read_direct_message(text, self.domain) if text.lstrip().startswith("/") else None
            for text in texts
        ]
        plain = [row for row, parse in enumerate(direct) if parse is None]
        blocks = (plain[first : first + _BLOCK] for first in range(0, len(plain), _BLOCK))
        understood = {
            row: parse
            for block in blocks
            for row, parse in zip(block, self._understand([texts[row] for row in block]), strict=True)
        }
        return [understood[row] if parse is None else parse for row, parse in enumerate(direct)]

    def on_the_day_of(self, reference_time: int) -> EmbeddedNluEngine:
        """Return the same engine with relative dates counted from this time, in milliseconds since 1970."""
        if not any(isinstance(component, DucklingEntityExtractor) for _, component in self.components):
            return self
        components = tuple(
            (
                step,
                dataclasses.replace(component, reference_time=reference_time)
                if isinstance(component, DucklingEntityExtractor)
                else component,
            )
            for step, component in self.components
        )
        return replace(self, components=components)

    def _understand(self, texts: Sequence[str]) -> list[conversation.Parse]:
        if not self.trained:
            return [conversation.Parse(text, NO_INTENT) for text in texts]
        batch = Batch.of(texts, [self.tokenizer.tokenize(text) for text in texts])
        batch.team_confidences = self.team_confidences
        if texts:
            for _, component in self.components:
                component.process(batch)
        return [
            conversation.Parse(text, intent, ranking, tuple(entities), responses, tokens.spans)
            for text, intent, ranking, entities, responses, tokens in zip(
                texts, batch.intents, batch.rankings, batch.entities, batch.responses, batch.tokens, strict=True
            )
        ]

    def model_parse(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Understand each text, and answer as a Rasa server's ``/model/parse`` does."""
        return [as_model_parse(parse, self.domain.responses, self.retrieval_intents) for parse in self.parse(texts)]

    def neighbours(self, texts: Sequence[str], k: int = 3) -> list[tuple[Neighbour, ...]]:
        """For each text the ``k`` training sentences nearest to it, by the cosine of their n-gram features."""
        return self.sentences.nearest(texts, k)
