"""The stand-in for neural or foreign classifiers: a linear intent model and an entity CRF, with their own features.

It answers under the name of what it replaces: DIETClassifier, MitieIntentClassifier, MitieEntityExtractor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from turncheck.engines.embedded.nlu.batch import NO_INTENT
from turncheck.engines.embedded.nlu.classifiers import rank
from turncheck.engines.embedded.nlu.crf_extractor import as_predicted
from turncheck.engines.embedded.nlu.entity_model import EntityModel
from turncheck.engines.embedded.nlu.intent_model import IntentModel, Ranking, likely, out_of_fold_rankings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.batch import Batch, Training


@dataclass(frozen=True, slots=True)
class DietStandIn:
    """Sets intents and finds entities under ``name``."""

    name: str
    intents: IntentModel | None
    entities: EntityModel | None
    ranking_length: int
    renormalize: bool
    split_by_comma: bool | Mapping[str, bool]

    @classmethod
    def train(cls, name: str, parameters: Mapping[str, Any], training: Training) -> Self:
        """Train what ``intent_classification`` and ``entity_recognition`` request and the data allow."""
        rows = training.intent_rows
        texts = [training.examples[row].text for row in rows]
        labels = [str(training.examples[row].base_intent) for row in rows]
        intents = None
        if parameters["intent_classification"] and rows:
            intents = IntentModel.train(texts, labels, training.seed, training.label_split, training.vectors)
        entities = None
        if parameters["entity_recognition"] and any(example.entities for example in training.examples):
            guessed: list[Ranking] = [()] * len(training.examples)
            if intents is not None:
                for row, ranking in zip(
                    rows,
                    out_of_fold_rankings(texts, labels, training.seed, training.label_split, training.vectors),
                    strict=True,
                ):
                    guessed[row] = ranking
            entities = EntityModel.train(training.examples, training.batch.tokens, guessed, training.seed)
        return cls(
            name,
            intents,
            entities,
            parameters["ranking_length"],
            parameters["renormalize_confidences"],
            parameters["split_entities_by_comma"],
        )

    def process(self, batch: Batch) -> None:
        """Set intents and rankings, append entities."""
        rankings: Sequence[Ranking] = [()] * len(batch.texts)
        if self.intents is not None:
            rankings = self._process_intents(self.intents, batch)
        if self.entities is None:
            return
        for row, text in enumerate(batch.texts):
            if text:
                found = self.entities.find(batch.tokens[row], rankings[row], self.split_by_comma)
                batch.entities[row].extend(as_predicted(text, entity, self.name) for entity in found)

    def _process_intents(self, intents: IntentModel, batch: Batch) -> list[Ranking]:
        """Return the most likely intents of each text, with their confidences before these are renormalized."""
        confidences = intents.confidences(batch.texts)
        for row, text in enumerate(batch.texts):
            if not text:
                batch.intents[row], batch.rankings[row] = NO_INTENT, ()
                continue
            values = confidences[row]
            if self.renormalize and 0 < self.ranking_length < len(values):
                values = values / np.sort(values)[-self.ranking_length :].sum()
            batch.intents[row], batch.rankings[row] = rank(intents.names, values, self.ranking_length)
        return likely(intents.names, confidences)

    def save(self, members: MemberWriter) -> None:
        """Write both models."""
        if self.intents is not None:
            self.intents.save(members.below("intents"))
        if self.entities is not None:
            self.entities.save(members.below("entities"))
        members.json("parts", {"intents": self.intents is not None, "entities": self.entities is not None})

    @classmethod
    def load(cls, name: str, parameters: Mapping[str, Any], members: MemberReader) -> Self:
        """Read both models."""
        parts = members.json("parts", dict[Literal["intents", "entities"], bool])
        return cls(
            name,
            IntentModel.load(members.below("intents")) if parts["intents"] else None,
            EntityModel.load(members.below("entities")) if parts["entities"] else None,
            parameters["ranking_length"],
            parameters["renormalize_confidences"],
            parameters["split_entities_by_comma"],
        )
