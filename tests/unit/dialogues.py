"""Small domains and stories, made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.dialogue.domain import DialogueDomain
from turncheck.messages.finding import Location
from turncheck.project.model import (
    Action,
    ActionStep,
    ActiveLoopStep,
    Domain,
    Entity,
    Form,
    Intent,
    Slot,
    SlotMapping,
    SlotWasSetStep,
    Story,
    UserStep,
)

if TYPE_CHECKING:
    from turncheck.project.model import Step

HERE = Location("data/stories.yml", 1)

DOMAIN = Domain(
    intents={name: Intent(name, HERE) for name in ("greet", "ask", "bye", "inform")},
    entities={"city": Entity("city", HERE, roles=("from", "to"))},
    slots={
        "city": Slot("city", "text", HERE, (SlotMapping("from_entity", HERE, entity="city"),)),
        "known": Slot("known", "bool", HERE),
        "kind": Slot("kind", "categorical", HERE, values=("a", "B")),
        "size": Slot("size", "float", HERE, min_value=0, max_value=10),
        "all": Slot("all", "list", HERE),
        "note": Slot("note", "any", HERE),
    },
    forms={"form": Form("form", HERE, ("city",))},
    actions={name: Action(name, HERE) for name in ("utter_hi", "utter_answer", "utter_bye", "utter_other")},
)
DIALOGUE = DialogueDomain.from_domain(DOMAIN)


def story(name: str, *steps: str | Step, kind: str = "story", **more: object) -> Story:
    """Make a story: ``"greet"`` is an intent, ``"utter_hi"`` and ``"form"`` are actions."""
    made = tuple(_step(step) if isinstance(step, str) else step for step in steps)
    return Story(name, "rule" if kind == "rule" else "story", made, HERE, **more)  # type: ignore[arg-type]  # test data


def rule(name: str, *steps: str | Step, **more: object) -> Story:
    """Make a rule."""
    return story(name, *steps, kind="rule", **more)


def slot(name: str, value: object) -> SlotWasSetStep:
    """Make a step that sets a slot."""
    return SlotWasSetStep(name, value, HERE)


def loop(name: str | None) -> ActiveLoopStep:
    """Make a step that activates or ends a loop."""
    return ActiveLoopStep(name, HERE)


def _step(word: str) -> Step:
    if word in DOMAIN.intents:
        return UserStep(word, HERE)
    return ActionStep(word, HERE)
