"""What a sequence of events adds up to."""

from __future__ import annotations

from dialogues import DIALOGUE
from hypothesis import given
from hypothesis import strategies as st

from turncheck.dialogue.events import (
    ActionExecuted,
    ActionExecutionRejected,
    ActionReverted,
    ActiveLoop,
    AllSlotsReset,
    Event,
    FollowupAction,
    LoopInterrupted,
    Restarted,
    SessionStarted,
    SlotSet,
    UserFeaturization,
    UserUtteranceReverted,
    UserUttered,
)
from turncheck.dialogue.states import NO_PART, Part, state_of
from turncheck.dialogue.tracker import Tracker

LISTEN = ActionExecuted("action_listen")


def said(intent: str) -> UserUttered:
    return UserUttered(f"/{intent}", {"name": intent})


EVENTS = st.sampled_from(
    [
        LISTEN,
        said("greet"),
        said("bye"),
        UserFeaturization(use_text=False),
        ActionExecuted("utter_hi"),
        ActionExecuted("form"),
        ActiveLoop("form"),
        ActiveLoop(None),
        ActionExecutionRejected("form"),
        LoopInterrupted(is_interrupted=True),
        SlotSet("city", "Rome"),
        SlotSet("city", None),
        AllSlotsReset(),
        FollowupAction("utter_bye"),
        UserUtteranceReverted(),
        ActionReverted(),
        Restarted(),
        SessionStarted(),
    ]
)


@given(st.lists(EVENTS, max_size=40))
def test_moments_are_the_same_whether_they_are_asked_for_after_each_event_or_at_the_end(events: list[Event]) -> None:
    asked = Tracker(DIALOGUE)
    for event in events:
        asked.append(event)
        asked.moments()
    assert asked.moments() == Tracker.of(DIALOGUE, events).moments()


@given(st.lists(EVENTS, max_size=30), st.lists(EVENTS, max_size=10))
def test_a_copy_goes_its_own_way(events: list[Event], more: list[Event]) -> None:
    tracker = Tracker.of(DIALOGUE, events)
    before = (list(tracker.moments()), dict(tracker.slots), tracker.active_loop)
    other = tracker.copy()
    other.extend(more)
    assert (list(tracker.moments()), dict(tracker.slots), tracker.active_loop) == before
    assert other.moments() == Tracker.of(DIALOGUE, [*events, *more]).moments()


def test_a_rewind_undoes_the_message_its_slots_and_the_listening_before() -> None:
    tracker = Tracker.of(DIALOGUE, [LISTEN, said("greet"), ActionExecuted("utter_hi"), LISTEN, said("inform")])
    tracker.extend([SlotSet("city", "Rome"), UserUtteranceReverted()])
    assert tracker.slots["city"] is None
    assert tracker.latest_message.intent_name == "greet"
    assert tracker.latest_action_name == "utter_hi"


def test_repeated_runs_of_a_loop_on_its_happy_path_leave_no_trace_but_slots() -> None:
    first = [LISTEN, said("inform"), ActionExecuted("form"), ActiveLoop("form")]
    again = [LISTEN, said("inform"), SlotSet("city", "Rome"), ActionExecuted("form")]
    applied = Tracker.of(DIALOGUE, [*first, *again]).applied_events()
    assert list(applied) == [*first, SlotSet("city", "Rome")]


def test_a_rejected_loop_that_runs_again_does_leave_a_trace() -> None:
    first = [LISTEN, said("inform"), ActionExecuted("form"), ActiveLoop("form"), LISTEN, said("ask")]
    tracker = Tracker.of(DIALOGUE, [*first, ActionExecutionRejected("form")])
    assert tracker.is_active_loop_rejected
    tracker.extend([ActionExecuted("utter_answer"), ActionExecuted("form")])
    assert not tracker.is_active_loop_rejected
    assert tracker.applied_events()[-1] == ActionExecuted("form")


def test_a_restart_asks_for_a_new_session() -> None:
    tracker = Tracker.of(DIALOGUE, [LISTEN, said("greet"), SlotSet("city", "Rome"), Restarted()])
    assert tracker.followup_action == "action_session_start"
    assert tracker.slots["city"] is None
    assert list(tracker.applied_events()) == []


def test_equal_situations_have_one_state_and_parts_that_are_gone_are_not_taken_for_others() -> None:
    user, action = Part(intent="greet"), Part(action_name="action_listen")
    state = state_of(user, NO_PART, action, NO_PART)
    assert state_of(user, Part(), action, NO_PART) is state
    assert state == {"user": user, "prev_action": action}
    for number in range(10_000):  # a part that is forgotten leaves its place in memory to another
        slots = Part({f"slot {number % 7}": (1.0,)}) if number % 3 else Part()
        assert state_of(user, slots, action, NO_PART).get("slots", NO_PART) == slots
