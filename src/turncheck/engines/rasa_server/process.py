"""Real Rasa, run by turncheck: trained on the project, served on a free loopback port, stopped again."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from turncheck.engines.rasa_server.client import Access, RasaClient, ServerError
from turncheck.engines.rasa_server.pool import RasaPool
from turncheck.messages.engine_errors import EngineError
from turncheck.messages.errors import UserError
from turncheck.process.child_process import running_child, split_command
from turncheck.process.temporary import temporary_folder
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml, write_responses_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from turncheck.process.child_process import Child
    from turncheck.project.model import Project

START_SECONDS: Final = 900.0
"""Importing TensorFlow and loading a large model takes long on a small machine."""
_POLL_SECONDS: Final = 0.5
_PROBE_SECONDS: Final = 5.0
_TRAINING: Final = "Rasa's training"
_SERVER: Final = "the Rasa server"


@dataclass(frozen=True, slots=True)
class RasaFiles:
    """The settings that Rasa is trained and run with. ``endpoints`` is the content of the file it gets."""

    project: Project
    root: Path
    config: Path
    domain: Path
    data: Sequence[Path]
    model: Path | None = None
    endpoints: Mapping[str, Mapping[str, object]] | None = None


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
        if project.stories or project.rules:
            model = self._train(["train", *self._settings, "--data", *map(str, self.files.data)], "model")
        else:  # `rasa train` refuses a project without any dialogue
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
        except ServerError as error:
            if "has no model" in error.what:
                raise child.failure("has not loaded the model") from None
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
        raise EngineError(error.what, location=error.location, remedy=error.remedy) from error


def _free_ports(number: int) -> list[int]:
    """Return distinct free ports."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
