"""Values that slots cannot have, in conditions and steps: each is found at its line, and what may be is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from flow_example import D, Edit, F, checked, example, found_in

if TYPE_CHECKING:
    from pathlib import Path

CODE = "actions/actions.py"
GUARD, RATING = "if: slots.booking_confirmed", "if: slots.rating < 3"

NEVER: list[tuple[str, str, str]] = [
    (GUARD, "if: slots.day > 3", "flow-condition-value"),
    (GUARD, "if: slots.day = 3", "flow-condition-value"),
    (GUARD, "if: 3 < slots.day", "flow-condition-value"),
    (GUARD, "if: slots.day contains 3", "flow-condition-value"),
    (GUARD, "if: slots.service > 3", "flow-condition-value"),
    (GUARD, "if: \"{'wash' 'shave'} contains slots.service\"", "flow-condition-value"),
    (GUARD, 'if: slots.service matches "^wash$"', "flow-condition-never-true"),
    (GUARD, 'if: slots.service contains "wash"', "flow-condition-never-true"),
    (GUARD, "if: slots.booking_confirmed = 5", "flow-condition-value"),
    (GUARD, 'if: slots.booking_confirmed matches "yes"', "flow-condition-value"),
    (RATING, 'if: slots.rating < "3"', "flow-condition-value"),
    (RATING, 'if: slots.rating contains "3"', "flow-condition-value"),
    (GUARD, "if: \"slots.day = 'Sunday' and {'Monday' 'Friday'} contains slots.day\"", "flow-condition-never-true"),
]
MAY_BE = [
    (GUARD, 'if: slots.day > "F" and slots.day < "G"'),
    (GUARD, 'if: slots.service > "h"'),
    (GUARD, 'if: slots.service matches "^hair"'),
    (GUARD, 'if: slots.service contains "hair"'),
    (GUARD, "if: \"{'colour' 'shave'} contains slots.service\""),
    (GUARD, "if: slots.booking_confirmed = 1"),
    (GUARD, "if: slots.booking_confirmed > 0"),
    (RATING, "if: slots.rating = true"),
    (GUARD, "if: slots.day is not true"),
    (RATING, "if: slots.rating > 0 and slots.rating < 1"),
]


@pytest.mark.parametrize(("old", "new", "code"), NEVER, ids=[new for _, new, _ in NEVER])
def test_what_a_slot_never_is(tmp_path: Path, old: str, new: str, code: str) -> None:
    line = 28 if old == GUARD else 56
    assert {place.rsplit(":", 1)[0] for place in found_in(tmp_path, (F, old, new))[code]} == {f"{F}:{line}"}


@pytest.mark.parametrize(("old", "new"), MAY_BE, ids=[new for _, new in MAY_BE])
def test_what_a_slot_may_be(tmp_path: Path, old: str, new: str) -> None:
    assert not found_in(tmp_path, (F, old, new))


@pytest.mark.parametrize("values", ["[1, 2, 3]", "[true, false, perhaps]", "[1, two]"])
@pytest.mark.parametrize(
    "condition", ['slots.rating = "2"', "slots.rating = 'true'", 'slots.rating matches "^[12]$"', "slots.rating = 1"]
)
def test_listed_values_that_are_no_texts_may_come_as_texts(tmp_path: Path, values: str, condition: str) -> None:
    listed = (D, "  rating:\n    type: float", f"  rating:\n    type: categorical\n    values: {values}")
    assert "flow-condition-never-true" not in found_in(tmp_path, (F, RATING, f"if: {condition}"), listed)


@pytest.mark.parametrize(
    "edit",
    [
        (CODE, 'SlotSet("day_is_free"', 'SlotSet("day", 3), SlotSet("day_is_free"'),
        (F, "- day: null", "- day: 3"),
        (D, "  day:\n    type: text", "  day:\n    type: text\n    initial_value: 1"),
        (
            D,
            "  day:\n    type: text\n    mappings:\n",
            "  day:\n    type: text\n    mappings:\n      - type: from_entity\n        entity: day\n",
        ),
    ],
    ids=["by code", "by a step", "at first", "by an extractor"],
)
def test_a_slot_of_texts_that_something_sets_to_a_number_may_be_compared(tmp_path: Path, edit: Edit) -> None:
    entities = (D, "slots:\n", "entities: [day]\nslots:\n")
    assert not found_in(tmp_path, (F, GUARD, "if: slots.day > 3"), entities, edit)


@pytest.mark.parametrize("value", ["service: massage", "rating: great", "booking_confirmed: perhaps"])
def test_a_step_sets_a_slot_to_what_it_cannot_have(tmp_path: Path, value: str) -> None:
    assert found_in(tmp_path, (F, "- day: null", f"- {value}")) == {"flow-set-value": ["data/flows.yml:18:21"]}


@pytest.mark.parametrize("value", ["service: Shave", "rating: 4", "rating: '{{slots.day}}'", "booking_confirmed: true"])
def test_a_step_sets_a_slot_to_what_it_may_have(tmp_path: Path, value: str) -> None:
    assert not found_in(tmp_path, (F, "- day: null", f"- {value}"))


SAYS = "- text: Fine, nothing is booked."


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("slots.dayy = 'Monday'", "flow-slot-undefined"),
        ("slots.day in x", "flow-condition-invalid"),
        ("slots.service = 'wash'", "flow-condition-value"),
        ("slots.rating < 1 and slots.rating > 2", "flow-condition-never-true"),
    ],
)
def test_conditions_of_responses_are_read_like_those_of_flows(tmp_path: Path, condition: str, code: str) -> None:
    edit = (D, SAYS, f'- condition: "{condition}"\n      text: Fine.\n    {SAYS}')
    assert found_in(tmp_path, edit) == {code: ["domain.yml:66:18"]}


def test_conditions_of_responses_that_may_hold(tmp_path: Path) -> None:
    edit = (D, SAYS, f"- condition: slots.service = 'shave'\n      text: Fine.\n    {SAYS}")
    assert not checked(example(tmp_path, edit)).findings


@pytest.mark.parametrize(("kind", "code"), [("set", "flow-test-cannot-pass"), ("not_set", "flow-test-slot-unknown")])
def test_a_slot_that_does_not_exist_is_surely_not_set(tmp_path: Path, kind: str, code: str) -> None:
    first = "          - slot_was_set:\n"
    edit = ("tests/e2e_test_cases.yml", first, f"          - slot_was_{kind}:\n            - name: nosuch\n{first}")
    assert found_in(tmp_path, edit) == {code: ["tests/e2e_test_cases.yml:19:21"]}


@pytest.mark.parametrize(("slot", "value"), [("booking_confirmed", "true"), ("rating", "5")])
def test_an_assertion_compares_types(tmp_path: Path, slot: str, value: str) -> None:
    asserted = ("tests/e2e_test_cases.yml", "value: haircut", f"value: haircut\n              - name: {slot}")
    texts, values = (
        found_in(tmp_path / kind, (*asserted[:2], f"{asserted[2]}\n                value: {written}"))
        for kind, written in (("text", f"'{value}'"), ("value", value))
    )
    assert (texts, values) == ({"flow-test-cannot-pass": ["tests/e2e_test_cases.yml:22:24"]}, {})
