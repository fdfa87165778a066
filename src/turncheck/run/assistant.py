"""The assistant under test: its engine ready, its action server chosen or started."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from turncheck.engines.action_server.server import HttpActionServer, choose_server, running_action_server
from turncheck.engines.choice import chosen_engines
from turncheck.evaluations.e2e.case import DEFAULT_CHANNEL
from turncheck.messages.errors import UserError
from turncheck.process.environment import FileVariables, for_child
from turncheck.render.phrases import engine_lines
from turncheck.render.sinks.terminal import place, text
from turncheck.run.reading import ensure_possible, ensure_trainable
from turncheck.settings.engines import ENGINES
from turncheck.work.workplace import Executor, Local

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from turncheck.engines.base import Engine, Models
    from turncheck.engines.conversation import ActionServer, ConversationEngine
    from turncheck.process.cache import Cache
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.run.inputs import Inputs
    from turncheck.settings.options import Settings


class AssistantOptions(Struct, frozen=True):
    """Which assistant to talk to: the settings, where its model may come from, another ``endpoints.yml``.

    ``channel``: the channel of the conversations, if a command sets one.
    """

    settings: Settings
    models: Models
    endpoints: Path | None = None
    channel: str = DEFAULT_CHANNEL


@contextmanager
def opened_engine(
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    screen: Console,
    *,
    models: Models | None = None,
    cache: Cache | None = None,
    hosts: tuple[str, ...] | None = None,
    variables: FileVariables | None = None,
) -> Iterator[Engine]:
    """Open the engine that the settings name, for a run or a command: what it trains is cached, and what takes long is
    shown.

    The arguments are those of :func:`turncheck.engines.choice.chosen_engines`; ``cache``: where trained models are
    kept, if at all.

    Raises:
        UserError: as that.
    """
    with (
        chosen_engines(settings, project, environment, hosts, models, variables=variables) as engine,
        cache_in_use(engine, cache, screen),
    ):
        engine.show_progress(screen)
        yield engine


def asked_at_base(own: Settings) -> Settings | None:
    """Return the settings with which the base is asked where it runs; ``None`` if nobody said where that is."""
    on_base = ENGINES[own.engine].on_base
    if on_base is None or getattr(own, on_base[1]) is None:
        return None
    there: dict[str, Any] = {on_base[0]: getattr(own, on_base[1]), on_base[1]: None}
    return replace(own, **there)


def is_same_bot(one: Settings, other: Settings) -> bool:
    """Whether an engine of both asks at the same address, and in the same way."""
    on_base = ENGINES[one.engine].on_base
    if on_base is None or one.bot != other.bot:
        return False
    places, others = ({_place(url) for url in getattr(own, on_base[0]).split()} for own in (one, other))
    return not places.isdisjoint(others)


def _place(url: str) -> tuple[str, str | None, int | None, str, str]:
    parts = urlsplit(url)
    host = "localhost" if parts.hostname in {"127.0.0.1", "::1"} else parts.hostname
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, host, port, parts.path.rstrip("/"), parts.query


@contextmanager
def cache_in_use(engine: Engine, cache: Cache | None, screen: Console) -> Iterator[None]:
    """Have an engine use the cache; at the end say what was taken from it, and remove what is too much."""
    if cache is None:
        yield
        return
    engine.use_cache(cache)
    try:
        yield
    finally:
        for note in cache.notes():
            screen.note(note)
        cache.trim()


@contextmanager
def assistant_in_use(
    engine: Engine, options: AssistantOptions, project: Project, environment: Mapping[str, str], screen: Console
) -> Iterator[ConversationEngine]:
    """Make the assistant ready, and keep the action server running while it is in use.

    Raises:
        UserError: there is nothing to train on, a model cannot be read, or an action server does not start.
    """
    ensure_possible(engine, "e2e")
    make_assistant_ready(engine, options.channel, project, screen)
    with running_server(options.settings, project, environment, screen) as server:
        yield engine.assistant(server)


def make_assistant_ready(engine: Engine, channel: str, project: Project, screen: Console) -> None:
    """Make ready what conversations need, and say what it is.

    Raises:
        UserError: there is nothing to train on, a model cannot be read, or the channel cannot be named.
    """
    if channel != DEFAULT_CHANNEL and engine.capabilities.no_channel is not None:
        raise UserError(engine.capabilities.no_channel)
    if not engine.use_model(("core", "nlu"), screen):
        ensure_trainable(project)
        engine.train_parts(("core", "nlu"), screen)
    note_without_nlu(engine, screen)
    for line in engine_lines(engine.info()):
        screen.note(line)


def note_without_nlu(engine: Engine, screen: Console) -> None:
    """Say so if nothing understands sentences: those of tests fail for that reason."""
    if not engine.understands:
        model = engine.info().model
        what = "The project has no NLU examples" if model is None else f"The model {model} has no NLU"
        screen.note(f"{what}: only messages such as /greet are understood.")


@contextmanager
def running_server(
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    screen: Console,
    hosts: tuple[str, ...] | None = None,
    *,
    variables: FileVariables | None = None,
) -> Iterator[ActionServer]:
    """Choose the action server, and start it if a command is configured; if it dies, the end of its log is shown.

    ``hosts`` restricts what the project's files may name (``None``: any), ``variables`` which variables they get.

    Raises:
        UserError: an address cannot be called, or a server does not start.
    """
    named = project.endpoints.get("action_endpoint")
    if settings.action_endpoint is None:
        _ensure_endpoints_are_read(project, screen)
    variables = variables or FileVariables(dict(settings.env), environment)
    chosen = choose_server(named, environment, url=settings.action_endpoint, allowed_hosts=hosts, variables=variables)
    if settings.action_server is None:
        yield chosen
        return
    endpoint = chosen.endpoint if isinstance(chosen, HttpActionServer) else None
    child = for_child(environment, settings.env)

    def say(what: str) -> None:
        screen.alarm("\n".join(text(line, 400) for line in what.splitlines()))

    with running_action_server(settings.action_server, project.root, child, say=say, endpoint=endpoint) as server:
        yield server


def action_server(inputs: Inputs, project: Project, screen: Console) -> AbstractContextManager[ActionServer]:
    """Choose and start the action server of a run; see :func:`running_server`."""
    return running_server(
        inputs.settings, project, inputs.environment, screen, inputs.hosts, variables=inputs.file_variables
    )


def where_actions_are(server: ActionServer, work: Executor, settings: Settings, screen: Console) -> Executor:
    """Return where conversations are held: here, if there is an action server that can be reached from here."""
    server.look()
    if not work.size or not isinstance(server, HttpActionServer) or not server.was_there:
        return work
    screen.note("Cases that need the action server run here, not on the cluster.")
    return Local(settings.workers)


def _ensure_endpoints_are_read(project: Project, screen: Console) -> None:
    """An ``endpoints.yml`` that cannot be read is not the same as a missing one; unknown keys in it are reported."""
    paths = {file.path for file in project.files if file.role == "endpoints"}
    for finding in project.findings:
        if finding.location.path not in paths:
            continue
        if finding.severity == "error":
            raise UserError(finding.message.rstrip("."), location=finding.location, hint=finding.hint or None)
        words = f"{finding.severity}: {finding.message} {finding.hint}"
        screen.note(f"{place(finding.location, str(project.root))}: {text(words, 600)}")
