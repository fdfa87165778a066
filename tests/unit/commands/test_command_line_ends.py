"""How the command line ends where something breaks: in words where somebody reads them, silently where nobody does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck import cli


def test_a_reader_that_has_gone_is_left_in_peace() -> None:
    command = [sys.executable, "-m", "turncheck", "--version"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        reader.stdout.close()
        assert reader.stderr is not None
        said = reader.stderr.read()

    assert (reader.returncode, said) == (2, "")


def test_a_pipe_that_breaks_elsewhere_is_an_error_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*_: object) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(cli, "_dispatch", breaks)

    assert cli.run_command_line(["run"]) == 2
    assert "Broken pipe" in capsys.readouterr().err


def test_a_fault_of_ours_is_shown_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    def fails(*_: object) -> int:
        raise RuntimeError("out of joint")

    monkeypatch.setattr(cli, "_dispatch", fails)

    assert cli.run_command_line(["run"]) == 2
    said = capsys.readouterr().err
    assert "RuntimeError: out of joint" in said
    golden(said, only="0.1.0")


@pytest.mark.parametrize("command", [["run"], ["data", "validate"], ["init"], ["test", "nlu"]])
def test_a_folder_that_was_deleted_is_no_fault_of_ours(command: list[str], tmp_path: Path) -> None:
    here = tmp_path / "bot"
    here.mkdir()
    script = f"import os, sys; os.rmdir({str(here)!r}); from turncheck.__main__ import main; sys.exit(main())"

    done = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=here, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 2
