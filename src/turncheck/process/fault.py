"""A bug of our own, shown so that it can be reported: complete, but without secrets."""

from __future__ import annotations

import os
import platform
import sys
import traceback
from typing import Final

from turncheck import __version__
from turncheck.messages.plain_text import plain
from turncheck.process.environment import redact_all, remember_variables

REPORT_BUGS_AT: Final = "https://github.com/turncheck/turncheck/issues"


def fault_report(error: BaseException) -> str:
    """Return the traceback, causes included, and where to report it.

    It contains no secret that was read and nothing that looks like one: it is meant to be pasted into a public page.
    """
    remember_variables(os.environ)
    words = "".join(traceback.format_exception(error))
    return plain(redact_all(words)) + (
        f"turncheck {__version__} crashed (Python {platform.python_version()}, {sys.platform}). "
        f"This is a bug: please report it with the lines above at {REPORT_BUGS_AT}\n"
    )
