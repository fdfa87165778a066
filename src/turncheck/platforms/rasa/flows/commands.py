"""Commands in buttons, and in the messages of tests: slots, values and flows that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.messages.finding import Name
from turncheck.messages.phrasing import suggestion
from turncheck.validation.findings import found
from turncheck.validation.payloads import check_buttons
from turncheck.validation.slot_values import refused_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding, Location
    from turncheck.platforms.rasa.flows.facts import FlowFacts
    from turncheck.platforms.rasa.flows.payloads import Payload


def buttons(facts: FlowFacts) -> Iterator[Finding]:
    """Payloads of buttons: commands, and the intents of an assistant that has some."""
    for button in facts.buttons:
        where = f"The payload '{button.text}' of a button of '{button.response}'"
        yield from of_payload(facts, button.payload, where, button.location, Name("payload", button.text))
    commands = {button.location for button in facts.buttons}
    if facts.project.domain.intents:
        yield from (finding for finding in check_buttons(facts.facts) if finding.location not in commands)


def of_payload(facts: FlowFacts, payload: Payload, where: str, location: Location, about: Name) -> Iterator[Finding]:
    """Yield what is wrong with a command."""
    if payload.fault:
        yield found("flow-payload-invalid", f"{where} cannot be read: {payload.fault}.", location, about=(about,))
    for name, value in payload.slots:
        slot = facts.slot(name)
        if slot is None and name not in facts.slots:
            message = f"{where} sets the slot '{name}', which the domain does not define."
            near = facts.meant("slot", name, facts.facts.slots)
            names = (about, Name("slot", name))
            yield found("flow-payload-undefined", message, location, near, names=names)
        elif slot is not None and (listed := refused_value(slot, value)):
            message = f"{where} sets the slot '{name}' to '{value}', which is none of its values."
            near = suggestion(value, listed)
            named = (about, Name("slot", name), Name("value", value))
            yield found("flow-payload-value", message, location, near, (slot.location,), names=named)
    for flow in payload.flows:
        if flow not in facts.flow_names:
            message = f"{where} starts the flow '{flow}', which does not exist."
            names = (about, Name("flow", flow))
            near = facts.meant("flow", flow, facts.flow_names)
            yield found("flow-payload-undefined", message, location, near, names=names)
