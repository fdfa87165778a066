"""What the policies remember, and who decides."""

from __future__ import annotations

import json

import pytest
from dialogues import DIALOGUE, rule, slot, story
from hypothesis import given
from hypothesis import strategies as st

from turncheck.dialogue.events import (
    ActionExecuted,
    ActionExecutionRejected,
    ActionReverted,
    ActiveLoop,
    Event,
    SlotSet,
    UserFeaturization,
    UserUttered,
)
from turncheck.dialogue.policy_states import RuleOnly
from turncheck.dialogue.rules import Prediction
from turncheck.dialogue.tracker import Tracker
from turncheck.dialogue.training import trackers_of
from turncheck.engines.embedded.policies.rules import (
    AugmentedMemoizationPolicy,
    MemoizationPolicy,
    MemoizationSettings,
)
from turncheck.engines.embedded.policies.stand_ins import StandInSettings, TedStandIn, UnexpectedIntentStandIn
from turncheck.engines.embedded.policies.trainer import Ensemble, pick

LISTEN = ActionExecuted("action_listen")
STORIES = [story("one", "greet", "utter_hi", "ask", "utter_answer"), story("two", "bye", "utter_bye")]
TRACKERS = trackers_of(STORIES, DIALOGUE).all
NOTHING = RuleOnly()


def heard(*intents_and_actions: str) -> Tracker:
    tracker = Tracker(DIALOGUE)
    for word in intents_and_actions:
        if word in {"greet", "ask", "bye", "inform"}:
            tracker.extend([LISTEN, UserUttered(None, {"name": word, "confidence": 0.5})])
        else:
            tracker.append(ActionExecuted(word))
    return tracker


def test_memoization_knows_whole_dialogues_and_with_a_max_history_their_ends() -> None:
    whole = MemoizationPolicy.fit(TRACKERS, MemoizationSettings())
    short = MemoizationPolicy.fit(TRACKERS, MemoizationSettings(max_history=2))
    assert whole.recall(heard("greet", "utter_hi", "ask"), NOTHING) == "utter_answer"
    assert whole.recall(heard("bye", "utter_hi", "ask"), NOTHING) is None
    assert short.recall(heard("bye", "utter_bye", "greet", "utter_hi", "ask"), NOTHING) == "utter_answer"


def test_what_was_followed_by_different_actions_is_forgotten() -> None:
    trackers = trackers_of([story("a", "greet", "utter_hi"), story("b", "greet", "utter_bye")], DIALOGUE).all
    assert MemoizationPolicy.fit(trackers, MemoizationSettings()).recall(heard("greet"), NOTHING) is None


def test_augmented_memoization_forgets_slots_of_a_past_that_no_story_knows() -> None:
    tracker = Tracker(DIALOGUE)
    tracker.extend([LISTEN, UserUttered(None, {"name": "inform"}), SlotSet("city", "Rome"), *heard("greet").events])
    settings = MemoizationSettings("AugmentedMemoizationPolicy", max_history=4)
    assert MemoizationPolicy.fit(TRACKERS, MemoizationSettings(max_history=4)).recall(tracker, NOTHING) is None
    assert AugmentedMemoizationPolicy.fit(TRACKERS, settings).recall(tracker, NOTHING) == "utter_hi"


HAPPENINGS = st.sampled_from(
    [
        [LISTEN, UserUttered(None, {"name": "greet"})],
        [LISTEN, UserUttered("hi", {"name": "greet"}, ({"entity": "city", "value": "Rome"},))],
        [LISTEN, UserUttered("hi", {"name": "greet"}, ({"entity": "city", "value": "Rome", "role": "to"},))],
        [LISTEN, UserUttered("hi")],
        [LISTEN, UserUttered(None, {"name": "ask"})],
        [ActionExecuted("utter_hi")],
        [ActionExecuted("utter_hi", hide_rule_turn=True)],
        [ActionExecuted(None, text="utter_hi")],
        [SlotSet("size", 1)],
        [SlotSet("known", True)],
        [SlotSet("city", "Rome")],
        [ActiveLoop("form")],
        [ActiveLoop(None)],
        [ActionReverted()],
    ]
)


@pytest.mark.slow
@given(st.lists(st.lists(HAPPENINGS, max_size=6), max_size=8))
def test_augmented_memoization_says_the_same_whatever_it_was_asked_before(dialogues: list[list[list[Event]]]) -> None:
    settings = MemoizationSettings("AugmentedMemoizationPolicy", max_history=3)
    asked_before = AugmentedMemoizationPolicy.fit(TRACKERS, settings)
    for dialogue in dialogues:
        tracker = Tracker(DIALOGUE)
        tracker.extend(event for events in dialogue for event in events)
        said = AugmentedMemoizationPolicy.fit(TRACKERS, settings).recall(tracker, NOTHING)
        assert [asked_before.recall(tracker, NOTHING) for _ in range(2)] == [said, said]


def test_the_intents_confidence_can_be_the_actions() -> None:
    sure = MemoizationPolicy.fit(TRACKERS, MemoizationSettings(use_nlu_confidence=True))
    assert sure.predict(heard("greet"), NOTHING).scores == {"utter_hi": 0.5}


def test_turns_that_only_rules_know_do_not_disturb_a_memorised_story() -> None:
    policy = MemoizationPolicy.fit(TRACKERS, MemoizationSettings())
    tracker = heard("greet", "utter_hi")
    tracker.extend([LISTEN, UserUttered(None, {"name": "inform"}), UserFeaturization(use_text=False)])
    tracker.append(ActionExecuted("utter_other", hide_rule_turn=True))
    tracker.append(ActionExecuted("action_listen", hide_rule_turn=True))
    tracker.append(UserUttered(None, {"name": "ask"}))
    assert policy.recall(tracker, NOTHING) == "utter_answer"


def test_the_one_that_ignores_the_user_wins_then_the_text_then_confidence_then_priority_then_order() -> None:
    sure = Prediction("a", {"utter_hi": 1.0}, priority=1)
    important = Prediction("b", {"utter_bye": 1.0}, priority=2)
    unsure = Prediction("c", {"utter_other": 0.3}, priority=4)
    by_text = Prediction("d", {"utter_answer": 0.1}, priority=0, uses_text=True)
    by_loop = Prediction("e", {"form": 0.1}, priority=0, ignores_user=True)
    assert pick([unsure, sure]).policy == "a"
    assert pick([sure, important]).policy == "b"
    assert pick([sure, Prediction("f", {"x": 1.0}, priority=1)]).policy == "a"
    assert pick([sure, by_text]).policy == "d"
    assert pick([sure, by_text, by_loop]).policy == "e"


def test_an_action_that_has_just_refused_is_out_of_the_question() -> None:
    policy = MemoizationPolicy.fit(TRACKERS, MemoizationSettings())
    ensemble = Ensemble(DIALOGUE, [policy])
    tracker = heard("greet")
    assert ensemble.decide(tracker).action == "utter_hi"
    tracker.append(ActionExecutionRejected("utter_hi"))
    assert ensemble.decide(tracker).action == "action_listen"


def test_a_follow_up_action_comes_before_the_policies_unless_nobody_knows_it() -> None:
    ensemble = Ensemble(DIALOGUE, [MemoizationPolicy.fit(TRACKERS, MemoizationSettings())])
    tracker = heard("greet")
    tracker.situation.followup_action = "utter_bye"
    assert ensemble.next(tracker).policy == "followup_action"
    tracker.situation.followup_action = "utter_nowhere"
    assert ensemble.next(tracker).action == "utter_hi"


def test_the_stand_in_for_ted_gives_the_stories_back_and_survives_json() -> None:
    trackers = trackers_of([*STORIES, rule("r", "inform", "utter_other")], DIALOGUE, augmentation=20).all
    policy = TedStandIn.fit(trackers, StandInSettings(max_history=4))
    stored = TedStandIn.from_json(json.loads(json.dumps(policy.to_json())), StandInSettings(max_history=4))
    for tracker, expected in (
        (heard("greet"), "utter_hi"),
        (heard("greet", "utter_hi", "ask"), "utter_answer"),
        (heard("greet", "utter_hi", "bye"), "utter_bye"),
    ):
        prediction = policy.predict(tracker, NOTHING)
        assert prediction.action(DIALOGUE) == expected
        assert stored.predict(tracker, NOTHING) == prediction


def test_the_stand_in_for_unexpected_finds_an_intent_where_no_story_has_it() -> None:
    policy = UnexpectedIntentStandIn.fit(TRACKERS, StandInSettings(max_history=4, priority=2))
    assert policy.predict(heard("greet"), NOTHING).scores == {}
    unlikely = policy.predict(heard("ask"), NOTHING)
    assert unlikely.scores == {"action_unlikely_intent": 1.0}
    assert unlikely.metadata is not None
    assert unlikely.metadata["query_intent"]["severity"] > 0
    assert policy.predict(heard("greet", "utter_hi"), NOTHING).scores == {}


def test_slots_that_only_rules_set_are_not_seen() -> None:
    trackers = trackers_of([*STORIES, rule("r", "inform", slot("known", True), "utter_other")], DIALOGUE).all
    policy = MemoizationPolicy.fit(trackers, MemoizationSettings())
    tracker = heard("greet")
    tracker.append(SlotSet("known", value=True))
    assert policy.recall(tracker, NOTHING) is None
    assert policy.recall(tracker, RuleOnly(slots=frozenset({"known"}))) == "utter_hi"
