"""``pytest --turncheck``, in processes of its own, as somebody uses it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
BOT = {
    "config.yml": "pipeline:\n- name: WhitespaceTokenizer\n- name: KeywordIntentClassifier\n"
    "policies:\n- name: RulePolicy\n",
    "domain.yml": "intents: [greet, order]\nresponses:\n  utter_hi:\n  - text: hi\n  utter_no:\n  - text: no\n",
    "data/nlu.yml": 'nlu:\n- {intent: greet, examples: "- hello\\n- hi"}\n- {intent: order, examples: "- pizza"}\n',
    "data/rules.yml": "rules:\n- rule: hi\n  steps:\n  - intent: greet\n  - action: utter_hi\n"
    "- rule: no\n  steps:\n  - intent: order\n  - action: utter_no\n",
    "tests/test_stories.yml": "stories:\n"
    "- story: right\n  steps:\n  - user: hello\n    intent: greet\n  - action: utter_hi\n"
    "- story: wrong\n  steps:\n  - user: a pizza\n    intent: order\n  - action: utter_hi\n",
    "tests/test_nlu.yml": 'nlu:\n- {intent: greet, examples: "- hello you"}\n- {intent: order, examples: "- what"}\n',
    "tests/test_own.py": "def test_own(): pass\n",
}


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    for name, content in BOT.items():
        (tmp_path / "bot" / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / "bot" / name).write_text(content)
    return tmp_path / "bot"


def run(bot: Path, *arguments: str, others: bool = False) -> subprocess.CompletedProcess[str]:
    """Run pytest with the plugin; with ``others`` it looks for whatever is installed, which takes longer."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    if others:
        is_found = any(point.name == "turncheck" for point in entry_points(group="pytest11"))
        command += ["-p", "no:randomly", *([] if is_found else ["-p", "turncheck.pytest_plugin"])]
    else:
        command += ["-p", "turncheck.pytest_plugin"]
    return subprocess.run(
        [*command, *arguments],
        cwd=bot.parent,
        env={**os.environ, **({} if others else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})},
        capture_output=True,
        text=True,
        check=False,
    )


def counted(done: subprocess.CompletedProcess[str]) -> str:
    """How many tests of each outcome there were."""
    return done.stdout.splitlines()[-1].strip("= ").partition(" in ")[0]


ALL = "2 failed, 3 passed, 1 skipped"


def test_names_and_answers_of_a_project_are_text(bot: Path) -> None:
    name = "ev\\u202eil \\e[31m##vso[task.complete]"
    for file, (old, new) in {
        "tests/test_stories.yml": ("story: wrong", f'story: "{name}"'),
        "domain.yml": ("text: no", f'text: "{name}"'),
    }.items():
        (bot / file).write_text((bot / file).read_text().replace(old, new))
    done = run(bot, "--turncheck", "bot", "-v")
    assert counted(done) == ALL
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|##vso", done.stdout)


def test_stories_and_gates_are_tests_with_file_and_line(bot: Path) -> None:
    done = run(bot, "--turncheck", "bot", "-v", "--junitxml", "junit.xml", "-o", "junit_family=xunit1", others=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert counted(done) == ALL
    assert "bot/tests/test_stories.yml::story: right PASSED" in done.stdout
    assert "bot/tests/test_stories.yml::story: wrong FAILED" in done.stdout
    assert "gate: test-failures FAILED" in done.stdout
    assert "test_own" not in done.stdout
    assert f"{bot}/tests/test_stories.yml:11: " in done.stdout
    assert "Traceback" not in done.stdout
    document = ET.parse(bot.parent / "junit.xml")  # noqa: S314 - written by pytest
    written = {one.get("name"): one for one in document.iter("testcase")}
    wrong = written["story: wrong"]
    assert (wrong.get("file"), wrong.find("failure") is not None) == ("bot/tests/test_stories.yml", True)
    assert written["story: right"].find("failure") is None


def test_an_error_in_the_data_fails_though_no_finding_is_a_test(bot: Path) -> None:
    domain = bot / "domain.yml"
    domain.write_text(f"{domain.read_text()}forms: 5\n")
    done = run(bot, "--turncheck", "bot", "-k", "not wrong and not test-failures", "-v")
    assert done.returncode == 1, done.stdout
    assert "gate: errors FAILED" in done.stdout


def test_they_are_chosen_and_ended_as_any_tests(bot: Path) -> None:
    chosen = run(bot, "--turncheck", "bot", "-k", "right")
    assert chosen.returncode == 0
    assert "1 passed" in chosen.stdout
    assert "collected 6 items / 5 deselected / 1 selected" in chosen.stdout
    first = run(bot, "--turncheck", "bot", "-x")
    assert "1 failed, 1 passed" in first.stdout
    beside = run(bot, "bot/tests/test_own.py", "--turncheck", "bot", "-k", "own or right")
    assert "2 passed" in beside.stdout


def test_sentences_must_be_understood_surely_if_a_confidence_is_given(bot: Path) -> None:
    done = run(bot, "--turncheck", "bot", "--turncheck-confidence", "0.9", "-k", "sentence", "-v")
    assert "bot/tests/test_nlu.yml::sentence: hello you PASSED" in done.stdout
    assert "bot/tests/test_nlu.yml::sentence: what FAILED" in done.stdout
    assert "expected order, got " in done.stdout


def test_workers_of_xdist_run_them(bot: Path) -> None:
    assert counted(run(bot, "--turncheck", "bot", "-p", "xdist", "-n", "2")) == ALL


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--turncheck", "nowhere"), "no such project folder: nowhere"),
        (("--turncheck", "bot", "--turncheck-set", "folds"), "expected NAME=VALUE"),
        (("--turncheck", "bot", "--turncheck-set", "fold=3"), "unknown setting 'fold'"),
        (("--turncheck", "bot", "--turncheck-confidence", "7"), "expected a number from 0 to 1"),
        (("--turncheck-confidence", "0.5"), "need an assistant"),
    ],
)
def test_a_mistake_is_said_in_words(bot: Path, arguments: tuple[str, ...], words: str) -> None:
    done = run(bot, *arguments)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_without_the_option_nothing_is_imported_and_nothing_changes(bot: Path) -> None:
    (bot / "tests" / "test_own.py").write_text(
        "import sys\n"
        "def test_own():\n"
        "    loaded = {one for one in sys.modules if one.startswith('turncheck')}\n"
        "    assert loaded == {'turncheck', 'turncheck.pytest_plugin'}\n"
    )
    done = run(bot, "bot/tests/test_own.py", others=True)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


def test_it_is_an_entry_point_of_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"turncheck": "turncheck.pytest_plugin"}
    assert any(one.startswith("pytest") for one in project["optional-dependencies"]["pytest"])
