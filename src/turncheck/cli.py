"""The command line: arguments in, exit codes out, nothing else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from turncheck import __version__
from turncheck.errors import EXIT_NOT_DONE, EXIT_OK

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    if list(arguments) == ["--version"]:
        sys.stdout.write(f"turncheck {__version__}\n")
        return EXIT_OK
    return EXIT_NOT_DONE
