"""Dialogues that come to a step in the same situation go through it once, and are what they are one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dialogues import DIALOGUE, slot, story

from turncheck.dialogue import training
from turncheck.dialogue.story_steps import story_steps
from turncheck.dialogue.training import Trackers, trackers_of, trackers_of_steps
from turncheck.project.model import CheckpointStep

if TYPE_CHECKING:
    from turncheck.project.model import Story

HERE = story("here").location
STORIES = [
    story("hello", "greet", "utter_hi"),
    story("asked", "ask", "utter_answer", slot("city", "Rome")),
    story("known", "ask", slot("known", value=True), "utter_answer", "utter_other"),
    story("same", "greet", "utter_hi", "bye", "utter_bye"),
    story("form", "inform", "form", "utter_other"),
]


def passages(monkeypatch: pytest.MonkeyPatch, stories: list[Story], augmentation: int) -> tuple[Trackers, int]:
    """The dialogues, and how often a step was gone through for all dialogues in one situation."""
    through = training._Passage.through
    calls: list[object] = []

    def counted(*args: object) -> object:
        calls.append(args)
        return through(*args)  # type: ignore[arg-type]  # whatever it takes

    monkeypatch.setattr(training._Passage, "through", counted)
    return trackers_of(stories, DIALOGUE, augmentation=augmentation), len(calls)


def shown(trackers: Trackers) -> list[object]:
    return [
        (one.name, one.fingerprint, [event.to_json() for event in one.events], dict(one.slots), one.latest_action_name)
        for one in (*trackers.all, *trackers.duplicates)
    ]


def test_dialogues_in_one_situation_go_through_a_step_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begins = [story(f"begin {number}", "greet", "utter_hi", CheckpointStep("on", HERE)) for number in range(20)]
    more = [story(f"after {number}", *("ask", "utter_answer") * number) for number in range(1, 4)]
    goes_on = [
        story("end", CheckpointStep("on", HERE), "bye", "utter_bye"),
        *(story(f"{one.name} on", CheckpointStep("on", HERE), *("ask", "utter_answer")) for one in more),
    ]
    _, calls = passages(monkeypatch, [*begins, *goes_on], 0)
    assert calls == len(begins) + len(goes_on)


def test_dialogues_with_other_slots_are_followed_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [story(kind, "inform", slot("kind", kind), "utter_hi", CheckpointStep("on", HERE)) for kind in ("a", "B")]
    trackers, calls = passages(monkeypatch, [*kinds, story("end", CheckpointStep("on", HERE), "bye", "utter_bye")], 0)
    assert calls == len(kinds) + 2
    assert sorted(str(one.slots["kind"]) for one in trackers.stories) == ["B", "a"]


@pytest.mark.parametrize("more", ["rewind", "undo", "restart"])
def test_what_undoes_events_is_followed_one_by_one(monkeypatch: pytest.MonkeyPatch, more: str) -> None:
    _, calls = passages(monkeypatch, [story("again", "greet", "utter_hi", "ask", more, "bye", "utter_bye")], 0)
    assert calls == 0


def test_all_are_what_they_are_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = story_steps(STORIES, DIALOGUE)
    shared = shown(trackers_of_steps(steps, DIALOGUE, augmentation=20))
    monkeypatch.setattr(training._Walk, "_followed", _one_by_one)

    assert shown(trackers_of_steps(steps, DIALOGUE, augmentation=20)) == shared
    assert len(shared) > 100


def _one_by_one(walk: training._Walk, step: object, incoming: object, finished: object) -> object:
    events = step.explicit_events(walk.domain)  # type: ignore[attr-defined]  # a step
    return walk._followed_one_by_one(step, events, incoming, finished) if events else []  # type: ignore[arg-type]
