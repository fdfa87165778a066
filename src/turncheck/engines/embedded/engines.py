"""The embedded engine of one project, each part trained when it is first needed and never twice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from turncheck import __version__
from turncheck.engines.base import Capabilities
from turncheck.engines.not_possible import NOTHING_TO_LEARN, skipped_for_loss
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import EngineInfo, Skipped
from turncheck.validation.losses import DIALOGUE_PARTS, NLU_PARTS, PARTS, losses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.engines.base import ActionServer, NluEngine, NluTrainer
    from turncheck.engines.embedded.engine import EmbeddedEngine
    from turncheck.engines.embedded.policies.ensemble import Ensemble
    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project
    from turncheck.report.model import Evaluation


@dataclass(eq=False)
class EmbeddedEngines:
    """The embedded engine of one project. scikit-learn is imported when something is really learnt.

    ``hosts`` is what ``config.yml`` may name beside loopback (a Duckling server); ``None``: any.
    """

    project: Project
    seed: int
    hosts: tuple[str, ...] | None = None
    allow_custom_code: bool = False
    vectors: bool = False
    capabilities = Capabilities()
    at_once = 1

    def why_not(self, evaluation: Evaluation, *, in_folds: bool = False) -> Skipped | None:
        """It trains on the project's files: those that an evaluation needs must be there and whole."""
        if self.project.calm is not None:
            reason = f"{self.project.calm}: the embedded engine does not run CALM assistants"
            return Skipped(evaluation=evaluation, reason=reason)
        needed = NLU_PARTS if evaluation == "nlu" else DIALOGUE_PARTS | {"pipeline"}
        if not (evaluation == "nlu" and in_folds):
            needed |= {"sentences"}
        if lost := next(((part, self._losses[part]) for part in PARTS if part in needed & self._losses.keys()), None):
            return skipped_for_loss(evaluation, *lost)
        if evaluation == "core" and not self.project.stories and not self.project.rules:
            return Skipped(evaluation=evaluation, reason=NOTHING_TO_LEARN)
        return None

    @cached_property
    def _losses(self) -> Mapping[str, Finding]:
        return losses(self.project)

    def ensure_same_model(self, finished: object) -> None:
        """It has no other: nobody else trains it."""

    def before_folds(self, folds: int, *, whole: bool = False) -> None:
        """Its trainings are short."""

    @cached_property
    def nlu_trainer(self) -> NluTrainer:
        """What trains the engines of folds."""
        from turncheck.engines.embedded.nlu.duckling_access import DucklingAccess  # noqa: PLC0415 - see the class
        from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # noqa: PLC0415 - see the class
        from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # noqa: PLC0415 - see the class

        return EmbeddedNluTrainer(
            seed=self.seed,
            allow_custom_code=self.allow_custom_code,
            duckling=DucklingAccess(allowed_hosts=self.hosts),
            vectors=chosen_vectors(self.vectors, self.project.nlu),
        )

    @cached_property
    def nlu(self) -> NluEngine | None:
        """Language understanding, trained on the whole project; ``None`` where it has no sentences."""
        return self.nlu_trainer.fit(with_story_sentences(self.project)) if self.project.nlu.examples else None

    @cached_property
    def ensemble(self) -> Ensemble:
        """The policies, trained."""
        from turncheck.engines.embedded.policies.trainer import train_ensemble  # noqa: PLC0415 - see the class

        return train_ensemble(self.project)

    def assistant(self, server: ActionServer) -> EmbeddedEngine:
        """Return the whole assistant, its custom actions run by ``server``."""
        from turncheck.engines.embedded.conversation import Assistant  # noqa: PLC0415 - see the class
        from turncheck.engines.embedded.engine import EmbeddedEngine  # noqa: PLC0415 - see the class

        server.look()
        assistant = Assistant(self.ensemble.domain, self.ensemble, self.nlu, server, self.seed)
        return EmbeddedEngine(self.info(), assistant, self.nlu).for_threads()

    def info(self, *, measured: EngineInfo | None = None) -> EngineInfo:
        """Return name, version, and what stood in for what in the parts that were used.

        Args:
            measured: that of the folds' engines, where language understanding was measured by cross-validation.
        """
        from turncheck.engines.embedded.trainer import NLG_NOTE  # noqa: PLC0415 - see the class

        nlu = measured or (self.nlu.info if "nlu" in self.__dict__ and self.nlu else None)
        ensemble = self.ensemble if "ensemble" in self.__dict__ else None
        return EngineInfo(
            name="embedded",
            version=__version__,
            substitutions=(*(nlu.substitutions if nlu else ()), *(ensemble.substitutions if ensemble else ())),
            notes=_unique((*(nlu.notes if nlu else ()), *([NLG_NOTE] if "nlg" in self.project.endpoints else []))),
        )


def _unique(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))
