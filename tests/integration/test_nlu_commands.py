"""``test nlu`` and ``data split nlu`` as a user runs them, with the embedded engine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.project.reader import read_nlu
from turncheck.report.codec import decode

if TYPE_CHECKING:
    from turncheck.project.nlu_data import NluData

ORACLE = Path(__file__).parent.parent / "oracle" / "nlu"
TRAVEL = ORACLE / "lr_crf_travel"


def turncheck(*arguments: str | Path) -> int:
    """Run a command line and return its exit code."""
    return run_command_line([str(argument) for argument in arguments])


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.follows(page="rasa-3", sentence="`rasa test nlu --nlu FILE` judges the model on a test set.")
@pytest.mark.follows(
    page="rasa-3",
    sentence=("`rasa test nlu` writes `intent_report.json`, `intent_confusion_matrix.png` and `intent_histogram.png`."),
)
@pytest.mark.follows(page="rasa-cli", sentence="`--successes` also writes correct predictions.")
def test_held_out_data_give_the_files_that_rasa_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    out, report = tmp_path / "results", tmp_path / "report.json"
    arguments = ("test", "nlu", "--project", TRAVEL / "project", "--nlu", TRAVEL / "test_data.yml")
    assert turncheck(*arguments, "--successes", "--out", out, "--json", report) == 0
    expected = {path.name for path in (TRAVEL / "expected" / "results").iterdir()}
    recorded = json.loads((TRAVEL / "expected.json").read_text(encoding="utf-8"))
    pictures = {Path(name).name for name in recorded["png_files"]}
    assert names(out) == expected | pictures
    for picture in pictures:
        assert (out / picture).read_bytes().startswith(b"\x89PNG")
    nlu = decode(report.read_bytes()).nlu
    assert nlu is not None
    assert nlu.mode == "held-out"
    assert nlu.intents is not None
    assert nlu.intents.accuracy >= 0.9
    printed = capsys.readouterr().out
    assert nlu.on_training_sentences == 2
    golden(printed, only="2 of 20")
    assert "Entities by CRFEntityExtractor" in printed


@pytest.mark.follows(page="rasa-3", sentence="`--cross-validation` makes several train/test splits by itself.")
@pytest.mark.follows(
    page="rasa-cli", sentence="In cross-validation a model is ignored; `--folds` is the number of folds."
)
def test_cross_validation_judges_every_sentence_and_does_not_use_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    project = ORACLE / "cross_validation" / "project"
    arguments = ("test", "nlu", "--project", project, "--cross-validation", "--folds", "3", "--no-plot")
    told = tmp_path / "report.json"
    assert turncheck(*arguments, "--model", "models", "--out", tmp_path, "--json", told) == 0
    captured = capsys.readouterr()
    nlu = decode(told.read_bytes()).nlu
    assert nlu is not None
    assert (nlu.mode, nlu.folds) == ("cross-validation", 3)
    golden(captured.err, only="--model")
    golden(captured.out, only="Pooled")
    assert "intent_report.json" in names(tmp_path)
    assert "intent_successes.json" not in names(tmp_path)
    report = json.loads((tmp_path / "intent_report.json").read_text())
    assert report["macro avg"]["support"] == 20


def test_the_report_does_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    project = ORACLE / "no_crf_two_extractors" / "project"
    reports = []
    for workers in ("1", "2"):
        path = tmp_path / f"{workers}.json"
        arguments = ("test", "nlu", "--project", project, "--cross-validation", "--folds", "3", "--no-plot")
        alone = ("--workers", workers, "--no-cache")
        assert turncheck(*arguments, *alone, "--json", path, "--out", tmp_path / workers) == 0
        report = json.loads(path.read_text())
        del report["timings"]
        reports.append(report)
    assert reports[0] == reports[1]
    assert {one["extractor"] for two in reports[0]["nlu"]["predictions"] for one in two["predicted"]["entities"]} == {
        "CRFEntityExtractor",
        "RegexEntityExtractor",
    }


@pytest.mark.follows(page="rasa-3", sentence="`--report` saves the reports as JSON files.")
@pytest.mark.follows(
    page="rasa-3",
    sentence=(
        "Misclassified samples are saved to `errors.json`; here to `intent_errors.json`, unless "
        "`--errors` names another file."
    ),
)
def test_the_flags_of_older_versions_write_their_files(tmp_path: Path) -> None:
    arguments = ("test", "nlu", "--project", TRAVEL / "project", "--nlu", TRAVEL / "test_data.yml", "--no-plot")
    old = ("--report", tmp_path / "reports", "--errors", tmp_path / "errors.json")
    pictures = ("--histogram", tmp_path / "hist.png", "--confmat", tmp_path / "confmat.png")
    assert turncheck(*arguments, *old, *pictures, "--no-errors", "--out", tmp_path / "out") == 0
    assert names(tmp_path / "reports") == {"intent_report.json", "CRFEntityExtractor_report.json"}
    assert isinstance(json.loads((tmp_path / "errors.json").read_text()), list)
    assert (tmp_path / "hist.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "confmat.png").read_bytes().startswith(b"\x89PNG")
    assert names(tmp_path / "out") == {"intent_report.json", "CRFEntityExtractor_report.json"}


def test_a_path_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert turncheck("test", "nlu", "--project", TRAVEL / "project", "--nlu", tmp_path / "nowhere.yml") == 2
    assert "nowhere.yml" in capsys.readouterr().err
    assert turncheck("test", "nlu", "--project", tmp_path) == 2
    assert "no configuration" in capsys.readouterr().err


@pytest.mark.parametrize("folds", ["99", "1", "many"])
def test_folds_that_cannot_be_made_are_no_success(folds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert turncheck("test", "nlu", "--project", TRAVEL / "project", "--cross-validation", "--folds", folds) == 2
    assert "error" in capsys.readouterr().err


def read(path: Path) -> NluData:
    data, findings = read_nlu([path], path.parent)
    assert findings == ()
    return data


@pytest.mark.follows(page="rasa-3", sentence="`rasa data split nlu` splits NLU data into training and test data.")
def test_the_two_files_of_a_split_are_the_original_together(tmp_path: Path) -> None:
    source = ORACLE / "table_split" / "project"
    arguments = ("data", "split", "nlu", "--project", source, "--random-seed", "42", "--training-fraction", "0.8")
    assert turncheck(*arguments, "--out", tmp_path) == 0
    assert names(tmp_path) == {"training_data.yml", "test_data.yml", "nlg_training_data.yml", "nlg_test_data.yml"}
    original = read(source / "data" / "nlu.yml")
    training, test = read(tmp_path / "training_data.yml"), read(tmp_path / "test_data.yml")
    together = {(one.intent, one.text, one.entities) for one in (*training.examples, *test.examples)}
    assert together == {(one.intent, one.text, one.entities) for one in original.examples}
    assert len(training.examples) + len(test.examples) == len(original.examples)
    for half in (training, test):
        assert {(one.name, one.pattern) for one in half.regexes} == {
            (one.name, one.pattern) for one in original.regexes
        }
        assert {(one.name, one.elements) for one in half.lookups} == {
            (one.name, one.elements) for one in original.lookups
        }
        assert {(one.value, one.synonym) for one in half.synonyms} == {
            (one.value, one.synonym) for one in original.synonyms
        }


@pytest.mark.follows(
    page="rasa-cli",
    sentence="`data split nlu` puts 80 % into the training data; `--training-fraction` chooses another share.",
)
@pytest.mark.parametrize(("flags", "fraction"), [((), 0.8), (("--training-fraction", "0.5"), 0.5)])
def test_a_split_puts_a_share_into_the_training_data(flags: tuple[str, ...], fraction: float, tmp_path: Path) -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    nlu = [f"- intent: {intent}\n  examples: |\n    - " + f"\n    - {intent} ".join(words) for intent in ("a", "b")]
    (tmp_path / "nlu.yml").write_text("\n".join(["nlu:", *nlu, ""]))
    assert turncheck("data", "split", "nlu", "--nlu", tmp_path / "nlu.yml", *flags, "--out", tmp_path / "out") == 0
    parts = {name: len(read(tmp_path / "out" / f"{name}_data.yml").examples) for name in ("training", "test")}
    assert parts == {"training": 20 * fraction, "test": 20 - 20 * fraction}


@pytest.mark.follows(
    page="rasa-cli", sentence="The responses of retrieval intents are split with them, into files of their own."
)
def test_retrieval_examples_take_their_responses_along(tmp_path: Path) -> None:
    case = ORACLE / "response_selector"
    arguments = ("data", "split", "nlu", "--nlu", case / "project" / "data" / "nlu.yml", "--random-seed", "42")
    assert turncheck(*arguments, "--project", case / "project", "--out", tmp_path) == 0
    for name in ("training_data.yml", "test_data.yml", "nlg_training_data.yml", "nlg_test_data.yml"):
        recorded = case / "expected" / "train_test_split" / name
        assert (tmp_path / name).read_text(encoding="utf-8") == recorded.read_text(encoding="utf-8")


@pytest.mark.follows(page="rasa-cli", sentence="`--random-seed` repeats a split.")
def test_a_split_without_a_seed_says_how_to_make_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = ORACLE / "table_split" / "project"
    assert turncheck("data", "split", "nlu", "--project", source, "--out", tmp_path / "one") == 0
    seed = capsys.readouterr().err.partition("--random-seed ")[2].split()[0]
    assert turncheck("data", "split", "nlu", "--project", source, "--random-seed", seed, "--out", tmp_path / "two") == 0
    for name in names(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("fraction", ["0", "1", "1.5", "-0.1", "nan"])
def test_a_fraction_that_is_none_is_refused(fraction: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = ORACLE / "table_split" / "project"
    arguments = ("data", "split", "nlu", "--project", source, f"--training-fraction={fraction}", "--out", tmp_path)
    assert turncheck(*arguments) == 2
    assert "between 0 and 1" in capsys.readouterr().err


def test_unreadable_nlu_data_are_not_called_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "config.yml").write_text("pipeline: [{name: WhitespaceTokenizer}]\n", encoding="utf-8")
    (tmp_path / "data" / "nlu.yml").write_text("nlu:\n- intent: a\n - b: [\n", encoding="utf-8")
    assert turncheck("test", "nlu", "--project", tmp_path) == 2
    said = capsys.readouterr().err
    assert "data/nlu.yml:3:" in said
    golden(said)


@pytest.mark.follows(page="rasa-3", sentence="A model trained on one part of a split is judged on the other.")
@pytest.mark.follows(page="rasa-cli", sentence="The newest model in a folder is used.")
def test_the_newest_model_is_judged_on_what_was_split_off_from_its_training_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    shutil.copytree(ORACLE.parents[2] / "examples" / "pizzeria", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    split = Path("train_test_split")
    assert turncheck("data", "split", "nlu", "--random-seed", "1", "-q") == 0
    assert turncheck("train", "nlu", "--nlu", split / "training_data.yml", "-q") == 0
    (model,) = Path("models").iterdir()
    capsys.readouterr()

    judged = ("test", "nlu", "--nlu", split / "test_data.yml", "--no-plot", "--json", "report.json")
    assert turncheck(*judged) == 0

    said = capsys.readouterr()
    nlu = decode(Path("report.json").read_bytes()).nlu
    assert nlu is not None
    assert nlu.on_training_sentences == 0
    assert str(model) in said.err
    golden(said.err.replace(str(model), "MODEL"), only="MODEL")
    turncheck(*judged, "--model", model)
    named = decode(Path("report.json").read_bytes()).nlu
    assert named is not None
    assert named.intents == nlu.intents

    model.unlink()
    assert turncheck(*judged) == 0
    on_all = decode(Path("report.json").read_bytes()).nlu
    assert on_all is not None
    assert on_all.on_training_sentences == len(on_all.predictions)


def test_a_model_of_the_project_s_own_files_does_not_count_after_they_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    shutil.copytree(TRAVEL / "project", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    assert turncheck("train", "nlu", "-q") == 0
    with (tmp_path / "config.yml").open("a") as config:
        config.write("# changed\n")

    turncheck("test", "nlu", "--nlu", TRAVEL / "test_data.yml", "--no-plot")

    golden(capsys.readouterr().err, only="memory")
