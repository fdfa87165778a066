"""Which action server a conversation uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.engines.action_server.endpoint import ActionEndpoint, checked_address, read_endpoint
from turncheck.engines.action_server.server import HttpActionServer, NoActionServer
from turncheck.web.addresses import is_allowed
from turncheck.web.network import Network

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from turncheck.engines.conversation import ActionServer
    from turncheck.process.environment import FileVariables
    from turncheck.project.model import Endpoint


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
        return HttpActionServer(ActionEndpoint(checked_address(url, None), cafile=Network.of(environment).ca_file))
    read = None if endpoint is None else read_endpoint(endpoint, environment, variables)
    if read is None:
        return NoActionServer()
    if not is_allowed(read.url, allowed_hosts):
        return NoActionServer(f"endpoints.yml names the host '{read.host}', which is not among the allowed hosts")
    return HttpActionServer(read, hosts=allowed_hosts)
