"""``test nlu`` of older projects writes what their Rasa wrote: recorded cases (``tests/oracle/legacy``)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from turncheck.cli import run_command_line

ORACLE = Path(__file__).parent.parent / "oracle" / "legacy" / "test_nlu"
OF_RASA_1 = [
    (case, run["name"], run["command"])
    for case in ("keyword_crf_110", "keyword_json_110")
    for run in json.loads((ORACLE / case / "expected.json").read_text(encoding="utf-8"))["runs"]
    if run["name"] in {"plain", "successes", "own_names", "training_data"}
]
OF_RASA_0 = "python -m rasa_nlu.evaluate "


def commands_below(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ORACLE / case / "project", tmp_path / case)
    monkeypatch.chdir(tmp_path / case)
    return ORACLE / case / "expected"


def run_of(case: str, name: str) -> dict[str, Any]:
    content = json.loads((ORACLE / case / "expected.json").read_text(encoding="utf-8"))
    return next(dict(run) for run in content["runs"] if run["name"] == name)


@pytest.mark.parametrize(("case", "name", "command"), OF_RASA_1)
@pytest.mark.follows(
    page="rasa-1", sentence="`rasa test nlu` judges a model on test data, and writes its reports as JSON."
)
@pytest.mark.follows(
    page="rasa-1", sentence="The report of each extractor and response selector has every label and the average."
)
def test_the_files_are_those_of_rasa_1(
    case: str, name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = commands_below(case, tmp_path, monkeypatch)
    assert run_command_line(command.split()[1:]) == 0
    ours = files_below(Path("results"))
    assert sorted(run_of(case, name)["files"]) == [path for path in ours if Path(path).name != "errors.json"]
    recorded = {path.name: path for path in (expected / name).rglob("*.json")}
    for path in Path("results").rglob("*.json"):
        # The manual of 1.10 calls it `errors.json`, its program `intent_errors.json`: both are there.
        name_there = path.name if path.name != "errors.json" else "intent_errors.json"
        assert_alike(read(path), read(recorded[name_there]))


@pytest.mark.follows(
    page="rasa-0",
    sentence="A confusion matrix and a histogram of the confidences are drawn.",
)
@pytest.mark.follows(page="rasa-0", sentence="Misclassified samples are saved to `errors.json`.")
def test_rasa_nlu_0_writes_where_it_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = commands_below("keyword_crf_015", tmp_path, monkeypatch)
    before = set(files_below(Path()))
    assert run_command_line(["test", "nlu", "-d", "test.md"]) == 0
    # It prints its reports, and writes them only with `--report`: here they are always written.
    reports = {f"reports/{name}_report.json" for name in ("intent", "CRFEntityExtractor")}
    assert set(files_below(Path())) - before == {*run_of("keyword_crf_015", "test")["files"], *reports}
    assert_alike(read(Path("errors.json")), read(expected / "test" / "errors.json"))


@pytest.mark.follows(
    page="rasa-0", sentence="`--report`, `--errors`, `--successes`, `--histogram` and `--confmat` name the files."
)
def test_the_flags_of_rasa_nlu_0_name_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = commands_below("keyword_crf_015", tmp_path, monkeypatch)
    before = set(files_below(Path()))
    run = run_of("keyword_crf_015", "evaluate")
    flags = run["command"].removeprefix(OF_RASA_0).replace("-m models/p/m ", "")  # a model that only it can read
    assert run_command_line(["test", "nlu", *flags.split()]) == 0
    written = set(files_below(Path())) - before
    assert sorted(written) == run["files"]
    for name in written:
        if name.endswith(".json"):
            assert_alike(read(Path(name)), read(expected / "evaluate" / name))


@pytest.mark.follows(
    page="rasa-0",
    sentence="`--mode crossvalidation` estimates in 10 folds how a model generalises, and writes no files.",
)
def test_rasa_nlu_0_writes_nothing_by_cross_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands_below("keyword_011", tmp_path, monkeypatch)
    with Path("data/nlu.md").open("a") as data:
        data.write("\n## intent:long\n" + "".join(f"- long {number}\n" for number in "abcdefghij"))
    before = files_below(Path())
    command = run_of("keyword_011", "crossvalidation")["command"].removeprefix(OF_RASA_0)
    told = tmp_path / "report.json"
    for flags, folds in ((command, 3), (command.removesuffix(" -f 3"), 10)):
        assert run_command_line(["test", "nlu", *flags.split(), "--json", str(told)]) == 0
        assert files_below(Path()) == before
        assert json.loads(told.read_text())["nlu"]["folds"] == folds


@pytest.mark.follows(
    page="rasa-0", sentence="Cross-validation does not accept a model, since it trains a new one for each fold."
)
def test_cross_validation_takes_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands_below("keyword_011", tmp_path, monkeypatch)
    run = run_of("keyword_011", "cv_with_model")
    command = ["test", "nlu", *run["command"].removeprefix(OF_RASA_0).split()]
    assert run_command_line(command) == run["exit_code"] == 2
    assert "takes no --model" in capsys.readouterr().err


@pytest.mark.follows(
    page="rasa-0", sentence="`evaluate` with `-d` and `-c` gives accuracy, precision and F1 over all intents."
)
def test_the_figures_of_rasa_nlu_0_11_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands_below("keyword_011", tmp_path, monkeypatch)
    command = ["test", "nlu", "-d", "test.md", "-c", "config.json", "--report", "reports", "--json", "r.json"]
    assert run_command_line(command) == 0
    printed = "\n".join(run_of("keyword_011", "evaluate")["printed"])
    report = json.loads(Path("r.json").read_text())["nlu"]["intents"]
    assert f"F1-Score:  {report['f1']}" in printed
    assert f"Precision: {report['precision']}" in printed
    assert f"Accuracy:  {report['accuracy']}" in printed


@pytest.mark.follows(
    page="rasa-1", sentence="A comparison of several configurations saves data sets, models and reports in a folder."
)
def test_a_comparison_has_the_tree_of_rasa_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = commands_below("keyword_crf_110", tmp_path, monkeypatch)
    run = run_of("keyword_crf_110", "comparison")
    assert run_command_line(run["command"].split()[1:]) == 0
    # which sentences are left out is random there: files of errors and of entities are there or not
    at_random = ("_errors.json", "CRFEntityExtractor_report.json", "done.json")
    ours = {name for name in files_below(Path("results")) if not name.endswith(at_random)}
    theirs = {name for name in run["files"] if not name.endswith(at_random)}
    assert theirs <= ours
    assert {Path(name).name for name in ours - theirs} == {"nlu_comparison.json", "nlu_model_comparison_graph.png"}
    train = "results/cmp/run_1/0%_exclusion/train/responses.md"
    assert Path(train).read_text() == (expected / "comparison" / train).read_text()
    test = Path("results/cmp/run_1/test.md").read_text()
    assert headers(test) == headers((expected / "comparison" / "results/cmp/run_1/test.md").read_text())


def headers(markdown: str) -> list[str]:
    return sorted(line for line in markdown.splitlines() if line.startswith("##"))


@pytest.mark.parametrize(("version", "names"), [("1", {"hist.png", "confmat.png"}), ("2", {"intent_histogram.png"})])
def test_a_version_can_be_asked_for(
    version: str, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands_below("keyword_crf_015", tmp_path, monkeypatch)
    assert run_command_line(["test", "nlu", "-u", "test.md", "--rasa-files", version]) == 0
    assert names <= {path.name for path in Path("results").iterdir()}


def files_below(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def assert_alike(ours: Any, theirs: Any) -> None:
    """Compare; what a model computed may differ in its last digits."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            assert_alike(ours[key], value)
    elif isinstance(theirs, list):
        for one, other in zip(ours, theirs, strict=True):
            assert_alike(one, other)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=1e-3)
    else:
        assert ours == theirs
