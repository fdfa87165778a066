"""Stories cut into steps, put in order, told as dialogues."""

from __future__ import annotations

import pytest
from dialogues import DIALOGUE, HERE, rule, slot, story
from hypothesis import given
from hypothesis import strategies as st

from turncheck.dialogue import training
from turncheck.dialogue.events import ActionExecuted, SlotSet, UserUttered
from turncheck.dialogue.story_steps import entities_of_command, story_steps
from turncheck.dialogue.training import StoryGraph, topological_order, trackers_of
from turncheck.project.model import CheckpointStep, OrStep, StoryEntity, UserStep


def checkpoint(name: str, **conditions: object) -> CheckpointStep:
    return CheckpointStep(name, HERE, tuple(slot(name, value) for name, value in conditions.items()))


def actions(tracker: object) -> list[str]:
    return [event.label for event in tracker.events if isinstance(event, ActionExecuted)]  # type: ignore[attr-defined]  # a tracker


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=1), st.sets(st.sampled_from("abcdef"))))
def test_each_node_comes_before_those_it_leads_to_but_for_the_edges_that_close_a_cycle(
    edges: dict[str, set[str]],
) -> None:
    edges = {node: {child for child in children if child in edges} for node, children in edges.items()}
    order, cyclic = topological_order(edges)
    assert sorted(order) == sorted(edges)
    place = {node: number for number, node in enumerate(order)}
    for node, children in edges.items():
        for child in children:
            assert (node, child) in cyclic or place[node] < place[child]


def test_a_chain_of_a_thousand_checkpoints_is_no_trouble() -> None:
    edges = {f"{number:04}": {f"{number + 1:04}"} for number in range(5000)} | {"5000": set[str]()}
    assert topological_order(edges)[0][-1] == "5000"


def test_alternatives_make_a_dialogue_each() -> None:
    either = OrStep(((UserStep("greet", HERE),), (UserStep("bye", HERE),)), HERE)
    trackers = trackers_of([story("s", either, "utter_hi")], DIALOGUE).stories
    intents = [event.intent_name for tracker in trackers for event in tracker.events if isinstance(event, UserUttered)]
    assert intents == ["greet", "bye"]
    assert [tracker.name for tracker in trackers] == ["s", "s"]


def test_checkpoints_join_stories_and_their_conditions_choose() -> None:
    stories = [
        story("first", "greet", slot("city", "Rome"), "utter_hi", checkpoint("met")),
        story("rome", checkpoint("met", city="Rome"), "ask", "utter_answer"),
        story("paris", checkpoint("met", city="Paris"), "ask", "utter_bye"),
    ]
    trackers = trackers_of(stories, DIALOGUE).stories
    assert [tracker.name for tracker in trackers] == ["first > rome"]
    assert actions(trackers[0]) == ["action_listen", "utter_hi", "action_listen", "utter_answer", "action_listen"]


def test_a_cycle_of_checkpoints_ends() -> None:
    stories = [
        story("begin", "greet", "utter_hi", checkpoint("again")),
        story("round", checkpoint("again"), "ask", "utter_answer", checkpoint("again")),
        story("end", checkpoint("again"), "bye", "utter_bye"),
    ]
    names = {tracker.name for tracker in trackers_of(stories, DIALOGUE).stories}
    assert {"begin > end", "begin > round > end"} <= names
    graph = StoryGraph(tuple(story_steps(stories, DIALOGUE))).without_cycles()
    assert len(graph.ordered()) == len(graph.steps)


def test_what_is_the_same_to_every_policy_is_kept_once_and_named_as_a_duplicate() -> None:
    trackers = trackers_of([story("one", "greet", "utter_hi"), story("two", "greet", "utter_hi")], DIALOGUE)
    assert [tracker.name for tracker in trackers.stories] == ["one"]
    assert [tracker.name for tracker in trackers.duplicates] == ["two"]


def test_entities_fill_their_slots_right_after_the_message() -> None:
    user = UserStep("inform", HERE, entities=(StoryEntity("city", "Rome"),))
    events = trackers_of([story("s", user, "utter_hi")], DIALOGUE).stories[0].events
    assert events[2] == SlotSet("city", "Rome")


def test_an_entity_without_a_value_fills_its_slot_and_one_that_is_null_empties_it() -> None:
    named = UserStep("inform", HERE, entities=(StoryEntity("city", ""),))
    null = UserStep("inform", HERE, entities=(StoryEntity("city", None),))
    told = [trackers_of([story("s", user, "utter_hi")], DIALOGUE).stories[0].events for user in (named, null)]
    assert [events[2] for events in told] == [SlotSet("city", ""), SlotSet("city", None)]


def test_null_in_a_rule_means_that_it_must_not_be_set() -> None:
    events = trackers_of([rule("r", "greet", "utter_hi", condition=(slot("city", None),))], DIALOGUE).rules[0].events
    assert events[0] == SlotSet("city", "should_not_be_set")
    assert events[1] == ActionExecuted("...")


def test_augmentation_glues_stories_together_and_says_so() -> None:
    stories = [story("one", "greet", "utter_hi"), story("two", "ask", "utter_answer")]
    trackers = trackers_of(stories, DIALOGUE, augmentation=5).stories
    assert {tracker.name for tracker in trackers if tracker.is_augmented} >= {"one > two", "two > one"}


def test_the_more_there_is_to_tell_the_fewer_stories_are_glued_to_each(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [("greet", "utter_hi"), ("ask", "utter_answer"), ("bye", "utter_bye"), ("inform", "utter_other")]
    stories = [story(f"{name} {answer}", name, answer) for name, _ in said for _, answer in said[:2]]
    numbers = []
    for most in (training.MOST_GLUED, 150, 1):
        monkeypatch.setattr(training, "MOST_GLUED", most)
        trackers = trackers_of(stories, DIALOGUE, augmentation=6)
        numbers.append(sum(one.is_augmented for one in (*trackers.stories, *trackers.duplicates)))
    assert numbers[0] > numbers[1] > numbers[2] > 0


def test_entities_of_a_command_are_read_and_broken_json_gives_none() -> None:
    assert entities_of_command('/inform{"city": ["Rome", "Bonn"]}') == [
        {"entity": "city", "value": "Rome", "start": 7, "end": 33},
        {"entity": "city", "value": "Bonn", "start": 7, "end": 33},
    ]
    assert entities_of_command('/inform{"city": }') == []
    assert entities_of_command("/inform") == []
