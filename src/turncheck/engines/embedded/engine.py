"""The embedded engine: language understanding, policies and actions, trained here from the project's own files."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from turncheck.engines.embedded.conversation import Assistant, EmbeddedConversation
from turncheck.engines.parse import InFront, Parse, PredictedIntent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.engines.parse import NluEngine
    from turncheck.report.model import EngineInfo

NO_NLU = "the model was trained without NLU data"
NO_CORE = "the model was trained without stories and rules"


@dataclass(frozen=True, slots=True)
class EmbeddedEngine:
    """What understands and answers. It is thread-safe, and can be sent to worker processes."""

    info: EngineInfo
    assistant: Assistant | None
    nlu: NluEngine | None

    @property
    def has_flows(self) -> bool:
        """It does not run any."""
        return False

    @property
    def domain(self) -> DialogueDomain:
        """The domain that conversations are held in."""
        if self.assistant is None:
            raise ValueError(NO_CORE)
        return self.assistant.domain

    def for_threads(self) -> EmbeddedEngine:
        """Return the same engine for conversations in several threads: sentences are understood one at a time."""
        if self.assistant is None or self.nlu is None:
            return self
        nlu = _OneAtATime(self.nlu)
        return replace(self, nlu=nlu, assistant=replace(self.assistant, nlu=nlu))

    def hearing(self, understood: Mapping[str, Parse]) -> EmbeddedEngine:
        """Return the same engine, but with these texts understood as specified, whatever its NLU would say."""
        if self.assistant is None:
            return self
        nlu = _AsGiven(self.nlu, understood)
        return replace(self, nlu=nlu, assistant=replace(self.assistant, nlu=nlu))

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text."""
        if self.nlu is None:
            raise ValueError(NO_NLU)
        return self.nlu.parse(texts)

    def conversation(
        self,
        *,
        channel: str = "cmdline",
        input_channel: str | None = None,
        fixtures: Mapping[str, Any] | None = None,
        sender_id: str = "default",
        history: Iterable[Event] = (),
        stubs: Mapping[str, Mapping[str, Any]] | None = None,
        turn_timeout: float | None = None,
        attempt: int = 0,
    ) -> EmbeddedConversation:
        """Begin a conversation; see :class:`EmbeddedConversation`."""
        if self.assistant is None:
            raise ValueError(NO_CORE)
        return EmbeddedConversation(
            self.assistant,
            channel=channel,
            input_channel=input_channel,
            fixtures=fixtures,
            sender_id=sender_id,
            history=history,
            stubs=stubs,
            turn_timeout=turn_timeout,
            attempt=attempt,
        )


@dataclass(frozen=True)
class _OneAtATime(InFront):
    """An NLU engine behind a lock: not all taggers are thread-safe."""

    lock: threading.Lock = field(default_factory=threading.Lock)

    def __reduce__(self) -> tuple[type[_OneAtATime], tuple[NluEngine]]:
        """A lock belongs to its process."""
        return _OneAtATime, (self.engine,)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text."""
        with self.lock:
            return self.engine.parse(texts)


class _AsGiven:
    """An NLU engine that is told how to understand some texts."""

    def __init__(self, nlu: NluEngine | None, understood: Mapping[str, Parse]) -> None:
        self._nlu = nlu
        self._understood = understood

    @property
    def info(self) -> EngineInfo:
        """Name, version, substitutions of the wrapped engine."""
        return self._behind.info

    @property
    def extractors(self) -> tuple[str, ...]:
        """The entity extractors of the wrapped engine."""
        return self._behind.extractors

    @property
    def _behind(self) -> NluEngine:
        if self._nlu is None:
            raise ValueError(NO_NLU)
        return self._nlu

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text, as specified if it is."""
        return [self._understood.get(text) or self._other(text) for text in texts]

    def _other(self, text: str) -> Parse:
        if self._nlu is None:
            return Parse(text, PredictedIntent(None, 0.0))
        return self._nlu.parse([text])[0]
