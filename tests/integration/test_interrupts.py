"""Interrupted at any moment, a run ends in order. ``make interrupts`` kills hundreds of them."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from threading import current_thread, main_thread

import pytest
from tools.interrupts import CASES, Case, kill, project_of

from turncheck.engines.embedded.nlu.crf import train_tagger
from turncheck.engines.embedded.nlu.crf_file import StoppableTrainer

TRAINING = """
    import random, sys
    from turncheck.process import interrupts
    from turncheck.engines.embedded.nlu.crf import train_tagger

    interrupts.listen()
    draw = random.Random(1)
    words = [f"w{number}" for number in range(500)]
    sentences = [
        ([draw.choices(words, k=20) for _ in range(10)], draw.choices("ABCDEFGHIJO", k=10)) for _ in range(500)
    ]
    print("training", flush=True)
    try:
        while True:
            train_tagger(sentences, sys.argv[1], {"max_iterations": 30})
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize("algorithm", ["pa", "lbfgs"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_training_of_a_crf_can_be_interrupted_at_any_moment(algorithm: str, number: signal.Signals) -> None:
    draw = random.Random(f"{algorithm} {number.name}")
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(TRAINING), algorithm],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        assert process.stdout.readline() == "training\n"
        time.sleep(draw.uniform(0.05, 0.5))
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (130, "")


def test_no_python_of_the_main_thread_runs_below_crfsuite(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal raises in the main thread alone; what is raised below CRFsuite's C code ends in a segmentation fault."""
    threads = []
    monkeypatch.setattr(StoppableTrainer, "message", lambda *_: threads.append(current_thread()))
    train_tagger([([["a"], ["b"]], ["X", "O"])], "pa", {"max_iterations": 2})
    assert threads
    assert main_thread() not in threads


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("case", CASES[:2], ids=lambda case: case.name)
def test_an_interrupted_run_ends_in_order(
    case: Case, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT")  # with the processes that a run starts by itself
    project = project_of(case, tmp_path / "project")
    draw = random.Random(f"{case} {number.name}")
    for _ in range(2):
        done = kill(project, case, number, draw.uniform(0, 2.5))
        assert done.fault == ""
