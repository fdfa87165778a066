"""Names that nothing defines, wherever a project with flows mentions them, and what was meant by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from flow_example import D, Edit, F, T, U, checked, example, found_in

if TYPE_CHECKING:
    from pathlib import Path

HOURS = "      - action: utter_opening_hours"
FROM_LLM = "  day:\n    type: text\n    mappings:\n      - type: from_llm"
SAYS = "- text: Fine, nothing is booked."
PATTERNS = "data/patterns.yml"

P = "data/patterns.yml"
P_STEPS = "    description: All flows have ended.\n    steps:\n"
P_COMPLETED = f"  pattern_completed:\n{P_STEPS}"
LINKS = "flow-link-refused"
NAMED = "    name: book an appointment"
AFTER_ELSE = (
    "          - else: END\n          - if: slots.rating > 4\n            then:\n              - action: utter_thanks"
)
MENTIONED: list[tuple[Edit, str, str]] = [
    (
        (D, FROM_LLM, FROM_LLM.replace("llm", "entity\n        entity: date")),
        "mapping-entity-undefined",
        "domain.yml:16",
    ),
    (
        (D, FROM_LLM, FROM_LLM.replace("llm", "intent\n        intent: today\n        value: today")),
        "mapping-intent-undefined",
        "domain.yml:16",
    ),
    ((D, "See you on {day}.", "See you on {dayy}."), "response-variable-undefined", "domain.yml:64"),
    ((D, "on {day}: shall", "on {date}: shall"), "response-variable-undefined", "domain.yml:57"),
    (
        (D, SAYS, f"{SAYS}\n      condition: [{{type: slot, name: dayy, value: Monday}}]"),
        "condition-slot-undefined",
        "domain.yml:67",
    ),
    ((D, "  day:\n    type: text", "  day:\n    tpye: text\n    type: text"), "slot-key-unknown", "domain.yml:13"),
    ((F, HOURS, f"{HOURS}\n      - call: no_agent\n        exit_if: [slots.day]"), "flow-flow-undefined", f"{F}:49"),
    (
        (F, NAMED, f"{NAMED}\n    block_digressions: [opening_hour]"),
        "flow-flow-undefined",
        f"{F}:4",
    ),
    ((P, f"{P_COMPLETED}      - action", f"{P_COMPLETED}      - call: opening_hours\n      - action"), LINKS, f"{P}:5"),
    ((P, P_COMPLETED, f"  pattern_internal_error:\n{P_STEPS}      - link: opening_hours\n"), LINKS, f"{P}:5"),
    ((F, "          - else:\n              - action: utter_thanks", AFTER_ELSE), "flow-condition-covered", f"{F}:61"),
    ((T, "test_cases:", "testcases:"), "key-unknown", f"{T}:9"),
    ((U, "test_cases:", "test_case:"), "key-unknown", f"{U}:5"),
    (
        (
            U,
            "        commands:\n          - SetSlot(service, shave)",
            "        commnds:\n          - SetSlot(service, shave)",
        ),
        "e2e-syntax",
        f"{U}:17",
    ),
    (
        (U, "      - user: oh, rather a shave", "      - user: oh, rather a shave\n        mood: hasty"),
        "e2e-doubtful",
        f"{U}:17",
    ),
    (
        (U, "test_case: a question in between", "test_case: service and day in one sentence"),
        "e2e-doubtful",
        f"{U}:20",
    ),
]


@pytest.mark.parametrize(("edit", "code", "place"), MENTIONED, ids=[edit[2] for edit, _, _ in MENTIONED])
def test_a_name_that_nothing_defines(tmp_path: Path, edit: Edit, code: str, place: str) -> None:
    assert [one.rsplit(":", 1)[0] for one in found_in(tmp_path, edit)[code]] == [place]


def test_code_says_a_response_that_the_domain_does_not_define(tmp_path: Path) -> None:
    says = '        dispatcher.utter_message(response="utter_bookd")\n        return []'
    found = checked(example(tmp_path, ("actions/actions.py", "        return []", says))).findings
    assert {(one.code, one.severity) for one in found} == {("flow-code-response-undefined", "warning")}


HARMLESS: list[Edit] = [
    (D, "See you on {day}.", "See you on {{dayy}}."),
    (D, "  utter_booked:", "  utter_flow_cancelled_rasa:\n    - text: Stopping {name}.\n  utter_booked:"),
    (D, "  day:\n    type: text", "  day:\n    type: text\n    shared_for_coexistence: true"),
    (D, "  day:\n    type: text", "  day:\n    type: text\n    owner: the front desk"),
]


@pytest.mark.parametrize("edit", HARMLESS, ids=[edit[2] for edit in HARMLESS])
def test_what_is_no_name_or_may_be_one(tmp_path: Path, edit: Edit) -> None:
    assert not found_in(tmp_path, edit)


@pytest.mark.parametrize(("value", "is_found"), [("", True), ("\n    initial_value: any", False)])
def test_what_has_a_value_need_not_be_asked_for(tmp_path: Path, value: str, is_found: bool) -> None:
    slot = (D, "  rating:\n", f"  colour:\n    type: text{value}\n  rating:\n")
    found = found_in(tmp_path, slot, (F, HOURS, f"      - collect: colour\n{HOURS}"))
    assert ("flow-question-missing" in found) is is_found


@pytest.mark.parametrize("folder", ["sub_agents/valuer", "agents/any"])
def test_an_agent_is_found_in_its_folder(tmp_path: Path, folder: str) -> None:
    project = example(tmp_path, (F, HOURS, f"{HOURS}\n      - call: valuer\n        exit_if: [slots.day]"))
    config = project / folder / "config.yml"
    config.parent.mkdir(parents=True)
    config.write_text("agent:\n  name: valuer\n  description: Values things.\n", encoding="utf-8")
    assert not checked(project).findings


@pytest.mark.parametrize(
    ("edit", "meant"),
    [
        ((F, "collect: rating", "collect: opening_hours"), "'opening_hours' is the name of a flow."),
        ((F, "collect: rating", "collect: opening_hour"), "Did you mean the flow 'opening_hours'?"),
        ((F, "link: give_feedback", "link: utter_thanks"), "'utter_thanks' is the name of a response."),
        ((F, "if: slots.rating < 3", "if: slots.ratings < 3"), "Did you mean 'rating'?"),
        ((T, "utter: utter_day_taken", "utter: action_check_day"), "'action_check_day' is the name of an action."),
    ],
)
def test_what_was_meant_may_be_of_another_kind(tmp_path: Path, edit: Edit, meant: str) -> None:
    assert meant in {one.suggestion for one in checked(example(tmp_path, edit)).findings}


ENDLESS = {
    "only set": "- id: again\n  set_slots:\n  - day: null\n  next: again",
    "calls itself": "- action: utter_opening_hours\n- call: opening_hours",
    "links to itself": "- action: utter_opening_hours\n- link: opening_hours",
    "condition on another slot": (
        "- id: again\n  set_slots:\n  - day: null\n  next:\n  - if: slots.rating > 3\n    then: END\n  - else: again"
    ),
}
ENDING = {
    "condition on what is set": (
        "- id: again\n  set_slots:\n  - day: null\n  next:\n  - if: not slots.day\n    then: END\n  - else: again"
    ),
    "asks in between": "- action: utter_opening_hours\n- collect: day\n- link: opening_hours",
    "does something": "- action: action_check_day\n- link: opening_hours",
}


def _steps(written: str) -> Edit:
    return F, HOURS, "\n".join(f"      {line}" for line in written.splitlines())


@pytest.mark.parametrize("steps", ENDLESS.values(), ids=ENDLESS)
def test_a_loop_that_never_ends(tmp_path: Path, steps: str) -> None:
    assert found_in(tmp_path, _steps(steps))["flow-endless-loop"] == ["data/flows.yml:48:9"]


@pytest.mark.parametrize("steps", ENDING.values(), ids=ENDING)
def test_a_loop_that_may_end(tmp_path: Path, steps: str) -> None:
    assert "flow-endless-loop" not in found_in(tmp_path, _steps(steps))


def test_a_flow_that_always_calls_itself_has_no_end(tmp_path: Path) -> None:
    assert "flow-without-end" in found_in(tmp_path / "1", _steps("- collect: day\n- call: opening_hours"))
    leaves = (
        "- collect: day\n  next:\n  - if: slots.day\n    then: END\n  - else: more\n- id: more\n  call: opening_hours"
    )
    assert "flow-without-end" not in found_in(tmp_path / "2", _steps(leaves))


LINK = "      - link: give_feedback"


def test_a_link_before_a_step_that_is_then_never_reached(tmp_path: Path) -> None:
    found = found_in(tmp_path / "1", (F, LINK, f"{LINK}\n      - action: utter_booked"))
    assert found == {"flow-link-not-last": ["data/flows.yml:43:9"]}
    named = (
        F,
        "      - action: action_cancel\n",
        "      - action: action_cancel\n        next: [{if: slots.day, then: last}, {else: more}]\n",
    )
    steps = [(F, "      - action: utter_cancelled\n", "      - id: more\n        action: utter_cancelled\n")]
    last = (F, LINK, f"{LINK}\n      - id: last\n        action: utter_cancelled")
    assert not found_in(tmp_path / "2", named, *steps, last)
