"""How the turns of an end-to-end case are judged, with a scripted engine."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from random import Random
from threading import Barrier, Event, Timer
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from timing import Timing

from turncheck.commands.e2e import Progress, results_yaml
from turncheck.engines.conversation import CustomAction, Turn
from turncheck.evaluations.e2e.case import NO_JUDGE, CaseRun, judge_assertions
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.evaluations.e2e.steps import judge_steps, same
from turncheck.messages.errors import IncompleteError, UserError
from turncheck.messages.finding import Location
from turncheck.project.e2e.cases import read_cases
from turncheck.project.e2e.model import Assertion, CaseTurn, E2ECase, Expectation
from turncheck.render.case_differences import case_differences
from turncheck.report.model import CaseResult, EndToEnd, EngineInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PLACE = Location("tests/cases.yml", 3)
PAUSES = Random()
"""Of their own: a thread that outlives its test draws while Hypothesis watches the module's generator."""


def bot(text: str, response: str | None = None, **data: Any) -> dict[str, Any]:
    return {"event": "bot", "text": text, "data": data, "metadata": {"utter_action": response} if response else {}}


def slot(name: str, value: Any) -> dict[str, Any]:
    return {"event": "slot", "name": name, "value": value, "metadata": {}}


def ran(name: str) -> dict[str, Any]:
    return {"event": "action", "name": name, "policy": "RulePolicy"}


def heard(intent: str) -> dict[str, Any]:
    return {"event": "user", "parse_data": {"intent": {"name": intent}, "entities": []}}


def turn(*events: dict[str, Any], **more: Any) -> Turn:
    return Turn("hi", (), {}, None, events, **more)


def step(kind: Any, name: str, *value: Any) -> Expectation:
    return Expectation(kind, name, PLACE, value[0] if value else None, has_value=bool(value))


def outcomes(expected: Sequence[Expectation], happened: Turn, order: Any = "strict") -> list[str]:
    return [judged.step.outcome for judged in judge_steps(expected, happened, order)]


def lines(expected: Sequence[Expectation], happened: Turn) -> list[str]:
    return [line for judged in judge_steps(expected, happened) for line in judged.lines]


def reason(expected: Expectation, happened: Turn) -> str | None:
    return judge_steps([expected], happened)[0].step.reason


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.follows(
    page="rasa-pro",
    sentence="Messages and slots may come in any order, and those beyond the expected ones are ignored.",
)
def test_order_does_not_matter_and_more_than_expected_never_fails() -> None:
    happened = turn(bot("a", "utter_a"), slot("x", 1), bot("b", "utter_b"), slot("y", 2))
    expected = [step("slot_was_set", "y"), step("utter", "utter_b"), step("slot_was_set", "x", 1), step("bot", "a")]
    assert outcomes(expected, happened) == ["passed"] * 4


@pytest.mark.follows(page="rasa-pro", sentence="An `utter` step names the response of a message.")
def test_each_message_meets_one_step_of_a_kind() -> None:
    assert outcomes([step("bot", "a"), step("bot", "a")], turn(bot("a"))) == ["passed", "failed"]
    assert outcomes([step("bot", "a"), step("utter", "utter_a")], turn(bot("a", "utter_a"))) == ["passed", "passed"]
    assert outcomes([step("utter", "utter_b")], turn(bot("a", "utter_a"))) == ["failed"]


@pytest.mark.follows(page="rasa-pro", sentence="A `bot` step is the exact text of a message.")
def test_line_ends_and_blanks_at_the_ends_are_no_difference() -> None:
    assert outcomes([step("bot", " a\r\nb ")], turn(bot("a\nb"))) == ["passed"]
    assert outcomes([step("bot", "a")], turn(bot("A"))) == ["failed"]


def test_what_was_said_instead_stands_above_what_was_expected() -> None:
    assert lines([step("bot", "Hi"), step("bot", "Bye bye")], turn(bot("Hi"), bot("Bye  by"))) == [
        "  bot: Hi",
        "- bot: Bye  by",
        "?          -",
        "+ bot: Bye bye",
        "?            +",
    ]


def test_a_missing_message_has_nothing_beside_it() -> None:
    assert lines([step("utter", "utter_a")], turn()) == ["+ bot: utter_a"]


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        ("a  b", "a b", "white space alone"),
        ("Hello", "hello", "capital letters alone"),
        ("a\u00a0b", "a b", "white space alone"),
        ("ﬁne", "fine", "capital letters alone"),
        ("①", "1", "look alike"),
        ("Hello\u200b!", "Hello!", r"cannot be seen: expected 'Hello\u200b!'"),
        ("Hi \u2764\ufe0f", "Hi \u2764", "cannot be seen"),
        ("5\u2126", "5\u03a9", "capital letters alone"),
    ],
)
def test_a_difference_that_nobody_sees_is_put_into_words(expected: str, actual: str, words: str) -> None:
    found = reason(step("bot", expected), turn(bot(actual)))
    assert found is not None
    assert words in found


def test_what_cannot_be_seen_is_made_visible_in_the_difference() -> None:
    assert lines([step("bot", "a\tb\u200b\u00a0c\\")], turn(bot("x")))[-1] == r"+ bot: a\tb\u200b\xa0c\\"
    assert lines([step("bot", r"C:\new")], turn(bot("x")))[-1] == r"+ bot: C:\new"
    assert lines([step("bot", "👨\u200d👩 สวัสดี")], turn(bot("x")))[-1].endswith("สวัสดี")


def test_blanks_of_a_difference_are_shown_as_many_as_there_are() -> None:
    script = Script({"a": turn(bot("Hello there"))})
    shown = case_differences(run(script, case("bad", said("a", step("bot", "Hello  there")))).cases)
    assert "\n- bot: Hello there\n+ bot: Hello  there\n? " in shown
    assert "expected 'Hello  there', actual 'Hello there'" in shown


@pytest.mark.follows(page="rasa-pro", sentence="`slot_was_set` with a value: the slot was set to it, type included.")
def test_a_slot_is_compared_with_its_type(golden: Golden) -> None:
    assert outcomes([step("slot_was_set", "a", "150")], turn(slot("a", 150))) == ["failed"]
    found = reason(step("slot_was_set", "a", "150"), turn(slot("a", 150)))
    golden(found)


@pytest.mark.follows(page="rasa-pro", sentence="`slot_was_set` with a name: the slot was set.")
def test_a_slot_set_to_nothing_counts_as_set() -> None:
    happened = turn(slot("a", None))
    assert outcomes([step("slot_was_set", "a"), step("slot_was_set", "a", None)], happened) == ["passed", "passed"]
    assert outcomes([step("slot_was_set", "a", None)], turn(slot("a", 1))) == ["failed"]
    assert outcomes([step("slot_was_set", "b")], happened) == ["failed"]


@pytest.mark.follows(page="rasa-pro", sentence="`slot_was_not_set`: the slot was not set, or not to this value.")
def test_a_slot_that_must_not_be_set() -> None:
    happened = turn(slot("a", 1))
    expected = [step("slot_was_not_set", "b"), step("slot_was_not_set", "a", 2), step("slot_was_not_set", "a")]
    assert outcomes(expected, happened) == ["passed", "passed", "failed"]
    assert lines(expected[2:], happened) == ["- slot_was_set: a: 1", "+ slot_was_not_set: a"]


@pytest.mark.follows(
    page="rasa-pro", sentence="Consecutive `slot_was_set` steps are in the order in which the slots are filled."
)
def test_consecutive_slot_steps_are_in_the_order_of_the_events() -> None:
    happened = turn(slot("a", 1), slot("b", 2))
    assert outcomes([step("slot_was_set", "a"), step("slot_was_set", "b")], happened) == ["passed", "passed"]
    assert outcomes([step("slot_was_set", "b"), step("slot_was_set", "a")], happened) == ["passed", "failed"]
    assert outcomes([step("slot_was_set", "b"), step("slot_was_set", "a")], happened, "any") == ["passed", "passed"]


def test_slot_steps_with_another_step_between_them_may_be_in_any_order() -> None:
    happened = turn(slot("a", 1), bot("hi"), slot("b", 2))
    expected = [step("slot_was_set", "b"), step("bot", "hi"), step("slot_was_set", "a")]
    assert outcomes(expected, happened) == ["passed"] * 3


def test_the_slots_of_one_step_may_be_in_any_order_but_come_after_the_step_before(tmp_path: Path) -> None:
    file = tmp_path / "e2e_test_cases.yml"
    file.write_text(
        "test_cases:\n- test_case: c\n  steps:\n  - user: hi\n"
        "  - slot_was_set:\n    - b\n    - a: 1\n  - slot_was_set: c\n"
    )
    (expected,) = (turn.expectations for case in read_cases(tmp_path, [file]).cases for turn in case.turns if turn.user)
    assert outcomes(expected, turn(slot("a", 1), slot("b", 2), slot("c", 3))) == ["passed"] * 3
    assert outcomes(expected, turn(slot("a", 1), slot("c", 3), slot("b", 2))) == ["passed", "passed", "failed"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
)


@pytest.mark.slow
@given(JSON)
def test_every_value_is_the_same_as_itself(value: Any) -> None:
    assert same(value, value)


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), ("1", 1), (None, False), ([], {}), ([1], [1, 2])])
def test_values_of_different_types_are_not_the_same(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same(other, one)


# --- assertions -------------------------------------------------------------------------------------------------------


def asserted(happened: Turn, *assertions: tuple[str, Any], ordered: bool = False) -> list[tuple[str, str | None]]:
    written = [Assertion.of(kind, value, PLACE) for kind, value in assertions]
    return [(j.step.outcome, j.step.reason) for j in judge_assertions(written, happened, ordered=ordered)]


HAPPENED = turn(
    ran("action_a"),
    slot("x", 5),
    bot("You have 1,250.00 left", "utter_left", buttons=[{"title": "A", "payload": "/a", "extra": 1}]),
    slot("y", None),
)


@pytest.mark.parametrize(
    ("kind", "value", "outcome"),
    [
        ("action_executed", "action_a", "passed"),
        ("action_executed", "action_b", "failed"),
        ("slot_was_set", [{"name": "x", "value": 5}, {"name": "y"}], "passed"),
        ("slot_was_set", [{"name": "x", "value": "5"}], "failed"),
        ("slot_was_not_set", [{"name": "y"}, {"name": "z"}, {"name": "x", "value": 6}], "passed"),
        ("slot_was_not_set", [{"name": "x"}], "failed"),
        ("slot_was_not_set", [{"name": "y", "value": None}], "failed"),
        ("bot_uttered", {"utter_name": "utter_left", "text_matches": "1,250.00"}, "passed"),
        ("bot_uttered", {"text_matches": r"\d,\d{3}"}, "passed"),
        ("bot_uttered", {"buttons": [{"title": "A", "payload": "/a"}]}, "passed"),
        ("bot_uttered", {"buttons": [{"title": "A"}, {"title": "B"}]}, "failed"),
        ("bot_did_not_utter", {"utter_name": "utter_other"}, "passed"),
        ("bot_did_not_utter", {"text_matches": "left"}, "failed"),
        ("flow_started", "order", "skipped"),
        ("generative_response_is_grounded", {"threshold": 0.5}, "skipped"),
    ],
)
@pytest.mark.follows(page="rasa-pro", sentence="Assertions about slots, actions and messages are judged by their turn.")
def test_an_assertion_is_judged_by_the_turn(kind: str, value: Any, outcome: str) -> None:
    assert asserted(HAPPENED, (kind, value))[0][0] == outcome


FLOWS = turn(
    {"event": "flow_started", "flow_id": "send"},
    {"event": "flow_started", "flow_id": "ask"},
    {"event": "flow_completed", "flow_id": "ask", "step_id": "END"},
)


@pytest.mark.parametrize(
    ("kind", "value", "outcome"),
    [
        ("flow_started", "send", "passed"),
        ("flow_started", "pay", "failed"),
        ("flow_started", {"flow_ids": ["send", "ask"]}, "passed"),
        ("flow_started", {"operator": "all", "flow_ids": ["send", "pay"]}, "failed"),
        ("flow_started", {"operator": "any", "flow_ids": ["pay", "send"]}, "passed"),
        ("flow_completed", {"flow_id": "ask"}, "passed"),
        ("flow_completed", {"flow_id": "ask", "flow_step_id": "END"}, "passed"),
        ("flow_completed", {"flow_id": "ask", "flow_step_id": "0_x"}, "failed"),
        ("flow_cancelled", {"flow_id": "ask"}, "failed"),
        ("pattern_clarification_contains", ["send"], "skipped"),
    ],
)
@pytest.mark.follows(page="rasa-pro", sentence="Assertions about flows: started, completed, cancelled.")
def test_flows_are_judged_where_the_assistant_runs_them(kind: str, value: Any, outcome: str) -> None:
    (judged,) = judge_assertions([Assertion.of(kind, value, PLACE)], FLOWS, ordered=False, has_flows=True)
    assert judged.step.outcome == outcome
    (not_run,) = judge_assertions([Assertion.of(kind, value, PLACE)], FLOWS, ordered=False)
    assert not_run.step.outcome == "skipped"


def test_a_failed_assertion_about_flows_shows_what_became_of_them(golden: Golden) -> None:
    wanted = Assertion.of("flow_completed", {"flow_id": "ask", "flow_step_id": "0_x"}, PLACE)
    (judged,) = judge_assertions([wanted], FLOWS, ordered=False, has_flows=True)
    golden(judged.step.reason)
    golden(judged.lines[0])


@pytest.mark.follows(
    page="rasa-pro",
    sentence="Assertions that need a language model as a judge are skipped on purpose, and the reason is given.",
)
@pytest.mark.parametrize("kind", ["generative_response_is_grounded", "generative_response_is_relevant"])
def test_an_assertion_that_needs_a_language_model_is_skipped_and_says_so(kind: str) -> None:
    (judged,) = asserted(HAPPENED, (kind, {"threshold": 0.5}))
    assert judged == ("skipped", NO_JUDGE)
    assert "language model" in NO_JUDGE


@pytest.mark.follows(page="rasa-pro", sentence="The first assertion that fails ends the case.")
def test_the_first_failed_assertion_ends_it() -> None:
    found = asserted(HAPPENED, ("action_executed", "none"), ("action_executed", "action_a"))
    assert [outcome for outcome, _ in found] == ["failed", "skipped"]


@pytest.mark.follows(
    page="rasa-pro", sentence="With `assertion_order_enabled`, each assertion must be met after the previous one."
)
def test_ordered_assertions_look_behind_the_one_before() -> None:
    expected = (("slot_was_set", [{"name": "x"}]), ("action_executed", "action_a"))
    assert [outcome for outcome, _ in asserted(HAPPENED, *expected)] == ["passed", "passed"]
    assert [outcome for outcome, _ in asserted(HAPPENED, *expected, ordered=True)] == ["passed", "failed"]


def difference(happened: Turn, *assertions: tuple[str, Any], ordered: bool = False) -> list[str]:
    written = [Assertion.of(kind, value, PLACE) for kind, value in assertions]
    return [line for j in judge_assertions(written, happened, ordered=ordered) for line in j.lines]


@pytest.mark.parametrize(
    ("kind", "value", "actual"),
    [
        ("action_executed", "action_b", ["- action_executed: action_a"]),
        ("slot_was_set", [{"name": "x", "value": 6}], ["- slot_was_set: x: 5"]),
        ("slot_was_set", [{"name": "z"}], []),
        ("slot_was_not_set", [{"name": "x"}], ["- slot_was_set: x: 5"]),
        (
            "bot_uttered",
            {"text_matches": "nothing"},
            ['- bot_uttered: {"utter_name": "utter_left", "text": "You have 1,250.00 left"}'],
        ),
        (
            "bot_uttered",
            {"buttons": [{"title": "B"}]},
            [
                (
                    '- bot_uttered: {"utter_name": "utter_left", "text": "You have 1,250.00 left", '
                    '"buttons": [{"title": "A", "payload": "/a"}]}'
                )
            ],
        ),
        (
            "bot_did_not_utter",
            {"utter_name": "utter_left"},
            ['- bot_uttered: {"utter_name": "utter_left", "text": "You have 1,250.00 left"}'],
        ),
    ],
)
def test_a_failed_assertion_shows_what_was_there_above_what_is_asserted(
    kind: str, value: Any, actual: list[str]
) -> None:
    assert difference(HAPPENED, (kind, value)) == [*actual, f"+ {kind}: {json.dumps(value)}"]


def test_what_came_before_its_turn_in_the_order_is_said_to_have_come_too_early(golden: Golden) -> None:
    first = ("bot_uttered", {"utter_name": "utter_left"})
    for late in (("action_executed", "action_a"), ("slot_was_set", [{"name": "x", "value": 5}])):
        (_, found) = asserted(HAPPENED, first, late, ordered=True)
        assert found[0] == "failed"
        golden(found[1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bot_uttered", "bot_did_not_utter"])
def test_a_pattern_that_would_be_searched_for_ever_fails_its_assertion(
    kind: str, timing: Timing, golden: Golden
) -> None:
    with timing.at_most(20, time.monotonic):
        ((outcome, why),) = asserted(turn(bot("a" * 60 + "!")), (kind, {"text_matches": "(a|aa)+$"}))
        assert outcome == "failed"
        golden(why)


# --- cases ------------------------------------------------------------------------------------------------------------


class Script:
    """An assistant that answers by a table, and tells what it was given."""

    has_flows = False

    def __init__(self, table: Mapping[str, Turn | Exception | list[Turn]], opening: Turn | None = None) -> None:
        self.table = table
        self.opening = opening or turn()
        self.given: list[dict[str, Any]] = []
        self.info = EngineInfo(name="script", version="1")

    def conversation(self, **given: Any) -> ScriptedTalk:
        self.given.append(given)
        return ScriptedTalk(self, given["attempt"])


class ScriptedTalk:
    """One conversation with the script."""

    def __init__(self, script: Script, attempt: int) -> None:
        self.script = script
        self.attempt = attempt

    def open(self, metadata: Mapping[str, Any] | None = None) -> Turn:
        return self.script.opening

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
        answer = self.script.table[text]
        if isinstance(answer, Exception):
            raise answer
        time.sleep(PAUSES.random() / 500)
        return answer[self.attempt] if isinstance(answer, list) else answer


def case(name: str, *turns: CaseTurn, **more: Any) -> E2ECase:
    return E2ECase(name, PLACE, turns, **more)


def said(user: str | None, *expected: Expectation, **more: Any) -> CaseTurn:
    return CaseTurn(user, PLACE, expected, **more)


def run(script: Script, *cases: E2ECase, **options: Any) -> EndToEnd:
    return evaluate_cases(script, cases, CaseRun(**options))


def only(result: EndToEnd) -> CaseResult:
    (one,) = result.cases
    return one


@pytest.mark.follows(
    page="rasa-pro", sentence="After a failed step the conversation goes on; all differences are shown."
)
def test_after_a_failed_turn_the_conversation_goes_on() -> None:
    script = Script({"a": turn(bot("x")), "b": turn(bot("y")), "c": turn(bot("z"))})
    found = only(
        run(script, case("n", said("a", step("bot", "1")), said("b", step("bot", "y")), said("c", step("bot", "3"))))
    )
    assert found.outcome == "failed"
    assert found.difference == (
        "  user: a",
        "- bot: x",
        "+ bot: 1",
        "  user: b",
        "  bot: y",
        "  user: c",
        "- bot: z",
        "+ bot: 3",
    )


def test_steps_after_the_last_failure_are_left_out_of_the_difference() -> None:
    script = Script({"a": turn(bot("x")), "b": turn(bot("y"))})
    found = only(run(script, case("n", said("a", step("bot", "1")), said("b", step("bot", "y")))))
    assert found.difference == ("  user: a", "- bot: x", "+ bot: 1")


@pytest.mark.follows(page="rasa-pro", sentence="A case may begin with what the assistant says when the session starts.")
def test_a_case_may_begin_with_what_the_assistant_says_by_itself() -> None:
    script = Script({"a": turn()}, opening=turn(bot("Welcome")))
    assert only(run(script, case("n", said(None, step("bot", "Welcome")), said("a")))).outcome == "passed"


@pytest.mark.follows(page="rasa-pro", sentence="Slots of fixtures are set before the first step.")
def test_fixtures_and_stubs_reach_the_conversation() -> None:
    script = Script({"a": turn(bot("x"))})
    run(
        script,
        case("n", said("a", step("bot", "x")), slots={"s": 1}, stubs={"action_a": {}}),
        turn_timeout=5,
        channel="c",
    )
    assert script.given == [
        {"channel": "c", "fixtures": {"s": 1}, "stubs": {"action_a": {}}, "turn_timeout": 5, "attempt": 0}
    ]


def test_what_a_case_sets_beside_its_messages_is_the_same_only_if_its_content_is() -> None:
    script = Script({"a": turn(bot("x"))})

    def given(**more: Any) -> object:
        metadata = more.pop("metadata", {})
        return only(run(script, case("n", said("a", step("bot", "x"), metadata=metadata), **more))).given

    sets: list[dict[str, Any]] = [
        {},
        {"slots": {"s": 1}},
        {"slots": {"s": "1"}},
        {"stubs": {"action_a": {}}},
        {"metadata": {"s": 1}},
    ]
    assert len({given(**one) for one in sets}) == len(sets)
    assert given() is UNSET
    assert given(slots={"s": 1, "t": 2}, fixtures=("one",)) == given(slots={"t": 2, "s": 1}, fixtures=("other",))


def test_a_case_without_the_action_it_needs_is_skipped_with_the_reason(golden: Golden) -> None:
    lacking = turn(custom_actions=(CustomAction("action_a", "unreachable", "no action server answers"),))
    found = only(run(Script({"a": lacking}), case("n", said("a", step("bot", "x")))))
    assert (found.outcome, found.passed) == ("skipped", False)
    golden(found.reason)
    assert [s.outcome for s in found.steps] == ["skipped"]


def test_what_had_failed_before_an_action_was_missing_stays_failed() -> None:
    lacking = turn(custom_actions=(CustomAction("action_a", "no server", "none"),))
    found = only(run(Script({"a": turn(), "b": lacking}), case("n", said("a", step("bot", "x")), said("b"))))
    assert found.outcome == "failed"


def test_a_case_whose_action_server_went_away_is_an_error(golden: Golden) -> None:
    lost = turn(custom_actions=(CustomAction("action_a", "lost", "the action server is gone"),))
    result = run(Script({"a": turn(), "b": lost}), case("n", said("a", step("bot", "x")), said("b", step("bot", "y"))))
    assert (only(result).outcome, result.failed) == ("error", 1)
    golden(only(result).reason)


def test_how_actions_were_run_is_noted() -> None:
    happened = turn(
        bot("x"), custom_actions=(CustomAction("action_a", "stubbed"), CustomAction("action_b", "failed", "status 500"))
    )
    found = only(run(Script({"a": happened}), case("n", said("a", step("bot", "x")))))
    assert found.actions == {"action_a": "stubbed", "action_b": "real"}
    assert found.reason == "status 500"


def test_a_turn_that_takes_too_long_fails_and_ends_the_case(golden: Golden) -> None:
    late = turn(bot("x"), stopped="the turn took longer than 5 seconds", timed_out=True)
    found = only(run(Script({"a": late}), case("n", said("a", step("bot", "x")), said("b", step("bot", "y")))))
    assert found.outcome == "failed"
    assert [s.outcome for s in found.steps] == ["passed", "skipped"]
    golden(found.reason)


def test_an_engine_that_fails_is_an_error_of_that_case_alone() -> None:
    script = Script({"a": UserError("connection lost"), "b": turn(bot("x"))})
    result = run(script, case("one", said("a", step("bot", "x"))), case("two", said("b", step("bot", "x"))))
    assert [c.outcome for c in result.cases] == ["error", "passed"]
    assert (result.failed, result.passed) == (1, 1)


LOST = CustomAction("action_a", "lost", "the action server is gone")


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("end", [UserError("connection lost"), turn(custom_actions=(LOST,)), turn()])
def test_a_case_has_the_same_steps_however_it_ends(end: Turn | Exception, number: int) -> None:
    asserted = Assertion.of("bot_uttered", {"text_matches": "x"}, PLACE)
    turns = [
        CaseTurn("a", PLACE, assertions=(asserted,)),
        said("b", step("slot_was_set", "size", 2), step("bot", "x\ny")),
        CaseTurn("c", PLACE, assertions=(asserted, asserted)),
    ]
    good: dict[str, Turn | Exception | list[Turn]] = {
        "a": turn(bot("x")), "b": turn(slot("size", 2), bot("x\ny")), "c": turn(bot("x"))
    }  # fmt: skip
    passed = only(run(Script(good), case("n", *turns)))
    other = only(run(Script({**good, "abc"[number]: end}), case("n", *turns)))
    assert passed.passed
    assert not other.passed
    assert [(s.kind, s.expected) for s in other.steps] == [(s.kind, s.expected) for s in passed.steps]
    assert [message.text for message in other.messages] == ["a", "b", "c"]


def test_a_case_with_assertions_that_cannot_be_judged_is_skipped() -> None:
    judged = CaseTurn("a", PLACE, assertions=(Assertion.of("flow_started", "f", PLACE),))
    found = only(run(Script({"a": turn()}), case("n", judged)))
    assert found.outcome == "skipped"
    assert found.reason is not None
    assert "flows" in found.reason


def test_a_case_that_expects_nothing_is_skipped() -> None:
    assert only(run(Script({}), case("n", said("a")))).outcome == "skipped"


@pytest.mark.follows(page="rasa-pro", sentence="`--fail-fast` stops after the first failed case.")
def test_fail_fast_leaves_out_what_comes_after() -> None:
    script = Script({"a": turn(bot("x"))})
    cases = [case(str(number), said("a", step("bot", "y" if number == 1 else "x"))) for number in range(4)]
    for workers in (1, 4):
        result = run(script, *cases, fail_fast=True, workers=workers)
        assert [c.outcome for c in result.cases] == ["passed", "failed", "skipped", "skipped"]


def test_interrupted_what_was_finished_is_kept_and_nobody_waits_for_the_rest(timing: Timing) -> None:
    others = Barrier(2)

    def interrupt(result: CaseResult) -> None:
        others.wait(20)
        raise KeyboardInterrupt

    class Slow(Script):
        def conversation(self, **given: Any) -> ScriptedTalk:
            talk = super().conversation(**given)
            if given["fixtures"].get("waits"):
                Event().wait(60)
            if given["fixtures"].get("last"):
                Timer(0.2, others.wait).start()
            return talk

    expected = said("a", step("bot", "x"))
    fixtures: list[dict[str, Any]] = [{}, {"waits": True}, {}, {"last": True}]
    cases = [case(str(number), expected, slots=slots) for number, slots in enumerate(fixtures)]
    with timing.at_most(30, time.monotonic), pytest.raises(IncompleteError, match="interrupted") as raised:
        evaluate_cases(Slow({"a": turn(bot("x"))}), cases, CaseRun(workers=2), interrupt)
    assert raised.value.interrupted
    result = raised.value.finished
    assert [c.outcome for c in result.cases] == ["passed", "skipped", "passed", "passed"]
    assert result.remarks == ("interrupted",)


def test_any_number_of_workers_gives_the_same_result() -> None:
    script = Script({"a": turn(heard("greet"), bot("x")), "b": turn(bot("y"))})
    cases = [
        case(str(n), said("a", step("bot", "x")), said("b", step("bot", "x" if n % 3 else "y"))) for n in range(20)
    ]
    assert run(script, *cases, workers=1) == run(script, *cases, workers=7)


def test_repeating_finds_what_passes_only_sometimes() -> None:
    script = Script({"a": [turn(bot("x")), turn(bot("y")), turn(bot("x"))]})
    found = only(run(script, case("n", said("a", step("bot", "x"))), repeat=3))
    assert found.attempts is not None
    assert (found.attempts.passed, found.attempts.of, found.outcome) == (2, 3, "failed")
    assert sorted(found.attempts.runs) == [False, True, True]
    assert found.reason == "flaky: passed 2 of 3 times"


def test_what_cases_come_by_is_collected() -> None:
    happened = turn(
        heard("greet"),
        ran("utter_hi"),
        bot("x", "utter_hi"),
        slot("s", 1),
        {"event": "active_loop", "name": "f"},
        {"event": "flow_started", "flow_id": "send"},
    )
    assert run(Script({"a": happened}), case("n", said("a", step("bot", "x")))).exercised == {
        "intents": ("greet",),
        "actions": ("utter_hi",),
        "responses": ("utter_hi",),
        "slots": ("s",),
        "forms": ("f",),
        "flows": ("send",),
        "steps": ("intent greet > action utter_hi",),
    }


# --- what is shown ----------------------------------------------------------------------------------------------------


@pytest.mark.follows(page="rasa-pro", sentence="The terminal shows the differences of failed cases, then a summary.")
def test_the_output_is_in_pytests_manner(golden: Golden) -> None:
    script = Script({"a": turn(bot("x"))})
    cases = [
        case("good", said("a", step("bot", "x"))),
        case("bad", said("a", step("bot", "y"))),
        case("none", said("a")),
    ]
    output = io.StringIO()
    progress = Progress(output, 3)
    result = evaluate_cases(script, cases, CaseRun(), progress.finished)
    progress.end()
    assert output.getvalue() == "tests/cases.yml .Fs [100%]\n"
    golden(case_differences(result.cases[1:2]))


CRASHED = CustomAction("action_a", "failed", "'action_a' failed, the action server answered with status 500")


def test_a_case_that_passed_although_an_action_failed_says_so() -> None:
    script = Script({"a": turn(bot("x"), custom_actions=(CRASHED,)), "b": turn(bot("x"))})
    cases = [case("calm", said("a", step("slot_was_not_set", "x"))), case("good", said("b", step("bot", "x")))]
    result = run(script, *cases)
    assert [one.outcome for one in result.cases] == ["passed", "passed"]
    assert [one.name for one in result.warned] == ["calm"]
    assert yaml.safe_load(results_yaml(cases, result))["test_results"][0]["reason"] == CRASHED.reason


def test_a_warning_of_one_attempt_is_a_warning_of_the_case() -> None:
    attempts = [turn(bot("x")), turn(bot("x"), custom_actions=(CRASHED,)), turn(bot("x"))]

    (one,) = evaluate_cases(Script({"a": attempts}), [case("c", said("a", step("bot", "x")))], CaseRun(repeat=3)).cases
    assert (one.outcome, one.warning) == ("passed", CRASHED.reason)


def test_what_rasa_passes_over_in_its_log_is_a_warning(golden: Golden) -> None:
    script = Script({"a": turn(bot("x"), remarks=("'utter_x' failed: no such slot",))})
    (one,) = run(script, case("c", said("a", step("bot", "x")))).cases
    golden(one.warning)


def test_colours_stand_around_the_difference_and_nothing_else_can_colour() -> None:
    script = Script({"a": turn(bot("\x1b[31mred"))})
    shown = case_differences(run(script, case("bad", said("a", step("bot", "y")))).cases, colour=True)
    assert "\x1b[32m+ bot: y\x1b[0m" in shown
    assert "\x1b[31mred" not in shown


@pytest.mark.follows(page="rasa-pro", sentence="`-o` writes the results with the difference of failed cases.")
def test_the_results_are_written_as_rasa_pro_writes_them() -> None:
    script = Script({"a": turn(bot("x"))})
    cases = [
        case("good", said("a", step("bot", "x")), source=[{"user": "a"}, {"bot": "x"}]),
        case("bad", said("a", step("bot", "y")), source=[{"user": "a"}, {"bot": "y"}]),
    ]
    assert yaml.safe_load(results_yaml(cases, run(script, *cases))) == {
        "test_results": [
            {"name": "good", "pass_status": True, "expected_steps": [{"user": "a"}, {"bot": "x"}], "difference": []},
            {
                "name": "bad",
                "pass_status": False,
                "expected_steps": [{"user": "a"}, {"bot": "y"}],
                "difference": ["  user: a", "- bot: x", "+ bot: y"],
                "error_path": "tests/cases.yml:3",
            },
        ]
    }
