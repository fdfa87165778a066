"""One input, and what it is tried with: no network, no waiting, and secrets that must never be seen."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from turncheck.settings.declared import options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PRIVATE = [name for name, option in options().items() if option.is_private and option.action_input]
PLANTED = "pl4nted.s3cret"
"""Part of every secret in an input."""


@dataclass(frozen=True, slots=True)
class Trial:
    """``run`` tries it and returns all that was shown; ``keep`` writes into a folder what repeats it."""

    run: Callable[[], str]
    keep: Callable[[Path], object]


def as_json(**given: Any) -> Callable[[Path], object]:
    """Keep an input as JSON."""

    def keep(folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            text = json.dumps(given, indent=1, default=repr)
        except (RecursionError, ValueError):
            text = "nested without end"
        (folder / "input.json").write_text(text, encoding="utf-8")

    return keep


class _NoLimit:
    """Nothing here takes long: no thread watches the time."""

    is_over = False

    def __init__(self, _seconds: float) -> None:
        """Accept the arguments of the real one."""

    def watch(self, _opened: object) -> None:
        """There is no connection."""

    def done(self) -> None:
        """There is nothing to end."""


@contextmanager
def without_network() -> Iterator[None]:
    """Refuse every connection, and never wait."""

    def refused(*_: object, **__: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    with ExitStack() as stack:
        for name, instead in (("socket.socket.connect", refused), ("socket.getaddrinfo", unknown)):
            stack.enter_context(patch(name, instead))
        stack.enter_context(patch("turncheck.ci.rest.RetryBudget.wait", lambda *_: True))
        for module in ("rest", "github.results_host"):
            stack.enter_context(patch(f"turncheck.ci.{module}._ATTEMPTS", 2))
        stack.enter_context(patch("turncheck.engines.action_server.server._DYING_SECONDS", 0.0))
        stack.enter_context(patch("turncheck.web.timed.Limit", _NoLimit))
        yield
