"""Reads a report that somebody names: a file, or the folder that a run wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError
from turncheck.process.regular_file import TooLargeError, read_regular
from turncheck.report.codec import MAX_BYTES, decode

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.report.model import Report

REPORT_NAME: Final = "report.json"
_REMEDY: Final = "Give a report.json that `turncheck run` wrote."


def read_report(path: Path) -> Report:
    """Read a report from a file, or from the folder that a run wrote.

    Raises:
        UserError: it does not exist, or is not a report.
    """
    if path.is_dir():
        path = path / REPORT_NAME
    try:
        content = read_regular(path, most=MAX_BYTES)
    except TooLargeError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}", remedy="Divide the project into several assistants."
        ) from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}", remedy=_REMEDY) from None
    return decode(content, name=str(path))
