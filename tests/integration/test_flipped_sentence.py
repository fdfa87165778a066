"""A training sentence draws a story's sentence away, while what is understood stays within noise: what a team sees."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from in_process import turncheck

pytestmark = pytest.mark.usefixtures("_shared_cache")
FILES = {
    "config.yml": """\
recipe: default.v1
language: en
assistant_id: shop
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: LogisticRegressionClassifier
policies:
- name: RulePolicy
""",
    "domain.yml": """\
version: "3.1"
intents: [greet, ask_hours, goodbye]
responses:
  utter_hello: [{text: Hello!}]
  utter_hours: [{text: From nine to five.}]
  utter_bye: [{text: Bye!}]
""",
    "data/rules.yml": """\
version: "3.1"
rules:
- {rule: hello, steps: [{intent: greet}, {action: utter_hello}]}
- {rule: hours, steps: [{intent: ask_hours}, {action: utter_hours}]}
- {rule: bye, steps: [{intent: goodbye}, {action: utter_bye}]}
""",
    "data/nlu.yml": """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hi there
    - good morning
    - good evening friend
- intent: ask_hours
  examples: |
    - when do you open
    - what are the opening hours
    - are you open today
    - when do you close
- intent: goodbye
  examples: |
    - bye
    - see you later
    - have a nice day
    - until next time
""",
    "tests/test_nlu.yml": """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello friend
    - hi
    - morning
- intent: ask_hours
  examples: |
    - what hours do you open
    - opening hours today
    - when are you open
- intent: goodbye
  examples: |
    - bye bye
    - see you next time
    - nice day
""",
    "tests/test_stories.yml": """\
version: "3.1"
stories:
- story: evening
  steps:
  - user: good evening to you
    intent: greet
  - action: utter_hello
  - user: bye
    intent: goodbye
  - action: utter_bye
- story: hours
  steps:
  - user: when do you open
    intent: ask_hours
  - action: utter_hours
""",
}
COLLIDING = "".join(
    f"    - good evening to you {more}\n" for more in ("when do you close", "are you open", "and until when", "hours")
)


def document(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text("utf-8"))


@pytest.fixture(scope="module")
def pull_request(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The folder with the base's results and the head's, and how the head's run ended, by default settings."""
    folder = tmp_path_factory.mktemp("shop")
    for name, content in FILES.items():
        path = folder / "bot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    done = turncheck("run", "bot", "--baseline", "none", "--out", "base", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    data = folder / "bot" / "data" / "nlu.yml"
    data.write_text(data.read_text().replace("    - when do you open\n", f"    - when do you open\n{COLLIDING}"))
    run = ("run", "bot", "--baseline", "base/report.json", "--out")
    done = turncheck(*run, "head", cwd=folder)
    assert turncheck(*run, "again", "--workers", "2", cwd=folder).returncode == done.returncode
    return folder, done


def test_what_flips_within_noise_fails_nothing_and_is_no_red_mark(
    pull_request: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = pull_request
    assert done.returncode == 0, done.stdout
    comparison = document(folder / "head", "comparison.json")
    judged = {metric["name"]: metric["judgement"] for metric in comparison["metrics"]}
    assert judged["nlu.intents.f1"] in {"noise", "same"}
    assert judged["core.passed"] == judged["core.misunderstood"] == "noise"
    assert judged["core.as_written.passed"] == "same"
    comment = (folder / "head" / "comment.md").read_text("utf-8")
    assert "🔴" not in comment
    assert "Newly failing" not in comment
    assert "1 story newly misunderstood" in comment


def test_the_sentence_and_the_one_that_drew_it_away_are_named_with_their_places(
    pull_request: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = pull_request
    core = document(folder / "head", "report.json")["core"]
    (story,) = (one for one in core["stories"] if not one["passed"])
    (sentence,) = story["misunderstood"]

    assert core["as_written"] == {"passed": 2, "failed": 0}
    assert (story["name"], story["as_written"]) == ("evening", True)
    assert (sentence["text"], sentence["location"]["line"]) == ("good evening to you", 5)
    assert (sentence["expected"]["intent"], sentence["predicted"]["intent"]) == ("greet", "ask_hours")
    nearest = sentence["neighbours"][0]
    assert nearest["text"] in COLLIDING
    assert nearest["location"]["path"] == "data/nlu.yml"
    assert re.search(
        r"'good evening to you': expected greet, got ask_hours.*\n +- bot/data/nlu.yml:\d+:\d+: new in", done.stdout
    )


def test_rasas_files_call_it_failed_as_rasa_does(
    pull_request: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = pull_request
    rasa = folder / "head" / "rasa"
    assert document(rasa, "story_report.json")["conversation_accuracy"]["correct"] == 1
    assert "# predicted: ask_hours: good evening to you" in (rasa / "failed_test_stories.yml").read_text("utf-8")


def test_two_runs_say_the_same_with_any_number_of_workers(
    pull_request: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = pull_request
    one, other = (document(folder / name, "report.json")["core"] for name in ("head", "again"))
    assert one == other


def test_it_fails_the_run_where_it_is_asked_to(
    pull_request: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = pull_request
    reports = ("base/report.json", "head/report.json")
    for rule in ("test-failures", "new-failures"):
        done = turncheck(
            *("report", "compare", *reports, "--fail-on", rule, "--misunderstood", "fail", "--out", f"as-{rule}"),
            cwd=folder,
        )
        assert done.returncode == 1, done.stdout
        (gate,) = (one for one in document(folder / f"as-{rule}", "verdict.json")["gates"] if one["name"] == rule)
        assert "misunderstood: 'good evening to you': expected greet, got ask_hours" in gate["failed_by"][0]["what"]


def test_what_rasa_wrote_of_it_is_imported_as_misunderstood(
    pull_request: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = pull_request
    done = turncheck("report", "import", "head/rasa", "--project", "bot", "--out", "imported", cwd=folder)
    assert done.returncode == 0, done.stderr
    (story,) = (one for one in document(folder / "imported", "report.json")["core"]["stories"] if not one["passed"])
    (sentence,) = story["misunderstood"]

    assert story["as_written"] is True
    assert sentence["text"] == "good evening to you"
    assert sentence["location"] == {"path": "tests/test_stories.yml", "line": 5, "column": 5}
    assert (sentence["expected"]["intent"], sentence["predicted"]["intent"]) == ("greet", "ask_hours")


def test_test_core_is_rasas_without_e2e_it_passes_and_with_it_it_fails(
    pull_request: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = pull_request
    for flags, code in (((), 0), (("--e2e",), 1)):
        done = turncheck(
            "test", "core", "--fail-on-prediction-errors", "--no-plot", "--out", "../core", *flags, cwd=folder / "bot"
        )
        assert done.returncode == code, done.stdout
        assert ("misunderstood in stories (1)" in done.stdout) == bool(flags)
