"""Which engine measures: made once for a run, each part trained when it is first needed and never twice."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from turncheck import __version__
from turncheck.engines.base import Capabilities
from turncheck.errors import UserError
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import EngineInfo, Skipped
from turncheck.validation.losses import DIALOGUE_PARTS, NLU_PARTS, PARTS, losses, reason_of_loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from turncheck.engines.base import ConversationEngine, NluEngine, NluTrainer, Policies
    from turncheck.engines.embedded.actions.server import ActionServer
    from turncheck.engines.embedded.engine import EmbeddedEngine
    from turncheck.engines.embedded.policies.ensemble import Ensemble
    from turncheck.finding import Finding
    from turncheck.project.model import Project
    from turncheck.rasa_engines import RasaEngines
    from turncheck.report.model import Evaluation
    from turncheck.settings import Settings


class Engines(Protocol):
    """An engine of one project, in the parts that evaluations take."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do here."""

    @property
    def at_once(self) -> int:
        """How many stories and cases it is asked about at the same time."""

    @property
    def nlu_trainer(self) -> NluTrainer:
        """What trains the engines of folds; only where the capabilities say so."""

    @property
    def nlu(self) -> NluEngine | None:
        """Language understanding, trained on the whole project; ``None`` where it has no sentences."""

    @property
    def ensemble(self) -> Policies:
        """What decides on the next action."""

    def assistant(self, server: ActionServer) -> ConversationEngine:
        """Return the whole assistant, for conversations in several threads.

        An engine that runs custom actions itself has them run by ``server``.
        """

    def info(self, *, measured: EngineInfo | None = None) -> EngineInfo:
        """Return name, version, and what stood in for what in the parts that were used.

        Args:
            measured: that of the folds' engines, where language understanding was measured by cross-validation.
        """

    def why_not(self, evaluation: Evaluation, *, in_folds: bool = False) -> Skipped | None:
        """Return why this engine cannot do an evaluation of this project, or ``None``.

        ``in_folds``: of language understanding only folds are trained, never the whole project.
        """

    def ensure_same_model(self, finished: object) -> None:
        """Make sure that what was measured until now was measured with one model.

        Raises:
            CutShortError: somebody else's server has another one than in the beginning; with what was ``finished``.
        """

    def before_folds(self, folds: int, *, whole: bool = False) -> str | None:
        """Return what a person should know before so many folds are trained, or ``None``.

        ``whole``: the model of the whole project will be needed, too.
        """


NOTHING_TO_LEARN: Final = "the project has neither stories nor rules to learn from"


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
        needed = NLU_PARTS if evaluation == "nlu" else DIALOGUE_PARTS
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
        from turncheck.engines.embedded.nlu.duckling import DucklingAccess  # noqa: PLC0415 - see the class
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


@contextmanager
def chosen_engines(
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    hosts: tuple[str, ...] | None,
) -> Iterator[Engines]:
    """Yield the engine that the settings name; what is started for it is stopped at the end.

    Args:
        settings: those about the engine must fit together.
        project: what it is trained on.
        environment: what a child process may get of it (see :mod:`turncheck.environment`).
        hosts: what the project's files may name beside loopback; ``None``: any.

    Raises:
        UserError: settings that belong to another engine, or too few or too many of them; sentence vectors that are
            switched on and not installed.
    """
    if settings.engine == "embedded":
        refuse_settings_of_rasa(settings)
        if settings.vectors:
            from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors  # noqa: PLC0415 - imports NumPy

            SentenceVectors.installed()  # what is missing is said before anything is measured
        yield EmbeddedEngines(project, settings.seed, hosts, settings.allow_custom_code, settings.vectors)
        return
    from turncheck.rasa_engines import running_rasa  # noqa: PLC0415 - not for the embedded engine

    with running_rasa(settings, project, environment, hosts) as engines:
        yield engines


def skipped_for_loss(evaluation: Evaluation, part: str, finding: Finding) -> Skipped:
    """Say that an evaluation needs a part of the project that cannot be read completely."""
    return Skipped(evaluation=evaluation, reason=reason_of_loss(part, finding), fault=True, location=finding.location)


@contextmanager
def given_rasa(settings: Settings | None, project: Project) -> Iterator[RasaEngines | None]:
    """Yield the engine of a command's flags, ``None`` where they name none.

    Raises:
        UserError: as :func:`chosen_engines`.
    """
    if settings is None:
        yield None
        return
    from turncheck.rasa_engines import running_rasa  # noqa: PLC0415 - not for the embedded engine

    with running_rasa(settings, project, os.environ, None) as engines:
        yield engines


def refuse_settings_of_rasa(settings: Settings) -> None:
    """Refuse, for the embedded engine, what is about a Rasa server.

    Raises:
        UserError: such a setting was given.
    """
    for name in ("rasa_url", "rasa_token", "rasa_jwt", "rasa_command", "model"):
        if getattr(settings, name) is not None:
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} is for the engine 'rasa'", remedy="Add --engine rasa, or leave it out.")


def _unique(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))
