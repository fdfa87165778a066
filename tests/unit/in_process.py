"""The command line within the test's own process, where the process itself is not what is tested."""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from turncheck.cli import run_command_line

OF_A_HOST = ("GITHUB_", "INPUT_", "ACTIONS_")


def turncheck(*arguments: str | Path, cwd: Path | None = None, stdin: str | None = None) -> CompletedProcess[str]:
    """Run a command as it is run outside of CI; return what a process would have: exit code and both outputs.

    ``stdin``: what is piped into it; none is the test's own.
    """
    words = [str(argument) for argument in arguments]
    loose = "surrogateescape"  # as Python opens standard input
    content = io.BytesIO(b"" if stdin is None else stdin.encode(errors=loose))
    piped = sys.stdin if stdin is None else io.TextIOWrapper(content, "utf-8", loose)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OF_A_HOST)}
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        patch.dict(os.environ, environment, clear=True),
        chdir(cwd or Path.cwd()),
        redirect_stdout(output),
        redirect_stderr(errors),
        patch.object(sys, "stdin", piped),
    ):
        code = run_command_line(words)
    return CompletedProcess(words, code, *(stream.buffer.getvalue().decode() for stream in (output, errors)))
