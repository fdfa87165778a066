"""``--logging-config-file``: what is printed is logged as a file of the team says, and nothing else is run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from golden_texts import Golden
from small_project import write_project

from turncheck.cli import run_command_line
from turncheck.messages.errors import UserError
from turncheck.process import screen
from turncheck.process.screen import Console, configure_logs

CONFIG = """\
version: 1
disable_existing_loggers: false
formatters:
  plain:
    format: "%(levelname)s %(name)s: %(message)s"
handlers:
  file:
    class: logging.FileHandler
    filename: {file}
    formatter: plain
    level: {level}
root:
  handlers: [file]
  level: DEBUG
"""


@pytest.fixture(autouse=True)
def _logging_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    monkeypatch.setattr(screen, "_CONFIGURED", [])
    yield
    for handler in [one for one in root.handlers if one not in before]:
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)


def write(folder: Path, content: str) -> Path:
    path = folder / "logging.yml"
    path.write_text(content)
    return path


@pytest.mark.follows(page="rasa-cli", sentence="`--logging-config-file` names a file that configures logging.")
def test_what_a_command_notes_is_logged(tmp_path: Path, golden: Golden) -> None:
    project = write_project(tmp_path / "bot")
    config = write(tmp_path, CONFIG.format(file=tmp_path / "log.txt", level="INFO"))
    command = ["test", "nlu", "--project", str(project), "--no-plot", "--out", str(tmp_path / "results"), "-q"]
    assert run_command_line([*command, "--logging-config-file", str(config)]) == 0
    golden((tmp_path / "log.txt").read_text().partition(" INFO ")[2])


def test_why_a_command_ended_is_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    config = write(tmp_path, CONFIG.format(file=tmp_path / "log.txt", level="ERROR"))
    command = ["test", "nlu", "--project", str(write_project(tmp_path / "bot")), "-q", "--nlu", "none.yml"]
    assert run_command_line([*command, "--logging-config-file", str(config)]) == 2
    printed = capsys.readouterr().err
    golden(printed)
    assert (tmp_path / "log.txt").read_text() == printed.replace("turncheck: error", "ERROR turncheck")


def test_a_fault_of_our_own_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> int:
        raise RuntimeError("a bug")

    monkeypatch.setattr("turncheck.commands.nlu.run_test_nlu", broken)
    config = write(tmp_path, CONFIG.format(file=tmp_path / "log.txt", level="ERROR"))
    command = ["test", "nlu", "--project", str(write_project(tmp_path / "bot"))]
    assert run_command_line([*command, "--logging-config-file", str(config)]) == 2
    assert "RuntimeError: a bug" in capsys.readouterr().err
    assert "RuntimeError: a bug" in (tmp_path / "log.txt").read_text()


def test_levels_are_those_of_what_is_printed(tmp_path: Path) -> None:
    configure_logs(write(tmp_path, CONFIG.format(file=tmp_path / "log.txt", level="DEBUG")))
    console = Console(stream=StringIO())
    console.note("noted")
    console.detail("in detail")
    console.alarm("wrong")
    with console.step("x", "Doing it"):
        pass
    assert (tmp_path / "log.txt").read_text().splitlines() == [
        "INFO turncheck: noted",
        "DEBUG turncheck: in detail",
        "ERROR turncheck: wrong",
        "INFO turncheck: Doing it (0.0 s)",
    ]


def test_without_the_flag_nothing_is_logged() -> None:
    written = StringIO()
    root = logging.getLogger()
    root.addHandler(logging.StreamHandler(written))
    root.setLevel(logging.DEBUG)
    Console(stream=StringIO()).note("noted")
    assert written.getvalue() == ""


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ("class: logging.FileHandler", "class: subprocess.Popen", "subprocess.Popen"),
        ("class: logging.FileHandler", "class: logging.os.system", "logging.os.system"),
        ("    level: INFO", "    level: ext://os.system", "ext://os.system"),
        ("  plain:\n", "  plain:\n    (): os.system\n", "os.system"),
    ],
)
def test_a_file_cannot_have_anything_else_called(
    tmp_path: Path, old: str, new: str, refused: str, golden: Golden
) -> None:
    content = CONFIG.format(file=tmp_path / "log.txt", level="INFO")
    assert old in content
    with pytest.raises(UserError, match="Python's") as error:
        configure_logs(write(tmp_path, content.replace(old, new)))
    golden(error.value)
    assert refused in str(error.value)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("a: [", "is not YAML"),
        ("- a", "is not a map"),
        ("version: 7", "cannot be used"),
        ("version: 1\nhandlers:\n  x:\n    class: logging.NoSuchHandler\n", "cannot be used"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error(
    tmp_path: Path, content: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, content)
    assert run_command_line(["test", "nlu", "--logging-config-file", str(path)]) == 2
    printed = capsys.readouterr().err
    assert fault in printed
    assert str(path) in printed


def test_a_file_that_is_missing_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["test", "core", "--logging-config-file", str(tmp_path / "none.yml")]) == 2
    golden(capsys.readouterr().err)
