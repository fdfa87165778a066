"""A program of its own: ends what was started for us where we could not, since nothing warns of a SIGKILL.

Started beside a child process, with its number as argument and a pipe of ours as standard input. The pipe ends when we
do. A word in it before that says that the child has been stopped, and that does not existhing to do.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

_SECONDS = 1.5
"""That the child has to end by itself."""


def _started(pid: int) -> bytes:
    """When a process was started (proc(5)), nothing where the system does not say or it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19]
    except (OSError, IndexError):
        return b""


def main(pid: int) -> None:
    """Wait for the end of the pipe, and end the child's process group."""
    before = _started(pid)
    if sys.stdin.buffer.read(1):
        return
    with suppress(ProcessLookupError, PermissionError):
        for number in (signal.SIGTERM, signal.SIGKILL):
            if _started(pid) not in {before, b""}:  # another process has its number now
                return
            os.killpg(pid, number)
            time.sleep(_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]))
