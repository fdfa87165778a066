"""Several Rasa servers with one model, asked as if they were one."""

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
    """Servers that each call goes to the least busy of; a conversation stays with the one that it began with.

    A server that dies loses nothing: what it was asked is asked of another, and conversations that it was in are cut,
    so that their cases are started again. ``alarm`` is called with the reason.
    """

    def __init__(self, clients: Sequence[RasaClient]) -> None:
        super().__init__(clients[0].access, at_once=sum(client.at_once for client in clients))
        self.name = ", ".join(client.name for client in clients)
        self.alarm: Callable[[str], None] = lambda _: None
        self._clients = list(clients)
        self._busy = dict.fromkeys(range(len(clients)), 0)
        """Calls under way, by the number of each server that is there."""
        self._place_of: dict[str, int] = {}
        """The number of the server that a conversation is held with."""
        self._lock = threading.Lock()

    def version(self) -> str:
        """Return the version of Rasa that all of them have.

        Raises:
            EngineError: they have several.
        """
        return self._of_all("Rasa", [(client, client.version()) for _, client in self._there()])

    def served(self) -> Served:
        """Return the model that all of them have loaded; a server that has gone meanwhile does not count.

        Raises:
            EngineError: they have several.
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
        """Have all of them load another model; one that has gone meanwhile does not count.

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
        """Ask one of the servers, and another where it has gone.

        Raises:
            ServerError: there is no answer, or one that cannot be read.
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
        """Ask a server no more; the last one is kept, so that it is said what became of it."""
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
    """Return whose conversation a call is about, ``None`` where it is about none."""
    if path.startswith(_CONVERSATIONS):
        return unquote(path.removeprefix(_CONVERSATIONS).partition("/")[0])
    return json.get("sender") if path.startswith("/webhooks/") else None
