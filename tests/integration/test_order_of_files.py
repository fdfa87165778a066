"""How an assistant's files are ordered, split and joined changes nothing but places."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from reordered import Reordering, rewritten

from turncheck.cli import run_command_line
from turncheck.commands.train import _left
from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.story_steps import story_steps
from turncheck.project.reader import read_project
from turncheck.validation.pipeline import validate

ROOT = Path(__file__).parents[2]
ORACLE = ROOT / "tests" / "oracle"
PROJECTS = (
    ROOT / "examples" / "pizzeria",
    ROOT / "examples" / "bike_workshop",
    *(ORACLE / "nlu" / name / "project" for name in ("lr_crf_travel", "roles_groups", "response_selector")),
    *(ORACLE / "legacy" / "test_nlu" / name / "project" for name in ("keyword_crf_110", "keyword_json_110")),
    *(ORACLE / "legacy" / "test_core" / name / "project" for name in ("form", "memo_augmented")),
)
CHECKED = sorted(
    {
        *(
            path.parent
            for folder in ("validate", "legacy", "nlu")
            for path in (ORACLE / folder).rglob("project/domain.yml")
        ),
        ROOT / "examples" / "clinic",
        *(path for path in (ORACLE / "kore" / "exports").iterdir() if path.is_dir()),
    }
)
PLACES = {
    *(
        "location",
        "locations",
        "path",
        "line",
        "column",
        "files",
        "source",
        "timings",
        "fingerprint",
        "others",
        "digest",
        "lines",  # digests of those around a finding
    ),
    *("project", "rasa_signs"),
}
IN_FILE_ORDER = {"predictions", "training", "stories", "findings", "cases", "items", "rules", "word_lists", "errors"}
NOTHING_CHANGED = {"metrics", "base_confusions", "base_notes", "base_unjudged", "warnings"}
"""Lists of a comparison that are not about changes."""
PLACE = re.compile(r"\(?[\w./-]+\.(?:ya?ml|md|json|csv):\d+(?::\d+)?|'[\w./-]+\.(?:ya?ml|md|json|csv)'")
COUNTS_OF_PLACES = re.compile(r"(at \d+ places?|\(at /[\w/]+\)|is in line \d+)")


def report_of(project: Path, folder: Path, *more: str) -> Any:
    command = ["run", "--project", str(project), "--no-cache", "--folds", "2", "--fail-on", "errors", "test-failures"]
    run_command_line([*command, "--out", str(folder), *more])
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def without_places(report: Any) -> Any:
    """Leave places out, and name sentences by their texts instead of their numbers."""
    nlu = report["nlu"] or {"predictions": [], "training": [], "insights": {"confused": []}}
    sentences = [one["text"] for one in nlu["predictions"]]
    trained = [one["text"] for one in nlu["training"]]
    for name in ("mislabelled", "least_sure", "overlapping"):
        nlu["insights"][name] = [sentences[index] for index in nlu["insights"].get(name, ())]
    for pair in nlu["insights"]["confused"]:
        pair["sentences"] = sorted(sentences[index] for index in pair["sentences"])
    for one in nlu["predictions"]:
        one["neighbours"] = [trained[near["training"]] for near in one.get("neighbours", ())]
    return placeless(report)


def placeless(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        if key == "shared":  # what other files add to a test, by their paths
            return sorted(value.values())
        return {name: placeless(inner, name) for name, inner in sorted(value.items()) if name not in PLACES}
    if isinstance(value, list):
        inner = [placeless(one) for one in value]
        return sorted(inner, key=json.dumps) if key in IN_FILE_ORDER else inner
    return said(value) if isinstance(value, str) else value


def said(text: str) -> str:
    return COUNTS_OF_PLACES.sub("@", PLACE.sub("@", text))


def named(project: Path) -> str:
    parts = project.relative_to(ROOT).parts
    return "-".join(part for part in parts if part not in {"tests", "oracle", "project"})


@pytest.mark.slow
@pytest.mark.parametrize("project", PROJECTS, ids=named)
def test_the_report_of_shuffled_and_split_files_is_the_same_but_for_places(project: Path, tmp_path: Path) -> None:
    one = rewritten(project, tmp_path / "one" / "bot", Reordering())  # no comments, which can suppress findings
    before = report_of(one, tmp_path / "before")
    base = tmp_path / "base.json"
    base.write_bytes((tmp_path / "before" / "report.json").read_bytes())
    other = rewritten(project, tmp_path / "other" / "bot", Reordering(Random(1), split=True))
    after = report_of(other, tmp_path / "after", "--baseline", str(base))
    assert without_places(after) == without_places(before)
    comparison = json.loads((tmp_path / "after" / "comparison.json").read_text(encoding="utf-8"))
    assert comparison["baseline"]["status"] == "present"
    assert not [one for one in comparison["metrics"] if one["delta"]]
    assert (
        not {key: part for key, part in comparison.items() if isinstance(part, list) and part}.keys() - NOTHING_CHANGED
    )
    verdicts = [
        json.loads((tmp_path / side / "verdict.json").read_text(encoding="utf-8")) for side in ("before", "after")
    ]
    assert verdicts[0]["outcome"] == verdicts[1]["outcome"]


def found_in(project: Path, how: Reordering, folder: Path) -> list[tuple[str, str, str, str]]:
    validated = validate(read_project(rewritten(project, folder, how)), strict=True)
    return sorted({(one.code, one.severity, said(one.message), one.subject) for one in validated.findings})


@pytest.mark.parametrize("project", CHECKED, ids=named)
def test_what_is_found_is_the_same_in_any_order(project: Path, tmp_path: Path) -> None:
    before = found_in(project, Reordering(), tmp_path / "one" / "bot")
    assert found_in(project, Reordering(Random(1), split=True), tmp_path / "other" / "bot") == before


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
