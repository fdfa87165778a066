"""What a terminal shows opens from where one stands, whatever the command; the report stays relative to the project."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)*[\w-]+\.yml)(?::\d+)*:?[ \n]")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose assistant has a wrong story, a wrong case, a sentence nobody understands and a faulty file."""
    top = tmp_path_factory.mktemp("repository")
    bot = top / "bots" / "x"
    shutil.copytree(ROOT / "examples" / "pizzeria", bot)
    stories = bot / "tests" / "test_stories.yml"
    stories.write_text(stories.read_text().replace("action: utter_greet", "action: utter_goodbye"), encoding="utf-8")
    cases = bot / "tests" / "e2e_test_cases.yml"
    cases.write_text(cases.read_text().replace("utter: utter_greet", "utter: utter_goodbye"), encoding="utf-8")
    with (bot / "data" / "rules.yml").open("a", encoding="utf-8") as file:
        file.write("- rule: unknown\n  steps:\n  - intent: nobody_knows\n  - action: utter_nothing\n")
    return top


def shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    run_command_line(arguments)
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "bots/x", "--evaluations", "validate", "core", "e2e"],
        ["run", "bots/x", "--evaluations", "validate,nlu"],
        ["data", "validate", "--project", "bots/x", "-v"],
        ["test", "core", "--project", "bots/x", "--no-plot"],
        ["test", "e2e", "--project", "bots/x"],
        ["test", "nlu", "--nlu", "bots/x/tests/test_nlu.yml", "--project", "bots/x", "--no-plot"],
        ["train", "core", "--project", "bots/x"],
    ],
)
def test_every_place_that_is_shown_opens_from_here(
    arguments: list[str], repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    places = PLACE.findall(shown(arguments, capsys))
    assert places
    assert [place for place in places if not Path(place).is_file()] == []


def test_the_report_stays_relative_to_the_project(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    run_command_line(["run", "bots/x", "--evaluations", "validate", "--out", "out"])
    report = json.loads(Path("out/report.json").read_text())
    assert {finding["location"]["path"].split("/")[0] for finding in report["validation"]["findings"]} <= {
        *("data", "domain.yml", "config.yml", "tests", "endpoints.yml"),
    }


@pytest.mark.parametrize(
    ("file", "content", "command"),
    [
        ("turncheck.yml", "fold: 3\n", "run bots/y"),
        ("tests/e2e_test_cases.yml", "test_cases:\n- steps: 1\n", "test e2e --project bots/y"),
        ("config.yml", "pipeline: [{name: WhitespaceTokeniser}]\n", "parse hi --project bots/y"),
        ("data/nlu.yml", "nlu:\n- intent: a\n - b: [\n", "parse hi --project bots/y"),
    ],
)
def test_an_error_leads_to_its_file_and_says_error_once(  # noqa: PLR0917 - pytest names its arguments
    file: str,
    content: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(ROOT / "examples" / "pizzeria", tmp_path / "bots" / "y")
    (tmp_path / "bots" / "y" / file).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run_command_line(command.split()) == 2
    said = capsys.readouterr().err
    assert f"bots/y/{file}:" in said
    assert said.count("error:") == 1


@pytest.mark.parametrize("arguments", [["parse", "hi"], ["parse", "hi", "--project", "nowhere"]])
def test_where_there_is_no_assistant_nothing_is_understood(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command_line(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--project" in captured.err


@pytest.mark.parametrize(
    "command", ["train", "train nlu", "train core", "test", "test nlu", "test core", "test e2e", "shell", "parse"]
)
def test_a_project_that_is_not_there_is_told_by_every_command(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command_line([*command.split(), "--project", "nowhere"]) == 2
    golden(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("shell --fixture size", "'size' is not a fixture"),
        ("shell --fixture colour=red", "the domain has no slot 'colour'"),
        ("test core --stories empty.yml", "there are no test stories at 'empty.yml'"),
        ("test core --stories nothing", "there are no test stories at 'nothing'"),
        ("test nlu --config nothing", "there is no configuration at 'nothing'"),
        ("test --config nothing", "there is no configuration at 'nothing'"),
        ("test nlu --nlu nothing", "there are no NLU examples at 'nothing'"),
        ("test e2e nothing", "there are no end-to-end test cases at 'nothing'"),
        ("test batch nothing", "there are no batch suites at 'nothing'"),
        ("test robustness --nlu nothing", "there are no NLU examples to test with at 'nothing'"),
        ("train --data nothing", "nothing' holds no training data)"),
        ("train core --data nothing", "nothing' holds no training data)"),
        ("test strength --data nothing", "nothing' holds no training data)"),
        ("suggest --data nothing", "nothing' holds no training data)"),
    ],
)
def test_what_is_wrong_shows_before_anything_is_trained(
    command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.yml").write_text('version: "3.1"\nstories: []\n', encoding="utf-8")
    (tmp_path / "nothing").mkdir()
    assert run_command_line([*command.split(), "--project", str(ROOT / "examples" / "pizzeria")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Training" not in error
    assert "in memory" not in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--data nothing", "nothing' holds no training data), so nlu and e2e could not be run"),
        ("--nlu nothing --evaluations nlu", "nlu: there are no NLU examples to test with at 'nothing'"),
        ("--stories nothing --evaluations core", "core: the project has no test stories at 'nothing'"),
        ("--e2e nothing --evaluations e2e", "e2e: there are no end-to-end cases at 'nothing'"),
        ("--batch nothing --evaluations batch", "batch: there are no batch suites at 'nothing'"),
    ],
)
def test_a_run_names_the_path_that_holds_nothing_of_the_kind(
    arguments: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing").mkdir()
    bot = shutil.copytree(ROOT / "examples" / "pizzeria", tmp_path / "bot")
    assert run_command_line(["run", *arguments.split(), "--project", str(bot), "--baseline", "none"]) == 1
    assert said in capsys.readouterr().out


def test_one_of_several_paths_that_holds_nothing_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = shutil.copytree(ROOT / "examples" / "pizzeria", tmp_path / "bot")
    monkeypatch.chdir(bot)
    (bot / "nothing").mkdir()
    run_command_line(["data", "validate", "--data", "data", "nothing", "data/nlu.yml", "."])
    assert re.findall(r"'(\S+)' holds no training data", capsys.readouterr().out) == ["nothing"]


@pytest.mark.usefixtures("_shared_cache")
@pytest.mark.parametrize("name", ["bots::old", "two\nlines", "two\r::error::lines"])
def test_a_folder_may_have_colons_and_line_ends(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    bot = shutil.copytree(ROOT / "examples" / "pizzeria", tmp_path / name)

    assert run_command_line(["run", str(bot), "--out", str(tmp_path / "out"), "--baseline", "none"]) == 0
    captured = capsys.readouterr()
    golden(captured.out, only="end-to-end")
    assert not re.search(r"^\s*::", captured.out + captured.err, re.MULTILINE)
