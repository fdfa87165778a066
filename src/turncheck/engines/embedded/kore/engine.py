"""The embedded engine of a Kore.ai export: it understands, and has no dialogues."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from turncheck.engines.base import Capabilities, Engine
from turncheck.engines.embedded.engines import EmbeddedEngine
from turncheck.engines.embedded.kore.trainer import KoreNluEngine, KoreNluTrainer
from turncheck.engines.embedded.kore.unknown import unknown_entities, unknown_intents
from turncheck.messages.errors import UserError
from turncheck.project.model import KORE
from turncheck.project.story_sentences import with_story_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.base import Part
    from turncheck.process.screen import Console
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import ConfiguredComponent
    from turncheck.report.trust import ConfidenceMap, Trust


@dataclass(eq=False)
class EmbeddedKoreEngine(EmbeddedEngine):
    """The embedded engine of an export: it is trained on its utterances each time, and has neither models nor a
    pipeline of its own."""

    @cached_property
    def capabilities(self) -> Capabilities:
        """It has no dialogues, and knows what the export only names."""
        bot = self.project.kore
        return Capabilities(
            no_dialogue=KORE.no_dialogues,
            no_conversation=KORE.no_dialogues,
            no_mutants=KORE.no_dialogues,
            stands_in=True,
            knows_traits=True,
            unknown_intents={} if bot is None else unknown_intents(bot),
            unknown_entities={} if bot is None else unknown_entities(bot),
            bot="" if bot is None or bot.is_universal else bot.name,
        )

    def needs(self, evaluation: Evaluation, *, in_folds: bool = False) -> frozenset[str]:  # noqa: ARG002 - as its base
        """It is trained on the export alone."""
        return frozenset({"nlu"})

    def make_ready(self, parts: Sequence[Part], screen: Console, ensure: Callable[[], None]) -> None:  # noqa: ARG002
        """Train it now.

        Raises:
            UserError: a model is named; or as ``ensure``.
        """
        if self.models is not None and self.models.named is not None:
            raise UserError("--model names a model of a Rasa project", remedy="Omit it.")
        ensure()
        with screen.step("train", "Training"):
            _ = self.nlu

    @cached_property
    def nlu_trainer(self) -> KoreNluTrainer:
        """What trains the engines of folds."""
        from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # imports NumPy

        return KoreNluTrainer(seed=self.seed, vectors=chosen_vectors(self.vectors, self.project.nlu))

    @cached_property
    def nlu(self) -> KoreNluEngine | None:
        """Language understanding, trained on the whole export; ``None`` if it has no utterances."""
        return self.nlu_trainer.fit(with_story_sentences(self.project)) if self.project.nlu.examples else None

    def tokenizer(self) -> Callable[[Sequence[str]], Sequence[tuple[tuple[int, int], ...]]] | None:
        """Return what its understanding finds: there is no tokenizer to be configured."""
        return Engine.tokenizer(self)

    @cached_property
    def _calibration(self) -> tuple[Trust | None, ConfidenceMap | None]:
        return None, None

    def _configured(self) -> tuple[ConfiguredComponent, ...] | None:
        return None
