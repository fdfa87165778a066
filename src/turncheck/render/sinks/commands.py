"""Lines of logs that hosts act on: the commands of GitHub and Azure.

GitHub's runner reads ``::name key=value::message`` at the start of a line of output, and the older ``##[name]``
anywhere in one. Escaping is that of the runner's own toolkit (``core/src/command.ts``): percent sign first, then line
breaks; in properties the colon and the comma as well.
"""

from __future__ import annotations

import re
from typing import Final

from turncheck.messages.plain_text import ZERO_WIDTH, log_line, one_line

MESSAGE_LIMIT = 4000
"""The runner cuts messages at 4,096 characters."""
TITLE_LIMIT = 200


def command(name: str, message: str, **properties: str | int | None) -> str:
    """Return one command line. Properties without a value are omitted, since the runner would drop them."""
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value not in {None, ""})
    return f"::{name} {given}::{_data(message)}" if given else f"::{name}::{_data(message)}"


def _data(text: str) -> str:
    kept = log_line("\n".join(one_line(line, MESSAGE_LIMIT) for line in text[:MESSAGE_LIMIT].splitlines()))
    return kept.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # "::" would end the properties; as "%3A%3A" it does not, so nothing else is needed here.
    text = one_line(text, 4 * TITLE_LIMIT)
    return text.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


# Logging commands of Azure Pipelines.
#
# The agent reads ``##vso[area.action key=value;…]message`` wherever it is in a line of output. It reads ``%0D``,
# ``%0A``, ``%3B`` and ``%5D`` as what they stand for; ``%AZP25`` as a percent sign only if ``DECODE_PERCENTS`` is set,
# so a percent sign that would begin one of them is separated from it instead.
#
# Sources: "Logging commands" in the documentation of Azure Pipelines; ``taskcommand.ts`` of its task library.

_VALUE_LIMIT: Final = 1_000
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
    return _ESCAPE.sub(f"%{ZERO_WIDTH}", log_line(text))
