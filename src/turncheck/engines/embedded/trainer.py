"""Trains the embedded engine from a project's files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck import __version__
from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.action_server.server import NoActionServer
from turncheck.engines.embedded.conversation import Assistant
from turncheck.engines.embedded.engine import EmbeddedEngine
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from turncheck.engines.base import ActionServer, NluEngine
    from turncheck.project.model import Project

NLG_NOTE = "The endpoint 'nlg' is not called: the domain's responses are used."


@dataclass(frozen=True, slots=True)
class EmbeddedTrainer:
    """Trains language understanding, policies, or both. The same files and seed give the same engine."""

    seed: int = 0
    nlu: bool = True
    core: bool = True
    allow_custom_code: bool = False
    vectors: bool = False
    server: ActionServer = NoActionServer()  # noqa: RUF009 - frozen, without state

    def fit(self, project: Project) -> EmbeddedEngine:
        """Train on the project; a part without data is left out.

        Raises what the parts raise where Rasa refuses to train (contradicting rules …).
        """
        nlu = self._fit_nlu(project) if self.nlu and project.nlu.examples else None
        assistant = self._fit_core(project, nlu) if self.core and (project.stories or project.rules) else None
        return EmbeddedEngine(engine_info(project, nlu, assistant), assistant, nlu)

    def _fit_nlu(self, project: Project) -> NluEngine:
        from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # as below
        from turncheck.engines.embedded.nlu.trainer import (  # scikit-learn, where something is learnt
            EmbeddedNluTrainer,
        )

        vectors = chosen_vectors(self.vectors)
        trainer = EmbeddedNluTrainer(seed=self.seed, allow_custom_code=self.allow_custom_code, vectors=vectors)
        return trainer.fit(with_story_sentences(project))

    def _fit_core(self, project: Project, nlu: NluEngine | None) -> Assistant:
        from turncheck.engines.embedded.policies.trainer import train_ensemble

        domain = DialogueDomain.of(project)
        ensemble = train_ensemble(project, domain=domain)
        return Assistant(domain, ensemble, nlu, self.server, self.seed)


def engine_info(
    project: Project, nlu: NluEngine | None, assistant: Assistant | None, model: str | None = None
) -> EngineInfo:
    """Return name and version, what stands in for what in the two parts, and the model's name where there is one."""
    substitutions = (
        *(nlu.info.substitutions if nlu is not None else ()),
        *(assistant.decider.substitutions if assistant is not None else ()),
    )
    notes = (*(nlu.info.notes if nlu is not None else ()), *((NLG_NOTE,) if "nlg" in project.endpoints else ()))
    return EngineInfo(name="embedded", version=__version__, substitutions=substitutions, notes=notes, model=model)
