"""Trains the stand-in for a Kore.ai assistant from its export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from turncheck import __version__
from turncheck.engines.embedded.kore.engine import NEAR_ENOUGH, THRESHOLD, KoreNluEngine
from turncheck.engines.embedded.kore.entities import EntityFinder
from turncheck.engines.embedded.kore.substitutions import notes, substitutions
from turncheck.engines.embedded.kore.traits import TraitFinder
from turncheck.engines.embedded.nlu.intent_model import IntentModel, Ranking, out_of_fold_rankings
from turncheck.engines.embedded.nlu.neighbours import TrainingSentences
from turncheck.engines.embedded.nlu.tokenizers import WhitespaceTokenizer
from turncheck.engines.embedded.nlu.trainer import ENGINE_NAME, unique_examples
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
    from turncheck.project.model import Project


@dataclass(frozen=True, slots=True)
class KoreNluTrainer:
    """Fits engines on the examples of a Kore.ai assistant, or on some of them."""

    seed: int = 0
    vectors: SentenceVectors | None = None
    """What the classifier learns from besides n-grams, if enabled."""

    def fit(self, project: Project) -> KoreNluEngine:
        """Train on the project's examples; a project of another kind is the caller's error."""
        with threadpool_limits(limits=1, user_api="blas"):  # as EmbeddedNluTrainer does
            return self._fit(project)

    def _fit(self, project: Project) -> KoreNluEngine:
        bot = project.kore
        if bot is None:
            raise ValueError("not a Kore.ai assistant")
        examples = unique_examples(project.nlu.examples)
        # Of two intents with one name the dialog comes first, and the classifier learns its sentences.
        dialog_names = {intent.name for intent in bot.of_kind("dialog")}
        dialogs = [one for one in examples if one.intent in dialog_names]
        texts, labels = [one.text for one in dialogs], [str(one.intent) for one in dialogs]
        tokenizer = WhitespaceTokenizer(None)
        model: IntentModel | None = None
        guessed: list[Ranking] = []
        if dialogs:
            model = IntentModel.train(texts, labels, self.seed, vectors=self.vectors)
            if any(one.entities for one in dialogs):  # entities are learnt with the predicted intents
                guessed += out_of_fold_rankings(texts, labels, self.seed, vectors=self.vectors)
        tokens = [tokenizer.tokenize(text) for text in texts]
        return KoreNluEngine(
            info=EngineInfo(
                name=ENGINE_NAME,
                version=__version__,
                substitutions=tuple(substitutions(bot, THRESHOLD, NEAR_ENOUGH)),
                notes=tuple(notes(bot)),
            ),
            tokenizer=tokenizer,
            sentences=TrainingSentences(tuple(one.text for one in examples)),
            labels=tuple(str(one.intent) for one in examples),
            of_dialogs=frozenset(labels),
            dialogs=model,
            entities=EntityFinder.train(bot, dialogs, tokens, guessed, self.seed),
            traits=TraitFinder.train(bot.traits, texts),
        )
