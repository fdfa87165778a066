"""Which engine measures: made once for a run, each part trained when it is first needed and never twice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from turncheck import __version__
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.engines.base import NluEngine, NluTrainer
    from turncheck.engines.embedded.actions.server import ActionServer
    from turncheck.engines.embedded.engine import EmbeddedEngine
    from turncheck.engines.embedded.policies.ensemble import Ensemble
    from turncheck.project.model import Project


@dataclass(eq=False)
class EmbeddedEngines:
    """The embedded engine of one project. scikit-learn is imported when something is really learnt."""

    project: Project
    seed: int

    @cached_property
    def nlu_trainer(self) -> NluTrainer:
        """What trains the engines of folds."""
        from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # noqa: PLC0415 - see the class

        return EmbeddedNluTrainer(seed=self.seed)

    @cached_property
    def nlu(self) -> NluEngine | None:
        """Language understanding, trained on the whole project; ``None`` where it has no sentences."""
        return self.nlu_trainer.fit(self.project) if self.project.nlu.examples else None

    @cached_property
    def ensemble(self) -> Ensemble:
        """The policies."""
        from turncheck.engines.embedded.policies.trainer import train_ensemble  # noqa: PLC0415 - see the class

        return train_ensemble(self.project)

    def assistant(self, server: ActionServer) -> EmbeddedEngine:
        """Return the whole assistant, its custom actions run by ``server``."""
        from turncheck.engines.embedded.conversation import Assistant  # noqa: PLC0415 - see the class
        from turncheck.engines.embedded.engine import EmbeddedEngine  # noqa: PLC0415 - see the class

        assistant = Assistant(self.ensemble.domain, self.ensemble, self.nlu, server, self.seed)
        return EmbeddedEngine(self.info(), assistant, self.nlu)

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
