"""What is started for a while does not outlive us, however we end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from turncheck.process.child_process import running_child

CHILD = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
time.sleep(60)
"""
PARENT = """
import sys, time
from pathlib import Path
from turncheck.process.child_process import running_child
with running_child("the server", [sys.executable, "-c", sys.argv[1]], Path("."), {}) as child:
    print(child.process.pid, flush=True)
    time.sleep(60)
"""


def group_of(pid: int) -> list[int]:
    """The processes of a group, as ps lists them; those that have ended and wait to be noticed aside."""
    listed = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in listed.splitlines())
    return [int(one) for one, group, state in rows if int(group) == pid and not state.startswith("Z")]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_ends_with_us_with_all_it_started(number: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, CHILD], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    end = time.monotonic() + 30
    while len(group_of(pid)) < 2 and time.monotonic() < end:
        time.sleep(0.05)

    os.kill(parent.pid, number)
    parent.wait()

    end = time.monotonic() + 30
    while group_of(pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert group_of(pid) == []


def test_nobody_watches_any_more_when_the_child_was_stopped(tmp_path: Path) -> None:
    def is_watched(pid: int) -> bool:
        listed = subprocess.run(["ps", "-wweo", "args="], capture_output=True, text=True, check=True).stdout
        return f"child_watch.py {pid}" in listed

    with running_child("the server", [sys.executable, "-c", CHILD], tmp_path, {}) as child:
        end = time.monotonic() + 30
        while not is_watched(child.process.pid):
            assert time.monotonic() < end
    assert not is_watched(child.process.pid)
    assert group_of(child.process.pid) == []
