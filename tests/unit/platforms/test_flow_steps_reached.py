"""Steps of flows one by one: what each is called, which of them tests reach, and which a change touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from flow_example import D, Edit, F, T, example
from report_builder import report, with_changes

from turncheck.comparison.explanations import changed_items
from turncheck.comparison.model import Renamed
from turncheck.evaluations.coverage import coverage_item, kind_coverage
from turncheck.messages.finding import Location
from turncheck.platforms.rasa.flows.consistency import Checked, checked
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from turncheck.report.model import Report


HOURS = "      - action: utter_opening_hours"


def of(folder: Path, *edits: Edit) -> Checked:
    """The example with these edits, checked against its tests."""
    root = example(folder, *edits)
    found = checked(read_project(root), read_cases(root, [root / "tests"]).cases)
    assert found is not None
    return found


def reached(one: Checked, walked: Mapping[str, Sequence[str]] | None = None) -> dict[str, bool]:
    """Which steps are reached, by their names."""
    return {step.name: step.covered for step in one.steps(walked)}


def touched(old: Checked, new: Checked, *renamed: Renamed) -> list[tuple[str, str, bool]]:
    """What changed between two states, and whether a test reaches it."""
    items = changed_items(_report(old), _report(new), renamed)
    return [(one.change, one.name, one.covered) for one in items]


def _report(one: Checked) -> Report:
    items = [coverage_item(*step, is_telling=False) for step in one.steps(None)]
    return with_changes(report(), coverage={"flow_steps": kind_coverage(items)})


def test_a_step_is_known_by_its_id_or_by_what_it_does(tmp_path: Path) -> None:
    names = [name for name in reached(of(tmp_path)) if name.startswith("book_appointment: ")]
    assert names[:5] == [
        "book_appointment: collect service",
        "book_appointment: ask_day",
        "book_appointment: action action_check_day",
        "book_appointment: action utter_day_taken",
        "book_appointment: set_slots day",
    ]


def test_the_same_step_twice_has_a_number(tmp_path: Path) -> None:
    names = reached(of(tmp_path, (F, HOURS, f"{HOURS}\n{HOURS}")))
    assert {
        "opening_hours: action utter_opening_hours",
        "opening_hours: action utter_opening_hours (2)",
    } <= names.keys()


def test_what_tests_name_is_reached(tmp_path: Path) -> None:
    steps = reached(of(tmp_path))
    assert steps["book_appointment: action utter_booked"]
    assert not steps["book_appointment: action utter_not_booked"]
    assert not steps["give_feedback: action utter_sorry"]


@pytest.mark.parametrize(("named", "is_reached"), [("utter_opening_hours", True), ("utter_sorry", False)])
def test_a_step_that_nobody_sees_is_reached_with_what_follows(tmp_path: Path, named: str, is_reached: bool) -> None:
    steps = f"      - noop: true\n        next: last\n      - id: last\n        action: {named}"
    assert reached(of(tmp_path, (F, HOURS, steps)))["opening_hours: noop"] is is_reached


def test_conversations_say_where_they_were(tmp_path: Path) -> None:
    walked = {
        "flows": ["book_appointment"],
        "flow_steps": ["book_appointment::ask_day", "book_appointment::2_action_check_day"],
        "responses": ["utter_not_booked", "utter_opening_hours"],
        "slots": ["day"],
    }
    steps = reached(of(tmp_path), walked)
    assert {name for name, is_reached in steps.items() if is_reached} == {
        "book_appointment: ask_day",
        "book_appointment: action action_check_day",
        "book_appointment: set_slots day",
        "book_appointment: action utter_not_booked",
    }


TOUCHED: list[tuple[Edit, list[tuple[str, str, bool]]]] = [
    (
        (F, HOURS, f"{HOURS}\n      - action: utter_sorry"),
        [("added", "opening_hours: action utter_sorry", False)],
    ),
    ((F, "if: slots.rating < 3", "if: slots.rating < 2"), [("changed", "give_feedback: collect rating", True)]),
    (
        (
            F,
            "- action: utter_not_booked\n                next: END",
            "- action: utter_not_booked\n                next: ask_day",
        ),
        [("changed", "book_appointment: action utter_not_booked", False)],
    ),
    ((F, "flows:\n", "flows:\n\n\n"), []),
    ((T, "utter: utter_day_taken", "utter: utter_thanks"), []),
]


@pytest.mark.parametrize(("edit", "expected"), TOUCHED, ids=[edit[2][-40:] for edit, _ in TOUCHED])
def test_what_a_change_touches_is_judged_by_step(
    tmp_path: Path, edit: Edit, expected: list[tuple[str, str, bool]]
) -> None:
    assert touched(of(tmp_path / "base"), of(tmp_path / "head", edit)) == expected


def test_a_step_that_says_what_has_another_name_now_is_none_that_changed(tmp_path: Path) -> None:
    named = [(file, "utter_opening_hours", "utter_hours") for file in (F, D, T)]
    base, head = of(tmp_path / "base"), of(tmp_path / "head", *named)
    renamed = Renamed(kind="responses", old="utter_opening_hours", new="utter_hours", location=Location(D))
    assert touched(base, head) == [("added", "opening_hours: action utter_hours", True)]
    assert not touched(base, head, renamed)


def test_a_flow_is_only_listed_for_what_none_of_its_steps_tells(tmp_path: Path) -> None:
    def with_flow(one: Checked, digest: str) -> Report:
        item = coverage_item("opening_hours", Location(F, 45), digest, True)
        kinds = {"flows": kind_coverage([item]), "flow_steps": _report(one).coverage["flow_steps"]}
        return with_changes(report(), coverage=kinds)

    base, same = with_flow(of(tmp_path / "1"), "a"), with_flow(of(tmp_path / "2"), "b")
    more = with_flow(of(tmp_path / "3", (F, HOURS, f"{HOURS}\n      - action: utter_sorry")), "b")
    assert [one.kind for one in changed_items(base, same, ())] == ["flows"]
    assert [one.kind for one in changed_items(base, more, ())] == ["flow_steps"]
