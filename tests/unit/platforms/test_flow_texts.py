"""Texts and buttons that tests expect, against the responses: only where nothing else can say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from flow_example import D, E, Edit, T, found_in

if TYPE_CHECKING:
    from pathlib import Path

THANKS, HOURS = "text_matches: Thank you", "- utter: utter_opening_hours"
CODE = "actions/actions.py"
RETURNED = '        return [SlotSet("day_is_free"'

UNHEARD: list[Edit] = [
    (T, THANKS, "text_matches: Merci beaucoup"),
    (D, "- text: Thank you!", "- text: Many thanks!"),
    (T, HOURS, "- bot: We are closed."),
    (T, HOURS, "- bot: We have nothing on Sunday."),
]
HEARD: list[Edit] = [
    (T, THANKS, "text_matches: Thank"),
    (T, THANKS, "text_matches: 'Th[ae]n. you'"),
    (T, THANKS, "text_matches: '1,250'"),
    (T, THANKS, "text_matches: Friday"),
    (T, THANKS, "text_matches: left on Wednesday"),
    (T, HOURS, "- bot: We have nothing left on Sunday."),
    (T, HOURS, "- bot: We are open from nine to six, Tuesday to Saturday."),
    (T, HOURS, "- bot: Okay, stopping opening hours."),
    (T, HOURS, "- bot: I'm sorry, I'm not trained to help with that."),
    (T, THANKS, "text_matches: anything else I can help"),
]
ANYBODY: list[Edit] = [
    (E, "model_groups:", "nlg:\n  type: rephrase\nmodel_groups:"),
    ("config.yml", "- name: FlowPolicy", "- name: FlowPolicy\n  - name: EnterpriseSearchPolicy"),
    (CODE, RETURNED, f'        dispatcher.utter_message(text="x")\n{RETURNED}'),
    (CODE, RETURNED, f'        dispatcher.utter_message("x")\n{RETURNED}'),
    (CODE, '"action_book"', '"action_bo" + "ok"'),
]


@pytest.mark.parametrize("edit", UNHEARD, ids=[edit[2] for edit in UNHEARD])
def test_a_text_that_no_response_says(tmp_path: Path, edit: Edit) -> None:
    line = 64 if edit[1] == HOURS else 57
    assert [place.rsplit(":", 1)[0] for place in found_in(tmp_path, edit)["flow-test-text-unknown"]] == [f"{T}:{line}"]


@pytest.mark.parametrize("edit", HEARD, ids=[edit[2] for edit in HEARD])
def test_a_text_that_may_be_said(tmp_path: Path, edit: Edit) -> None:
    assert not found_in(tmp_path, edit)


@pytest.mark.parametrize("edit", ANYBODY, ids=[edit[2].strip()[:40] for edit in ANYBODY])
def test_what_something_else_may_say_is_not_judged(tmp_path: Path, edit: Edit) -> None:
    of_response = (
        T,
        "utter_name: utter_cancelled",
        "utter_name: utter_cancelled\n              text_matches: is booked",
    )
    found = found_in(tmp_path, UNHEARD[0], of_response, edit)
    assert not {"flow-test-text-unknown", "flow-test-cannot-pass"} & found.keys()


def test_code_that_only_says_responses_says_no_texts(tmp_path: Path) -> None:
    says = f'        dispatcher.utter_message(response="utter_booked")\n{RETURNED}'
    assert "flow-test-text-unknown" in found_in(tmp_path, UNHEARD[0], (CODE, RETURNED, says))


NAME = "utter_name: utter_ask_service"
NAMED = f"{NAME}\n              "


@pytest.mark.parametrize(
    ("of_response", "is_found"),
    [
        ("text_matches: What can we", False),
        ("text_matches: What .* for you", False),
        ("text_matches: How can we", True),
        ("buttons: [{title: A haircut}, {title: Colour}, {title: A shave}]", False),
        ("buttons: [{payload: /SetSlots(service=haircut)}, {title: Colour}, {title: A shave}]", False),
        ("buttons: [{title: Colour}, {title: A haircut}, {title: A shave}]", True),
        ("buttons: [{title: A haircut}]", True),
    ],
)
def test_what_a_response_says(tmp_path: Path, of_response: str, is_found: bool) -> None:
    expected = (T, "utter_name: utter_ask_day", f"{NAMED}{of_response}")
    assert ("flow-test-cannot-pass" in found_in(tmp_path, expected)) is is_found


def test_what_is_filled_in_may_be_anything(tmp_path: Path) -> None:
    expected = (T, "utter_name: utter_booked", "utter_name: utter_booked\n              text_matches: next week")
    assert "flow-test-cannot-pass" not in found_in(tmp_path, expected)
