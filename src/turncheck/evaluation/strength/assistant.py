"""The assistant of a mutant: what the fault does not touch is the original's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.embedded.conversation import Assistant
from turncheck.engines.embedded.engine import EmbeddedEngine
from turncheck.engines.embedded.policies.trainer import train_ensemble
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.engines.base import NluEngine
    from turncheck.engines.conversation import ActionServer
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
    from turncheck.engines.embedded.policies.ensemble import Ensemble
    from turncheck.engines.parse import Parse
    from turncheck.evaluation.strength.mutant import Mutant
    from turncheck.project.model import Project


@dataclass(frozen=True, slots=True)
class Understanding:
    """An NLU engine that remembers what it has understood: tests say the same sentences over and over."""

    engine: NluEngine
    known: dict[str, Parse] = field(default_factory=dict)

    @property
    def info(self) -> EngineInfo:
        """Of the engine behind it."""
        return self.engine.info

    @property
    def extractors(self) -> tuple[str, ...]:
        """Of the engine behind it."""
        return tuple(self.engine.extractors)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text, those that are new in one go."""
        if new := [text for text in dict.fromkeys(texts) if text not in self.known]:
            self.known.update(zip(new, self.engine.parse(new), strict=True))
        return [self.known[text] for text in texts]


@dataclass(frozen=True, slots=True)
class Trained:
    """A project with what was trained on it. ``ensemble`` is ``None`` where it has neither stories nor rules."""

    project: Project
    nlu: Understanding | None
    ensemble: Ensemble | None
    seed: int

    def engine(self, server: ActionServer) -> EmbeddedEngine | None:
        """Return the assistant to talk to, where there are policies."""
        if self.ensemble is None:
            return None
        info = EngineInfo(name="embedded", version="")
        assistant = Assistant(self.ensemble.domain, self.ensemble, self.nlu, server, self.seed)
        return EmbeddedEngine(info, assistant, self.nlu)


@dataclass(frozen=True, slots=True)
class Workshop:
    """Trains the original once, and of each mutant only what its fault is about."""

    trainer: EmbeddedNluTrainer
    seed: int

    def original(self, project: Project) -> Trained:
        """Train the whole project.

        Raises:
            UserError: it cannot be trained.
        """
        nlu = Understanding(self.trainer.fit(with_story_sentences(project))) if project.nlu.examples else None
        ensemble = train_ensemble(project) if project.stories or project.rules else None
        return Trained(project, nlu, ensemble, self.seed)

    def mutated(self, original: Trained, mutant: Mutant) -> Trained:
        """Train what the mutant's operator names; all else is the original's.

        Raises:
            UserError: the mutant cannot be trained.
        """
        project, operator = mutant.project, mutant.operator
        nlu, ensemble = original.nlu, original.ensemble
        if operator.trains == "nlu" and nlu is not None:
            nlu = self._understanding(nlu, mutant)
        if operator.trains == "policies" and ensemble is not None:
            ensemble = train_ensemble(project) if project.stories or project.rules else None
        elif ensemble is not None:
            ensemble = replace(ensemble, domain=DialogueDomain.of(project))
        return Trained(project, nlu, ensemble, self.seed)

    def _understanding(self, nlu: Understanding, mutant: Mutant) -> Understanding | None:
        project = with_story_sentences(mutant.project)
        if not project.nlu.examples:
            return None
        steps = mutant.operator.steps
        if steps is None:
            return Understanding(self.trainer.fit(project))
        engine: EmbeddedNluEngine = nlu.engine  # type: ignore[assignment]  # the trainer's own
        return Understanding(self.trainer.refit(engine, project, steps))
