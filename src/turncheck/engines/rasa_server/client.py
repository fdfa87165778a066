"""Calls a Rasa server over its REST API; see :mod:`turncheck.engines.remote` for limits, retries and failures.

Endpoints, shapes and answers are those of Rasa 3.6.21 (``rasa run --enable-api``; https://rasa.com/docs/rasa/http-api).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

import requests

from turncheck.engines.rasa_server import answers
from turncheck.engines.remote import TIMEOUT, Question, RemoteClient, Response, ServerError, UnreadableError
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.engines.parse import Parse
    from turncheck.engines.rasa_server.answers import Prediction, Served, TrackerState
    from turncheck.messages.errors import UserError
    from turncheck.web.timed import Deadline

Read = TypeVar("Read")

CONCURRENCY: Final = 4
"""Calls under way at once: one server process answers one after the other anyway."""


class NoModelError(ServerError):
    """The server runs and has no model loaded."""


@dataclass(frozen=True, slots=True)
class Access:
    """The server's address and its credentials: a ``token`` (``?token=``) or a ``jwt`` (``Authorization: Bearer``).

    ``network``: how it is reached.
    """

    url: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    network: Network = field(default=Network(), repr=False)


class RasaClient(RemoteClient):
    """A server's REST API."""

    noun = "Rasa server"

    def __init__(
        self,
        access: Access,
        *,
        at_once: int = CONCURRENCY,
        sleep: Callable[[float], None] = time.sleep,
        ended: Callable[[], UserError | None] | None = None,
    ) -> None:
        secrets = [secret for secret in (access.token, access.jwt) if secret]
        super().__init__(
            access.url, access.network, secrets, at_once=at_once, timeout=access.timeout, sleep=sleep, ended=ended
        )
        self.access = access

    # --- what it is asked ---------------------------------------------------------------------------------------------

    def version(self) -> str:
        """Return the server's version of Rasa."""
        return self.call("GET", "/version", "a version", answers.read_version)

    def served(self) -> Served:
        """Return the model that is loaded."""
        return self.call("GET", "/status", "the name of a model", answers.read_served)

    def parse(self, text: str) -> Parse:
        """Understand a sentence."""
        expected = "an intent and entities"
        return self.call("POST", "/model/parse", expected, lambda body: answers.read_parse(body, text), {"text": text})

    def predict(self, events: Sequence[Mapping[str, Any]]) -> Prediction | None:
        """Predict the next action after these events; ``None`` if the model has no dialogue part."""
        path, expected = "/model/predict", "the scores of actions"
        return self.call("POST", path, expected, answers.read_prediction, list(events), events="NONE")

    def load(self, model: str) -> None:
        """Have the server load another model, a file on its own disk."""
        self.call("PUT", "/model", "an empty answer", answers.read_nothing, {"model_file": model})

    def tracker(self, sender: str, *, until: Deadline | None = None) -> TrackerState:
        """Return a conversation with all its events.

        Raises:
            SlowAnswerError: the deadline has passed.
        """
        path, expected = f"/conversations/{quote(sender, safe='')}/tracker", "a conversation"
        read = partial(answers.read_tracker, sender=sender, events="ALL")
        return self.call("GET", path, expected, read, events="ALL", until=until)

    def append_events(
        self, sender: str, events: Sequence[Mapping[str, Any]], *, until: Deadline | None = None
    ) -> TrackerState:
        """Add events to a conversation, and return it without them. Never repeated: it changes state.

        Raises:
            SlowAnswerError: the deadline has passed.
        """
        path, expected = f"/conversations/{quote(sender, safe='')}/tracker/events", "a conversation"
        read = partial(answers.read_tracker, sender=sender, events="NONE")
        return self.call("POST", path, expected, read, list(events), events="NONE", repeatable=False, until=until)

    def say(
        self, sender: str, text: str, *, metadata: Mapping[str, Any] | None = None, until: Deadline | None = None
    ) -> list[Mapping[str, Any]]:
        """Send a message by the REST channel and return the assistant's answers. Never repeated: it changes state.

        Raises:
            SlowAnswerError: the deadline has passed.
        """
        path, expected = "/webhooks/rest/webhook", "a list of messages"
        message = {"sender": sender, "message": text} | ({"metadata": dict(metadata)} if metadata else {})
        return self.call("POST", path, expected, answers.read_messages, message, repeatable=False, until=until)

    # --- how it is asked ----------------------------------------------------------------------------------------------

    def call(
        self,
        method: str,
        path: str,
        expected: str,
        read: Callable[[bytes], Read],
        json: Any = None,
        *,
        events: str | None = None,
        repeatable: bool = True,
        until: Deadline | None = None,
    ) -> Read:
        """Ask, and again if that is safe and may help; ``expected`` is, in words, what ``read`` expects of the answer.

        Raises:
            ServerError: there is no answer, or an unreadable one.
        """
        access = self.access
        question = Question(
            method,
            path,
            _shown(path),
            None if json is None else dumps(json, allow_nan=False).encode(),
            {} if json is None else {"Content-Type": "application/json"},
            credentials={"Authorization": f"Bearer {access.jwt}"} if access.jwt else {},
            query={
                **({"include_events": events} if events else {}),
                **({"token": access.token} if access.token else {}),
            },
            repeatable=repeatable,
        )
        return self._read(self.ask(question, until), question, expected, read)

    def _read(self, response: Response, question: Question, expected: str, read: Callable[[bytes], Read]) -> Read:
        try:
            return read(response.body)
        except UnreadableError as error:
            begins = self.shown(response.body.decode("utf-8", "replace"))
            what = f"answers {question.shown} with something other than {expected}: {error}"
            page = begins.startswith("<")
            raise ServerError(
                f"the Rasa server at {self.name} {what}. " + (f"It begins: {begins}" if begins else "It is empty."),
                hint="That is a web page: is there a login or a proxy before the server, or is it another address?"
                if page
                else "Is this the address of a Rasa server (open source 3.x, or Pro)?",
            ) from None

    def refused(self, response: Response, question: Question) -> ServerError:
        """Return the error for an answer that is not a success: what Rasa means by it."""
        shown, status = question.shown, response.status
        reason = self._reason(response)
        match status:
            case 401 | 403:
                return ServerError(
                    f"the Rasa server at {self.name} refuses {shown}: {reason}",
                    hint="Give its token with --rasa-token, or an admin's JWT with --rasa-jwt.",
                )
            case _ if status < requests.codes.bad_request:
                return self.redirected(response, question)
            case 404 if question.path.startswith("/webhooks"):
                return ServerError(
                    f"the Rasa server at {self.name} has no {shown}",
                    hint="Enable the REST channel in its credentials.yml (a line `rest:`), and start it again.",
                )
            case 404:
                return ServerError(
                    f"the Rasa server at {self.name} has no {shown}",
                    hint="Start it with `rasa run --enable-api`. Or is this the wrong address?",
                )
            case 409:
                return NoModelError(
                    f"the Rasa server at {self.name} has no model loaded: {reason}",
                    hint="Train one and start the server with it (`rasa run -m models`).",
                )
            case _:
                return super().refused(response, question)


def _shown(path: str) -> str:
    """Return a path as in messages: a conversation's name differs from run to run."""
    return re.sub("(?<=/conversations/)[^/]+", "…", path)
