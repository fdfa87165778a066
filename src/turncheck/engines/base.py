"""What an engine is: it understands sentences, decides on actions and holds conversations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.engines.capabilities import Capabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.engines.capabilities import Part
    from turncheck.engines.conversation import ActionServer, ConversationEngine, HearingEngine
    from turncheck.engines.decision import Policies
    from turncheck.engines.parse import NluEngine, NluTrainer
    from turncheck.engines.suite_answers import SuiteAnswers
    from turncheck.engines.workshop import Workshop
    from turncheck.process.cache import Cache
    from turncheck.process.screen import Screen
    from turncheck.project.batch.model import Suite
    from turncheck.report.model import EngineInfo, Evaluation
    from turncheck.report.trust import ConfidenceMap, Trust


@dataclass(frozen=True, slots=True)
class Models:
    """Where a command may take a trained model from: the one that is ``named``, else the newest of ``folder``.

    ``named``: a model file, or a folder of them. With ``storage`` it is the name of a model kept there; see
    :mod:`turncheck.engines.embedded.remote_models`.
    """

    folder: Path
    named: Path | None = None
    storage: str | None = None


class Engines(ABC):
    """An engine for one project, in the parts that evaluations need.

    Its capabilities say what an engine lacks; that is never asked for, and need not be implemented.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What it can do here."""
        return Capabilities()

    @property
    def trust(self) -> Trust | None:
        """How it agrees with the assistant's own engine, if it stands in for that and the two were compared."""
        return None

    @property
    def team_confidences(self) -> ConfidenceMap | None:
        """How sure the assistant's own engine would be: a fallback's threshold applies to that. ``None``: unchanged."""
        return None

    @property
    def at_once(self) -> int:
        """How many stories and cases it is given at the same time."""
        return 1

    @abstractmethod
    def info(self, *, measured: EngineInfo | None = None, conversations: bool = True) -> EngineInfo:
        """Return name, version, and the substitutions in the parts that were used.

        Args:
            measured: that of the folds' engines, if language understanding was cross-validated.
            conversations: whether to include notes that only concern conversations.
        """

    def use_cache(self, cache: Cache) -> None:  # noqa: B027 - most train nothing
        """Cache trained models here, if everything that they depend on is known."""

    def key_of_folds(self, folds: int) -> str | None:  # noqa: ARG002
        """Return the digest of everything that the engines of folds depend on, ``None`` if that cannot be known."""
        return None

    def parts(self) -> Mapping[Part, EngineInfo]:
        """Return the substitutions in each part that was trained, if :meth:`info` is made of parts."""
        return {}

    def recall(self, parts: Mapping[Part, EngineInfo]) -> None:  # noqa: B027 - most have none
        """Accept what :meth:`parts` returned where these parts were trained, so that :meth:`info` includes it."""

    @property
    def domain(self) -> DialogueDomain:
        """The domain that stories are read with, known before anything is trained."""
        return self.ensemble.domain

    @property
    def understands(self) -> bool:
        """Whether there is an :attr:`nlu`, without preparing it."""
        return self.nlu is not None

    def needs(self, evaluation: Evaluation, *, in_folds: bool = False) -> AbstractSet[str]:  # noqa: ARG002
        """Return the parts of the project that must be complete for an evaluation (see ``validation.losses.PARTS``).

        ``in_folds``: only folds of language understanding are trained, never the whole project.
        """
        return frozenset()

    def make_ready(self, parts: Sequence[Part], screen: Screen, ensure: Callable[[], None]) -> None:  # noqa: B027 - many have nothing to do
        """Load or train these parts before they are used; a named model must have the first of them.

        Args:
            parts: what will be used.
            screen: shows the progress.
            ensure: called before anything is trained, raises a ``UserError`` if it is not possible.
        """

    def show_progress(self, screen: Screen) -> None:  # noqa: B027 - most are quick
        """Show on this screen what takes long."""

    def before_folds(self, folds: int, *, whole: bool = False) -> str | None:  # noqa: ARG002
        """Return what the user should know before this many folds are trained, or ``None``.

        ``whole``: the model of the whole project will be needed, too.
        """
        return None

    def ensure_same_model(self, finished: object) -> None:  # noqa: B027 - as above
        """Make sure that everything so far was measured with the same model.

        Raises:
            CutShortError: somebody else's server has changed its model; with what was ``finished``.
        """

    # --- language understanding ---------------------------------------------------------------------------------------

    @property
    def nlu_trainer(self) -> NluTrainer:
        """What trains the engines of folds."""
        raise NotImplementedError

    @property
    def nlu(self) -> NluEngine | None:
        """Language understanding, trained on the whole project; ``None`` if it has no sentences."""
        return None

    @property
    def trained_sentences(self) -> Collection[str] | None:
        """The sentences that :attr:`nlu` was trained on, if that may have been another state of the project."""
        return None

    def tokenizer(self) -> Callable[[Sequence[str]], Sequence[tuple[tuple[int, int], ...]]] | None:
        """Return what finds word boundaries without understanding anything, ``None`` if they are not known.

        Raises:
            UserError: the project has none that works here.
        """
        nlu = self.nlu
        return None if nlu is None else lambda texts: [parse.tokens or () for parse in nlu.parse(texts)]

    def answer_suite(self, suite: Suite, screen: Screen) -> SuiteAnswers:
        """Answer a batch suite as a whole, if the engine supports such suites.

        For an utterance that cannot be answered, the answer has the reason.

        Raises:
            CutShortError: the engine can no longer answer; ``finished`` holds the answers so far as ``SuiteAnswers``.
        """
        raise NotImplementedError

    def workshop(self, seed: int) -> Workshop:
        """Return what trains the project and variants of it, if :attr:`Capabilities.no_mutants` is ``None``."""
        raise NotImplementedError

    # --- dialogue -----------------------------------------------------------------------------------------------------

    @property
    def ensemble(self) -> Policies:
        """What decides on the next action."""
        raise NotImplementedError

    def assistant(self, server: ActionServer) -> ConversationEngine:
        """Return the whole assistant, for conversations in several threads.

        An engine that runs custom actions itself has them run by ``server``.
        """
        raise NotImplementedError

    def hearing_assistant(self, server: ActionServer) -> HearingEngine:
        """Return the assistant as one that can be told how messages are understood."""
        raise NotImplementedError
