"""Rules learnt, applied, and refused."""

from __future__ import annotations

import pytest
from dialogues import DIALOGUE, loop, rule, slot, story
from golden_texts import Golden

from turncheck.dialogue.events import ActionExecuted, ActionExecutionRejected, ActiveLoop, SlotSet, UserUttered
from turncheck.dialogue.rule_learning import RuleConflictError, learn_rules
from turncheck.dialogue.rules import RuleBook, RuleSettings
from turncheck.dialogue.tracker import Tracker
from turncheck.dialogue.training import trackers_of
from turncheck.messages.errors import TrainingRefusedError
from turncheck.project.model import Story

LISTEN = ActionExecuted("action_listen")


def book_of(*stories: Story, **settings: object) -> RuleBook:
    return learn_rules(trackers_of(stories, DIALOGUE).all, DIALOGUE, RuleSettings(**settings))  # type: ignore[arg-type]  # test data


def after(intent: str, *before: object) -> Tracker:
    events = [*before, LISTEN, UserUttered(None, {"name": intent, "confidence": 1.0})]
    return Tracker.of(DIALOGUE, events)  # type: ignore[arg-type]  # events


def predicted(book: RuleBook, tracker: Tracker) -> str:
    return book.predict(tracker).action(DIALOGUE)


def test_a_rule_answers_anywhere_and_then_listens() -> None:
    book = book_of(rule("r", "greet", "utter_hi"))
    tracker = after("greet", LISTEN, UserUttered(None, {"name": "bye"}), ActionExecuted("utter_bye"))
    assert predicted(book, tracker) == "utter_hi"
    tracker.append(ActionExecuted("utter_hi"))
    assert predicted(book, tracker) == "action_listen"


def test_without_a_rule_the_fallback_comes_with_its_threshold() -> None:
    prediction = book_of(rule("r", "greet", "utter_hi")).predict(after("ask"))
    assert (prediction.action(DIALOGUE), prediction.confidence) == ("action_default_fallback", 0.3)


def test_the_more_a_rule_says_the_better_it_fits() -> None:
    book = book_of(
        rule("any", "ask", "utter_other"), rule("rome", "ask", "utter_answer", condition=(slot("city", "Rome"),))
    )
    assert predicted(book, after("ask")) == "utter_other"
    assert predicted(book, after("ask", SlotSet("city", "Rome"))) == "utter_answer"


def test_a_rule_for_an_empty_slot_does_not_apply_when_it_is_set() -> None:
    book = book_of(rule("empty", "ask", "utter_answer", condition=(slot("city", None),)))
    assert predicted(book, after("ask")) == "utter_answer"
    assert predicted(book, after("ask", SlotSet("city", "Rome"))) == "action_default_fallback"


def test_a_rule_for_the_beginning_applies_only_there() -> None:
    book = book_of(rule("begin", "greet", "utter_hi", conversation_start=True))
    assert predicted(book, after("greet")) == "utter_hi"
    earlier = (LISTEN, UserUttered(None, {"name": "bye"}), ActionExecuted("utter_bye"))
    assert predicted(book, after("greet", *earlier)) == "action_default_fallback"


def test_a_loop_goes_on_until_it_refuses_and_then_rules_have_their_say() -> None:
    book = book_of(rule("start", "inform", "form", loop("form")), rule("help", "ask", "utter_answer"))
    tracker = after("ask", LISTEN, UserUttered(None, {"name": "inform"}), ActionExecuted("form"), ActiveLoop("form"))
    assert predicted(book, tracker) == "form"
    assert book.predict(tracker).ignores_user
    tracker.append(ActionExecutionRejected("form"))
    assert predicted(book, tracker) == "utter_answer"
    tracker.append(ActionExecuted("utter_answer"))
    assert predicted(book, tracker) == "form"


def test_default_intents_have_their_actions_without_a_rule() -> None:
    assert predicted(book_of(rule("r", "greet", "utter_hi")), after("restart")) == "action_restart"


def test_contradicting_rules_are_refused_with_both_places() -> None:
    with pytest.raises(RuleConflictError) as refused:
        book_of(rule("one", "greet", "utter_hi"), rule("two", "greet", "utter_bye"))
    conflicts = refused.value.conflicts
    assert {(c.place.name, c.others[0].name) for c in conflicts} == {("one", "two"), ("two", "one")}
    assert {c.kind for c in conflicts} == {"contradiction"}
    assert all(c.place.location and c.others[0].location for c in conflicts)


def test_a_story_that_contradicts_a_rule_is_refused_unless_that_is_not_checked() -> None:
    files = (rule("r", "greet", "utter_hi"), story("s", "greet", "utter_bye"))
    with pytest.raises(RuleConflictError) as refused:
        book_of(*files)
    assert [(c.is_story, c.expected, c.predicted) for c in refused.value.conflicts] == [(True, "utter_bye", "utter_hi")]
    assert book_of(*files, check_for_contradictions=False).rules.outcomes


def test_two_messages_in_a_rule_are_refused_unless_rules_are_unrestricted(golden: Golden) -> None:
    long = rule("long", "greet", "utter_hi", "bye", "utter_bye")
    with pytest.raises(RuleConflictError) as refused:
        book_of(long)
    golden(refused.value)
    assert book_of(long, restrict_rules=False).rules.outcomes


def test_an_action_must_set_a_slot_in_every_rule_or_in_none() -> None:
    with pytest.raises(RuleConflictError) as refused:
        book_of(rule("sets", "greet", "utter_hi", slot("city", "Rome")), rule("not", "bye", "utter_hi"))
    assert [(c.kind, c.place.name, c.missing) for c in refused.value.conflicts] == [("incomplete", "not", ("city",))]


def test_a_fallback_that_the_domain_does_not_know_is_refused() -> None:
    with pytest.raises(TrainingRefusedError, match="utter_nothing"):
        book_of(rule("r", "greet", "utter_hi"), fallback_action="utter_nothing")


def test_a_rule_that_a_story_needs_is_not_hidden_from_the_policies_that_learn() -> None:
    used = book_of(rule("r", "greet", "utter_hi"), story("s", "greet", "utter_hi"))
    unused = book_of(rule("r", "greet", "utter_hi"), story("s", "ask", "utter_answer"))
    assert not used.predict(after("greet")).hide_rule_turn
    assert unused.predict(after("greet")).hide_rule_turn
