"""The stand-in for ResponseSelector: the intent model over response keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from turncheck.engines.embedded.nlu.classifiers import rank
from turncheck.engines.embedded.nlu.intent_model import IntentModel
from turncheck.engines.parse import SelectedResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.batch import Batch, Training

DEFAULT_SELECTOR: Final = "default"


@dataclass(frozen=True, slots=True)
class ResponseSelectorStandIn:
    """Chooses among the responses of one retrieval intent (its ``selector``), or of all (``default``)."""

    selector: str
    model: IntentModel
    ranking_length: int

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self | None:
        """Train on the sentences of retrieval intents; ``None`` (and a note) if there are none."""
        intent = parameters["retrieval_intent"]
        chosen = [
            example
            for example in training.examples
            if example.text and example.intent and "/" in example.intent and intent in {None, example.base_intent}
        ]
        if not chosen:
            of = f"of the retrieval intent {intent!r}" if intent else "of a retrieval intent"
            training.notes.append(f"ResponseSelector was left out: there are no examples {of}")
            return None
        keys = [str(example.intent) for example in chosen]
        texts = [example.text for example in chosen]
        model = IntentModel.train(texts, keys, training.seed, vectors=training.vectors)
        return cls(intent or DEFAULT_SELECTOR, model, parameters["ranking_length"])

    def process(self, batch: Batch) -> None:
        """Add this selector's choice for every text, whatever its intent, as Rasa does."""
        confidences = self.model.confidences(batch.texts)
        for row, text in enumerate(batch.texts):
            if text:
                best, ranking = rank(self.model.names, confidences[row], self.ranking_length)
                choice = SelectedResponse(self.selector, best.name, best.confidence, ranking)
            else:
                choice = SelectedResponse(self.selector, None, 0.0)
            batch.responses[row][self.selector] = choice

    def save(self, members: MemberWriter) -> None:
        """Write the model."""
        self.model.save(members)

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:
        """Read the model."""
        selector = parameters["retrieval_intent"] or DEFAULT_SELECTOR
        return cls(selector, IntentModel.load(members), parameters["ranking_length"])
