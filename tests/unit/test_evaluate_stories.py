"""Judging test stories: what is asked, and what is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dialogues import DIALOGUE, story

from turncheck.engines.embedded.policies.decision import Decision
from turncheck.evaluation.stories import evaluate_stories

if TYPE_CHECKING:
    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker


class Counting:
    """Policies that always greet, and count how often they are asked."""

    def __init__(self) -> None:
        self.asked = 0

    @property
    def domain(self) -> DialogueDomain:
        return DIALOGUE

    def next(self, tracker: Tracker) -> Decision:
        self.asked += 1
        action = "action_listen" if tracker.latest_action_name == "utter_hi" else "utter_hi"
        return Decision(action, "Counting", 1.0)


def test_stories_that_are_the_same_are_asked_about_once_and_listed_each() -> None:
    policies = Counting()
    core = evaluate_stories(policies, [story("one", "greet", "utter_hi"), story("two", "ask", "utter_answer")])
    assert policies.asked == 4
    again = Counting()
    copies = [story(name, "greet", "utter_hi") for name in ("one", "same", "same again")]
    more = evaluate_stories(again, [*copies, story("two", "ask", "utter_answer")])
    assert again.asked == 4
    assert [(one.name, one.passed, one.duplicate) for one in more.stories] == [
        ("one", True, False),
        ("two", False, False),
        ("same", True, True),
        ("same again", True, True),
    ]
    assert more.report == core.report
    assert [step.predicted for step in more.stories[2].steps] == ["utter_hi", "action_listen"]
