"""The assistant that a command talks to: project read, engine trained, action server chosen or started."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.engines.action_server.choice import choose_server
from turncheck.engines.action_server.process import running_action_server
from turncheck.engines.action_server.server import HttpActionServer, NoActionServer
from turncheck.engines.embedded.conversation import Assistant
from turncheck.engines.embedded.engine import EmbeddedEngine
from turncheck.engines.embedded.models import DEFAULT_MODELS, fitting_model, load_model, named_model
from turncheck.engines.embedded.remote_models import fetch_model
from turncheck.engines.embedded.trainer import EmbeddedTrainer, engine_info
from turncheck.messages.errors import UserError
from turncheck.process.environment import for_child
from turncheck.process.temporary import temporary_folder
from turncheck.project.reader import read_project
from turncheck.render.engine_text import engine_lines
from turncheck.render.sinks.terminal import place, text
from turncheck.run.trainable import ensure_assistant, ensure_trainable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.engines.base import ActionServer
    from turncheck.engines.embedded.models import LoadedModel
    from turncheck.process.screen import Screen
    from turncheck.project.model import Project


@dataclass(frozen=True, slots=True)
class AssistantOptions:
    """Where the assistant comes from, and who runs its custom actions.

    ``model``: a model file, or a folder of them; without one, the newest below ``models/`` if it fits the project's
    files, else the assistant is trained in memory. With ``remote_storage`` it is the name of a model kept there; see
    :mod:`turncheck.engines.embedded.remote_models`.

    ``action_endpoint`` overrides the address in ``endpoints.yml``; ``action_server`` is a command that starts one.
    ``allowed_hosts`` restricts what the project's files may name (``None``: any); ``child_variables`` are added to the
    environment of the action server that is started.
    """

    project: Path
    domain: Path | None = None
    data: tuple[Path, ...] = ()
    config: Path | None = None
    endpoints: Path | None = None
    model: Path | None = None
    remote_storage: str | None = None
    seed: int = 42
    vectors: bool = False
    allow_custom_code: bool = False
    action_endpoint: str | None = None
    action_server: str | None = None
    allowed_hosts: tuple[str, ...] | None = None
    child_variables: tuple[tuple[str, str], ...] = ()


def read_assistant(options: AssistantOptions) -> Project:
    """Read the project.

    Raises:
        UserError: a path that was given is missing, or the folder is no assistant that can be read here.
    """
    given = {"domain": options.domain, "config": options.config, "endpoints": options.endpoints}
    for name, path in (*given.items(), *(("data", path) for path in options.data)):
        if path is not None and not path.exists():
            raise UserError(f"the path '{path}' of --{name} does not exist", remedy="Correct the path.")
    if not options.project.is_dir():
        raise UserError(f"there is no folder '{options.project}'", remedy="Name the assistant's folder.")
    project = read_project(
        options.project,
        domain=options.domain,
        data=options.data or None,
        config=options.config,
        endpoints=options.endpoints,
    )
    ensure_assistant(project)
    return project


@contextmanager
def running_assistant(
    options: AssistantOptions, project: Project, environment: Mapping[str, str], screen: Screen
) -> Iterator[EmbeddedEngine]:
    """Load or train the assistant, and have its action server run as long as it is talked to.

    Raises:
        UserError: there is nothing to learn from, a model that cannot be read, an action server that does not start.
    """
    engine = load_or_train(options, project, environment, screen)
    for line in engine_lines(engine.info):
        screen.note(line)
    with running_server(options, project, environment, screen) as server:
        yield engine.with_action_server(server)


def load_or_train(
    options: AssistantOptions, project: Project, environment: Mapping[str, str], screen: Screen
) -> EmbeddedEngine:
    """Return the assistant of the model that was named or that fits the project, else train one in memory.

    Raises:
        UserError: there is nothing to learn from, or a model that cannot be read.
    """
    if options.remote_storage is not None:
        name = None if options.model is None else options.model.as_posix()
        with temporary_folder("model") as folder, screen.step("fetch", "Fetching the model"):
            path = fetch_model(options.remote_storage, name, environment, Path(folder))
            return _loaded(load_model(path), options, project)
    if options.model is not None:
        return _loaded(load_model(named_model(options.model)), options, project)
    parts = ("core", "nlu") if project.nlu.examples else ("core",)
    custom = options.allow_custom_code
    fitting = fitting_model(
        options.project / DEFAULT_MODELS, project, parts, allow_custom_code=custom, vectors=options.vectors
    )
    if fitting is not None:
        screen.detail(f"Using the model {fitting.path}")
        return _loaded(fitting, options, project)
    ensure_trainable(project)
    screen.note("No model fits the project's files: training in memory.")
    with screen.step("train", "Training"):
        return EmbeddedTrainer(seed=options.seed, allow_custom_code=custom, vectors=options.vectors).fit(project)


def _loaded(model: LoadedModel, options: AssistantOptions, project: Project) -> EmbeddedEngine:
    ensemble = model.ensemble()
    nlu = model.nlu() if model.has_nlu else None
    assistant = Assistant(ensemble.domain, ensemble, nlu, NoActionServer(), options.seed)
    return EmbeddedEngine(engine_info(project, nlu, assistant, model.path.name), assistant, nlu)


@contextmanager
def running_server(
    options: AssistantOptions, project: Project, environment: Mapping[str, str], screen: Screen
) -> Iterator[ActionServer]:
    """Choose the action server, and start it where a command says so; one that dies has the end of its log shown.

    Raises:
        UserError: an address that cannot be called, or a server that does not start.
    """
    named = project.endpoints.get("action_endpoint")
    if options.action_endpoint is None:
        _ensure_endpoints_are_read(project, screen)
    if options.action_server is None:
        yield choose_server(named, environment, url=options.action_endpoint, allowed_hosts=options.allowed_hosts)
        return
    chosen = choose_server(named, environment, url=options.action_endpoint, allowed_hosts=options.allowed_hosts)
    endpoint = chosen.endpoint if isinstance(chosen, HttpActionServer) else None
    child = for_child(environment, options.child_variables)

    def say(what: str) -> None:
        screen.alarm("\n".join(text(line, 400) for line in what.splitlines()))

    with running_action_server(options.action_server, options.project, child, say=say, endpoint=endpoint) as server:
        yield server


def _ensure_endpoints_are_read(project: Project, screen: Screen) -> None:
    """An ``endpoints.yml`` that cannot be read is something else than none; what nobody reads in it is said."""
    paths = {file.path for file in project.files if file.role == "endpoints"}
    for finding in project.findings:
        if finding.location.path not in paths:
            continue
        if finding.severity == "error":
            raise UserError(finding.message.rstrip("."), location=finding.location, remedy=finding.hint or None)
        told = f"{finding.severity}: {finding.message} {finding.hint}"
        screen.note(f"{place(finding.location, str(project.root))}: {text(told, 600)}")
