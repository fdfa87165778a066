"""Starts the team's action server for the duration of a run, and stops it again with everything that it started."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from turncheck.engines.action_server.server import (
    ActionEndpoint,
    HttpActionServer,
    NoActionServer,
    checked_address,
    read_endpoint,
)
from turncheck.messages.errors import UserError
from turncheck.process.child_process import running_child, split_command
from turncheck.web.addresses import Network, is_allowed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from turncheck.engines.conversation import ActionServer
    from turncheck.process.child_process import Child
    from turncheck.process.environment import FileVariables
    from turncheck.project.model import Endpoint


DEFAULT_URL = "http://localhost:5055/webhook"
"""Where rasa-sdk listens by default."""
START_SECONDS = 60.0
_WHAT: Final = "the action server"


@contextmanager
def running_action_server(
    command: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    say: Callable[[str], None],
    endpoint: ActionEndpoint | None = None,
    start_seconds: float = START_SECONDS,
) -> Iterator[HttpActionServer]:
    """Start ``command`` (without a shell) in ``folder``, wait until ``/health`` answers, and yield the server.

    ``environment`` is all that the process gets. It is stopped at the end, with the processes that it started. If it
    has ended by itself before that, ``say`` is called with that fact and the end of its log.

    Raises:
        UserError: it cannot be started, ends by itself, or does not answer in time; its log's last lines are shown.
    """
    server = HttpActionServer(endpoint or ActionEndpoint(DEFAULT_URL))
    if server.healthy():
        raise UserError(
            f"something already answers at {server.place}, before the action server is started",
            hint="Stop it, or use it: omit the command and give its address.",
        )
    with running_child(_WHAT, split_command(_WHAT, command), folder, environment) as child:
        _wait(server, child, start_seconds)
        server.was_there = True
        try:
            yield server
        finally:
            if (ended := child.ended()) is not None:
                say(str(ended))


def _wait(server: HttpActionServer, child: Child, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (ended := child.ended()) is None:
        if server.healthy(timeout=1.0):
            return
        if time.monotonic() > end:
            raise child.failure(f"does not answer at {server.place} after {seconds:g} seconds")
        time.sleep(0.1)
    raise ended


# Which action server a conversation uses.


def choose_server(
    endpoint: Endpoint | None,
    environment: Mapping[str, str],
    *,
    url: str | None = None,
    allowed_hosts: Collection[str] | None = None,
    variables: FileVariables | None = None,
) -> ActionServer:
    """Return the action server to call: the one at ``url``, else that of ``endpoints.yml``, else none.

    ``allowed_hosts`` restricts what ``endpoints.yml`` may name to loopback and these; ``None``: it may name any. Its
    ``${NAME}`` are ``variables``; without them, those of the environment.

    Raises:
        UserError: an address cannot be called, or a variable is not set.
    """
    if url is not None:
        network = Network.of(environment)
        address = checked_address(url, None)
        return HttpActionServer(ActionEndpoint(address, cafile=network.ca_file, more_cafiles=network.more_ca_files))
    read = None if endpoint is None else read_endpoint(endpoint, environment, variables)
    if read is None:
        return NoActionServer()
    if not is_allowed(read.url, allowed_hosts):
        return NoActionServer(f"endpoints.yml names the host '{read.host}', which is not among the allowed hosts")
    return HttpActionServer(read, hosts=allowed_hosts)
