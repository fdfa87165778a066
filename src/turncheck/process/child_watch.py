"""A separate program: ends our child process if we could not, since a SIGKILL gives no warning.

Started beside a child process, with its number as argument and a pipe of ours as standard input. The pipe ends when we
do. A word in it before that says that the child has been stopped, and nothing is left to do.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_SECONDS = 1.5
"""Seconds that the child has to end by itself."""


def _started(pid: int) -> bytes:
    """When a process was started (proc(5)); empty if the system does not say or the process is gone."""
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
        for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if _started(pid) not in {before, b""}:  # its number was reused by another process
                return
            if not hasattr(os, "killpg"):  # Windows, where it ends with those that it started
                taskkill = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
                subprocess.run([taskkill, "/T", "/F", "/PID", str(pid)], check=False)  # noqa: S603 - the system's
                return
            os.killpg(pid, number)
            time.sleep(_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]))
