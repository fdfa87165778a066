"""An engine of its own package: registered, it runs through every command that measures, and no other file knows it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.engines.base import Capabilities, Engine
from turncheck.engines.conversation import Parse, PredictedIntent
from turncheck.report.codec import decode
from turncheck.report.model import EngineInfo
from turncheck.settings.engines import ENGINES, RegisteredEngine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.project.model import Project
    from turncheck.report.model import Report

FILES = {
    "config.yml": "pipeline: []\n",
    "domain.yml": "intents: [greet, order]\nresponses: {utter_hi: [{text: hi}]}\n",
    "data/nlu.yml": 'nlu:\n- {intent: greet, examples: "- hi\\n- hello"}\n- {intent: order, examples: "- a pizza"}\n',
    "data/rules.yml": "rules:\n- {rule: hi, steps: [{intent: greet}, {action: utter_hi}]}\n",
    "tests/test_nlu.yml": 'nlu:\n- {intent: greet, examples: "- hello you"}\n- {intent: order, examples: "- hello"}\n',
    "tests/test_stories.yml": "stories:\n- {story: hi, steps: [{user: hi there, intent: greet}, {action: utter_hi}]}\n",
    "tests/e2e_test_cases.yml": "test_cases:\n- {test_case: hi, steps: [{user: hi there}, {utter: utter_hi}]}\n",
}


class Greeter(Engine):
    """Takes every sentence with "hello" for a greeting, and says nothing."""

    capabilities = Capabilities(no_dialogue="it holds no dialogues", no_conversation="it says nothing")
    extractors = ()

    def info(self, **_: Any) -> EngineInfo:
        return EngineInfo(name="greeter", version="1")

    @property
    def nlu(self) -> Any:
        return GreeterNlu()


class GreeterNlu:
    info, extractors = EngineInfo(name="greeter", version="1"), ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        return [Parse(text, PredictedIntent("greet" if "hello" in text else "order", 1.0)) for text in texts]


@contextmanager
def opened(_: Any, __: Project, *___: Any) -> Iterator[Engine]:
    yield Greeter()


@pytest.fixture(autouse=True)
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "greeter", sys.modules[__name__])
    monkeypatch.setitem(ENGINES.built_in, "greeter", RegisteredEngine("greeter"))
    return tmp_path


def report(path: Path) -> Report:
    return decode(path.read_bytes())


def test_a_run_is_measured_by_it_and_says_what_it_cannot(bot: Path) -> None:
    assert run_command_line(["run", "--engine", "greeter", "--baseline", "none", "--quiet"]) == 0
    written = report(bot / "results" / "report.json")
    assert written.engine == EngineInfo(name="greeter", version="1")
    assert written.nlu is not None
    assert [(one.expected.intent, one.correct) for one in written.nlu.predictions] == [
        ("greet", True),
        ("order", False),
    ]
    skipped = {one.evaluation: one.reason for one in written.skipped}
    assert skipped == {
        "core": "it holds no dialogues",
        "e2e": "it says nothing",
        "batch": "the project has no batch suites",
    }


def test_its_sentences_are_tested_by_themselves(bot: Path) -> None:
    flags = ["--engine", "greeter", "--nlu", "tests/test_nlu.yml", "--json", "report.json", "--no-plot", "--quiet"]
    assert run_command_line(["test", "nlu", *flags]) == 0
    written = report(bot / "report.json")
    assert written.engine == EngineInfo(name="greeter", version="1")
    assert written.nlu is not None
    assert written.nlu.intents is not None
    assert written.nlu.intents.accuracy == 0.5


@pytest.mark.parametrize(("kind", "reason"), [("core", "it holds no dialogues"), ("e2e", "it says nothing")])
def test_a_command_that_it_cannot_do_says_why(kind: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["test", kind, "--engine", "greeter"]) == 2
    assert reason in capsys.readouterr().err


def test_without_training_there_are_no_folds(bot: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    (bot / "tests" / "test_nlu.yml").unlink()
    monkeypatch.setattr(Greeter, "capabilities", Capabilities(no_training="it learns nothing"))
    run_command_line(["run", "--engine", "greeter", "--baseline", "none", "--evaluations", "nlu", "--quiet"])
    golden(*(one.reason for one in report(bot / "results" / "report.json").skipped if one.evaluation == "nlu"))


def test_settings_of_another_engine_are_refused(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["run", "--engine", "greeter", "--rasa-url", "http://localhost"]) == 2
    golden(capsys.readouterr().err, only="--rasa-url")


def test_an_engine_that_nobody_registered_is_refused(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["run", "--engine", "greter"]) == 2
    golden(capsys.readouterr().err.lower())
