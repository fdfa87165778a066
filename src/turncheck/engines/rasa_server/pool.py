"""Several Rasa servers with one model, used as if they were one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import unquote

from turncheck.engines.rasa_server.client import CutError, RasaClient, ServerError
from turncheck.messages.engine_errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.rasa_server.answers import Served
    from turncheck.engines.rasa_server.client import Read
    from turncheck.web.timed import Deadline

Named = TypeVar("Named", str, str | None)

_CONVERSATIONS: Final = "/conversations/"


class RasaPool(RasaClient):
    """Sends each call to the least busy server; a conversation stays with the one where it began.

    If a server dies, nothing is lost: its calls are repeated with another, and its conversations are cut,
    so that their cases are started again. ``alarm`` is called with the reason.
    """

    def __init__(self, clients: Sequence[RasaClient]) -> None:
        super().__init__(clients[0].access, at_once=sum(client.at_once for client in clients))
        self.name = ", ".join(client.name for client in clients)
        self.alarm: Callable[[str], None] = lambda _: None
        self._clients = list(clients)
        self._busy = dict.fromkeys(range(len(clients)), 0)
        """Calls under way, by the index of each remaining server."""
        self._place_of: dict[str, int] = {}
        """The index of the server that a conversation is with."""
        self._lock = threading.Lock()

    def version(self) -> str:
        """Return the servers' common version of Rasa.

        Raises:
            EngineError: they have different ones.
        """
        return self._of_all("Rasa", [(client, client.version()) for _, client in self._there()])

    def served(self) -> Served:
        """Return the model that all of them have loaded; a server that is gone meanwhile does not count.

        Raises:
            EngineError: they have different ones.
        """
        found = []
        for _, client in self._there():
            try:
                found.append((client, client.served()))
            except CutError:
                if self._is_there(client):
                    raise
        if not found:
            raise CutError(f"none of the Rasa servers answers any more ({self.name})")
        self._of_all("the model", [(client, one.identity) for client, one in found])
        return found[0][1]

    def load(self, model: str) -> None:
        """Have all of them load another model; one that is gone meanwhile does not count.

        Raises:
            CutError: none is left.
        """
        for place, client in self._there():
            try:
                client.load(model)
            except CutError:
                if self._is_there(client) or not self._lose(place):
                    raise

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
        """Ask one of the servers, and another if it is gone.

        Raises:
            ServerError: there is no answer, or an unreadable one.
        """
        sender = _sender(path, json)
        while True:
            place = self._take(sender)
            client = self._clients[place]
            try:
                return client.call(
                    method, path, expected, read, json, events=events, repeatable=repeatable, until=until
                )
            except ServerError as error:
                if not isinstance(error, CutError) or self._is_there(client) or not self._lose(place):
                    raise
                if sender is not None:
                    raise CutError(error.what, remedy=error.remedy) from error
            finally:
                self._give_back(place)

    def _there(self) -> list[tuple[int, RasaClient]]:
        with self._lock:
            return [(place, self._clients[place]) for place in self._busy]

    def _take(self, sender: str | None) -> int:
        with self._lock:
            place = None if sender is None else self._place_of.get(sender)
            if place not in self._busy:
                place = min(self._busy, key=lambda one: (self._busy[one], one))
            if sender is not None:
                self._place_of[sender] = place
            self._busy[place] += 1
            return place

    def _give_back(self, place: int) -> None:
        with self._lock:
            if place in self._busy:
                self._busy[place] -= 1

    def _lose(self, place: int) -> bool:
        """Stop using a server; the last one is kept, so that its fate is reported."""
        with self._lock:
            if len(self._busy) == 1:
                return False
            lost = self._busy.pop(place, None) is not None
        if lost:
            self.alarm(f"The Rasa server at {self._clients[place].name} is gone: the others take over.")
        return True

    def _is_there(self, client: RasaClient) -> bool:
        try:
            RasaClient.version(client)
        except ServerError:
            return False
        return True

    def _of_all(self, what: str, found: Sequence[tuple[RasaClient, Named]]) -> Named:
        if len({one for _, one in found}) > 1:
            words = "; ".join(f"{client.name}: {one}" for client, one in found)
            raise EngineError(
                f"the Rasa servers differ in {what} ({words})",
                remedy="Start all of them with the same model and the same version of Rasa.",
            )
        return found[0][1]


def _sender(path: str, json: Any) -> str | None:
    """Return the conversation that a call is about, ``None`` if it is not about one."""
    if path.startswith(_CONVERSATIONS):
        return unquote(path.removeprefix(_CONVERSATIONS).partition("/")[0])
    return json.get("sender") if path.startswith("/webhooks/") else None
