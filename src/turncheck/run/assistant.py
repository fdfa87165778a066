"""The assistant under test: its engine ready, its action server chosen or started."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.engines.action_server.process import choose_server, running_action_server
from turncheck.engines.action_server.server import HttpActionServer
from turncheck.engines.choice import chosen_engines
from turncheck.evaluation.e2e_case import DEFAULT_CHANNEL
from turncheck.messages.errors import UserError
from turncheck.process.environment import FileVariables, for_child
from turncheck.render.phrases import engine_lines
from turncheck.render.sinks.terminal import place, text
from turncheck.run.trainable import ensure_possible, ensure_trainable
from turncheck.work.workplace import Local

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from turncheck.engines.base import Engine, Models
    from turncheck.engines.conversation import ActionServer, ConversationEngine
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.settings.options import Settings
    from turncheck.work.workplace import Executor


@dataclass(frozen=True, slots=True)
class AssistantOptions:
    """Which assistant to talk to: the settings, where its model may come from, another ``endpoints.yml``.

    ``channel``: the channel of the conversations, if a command sets one.
    """

    settings: Settings
    models: Models
    endpoints: Path | None = None
    channel: str = DEFAULT_CHANNEL


@contextmanager
def running_assistant(
    options: AssistantOptions, project: Project, environment: Mapping[str, str], screen: Console
) -> Iterator[tuple[Engine, ConversationEngine]]:
    """Provide the engine, and keep the action server running while the assistant is in use.

    Raises:
        UserError: there is nothing to train on, a model cannot be read, or an action server does not start.
    """
    with chosen_engines(options.settings, project, environment, models=options.models) as engines:
        ensure_possible(engines, "e2e")
        if options.channel != DEFAULT_CHANNEL and engines.capabilities.no_channel is not None:
            raise UserError(engines.capabilities.no_channel)
        engines.make_ready(("core", "nlu"), screen, lambda: ensure_trainable(project))
        for line in engine_lines(engines.info()):
            screen.note(line)
        with running_server(options.settings, project, environment, screen) as server:
            yield engines, engines.assistant(server)


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
            raise UserError(finding.message.rstrip("."), location=finding.location, remedy=finding.hint or None)
        words = f"{finding.severity}: {finding.message} {finding.hint}"
        screen.note(f"{place(finding.location, str(project.root))}: {text(words, 600)}")
