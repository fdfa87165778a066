"""Values that steps give to slots, against what the slots can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.messages.finding import Name
from turncheck.messages.phrasing import suggestion
from turncheck.validation.findings import found
from turncheck.validation.slot_values import refused_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.platforms.rasa.flows.facts import FlowFacts


def assigned(facts: FlowFacts) -> Iterator[Finding]:
    """Values of ``set_slots`` that a slot cannot have."""
    for flow, step in facts.steps():
        for one in step.assignments:
            slot = facts.slot(one.slot.name)
            if slot is None or one.value is None or not (listed := refused_value(slot, str(one.value))):
                continue
            shown = str(one.value)[:80]
            message = f"The {flow.what} sets the {slot.type} slot '{slot.name}' to '{shown}', which it cannot have."
            names = (Name("slot", slot.name), Name("flow", flow.name), Name("value", shown))
            near, others = suggestion(shown, listed), (slot.location,)
            yield found("flow-set-value", message, one.slot.location, near, others, names=names)
