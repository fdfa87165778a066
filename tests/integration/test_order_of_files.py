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
