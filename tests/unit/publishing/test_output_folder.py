"""Results are not written where the next run would read them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.messages.errors import EXIT_NOT_DONE, EXIT_OK, UserError
from turncheck.run.folders import ensure_apart_from_project
from turncheck.settings.options import Settings

PIZZERIA = Path(__file__).parents[3] / "examples" / "pizzeria"


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
def test_an_output_folder_in_what_is_read_is_refused(project: Path, out: str, golden: Golden) -> None:
    for place in (out, str(project / out)):
        with pytest.raises(UserError) as refused:
            ensure_apart_from_project(Path(place), Settings())
        golden(refused.value)


@pytest.mark.parametrize("out", ["tests", "tests/results", "e2e_tests", "batch", "domain"])
def test_nor_may_it_become_a_folder_that_the_next_run_reads_by_its_name(
    project: Path, out: str, golden: Golden
) -> None:
    shutil.rmtree(project / "tests")
    shutil.rmtree(project / "e2e_tests")
    with pytest.raises(UserError) as refused:
        ensure_apart_from_project(Path(out), Settings())
    golden(refused.value)


def test_the_folders_that_settings_name_are_those_that_are_read(project: Path, golden: Golden) -> None:
    named = Settings(data=("more/nlu",), nlu="tests/test_nlu.yml", e2e=("e2e_tests::a case",))

    with pytest.raises(UserError, match="'more/nlu/results'") as refused:
        ensure_apart_from_project(Path("more/nlu/results"), named)
    golden(refused.value)
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
    "train": ("train",),
    "compare": ("report", "compare", "a.json", "b.json"),
    "render": ("report", "render", "a.json"),
    "import": ("report", "import", "."),
    "publish": ("report", "publish", "a.json", "--pull-request", "1"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_writes_results_refuses_before_it_measures(
    project: Path, capsys: pytest.CaptureFixture[str], command: str, golden: Golden
) -> None:
    before = sorted(path.relative_to(project) for path in project.rglob("*"))

    assert run_command_line([*COMMANDS[command], "--out", "data/results"]) == EXIT_NOT_DONE

    said = capsys.readouterr().err
    assert "'data/results'" in said
    golden(said)
    assert sorted(path.relative_to(project) for path in project.rglob("*")) == before


FILES = {
    "run": ("run", "--json"),
    "nlu": ("test", "nlu", "--json"),
    "reports": ("test", "nlu", "--report"),
    "errors": ("test", "nlu", "--errors"),
    "core": ("test", "core", "--json"),
    "both": ("test", "--json"),
    "batch": ("test", "batch", "--json"),
    "e2e": ("test", "e2e", "--json"),
    "validate": ("data", "validate", "--json"),
    "page": ("report", "render", "a.json", "--html", "--out"),
    "strength": ("test", "strength", "--json"),
    "robustness": ("test", "robustness", "--json"),
    "csv": ("test", "batch", "--csv"),
    "kore": ("kore", "suites", "--json"),
    "kore-csv": ("kore", "status", "suite", "run", "--csv"),
}


@pytest.mark.parametrize("command", FILES)
def test_so_is_each_further_file(project: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    before = sorted(path.relative_to(project) for path in project.rglob("*"))

    assert run_command_line([*FILES[command], "data/more.json"]) == EXIT_NOT_DONE

    told = capsys.readouterr().err
    assert "'data/more.json'" in told
    assert "'data'," in told
    assert sorted(path.relative_to(project) for path in project.rglob("*")) == before


@pytest.mark.parametrize("name", ["config.yml", "domain.yml", "./endpoints.yml", "turncheck.yml", "more/own.yml"])
def test_a_file_of_the_assistant_is_not_replaced(project: Path, name: str, golden: Golden) -> None:
    (project / "more" / "own.yml").write_text("")
    with pytest.raises(UserError) as refused:
        ensure_apart_from_project(None, Settings(config="more/own.yml"), Path(name))
    golden(refused.value)
    ensure_apart_from_project(None, Settings(), Path("report.json"))


def test_a_model_may_be_where_models_usually_are_whatever_is_read(project: Path) -> None:
    assert run_command_line(["train", "core", "--data", "."]) == EXIT_OK
    assert list((project / "models").glob("*.tar.gz"))


NLU = "## intent:greet\n- hi\n- hello\n"


@pytest.mark.parametrize(("out", "given"), [("data", ()), ("data/new", ()), ("data", ("data/nlu.md",))])
def test_a_conversion_is_not_written_beside_its_original(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    out: str,
    given: tuple[str, ...],
    *,
    golden: Golden,
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.md").write_text(NLU)
    monkeypatch.chdir(tmp_path)

    assert run_command_line(["data", "convert", "nlu", *given, "--out", out]) == EXIT_NOT_DONE

    golden(capsys.readouterr().err)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["nlu.md"]


def test_a_conversion_may_go_into_the_data_from_elsewhere_or_replace_its_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "old" / "nlu.md").write_text(NLU)
    (tmp_path / "data" / "more.yml").write_text('version: "2.0"\nnlu:\n- intent: bye\n  examples: "- bye"\n')
    monkeypatch.chdir(tmp_path)

    assert run_command_line(["data", "convert", "nlu", "old", "--out", "data"]) == EXIT_OK
    assert run_command_line(["data", "convert", "nlu", "data/more.yml", "--out", "data"]) == EXIT_OK

    assert 'version: "3' in (tmp_path / "data" / "more.yml").read_text()
