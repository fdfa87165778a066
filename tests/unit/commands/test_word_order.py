"""A command's own words behind a flag that takes several values, and what is said of words nobody knows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.cli import build_parser, run_command_line

if TYPE_CHECKING:
    import argparse


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with an assistant, a folder of data beside it, reports and test cases."""
    monkeypatch.chdir(tmp_path)
    for folder in ("bots/x/data", "more/data", "plain", "tests", "a", "b"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bots/x/config.yml").write_text("language: en\n")
    (tmp_path / "tests/cases.yml").write_text("test_cases:\n- test_case: a\n")
    (tmp_path / "tests/nlu.yml").write_text("nlu: []\n")
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    return tmp_path


def parsed(*arguments: str) -> argparse.Namespace:
    return build_parser(arguments[0]).parse_args(arguments)


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        ("--fail-on errors", "fail_on", ["errors"]),
        ("--fail-on errors new-failures", "fail_on", ["errors", "new-failures"]),
        ("--require nlu", "require", ["nlu"]),
        ("--evaluations nlu,core", "evaluations", ["nlu,core"]),
        ("--thresholds core.failed<=0", "thresholds", ["core.failed<=0"]),
        ("--max-regression nlu.intents.f1:0.1", "max_regression", ["nlu.intents.f1:0.1"]),
        ("--env A=1 B=2", "env", ["A=1", "B=2"]),
        ("--allow-hosts example.org", "allow_hosts", ["example.org"]),
    ],
)
def test_a_word_that_the_flag_cannot_take_is_the_project(flags: str, name: str, value: list[str]) -> None:
    for found in (parsed("run", "bots/x", *flags.split()), parsed("run", *flags.split(), "bots/x")):
        assert (found.folder, getattr(found, name)) == (["bots/x"], value)


@pytest.mark.parametrize("project", ["bots/x", "./bots/x/", "plain", "bots/missing"])
def test_a_folder_is_never_a_word_to_fail_on(project: str) -> None:
    found = parsed("run", "--seed", "1", "--fail-on", "errors", project, "-q")
    assert (found.folder, found.fail_on, found.quiet) == ([project], ["errors"], True)


@pytest.mark.parametrize("flag", ["--data", "--stories", "--e2e"])
def test_a_folder_that_could_be_both_is_asked_about(
    flag: str, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(["run", flag, "tests", "bots/x"]) == 2
    said = capsys.readouterr().err
    golden(said)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--data", "plain", "bots/x", "--project", "."],
        ["run", ".", "--data", "plain", "bots/x"],
        ["run", "--data", "bots/x", "plain"],
        ["run", "--data", "bots/x"],
        ["run", "--data=bots/x", "."],
        ["run", "--data", "plain", "--", "bots/x"],
    ],
)
def test_what_is_clear_is_not_asked_about(arguments: list[str]) -> None:
    parsed(*arguments)


def test_rasas_flags_take_several_values_as_before() -> None:
    assert parsed("test", "nlu", "--config", "a", "b").config == [Path("a"), Path("b")]
    assert parsed("run", "--data", "a", "--data", "b").data == ["a", "b"]
    assert parsed("train", "core", "-c", "a", "b", "--percentages", "0", "50").percentages == [0, 50]


@pytest.mark.parametrize(
    ("arguments", "own", "data"),
    [
        (["train", "--data", "plain", "nlu"], "_train_nlu", "plain"),
        (["train", "--data", "plain", "core", "--runs", "2"], "train_core", None),
        (["train", "--out", "m", "--data", "plain", "nlu"], "_train_nlu", "plain"),
        (["test", "--stories", "plain", "core"], "_test_core", None),
    ],
)
def test_the_kind_of_a_command_is_found_behind_its_flags_which_count(
    arguments: list[str], own: str, data: str | None
) -> None:
    found = parsed(*arguments)
    assert found.handler.__name__ == own
    if data is not None:
        assert found.data == [Path(data)]
    assert "--out" not in arguments or found.out == Path("m")


def test_a_flag_before_the_kind_is_not_forgotten() -> None:
    assert parsed("train", "--out", "m", "nlu").out == Path("m")
    assert parsed("test", "--fail-fast", "e2e").fail_fast


def test_a_kind_that_is_also_a_path_is_asked_about(
    repository: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (repository / "core").mkdir()
    (repository / "stories").mkdir()
    assert run_command_line(["test", "--stories", "plain", "core"]) == 2
    assert run_command_line(["data", "validate", "--data", "plain", "stories"]) == 2
    said = capsys.readouterr().err
    golden(said)


def test_stories_alone_may_be_said_at_the_end() -> None:
    assert parsed("data", "validate", "--data", "plain", "stories").kind == "stories"


def test_two_reports_may_stand_behind_the_gates() -> None:
    found = parsed("report", "compare", "--fail-on", "errors", "a.json", "b.json")
    assert (found.base, found.head, found.fail_on) == (Path("a.json"), Path("b.json"), ["errors"])


@pytest.mark.parametrize(
    ("words", "to", "name"),
    [
        ("run --json Everyday", "-", "Everyday"),
        ("run --json told.json Everyday", "told.json", "Everyday"),
        ("delete --json Everyday", "-", "Everyday"),
        ("delete --json Everyday tr-1", "-", "Everyday"),
        ("status Everyday --json tr-1", "-", "Everyday"),
        ("run Everyday --json told", "told", "Everyday"),
    ],
)
def test_a_suite_is_never_taken_for_the_file_of_its_json(words: str, to: str, name: str) -> None:
    found = parsed("kore", *words.split())
    assert (found.json, found.name) == (to, name)
    assert getattr(found, "run", None) == ("tr-1" if "tr-1" in words else None)


def test_test_cases_are_never_taken_for_something_to_write(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["test", "e2e", "-o", "tests/cases.yml"]) == 2
    golden(capsys.readouterr().err)
    assert parsed("test", "e2e", "-o", "tests/results.yml").e2e_results == Path("tests/results.yml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("rnu", "turncheck: error: 'rnu' is not one of: run, action, data, train, test, parse, shell, suite, "),
        (
            "data vlaidate",
            "turncheck data: error: 'vlaidate' is not one of: validate, split, convert. Did you mean 'validate'?",
        ),
        ("data", "turncheck data: error: WHAT is missing; it is one of: validate, split, convert\n"),
        ("data validate --format jsn", "--format: 'jsn' is not one of: text, json, github, sarif. Did you mean 'json'"),
        ("data validate --format wonderful", "--format: 'wonderful' is not one of: text, json, github, sarif.\n"),
        ("run --fial-on errors", "turncheck run: error: unknown flag --fial-on. Did you mean --fail-on?\n"),
        ("run --wonderful", "turncheck run: error: unknown flag --wonderful\n"),
        ("train --domian x", "turncheck train: error: unknown flag --domian. Did you mean --domain?\n"),
        ("data validate --domian x", "data validate: error: unknown flag --domian. Did you mean --domain?\n"),
        ("test --stroies x", "turncheck test: error: unknown flag --stroies. Did you mean --stories?\n"),
        ("--domian x", "turncheck: error: unknown flag --domian. Did you mean --domain?\n"),
        ("data --domain x", "turncheck data: error: the command is missing that --domain belongs to\n"),
        ("vlidate", "kore. Did you mean 'data validate'?\n"),
        ("strength", "kore. Did you mean 'test strength'?\n"),
        ("tset nlu", "kore. Did you mean 'test'?\n"),
        ("run --fail-on error bots/x", "--fail-on: 'error' is not one of: errors, "),
        (
            "run --fail-on strength.score>=0.6",
            "none.\nLimits for metrics belong in --thresholds: nlu.intents.f1 >=",
        ),
        ("run --fail-on strength.score", "none.\nLimits for metrics belong in --thresholds: nlu.intents.f1 >="),
        ("run --fail-on nlu.intents.f1:0.01", "\nThe largest allowed drops of metrics belong in --max-regression: nlu"),
        ("run --fail-on errors,warnings", "\nTo fail the run on warnings in the data, use --fail-on-warnings.\n"),
        (
            "run --max-regression nlu.intents.f1>=0.6",
            "\nThis is a limit for the metric itself: it belongs in thresholds",
        ),
        ("run --thresholds nlu.intents.f1:0.01", "\nThis is a largest drop: it belongs in max-regression.\n"),
        ("run --comment never-ever", "--comment: 'never-ever' is not one of: always, on-change, on-failure, never. Di"),
        ("run --engine embeded", "Did you mean 'embedded'?"),
        ("run --seed", "turncheck run: error: --seed: expected a value\n"),
        ("run --plots=3", "--plots: takes no value, not '3'\n"),
        ("run bots/x nowhere", "no such project folder: nowhere"),
        (
            "report publish a.json --repository mine --pull-request 1",
            "'mine' is not a repository\nWrite it as OWNER/NAME.",
        ),
        ("train --data nowhere", "the path 'nowhere' of --data does not exist"),
        ("train --seed x", "--seed: expected a whole number, at least 0"),
        ("test nlu --folds 1", "-f/--folds: expected a whole number, at least 2"),
        ("data split nlu --training-fraction half", "expected a number between 0 and 1, not 'half'\n"),
    ],
)
def test_a_wrong_word_gets_one_clean_sentence(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(arguments.split()) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("error:") == 1
    assert "['" not in error
