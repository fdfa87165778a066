"""``--allow-custom-code``: each command that trains loads the project's own component, and only then."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from golden_texts import Golden
from joblib import Parallel, delayed

from turncheck.cli import run_command_line

FILES = {
    "capitals.py": """
class Capitals:
    @classmethod
    def create(cls, config, model_storage, resource, execution_context):
        return cls()

    def process(self, messages):
        for message in messages:
            if message.get("text").isupper():
                message.set("intent", {"name": "bye", "confidence": 1.0}, add_to_output=True)
        return messages
""",
    "config.yml": """
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
- name: capitals.Capitals
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
- intent: greet
  examples: |
    - hello there
    - good morning
    - hello friend
    - hello you
    - hello all
- intent: bye
  examples: |
    - see you later
    - good bye
    - until tomorrow
    - bye for now
    - farewell
rules:
- {rule: greet, steps: [{intent: greet}, {action: utter_hi}]}
- {rule: bye, steps: [{intent: bye}, {action: utter_bye}]}
""",
    "tests/test_stories.yml": """
version: "3.1"
stories:
- {story: loud, steps: [{user: HELLO, intent: bye}, {action: utter_bye}]}
""",
    "tests/e2e_test_cases.yml": """
test_cases:
- {test_case: loud, steps: [{user: HELLO}, {utter: utter_bye}]}
""",
    "more.yml": """
version: "3.1"
nlu:
- {intent: greet, examples: "- good day\\n- good evening\\n- good night\\n- good morning"}
- {intent: bye, examples: "- XYLO\\n- QUIZ"}
""",
    "loud.yml": """
version: "3.1"
nlu: [{intent: bye, examples: "- HELLO"}]
""",
}
COMMANDS = {
    "parse": (("parse", "HELLO"), "bye 1.00"),
    "core": (("test", "core", "--e2e", "--no-plot"), "Stories passed  1/1"),
    "e2e": (("test", "e2e"), " cases passed  1/1"),
    "shell": (("shell",), "So long"),
    "nlu": (("test", "nlu", "--nlu", "loud.yml", "--no-plot"), "right 1, wrong 0"),
    "nlu in folds": (
        ("test", "nlu", "--nlu", "more.yml", "--cross-validation", "--folds", "2", "--no-plot", "--workers", "2"),
        "right 6, wrong 0",
    ),
    "both": (("test", "--nlu", "loud.yml", "--no-plot"), "right 1, wrong 0"),
}


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("bot")
def test_a_command_runs_the_component_only_with_the_flag(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, expected = COMMANDS[name]
    assert run_command_line(["train", "--quiet"]) == 0
    for flag in ([], ["--allow-custom-code"]):
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.StringIO("HELLO\n"))
        run_command_line([*arguments, "--quiet", *flag])
        assert (expected in capsys.readouterr().out) == bool(flag)


def test_a_comparison_with_the_projects_code_writes_no_models(bot: Path) -> None:
    (bot / "other.yml").write_text(FILES["config.yml"], encoding="utf-8")
    arguments = ["test", "nlu", "--config", "config.yml", "other.yml", "--runs", "1", "--percentages", "0", "--no-plot"]
    assert run_command_line([*arguments, "--allow-custom-code", "--quiet"]) == 0
    assert not list((bot / "nlu_comparison_results").rglob("*.tar.gz"))
    assert run_command_line([*arguments, "--quiet", "--out", "without"]) == 0
    assert len(list((bot / "without").rglob("*.tar.gz"))) == 2


def test_workers_that_were_started_elsewhere_find_the_projects_code(
    bot: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments, expected = COMMANDS["nlu in folds"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    Parallel(n_jobs=2)(delayed(os.getcwd)() for _ in range(4))  # these stay, and are used again
    monkeypatch.chdir(bot)
    run_command_line([*arguments, "--quiet", "--allow-custom-code"])
    assert expected in capsys.readouterr().out


NO_CLASSIFIER = {
    "nothing else": FILES["config.yml"].replace("- name: DIETClassifier\n", ""),
    "a fallback": FILES["config.yml"]
    .replace("- name: DIETClassifier\n", "")
    .replace("capitals.Capitals\n", "capitals.Capitals\n- name: FallbackClassifier\n"),
    "an extractor": FILES["config.yml"].replace("DIETClassifier", "CRFEntityExtractor"),
}


@pytest.mark.parametrize("beside", NO_CLASSIFIER)
def test_intents_that_only_code_left_out_may_classify_are_not_judged(bot: Path, beside: str, golden: Golden) -> None:
    (bot / "config.yml").write_text(NO_CLASSIFIER[beside], encoding="utf-8")
    (bot / "tests").mkdir(exist_ok=True)
    stories = "stories:\n- story: greets\n  steps:\n  - {intent: greet, user: hello my friend}\n  - action: utter_hi\n"
    (bot / "tests" / "test_stories.yml").write_text(f'version: "3.1"\n{stories}', encoding="utf-8")

    assert run_command_line(["run", "--quiet", "--out", "results"]) == 0

    report = json.loads((bot / "results" / "report.json").read_bytes())
    (why,) = [one["reason"] for one in report["skipped"] if one["evaluation"] == "nlu"]
    assert report["nlu"] is None
    assert all(story["passed"] for story in report["core"]["stories"])
    golden(why)
    run_command_line(["run", "--quiet", "--out", "results", "--allow-custom-code"])
    assert json.loads((bot / "results" / "report.json").read_bytes())["nlu"] is not None
