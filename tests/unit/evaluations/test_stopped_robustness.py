"""Varying sentences, stopped before its end: the figures until then are kept, shown and written."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_robustness import TRAINING
from test_strength import small_bot

from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.evaluations.nlu import splits
from turncheck.evaluations.robustness import robustness as module
from turncheck.evaluations.robustness.robustness import cross_validate_robustness, evaluate_robustness
from turncheck.messages.errors import EngineError, IncompleteError
from turncheck.process.interrupts import listen
from turncheck.project.nlu_data import Example, NluData
from turncheck.project.reader import read_project
from turncheck.report.codec import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from turncheck.engines.conversation import NluEngine, Parse
    from turncheck.report.model import Report

SENTENCES = (*TRAINING, Example("hello everybody in there", "greet"), Example("goodbye all of you", "bye"))
TESTS = """
nlu:
- intent: greet
  examples: |
    - hello everybody in there
- intent: bye
  examples: |
    - goodbye all
"""


class Failing:
    """An engine that fails after some batches, with the answers to half of a batch."""

    def __init__(self, engine: NluEngine, cause: BaseException, batches: int) -> None:
        self.engine, self.cause, self.batches = engine, cause, batches
        self.info, self.extractors = engine.info, engine.extractors

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        self.batches -= 1
        if self.batches >= 0:
            return self.engine.parse(texts)
        if isinstance(self.cause, KeyboardInterrupt):
            raise self.cause
        half = len(texts) // 2
        raise IncompleteError(EngineError("the server is gone"), [*self.engine.parse(texts[:half]), *[None] * half])


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), EngineError("the server is gone")])
@pytest.mark.parametrize("batches", [0, 1, 3])
def test_held_out_the_variants_until_then_are_judged(
    cause: BaseException, batches: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH", 4)
    project = read_project(small_bot(tmp_path))
    engine, data = EmbeddedNluTrainer().fit(project), NluData(SENTENCES)
    whole = evaluate_robustness(project, engine, data)

    with pytest.raises(IncompleteError) as error:
        evaluate_robustness(project, Failing(engine, cause, batches), data)

    part = error.value.finished
    assert error.value.interrupted == isinstance(cause, KeyboardInterrupt)
    if not batches and error.value.interrupted:
        assert part is None
        return
    assert part.variants < whole.variants
    assert part.remarks[-1].startswith("Not run: ")
    assert all(one.variants <= other.variants for one, other in zip(part.by_family, whole.by_family, strict=True))
    known = {(worst.text, one) for worst in whole.worst for one in worst.failed}
    assert {(worst.text, one) for worst in part.worst for one in worst.failed} <= known


@pytest.fixture
def stopped_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[object, str, int], None]]:
    """Let this process get SIGTERM, as a cancelled job does, when a function is called for the n-th time."""

    def stop(owner: object, name: str, call: int) -> None:
        original, calls = getattr(owner, name), [0]

        def counted(*args: object) -> object:
            calls[0] += 1
            if calls[0] == call:
                os.kill(os.getpid(), signal.SIGTERM)
            return original(*args)

        monkeypatch.setattr(owner, name, counted)

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    listen()
    yield stop
    for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
        signal.signal(number, handler)


def report_in(folder: Path, name: str) -> Report:
    return decode((folder / name).read_bytes())


def test_the_command_writes_the_folds_that_were_done(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    stopped_in: Callable[[object, str, int], None],
) -> None:
    monkeypatch.chdir(small_bot(tmp_path))
    stopped_in(splits, "_run_fold", 2)
    command = ["test", "robustness", "--folds", "3", "--workers", "1", "--json", "r.json", "--fail-over", "0.01", "-q"]

    assert run_command_line(command) == 130

    report = report_in(tmp_path, "r.json")
    assert report.robustness is not None
    assert report.robustness.sentences > 0
    assert report.robustness.remarks == ("Not run: 2 of 3 folds.",)
    assert report.stopped == "interrupted"
    told = capsys.readouterr().out
    assert "Not run: 2 of 3 folds." in told


def test_the_command_stopped_before_its_first_fold_says_that_nothing_was_run(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    stopped_in: Callable[[object, str, int], None],
) -> None:
    monkeypatch.chdir(small_bot(tmp_path))
    stopped_in(splits, "_run_fold", 1)

    assert run_command_line(["test", "robustness", "--folds", "3", "--workers", "1", "--json", "r.json", "-q"]) == 130

    report = report_in(tmp_path, "r.json")
    assert report.robustness is None
    assert [one.evaluation for one in report.skipped] == ["robustness"]
    assert "interrupted" in capsys.readouterr().out


def test_a_run_that_is_stopped_keeps_the_folds_that_were_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_in: Callable[[object, str, int], None]
) -> None:
    monkeypatch.chdir(small_bot(tmp_path))
    stopped_in(splits, "_run_fold", 2)
    asked = ["--evaluations", "validate", "robustness", "--folds", "3", "--workers", "1", "--baseline", "none"]

    assert run_command_line(["run", *asked, "--no-cache", "-q"]) == 130

    report = report_in(tmp_path, "results/report.json")
    assert report.robustness is not None
    assert report.robustness.remarks == ("Not run: 2 of 3 folds.",)
    assert "Not run: 2 of 3 folds." in (tmp_path / "results/comment.md").read_text(encoding="utf-8")


def test_suggestions_stopped_while_sentences_are_varied_keep_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = small_bot(tmp_path)
    (root / "tests").mkdir(exist_ok=True)
    (root / "tests" / "test_nlu.yml").write_text(TESTS, encoding="utf-8")
    monkeypatch.chdir(root)
    in_batches = module._in_batches

    def stopped(engine: NluEngine, texts: Sequence[str]) -> list[Parse | None]:
        raise IncompleteError(KeyboardInterrupt(), in_batches(engine, texts[:4]))

    monkeypatch.setattr(module, "_in_batches", stopped)

    assert run_command_line(["suggest", "--mutants", "3", "--workers", "1", "-q"]) == 130
    assert "3 of " in capsys.readouterr().out


def test_what_is_varied_one_by_one_or_at_once_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = read_project(small_bot(tmp_path))
    engine, data = EmbeddedNluTrainer().fit(project), NluData(SENTENCES)
    whole = evaluate_robustness(project, engine, data)
    monkeypatch.setattr(module, "_BATCH", 1)

    assert evaluate_robustness(project, engine, data) == whole
    assert cross_validate_robustness(project, EmbeddedNluTrainer(), folds=2).remarks == ()
