"""Each check of flows finds its fault in the example assistant, at its place; without faults nothing is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from flow_example import EXAMPLE, C, D, E, Edit, F, T, U, checked, example
from golden_texts import Golden
from small_project import places

from turncheck.platforms.rasa.flows.catalogue import CHECKS
from turncheck.validation.checks import Check

FAULTS: dict[str, tuple[list[Edit], str]] = {
    "flow-syntax": (
        [(F, "      - action: utter_opening_hours", "      action: utter_opening_hours")],
        "data/flows.yml:48:7",
    ),
    "flow-key-unknown": (
        [(F, "ask_before_filling: true\n      - action", "ask_before_filing: true\n      - action")],
        "data/flows.yml:10:9",
    ),
    "flow-without-steps": ([(F, "steps:\n      - action: utter_opening_hours", "steps: []")], "data/flows.yml:45:3"),
    "flow-name-invalid": ([(F, "  opening_hours:", "  opening hours:")], "data/flows.yml:45:3"),
    "flow-repeated": (
        [
            (
                "data/patterns.yml",
                "flows:",
                "flows:\n  opening_hours:\n    description: Hours.\n    steps: [{action: utter_booked}]",
            )
        ],
        "data/patterns.yml:2:3",
    ),
    "flow-description-missing": ([(F, "    description: Tell when the salon is open.\n", "")], "data/flows.yml:45:3"),
    "flow-description-repeated": (
        [(F, "Tell when the salon is open.", "Cancel an appointment that was booked before.")],
        "data/flows.yml:38:5",
    ),
    "flow-names-differ-by-case": (
        [(D, "  rating:\n", "  Day:\n    type: text\n  rating:\n")],
        "domain.yml:12:3",
    ),
    "flow-step-undefined": ([(F, "then: ask_phone_number", "then: ask_phone")], "data/flows.yml:14:19"),
    "flow-step-repeated": ([(F, "- id: ask_phone_number", "- id: ask_day")], "data/flows.yml:20:13"),
    "flow-step-unreachable": (
        [
            (
                F,
                "      - action: utter_opening_hours",
                "      - action: utter_opening_hours\n        next: END\n      - noop: true\n        next: END",
            )
        ],
        "data/flows.yml:50:9",
    ),
    "flow-without-end": (
        [
            (
                F,
                "      - action: utter_opening_hours",
                "      - id: again\n        collect: day\n        next: again",
            )
        ],
        "data/flows.yml:45:3",
    ),
    "flow-endless-loop": (
        [
            (
                F,
                "      - action: utter_opening_hours",
                "      - noop: true\n        next: again\n      - id: again\n        link: opening_hours",
            )
        ],
        "data/flows.yml:48:9",
    ),
    "flow-else-missing": (
        [(F, "          - else:\n              - action: utter_thanks\n                next: END\n", "")],
        "data/flows.yml:56:13",
    ),
    "flow-branch-open": (
        [
            (
                F,
                "              - action: utter_booked\n                next: END",
                "              - action: utter_booked",
            )
        ],
        "data/flows.yml:31:17",
    ),
    "flow-link-not-last": (
        [(F, "      - link: give_feedback", "      - link: give_feedback\n        next: END")],
        "data/flows.yml:43:9",
    ),
    "flow-pattern-incomplete": (
        [("data/patterns.yml", "pattern_completed", "pattern_correction")],
        "data/patterns.yml:2:3",
    ),
    "flow-pattern-unknown": ([("data/patterns.yml", "pattern_completed", "pattern_complete")], "data/patterns.yml:2:3"),
    "flow-flow-undefined": ([(F, "link: give_feedback", "link: get_feedback")], "data/flows.yml:43:15"),
    "flow-action-undefined": ([(F, "action: action_cancel", "action: action_cancl")], "data/flows.yml:41:17"),
    "flow-response-undefined": ([(F, "action: utter_cancelled", "action: utter_canceled")], "data/flows.yml:42:17"),
    "flow-code-response-undefined": (
        [
            (
                "actions/actions.py",
                "        return [SlotSet",
                '        dispatcher.utter_message(response="utter_bookd")\n        return [SlotSet',
            )
        ],
        "actions/actions.py:14:43",
    ),
    "flow-slot-undefined": ([(F, "if: slots.rating < 3", "if: slots.ratings < 3")], "data/flows.yml:56:17"),
    "flow-intent-undefined": (
        [(F, "    description: Tell when", "    nlu_trigger:\n      - intent: hours\n    description: Tell when")],
        "data/flows.yml:47:17",
    ),
    "flow-question-missing": ([(D, "  utter_ask_day:", "  utter_ask_days:")], "data/flows.yml:9:18"),
    "flow-slot-never-filled": ([("actions/actions.py", '"day_is_free"', '"day_is_fre"')], "domain.yml:24:3"),
    "flow-unused": ([(F, "      - link: give_feedback\n", "")], "data/flows.yml:49:3"),
    "flow-slot-unused": ([(D, "  rating:\n", "  note:\n    type: text\n  rating:\n")], "domain.yml:28:3"),
    "flow-response-unused": (
        [(D, "  utter_booked:", "  utter_spare:\n    - text: So\n  utter_booked:")],
        "domain.yml:63:3",
    ),
    "flow-question-twice": (
        [(D, "  - action_cancel\n", "  - action_cancel\n  - action_ask_day\n")],
        "data/flows.yml:8:9",
    ),
    "flow-link-refused": (
        [
            (
                F,
                "      - action: utter_opening_hours",
                "      - action: utter_opening_hours\n      - call: cancel_appointment",
            )
        ],
        "data/flows.yml:43:15",
    ),
    "flow-persisted-refused": (
        [(F, "    description: Tell when", "    persisted_slots:\n      - day\n    description: Tell when")],
        "data/flows.yml:47:9",
    ),
    "flow-server-undefined": (
        [(F, "      - action: utter_opening_hours", "      - call: hours\n        mcp_server: calendar")],
        "data/flows.yml:49:21",
    ),
    "flow-policy-missing": ([(C, "  - name: FlowPolicy", "  - name: RulePolicy")], "config.yml:8:1"),
    "flow-set-value": ([(F, "- day: null", "- service: massage")], "data/flows.yml:18:21"),
    "flow-router-intent-undefined": (
        [(C, "pipeline:", "pipeline:\n  - name: IntentBasedRouter\n    calm_entry: {sticky: [opening_hourz]}")],
        "config.yml:6:27",
    ),
    "flow-model-group-undefined": ([(E, "- id: commands", "- id: command")], "config.yml:7:20"),
    "flow-condition-invalid": ([(F, "if: slots.rating < 3", "if: slots.rating in 3")], "data/flows.yml:56:17"),
    "flow-condition-word": ([(F, "if: slots.rating < 3", "if: slots.rating = low")], "data/flows.yml:56:17"),
    "flow-condition-value": (
        [(F, "if: slots.booking_confirmed", "if: slots.service = 'massage'")],
        "data/flows.yml:28:17",
    ),
    "flow-condition-case": (
        [(F, "if: slots.booking_confirmed", "if: slots.service = 'Shave'")],
        "data/flows.yml:28:17",
    ),
    "flow-condition-never-true": (
        [(F, "if: slots.rating < 3", "if: slots.rating < 3 and slots.rating > 4")],
        "data/flows.yml:56:17",
    ),
    "flow-condition-covered": (
        [
            (
                F,
                "          - else:\n              - action: utter_thanks",
                (
                    "          - if: slots.rating < 2\n            then: END\n"
                    "          - else:\n              - action: utter_thanks"
                ),
            )
        ],
        "data/flows.yml:60:17",
    ),
    "flow-condition-order": (
        [(F, "if: slots.rating < 3", "if: slots.rating < 3 and slots.day or slots.service")],
        "data/flows.yml:56:17",
    ),
    "flow-payload-invalid": ([(D, "/SetSlots(service=shave)", "/SetSlot(service=shave)")], "domain.yml:47:20"),
    "flow-payload-undefined": ([(D, "/SetSlots(service=shave)", "/SetSlots(servic=shave)")], "domain.yml:47:20"),
    "flow-payload-value": ([(D, "/SetSlots(service=shave)", "/SetSlots(service=shaving)")], "domain.yml:47:20"),
    "flow-test-cannot-pass": (
        [(T, "utter_name: utter_booked", "utter_name: utter_bookd")],
        "tests/e2e_test_cases.yml:33:27",
    ),
    "flow-test-text-unknown": (
        [(T, "text_matches: Thank you", "text_matches: Have a nice day")],
        "tests/e2e_test_cases.yml:57:29",
    ),
    "flow-test-names-nothing": ([(T, "- phone_number:", "- phone_nummer:")], "tests/e2e_test_cases.yml:3:9"),
    "flow-test-slot-unknown": (
        [(T, "      - utter: utter_day_taken", "      - slot_was_not_set: [dya]\n      - utter: utter_day_taken")],
        "tests/e2e_test_cases.yml:40:28",
    ),
    "flow-test-command-unknown": (
        [(U, "StartFlow(opening_hours)", "StratFlow(opening_hours)")],
        "dialogue_understanding_tests/booking.yml:28:13",
    ),
}


def test_every_check_of_flows_has_a_case_here() -> None:
    of_flows = {check.code for check in CHECKS if check.stage == "platform"}
    beside_a_base = {"flow-condition-turned", "flow-rejection-removed", "flow-test-weakened"}
    assert of_flows == {*FAULTS, *beside_a_base}  # see test_consistent_tests.py


IMPOSSIBLE: list[tuple[Edit, str]] = [
    ((T, "utter: utter_day_taken", "utter: utter_day_is_taken"), "response"),
    ((T, "flow_started: book_appointment", "flow_started: book_apointment"), "flow"),
    ((T, "flow_id: give_feedback", "flow_id: give_feedback\n              flow_step_id: ask_ratings"), "step"),
    ((T, "action_executed: action_check_day", "action_executed: action_check_days"), "action"),
    ((T, "- name: service", "- name: services"), "slot"),
    ((T, "value: haircut", "value: massage"), "value"),
    ((T, "value: haircut", "value: haircut\n              - name: rating\n                value: great"), "value"),
    ((T, '- phone_number: "017012345"', '- phone_number: "017012345"\n      - rating: great'), "value"),
    ((T, "utter_name: utter_cancelled", "utter_name: utter_cancelled\n              text_matches: is booked"), "text"),
    (
        (T, "utter_name: utter_ask_rating", "utter_name: utter_ask_rating\n              buttons: [{title: Good}]"),
        "buttons",
    ),
    ((T, "user: /SetSlots(service=shave)", "user: /SetSlots(service=massage)"), "value"),
    ((T, "user: /SetSlots(service=shave)", "user: /SetSlot(service=shave)"), "payload"),
    ((U, "StartFlow(cancel_appointment)", "StartFlow(cancel)"), "flow"),
    ((U, "SetSlot(service, haircut)", "SetSlot(services, haircut)"), "slot"),
    ((U, "SetSlot(service, shave)", "set slot service massage"), "value"),
    ((U, "utter: utter_ask_phone_number", "utter: utter_ask_phone"), "response"),
    ((F, "      - action: utter_cancelled\n", ""), "response"),
]
"""What makes a test impossible, and the kind of what it lacks."""


@pytest.mark.parametrize(("edit", "kind"), IMPOSSIBLE, ids=str)
def test_a_test_that_cannot_pass_is_an_error_at_its_line(tmp_path: Path, edit: Edit, kind: str) -> None:
    found = [one for one in checked(example(tmp_path, edit)).findings if one.code.startswith("flow-test-")]
    assert [name.kind for one in found for name in one.names] == [kind]
    path, line = found[0].location.path, found[0].location.line or 0
    text = (tmp_path / path).read_text(encoding="utf-8").splitlines()
    assert found[0].severity == "error"
    assert found[0].names[0].name in text[line - 1] or found[0].names[0].kind == "payload"


def test_a_model_may_take_any_text_for_a_number(tmp_path: Path) -> None:
    assert not checked(example(tmp_path, (U, "SetSlot(service, shave)", "SetSlot(rating, great)"))).findings


def test_a_dialogue_understanding_test_is_read_like_a_case(tmp_path: Path) -> None:
    found = checked(example(tmp_path, (U, "- test_case: a question", "- testcase: a question"))).findings
    assert [(one.code, one.location.path) for one in found] == [("e2e-syntax", U)] * len(found)
    assert found


@pytest.mark.parametrize("line", ["  opening_hours:", "  book_appointment:", "flows:"])
def test_what_a_file_that_cannot_be_read_has_is_missed_nowhere_else(tmp_path: Path, line: str) -> None:
    validated = checked(example(tmp_path, (F, f"{line}\n", f"{line} [\n")))
    assert [(one.code, one.location.path) for one in validated.findings if one.severity == "error"] == [
        ("yaml-syntax", F)
    ]


def test_a_flow_may_be_kept_from_starting_by_itself_also_in_quotes(tmp_path: Path) -> None:
    edit = (F, "  opening_hours:\n", '  opening_hours:\n    if: "False"\n')
    assert [one for one in checked(example(tmp_path, edit)).findings if one.severity == "error"] == []


def test_flows_behind_a_byte_order_mark_are_said_not_to_be_seen(tmp_path: Path) -> None:
    folder = example(tmp_path)
    (folder / F).write_bytes(b"\xef\xbb\xbf" + (folder / F).read_bytes())
    assert F in {one.location.path for one in checked(folder).findings if one.code == "data-key-unseen"}


def test_keys_of_a_later_version_are_no_error(tmp_path: Path) -> None:
    later = (F, "    name: book an appointment", "    name: book an appointment\n    escalation_policy: human")
    found = checked(example(tmp_path, later)).findings
    assert [(one.code, one.severity) for one in found] == [("flow-key-unknown", "warning")]


@pytest.mark.parametrize("said", ['f"utter_{kind}"', '"utter_by_%s" % kind', '"utter_by_" + kind'])
def test_a_response_whose_name_code_puts_together_may_be_said(tmp_path: Path, said: str) -> None:
    response = (D, "  utter_booked:", "  utter_by_mail:\n    - text: By mail.\n  utter_booked:")
    expected = (T, "- utter: utter_opening_hours", "- utter: utter_by_mail")
    folder = example(tmp_path, response, expected)
    assert {one.code for one in checked(folder).findings} == {"flow-response-unused", "flow-test-cannot-pass"}
    code = folder / "actions" / "more.py"
    code.write_text(f"def say(dispatcher, kind):\n    dispatcher.utter_message(response={said})\n", encoding="utf-8")
    assert not checked(folder).findings


def test_without_the_code_of_the_actions_nobody_knows_what_they_say_and_set(tmp_path: Path) -> None:
    folder = example(tmp_path, (D, "  utter_booked:", "  utter_by_mail:\n    - text: By mail.\n  utter_booked:"))
    shutil.rmtree(folder / "actions")
    assert not checked(folder).findings


def test_the_example_has_no_fault() -> None:
    assert not checked(EXAMPLE).findings


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_is_found_at_its_place(tmp_path: Path, code: str) -> None:
    edits, place = FAULTS[code]
    found = checked(example(tmp_path, *edits))
    at = places(found, code)
    assert at == [place]


def _as_files(written: str) -> tuple[str, str]:
    """Return the file that an example of the manual is in, and its content."""
    if written.startswith("- if: "):
        steps = f"      - noop: true\n        next:\n          {written}\n            then: END\n          - else: END"
        return F, f"flows:\n  order_pizza:\n    description: Order a pizza.\n    steps:\n{steps}"
    if written.startswith("payload: "):
        responses = f"responses:\n  utter_hello:\n  - text: Hello\n    buttons:\n    - title: One\n      {written}"
        return D, f"{DOMAIN_OF_EXAMPLES}{responses}"
    return F, written


DOMAIN_OF_EXAMPLES = """\
slots: {size: {type: text}, member: {type: bool}, paid: {type: bool}, staff: {type: bool}}
actions: [action_correct]
"""
SAID_IN_EXAMPLES = "responses: {utter_hello: [{text: a}], utter_done: [{text: a}], utter_ask_size: [{text: a}]}\n"


@pytest.mark.parametrize("row", [row for row in CHECKS if row.wrong], ids=lambda row: row.code)
def test_the_examples_of_the_manual(tmp_path: Path, row: Check) -> None:
    found = []
    for number, written in enumerate((row.wrong, row.right)):
        folder = example(tmp_path / str(number))
        (folder / D).write_text(DOMAIN_OF_EXAMPLES + SAID_IN_EXAMPLES, encoding="utf-8")
        (folder / "data" / "patterns.yml").unlink()
        (folder / F).unlink()
        file, content = _as_files(written)
        (folder / file).write_text(content, encoding="utf-8")
        found.append(places(checked(folder), row.code))
    assert found[0]
    assert not found[1]


def test_what_the_findings_say(tmp_path: Path, golden: Golden) -> None:
    said = []
    for code, (edits, _) in FAULTS.items():
        found = checked(example(tmp_path / code, *edits)).findings
        said += [f"{finding.severity} {finding.location} {finding.code}\n  {finding.message}" for finding in found]
    golden("\n".join(said))
