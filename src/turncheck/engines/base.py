"""What an engine is: it understands sentences and holds conversations. Embedded, a Rasa server, Kore.ai."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.decision import Decision
    from turncheck.process.cache import Cache
    from turncheck.process.screen import Screen
    from turncheck.project.batch.model import Suite
    from turncheck.project.model import Project
    from turncheck.report.batch import BatchResult
    from turncheck.report.model import EngineInfo, Evaluation
    from turncheck.report.trust import ConfidenceMap, Trust


INTERRUPTED: Final = "interrupted"
"""Why something was not finished, where a person or a cancelled job ended it."""


class EngineError(UserError):
    """The engine can answer no more (a server that is gone or refuses): the rest of a run is not run."""


class PassingError(EngineError):
    """What went wrong may be over the next moment: a conversation that is begun anew may succeed."""


class CutShortError(EngineError):
    """An engine could answer no more in the middle of something, or somebody interrupted it.

    ``finished``: what was done before, in the shape of the result that would have been returned, or ``None``. Of
    several answers those that are missing are ``None``. ``interrupted``: a person or a cancelled job ended it.
    """

    def __init__(self, cause: UserError | KeyboardInterrupt, finished: Any = None) -> None:
        if isinstance(cause, KeyboardInterrupt):
            super().__init__(INTERRUPTED)
        else:
            super().__init__(cause.what, location=cause.location, remedy=cause.remedy)
        self.interrupted = isinstance(cause, KeyboardInterrupt) or getattr(cause, "interrupted", False)
        self.finished = finished


@dataclass(frozen=True, slots=True)
class PredictedIntent:
    """An intent and how sure the engine is of it (0 to 1)."""

    name: str | None
    confidence: float


@dataclass(frozen=True, slots=True)
class PredictedEntity:
    """An entity that ``extractor`` found; offsets are code points."""

    start: int
    end: int
    entity: str
    value: Any
    extractor: str
    role: str | None = None
    group: str | None = None
    confidence: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of Rasa's entity dictionary (``processors``, Duckling's ``additional_info`` …)."""


@dataclass(frozen=True, slots=True)
class SelectedResponse:
    """What one response selector chose: the full intent response key, and its ranking of such keys."""

    selector: str
    intent_response_key: str | None
    confidence: float
    ranking: tuple[PredictedIntent, ...] = ()


@dataclass(frozen=True, slots=True)
class Parse:
    """One sentence as it was understood. ``intent`` is after the fallback, ``ranking`` as Rasa's ``intent_ranking``."""

    text: str
    intent: PredictedIntent
    ranking: tuple[PredictedIntent, ...] = ()
    entities: tuple[PredictedEntity, ...] = ()
    responses: Mapping[str, SelectedResponse] = field(default_factory=dict)
    tokens: tuple[tuple[int, int], ...] | None = None
    """``(start, end)`` of each token, where the engine says so: entities are then scored by these."""
    traits: tuple[PredictedIntent, ...] = ()
    """What the sentence has beside its intent, where an assistant knows such traits."""


NO_MUTANTS: Final = "mutants are trained by the embedded engine alone"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do with a project: reasons are those why it cannot (``None``: it can).

    ``no_nlu``, ``no_dialogue`` and ``no_conversation`` are about sentences, test stories and end-to-end cases;
    ``no_training`` about training the engines of folds. ``slow_training``: a training takes minutes, and there is one
    at a time. ``trained_by_config``: what it refuses to train is a fault of ``config.yml``, where it says no place.
    ``no_channel``: why conversations are held on no other channel than the engine's own. ``hears_as_given``: it holds
    conversations whose messages are understood as they are given. ``stands_in``: it is not the assistant's own, and
    does not reproduce how a platform ranks. ``answers_suites``: it is asked by :meth:`Engines.answer_suite`,
    ``no_batch`` being why it cannot; any other sentence by sentence. ``unknown_intents``, ``unknown_entities``: why
    these cannot be recognised here, by their names (of intents as they are compared): they are not evaluated, and
    never wrong. ``knows_traits``: it says which traits a sentence has. ``uploads_suites``: the platform's limits on
    suites hold.
    """

    no_nlu: str | None = None
    no_dialogue: str | None = None
    no_conversation: str | None = None
    no_training: str | None = None
    no_channel: str | None = None
    slow_training: bool = False
    trained_by_config: bool = False
    hears_as_given: bool = False
    stands_in: bool = False
    answers_suites: bool = False
    no_batch: str | None = None
    unknown_intents: Mapping[str, str] = field(default_factory=dict)
    unknown_entities: Mapping[str, str] = field(default_factory=dict)
    knows_traits: bool = False
    uploads_suites: bool = False
    no_mutants: str | None = NO_MUTANTS
    """Why it cannot try the tests on mutants of the project."""

    def why_not(self, evaluation: Evaluation) -> str | None:
        """Return why it cannot do an evaluation at all."""
        reasons: dict[Evaluation, str | None] = {
            "nlu": self.no_nlu,
            "core": self.no_dialogue,
            "e2e": self.no_conversation,
            "batch": self.no_batch if self.answers_suites else self.no_nlu,
            "strength": self.no_mutants,
            "robustness": self.no_nlu,
        }
        return reasons.get(evaluation)


Part = Literal["nlu", "core"]
"""The two parts of an assistant: language understanding, and policies."""

NLU_PARTS: Final = frozenset({"nlu", "config", "pipeline"})
"""What of a project language understanding is trained on; where stories are trained, too, their sentences are added."""
DIALOGUE_PARTS: Final = frozenset({"domain", "nlu", "responses", "stories", "config"})
"""What policies are trained on: NLU data and responses name intents and actions that stories use."""

DIALOGS_ELSEWHERE: Final = "the dialogs of a Kore.ai assistant run on the platform alone"
NOTHING_TO_LEARN: Final = "the project has neither stories nor rules to learn from"


@dataclass(frozen=True, slots=True)
class UtteranceAnswer:
    """How one utterance of a batch suite was understood.

    ``matched``: the winning intents, several where the engine found them ambiguous; ``traits``: those found beside
    them. ``entities``: values by name, as the engine gives them (several of one name: a list). ``order``: in which the
    entities were extracted, ``None`` where the engine does not say. ``scores``: of intents, by their names. ``tags``:
    what the platform calls a failure. ``error``: why there is no answer. ``unknown_entities``: why these cannot be
    found here, by name: they are not evaluated. ``result`` and ``fits``: where the engine has judged the case itself,
    its class, and of each expected entity whether its value is as expected; ``remark``: what it says of it.
    """

    matched: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    entities: Mapping[str, Any] = field(default_factory=dict)
    order: tuple[str, ...] | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    error: str | None = None
    unknown_entities: Mapping[str, str] = field(default_factory=dict)
    result: BatchResult | None = None
    fits: Mapping[str, bool] = field(default_factory=dict)
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class SuiteAnswers:
    """The answers to a suite, one per case in its order. ``cancelled``: the engine's run was, from outside.

    ``version``: the version of the assistant that answered: ``in-development`` or ``published``.
    """

    answers: tuple[UtteranceAnswer, ...]
    version: str | None = None
    cancelled: bool = False


class NluEngine(Protocol):
    """An engine, as far as it understands sentences."""

    @property
    def info(self) -> EngineInfo:
        """Name, version, substitutions."""

    @property
    def extractors(self) -> tuple[str, ...]:
        """The entity extractors of the pipeline that are trained or matched here, in pipeline order."""

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text; the same texts give the same answers in any batch."""


class NluTrainer(Protocol):
    """Trains engines: evaluations take this, since folds and curves fit many."""

    def fit(self, project: Project) -> NluEngine:
        """Train on the project's NLU data. Deterministic for the same project and seed."""


# --- dialogue --------------------------------------------------------------------------------------------------------


class Policies(Protocol):
    """An engine, as far as it decides what to do next."""

    @property
    def domain(self) -> DialogueDomain:
        """The domain that stories are read by."""

    def next(self, tracker: Tracker) -> Decision:
        """Decide on the next action after what has happened; the tracker is left as it is."""


# --- conversations ---------------------------------------------------------------------------------------------------

ActionOutcome = Literal[
    "ran", "stubbed", "assumed", "rejected", "failed", "timed out", "no server", "unreachable", "lost"
]
"""What became of a custom action.

``assumed``: a validation that has no stub where the others have, so that all values count as valid; ``no server``:
none is configured (or a stub is missing); ``unreachable``: the one configured was never there; ``lost``: it was there,
and is no more.
"""


@dataclass(frozen=True, slots=True)
class CustomAction:
    """A custom action that a turn needed, what became of it and, where it did not run, why."""

    name: str
    outcome: ActionOutcome
    reason: str = ""

    @property
    def missing(self) -> bool:
        """Whether the conversation lacks what the action would have done because nobody was there to run it."""
        return self.outcome in {"no server", "unreachable", "lost"}


@dataclass(frozen=True, slots=True)
class Turn:
    """What one user message led to.

    ``responses`` are the messages as Rasa's REST channel gives them; ``events`` are that turn's alone, shaped as
    Rasa's (without time stamps and ids); ``slots`` and ``active_loop`` are the state after the turn. ``user`` is
    ``None`` for the opening of a conversation. ``stopped`` says why the turn ended without the assistant listening
    again, where it did; ``timed_out`` whether that was for want of time. ``remarks`` are about what went wrong beside
    custom actions and was skipped, as Rasa does: a response that could not be filled, an unknown follow-up action.
    ``unseen_actions`` are custom actions that must have run by what the events say, where nothing tells of themselves.
    """

    user: str | None
    responses: tuple[Mapping[str, Any], ...]
    slots: Mapping[str, Any]
    active_loop: str | None
    events: tuple[Mapping[str, Any], ...]
    custom_actions: tuple[CustomAction, ...] = ()
    stopped: str | None = None
    timed_out: bool = False
    remarks: tuple[str, ...] = ()
    unseen_actions: tuple[str, ...] = ()


class Conversation(Protocol):
    """One user talking to the assistant. Conversations share nothing that changes."""

    def open(self, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Start the session and fill the fixtures' slots; what the assistant says by itself is in the turn."""

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Send a message and return the turn. The first one opens the conversation where :meth:`open` did not."""


class ConversationEngine(Protocol):
    """An engine, as far as it holds conversations."""

    @property
    def info(self) -> EngineInfo:
        """Name, version, substitutions."""

    @property
    def has_flows(self) -> bool:
        """Whether the assistant runs flows, and their events are in its turns."""

    def conversation(
        self,
        *,
        channel: str = "cmdline",
        fixtures: Mapping[str, Any] | None = None,
        stubs: Mapping[str, Mapping[str, Any]] | None = None,
        turn_timeout: float | None = None,
        attempt: int = 0,
    ) -> Conversation:
        """Begin a conversation on this channel, with these slots filled before the first message.

        ``stubs`` stand for custom actions (by name: ``{"events": […], "responses": […]}``); then no action server is
        called. ``turn_timeout`` in seconds. ``attempt`` counts the repetitions of a test, which may fall out otherwise
        where chance plays a part.
        """


class HearingEngine(ConversationEngine, Protocol):
    """An engine that can be given how messages are understood."""

    @property
    def domain(self) -> DialogueDomain:
        """The domain that conversations are held in."""

    def hearing(self, understood: Mapping[str, Parse]) -> ConversationEngine:
        """Return the same engine, but that these texts are understood so, whatever its NLU would say."""


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
    """An engine of one project, in the parts that evaluations take.

    What an engine lacks its capabilities say; nobody asks for it then, and it need not be written.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What it can do here."""
        return Capabilities()

    @property
    def trust(self) -> Trust | None:
        """What is known of how it agrees with the assistant's own engine, where it stands in for that."""
        return None

    @property
    def team_confidences(self) -> ConfidenceMap | None:
        """How sure the assistant's own engine would be: a fallback's threshold is about that. ``None``: as it is."""
        return None

    @property
    def at_once(self) -> int:
        """How many stories and cases it is asked about at the same time."""
        return 1

    @abstractmethod
    def info(self, *, measured: EngineInfo | None = None, conversations: bool = True) -> EngineInfo:
        """Return name, version, and what stood in for what in the parts that were used.

        Args:
            measured: that of the folds' engines, where language understanding was measured by cross-validation.
            conversations: whether notes on conversations alone are of interest.
        """

    def use_cache(self, cache: Cache) -> None:  # noqa: B027 - most train nothing
        """Take trainings from this cache, and keep them there, where all that they depend on is known."""

    def key_of_folds(self, folds: int) -> str | None:  # noqa: ARG002
        """Return the digest of all that the engines of folds depend on, ``None`` where that cannot be known."""
        return None

    def parts(self) -> Mapping[Part, EngineInfo]:
        """Return what stood in for what in each part that was trained, where :meth:`info` is made of parts."""
        return {}

    def recall(self, parts: Mapping[Part, EngineInfo]) -> None:  # noqa: B027 - most have none
        """Take what :meth:`parts` said where these parts were trained, so that :meth:`info` says it here."""

    @property
    def domain(self) -> DialogueDomain:
        """The domain that stories are read by, known before anything is trained."""
        return self.ensemble.domain

    @property
    def understands(self) -> bool:
        """Whether there is an :attr:`nlu`, without making it ready."""
        return self.nlu is not None

    def needs(self, evaluation: Evaluation, *, in_folds: bool = False) -> AbstractSet[str]:  # noqa: ARG002
        """Return the parts of the project that must be whole for an evaluation (see ``validation.losses.PARTS``).

        ``in_folds``: of language understanding only folds are trained, never the whole project.
        """
        return frozenset()

    def make_ready(self, parts: Sequence[Part], screen: Screen, ensure: Callable[[], None]) -> None:  # noqa: B027 - many have nothing to do
        """Load or train these parts before they are asked; of a model that is named the first must be there.

        Args:
            parts: what will be asked.
            screen: is told what is done.
            ensure: called before anything is trained, raises a ``UserError`` where that cannot be.
        """

    def show_progress(self, screen: Screen) -> None:  # noqa: B027 - most are quick
        """Show on this screen what takes long while it is asked."""

    def before_folds(self, folds: int, *, whole: bool = False) -> str | None:  # noqa: ARG002
        """Return what a person should know before so many folds are trained, or ``None``.

        ``whole``: the model of the whole project will be needed, too.
        """
        return None

    def ensure_same_model(self, finished: object) -> None:  # noqa: B027 - as above
        """Make sure that what was measured until now was measured with one model.

        Raises:
            CutShortError: somebody else's server has another one than in the beginning; with what was ``finished``.
        """

    # --- language understanding ---------------------------------------------------------------------------------------

    @property
    def nlu_trainer(self) -> NluTrainer:
        """What trains the engines of folds."""
        raise NotImplementedError

    @property
    def nlu(self) -> NluEngine | None:
        """Language understanding, trained on the whole project; ``None`` where it has no sentences."""
        return None

    @property
    def trained_sentences(self) -> Collection[str] | None:
        """The sentences that :attr:`nlu` was trained on, where that may have been another state of the project."""
        return None

    def tokenizer(self) -> Callable[[Sequence[str]], Sequence[tuple[tuple[int, int], ...]]] | None:
        """Return what finds the borders of words where nothing is understood, ``None`` where nobody knows them.

        Raises:
            UserError: the project has none that works here.
        """
        nlu = self.nlu
        return None if nlu is None else lambda texts: [parse.tokens or () for parse in nlu.parse(texts)]

    def answer_suite(self, suite: Suite, screen: Screen) -> SuiteAnswers:
        """Answer a batch suite as a whole, where the engine knows such suites.

        An utterance that cannot be answered has its reason.

        Raises:
            CutShortError: the engine can answer no more; ``finished`` holds the answers so far as ``SuiteAnswers``.
        """
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
        """Return the assistant as one that is given how messages are understood."""
        raise NotImplementedError


class ActionServer(Protocol):
    """Whatever runs custom actions."""

    @property
    def selective_domain(self) -> bool:
        """Whether only the actions that ask for the domain get it."""

    def look(self) -> None:
        """See whether the server is there, before it is called for the first time."""

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Any:
        """Run the action of this call and return the answer's JSON, not yet checked.

        ``timeout`` in seconds, where it is to be less than the server's own.

        Raises:
            ActionRejectedError: the action refused.
            CallFailedError: it failed, or the server did.
        """
