"""Trying the tests on mutants, stopped before its end: what was finished by then is kept, shown and written."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_strength import CASES, STORIES, small_bot, strength_of

from turncheck.cli import run_command_line
from turncheck.evaluations.strength import measure as module
from turncheck.messages.errors import EngineError, IncompleteError
from turncheck.process.interrupts import listen
from turncheck.report.codec import decode
from turncheck.work.workplace import INLINE

if TYPE_CHECKING:
    from collections.abc import Iterator

DONE = 12


class Stopped:
    """A workplace that is stopped after some tasks."""

    size = 0

    def __init__(self, cause: BaseException, done: int = DONE) -> None:
        self.cause, self.done = cause, done

    def each(self, *args: Any, **options: Any) -> Iterator[Any]:
        for place, result in enumerate(INLINE.each(*args, **{**options, "worth_processes": False})):
            if place == self.done:
                raise self.cause
            yield result


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), EngineError("the cluster is gone")])
def test_the_figures_until_then_come_with_the_error(cause: BaseException, tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    whole = strength_of(root, most=DONE)

    with pytest.raises(IncompleteError) as error:
        strength_of(root, Stopped(cause))

    finished = error.value.finished
    assert finished.mutants == whole.mutants
    assert (finished.score, finished.by_tests, finished.not_tried) == (whole.score, whole.by_tests, whole.not_tried)
    assert f"{DONE} of {DONE + whole.not_tried} " in finished.remarks[0]
    assert error.value.interrupted == isinstance(cause, KeyboardInterrupt)


def test_nothing_is_made_up_where_nothing_was_tried(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        strength_of(small_bot(tmp_path, test_stories=STORIES), Stopped(KeyboardInterrupt(), 0))


@pytest.fixture
def stopped_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process gets SIGTERM, as a cancelled job does, while it tries a mutant."""
    tries = module._try_number
    monkeypatch.setattr(
        module,
        "_try_number",
        lambda trials, number: os.kill(os.getpid(), signal.SIGTERM) if number == DONE else tries(trials, number),
    )
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    listen()
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("stopped_at")
def test_the_command_writes_its_report_when_it_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small_bot(tmp_path, test_stories=STORIES))

    assert run_command_line(["test", "strength", "--workers", "1", "--json", "strength.json", "-q"]) == 130

    report = decode(Path("strength.json").read_bytes())
    assert report.strength is not None
    assert len(report.strength.mutants) == DONE
    assert report.stopped == "interrupted"
    told = capsys.readouterr().out
    assert f" {report.strength.score:.2f}" in told
    assert f"{DONE} of " in told


@pytest.mark.usefixtures("stopped_at")
def test_a_run_that_is_stopped_keeps_the_strength_until_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small_bot(tmp_path, test_stories=STORIES, e2e_test_cases=CASES))
    asked = ["--evaluations", "core", "strength", "--strength-budget", "0", "--workers", "1", "--baseline", "none"]

    assert run_command_line(["run", *asked, "-q"]) == 130

    report = decode(Path("results/report.json").read_bytes())
    assert report.strength is not None
    assert len(report.strength.mutants) == DONE
    assert report.core is not None


@pytest.mark.usefixtures("stopped_at")
def test_suggestions_until_then_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small_bot(tmp_path, test_stories=STORIES))

    assert run_command_line(["suggest", "--workers", "1", "--write", "-q"]) == 130

    told = capsys.readouterr().out
    assert "would notice" in told
    assert f"{DONE} of " in told
    written = Path("tests/e2e_test_cases.yml")
    assert written.exists()
    assert f"Written: {written}" in told
