"""Real Rasa, run by turncheck: trained on the project, served on free loopback ports, stopped again.

A proxy between it and its action server lets tests stub custom actions, as Rasa has one action server for all
conversations. It answers for those whose actions are stubbed, and forwards every other call unchanged: query and
headers, which may contain credentials, are Rasa's own. The answer goes back unchanged, too; the outcome of the action
is recorded as in the embedded engine.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import unquote

import yaml
from msgspec import Struct

from turncheck.dialogue.event_reading import ShapeError
from turncheck.engines.action_server.server import CallFailedError, HttpActionServer, Reply, read_reply
from turncheck.engines.conversation import CustomAction
from turncheck.engines.embedded.actions.base import ActionRejectedError
from turncheck.engines.embedded.actions.custom import read_answer, stubbed, undefined_response
from turncheck.engines.rasa_server.client import Access, NoModelError, RasaClient, Read, Served
from turncheck.engines.remote import CutError, ServerError
from turncheck.messages.errors import EngineError, UserError
from turncheck.process.child_process import Child, running_child, split_command
from turncheck.process.output_files import temporary_folder
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml, write_responses_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from turncheck.engines.measuring import Watch
    from turncheck.project.model import Project
    from turncheck.web.timed import Deadline

# Several Rasa servers with one model, used as if they were one.

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
        self._of_all("the model", [(client, served.identity) for client, served in found])
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
        watch: Watch | None = None,
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
                    method, path, expected, read, json, events=events, repeatable=repeatable, until=until, watch=watch
                )
            except ServerError as error:
                if not isinstance(error, CutError) or self._is_there(client) or not self._lose(place):
                    raise
                if sender is not None:
                    raise CutError(error.message, hint=error.hint) from error
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
                hint="Start all of them with the same model and the same version of Rasa.",
            )
        return found[0][1]


def _sender(path: str, json: Any) -> str | None:
    """Return the conversation that a call is about, ``None`` if it is not about one."""
    if path.startswith(_CONVERSATIONS):
        return unquote(path.removeprefix(_CONVERSATIONS).partition("/")[0])
    return json.get("sender") if path.startswith("/webhooks/") else None


START_SECONDS: Final = 900.0
"""Importing TensorFlow and loading a large model takes long on a small machine."""
_POLL_SECONDS: Final = 0.5
_PROBE_SECONDS: Final = 5.0
_TRAINING: Final = "Rasa's training"
_SERVER: Final = "the Rasa server"


class RasaFiles(Struct, frozen=True):
    """The settings that Rasa is trained and run with. ``endpoints`` is the content of the file it gets."""

    project: Project
    root: Path
    config: Path
    domain: Path
    data: Sequence[Path]
    model: Path | None = None
    endpoints: Mapping[str, Any] | None = None


class RasaProcess:
    """The team's own Rasa: ``command`` is how it is called, ``environment`` all the variables that it gets.

    Models are trained into ``folder``; the server is stopped when ``stack`` is closed. Each of several ``servers`` has
    its own port, and all have the same model.
    """

    def __init__(
        self,
        command: str,
        files: RasaFiles,
        environment: Mapping[str, str],
        *,
        folder: Path,
        stack: ExitStack,
        at_once: int,
        servers: int = 1,
    ) -> None:
        self.training_seconds: float | None = None
        self.alarm: Callable[[str], None] = lambda _: None
        """Called with the reason if one of several servers is gone."""
        self.progress: Callable[[str], None] = lambda _: None
        """Called with what takes minutes, before it begins."""
        self._words = split_command("Rasa", command)
        self.files = files
        # Rasa's cache does not belong in the project, and these trainings are not reported (telemetry).
        self._environment = {
            "RASA_TELEMETRY_ENABLED": "false",
            "RASA_CACHE_DIRECTORY": str(folder / "cache"),
            **environment,
        }
        self._folder = folder
        self._stack = stack
        self._at_once = at_once
        self._servers = servers
        self._main: Path | None = None
        self._loaded: Path | None = None
        self._client: RasaClient | None = None
        self._parts = count(1)

    @property
    def trains(self) -> bool:
        """Whether the model is trained here, rather than provided."""
        return self.files.model is None

    def serve(self) -> RasaClient:
        """Return the server with the model of the whole project, trained and started when it is first needed.

        Raises:
            EngineError: it cannot be trained or started; the log's end says why.
        """
        if self._main is None:
            self._main = self.files.model or self._train_all()
        return self._with_model(self._main)

    def serve_trained_on(self, project: Project) -> RasaClient:
        """Return the server with a model that was trained only on these sentences; the previous one is discarded.

        Raises:
            EngineError: it cannot be trained or started.
        """
        return self._with_model(self._train_nlu(project, f"part-{next(self._parts)}"))

    def _train_nlu(self, project: Project, name: str) -> Path:
        # Responses of retrieval intents may be in the NLU data rather than in the domain.
        responses = [response for key, response in project.domain.responses.items() if "/" in key]
        folder = self._folder / "data"
        folder.mkdir(exist_ok=True)
        (folder / "nlu.yml").write_text(write_nlu_yaml(project.nlu), encoding="utf-8")
        if responses:
            (folder / "responses.yml").write_text(write_responses_yaml(responses), encoding="utf-8")
        return self._train(["train", "nlu", "--nlu", str(folder), *self._settings], name)

    @property
    def _settings(self) -> list[str]:
        """Configuration and domain; language understanding does not need a domain."""
        domain = ["--domain", str(self.files.domain)] if self.files.domain.exists() else []
        return ["--config", str(self.files.config), *domain]

    def _train_all(self) -> Path:
        self.progress("Training a model with your Rasa, which can take minutes (--model FILE would need no training)")
        begin, project = time.monotonic(), self.files.project
        if project.stories or project.rules or project.calm is not None:
            model = self._train(["train", *self._settings, "--data", *map(str, self.files.data)], "model")
        else:  # `rasa train` refuses a project without any dialogue; flows are one
            model = self._train_nlu(project, "model")
        self.training_seconds = time.monotonic() - begin
        return model

    def _train(self, words: Sequence[str], name: str) -> Path:
        model = self._folder / f"{name}.tar.gz"
        model.unlink(missing_ok=True)
        words = [*self._words, *words, "--out", str(self._folder), "--fixed-model-name", name]
        with (
            _as_engine_error(),
            running_child(_TRAINING, words, self.files.root, self._environment) as child,
        ):
            if child.process.wait() or not model.is_file():
                raise child.failure(f"ended with exit code {child.process.returncode} and without a model")
        return model

    def _with_model(self, model: Path) -> RasaClient:
        if self._client is None:
            with _as_engine_error():
                self._client = self._start(model)
        elif self._loaded != model:
            self._client.load(str(model))
        self._loaded = model
        return self._client

    def _start(self, model: Path) -> RasaClient:
        credentials, endpoints = self._folder / "credentials.yml", self._folder / "endpoints.yml"
        # The project's own channels are left out: some would register the assistant with messaging services.
        credentials.write_text("rest:\n", encoding="utf-8")
        endpoints.write_text(yaml.safe_dump(dict(self.files.endpoints or {})), encoding="utf-8")
        words = [*self._words, "run", "--enable-api", "--interface", "127.0.0.1", "--model", str(model)]
        words += ["--credentials", str(credentials), "--endpoints", str(endpoints)]
        started = [(port, self._server(words, port)) for port in _free_ports(self._servers)]
        clients = []
        for port, child in started:  # all are started before the first is waited for
            url = f"http://127.0.0.1:{port}"
            _wait(RasaClient(Access(url, timeout=_PROBE_SECONDS), sleep=lambda _: None), child)
            clients.append(RasaClient(Access(url), at_once=self._at_once, ended=child.ended))
        if len(clients) == 1:
            return clients[0]
        pool = RasaPool(clients)
        pool.alarm = self.alarm
        return pool

    def _server(self, words: Sequence[str], port: int) -> Child:
        command = [*words, "--port", str(port)]
        return self._stack.enter_context(running_child(_SERVER, command, self.files.root, self._environment))


@contextmanager
def rasa_process(
    command: str, files: RasaFiles, environment: Mapping[str, str], *, at_once: int, servers: int = 1
) -> Iterator[RasaProcess]:
    """Yield a Rasa that is trained and started on demand, and always stopped at the end.

    Raises:
        UserError: the command cannot be read.
    """
    with temporary_folder("rasa") as folder, ExitStack() as stack:
        own = Path(folder)
        yield RasaProcess(command, files, environment, folder=own, stack=stack, at_once=at_once, servers=servers)


def _wait(client: RasaClient, child: Child) -> None:
    """Wait until the server answers; it does so only when its model is loaded."""
    end = time.monotonic() + START_SECONDS
    while True:
        if ended := child.ended():
            raise ended
        try:
            model = client.served().model_file
        except NoModelError:
            raise child.failure("has not loaded the model") from None
        except ServerError:
            if time.monotonic() > end:
                raise child.failure(f"does not answer after {START_SECONDS:g} seconds") from None
            time.sleep(_POLL_SECONDS)
        else:
            if not model:
                raise child.failure("has not loaded the model")
            return


@contextmanager
def _as_engine_error() -> Iterator[None]:
    """Nothing can be measured without Rasa: its failures end the measurement."""
    try:
        yield
    except EngineError:
        raise
    except UserError as error:
        raise EngineError(error.message, location=error.location, hint=error.hint) from error


def _free_ports(number: int) -> list[int]:
    """Return distinct free ports."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


_JSON: Final = "application/json"
_OF_THE_CONNECTION: Final = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
"""Headers that are not forwarded."""


class StubServer:
    """Knows which conversation's actions are stubbed, and the outcomes of all actions.

    ``behind`` is the action server, ``responses`` are the domain's, if known. It is thread-safe.
    """

    def __init__(self, behind: HttpActionServer | None = None, responses: Collection[str] | None = None) -> None:
        self.behind = behind
        self.url = ""
        self._responses = responses
        self._stubs: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        self._noted: dict[str, list[CustomAction]] = {}

    def look(self, *, was_there: bool) -> None:
        """Check whether the action server is there, before conversations begin; ``was_there``: it has been reached."""
        if self.behind is not None:
            self.behind.was_there = self.behind.was_there or was_there
            self.behind.look()

    def stub(self, sender: str, stubs: Mapping[str, Mapping[str, Any]]) -> None:
        """Use these stubs for the custom actions of a conversation."""
        self._stubs[sender] = stubs

    def take_notes(self, sender: str) -> tuple[CustomAction, ...]:
        """Return the outcomes of the conversation's actions since the last call."""
        return tuple(self._noted.pop(sender, ()))

    def answer(self, body: bytes, query: str, headers: Mapping[str, str]) -> Reply:
        """Answer a call of Rasa's."""
        call = json.loads(body)
        if not isinstance(call, dict):
            return _failed(400, "the call is not a JSON object")
        sender, name = str(call.get("sender_id")), str(call.get("next_action"))
        try:
            if sender not in self._stubs:
                reply = self._handed_on(name, body, query, headers)
                self._note(sender, _judged(name, reply, self._responses))
                return reply
            given, outcome, reason = stubbed(name, self._stubs[sender])
        except CallFailedError as error:
            self._note(sender, CustomAction(name, error.outcome, str(error)))
            return _failed(503, str(error))
        self._note(sender, CustomAction(name, outcome, reason))
        return Reply(200, _JSON, json.dumps({"events": [], "responses": [], **given}).encode())

    def _note(self, sender: str, action: CustomAction) -> None:
        self._noted.setdefault(sender, []).append(action)

    def _handed_on(self, name: str, body: bytes, query: str, headers: Mapping[str, str]) -> Reply:
        if self.behind is None:
            raise CallFailedError("no server", f"'{name}' was not run: no action server is configured")
        kept = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_CONNECTION}
        return self.behind.send(name, body, query=query, headers=kept)


def _judged(name: str, reply: Reply, responses: Collection[str] | None) -> CustomAction:
    """Return the outcome of an action with this answer."""
    try:
        answer = read_answer(read_reply(name, reply))
    except ActionRejectedError as error:
        return CustomAction(name, "rejected", str(error))
    except CallFailedError as error:
        return CustomAction(name, error.outcome, str(error))
    except ShapeError as error:
        return CustomAction(name, "failed", f"'{name}' failed, its answer is malformed: {error}")
    return CustomAction(name, "ran", "" if responses is None else undefined_response(name, answer, responses))


def _failed(status: int, reason: str) -> Reply:
    return Reply(status, _JSON, json.dumps({"error": reason}).encode())


@contextmanager
def serving_stubs(server: StubServer) -> Iterator[StubServer]:
    """Serve on a free loopback port, which is then in ``url``."""
    handler = type("Handler", (_Handler,), {"stubs": server})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        listening.daemon_threads = True
        server.url = f"http://127.0.0.1:{listening.server_port}/webhook"
        threading.Thread(target=listening.serve_forever, args=(0.1,), daemon=True).start()
        try:
            yield server
        finally:
            listening.shutdown()


class _Handler(BaseHTTPRequestHandler):
    stubs: StubServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            reply = self.stubs.answer(body, self.path.partition("?")[2], dict(self.headers))
        except ValueError:
            reply = _failed(400, "the call is not JSON")
        self.send_response(reply.status)
        if reply.kind:
            self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        """It would not be read."""
