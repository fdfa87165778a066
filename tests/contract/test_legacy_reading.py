"""Training data of Rasa 0.x to 2.x is read as Rasa 1.10.26 read it: recorded cases (``tests/oracle/legacy``)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.events import (
    ActionExecuted,
    ActionReverted,
    ActiveLoop,
    AllSlotsReset,
    ConversationPaused,
    ConversationResumed,
    Event,
    Restarted,
    SlotSet,
    UserUtteranceReverted,
    UserUttered,
)
from turncheck.dialogue.story_steps import StoryStep, story_steps
from turncheck.messages.finding import Location
from turncheck.project.folder import ProjectFolder
from turncheck.project.formats.markdown_stories import read_markdown_stories
from turncheck.project.model import Domain
from turncheck.project.nlu_data import NluData
from turncheck.project.reader import read_project
from turncheck.yaml_tree.source import Source

ORACLE = Path(__file__).parent.parent / "oracle" / "legacy"
VERSION = "rasa 1.10.26"

OURS = {
    "json_broken": "a file that is not JSON is an error: Rasa silently skips it",
    "md_lookup_missing": "the file of a lookup table is looked for when it is read: Rasa does when it trains",
}
"""Cases that ours answers otherwise, on purpose."""


def cases(kind: str) -> list[str]:
    return sorted(path.parent.name for path in (ORACLE / kind).glob("*/expected.json"))


def recorded(kind: str, case: str) -> dict[str, Any]:
    reading = json.loads((ORACLE / kind / case / "expected.json").read_text(encoding="utf-8"))["readings"][VERSION]
    assert isinstance(reading, dict)
    return reading


# --- NLU data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("nlu"))
def test_nlu_data_is_read_as_rasa_1_read_it(case: str) -> None:
    expected = recorded("nlu", case)
    project = read_project(ORACLE / "nlu" / case / "project")
    errors = [finding for finding in project.findings if finding.severity == "error"]
    errors = [finding for finding in errors if not finding.code.endswith("-not-found")]
    if "error" in expected or case in OURS:
        assert errors, "what ended the reading is an error"
        assert all(finding.location.line and finding.location.column for finding in errors)
        return
    unseen = [finding for finding in errors if "exactly one blank" not in finding.message]
    assert not unseen
    assert files(project.files) == {kind: names for kind, names in expected["files"].items() if names}
    assert examples(project.nlu) == [as_example(one) for one in expected["examples"]]
    assert {one.synonym: one.value for one in project.nlu.synonyms} == {
        text: value.strip() for text, value in expected["synonyms"].items()
    }
    assert [(one.name, one.pattern) for one in project.nlu.regexes] == [
        (one["name"].strip(), one["pattern"]) for one in expected["regexes"]
    ]
    assert [(one.name, one.file or list(one.elements)) for one in project.nlu.lookups] == [
        (one["name"].strip(), one["elements"]) for one in expected["lookups"]
    ]
    responses = {
        name.removeprefix("utter_"): [one.text for one in response.variations]
        for name, response in project.domain.responses.items()
    }
    assert responses == expected.get("responses", {})


def files(found: Any) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for file in found:
        if file.role == "data" and file.kinds:
            kinds.setdefault("stories" if "stories" in file.kinds else "nlu", []).append(file.path)
    return kinds


def examples(nlu: NluData) -> list[dict[str, Any]]:
    return [
        {
            "text": one.text,
            "intent": one.intent,
            "entities": [
                {
                    key: getattr(entity, key)
                    for key in ("start", "end", "entity", "value", "role", "group")
                    if getattr(entity, key) is not None
                }
                for entity in one.entities
            ],
        }
        for one in nlu.examples
    ]


def as_example(expected: dict[str, Any]) -> dict[str, Any]:
    key = expected.get("response_key")
    intent = expected.get("intent")
    return {
        "text": expected["text"],
        "intent": f"{intent}/{key}" if key else intent,
        "entities": expected["entities"],
    }


# --- stories ---------------------------------------------------------------------------------------------------------

TAKEN_AS_END_TO_END = {"training_but_e2e"}
"""Lines that give texts in a file that is read without ``--e2e``: Rasa takes all of them for intents, ours does not."""


@pytest.mark.parametrize("case", cases("stories"))
def test_stories_are_read_as_rasa_1_read_them(case: str) -> None:
    expected = recorded("stories", case)
    path = ORACLE / "stories" / case / "project" / "data" / "stories.md"
    source = Source("data/stories.md", path.read_bytes().decode())
    stories, findings = read_markdown_stories(source, end_to_end=expected["read_as"] == "end-to-end")
    errors = [finding for finding in findings if finding.severity == "error"]
    if case == "crlf_bom":
        assert [story.name for story in stories] == ["one", "two"]
        assert findings[0].location == Location("data/stories.md", 1, 1)
        return
    if "error" in expected:
        line = expected["error"]["text"].partition("Error in line ")[2].partition(":")[0]
        assert errors[0].location.line == int(line)
        return
    assert not errors
    domain = read_project(path.parent.parent).domain
    steps = story_steps(stories, DialogueDomain.from_domain(domain))
    assert [as_step(one) for one in numbered(steps)] == [expected_step(one) for one in expected["steps"]]


@dataclass(frozen=True)
class Numbered:
    step: StoryStep
    names: dict[str, str]


def numbered(steps: list[StoryStep]) -> list[Numbered]:
    names: dict[str, str] = {}
    for step in steps:
        for checkpoint in (*step.start, *step.end):
            if checkpoint.name.startswith("GENR_OR_"):
                names.setdefault(checkpoint.name, f"GENR_OR_{len(names)}")
    return [Numbered(step, names) for step in steps]


def as_step(numbered: Numbered) -> dict[str, Any]:
    step, names = numbered.step, numbered.names
    return {
        "name": step.name,
        "start": [(names.get(one.name, one.name), dict(one.conditions)) for one in step.start],
        "end": [names.get(one.name, one.name) for one in step.end],
        "events": [as_event(event) for event in step.events],
    }


def expected_step(step: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": step["name"],
        "start": [(one["name"], one.get("conditions", {})) for one in step["start_checkpoints"]],
        "end": step["end_checkpoints"],
        "events": [expected_event(event) for event in step["events"] if told(event)],
    }


def told(event: dict[str, Any]) -> bool:
    return not event.keys() & {"followup", "reminder"} and event.get("event") not in {"export", "session_started"}


def expected_event(event: dict[str, Any]) -> dict[str, Any]:
    if "user" not in event:
        return event
    user = event["user"]
    keys = ("entity", "value", "role", "start", "end") if "text" in user else ("entity", "value", "role")
    return {
        "intent": user["intent"].strip().removeprefix("/"),
        "text": user.get("text"),
        "entities": [{key: one[key] for key in keys if one.get(key) is not None} for one in user["entities"]],
    }


def as_event(event: Event) -> dict[str, Any]:
    match event:
        case UserUttered():
            intent = event.intent.get("full_retrieval_intent_name") or event.intent_name
            return {"intent": intent, "text": event.text, "entities": [dict(one) for one in event.entities]}
        case ActionExecuted():
            return {"action": event.name}
        case SlotSet():
            return {"slot": {event.name: event.value}}
        case ActiveLoop():
            return {"form": event.name}
        case _:
            pass
    names = {
        Restarted: "restart",
        UserUtteranceReverted: "rewind",
        ActionReverted: "undo",
        AllSlotsReset: "reset_slots",
        ConversationPaused: "pause",
        ConversationResumed: "resume",
    }
    return {"event": names[type(event)]}


def test_the_place_of_an_example_is_that_of_its_text_behind_a_comment(tmp_path: Path) -> None:
    (tmp_path / "nlu.md").write_text("<!-- one\ntwo -->\n## intent:greet\n  - <!-- x --> hi\n", encoding="utf-8")
    folder = ProjectFolder(tmp_path)
    assert folder.findings == []
    from turncheck.project.reader import read_nlu

    nlu, _ = read_nlu([tmp_path / "nlu.md"], tmp_path)
    assert str(nlu.examples[0].location) == "nlu.md:4:16"
    assert Domain().is_empty
