"""Workflow commands, and log lines that must not become one.

GitHub's runner reads ``::name key=value::message`` at the start of a line of output, and the older ``##[name]``
anywhere in one. Escaping is that of the runner's own toolkit (``core/src/command.ts``): percent sign first, then line
breaks; in properties the colon and the comma as well.
"""

from __future__ import annotations

import re

from turncheck.render.sinks.plain import one_line

MESSAGE_LIMIT = 4000
"""The runner cuts messages at 4,096 characters."""
TITLE_LIMIT = 200
_ZERO_WIDTH = "\u200b"
_OF_A_RUNNER = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
"""What begins a command of GitHub's older runners, of Azure's agent and of TeamCity's."""


def command(name: str, message: str, **properties: str | int | None) -> str:
    """Return one command line. Properties without a value are omitted, since the runner would drop them."""
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value not in {None, ""})
    return f"::{name} {given}::{_data(message)}" if given else f"::{name}::{_data(message)}"


def log_line(text: str) -> str:
    """Return ``text`` so that no part of it is a command, wherever in it a line of the log begins."""
    return _OF_A_RUNNER.sub(f"##{_ZERO_WIDTH}", text.replace("::", f":{_ZERO_WIDTH}:"))


def _data(text: str) -> str:
    kept = log_line("\n".join(one_line(line, MESSAGE_LIMIT) for line in text[:MESSAGE_LIMIT].splitlines()))
    return kept.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # "::" would end the properties; as "%3A%3A" it does not, so nothing else is needed here.
    text = one_line(text, 4 * TITLE_LIMIT)
    return text.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
