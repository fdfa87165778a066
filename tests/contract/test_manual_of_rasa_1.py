"""What the manual of Rasa 1.x says about testing, sentence by sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from turncheck.cli import run_command_line
from turncheck.project.reader import read_nlu, read_nlu_responses

LEGACY = Path(__file__).parent.parent / "oracle" / "legacy"
SENTENCES = {
    "greet": "hello hi hey howdy greetings morning evening salute ahoy welcome hallo hiya",
    "bye": "bye goodbye farewell ciao later adieu cheerio tata leave exit end quit",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    lines = [
        line for name, words in SENTENCES.items() for line in (f"## intent:{name}", *(f"- {w}" for w in words.split()))
    ]
    (tmp_path / "data" / "nlu.md").write_text("\n".join([*lines, ""]))
    keyword = "language: en\npipeline:\n- name: WhitespaceTokenizer\n- name: KeywordIntentClassifier\n"
    (tmp_path / "config.yml").write_text(keyword)
    (tmp_path / "other.yml").write_text(keyword.replace("Classifier\n", "Classifier\n  case_sensitive: false\n"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    return run_command_line([*arguments, "-q"])


@pytest.mark.follows(page="rasa-1.0", sentence="`--folds` is 10 by default.")
def test_cross_validation_has_ten_folds(project: Path) -> None:
    assert run("test", "nlu", "--cross-validation", "--no-plot", "--json", "r.json") == 0
    assert json.loads(Path("r.json").read_text())["nlu"]["folds"] == 10
    assert run("test", "nlu", "--cross-validation", "--folds", "5", "--no-plot", "--json", "r.json") == 0
    assert json.loads(Path("r.json").read_text())["nlu"]["folds"] == 5


@pytest.mark.follows(page="rasa-1.0", sentence="`--percentages` is 0 25 50 75 90 by default.")
def test_a_comparison_leaves_out_up_to_90_percent(project: Path) -> None:
    assert run("test", "nlu", "--config", "config.yml", "other.yml", "--runs", "1", "--no-plot", "--out", "cmp") == 0
    run_of = json.loads(Path("cmp/nlu_comparison.json").read_text())["runs"][0]
    assert list(run_of["training"]) == ["0", "25", "50", "75", "90"]


def test_policies_are_compared_with_up_to_95_percent_left_out(project: Path) -> None:
    Path("domain.yml").write_text("intents: [greet, bye]\ntemplates:\n  utter_hi:\n  - text: hi\n")
    Path("data/stories.md").write_text("## hi\n* greet\n - utter_hi\n\n## bye\n* bye\n - utter_hi\n")
    for name in ("config.yml", "other.yml"):
        Path(name).write_text("policies:\n- name: MemoizationPolicy\n")
    assert run("train", "core", "--config", "config.yml", "other.yml", "--runs", "1", "--out", "cmp") == 0
    shares = {int(path.name.split("__")[2].partition(".")[0]) for path in Path("cmp").rglob("*.tar.gz")}
    assert shares == {0, 5, 25, 50, 70, 90, 95}
    assert len(json.loads(Path("cmp/num_stories.json").read_text())) == len(shares)


@pytest.mark.follows(page="rasa-1", sentence="Misclassified samples are saved to `errors.json`.")
def test_what_is_wrong_is_in_errors_json(project: Path) -> None:
    assert run("test", "nlu", "--cross-validation", "--no-plot", "--json", "r.json") == 0
    wrong = json.loads(Path("results/errors.json").read_text())
    judged = json.loads(Path("r.json").read_text())["nlu"]["predictions"]
    assert {one["text"] for one in wrong} == {one["text"] for one in judged if not one["correct"]} != set()
    assert wrong == json.loads(Path("results/intent_errors.json").read_text())
    shutil.rmtree("results")
    assert run("test", "nlu", "--cross-validation", "--no-plot", "--no-errors") == 0
    assert not Path("results/errors.json").exists()


@pytest.mark.follows(page="rasa-1", sentence="A report, a confusion matrix and a histogram of confidences are written.")
@pytest.mark.follows(
    page="rasa-1.0", sentence="Cross-validation draws no confusion matrix; here it does, of all folds together."
)
@pytest.mark.parametrize("flags", [(), ("--cross-validation",)])
def test_report_matrix_and_histogram_are_written(project: Path, flags: tuple[str, ...]) -> None:
    assert run("test", "nlu", *flags) == 0
    assert {path.name for path in Path("results").iterdir()} >= {"intent_report.json", "confmat.png", "hist.png"}


@pytest.mark.follows(
    page="rasa-1.0", sentence="`--errors`, `--histogram` and `--confmat` are paths from the current folder."
)
def test_pictures_are_relative_to_what_errors_is_relative_to(project: Path) -> None:
    named = ("--errors", "mine/errors.json", "--histogram", "mine/h.png", "--confmat", "c.png")
    assert run("test", "nlu", "--cross-validation", *named) == 0
    assert all(Path(path).is_file() for path in ("mine/errors.json", "mine/h.png", "c.png"))
    assert not list(Path("results").rglob("*.png"))


def test_without_errors_pictures_are_below_the_output_folder(project: Path) -> None:
    assert run("test", "nlu", "--histogram", "h.png", "--confmat", "c.png", "--out", "there") == 0
    assert {path.name for path in Path("there").glob("*.png")} == {"h.png", "c.png"}


@pytest.mark.follows(page="rasa-1", sentence="The report has precision, recall and F1 of each intent, and the average.")
def test_each_intent_is_printed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("test", "nlu") == 0
    printed = capsys.readouterr().out
    head, *rows = printed[printed.index("Each intent:") :].splitlines()[1:]
    assert head.split()[:3] == ["precision", "recall", "f1"]
    assert {row.split()[0] for row in rows} == {"greet", "bye", "weighted"}
    assert rows[-1].startswith("  weighted average ")


@pytest.mark.follows(
    page="rasa-1", sentence="`rasa data split nlu` splits Markdown into `training_data.md` and `test_data.md`."
)
def test_markdown_is_split_into_markdown(project: Path) -> None:
    assert run("data", "split", "nlu", "--random-seed", "7") == 0
    out = Path("train_test_split")
    assert sorted(path.name for path in out.iterdir()) == ["test_data.md", "training_data.md"]
    parts = [read_nlu([out / name], project)[0].examples for name in ("training_data.md", "test_data.md")]
    whole = read_nlu([project / "data"], project)[0].examples
    assert sorted(one.text for part in parts for one in part) == sorted(one.text for one in whole)
    assert len(parts[1]) == pytest.approx(0.2 * len(whole), abs=1.5)
    assert run("test", "nlu", "-u", "train_test_split/test_data.md", "--no-plot") == 0


@pytest.mark.parametrize("beside", [False, True])
def test_json_is_split_into_what_rasa_1_reads(project: Path, *, beside: bool) -> None:
    sentences = [
        {
            "text": f"to Oslo {number}",
            "intent": "go",
            "entities": [{"start": 3, "end": 7, "value": "oslo", "entity": "city"}],
        }
        for number in range(10)
    ]
    tables = {
        "regex_features": [{"name": "zip", "pattern": "[0-9]{5}"}],
        "lookup_tables": [{"name": "city", "elements": ["Oslo", "Bonn"]}],
        "entity_synonyms": [{"value": "Bonn", "synonyms": ["Bönn", "bonna"]}],
    }
    (project / "data" / "go.json").write_text(json.dumps({"rasa_nlu_data": {"common_examples": sentences, **tables}}))
    if not beside:
        (project / "data" / "nlu.md").unlink()
    assert run("data", "split", "nlu", "--random-seed", "7") == 0
    out = Path("train_test_split")
    assert sorted(path.name for path in out.iterdir()) == ["test_data.json", "training_data.json"]
    whole, _ = read_nlu([project / "data"], project)
    parts = [read_nlu([out / name], project)[0] for name in ("training_data.json", "test_data.json")]
    given = sorted((one.text, one.intent, one.entities) for part in parts for one in part.examples)
    assert given == sorted((one.text, one.intent, one.entities) for one in whole.examples)
    for part in parts:
        assert [(one.name, one.pattern) for one in part.regexes] == [(one.name, one.pattern) for one in whole.regexes]
        assert [(one.name, one.elements) for one in part.lookups] == [(one.name, one.elements) for one in whole.lookups]
        assert {(one.synonym, one.value) for one in part.synonyms} == {
            (one.synonym, one.value) for one in whole.synonyms
        }
    assert run("test", "nlu", "-u", "train_test_split/test_data.json", "--no-plot") == 0


def test_json_of_rasa_3_is_split_into_yaml(project: Path) -> None:
    (project / "data" / "nlu.md").unlink()
    sentences = [{"text": f"to {number}", "intent": "go"} for number in range(10)]
    (project / "data" / "go.json").write_text(json.dumps({"rasa_nlu_data": {"common_examples": sentences}}))
    (project / "config.yml").write_text("recipe: default.v1\n" + (project / "config.yml").read_text())
    assert run("data", "split", "nlu") == 0
    assert sorted(path.name for path in Path("train_test_split").glob("*ing_data.*")) == [
        "nlg_training_data.yml",
        "training_data.yml",
    ]


@pytest.mark.follows(page="rasa-1", sentence="If there are responses, the split writes them to files of their own.")
def test_responses_of_a_split_are_written_where_there_are_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(LEGACY / "nlu" / "md_retrieval" / "project", tmp_path / "bot")
    monkeypatch.chdir(tmp_path / "bot")
    assert run("data", "split", "nlu", "--random-seed", "7") == 0
    names = sorted(path.name for path in Path("train_test_split").iterdir())
    assert {"training_data.md", "test_data.md"} < set(names)
    assert all(name.endswith(".md") for name in names)
    for name in names:
        if name.startswith("nlg_"):
            assert read_nlu_responses([Path("train_test_split", name)], tmp_path / "bot"), name
    assert any(name.startswith("nlg_") for name in names)
