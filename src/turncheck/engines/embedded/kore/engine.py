"""The trained stand-in for a Kore.ai assistant: understands sentences in batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.embedded.kore.entities import EXTRACTOR
from turncheck.engines.embedded.nlu.batch import NO_INTENT
from turncheck.engines.embedded.nlu.classifiers import rank
from turncheck.engines.embedded.nlu.intent_model import LIKELY
from turncheck.engines.embedded.nlu.model_parse import as_model_parse
from turncheck.engines.parse import Parse, PredictedIntent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.kore.entities import EntityFinder
    from turncheck.engines.embedded.kore.traits import TraitFinder
    from turncheck.engines.embedded.nlu.intent_model import IntentModel
    from turncheck.engines.embedded.nlu.neighbours import Neighbour, TrainingSentences
    from turncheck.engines.embedded.nlu.tokenizers import Tokenizer
    from turncheck.report.model import EngineInfo

THRESHOLD: Final = 0.3
"""Below this confidence nothing is matched; the platform's default for its machine learning."""
NEAR_ENOUGH: Final = 0.4
"""A phrase with a lower similarity does not match. Of the phrases of four public assistants nine in ten have one this
near in their own FAQ; of sentences about something else one in ten has."""
MARGIN: Final = 0.05
"""A phrase must be this much nearer than the nearest utterance. In five public assistants fewer sentences of dialogs
are lost than without, and hardly one of an FAQ."""
STRANGE: Final = 0.2
"""A sentence that is no nearer than this to any other is about something else: it does not match, however sure the
classifier is, which only knows its dialogs. In three public assistants this loses one right answer in forty."""
_NEAREST: Final = 30
_RANKED: Final = 10


@dataclass(frozen=True, slots=True)
class KoreNluEngine:
    """Dialogs by a classifier, FAQs and small talk by their nearest phrase, and whichever of the two is nearer.

    ``labels``: the intent of each of ``sentences``; ``of_dialogs``: which of these the classifier learnt.
    """

    info: EngineInfo
    tokenizer: Tokenizer
    sentences: TrainingSentences
    labels: tuple[str, ...]
    of_dialogs: frozenset[str]
    dialogs: IntentModel | None
    entities: EntityFinder
    traits: TraitFinder

    @property
    def extractors(self) -> tuple[str, ...]:
        """The name by which entities are reported, if any can be found."""
        return (EXTRACTOR,) if self.entities.is_able else ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text."""
        if not texts:
            return []
        confidences = None if self.dialogs is None else self.dialogs.confidences(texts)
        near = self.sentences.nearest(texts, _NEAREST)
        return [
            self._parse(text, None if confidences is None else confidences[row], near[row])
            for row, text in enumerate(texts)
        ]

    def model_parse(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Understand each text, as JSON: the shape of a Rasa server's answer, and ``traits``."""
        return [
            as_model_parse(parse, {})
            | {"traits": [{"name": trait.name, "confidence": trait.confidence} for trait in parse.traits]}
            for parse in self.parse(texts)
        ]

    def neighbours(self, texts: Sequence[str], k: int = 3) -> list[tuple[Neighbour, ...]]:
        """For each text the ``k`` training sentences nearest to it."""
        return self.sentences.nearest(texts, k)

    def _parse(self, text: str, confidences: NDArray[Any] | None, near: Sequence[Neighbour]) -> Parse:
        tokens = self.tokenizer.tokenize(text)
        ranking = self._ranking(confidences, near) if text.strip() else ()
        intent = ranking[0] if ranking else NO_INTENT
        enough = THRESHOLD if intent.name in self.of_dialogs else NEAR_ENOUGH
        if intent.confidence < enough or not near or near[0].similarity < STRANGE:
            intent = NO_INTENT
        of_dialogs = [(one.name, one.confidence) for one in ranking if one.name in self.of_dialogs]
        is_dialog = bool(of_dialogs) and of_dialogs[0][0] == ranking[0].name
        return Parse(
            text,
            intent,
            ranking,
            self.entities.find(text, tokens, of_dialogs[:LIKELY] if is_dialog else ()),
            tokens=tokens.spans,
            traits=self.traits.find(text),
        )

    def _ranking(self, confidences: NDArray[Any] | None, near: Sequence[Neighbour]) -> tuple[PredictedIntent, ...]:
        """Rank the intents: first those of the nearer side, then the others, with no higher confidence."""
        dialogs = _ranked(self.dialogs, confidences)
        nearest_dialog = 0.0
        phrases: dict[str, float] = {}
        for neighbour in near:
            label = self.labels[neighbour.index]
            if label in self.of_dialogs:
                nearest_dialog = max(nearest_dialog, neighbour.similarity)
            else:
                phrases.setdefault(label, neighbour.similarity)
        known = [PredictedIntent(name, similarity) for name, similarity in phrases.items()]
        if not known or not dialogs:
            return tuple((dialogs or known)[:_RANKED])
        sides = (known, dialogs) if known[0].confidence > nearest_dialog + MARGIN else (dialogs, known)
        best = sides[0][0]
        rest = sorted((*sides[0][1:], *sides[1]), key=lambda one: -one.confidence)
        capped = (PredictedIntent(one.name, min(one.confidence, best.confidence)) for one in rest)
        return (best, *capped)[:_RANKED]


def _ranked(model: IntentModel | None, confidences: NDArray[Any] | None) -> list[PredictedIntent]:
    if model is None or confidences is None:
        return []
    return list(rank(model.names, confidences, _RANKED)[1])
