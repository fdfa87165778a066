"""``train core`` and ``test core`` as whole commands: what they read, write, say, and how they end."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from unittest.mock import patch

import certifi
import pytest
from golden_texts import Golden
from printed import passed_tests
from small_project import write_project
from web_servers import Answer, serving

from turncheck.cli import run_command_line
from turncheck.messages.errors import EXIT_FAILED, EXIT_NOT_DONE, EXIT_OK

DOMAIN = """
version: "3.1"
intents: [greet, bye]
responses:
  utter_hi: [{text: hi}]
  utter_bye: [{text: bye}]
  utter_never: [{text: never}]
"""
CONFIG = """
recipe: default.v1
policies: [{name: MemoizationPolicy}, {name: RulePolicy}]
"""
RULES = """
rules:
- rule: hello
  steps: [{intent: greet}, {action: utter_hi}]
"""
STORIES = """
stories:
- story: leave
  steps: [{intent: bye}, {action: utter_bye}]
"""
TESTS = """
stories:
- story: right
  steps: [{intent: greet}, {action: utter_hi}]
- story: wrong
  steps: [{intent: greet}, {action: utter_bye}]
- story: right again
  steps: [{intent: greet}, {action: utter_hi}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in {
        "domain.yml": DOMAIN,
        "config.yml": CONFIG,
        "data/rules.yml": RULES,
        "data/stories.yml": STORIES,
        "tests/test_stories.yml": TESTS,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.follows(
    page="rasa-3", sentence="`rasa test core --stories FILE` writes failed stories to `failed_test_stories.yml`."
)
@pytest.mark.follows(page="rasa-3", sentence="A story fails if at least one action is predicted wrongly.")
@pytest.mark.follows(
    page="rasa-cli", sentence="`--fail-on-prediction-errors` ends with an error if a prediction is wrong."
)
def test_failed_stories_do_not_fail_the_command_unless_asked_to(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(["test", "core", "--no-plot"]) == EXIT_OK
    shown = capsys.readouterr().out
    assert passed_tests(shown) == {"Stories": "2/3"}
    golden(shown, only="Identical")
    assert "tests/test_stories.yml:6:29: story wrong" in shown
    of_file = ["--stories", "tests/test_stories.yml", "--fail-on-prediction-errors"]
    assert run_command_line(["test", "core", "--no-plot", *of_file]) == EXIT_FAILED
    assert "predicted: utter_hi" in (project / "results" / "failed_test_stories.yml").read_text()


@pytest.mark.follows(page="rasa-3", sentence="`rasa test core` saves a confusion matrix as `story_confmat.pdf`.")
@pytest.mark.follows(
    page="rasa-cli", sentence="`--out`, `--successes`, `--no-errors` and `--no-plot` choose where and what is written."
)
def test_flags_choose_the_files(project: Path) -> None:
    run_command_line(
        ["test", "core", "--no-plot", "--no-errors", "--no-warnings", "--successes", "--out", "some", "-q"]
    )
    names = {path.name for path in (project / "some").iterdir()}
    assert names == {"story_report.json", "TEDPolicy_report.json", "successful_test_stories.yml"}
    run_command_line(["test", "core", "--out", "all", "-q"])
    assert {"story_confusion_matrix.png", "story_confmat.pdf"} <= {path.name for path in (project / "all").iterdir()}


def test_the_report_names_the_place_of_each_wrong_step_and_what_no_test_reaches(project: Path) -> None:
    run_command_line(["test", "core", "--no-plot", "-q", "--json", "report.json"])
    report = json.loads((project / "report.json").read_text())
    wrong = next(story for story in report["core"]["stories"] if not story["passed"])
    step = next(step for step in wrong["steps"] if not step["passed"])
    assert step["location"]["path"] == "tests/test_stories.yml"
    assert (step["expected"], step["predicted"], step["policy"]) == ("utter_bye", "utter_hi", "RulePolicy")
    assert [story["duplicate"] for story in report["core"]["stories"]] == [False, False, True]
    not_covered = {item["name"] for item in report["coverage"]["responses"]["items"] if not item["covered"]}
    assert "utter_never" in not_covered


@pytest.mark.follows(page="rasa-cli", sentence="`--max-stories` limits how many stories are tested.")
def test_max_stories_limits_the_stories(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["test", "core", "--no-plot", "-q", "--json", "all.json"]) == EXIT_OK
    assert "Not run" not in capsys.readouterr().out
    assert run_command_line(["test", "core", "--no-plot", "-q", "--max-stories", "1", "--json", "one.json"]) == EXIT_OK
    shown = capsys.readouterr().out
    assert passed_tests(shown)["Stories"].endswith("/1")
    assert "Not run: 2 of 3 stories (--max-stories 1)." in shown
    assert [reached(project / name, "responses") for name in ("all.json", "one.json")] == [
        {"utter_hi", "utter_bye"},
        {"utter_hi"},
    ]


def reached(report: Path, kind: str) -> set[str]:
    return {item["name"] for item in json.loads(report.read_text())["coverage"][kind]["items"] if item["covered"]}


def test_a_model_is_used_while_it_fits_the_files_and_not_after(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(["train", "core", "-q"]) == EXIT_OK
    assert [path.name.startswith("core-") for path in (project / "models").iterdir()] == [True]
    capsys.readouterr()
    run_command_line(["test", "core", "--no-plot", "-v"])
    assert "models/core-" in capsys.readouterr().err
    (project / "data" / "stories.yml").write_text(STORIES + "\n")
    run_command_line(["test", "core", "--no-plot"])
    told = capsys.readouterr().err
    assert "models/core-" not in told
    golden(told, only="memory")


def test_the_same_files_give_the_same_model(project: Path) -> None:
    for name in ("one", "two"):
        assert run_command_line(["train", "core", "-q", "--fixed-model-name", name]) == EXIT_OK
    models = [(project / "models" / f"{name}.tar.gz").read_bytes() for name in ("one", "two")]
    assert models[0] == models[1]
    with tarfile.open(project / "models" / "one.tar.gz") as archive:
        assert all(not name.endswith((".pkl", ".pickle")) for name in archive.getnames())


def test_a_damaged_model_and_a_foreign_one_are_told_apart(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    run_command_line(["train", "core", "-q", "--fixed-model-name", "m"])
    model = project / "models" / "m.tar.gz"
    model.write_bytes(model.read_bytes()[:-200])
    assert run_command_line(["test", "core", "-m", str(model)]) == EXIT_NOT_DONE
    assert "is damaged" in capsys.readouterr().err
    with tarfile.open(project / "foreign.tar.gz", "w:gz") as archive:
        archive.add(project / "domain.yml", "domain.yml")
    assert run_command_line(["test", "core", "-m", "foreign.tar.gz"]) == EXIT_NOT_DONE
    golden(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stories", "nowhere"], "does not exist"),
        (["--model", "nowhere"], "no model"),
        (["--config", "nowhere.yml"], "does not exist"),
        (["--stories", "data/rules.yml"], "no test stories"),
        (["--stories", "data", "--e2e"], "no test stories"),
        (["--url", "http://example.com/stories.yml"], "is not an https address"),
        (["--max-stories", "0"], "at least 1, not '0'"),
    ],
)
def test_what_cannot_be_done_says_why_and_ends_with_2(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run_command_line(["test", "core", "--no-plot", *arguments]) == EXIT_NOT_DONE
    assert said in capsys.readouterr().err


def test_unreadable_test_stories_are_not_passed_over(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "tests" / "test_stories.yml").write_text("stories: [")
    assert run_command_line(["test", "core", "--no-plot"]) == EXIT_NOT_DONE
    assert "tests/test_stories.yml" in capsys.readouterr().err


@pytest.mark.follows(page="rasa-3", sentence="Rules that contradict stories or rules abort the training.")
@pytest.mark.parametrize(("section", "kind"), [("rules", "rule"), ("stories", "story")])
def test_contradicting_rules_end_training_with_1_and_both_names(
    project: Path, section: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = f"{section}: [{{{kind}: other, steps: [{{intent: greet}}, {{action: utter_bye}}]}}]"
    (project / "data" / "more.yml").write_text(other)
    assert run_command_line(["train", "core"]) == EXIT_FAILED
    printed = capsys.readouterr().err
    assert "'hello'" in printed
    assert "'other'" in printed
    assert not (project / "models").exists()


def test_nothing_to_learn_from_ends_training_with_2(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    for name in ("rules.yml", "stories.yml"):
        (project / "data" / name).unlink()
    assert run_command_line(["train", "core"]) == EXIT_NOT_DONE
    golden(capsys.readouterr().err)


@pytest.mark.follows(
    page="rasa-3", sentence="Several models of `--model` are compared, without a graph (as Rasa 3.6.21 does)."
)
def test_several_models_are_compared(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        run_command_line(["train", "core", "-q", "--fixed-model-name", name])
    assert run_command_line(["test", "core", "-q", "--model", "models/a.tar.gz", "models/b.tar.gz"]) == EXIT_OK
    assert json.loads((project / "results" / "results.json").read_text()) == {"a.tar.gz": [1], "b.tar.gz": [1]}
    assert [path.name for path in (project / "results").iterdir()] == ["results.json"]
    assert "models/b.tar.gz: 1 of 2 stories right" in capsys.readouterr().out


@pytest.mark.follows(
    page="rasa-1.0", sentence="Several models of `--model` are compared, and a graph shows which is best."
)
def test_compared_models_of_rasa_1_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(Path(__file__).parents[2] / "examples" / "migration" / "rasa-1", tmp_path / "bot")
    monkeypatch.chdir(tmp_path / "bot")
    for name in ("a", "b"):
        assert run_command_line(["train", "core", "-q", "--fixed-model-name", name]) == EXIT_OK
    command = ["test", "core", "-q", "--model", "models/a.tar.gz", "models/b.tar.gz"]
    assert run_command_line([*command, "--no-plot"]) == EXIT_OK
    assert [path.name for path in Path("results").iterdir()] == ["results.json"]
    assert run_command_line(command) == EXIT_OK
    assert Path("results", "core_model_comparison_graph.pdf").read_bytes().startswith(b"%PDF")
    assert Path("results", "core_model_comparison_graph.png").read_bytes().startswith(b"\x89PNG")


def test_models_with_the_same_file_name_are_told_apart(project: Path) -> None:
    models = []
    for folder in ("one", "two"):
        run_command_line(["train", "core", "-q", "--fixed-model-name", "model", "--out", folder])
        models.append(f"{folder}/model.tar.gz")
    assert run_command_line(["test", "core", "-q", "--no-plot", "--model", *models]) == EXIT_OK
    assert json.loads((project / "results" / "results.json").read_text()) == {name: [1] for name in models}


@pytest.mark.follows(
    page="rasa-cli", sentence="`--url` fetches the test stories, with the certificates in `SSL_CERT_FILE`."
)
def test_the_certificates_of_the_environment_count_for_url(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = (project / "tests" / "test_stories.yml").read_bytes()
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    with serving({"/test_stories.yml": Answer(body=content)}) as server:
        command = ["test", "core", "--no-plot", "--url", f"{server.address}/test_stories.yml"]
        assert run_command_line(command) == EXIT_NOT_DONE
        assert "SSL_CERT_FILE" in capsys.readouterr().err
        monkeypatch.setenv("SSL_CERT_FILE", str(server.network.ca_file))
        assert run_command_line(command) == EXIT_OK
    assert "test_stories_from_url.yml" in capsys.readouterr().out


@pytest.mark.parametrize("other", ["CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_certificates_count_beside_those_of_another_variable(
    project: Path, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (project / "tests" / "test_stories.yml").read_bytes()
    monkeypatch.setenv(other, certifi.where())
    with serving({"/test_stories.yml": Answer(body=content)}) as server:
        command = ["test", "core", "--no-plot", "--url", f"{server.address}/test_stories.yml"]
        for named in (certifi.where(), str(project / "gone.pem"), str(project / "config.yml")):
            monkeypatch.setenv("SSL_CERT_FILE", named)
            assert run_command_line(command) == EXIT_NOT_DONE
        monkeypatch.setenv("SSL_CERT_FILE", str(server.network.ca_file))
        assert run_command_line(command) == EXIT_OK


@pytest.mark.follows(
    page="rasa-1", sentence="`rasa test core -m FOLDER --evaluate-model-directory` judges each model and plots a graph."
)
@pytest.mark.follows(
    page="rasa-3", sentence="`--evaluate-model-directory` judges each model on the stories and plots a graph."
)
def test_a_comparison_is_the_same_for_the_same_seed(project: Path) -> None:
    (project / "other.yml").write_text(CONFIG)
    for out in ("one", "two"):
        arguments = ["--config", "config.yml", "other.yml", "--runs", "2", "--percentages", "0", "50", "--out", out]
        assert run_command_line(["train", "core", "-q", *arguments]) == EXIT_OK
    one, two = (sorted((project / out).rglob("*.tar.gz")) for out in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    assert run_command_line(["test", "core", "-q", "-m", "one", "--evaluate-model-directory"]) == EXIT_OK
    judged = json.loads((project / "results" / "results.json").read_text())
    assert {name: [len(run) for run in runs] for name, runs in judged.items()} == {"config": [2, 2], "other": [2, 2]}
    assert (project / "results" / "core_model_comparison_graph.pdf").is_file()


@pytest.mark.follows(
    page="rasa-cli",
    sentence="`rasa train core` compares configurations in 3 runs, with 0, 25, 50 and 75 % left out, by default.",
)
def test_policies_are_compared_as_often_and_with_as_much_left_out_as_by_rasa(project: Path) -> None:
    (project / "other.yml").write_text(CONFIG)
    assert run_command_line(["train", "core", "-q", "--config", "config.yml", "other.yml", "--out", "cmp"]) == EXIT_OK
    assert {path.relative_to(project / "cmp").as_posix() for path in (project / "cmp").rglob("*.tar.gz")} == {
        f"run_{number}/{name}__percentage__{share}.tar.gz"
        for number in (1, 2, 3)
        for name in ("config", "other")
        for share in (0, 25, 50, 75)
    }


def test_policies_that_differ_only_in_what_is_ignored_cannot_be_compared(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    neural = "policies: [{{name: RulePolicy}}, {{name: TEDPolicy, max_history: {}, epochs: {}}}]\n"
    for name, history, epochs in (("long", 5, 100), ("short", 5, 1), ("other", 3, 100)):
        (project / f"{name}.yml").write_text(neural.format(history, epochs))

    def printed(*arguments: str) -> str:
        capsys.readouterr()
        assert run_command_line([*arguments, "-q"]) == EXIT_OK
        return capsys.readouterr().out

    configs = ("long.yml", "short.yml", "other.yml")
    trained = printed("train", "core", "--config", *configs, "--runs", "1", "--percentages", "0", "--out", "models")
    judged = printed("test", "core", "-m", "models", "--evaluate-model-directory", "--no-plot")
    models = [f"models/run_1/{name}__percentage__0.tar.gz" for name in ("long", "short", "other")]
    of_models = printed("test", "core", "-m", *models, "--no-plot")

    said = trained.splitlines()[-1]
    assert said == judged.splitlines()[-1]
    assert [text.count("epochs of TEDPolicy") for text in (trained, judged, of_models)] == [1, 1, 1]
    golden(said)
    golden(of_models, only="epochs of TEDPolicy")


@pytest.mark.parametrize(
    "arguments", [["--percentages", "100"], ["--percentages", "-1"], ["--config", "x/config.yml", "config.yml"]]
)
def test_a_comparison_that_makes_no_sense_is_refused(project: Path, arguments: list[str]) -> None:
    (project / "x").mkdir()
    (project / "x" / "config.yml").write_text(CONFIG)
    (project / "other.yml").write_text(CONFIG)
    configs = [] if "--config" in arguments else ["--config", "config.yml", "other.yml"]
    assert run_command_line(["train", "core", "-q", *configs, *arguments]) == EXIT_NOT_DONE


def test_stories_that_were_downloaded_are_judged(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turncheck.web.exchange.download", lambda *_: TESTS.encode())
    assert run_command_line(["test", "core", "--no-plot", "-q", "--url", "https://example.com/t.yml"]) == EXIT_OK
    assert "wrong" in (project / "results" / "failed_test_stories.yml").read_text()


UNDERSTOOD = {
    "domain.yml": """
intents: [greet, order]
entities: [size]
slots:
  size: {type: text, mappings: [{type: from_entity, entity: size}]}
responses:
  utter_hi: [{text: hi}]
""",
    "config.yml": """
pipeline:
- name: WhitespaceTokenizer
- name: KeywordIntentClassifier
- name: RegexEntityExtractor
policies: [{name: MemoizationPolicy}]
""",
    "data/nlu.yml": """
nlu:
- intent: greet
  examples: |
    - hello
- intent: order
  examples: |
    - a [big](size) one
- lookup: size
  examples: |
    - big
""",
    "data/stories.yml": "stories:\n- story: s\n  steps: [{intent: greet}, {action: utter_hi}]\n",
    "data/rules.yml": "",
    "tests/test_stories.yml": """
stories:
- story: taken for something else
  steps:
  - slot_was_set: [{size: small}]
  - user: hello
    intent: order
  - action: utter_hi
- story: annotated
  steps:
  - user: 'I want a [big](size) and a [huge]{"entity": "size", "role": "second"} one'
    intent: order
  - slot_was_set: [{size: big}]
  - action: utter_hi
""",
}


@pytest.fixture
def understanding(project: Path) -> Path:
    for name, content in UNDERSTOOD.items():
        (project / name).write_text(content)
    return project


def test_a_message_that_was_misunderstood_is_reported_with_the_slots_at_that_point(understanding: Path) -> None:
    run_command_line(["test", "core", "--e2e", "--no-plot", "-q", "--json", "report.json"])
    report = json.loads((understanding / "report.json").read_text())
    story = next(one for one in report["core"]["stories"] if one["name"] == "taken for something else")
    intent = next(step for step in story["steps"] if step["kind"] == "intent")
    assert (intent["expected"], intent["predicted"], intent["slots"]) == ("order", "greet", {"size": "small"})


@pytest.mark.parametrize("flags", [[], ["--e2e"]])
def test_annotated_entities_that_no_policy_finds_are_written_as_by_rasa(understanding: Path, flags: list[str]) -> None:
    run_command_line(["test", "core", "-q", *flags])
    results = understanding / "results"
    (error,) = json.loads((results / "TEDPolicy_errors.json").read_text())
    assert error["text"] == "I want a big and a huge one"
    assert [entity["value"] for entity in error["entities"]] == ["big", "huge"]
    assert error["predicted_entities"] == []
    report = json.loads((results / "TEDPolicy_report.json").read_text())
    # A misunderstood message loses its roles, in Rasa as well.
    supports = {label: row["support"] for label, row in report.items() if label.startswith("size")}
    assert supports == ({"size": 2} if flags else {"size": 1, "size.second": 1})
    assert report["accuracy"] == 6 / 8
    assert (results / "TEDPolicy_confusion_matrix.png").exists()
    run_command_line(["test", "core", "-q", *flags, "--no-errors", "--no-plot", "--out", "fewer"])
    assert not list((understanding / "fewer").glob("TEDPolicy_[ec]*"))


UNTRAINABLE = """
nlu:
- intent: greet
  examples: |
    - hello
    - i want human :(
- intent: order
  examples: |
    - a [big](size) one
"""
"""The KeywordIntentClassifier takes sentences for regular expressions, and one of these is not."""


def test_stories_are_judged_without_understanding_where_nobody_asks_for_it(
    understanding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (understanding / "data" / "nlu.yml").write_text(UNTRAINABLE)
    assert run_command_line(["test", "core", "--no-plot"]) == 0
    assert passed_tests(capsys.readouterr().out)["Stories"].endswith("/2")
    report = json.loads((understanding / "results" / "TEDPolicy_report.json").read_text())
    assert {label: row["support"] for label, row in report.items() if label.startswith("size")}, (
        "words need no training"
    )
    assert run_command_line(["test", "core", "--e2e", "--no-plot"]) == 2
    assert "regular expression" in capsys.readouterr().err


def test_a_model_of_policies_alone_fits_and_finds_no_words_as_in_rasa(
    understanding: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (understanding / "data" / "nlu.yml").write_text(UNTRAINABLE)
    assert run_command_line(["train", "core"]) == 0
    capsys.readouterr()
    assert run_command_line(["test", "core", "--no-plot", "-v"]) == 0
    (model,) = Path("models").iterdir()
    golden(capsys.readouterr().err.replace(model.name, "MODEL"), only="odel")
    assert json.loads((understanding / "results" / "TEDPolicy_report.json").read_text()) == {}


def test_of_a_model_with_nlu_the_tokenizer_alone_is_read(
    understanding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["train"]) == 0
    with patch("turncheck.engines.embedded.nlu.persistence.read_nlu", side_effect=AssertionError("nobody asked")):
        assert run_command_line(["test", "core", "--no-plot", "-v"]) == 0
    assert "models/" in capsys.readouterr().err
    report = json.loads((understanding / "results" / "TEDPolicy_report.json").read_text())
    assert report["size"]["support"] == 1


def test_a_tokenizer_that_cannot_be_made_is_said_and_the_stories_are_judged(
    understanding: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    config = UNDERSTOOD["config.yml"].replace("WhitespaceTokenizer", "WhitespaceTokenizer\n  token_pattern: '['")
    (understanding / "config.yml").write_text(config)
    assert run_command_line(["test", "core", "--no-plot"]) == 0
    golden(capsys.readouterr().err, only="token_pattern")


@pytest.mark.parametrize(
    ("command", "named", "is_hinted"),
    [
        (("test", "core", "--e2e"), "multi.yml", True),
        (("test", "core", "--e2e"), "stories_of_test.yml", True),
        (("test", "core", "--e2e"), "test_empty.yml", False),
        (("test", "core"), "empty.yml", False),
    ],
)
def test_that_a_file_of_test_stories_needs_its_prefix_is_said(
    command: tuple[str, ...], named: str, is_hinted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path)
    content = "stories: []\n"
    if "empty" not in named:
        content = "stories:\n- story: a\n  steps:\n  - user: hello\n    intent: greet\n  - action: utter_greet\n"
    (tmp_path / named).write_text(content, encoding="utf-8")
    assert run_command_line([*command, "--project", str(tmp_path), "--stories", str(tmp_path / named)]) == 2
    assert ("begin with `test_`" in capsys.readouterr().err) == is_hinted
