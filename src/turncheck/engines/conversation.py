"""What an understood sentence is, what a conversation with an assistant is, and what is decided in it.

It is the same whichever engine understands or holds it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.tracker import Tracker
    from turncheck.project.model import Domain, Project
    from turncheck.report.measured import MeasuredTurn
    from turncheck.report.model import EngineInfo


class PredictedIntent(Struct, frozen=True):
    """An intent and how sure the engine is of it (0 to 1)."""

    name: str | None
    confidence: float


class PredictedEntity(Struct, frozen=True):
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


class SelectedResponse(Struct, frozen=True):
    """The choice of one response selector: the full intent response key, and its ranking of such keys."""

    selector: str
    intent_response_key: str | None
    confidence: float
    ranking: tuple[PredictedIntent, ...] = ()


class Parse(Struct, frozen=True):
    """One sentence as it was understood. ``intent`` is after the fallback, ``ranking`` as Rasa's ``intent_ranking``."""

    text: str
    intent: PredictedIntent
    ranking: tuple[PredictedIntent, ...] = ()
    entities: tuple[PredictedEntity, ...] = ()
    responses: Mapping[str, SelectedResponse] = field(default_factory=dict)
    tokens: tuple[tuple[int, int], ...] | None = None
    """``(start, end)`` of each token, if the engine returns them: entities are then scored by these."""
    traits: tuple[PredictedIntent, ...] = ()
    """The sentence's traits, if the assistant has any."""
    measured: MeasuredTurn | None = None
    """What it took, if it was a turn of a conversation."""


class NluEngine(Protocol):
    """The part of an engine that understands sentences."""

    @property
    def info(self) -> EngineInfo:
        """Name, version, substitutions."""

    @property
    def extractors(self) -> tuple[str, ...]:
        """The entity extractors of the pipeline that are trained or matched here, in pipeline order."""

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text; the same texts give the same answers in any batch."""


@dataclass(frozen=True, slots=True)
class InFront:
    """A wrapper around an engine that understands sentences; it describes itself as that engine."""

    engine: NluEngine

    @property
    def info(self) -> EngineInfo:
        """That of the wrapped engine."""
        return self.engine.info

    @property
    def extractors(self) -> tuple[str, ...]:
        """Those of the wrapped engine."""
        return self.engine.extractors


class NluTrainer(Protocol):
    """Trains engines: evaluations take this, since folds and learning curves fit many."""

    def fit(self, project: Project) -> NluEngine:
        """Train on the project's NLU data. Deterministic for the same project and seed."""


ActionOutcome = Literal[
    "ran", "stubbed", "assumed", "rejected", "failed", "timed out", "no server", "unreachable", "lost"
]
"""The outcome of a custom action.

``assumed``: a validation without a stub if others have one, so that all values count as valid; ``no server``: none is
configured (or a stub is missing); ``unreachable``: the configured one was never there; ``lost``: it was there, but is
gone.
"""


class CustomAction(Struct, frozen=True):
    """A custom action that a turn needed, its outcome and, if it did not run, the reason."""

    name: str
    outcome: ActionOutcome
    reason: str = ""

    @property
    def missing(self) -> bool:
        """Whether the conversation lacks what the action would have done because nothing was there to run it."""
        return self.outcome in {"no server", "unreachable", "lost"}


class Turn(Struct, frozen=True):
    """The result of one user message.

    ``responses`` are the messages as Rasa's REST channel gives them; ``events`` are only that turn's, shaped as
    Rasa's (without time stamps and ids); ``slots`` and ``active_loop`` are the state after the turn. ``user`` is
    ``None`` for the opening of a conversation. ``stopped`` says why the turn ended without the assistant listening
    again, if it did; ``timed_out`` whether that was for lack of time, ``unsent`` whether the message was not sent, as
    the conversation was over. ``remarks`` are about what went wrong besides custom actions and was skipped, as Rasa
    does: a response that could not be filled, an unknown follow-up action.
    ``unseen_actions`` are custom actions that must have run according to the events, but left no trace themselves.
    ``not_reported``: kinds of steps about which the events say nothing, whatever happened, each with the reason.
    ``measured``: what it took, of an assistant that is asked over the network.
    """

    user: str | None
    responses: tuple[Mapping[str, Any], ...]
    slots: Mapping[str, Any]
    active_loop: str | None
    events: tuple[Mapping[str, Any], ...]
    custom_actions: tuple[CustomAction, ...] = ()
    stopped: str | None = None
    timed_out: bool = False
    unsent: bool = False
    remarks: tuple[str, ...] = ()
    unseen_actions: tuple[str, ...] = ()
    not_reported: Mapping[str, str] = field(default_factory=dict)
    measured: MeasuredTurn | None = None


class Conversation(Protocol):
    """One user talking to the assistant. Conversations do not share anything that changes."""

    def open(self, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Start the session and fill the fixtures' slots; what the assistant says unasked is in the turn."""

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Send a message and return the turn. The first one opens the conversation if :meth:`open` did not."""


class ConversationEngine(Protocol):
    """An engine, as far as it holds conversations."""

    @property
    def info(self) -> EngineInfo:
        """Name, version, substitutions."""

    @property
    def has_flows(self) -> bool:
        """Whether the assistant runs flows, so that their events are in its turns."""

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

        ``stubs`` replace custom actions (by name: ``{"events": […], "responses": […]}``); then no action server is
        called. ``turn_timeout`` in seconds. ``attempt`` counts the repetitions of a test, whose outcomes may differ
        if chance plays a part.
        """


class PresetParseEngine(ConversationEngine, Protocol):
    """An engine that can be told how messages are understood."""

    @property
    def domain(self) -> DialogueDomain:
        """The domain that conversations are held in."""

    def hearing(self, understood: Mapping[str, Parse]) -> ConversationEngine:
        """Return the same engine, but with these texts understood as specified, whatever its NLU would say."""


class ActionServer(Protocol):
    """Whatever runs custom actions."""

    @property
    def selective_domain(self) -> bool:
        """Whether only the actions that ask for the domain get it."""

    def look(self) -> None:
        """Check whether the server is there, before it is called for the first time."""

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Any:
        """Run the action of this call and return the answer's JSON, not yet checked.

        ``timeout`` in seconds, if it must be less than the server's own.

        Raises:
            ActionRejectedError: the action refused.
            CallFailedError: it failed, or the server did.
        """


# A decision of all policies together, and what makes it.


class Decision(Struct, frozen=True):
    """The next action, who decided it and how sure they are; ``events`` come before the action's own.

    ``alternatives``: further actions with their confidences, best first.
    """

    action: str
    policy: str | None = None
    confidence: float = 1.0
    events: Sequence[Event] = ()
    hide_rule_turn: bool = False
    is_end_to_end: bool = False
    metadata: Mapping[str, Any] | None = None
    alternatives: Sequence[tuple[str, float]] = ()


class Policies(Protocol):
    """The part of an engine that decides what to do next."""

    @property
    def domain(self) -> DialogueDomain:
        """The domain that stories are read with."""

    def next(self, tracker: Tracker) -> Decision:
        """Decide on the next action after what has happened; the tracker is left as it is."""


# Messages that name their intent: ``/intent@0.9{"entity": "value"}``, as for Rasa's RegexMessageHandler.

EXTRACTOR: Final = "RegexMessageHandler"

_MESSAGE: Final = re.compile(r"^/(?P<intent>[^{@]+)(?P<confidence>@[0-9.]+)?(?P<entities>\{.+\})?(?P<rest>.*)")

_DEFAULT_INTENTS: Final = frozenset({"restart", "back", "out_of_scope", "session_start", "nlu_fallback"})


def read_direct_message(text: str, domain: Domain, retrieval_intents: Collection[str] = ()) -> Parse | None:
    """Read a message that begins with ``/``; ``None`` if it does not, or the domain has no such intent.

    Against a domain with content the intent must be known (from it, or as a retrieval intent of the NLU data) and
    unknown entities are dropped; unreadable confidences and entities are left out, as Rasa does with a
    warning.
    """
    stripped = text.strip()
    match = _MESSAGE.match(stripped)
    if match is None:
        return None
    name = match["intent"].strip()
    known = name in domain.intents or name in _DEFAULT_INTENTS or name in retrieval_intents
    if not known and not domain.is_empty:
        return None
    intent = PredictedIntent(name, _confidence(match["confidence"]))
    entities = _entities(match["entities"], domain)
    start, end = match.span("entities")
    return Parse(
        text=stripped,
        intent=intent,
        ranking=(intent,),
        entities=tuple(
            PredictedEntity(start, end, entity, value, EXTRACTOR)
            for entity, values in entities.items()
            for value in (values if isinstance(values, list) else [values])
        ),
    )


def _confidence(written: str | None) -> float:
    if written is None:
        return 1.0
    try:
        return min(1.0, float(written[1:]))
    except ValueError:
        return 0.0


def _entities(written: str | None, domain: Domain) -> Mapping[str, Any]:
    if written is None:
        return {}
    try:
        entities = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(entities, dict):
        return {}
    return {name: value for name, value in entities.items() if domain.is_empty or name in domain.entities}
