"""Starts the model's stand-in and the bot, runs turncheck against them, and stops both. All of it is on this machine.

python examples/concierge/run.py [--seed 1] [--fails 0.05] [flags of `turncheck run`]
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def running(program: str, *arguments: str, **environment: str) -> Iterator[str]:
    """Run a program on a free port, and yield its address as soon as it listens. Ctrl-C does not stop it."""
    port = free_port()
    command = [sys.executable, str(HERE / program), str(port), *arguments]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which the program takes over
    process = subprocess.Popen(command, env={**os.environ, **environment})
    signal.signal(signal.SIGINT, before)
    with process:
        try:
            for _ in range(300):
                with socket.socket() as one:
                    if one.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def main() -> int:
    """Run it, and return the exit code of turncheck."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="1", help="another seed gives other answers")
    parser.add_argument("--fails", default="0", help="the share of wrong answers, from 0 to 1")
    given, flags = parser.parse_known_args()
    with running("model.py", given.seed, given.fails) as model, running("bot.py", MODEL_URL=model) as bot:
        command = [sys.executable, "-I", "-m", "turncheck", "run", str(HERE), "--engine", "http"]
        command += ["--bot-url", bot, *flags]
        # Ctrl-C reaches turncheck as well, which keeps what it measured.
        signal.signal(signal.SIGINT, lambda *_: None)
        with subprocess.Popen(command) as turncheck:
            return turncheck.wait()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
