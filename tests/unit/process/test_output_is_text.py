"""Whatever a project's names are, no command prints one of the host's commands or a terminal's sequence."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from in_process import turncheck

from turncheck.messages.plain_text import plain
from turncheck.process.fault import fault_report
from turncheck.process.screen import Console

if TYPE_CHECKING:
    from pathlib import Path

FORGED = "x\n::error::forged\r::warning::f ##[error]f ##vso[task.complete]f ##teamcity[f] \x1b[31mf \u2028::notice::f"
_COMMAND = re.compile(r"(?m)^\s*::|##\[|##vso\[|##teamcity\[")
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


def assert_mere_text(shown: str) -> None:
    assert not _COMMAND.search(shown), shown
    assert not _CONTROL.search(shown), ascii(shown)


@pytest.mark.parametrize("name", ["note", "alarm", "progress"])
@pytest.mark.parametrize("about", ["", FORGED])
def test_the_console_shows_what_it_is_given_as_text(name: str, about: str) -> None:
    stream = io.StringIO()
    getattr(Console(stream=stream, about=about), name)(FORGED)
    assert "forged" in stream.getvalue()
    assert_mere_text(stream.getvalue())


def test_a_step_is_text() -> None:
    stream = io.StringIO()
    with Console(stream=stream).step("core", FORGED):
        pass
    assert_mere_text(stream.getvalue())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("about", ["", "bot 1"])
@pytest.mark.parametrize("indent", ["", "    "])
def test_on_a_terminal_notes_are_wrapped_between_words(
    about: str, indent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    names = [f"some-part-of-it/report_{number}.json" for number in range(9)]
    long = f"https://{'x' * 70}/"
    notes = f"{indent}Written to results/: {', '.join(names)} {long}\nshort"
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        Console(stream=stream, about=about).note(notes)
    lines = terminal.getvalue().splitlines()
    assert all(len(line) <= 60 for line in lines if long not in line)
    assert terminal.getvalue().split() == file.getvalue().split()
    assert len(file.getvalue().splitlines()) == 2
    assert lines[0].startswith(f"{about}: {indent}Written to" if about else f"{indent}Written to")


def test_on_a_terminal_only_the_console_itself_moves_the_cursor() -> None:
    stream = Terminal()
    console = Console(stream=stream)
    with console.step("core", FORGED):
        console.progress(FORGED)
    assert_mere_text(stream.getvalue().replace("\r\x1b[2K", ""))


def test_a_crash_report_is_text() -> None:
    report = fault_report(ValueError(FORGED))
    assert "forged" in report
    assert_mere_text(report)


def test_plain_text_is_as_it_was() -> None:
    assert plain("Café — 4 × 5\n  indented «ünïcode» 漢字 🎉") == "Café — 4 × 5\n  indented «ünïcode» 漢字 🎉"
    assert plain(plain(FORGED)) == plain(FORGED)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An assistant in which everything that has a name has one of the forger's."""
    in_yaml = FORGED.partition(" \x1b")[0]  # Rasa's files may hold no control character, however it is written
    name, other = json.dumps(f"{in_yaml}a"), json.dumps(f"{in_yaml}b")
    sentences = {word: [f"{in_yaml} {word} {number}" for number in range(6)] for word in ("hello", "goodbye")}
    examples = {word: "".join(f"  - text: {json.dumps(one)}\n" for one in of) for word, of in sentences.items()}
    files: dict[str, str] = {
        "config.yml": "language: en\npipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n"
        "- name: DIETClassifier\npolicies:\n- name: RulePolicy\n- name: MemoizationPolicy\n",
        "domain.yml": f"intents: [{name}, {other}]\nentities: [{name}]\nactions: [{name}]\n"
        f"slots:\n  {name}:\n    type: text\n    mappings: []\nresponses:\n  utter_a:\n  - text: {name}\n",
        "data/nlu.yml": f"nlu:\n- intent: {name}\n  examples:\n{examples['hello']}"
        f"- intent: {other}\n  examples:\n{examples['goodbye']}",
        "data/rules.yml": f"rules:\n- rule: {name}\n  steps:\n  - intent: {name}\n  - action: utter_a\n",
        "data/stories.yml": f"stories:\n- story: {name}\n  steps:\n  - intent: {other}\n  - action: utter_a\n"
        f"  - checkpoint: {name}\n",
        "tests/test_stories.yml": f"stories:\n- story: {name}\n  steps:\n  - user: {name}\n    intent: {other}\n"
        f"  - action: {name}\n",
        "tests/e2e.yml": f"test_cases:\n- test_case: {name}\n  steps:\n  - user: {name}\n  - bot: {other}\n",
        "tests/suite.json": json.dumps(
            {"name": FORGED, "testCases": [{"input": FORGED, "intent": FORGED}, {"input": "hi", "intent": "b"}]}
        ),
        "data/old.md": f"## intent:{FORGED.partition(chr(10))[2]}\n- ::error::a\n- ##[error]b\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


COMMANDS: list[tuple[Any, ...]] = [
    ("run",),
    ("data", "validate"),
    ("data", "split", "nlu"),
    ("train", "--out", "models"),
    ("test", "nlu", "--cross-validation", "--folds", "2", "--no-plot"),
    ("test", "core", "--no-plot"),
    ("test", "e2e", "tests/e2e.yml"),
    ("test", "batch", "tests/suite.json"),
    ("test", "robustness"),
    ("test", "strength"),
    ("suggest",),
    ("parse", f"{FORGED} hello"),
    ("parse", "--format", "jsonl", "##[error]f hello"),
    ("data", "validate", "--format", "json"),
    ("data", "validate", "--format", "sarif"),
    ("suite", "from-data", "--out", "s.json"),
    ("data", "convert", "nlu", "data/old.md", "--dry-run"),
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_one_of_the_hosts(project: Path, command: tuple[str, ...]) -> None:
    done = turncheck(*command, cwd=project)

    assert done.stdout + done.stderr
    if {"json", "jsonl"} & {*command}:
        assert "##[error]" in json.dumps(json.loads(done.stdout))  # what it says is the same
    assert_mere_text(done.stdout)
    assert_mere_text(done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("command", [("run",), ("data", "validate"), ("train",)], ids=" ".join)
def test_an_error_that_names_it_is_text(project: Path, command: tuple[str, ...]) -> None:
    with (project / "config.yml").open("a") as file:
        file.write('- name: "x\\n::error::forged ##[error]f"\n')

    done = turncheck(*command, cwd=project)

    assert "forged" in done.stdout + done.stderr
    assert_mere_text(done.stdout + done.stderr)
