"""Logging commands of Azure Pipelines.

The agent reads ``##vso[area.action key=value;…]message`` wherever it is in a line of output. It reads ``%0D``,
``%0A``, ``%3B`` and ``%5D`` as what they stand for; ``%AZP25`` as a percent sign only if ``DECODE_PERCENTS`` is set,
so a percent sign that would begin one of them is separated from it instead.

Sources: "Logging commands" in the documentation of Azure Pipelines; ``taskcommand.ts`` of its task library.
"""

from __future__ import annotations

import re
from typing import Final

from turncheck.render.sinks.plain import one_line
from turncheck.render.sinks.workflow_command import log_line

_VALUE_LIMIT: Final = 1_000
_ZERO_WIDTH: Final = "\u200b"
_ESCAPE: Final = re.compile(r"%(?=0D|0A|3B|5D|AZP25)", re.IGNORECASE)


def logging_command(name: str, message: str, /, **properties: str | int | None) -> str:
    """Return one command line, ``name`` as in ``task.logissue``. Properties without a value are omitted."""
    given = "".join(f"{key}={_value(str(value))};" for key, value in properties.items() if value not in {None, ""})
    return f"##vso[{name} {given}]{_message(message)}" if given else f"##vso[{name}]{_message(message)}"


def _message(text: str) -> str:
    kept = "\n".join(one_line(line, len(line)) for line in text.splitlines())
    return _parted(kept).replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _parted(one_line(text, _VALUE_LIMIT)).replace("]", "%5D").replace(";", "%3B")


def _parted(text: str) -> str:
    return _ESCAPE.sub(f"%{_ZERO_WIDTH}", log_line(text))
