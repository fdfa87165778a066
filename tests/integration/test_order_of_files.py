"""How an assistant's files are ordered, split and joined changes nothing but places."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from turncheck.cli import run_command_line
from turncheck.commands.compare_policies import _left
from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.story_steps import story_steps
from turncheck.project.reader import read_project

ROOT = Path(__file__).parents[2]
PROJECTS = (
    ROOT / "examples" / "pizzeria",
    *(ROOT / "tests" / "oracle" / "nlu" / name / "project" for name in ("lr_crf_travel", "roles_groups")),
    ROOT / "tests" / "oracle" / "nlu" / "response_selector" / "project",
)
PLACES = {"location", "locations", "path", "line", "column", "files", "source", "timings", "fingerprint"}
IN_FILE_ORDER = {"predictions", "training", "stories", "findings", "cases", "items"}


def rewritten(project: Path, folder: Path, random: Random) -> Path:
    """Copy a project with shuffled data, each intent, story and rule in a file of its own."""
    shutil.copytree(project, folder)
    for file in sorted((folder / "data").rglob("*.yml")):
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        file.unlink()
        for key in sorted(content.keys() - {"version"}):
            if not isinstance(content[key], list):
                (file.parent / f"{file.stem}_{key}.yml").write_text(
                    yaml.safe_dump({key: content[key]}), encoding="utf-8"
                )
                continue
            for number, item in enumerate(content[key]):
                if isinstance(item, dict) and "\n" in str(item.get("examples", "")):
                    lines = item["examples"].strip("\n").split("\n")
                    random.shuffle(lines)
                    item["examples"] = "\n".join(lines) + "\n"
                name = f"{random.randrange(10**6):06}_{file.stem}_{key}_{number}.yml"
                text = yaml.safe_dump({"version": "3.1", key: [item]}, allow_unicode=True, width=10_000)
                (file.parent / name).write_text(text, encoding="utf-8")
    return folder


def report_of(project: Path, folder: Path) -> Any:
    path = folder / "report.json"
    run_command_line(["run", "--project", str(project), "--no-cache", "--out", str(folder), "--json", str(path)])
    return json.loads(path.read_text(encoding="utf-8"))


def without_places(report: Any) -> Any:
    """Leave places out, and name sentences by their texts instead of their numbers."""
    nlu = report["nlu"]
    sentences = [one["text"] for one in nlu["predictions"]]
    trained = [one["text"] for one in nlu["training"]]
    for name in ("mislabelled", "least_sure", "overlapping"):
        nlu["insights"][name] = [sentences[index] for index in nlu["insights"].get(name, ())]
    for pair in nlu["insights"]["confused"]:
        pair["sentences"] = sorted(sentences[index] for index in pair["sentences"])
    for one in nlu["predictions"]:
        one["neighbours"] = [trained[near["training"]] for near in one.get("neighbours", ())]
    report.pop("project")
    return placeless(report)


def placeless(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: placeless(inner, name) for name, inner in sorted(value.items()) if name not in PLACES}
    if isinstance(value, list):
        inner = [placeless(one) for one in value]
        return sorted(inner, key=json.dumps) if key in IN_FILE_ORDER else inner
    return value


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: "-".join(path.parts[-2:]))
@pytest.mark.parametrize("seed", [1, 2])
def test_the_report_of_shuffled_and_split_files_is_the_same_but_for_places(
    project: Path, seed: int, tmp_path: Path
) -> None:
    one = rewritten(project, tmp_path / "one", Random(0))  # both without comments, which can suppress findings
    other = rewritten(project, tmp_path / "other", Random(seed))
    before, after = report_of(one, tmp_path / "before"), report_of(other, tmp_path / "after")
    assert without_places(after) == without_places(before)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_value_in_several_entities_is_named_by_its_usual_one_first(
    backwards: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = ["fly to [Oslo](city)", "is [Oslo](location) far", "from [Oslo](area) please"]
    lines = "".join(f"    - {text}\n" for text in (sentences[::-1] if backwards else sentences))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.yml").write_text(f"nlu:\n- intent: travel\n  examples: |\n{lines}", encoding="utf-8")
    (tmp_path / "domain.yml").write_text("intents: [travel]\nentities: [city, location, area]\n", encoding="utf-8")
    run_command_line(["data", "validate", "--project", str(tmp_path)])
    found = capsys.readouterr().out
    assert all(f"annotated as '{name}' here, and as 'location' elsewhere" in found for name in ("area", "city"))


def test_the_stories_left_out_of_a_comparison_are_the_same_in_any_order() -> None:
    project = read_project(ROOT / "examples" / "pizzeria")
    domain = DialogueDomain.of(project)
    stories = [*project.stories, *project.rules]
    kept = [
        sorted(step.name for step in _left(story_steps(order, domain), 40, "1")) for order in (stories, stories[::-1])
    ]
    assert 0 < len(kept[0]) < len(stories)
    assert kept[0] == kept[1]
