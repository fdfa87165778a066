"""Pieces of work in processes of their own: what comes back, and what is said of a process that does not come back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.process.environment import redact, remember
from turncheck.process.side_by_side import Ended, side_by_side


def work(item: str) -> str:
    """What a process does, by a word."""
    if item == "crash":
        os._exit(3)
    if item == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "redact":
        return redact("it is hunter2hunter2")
    if item == "slow":
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            return "cut short"
    return item * 2


def done_with(items: list[str], at_once: int = 2) -> dict[str, str | Ended]:
    found: dict[str, str | Ended] = {}
    assert not side_by_side(work, items, at_once=at_once, done=found.__setitem__)
    return found


@pytest.mark.slow
def test_one_that_ends_hides_none_of_the_others_and_secrets_stay_hidden_there(golden: Golden) -> None:
    remember("hunter2hunter2")

    found = done_with(["a", "crash", "killed", "redact", "b"])

    ended = [found.pop("crash"), found.pop("killed")]
    assert [type(one) for one in ended] == [Ended, Ended]
    golden(*ended)
    assert found == {"a": "aa", "redact": "it is ***", "b": "bb"}


INTERRUPTED = """
import sys
import pytest
from test_side_by_side import work
from turncheck.process import interrupts
from turncheck.process.side_by_side import side_by_side

if __name__ == "__main__":
    interrupts.listen()
    def done(item, result):
        print(item, result, flush=True)
    print("interrupted", side_by_side(work, ["quick", "slow", "a", "slow", "b"], at_once=2, done=done), flush=True)
"""


def started(tmp_path: Path) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    path = {"PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[:2]))}
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=os.environ | path)
    assert process.stdout is not None
    assert process.stdout.readline() == "quick quickquick\n"
    assert process.stdout.readline() == "a aa\n"
    time.sleep(5)  # the second slow one begins
    return process


@pytest.mark.slow
def test_an_interrupt_reaches_those_that_run_whose_results_are_kept(tmp_path: Path) -> None:
    process = started(tmp_path)

    process.terminate()

    out, _ = process.communicate(timeout=60)
    assert out == "slow cut short\nslow cut short\ninterrupted True\n"


def test_whose_starter_is_killed_ends_too(tmp_path: Path) -> None:
    process = started(tmp_path)
    below = Path("/proc", str(process.pid), "task", str(process.pid), "children").read_text().split()
    assert len(below) >= 2

    process.kill()
    process.wait()

    end = time.monotonic() + 60
    while any(Path("/proc", pid).exists() for pid in below) and time.monotonic() < end:
        time.sleep(0.2)
    assert [pid for pid in below if Path("/proc", pid).exists()] == []
