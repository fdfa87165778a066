"""Trains a project once, and for each variant only what differs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.action_server.server import NoActionServer
from turncheck.engines.base import why_no_dialogue
from turncheck.engines.conversation import ActionServer, InFront, NluEngine, Parse
from turncheck.engines.embedded.conversation import Assistant, EmbeddedConversation, EmbeddedConversations
from turncheck.engines.embedded.policies.rules import MemoizationPolicy
from turncheck.engines.embedded.policies.trainer import Ensemble, train_ensemble
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from turncheck.dialogue.events import Event
    from turncheck.engines.base import Trains
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
    from turncheck.project.model import Project

_NO_STUBS: Final[dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Understanding(InFront):
    """An NLU engine that caches its results: tests repeat the same sentences over and over."""

    known: dict[str, Parse] = field(default_factory=dict)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text, new ones in one batch."""
        if new := [text for text in dict.fromkeys(texts) if text not in self.known]:
            self.known.update(zip(new, self.engine.parse(new), strict=True))
        return [self.known[text] for text in texts]


class EmbeddedWorkshop(Struct, frozen=True):
    """Trains with this trainer and seed; see :class:`turncheck.engines.base.VariantTrainer`."""

    trainer: EmbeddedNluTrainer
    seed: int

    def trained(self, project: Project) -> TrainedProject:
        """Train a whole project.

        Raises:
            UserError: it cannot be trained.
        """
        nlu = Understanding(self.trainer.fit(with_story_sentences(project))) if project.nlu.examples else None
        return TrainedProject(project, nlu, _policies(project), self)


class TrainedProject(Struct, frozen=True):
    """A project with what was trained on it; see :class:`turncheck.engines.base.Trained`."""

    project: Project
    nlu: Understanding | None
    ensemble: Ensemble | None
    workshop: EmbeddedWorkshop

    @property
    def size(self) -> int:
        """How much work it is to train the policies: steps of stories and rules, and the situations memorised."""
        steps = sum(len(story.steps) for story in (*self.project.stories, *self.project.rules))
        policies = self.ensemble.policies if self.ensemble is not None else ()
        return max([steps, *(len(policy.lookup) for policy in policies if isinstance(policy, MemoizationPolicy))])

    def engine(self, server: ActionServer) -> EmbeddedConversations | None:
        """Return the assistant to talk to, if there are policies."""
        if self.ensemble is None:
            return None
        assistant = Assistant(self.ensemble.domain, self.ensemble, self.nlu, server, self.workshop.seed)
        return EmbeddedConversations(EngineInfo(name="embedded", version=""), assistant, self.nlu)

    def conversation(self, understood: NluEngine, history: Sequence[Event]) -> EmbeddedConversation | None:
        """Return a conversation that continues after the history, without custom actions."""
        if self.ensemble is None:
            return None
        server = NoActionServer()
        assistant = Assistant(self.ensemble.domain, self.ensemble, understood, server, self.workshop.seed)
        return EmbeddedConversation(assistant, history=history, stubs=_NO_STUBS)

    def variant(self, project: Project, trains: Trains, steps: Collection[str] | None = None) -> TrainedProject:
        """Train what must be trained again; everything else is the original's.

        Raises:
            UserError: it cannot be trained.
        """
        nlu, ensemble = self.nlu, self.ensemble
        if trains == "nlu" and nlu is not None:
            nlu = self._understanding(nlu, with_story_sentences(project), steps)
        if trains == "policies" and ensemble is not None:
            ensemble = _policies(project)
        elif ensemble is not None:
            ensemble = replace(ensemble, domain=DialogueDomain.of(project))
        return TrainedProject(project, nlu, ensemble, self.workshop)

    def _understanding(
        self, nlu: Understanding, project: Project, steps: Collection[str] | None
    ) -> Understanding | None:
        if not project.nlu.examples:
            return None
        trainer = self.workshop.trainer
        if steps is None:
            return Understanding(trainer.fit(project))
        engine: EmbeddedNluEngine = nlu.engine  # type: ignore[assignment]  # the trainer's own
        return Understanding(trainer.refit(engine, project, steps))


def _policies(project: Project) -> Ensemble | None:
    return train_ensemble(project) if why_no_dialogue(project) is None else None
