"""Logs as a file of the team configures them (``--logging-config-file``, as in Rasa): what is noted also goes there.

The file is Python's (``logging.config``, version 1). It may stand in a repository that anybody proposes changes to, so
it cannot name what Python would import and call: only the handlers, formatters and filters of ``logging`` itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal

from turncheck.messages.errors import UserError
from turncheck.process.environment import redact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOGGER: Final = "turncheck"
Level = Literal["debug", "info", "error"]
_MOST: Final = 1 << 20
_CLASS: Final = re.compile(r"logging\.(handlers\.)?[A-Z][A-Za-z]*Handler|logging\.(Formatter|Filter)")
_STREAMS: Final = frozenset({"ext://sys.stdout", "ext://sys.stderr"})
_CONFIGURED: list[Path] = []
"""The file that configured the logs of this process, if one did."""


def configure_logs(path: Path) -> None:
    """Configure Python's logging by a file.

    Raises:
        UserError: it cannot be read, or is not a configuration of logs that may be used.
    """
    import logging.config  # only on request

    import yaml

    from turncheck.process.regular_file import read_regular

    try:
        content = yaml.safe_load(read_regular(path, most=_MOST))
    except OSError as error:
        raise UserError(f"the logging configuration '{path}' cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
        raise UserError(f"the logging configuration '{path}' is not YAML: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"the logging configuration '{path}' is not a map", remedy="See Python's logging.config.")
    if refused := next(_refused(content), None):
        raise UserError(
            f"the logging configuration '{path}' names {refused}, which is not a part of Python's logging",
            remedy="Use the handlers and formatters of logging and logging.handlers.",
        )
    try:
        logging.config.dictConfig(content)
    except (ValueError, TypeError, AttributeError, ImportError, OSError) as error:
        cause = f": {error.__cause__}" if error.__cause__ else ""
        raise UserError(f"the logging configuration '{path}' cannot be used: {error}{cause}") from None
    _CONFIGURED[:] = [path]


def log(level: Level, text: str) -> None:
    """Log what is shown, if a file configured logs: in the logger ``turncheck``."""
    if _CONFIGURED:
        import logging

        getattr(logging.getLogger(LOGGER), level)("%s", redact(text))


def _refused(value: Any, key: str = "") -> Iterator[str]:
    """Yield what has Python import or call something else."""
    if isinstance(value, dict):
        for name, below in value.items():
            if name == "()":
                yield f"'(): {below}'"
            else:
                yield from _refused(below, str(name))
    elif isinstance(value, list):
        for one in value:
            yield from _refused(one)
    elif isinstance(value, str) and (
        (key == "class" and not _CLASS.fullmatch(value)) or (value.startswith("ext://") and value not in _STREAMS)
    ):
        yield f"'{value}'"
