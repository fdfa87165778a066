"""A library that interrupts its own process lacks threads; everybody else's interrupt is one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.process import interrupts, little_memory, system
from turncheck.process.little_memory import ensure_room, telling_own_interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """What the handler of SIGINT got; whatever came to this process in earlier tests is forgotten."""
    monkeypatch.setattr("turncheck.process.interrupts._heard", [])
    numbers: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGINT, before)


def _comes(heard: list[int]) -> bool:
    """Whether a signal to this process comes: another thread may get it, and the handler is called a little later."""
    until = time.monotonic() + 10
    while not heard and time.monotonic() < until:
        time.sleep(0.01)
    return heard == [signal.SIGINT]


def test_a_library_that_interrupts_its_own_process_lacks_memory(heard: list[int], golden: Golden) -> None:
    with pytest.raises(MemoryError) as refused, telling_own_interrupts():
        signal.raise_signal(signal.SIGINT)
    golden(refused.value)

    assert heard == []
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_an_interrupt_of_somebody_else_stays_one(heard: list[int]) -> None:
    kill = f"import os; os.kill({os.getpid()}, {signal.SIGINT})"
    with telling_own_interrupts():
        subprocess.run([sys.executable, "-c", kill], check=True)

    assert _comes(heard)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_an_interrupt_that_is_repeated_stays_one(heard: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turncheck.process.interrupts._heard", [signal.SIGINT])

    with telling_own_interrupts():
        os.kill(os.getpid(), signal.SIGINT)

    assert _comes(heard)


def test_an_error_of_the_library_stays_that_error(heard: list[int]) -> None:
    with pytest.raises(ImportError), telling_own_interrupts():
        raise ImportError("cannot be loaded")

    assert heard == []


def test_an_interrupt_of_an_earlier_command_is_none_of_the_next_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turncheck.process.interrupts._heard", [signal.SIGINT])

    assert run_command_line(["--version"]) == 0

    assert not interrupts.happened()


def test_without_room_for_its_buffers_openblas_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would ask for them for ever."""
    monkeypatch.setattr(system, "memory_is_limited", lambda: True)
    monkeypatch.setattr(little_memory, "_has_openblas", lambda **_: False)
    ensure_room("scipy.special._ufuncs")
    monkeypatch.setattr(little_memory, "_OF_LIBRARY", 1 << 60)
    with pytest.raises(MemoryError, match="ulimit -v"):
        ensure_room("scipy.special._ufuncs")
    monkeypatch.setattr(little_memory, "_has_openblas", lambda **_: True)
    ensure_room("scipy.special._ufuncs")
