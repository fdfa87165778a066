"""What an engine is: it understands sentences and holds conversations. Embedded, a Rasa server, Kore.ai."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.decision import Decision
    from turncheck.project.model import Project
    from turncheck.report.model import EngineInfo, Evaluation, Skipped


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


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do, each with the reason where it cannot (``None``: it can)."""

    no_training: str | None = None
    no_nlu: str | None = None
    no_conversation: str | None = None


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
    custom actions and was passed over, as Rasa does: a response that could not be filled, an unknown follow-up action.
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


if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.engines.base import ConversationEngine, NluEngine, NluTrainer, Policies
    from turncheck.project.model import Project
    from turncheck.report.model import Evaluation


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


if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.engines.base import ActionOutcome


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
