"""Where memory is limited the work is done in a child: what ends it has words and an exit code, and is no verdict."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BEGIN = """\
import ctypes, os, signal, sys, time
from turncheck.process import interrupts
from turncheck.process.watched import watched
interrupts.listen()
def say(text): print(text, flush=True)
def work():
    try:
        print(os.getpid(), flush=True)
        {work}
    except KeyboardInterrupt:
        return 130
sys.exit(watched(work, say))
"""
pytestmark = pytest.mark.skipif(not hasattr(signal, "sigwaitinfo"), reason="this system limits no memory this way")


def started(work: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BEGIN.format(work=work)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.mark.parametrize(
    ("work", "code", "says"),
    [
        ("ctypes.string_at(0)", 2, True),
        ("os.abort()", 2, True),
        ("os.kill(os.getpid(), signal.SIGBUS)", 2, True),
        ("return 0", 0, False),
        ("return 1", 1, False),
        ("os._exit(2)", 2, False),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL, False),
    ],
)
def test_the_end_of_the_child(work: str, code: int, says: bool) -> None:
    process = started(work)
    printed, _ = process.communicate(timeout=60)

    assert process.returncode == code
    assert ("ulimit -v" in printed) == says


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("to_all", [False, True])
def test_an_interrupt_reaches_the_child_once(number: signal.Signals, to_all: bool) -> None:
    process = started("time.sleep(60)")
    assert process.stdout is not None
    process.stdout.readline()
    (os.killpg if to_all else os.kill)(process.pid, number)

    assert process.wait(timeout=30) == 130
    process.stdout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the system has to end it")
def test_nothing_outlives_the_one_that_waits() -> None:
    process = started("time.sleep(60)")
    assert process.stdout is not None
    child = Path("/proc", process.stdout.readline().strip())
    process.kill()
    process.communicate(timeout=30)

    until = time.monotonic() + 10
    while child.exists() and "(zombie)" not in (child / "status").read_text() and time.monotonic() < until:
        time.sleep(0.05)
    assert not child.exists() or "(zombie)" in (child / "status").read_text()
