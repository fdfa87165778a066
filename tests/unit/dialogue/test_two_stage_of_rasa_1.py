"""TwoStageFallbackPolicy: the question, the other words, and what is undone once the user is understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.events import ActionExecuted, UserUttered
from turncheck.dialogue.policy_states import RuleOnly
from turncheck.dialogue.tracker import Tracker
from turncheck.engines.embedded.actions.base import revert_fallback_events
from turncheck.engines.embedded.policies.rules import TwoStageFallbackPolicy
from turncheck.messages.finding import Location
from turncheck.project.model import Domain, Intent

if TYPE_CHECKING:
    from turncheck.dialogue.events import Event

ASK = "action_default_ask_affirmation"
REPHRASE = "action_default_ask_rephrase"
REVERT = "action_revert_fallback_events"
LAST = "action_default_fallback"


def domain() -> DialogueDomain:
    intents = {name: Intent(name, Location("domain.yml")) for name in ("greet", "bye", "out_of_scope")}
    return DialogueDomain.from_domain(Domain(intents=intents, rasa=1))


def said(intent: str, confidence: float = 1.0) -> UserUttered:
    return UserUttered(text=intent, intent={"name": intent, "confidence": confidence})


def told(*happened: str | UserUttered) -> Tracker:
    events: list[Event] = [ActionExecuted("action_listen")]
    for one in happened:
        if isinstance(one, UserUttered):
            events.append(one)
        else:
            events += [ActionExecuted(one), ActionExecuted("action_listen")]
    return Tracker.of(domain(), events)


UNSURE = said("greet", 0.1)
BEFORE = ["action_listen", "bye", "utter_bye"]


@pytest.mark.parametrize(
    ("happened", "action"),
    [
        ([UNSURE], ASK),
        ([said("greet")], LAST),  # with the core threshold: any other policy that knows better comes first
        ([UNSURE, ASK, said("greet")], REVERT),
        ([UNSURE, ASK, said("greet", 0.1)], LAST),
        ([UNSURE, ASK, said("out_of_scope")], REPHRASE),
        ([UNSURE, ASK, said("out_of_scope"), REPHRASE, said("bye")], REVERT),
        ([UNSURE, ASK, said("out_of_scope"), REPHRASE, said("bye", 0.1)], ASK),
        ([UNSURE, ASK, said("out_of_scope"), REPHRASE, said("out_of_scope")], REVERT),
        ([UNSURE, ASK, said("out_of_scope"), REPHRASE, said("bye", 0.1), ASK, said("bye")], REVERT),
        ([UNSURE, ASK, said("out_of_scope"), REPHRASE, said("bye", 0.1), ASK, said("out_of_scope")], LAST),
    ],
)
def test_each_stage_asks_what_rasa_1_asks(happened: list[str | UserUttered], action: str) -> None:
    policy = TwoStageFallbackPolicy.of("TwoStageFallbackPolicy", {})
    prediction = policy.predict(told(*happened), RuleOnly())
    assert max(prediction.scores, key=prediction.scores.__getitem__) == action
    assert prediction.scores[action] == (0.3 if happened == [said("greet")] else 1.0)


@pytest.mark.parametrize(
    ("asked", "before", "intent", "confidence"),
    [
        ([UNSURE, ASK, said("greet", 0.9)], BEFORE, "greet", 1.0),
        ([UNSURE, ASK, said("out_of_scope"), REPHRASE, said("bye", 0.9)], BEFORE, "bye", 0.9),
        # Rasa 1 undoes one message too many here.
        ([UNSURE, ASK, said("out_of_scope"), REPHRASE, said("bye", 0.1), ASK, said("bye", 0.9)], [], "bye", 1.0),
    ],
)
def test_what_was_asked_is_undone(
    asked: list[str | UserUttered], before: list[str], intent: str, confidence: float
) -> None:
    tracker = told(said("bye"), "utter_bye", *asked)
    undone = revert_fallback_events(None, tracker)  # type: ignore[arg-type]  # it asks nobody
    tracker.append(ActionExecuted(REVERT))
    tracker.extend(undone)
    counted = [
        event.name if isinstance(event, ActionExecuted) else event.intent_name
        for event in tracker.applied_events()
        if isinstance(event, (ActionExecuted, UserUttered))
    ]
    assert counted == [*before, "action_listen", intent]
    assert tracker.latest_message.intent == {"name": intent, "confidence": confidence}
