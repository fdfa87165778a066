"""Test stories of Rasa 1 projects are judged as Rasa 1.10.26 judged them: recorded cases (``tests/oracle/legacy``)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.engines.embedded.policies.trainer import train_ensemble
from turncheck.evaluations.core.judging import evaluate_stories
from turncheck.messages.errors import TrainingRefusedError
from turncheck.project.folder import ProjectFolder
from turncheck.project.formats.markdown_stories import read_markdown_stories
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from turncheck.report.model import Core

ORACLE = Path(__file__).parent.parent / "oracle" / "legacy" / "test_core"
CASES = sorted(path.parent.name for path in ORACLE.glob("*/expected.json"))
RUNS = {"stories", "e2e"}
"""The runs that are judgements of their own; the others repeat them with other flags."""


def expected(case: str) -> dict[str, Any]:
    content = json.loads((ORACLE / case / "expected.json").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


REFUSED = [case for case in CASES if expected(case)["train"]["exit_code"]]
JUDGED = [
    (case, run["name"])
    for case in CASES
    if case not in REFUSED
    for run in expected(case)["runs"]
    if run["name"] in RUNS
]


@pytest.mark.parametrize("case", REFUSED)
def test_what_rasa_1_refuses_to_train_is_refused(case: str) -> None:
    with pytest.raises(TrainingRefusedError) as refused:
        train_ensemble(read_project(ORACLE / case / "project"))
    assert refused.value.location is not None


@pytest.mark.parametrize(("case", "name"), JUDGED)
@pytest.mark.follows(
    page="rasa-1",
    sentence=(
        "End-to-end stories give the intent and text of each message; they may have forms, unhappy paths "
        "and events of actions."
    ),
)
def test_each_action_is_predicted_as_by_rasa_1(case: str, name: str) -> None:
    run = next(run for run in expected(case)["runs"] if run["name"] == name)
    core = judge(case, run)
    ours = [as_told(story) for story in core.stories if not story.duplicate]
    recorded = [as_recorded(story) for story in run["stories"]]
    assert sorted(ours) == sorted(recorded)
    assert core.in_training_data_fraction == pytest.approx(run["in_training_data_fraction"])
    table = run["tables"]["ACTION"]
    figures = (core.accuracy, core.precision, core.f1)
    assert figures == pytest.approx((table["accuracy"], table["precision"], table["f1"]))


def judge(case: str, run: dict[str, Any]) -> Core:
    root = ORACLE / case / "project"
    project = read_project(root)
    assert project.older is not None
    path = run["command"].partition("--stories ")[2].partition(" ")[0]
    folder = ProjectFolder(root)
    source = folder.decode(path, folder.read_bytes(root / path) or b"")
    assert source is not None
    end_to_end = name_of(run) == "e2e"
    stories, _ = read_markdown_stories(source, end_to_end=end_to_end)
    nlu = EmbeddedNluTrainer().fit(project) if end_to_end else None
    return evaluate_stories(train_ensemble(project), stories, nlu=nlu, end_to_end=end_to_end)


def name_of(run: dict[str, Any]) -> str:
    return str(run["name"])


def as_told(story: Any) -> tuple[Any, ...]:
    steps = [step for step in story.steps if step.kind == "action"]
    actions = [(one.expected, one.predicted, one.policy, one.confidence) for one in steps]
    return story.name, [(e, p, None if name == "followup_action" else name, c) for e, p, name, c in actions]


def as_recorded(story: dict[str, Any]) -> tuple[Any, ...]:
    return story["name"], [
        (
            one["expected"],
            one["predicted"],
            one["policy"] and one["policy"].rpartition("_")[2],
            one["confidence"],
        )
        for one in story["actions"]
    ]


@pytest.mark.parametrize(("case", "name"), JUDGED)
@pytest.mark.follows(
    page="rasa-1", sentence="Failed stories are written to `failed_stories.md`; one wrong action fails a story."
)
def test_failed_stories_are_written_as_by_rasa_1(
    case: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = next(run for run in expected(case)["runs"] if run["name"] == name)
    shutil.copytree(ORACLE / case / "project", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    assert run_command_line([*run["command"].split()[1:], "--no-plot"]) == run["exit_code"]
    written = {file for file in run["files"] if not file.endswith(".pdf")}
    assert {str(path) for path in Path("results").rglob("*.*")} == written
    recorded = ORACLE / case / "expected" / name / "failed_stories.md"
    ours = blocks(Path("results", name, "failed_stories.md").read_text(encoding="utf-8"))
    theirs = blocks(recorded.read_text(encoding="utf-8"))
    assert ours == theirs


def blocks(written: str) -> list[tuple[str, str]]:
    """Return the stories by name, without the folder of their file."""
    found = (block.strip("\n").partition("\n") for block in written.split("\n\n\n"))
    return sorted((head.removeprefix("## ").rpartition(" (")[0], body) for head, _, body in found)


@pytest.mark.follows(page="rasa-1.0", sentence="`rasa test core` without `--stories` judges the training stories.")
def test_where_no_stories_are_named_the_data_are_judged_as_by_rasa_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = next(run for run in expected("memo")["runs"] if run["name"] == "training_data")
    shutil.copytree(ORACLE / "memo" / "project", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    assert run_command_line([*run["command"].split()[1:], "--json", "r.json"]) == 0
    recorded = ORACLE / "memo" / "expected" / "training_data" / "failed_stories.md"
    assert Path("results/train/failed_stories.md").read_text() == recorded.read_text()
    told = json.loads(Path("r.json").read_text())["core"]["stories"]
    assert sorted(story["name"] for story in told if not story["duplicate"]) == sorted(
        story["name"] for story in run["stories"]
    )


def test_a_story_that_names_entities_beside_an_intent_is_part_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such an entity has no place in any message; a run judges stories end to end where they have messages."""
    shutil.copytree(ORACLE / "form" / "project", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")

    assert run_command_line(["run", "--baseline", "none", "--evaluations", "core", "--quiet"]) == 1

    core = json.loads(Path("results/report.json").read_text())["core"]
    assert len(core["stories"]) == len(next(iter(expected("form")["runs"]))["stories"])
