"""A Rasa server as an engine: it understands, decides and answers; this only asks and reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.events import UserUttered
from turncheck.engines.at_once import ask_all
from turncheck.engines.decision import Decision
from turncheck.engines.rasa_server.client import ServerError
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.parse import Parse
    from turncheck.engines.rasa_server.client import RasaClient

NAME: Final = "rasa"
ALTERNATIVES: Final = 3


def describe(client: RasaClient) -> EngineInfo:
    """Ask the server for its version and model.

    Raises:
        ServerError: it cannot be reached, refuses, or has no model.
    """
    version, served = client.version(), client.served()
    if not served.model_file:
        raise ServerError(
            f"the Rasa server at {client.name} has no model loaded",
            remedy="Train one and start the server with it (`rasa run -m models`).",
        )
    return EngineInfo(name=NAME, version=version, model=served.model_file)


@dataclass(frozen=True, slots=True)
class RasaNlu:
    """Language understanding by ``/model/parse``. ``extractors`` are those of the project's pipeline."""

    client: RasaClient
    info: EngineInfo
    extractors: tuple[str, ...] = ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text; several at a time, with the answers in the texts' order.

        Raises:
            CutShortError: the server failed; ``finished`` holds the answers so far.
        """
        return ask_all(self.client.parse, texts, self.client.at_once)


def sendable(event: Event) -> dict[str, Any]:
    """Return an event as the server's check of its input accepts it.

    It refuses an intent whose name is ``null`` and an entity without a value, although Rasa's own stories have both
    (``user:`` without ``intent:``, ``city: null``). An intent without a name and a value of ``null`` mean the same.
    """
    shape = event.to_json()
    if isinstance(event, UserUttered):
        parsed = shape["parse_data"]
        parsed["intent"] = {key: value for key, value in parsed["intent"].items() if key != "name" or value is not None}
        parsed["entities"] = [{"value": None, **entity} for entity in parsed["entities"]]
    return shape


@dataclass(frozen=True, slots=True)
class RasaPolicies:
    """The next action by ``/model/predict``, from the events so far; in place of an ensemble of policies."""

    client: RasaClient
    domain: DialogueDomain

    def next(self, tracker: Tracker) -> Decision:
        """Ask the server; it does not keep anything between two calls.

        Raises:
            ServerError: it cannot predict.
        """
        answer = self.client.predict([sendable(event) for event in tracker.events])
        if answer is None:
            raise ServerError(
                "the Rasa server predicts nothing: its model has no policies",
                remedy="Train it with stories or rules, or leave the evaluation 'core' out.",
            )
        ranked = sorted(((entry.action, entry.score or 0.0) for entry in answer.scores), key=lambda pair: -pair[1])
        action, score = ranked[0]  # of equal ones the first in the domain, as in Rasa
        return Decision(
            action=action,
            policy=answer.policy or None,
            confidence=score if answer.confidence is None else answer.confidence,
            alternatives=tuple((name, value) for name, value in ranked[1:] if value > 0)[:ALTERNATIVES],
        )
