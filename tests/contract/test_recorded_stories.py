"""``train core`` and ``test core`` beside what real Rasa 3.6.21 wrote: verdicts, figures, story files, exit codes."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from turncheck.cli import run_command_line
from turncheck.engines.embedded.policies.rules import digest_of
from turncheck.engines.embedded.policies.trainer import train_ensemble
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = Path(__file__).parent.parent / "oracle" / "core"
SHARED = Path(__file__).parents[3] / "shared" / "oracle" / "core"
NEURAL = {"ted_unexpected_intents"}
"""Its figures are a neural network's; only the shapes of its files are compared."""
WRITTEN_AS_DOCUMENTED = ("--max-stories",)
"""There Rasa does not do what its documentation says, and we do."""


@dataclass(frozen=True)
class Run:
    """One recorded ``rasa test core``."""

    case: Path
    name: str
    arguments: tuple[str, ...]
    exit_code: int

    @property
    def expected(self) -> Path:
        return self.case / "expected" / self.name


def cases() -> list[Path]:
    own = sorted(path.parent for path in OWN.glob("*/expected.json"))
    known = {path.name for path in own}
    others = sorted(path.parent for path in SHARED.glob("*/expected.json") if path.parent.name not in known)
    return own + others


def expected_of(case: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((case / "expected.json").read_text())
    return content


def runs() -> Iterator[Any]:
    for case in cases():
        if case.name in NEURAL:
            continue
        for run in expected_of(case)["runs"]:
            arguments = tuple(run["command"].split()[1:])
            if not any(flag in arguments for flag in WRITTEN_AS_DOCUMENTED):
                yield pytest.param(Run(case, run["name"], arguments, run["exit_code"]), id=f"{case.name}-{run['name']}")


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {}


@pytest.fixture
def trained(
    request: pytest.FixtureRequest,
    projects: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """The run, inside a copy of its project, with a model trained as it was recorded."""
    run: Run = request.param
    if run.case.name not in projects:
        folder = tmp_path_factory.mktemp(run.case.name) / "project"
        shutil.copytree(run.case / "project", folder)
        projects[run.case.name] = folder
        monkeypatch.chdir(folder)
        command = expected_of(run.case)["train"]["command"].split()[1:]
        assert run_command_line([*command, "--quiet"]) == 0
    monkeypatch.chdir(projects[run.case.name])
    return run


@pytest.mark.parametrize("trained", list(runs()), indirect=True)
@pytest.mark.follows(
    page="rasa-3", sentence="A test story gives user texts and intents; both understanding and actions are judged."
)
@pytest.mark.follows(page="rasa-cli", sentence="`--e2e` judges the messages of stories as well.")
def test_a_recorded_run_gives_the_same_verdicts_figures_files_and_exit_code(trained: Run) -> None:
    arguments = list(trained.arguments)
    out = Path(arguments[arguments.index("--out") + 1])
    quick = [] if "--no-plot" in arguments else ["--no-plot"]
    code = run_command_line([*arguments, *quick, "--json", "report.json", "--quiet"])
    assert code == trained.exit_code
    if "--fail-on-prediction-errors" in arguments:
        return
    assert predictions_of(Path("report.json")) == recorded_predictions(trained.expected)
    assert_same_figures(json.loads((out / "story_report.json").read_text()), trained.expected)
    assert_same_entities(out, trained.expected)
    assert_dialogues_alone(Path("report.json"), trained)
    written = {path.name for path in out.iterdir() if path.suffix == ".yml"}
    assert written == {path.name for path in trained.expected.glob("*.yml")}
    for name in written:
        ours, theirs = (out / name).read_text(), (trained.expected / name).read_text().replace("PROJECT/", "")
        assert stories_in(ours) == stories_in(theirs)
        assert comments_in(ours) == comments_in(theirs)


def assert_dialogues_alone(report: Path, run: Run) -> None:
    """As written, the dialogues that fail end to end fare as in Rasa without ``--e2e``."""
    alone = run.expected.with_name(f"{run.name}_without_e2e")
    if alone.is_dir():
        stories = json.loads(report.read_text())["core"]["stories"]
        ours = {story["name"] for story in stories if not story["as_written"] and not story["duplicate"]}
        failed = yaml.safe_load((alone / "failed_test_stories.yml").read_text()) or {}
        assert ours == {story["story"].rpartition(" (")[0] for story in failed.get("stories", [])}


def assert_same_entities(out: Path, expected: Path) -> None:
    """The entities that policies missed. The report was recorded for some runs only."""
    errors = "TEDPolicy_errors.json"
    assert (out / errors).exists() == (expected / errors).exists()
    if (expected / errors).exists():
        assert json.loads((out / errors).read_text()) == json.loads((expected / errors).read_text())
    report = "TEDPolicy_report.json"
    if (expected / report).exists():
        assert json.loads((out / report).read_text()) == json.loads((expected / report).read_text())


def predictions_of(report: Path) -> Counter[tuple[Any, ...]]:
    stories = json.loads(report.read_text())["core"]["stories"]
    return Counter(
        (step["expected"], step["predicted"], step["policy"], round(step["confidence"] or 0.0, 9))
        for story in stories
        if not story["duplicate"]
        for step in story["steps"]
        if step["kind"] == "action"
    )


def recorded_predictions(expected: Path) -> Counter[tuple[Any, ...]]:
    rows = json.loads((expected / "action_predictions.json").read_text())
    return Counter((row["action"], row["predicted"], row["policy"], round(row["confidence"], 9)) for row in rows)


def assert_same_figures(ours: dict[str, Any], expected: Path) -> None:
    theirs = json.loads((expected / "story_report.json").read_text())
    assert figures(ours) == pytest.approx(figures(theirs), abs=1e-9)


def figures(report: dict[str, Any]) -> dict[str, float]:
    return {
        f"{label}|{key}": figure
        for label, row in report.items()
        for key, figure in (row.items() if isinstance(row, dict) else [("", row)])
    }


def stories_in(text: str) -> Counter[str]:
    content = yaml.safe_load(text) or {}
    return Counter(json.dumps(story, sort_keys=True, default=str) for story in content.get("stories", []))


def comments_in(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.splitlines() if "#" in line)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_training_ends_as_it_was_recorded(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(case / "project", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    expected = expected_of(case)["train"]
    assert run_command_line(["train", "core", "--quiet"]) == expected["exit_code"]
    printed = capsys.readouterr().err
    for line in expected.get("printed", ()):
        for name in re.findall(r"in (?:rule|story) '([^']+)'", line):
            assert f"'{name}'" in printed


LOOP_OUTCOMES = {"loop_was_interrupted": "interrupted", "do_not_predict_loop_action": "without loop"}
SOURCES = (
    (r"predicting default action with intent (.*)", r"what Rasa does by itself with the intent \1"),
    (r"handling active loops and forms - (.*) - action_listen", r"what Rasa does by itself after the form \1"),
    (r"handling active loops and forms - (.*)", r"what Rasa does by itself while the form is active: \1"),
)


def trained_tables() -> list[Any]:
    found = [(case, path) for case in cases() for path in sorted((case / "expected" / "trained").glob("*.json"))]
    return [pytest.param(case, path, id=f"{case.name}-{path.stem}") for case, path in found]


@pytest.mark.parametrize(("case", "path"), trained_tables())
def test_what_a_policy_has_learnt_is_what_rasa_has_learnt(case: Path, path: Path) -> None:
    theirs = json.loads(path.read_text())["lookup"]
    ensemble = train_ensemble(read_project(case / "project"))
    kind = "RulePolicy" if path.stem.startswith("rule_policy") else "Memoization"
    ours = next(policy for policy in ensemble.policies if kind in policy.name).to_json()
    if kind == "Memoization":
        assert ours["lookup"] == {digest_of(states): action for states, action in theirs.items()}
        return
    assert ours["rules"] == theirs["rules"]
    assert ours["detours"] == {
        key: LOOP_OUTCOMES[outcome] for key, outcome in theirs["rules_for_loop_unhappy_path"].items()
    }
    assert set(ours["rule_only_slots"]) == set(theirs["rule_only_slots"])
    assert set(ours["rule_only_loops"]) == set(theirs["rule_only_loops"])
    assert set(ours["not_in_stories"]) == {source_of(name) for name in theirs["rules_not_in_stories"]}


def source_of(name: str) -> str:
    for pattern, ours in SOURCES:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, ours, name)
    return name


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded public bots are not beside this checkout")
def test_stand_ins_for_neural_policies_write_files_of_the_same_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = SHARED / "ted_unexpected_intents"
    shutil.copytree(case / "project", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    assert run_command_line(["train", "core", "--quiet"]) == 0
    for run in expected_of(case)["runs"]:
        assert run_command_line([*run["command"].split()[1:], "--quiet"]) == run["exit_code"]
        out = Path("results") / run["name"]
        expected = set(run["files"]) - {"TEDPolicy_confusion_matrix.png"}
        assert expected <= {path.name for path in out.iterdir()}
    warned = (Path("results") / "unlikely" / "stories_with_warnings.yml").read_text()
    assert "# predicted: action_unlikely_intent" in warned


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded public bots are not beside this checkout")
@pytest.mark.follows(
    page="rasa-1",
    sentence="`rasa train core -c A B --runs --percentages` trains each configuration on fewer and fewer stories.",
)
@pytest.mark.follows(
    page="rasa-3", sentence="`rasa train core -c A B --out --runs --percentages` trains models to compare."
)
def test_comparing_policies_writes_the_recorded_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = json.loads((SHARED / "compare" / "compare.json").read_text())
    shutil.copytree(SHARED / "compare" / "project", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    for run in recorded["runs"]:
        arguments = run["command"].split()[1:]
        assert run_command_line([*arguments, "--quiet"]) == run["exit_code"]
        out = Path(arguments[arguments.index("--out") + 1])
        assert sorted(str(path) for path in out.rglob("*") if path.is_file()) == sorted(run["files"])
        for name in (name for name in run["files"] if name.endswith(".json")):
            assert shape(json.loads(Path(name).read_text())) == shape(run[name])
    assert (
        json.loads(Path("comparison/num_stories.json").read_text())
        == recorded["runs"][0]["comparison/num_stories.json"]
    )


def shape(content: Any) -> Any:
    """Keys and lengths; which stories are left out is drawn by lot, so figures may differ."""
    if isinstance(content, dict):
        return {key: shape(value) for key, value in content.items()}
    if isinstance(content, list):
        return [shape(value) for value in content]
    return type(content).__name__
