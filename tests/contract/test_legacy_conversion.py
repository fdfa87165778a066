"""Files of older Rasas are converted to what Rasa reads in its own converter's output, where that is right."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_legacy_reading import as_example, as_step, examples, expected_event, numbered

from turncheck.cli import run_command_line
from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.story_steps import story_steps
from turncheck.project.reader import read_nlu, read_nlu_responses, read_project, read_stories
from turncheck.validation.pipeline import validate

ORACLE = Path(__file__).parent.parent / "oracle" / "legacy" / "convert"
CASES = sorted(path.parent.name for path in ORACLE.glob("*/expected.json"))
IN_MARKDOWN = [case for case in CASES if not case.startswith("yaml_")]


WRONG_THERE = {"with brackets"}
"""A sentence in JSON whose brackets are none of an entity: Rasa's converter makes one of them, ours leaves it out."""


def named(example: dict[str, Any]) -> dict[str, Any]:
    key = example.get("response_key")
    return {**example, "intent": key or example["intent"], "response_key": None}


def meaning(case: str) -> dict[str, Any]:
    content = json.loads((ORACLE / case / "expected.json").read_text(encoding="utf-8"))["meaning"]
    assert isinstance(content, dict)
    return content


def convert(case: str, kind: str, out: Path, *flags: str) -> Path:
    command = ["data", "convert", kind, "--project", str(ORACLE / case / "project"), "--out", str(out), *flags]
    files = {"nlu": "data", "core": "data", "domain": "domain.yml", "config": "config.yml"}
    assert run_command_line([*command[:3], str(ORACLE / case / "project" / files[kind]), *command[3:]]) == 0
    return out


@pytest.mark.parametrize("case", IN_MARKDOWN)
def test_nlu_data_mean_what_rasas_own_conversion_means(case: str, tmp_path: Path) -> None:
    expected = meaning(case).get("nlu", {})
    out = convert(case, "nlu", tmp_path)
    nlu, findings = read_nlu([out], out)
    assert not [one for one in findings if one.severity == "error"]
    if not expected:
        return  # its own converter ended with an error
    ours = sorted(examples(nlu), key=repr)
    theirs = [as_example(named(one)) for one in expected["examples"] if one.get("intent")]
    assert ours == sorted((one for one in theirs if one["text"] not in WRONG_THERE), key=repr)
    assert {one.synonym: one.value for one in nlu.synonyms} == expected.get("synonyms", {})
    assert sorted((one.name, one.pattern) for one in nlu.regexes) == sorted(
        (one["name"], one["pattern"]) for one in expected.get("regexes", [])
    )
    entries = {entry for table in nlu.lookups for entry in table.elements}
    assert entries == {entry for table in expected.get("lookups", []) for entry in table["elements"]}


@pytest.mark.parametrize("case", [case for case in IN_MARKDOWN if "nlg" in meaning(case)])
def test_responses_of_retrieval_intents_are_carried_over(case: str, tmp_path: Path) -> None:
    out = convert(case, "nlu", tmp_path)
    ours = {
        name: [dict(one.content) for one in response.variations]
        for name, response in read_nlu_responses([out], out).items()
    }
    assert ours == dict(meaning(case)["nlg"]["responses"].items())


@pytest.mark.parametrize("case", [case for case in IN_MARKDOWN if "core" in meaning(case)])
def test_stories_mean_what_rasas_own_conversion_means_and_keep_their_events(case: str, tmp_path: Path) -> None:
    out = convert(case, "core", tmp_path)
    stories, findings = read_stories([out], out)
    assert not [one for one in findings if one.severity == "error"]
    domain = DialogueDomain.from_domain(read_project(ORACLE / case / "project").domain)
    ours = [as_step(one) for one in numbered(story_steps(stories, domain))]
    assert sorted(map(shared, ours)) == sorted(as_recorded(one) for one in meaning(case)["core"]["stories"])


def shared(step: dict[str, Any]) -> str:
    """Leave out the events that Rasa's own converter loses, and what alternatives are numbered by."""
    events = [event for event in step["events"] if "event" not in event]
    return told(step["name"], step["start"], step["end"], events)


def as_recorded(step: dict[str, Any]) -> str:
    start = [(one["name"], one.get("conditions", {})) for one in step["start"]]
    return told(step["name"], start, step["end"], [expected_event(event) for event in step["events"]])


def told(name: str, start: Any, end: Any, events: list[dict[str, Any]]) -> str:
    plain = [
        {**one, "entities": [strip_places(e) for e in one["entities"]]} if "entities" in one else one for one in events
    ]
    written = json.dumps([name, start, end, plain], sort_keys=True)
    return (
        re.sub(r"GENR_OR_\d+", "GENR_OR", written)
        .replace("respond_", "utter_")
        .replace("_deactivate_form", "_deactivate_loop")
    )


def strip_places(entity: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entity.items() if key not in {"start", "end"}}


@pytest.mark.parametrize("case", CASES)
def test_a_converted_project_is_one_of_rasa_3(case: str, tmp_path: Path) -> None:
    for kind in ("nlu", "core", "domain", "config"):
        out = tmp_path if kind in {"domain", "config"} else tmp_path / "data"
        convert(case, kind, out, "--check")
    project = read_project(tmp_path)
    assert project.rasa is not None
    assert project.rasa.name == "3.x"
    refused = [one for one in validate(project).findings if one.code in {"schema-violation", "slot-mapping-invalid"}]
    assert not refused
