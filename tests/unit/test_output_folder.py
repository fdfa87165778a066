"""Results are not written where the next run would read them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from turncheck.cli import run_command_line
from turncheck.messages.errors import EXIT_NOT_DONE, UserError
from turncheck.run.output_folder import ensure_apart_from_project
from turncheck.settings.options import Settings

PIZZERIA = Path(__file__).parents[2] / "examples" / "pizzeria"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "bot"
    shutil.copytree(PIZZERIA, root)
    (root / "e2e_tests").mkdir()
    (root / "more" / "nlu").mkdir(parents=True)
    (root / "link").symlink_to("data")
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize(
    "out", ["data", "data/", "./data/reports/all", "link", "link/new", "tests", "tests/results", "e2e_tests/results"]
)
def test_an_output_folder_in_what_is_read_is_refused(project: Path, out: str) -> None:
    for place in (out, str(project / out)):
        with pytest.raises(UserError, match="the next run would take the results for data or tests"):
            ensure_apart_from_project(Path(place), Settings())


def test_the_folders_that_settings_name_are_those_that_are_read(project: Path) -> None:
    named = Settings(data=("more/nlu",), nlu="tests/test_nlu.yml", e2e=("e2e_tests::a case",))

    with pytest.raises(UserError, match="the output folder 'more/nlu/results' is in 'more/nlu', which is read"):
        ensure_apart_from_project(Path("more/nlu/results"), named)
    ensure_apart_from_project(Path("data/results"), named)
    ensure_apart_from_project(project / "more" / "results", named)


@pytest.mark.parametrize("out", ["results", ".", "database", "more/data", "../results"])
def test_others_are_not(project: Path, out: str) -> None:
    assert project.is_dir()
    ensure_apart_from_project(Path(out), Settings())


COMMANDS = {
    "run": ("run", "--project", "."),
    "several": ("run", "--project", "../bo*"),
    "nlu": ("test", "nlu"),
    "pipelines": ("test", "nlu", "--config", "config.yml", "config.yml"),
    "core": ("test", "core"),
    "models": ("test", "core", "--model", "a.tar.gz", "b.tar.gz"),
    "both": ("test",),
    "batch": ("test", "batch"),
    "split": ("data", "split", "nlu"),
    "validate": ("data", "validate"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_writes_results_refuses_before_it_measures(
    project: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    before = sorted(path.relative_to(project) for path in project.rglob("*"))

    assert run_command_line([*COMMANDS[command], "--out", "data/results"]) == EXIT_NOT_DONE

    said = capsys.readouterr().err
    assert "the output folder 'data/results' is in " in said
    assert "which is read: the next run would take the results for data or tests" in said
    assert sorted(path.relative_to(project) for path in project.rglob("*")) == before
