"""Stories and rules from files: contents, positions, faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turncheck.project.model import (
    ActionStep,
    ActiveLoopStep,
    BotStep,
    CheckpointStep,
    OrStep,
    SlotWasSetStep,
    Story,
    StoryEntity,
    UserStep,
)
from turncheck.project.reader import read_stories

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.messages.finding import Finding


def read(root: Path, text: str) -> tuple[tuple[Story, ...], tuple[Finding, ...]]:
    path = root / "stories.yml"
    path.write_text(text, encoding="utf-8")
    return read_stories([path], root)


def steps_of(root: Path, steps: str) -> tuple[object, ...]:
    (story,), findings = read(root, f"stories:\n- story: s\n  steps:\n{steps}")
    assert findings == ()
    return story.steps


def test_user_steps_by_intent_with_entities(tmp_path: Path) -> None:
    (step,) = steps_of(
        tmp_path,
        "  - intent: inform\n    entities:\n    - city: Rome\n    - date\n"
        "    - {city: Oslo, role: to, group: '1'}\n    - amount: 5\n",
    )
    assert isinstance(step, UserStep)
    assert (step.intent, step.text, str(step.location)) == ("inform", None, "stories.yml:4:5")
    assert step.entities == (
        StoryEntity("city", "Rome"),
        StoryEntity("date", ""),
        StoryEntity("city", "Oslo", "to", "1"),
        StoryEntity("amount", 5),
    )


def test_user_steps_by_text_and_by_both(tmp_path: Path) -> None:
    one, two, three = steps_of(
        tmp_path,
        '  - user: |\n      to [Rome]{"entity": "city", "role": "to"}\n    intent: book/trip\n'
        '  - user: hello\n  - user: \'/inform{"city": ["Rome", "Oslo"]}\'\n    intent: inform\n',
    )
    assert isinstance(one, UserStep)
    assert (one.text, one.intent) == ("to Rome", "book/trip")
    assert one.entities == (StoryEntity("city", "Rome", "to", None, 3, 7),)
    assert isinstance(two, UserStep)
    assert (two.text, two.intent) == ("hello", None)
    assert isinstance(three, UserStep)
    assert three.entities == (
        StoryEntity("city", "Rome", start=7, end=33),
        StoryEntity("city", "Oslo", start=7, end=33),
    )
    assert str(three.location) == "stories.yml:8:5"


@pytest.mark.parametrize("text", ["/inform{broken}", "/inform[1]", '/inform{"a": ', "/"])
def test_an_intent_message_with_broken_entities_has_none(tmp_path: Path, text: str) -> None:
    (step,) = steps_of(tmp_path, f"  - user: '{text}'\n    intent: inform\n")
    assert isinstance(step, UserStep)
    assert step.entities == ()


def test_a_slash_before_an_intent_is_not_part_of_its_name(tmp_path: Path) -> None:
    (story,), findings = read(tmp_path, "stories:\n- story: s\n  steps:\n  - intent: ' /greet '\n")
    (step,) = story.steps
    assert [finding.code for finding in findings] == ["intent-leading-slash"]
    assert isinstance(step, UserStep)
    assert step.intent == "greet"


def test_bot_steps_slots_loops_and_checkpoints(tmp_path: Path) -> None:
    steps = steps_of(
        tmp_path,
        "  - action: utter_greet\n  - bot: Hello!\n  - slot_was_set:\n    - name: Ann\n    - age\n"
        "    - {a: null, b: [1, x]}\n"
        "  - active_loop: form\n  - active_loop: null\n  - checkpoint: c\n    slot_was_set:\n    - name: Bob\n"
        "  - metadata: {x: 1}\n",
    )
    assert [type(step) for step in steps] == [
        ActionStep,
        BotStep,
        SlotWasSetStep,
        SlotWasSetStep,
        SlotWasSetStep,
        SlotWasSetStep,
        ActiveLoopStep,
        ActiveLoopStep,
        CheckpointStep,
    ]
    slots = [(one.slot, one.value, one.named_only) for one in steps if isinstance(one, SlotWasSetStep)]
    assert slots == [("name", "Ann", False), ("age", None, True), ("a", None, False), ("b", [1, "x"], False)]
    assert [one.name for one in steps if isinstance(one, ActiveLoopStep)] == ["form", None]
    checkpoint = steps[-1]
    assert isinstance(checkpoint, CheckpointStep)
    assert [(one.slot, one.value) for one in checkpoint.slots] == [("name", "Bob")]


def test_or_holds_its_alternatives(tmp_path: Path) -> None:
    (step,) = steps_of(
        tmp_path, "  - or:\n    - intent: a\n    - intent: b\n      entities: [x]\n    - slot_was_set: [{s: 1}, t]\n"
    )
    assert isinstance(step, OrStep)
    kinds = [[type(one).__name__ for one in alternative] for alternative in step.alternatives]
    assert kinds == [["UserStep"], ["UserStep"], ["SlotWasSetStep", "SlotWasSetStep"]]
    assert str(step.location) == "stories.yml:4:5"


def test_rules_have_conditions_and_flags(tmp_path: Path) -> None:
    text = (
        "rules:\n- rule: one\n  condition:\n  - active_loop: form\n  - slot_was_set:\n    - requested_slot: name\n"
        "  conversation_start: true\n  wait_for_user_input: false\n  steps:\n  - intent: stop\n"
        "- rule: two\n  steps:\n  - action: a\nstories:\n- story: three\n  steps:\n  - action: b\n"
    )
    (three, one, two), findings = read(tmp_path, text)
    assert findings == ()
    assert (three.kind, one.kind) == ("story", "rule")
    assert [type(step) for step in one.condition] == [ActiveLoopStep, SlotWasSetStep]
    assert (one.conversation_start, one.wait_for_user_input) == (True, False)
    assert (two.conversation_start, two.wait_for_user_input) == (False, True)
    assert str(two.location) == "stories.yml:11:3"


def test_values_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, "  - slot_was_set:\n    - a: yes\n    - b: 12:30\n    - c: true\n    - d: 1e3\n")
    assert [one.value for one in steps if isinstance(one, SlotWasSetStep)] == ["yes", "12:30", True, 1000.0]


@pytest.mark.parametrize(
    ("item", "code", "place", "severity"),
    [
        ("- story: ''\n  steps:\n  - action: a\n", "story-name-empty", "2:3", "warning"),
        ("- story: a\n  steps: []\n", "story-without-steps", "2:3", "warning"),
        ("- story: a\n", "story-without-steps", "2:3", "warning"),
        ("- story: a\n  steps:\n  - checkpoint: x\n  - checkpoint: y\n", "story-without-steps", "2:3", "warning"),
        ("- story: a\n  steps: [{checkpoint: x}]\n", "story-without-steps", "2:3", "warning"),
        ("- story: a\n  steps:\n  - intent: ''\n  - action: b\n", "step-without-intent", "4:5", "warning"),
        ("- story: a\n  steps:\n  - action:\n  - action: b\n", "step-without-action", "4:5", "warning"),
        ("- story: 5\n  steps:\n  - action: b\n", "schema-violation", "2:10", "error"),
        ("- hello\n", "schema-violation", "2:3", "error"),
        ("- steps: []\n", "schema-violation", "2:3", "error"),
        ("- story: a\n  steps:\n  - hello\n  - action: b\n", "schema-violation", "4:5", "error"),
        ("- story: a\n  steps:\n  - {bot_says: x}\n  - action: b\n", "schema-violation", "4:5", "error"),
        ("- story: a\n  steps:\n  - intent: 5\n", "schema-violation", "4:13", "error"),
        ("- story: a\n  steps:\n  - intent: [a]\n", "schema-violation", "4:13", "error"),
        ("- story: a\n  steps:\n  - slot_was_set: {a: b}\n  - action: b\n", "schema-violation", "4:19", "error"),
        ("- story: a\n  steps:\n  - slot_was_set: [5]\n  - action: b\n", "schema-violation", "4:20", "error"),
        ("- story: a\n  steps:\n  - or: [{action: b}]\n  - action: b\n", "schema-violation", "4:10", "error"),
        ("- story: a\n  steps:\n  - {intent: a, entities: 5}\n", "schema-violation", "4:27", "error"),
        ("- story: a\n  steps:\n  - user: \"[x]{'a': 1}\"\n    intent: b\n", "annotation-not-json", "4:11", "error"),
    ],
)
def test_a_fault_is_named_with_its_place_and_the_rest_is_read(
    tmp_path: Path, item: str, code: str, place: str, severity: str
) -> None:
    stories, findings = read(tmp_path, f"stories:\n{item}- story: other\n  steps:\n  - action: still_read\n")
    assert [(one.code, str(one.location), one.severity) for one in findings][:1] == [
        (code, f"stories.yml:{place}", severity)
    ]
    assert all(one.hint for one in findings)
    last = stories[-1].steps[-1]
    assert isinstance(last, ActionStep)
    assert last.action == "still_read"
