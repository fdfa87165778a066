"""What a shard may tell the job that merges it: a change's own code may have written its files."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fewer_sentences import keep_sentences
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.messages.errors import UserError
from turncheck.run.shards.document import ANSWERS_NAME, HEAD_NAME, PackedAnswers, faults_of_settings, settings_given
from turncheck.settings.declared import options

EXAMPLES = Path(__file__).parents[2] / "examples"


def turncheck(*arguments: str | Path) -> int:
    return run_command_line([str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_REPOSITORY", "GITLAB_CI", "TF_BUILD", "BITBUCKET_BUILD_NUMBER", "CI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    project = keep_sentences(shutil.copytree(EXAMPLES / "pizzeria", folder / "pizzeria"), 6)
    for number in (1, 2):
        out = folder / "parts" / f"shard-{number}"
        assert turncheck("run", project, "--shard", f"{number}/2", "--out", out, "--quiet") == 0
    return folder


def head_of(folder: Path) -> dict[str, Any]:
    head: dict[str, Any] = json.loads((folder / HEAD_NAME).read_text())
    return head


def written(parts: Path, of: str = "both", **changes: Any) -> None:
    for folder in sorted(parts.iterdir()):
        if of in {"both", folder.name}:
            (folder / HEAD_NAME).write_text(json.dumps({**head_of(folder), **changes}))


def with_settings(parts: Path, of: str = "both", **settings: Any) -> None:
    for folder in sorted(parts.iterdir()):
        if of in {"both", folder.name}:
            written(parts, folder.name, settings={**head_of(folder)["settings"], **settings})


def merged(two: Path, parts: Path, out: Path, *flags: str | Path) -> int:
    return turncheck("report", "merge", parts, "--out", out, "--quiet", "--baseline", "none", *flags)


NEVER = "is never taken from a shard"
UNKNOWN = "there is no setting of this name"
DIFFER = "the settings of the merging job differ from those of the shards"
ATTEMPTS: list[tuple[str, Any, str]] = [
    # commands, hosts, tokens, what is outside: nothing that a project's file may not set
    ("action_server", "/bin/sh -c 'touch executed'", NEVER),
    ("rasa_command", "touch executed", NEVER),
    ("rasa_url", "http://169.254.169.254", NEVER),
    ("rasa_servers", 32, NEVER),
    ("rasa_token", "t", NEVER),
    ("kore_host", "https://evil.example", NEVER),
    ("kore_client_secret", "s", NEVER),
    ("kore_bot_id", "st-1", NEVER),
    ("kore_client_id", "cs-1", NEVER),
    ("kore_way", "batch", NEVER),
    ("model", "models/another.tar.gz", NEVER),
    ("plugins", ["evil"], DIFFER),
    ("action_endpoint", "http://169.254.169.254/", NEVER),
    ("allow_hosts", ["169.254.169.254"], NEVER),
    ("env", [["PATH", "/evil"]], NEVER),
    ("token", "t", NEVER),
    ("cluster", "tcp://evil.example:8786", NEVER),
    ("cache_folder", "bot", NEVER),
    ("out", "/", NEVER),
    ("allow_custom_code", True, NEVER),
    ("run_id", "1", NEVER),
    ("baseline", "none", NEVER),
    ("base", "HEAD", NEVER),
    ("shards", ["."], NEVER),
    ("ignore", ["action-not-in-domain"], NEVER),
    ("projects", ["bots/*"], NEVER),
    ("vectors", "/folder", DIFFER),
    ("vectors", "../folder", DIFFER),
    ("data", ["/etc"], DIFFER),
    ("data", ["data", "../../etc"], DIFFER),
    ("config", "../config.yml", DIFFER),
    ("nlu", "https://evil.example/nlu.yml", DIFFER),
    # the gates: the merging job judges
    ("fail_on", ["none"], DIFFER),
    ("accept_gone", ["e2e"], DIFFER),
    ("not_judged", "pass", DIFFER),
    ("thresholds", ["nlu.intents.f1 >= 0"], DIFFER),
    ("max_regression", ["nlu.intents.f1: 1"], DIFFER),
    ("misunderstood", "warn", DIFFER),
    ("require", ["nlu"], DIFFER),
    ("strict", False, DIFFER),
    # unknown, and of a wrong type
    ("nope", 1, UNKNOWN),
    ("fail-on", ["none"], UNKNOWN),
    ("", 1, UNKNOWN),
    ("workers", "x", NEVER),
    ("fail_on", 5, "'5' is not one of"),
    ("fail_on", [["errors"]], "expected a string"),
    ("thresholds", [1, None], "expected a string"),
    ("seed", "x", "expected a whole number"),
    ("seed", 10**40, "expected a whole number"),
    ("folds", [5], "expected a whole number"),
    ("folds", 1, "expected a whole number"),
    ("folds", None, "expected a whole number"),
    ("data", {"a": 1}, "expected a string"),
    ("evaluations", "everything", "is not one of"),
    ("engine", "nope", "is not one of"),
    ("engine", {}, "expected a string"),
    ("strict", "maybe", "expected true or false"),
    ("today", "yesterday", "expected a date"),
    ("project", ["a"], "expected a string"),
]


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: f"{attempt[0]} {str(attempt[1])[:20]}")
def test_what_a_shard_says_about_settings(
    attempt: tuple[str, Any, str], two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, value, outcome = attempt
    parts = shutil.copytree(two / "parts", tmp_path / "parts")
    with_settings(parts, **{name: value})

    code = merged(two, parts, tmp_path / "merged", "--project", two / "pizzeria")

    said = capsys.readouterr().err
    assert code == 2
    assert outcome in said
    assert f"`{name.replace('_', '-')}`" in said
    assert outcome == DIFFER or "shard 1/2 (" in said
    assert "Traceback" not in said
    assert "crashed" not in said
    assert not (tmp_path / "merged").exists()


VALUES: tuple[Any, ...] = (
    "1", 3, True, ["a"], "validate", ["errors"], "fail", "warn", ["nlu"], "nlu.intents.f1 >= 0.5", "2026-01-02", "kore",
    ["nlu.intents.f1: 0.1"], "changed", "published", "any", "off",
)  # fmt: skip
"""Among them is a valid one of each setting."""


@pytest.mark.parametrize("name", [name.replace("-", "_") for name in options()])
def test_every_setting_is_refused_or_used_or_has_to_be_the_same(name: str, tmp_path: Path) -> None:
    """None is read and then forgotten."""
    faults = [faults_of_settings({name: value}) for value in VALUES]
    if all(found and NEVER in found[0] for found in faults):
        return
    value = VALUES[faults.index([])]
    given, said = {}, ""
    try:
        given = settings_given({name: value}, {"project": str(tmp_path)}, takes_project=True)
    except UserError as error:
        said = str(error)
    assert (name in given) != (f"`{name.replace('_', '-')}`" in said)


def test_engines_that_answer_in_different_ways_are_not_merged(
    two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    parts = shutil.copytree(two / "parts", tmp_path / "parts")
    engine = head_of(parts / "shard-2")["engine"]
    written(
        parts, "shard-2", engine={**engine, "capabilities": {"uploads_suites": True, "unknown_intents": {"a": "b"}}}
    )

    assert merged(two, parts, tmp_path / "merged", "--project", two / "pizzeria") == 2
    golden(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"count": 10**12}, "`int` <= 1000"),
        ({"count": 0}, "`int` >= 1"),
        ({"count": 1.5}, "Expected `int`"),
        ({"count": 1000}, "shards 3/1000, 4/1000, 5/1000, 6/1000, 7/1000 and 993 others are missing"),
        ({"number": -1}, "`int` >= 1"),
        ({"settings": [1]}, "Expected `object`"),
        ({"settings": None}, "Expected `object`"),
        ({"units": {"sentence": -1}}, "`int` >= 0"),
        ({"nope": 1}, "unknown field `nope`"),
    ],
)
def test_what_a_shard_says_about_itself(
    changes: dict[str, Any], outcome: str, two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = shutil.copytree(two / "parts", tmp_path / "parts")
    written(parts, **changes)

    assert merged(two, parts, tmp_path / "merged", "--project", two / "pizzeria") == 2

    said = capsys.readouterr().err
    assert outcome in said
    assert "shard-1" in said or "shards 3/" in said


@pytest.mark.parametrize(
    "capabilities", [{"nope": 1}, {"no_nlu": 5}, {"slow_training": "yes"}, {"unknown_intents": {"a": 1}}]
)
def test_what_a_shard_says_about_its_engine(
    capabilities: dict[str, Any], two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    parts = shutil.copytree(two / "parts", tmp_path / "parts")
    engine = head_of(parts / "shard-2")["engine"]
    written(parts, "shard-2", engine={**engine, "capabilities": capabilities})

    assert merged(two, parts, tmp_path / "merged", "--project", two / "pizzeria") == 2
    golden(capsys.readouterr().err)


@pytest.mark.parametrize("gate", [["none"], ["errors"]])
def test_the_gates_are_those_of_the_merging_job(gate: list[str], two: Path, tmp_path: Path) -> None:
    parts = shutil.copytree(two / "parts", tmp_path / "parts")
    with_settings(parts, fail_on=gate)

    flags = ("--project", str(two / "pizzeria"), "--fail-on", "errors", "gone-tests")
    assert merged(two, parts, tmp_path / "merged", *flags) == 0

    report = json.loads((tmp_path / "merged" / "report.json").read_text())
    assert report["settings"]["fail_on"] == ["errors", "gone-tests"]


def test_a_folder_of_the_change_does_not_become_the_project_on_a_ci_host(
    two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    parts = shutil.copytree(two / "parts", tmp_path / "parts")
    with_settings(parts, project="parts/shard-1/another")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITLAB_CI", "true")

    assert merged(two, parts, tmp_path / "merged") == 2

    golden(capsys.readouterr().err)


def test_what_the_projects_own_file_could_set_is_taken_from_the_shards(two: Path, tmp_path: Path) -> None:
    project = shutil.copytree(two / "pizzeria", tmp_path / "here" / "pizzeria")
    parts = tmp_path / "parts"
    flags = ("--evaluations", "nlu", "core", "--data", project / "data", "--seed", "7", "--folds", "2")
    for number in (1, 2):
        out = parts / f"shard-{number}"
        assert turncheck("run", project, "--shard", f"{number}/2", "--out", out, "--quiet", *flags) == 0
    elsewhere = project.rename(tmp_path / "elsewhere")

    assert merged(two, parts, tmp_path / "merged", "--project", elsewhere) in {0, 1}

    report = json.loads((tmp_path / "merged" / "report.json").read_text())
    assert report["seed"] == 7
    assert report["settings"]["evaluations"] == ["nlu", "core"]
    assert report["settings"]["data"] == ["data"]
    assert report["e2e"] is None


def test_files_outside_the_project_are_named_by_the_merging_job(
    two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    project = shutil.copytree(two / "pizzeria", tmp_path / "pizzeria")
    shared = (project / "data").rename(tmp_path / "shared")
    parts = tmp_path / "parts"
    for number in (1, 2):
        out = parts / f"shard-{number}"
        assert turncheck("run", project, "--shard", f"{number}/2", "--out", out, "--quiet", "--data", shared) == 0

    assert merged(two, parts, tmp_path / "merged", "--project", project) == 2
    golden(capsys.readouterr().err)
    assert merged(two, parts, tmp_path / "merged", "--project", project, "--data", shared) in {0, 1}


def test_no_line_of_a_shard_is_a_command_to_the_runner(
    two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = shutil.copytree(two / "parts", tmp_path / "parts")
    written(parts, stopped="no\n::error::forged\n##[warning]forged ##vso[task.complete]forged")

    assert merged(two, parts, tmp_path / "out", "--project", two / "pizzeria") == 2
    shown = capsys.readouterr().err
    assert "forged" in shown
    assert not re.search(r"^\s*::|##\[|##vso\[", shown, re.MULTILINE)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two projects, and of each the only shard of its run: of ``fold`` by folds, of ``suite`` with suites."""
    folder = tmp_path_factory.mktemp("answered")
    pizzeria = keep_sentences(shutil.copytree(EXAMPLES / "pizzeria", folder / "fold"), 6)
    (pizzeria / "tests" / "test_nlu.yml").unlink()
    shutil.copytree(EXAMPLES / "bike_workshop", folder / "suite")
    for kind in ("fold", "suite"):
        out = folder / f"{kind}-parts" / "1"
        assert turncheck("run", folder / kind, "--shard", "1/1", "--out", out, "--quiet", "--folds", "2") == 0
    return folder


ANSWERS: list[tuple[str, str, Callable[[Any], object]]] = [
    ("a fold with a sentence less", "fold", lambda answer: answer["FoldRun"][1]["()"].pop()),
    ("a fold of another number", "fold", lambda answer: answer["FoldRun"].__setitem__(0, 77)),
    (
        "a fold whose intents are numbers",
        "fold",
        lambda answer: answer["FoldRun"][1]["()"][0]["Parse"].__setitem__(1, 7),
    ),
    ("a suite with a case less", "suite", lambda answer: answer["SuiteAnswers"][0]["()"].pop()),
    ("a suite whose answers are text", "suite", lambda answer: answer["SuiteAnswers"].__setitem__(0, {"()": ["x"]})),
]


@pytest.mark.parametrize(("what", "kind", "change"), ANSWERS, ids=[what for what, _, _ in ANSWERS])
def test_answers_to_something_else_are_an_error(
    what: str,
    kind: str,
    change: Callable[[Any], object],
    answered: Path,
    tmp_path: Path,
    *,
    capsys: pytest.CaptureFixture[str],
    golden: Golden,
) -> None:
    place = shutil.copytree(answered / f"{kind}-parts", tmp_path / "parts") / "1"
    answers = json.loads(gzip.decompress((place / ANSWERS_NAME).read_bytes()))
    unit = next(unit for unit in answers if unit.startswith(f"{kind}:"))
    change(answers[unit])
    packed = PackedAnswers()
    for name, answer in answers.items():
        packed.add(name, json.dumps(answer))
    content = packed.content()
    (place / ANSWERS_NAME).write_bytes(content)
    written(place.parent, answers=hashlib.sha256(content).hexdigest())

    code = turncheck("report", "merge", place, "--project", answered / kind, "--out", tmp_path / "m", "--quiet")
    assert code == 2, what
    golden(capsys.readouterr().err)
