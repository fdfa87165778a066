"""What Rasa's documentation of flows says is refused in training, beyond names and structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Name
from turncheck.messages.phrasing import suggestion
from turncheck.platforms.rasa.flows import vocabulary
from turncheck.validation.findings import found
from turncheck.yaml_tree.tree import YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding, Location
    from turncheck.platforms.rasa.flows.facts import FlowFacts
    from turncheck.platforms.rasa.flows.model import Flow

_HANDOFF: Final = "pattern_human_handoff"
"""The pattern that flows may link to."""
_LINKS_NOWHERE: Final = "pattern_internal_error"


def refused(facts: FlowFacts) -> Iterator[Finding]:
    """All checks of this module."""
    yield from _questions(facts)
    yield from _links(facts)
    for flow in facts.flows.values():
        yield from _persisted(facts, flow)
    yield from _servers(facts)


def _questions(facts: FlowFacts) -> Iterator[Finding]:
    domain = facts.project.domain
    collected: dict[str, Location] = {}
    for _, step in facts.steps():
        if step.kind == "collect" and step.name is not None:
            collected.setdefault(step.name.name, step.location)
    for slot, location in collected.items():
        response, action = f"utter_ask_{slot}", f"action_ask_{slot}"
        if response in domain.responses and action in domain.actions:
            message = f"Both '{response}' and '{action}' ask for the slot '{slot}'."
            others = (domain.responses[response].location, domain.actions[action].location)
            yield found("flow-question-twice", message, location, others=others, names=(Name("slot", slot),))


def _links(facts: FlowFacts) -> Iterator[Finding]:
    called = {
        step.name.name: flow
        for flow, step in facts.steps()
        if step.kind == "call" and step.name is not None and not step.on_server
    }
    for flow, step in facts.steps():
        if step.name is None or step.kind not in {"link", "call"}:
            continue
        target = step.name.name
        what = ""
        if step.kind == "call" and flow.is_pattern and target in facts.flows:
            what = f"The pattern '{flow.name}' calls the flow '{target}'"
        elif step.kind == "link" and flow.name in called:
            what = f"The flow '{flow.name}' links to '{target}', although '{called[flow.name].name}' calls it"
        elif step.kind == "link" and flow.name == _LINKS_NOWHERE:
            what = f"The pattern '{flow.name}' links to '{target}'"
        elif step.kind == "link" and not flow.is_pattern and target in vocabulary.PATTERNS and target != _HANDOFF:
            what = f"The flow '{flow.name}' links to the pattern '{target}'"
        if what:
            names = (Name("in flow", flow.name), Name("flow", target))
            yield found("flow-link-refused", f"{what}.", step.name.location, names=names)


def _persisted(facts: FlowFacts, flow: Flow) -> Iterator[Finding]:
    filled = _filled(facts, flow)
    for named in flow.persisted:
        if named.name in facts.slots and named.name not in filled:
            message = f"The flow '{flow.name}' persists the slot '{named.name}', and none of its steps fills it."
            names = (Name("flow", flow.name), Name("slot", named.name))
            yield found("flow-persisted-refused", message, named.location, suggestion(named.name, filled), names=names)
    kept = next((step.kept for step in flow.all_steps if step.kept is not None), None)
    if flow.persisted and kept is not None:
        message = f"The flow '{flow.name}' has both 'persisted_slots' and 'reset_after_flow_ends'."
        names = (Name("flow", flow.name), Name("slot", flow.persisted[0].name))
        yield found("flow-persisted-refused", message, kept, others=(flow.persisted[0].location,), names=names)


def _filled(facts: FlowFacts, flow: Flow) -> set[str]:
    """The slots that a flow collects or sets, with those of the flows that it calls, which are like parts of it."""
    filled: set[str] = set()
    seen: set[str] = set()
    waiting = [flow]
    while waiting:
        one = waiting.pop()
        seen.add(one.name)
        for step in one.all_steps:
            filled |= {assignment.slot.name for assignment in step.assignments}
            filled |= {named.name for named in step.fills}
            if step.kind == "collect" and step.name is not None:
                filled.add(step.name.name)
            if step.kind == "call" and step.name is not None and step.name.name in facts.flows.keys() - seen:
                waiting.append(facts.flows[step.name.name])
            for condition in step.exits:  # an agent fills them
                filled |= set(facts.slots_of(condition))
    return filled


def _servers(facts: FlowFacts) -> Iterator[Finding]:
    if not any(file.role == "endpoints" for file in facts.project.files):
        return
    known = set(_configured(facts))
    places: dict[str, tuple[Flow, Location]] = {}
    for flow, step in facts.steps():
        if step.server is not None and not step.server.is_computed:
            places.setdefault(step.server.name, (flow, step.server.location))
    for name, (flow, location) in places.items():
        if name not in known and "${" not in name:
            message = f"The MCP server '{name}', which the flow '{flow.name}' calls, is not in 'endpoints.yml'."
            names = (Name("flow", flow.name), Name("server", name))
            yield found("flow-server-undefined", message, location, suggestion(name, known), names=names)


def _configured(facts: FlowFacts) -> Iterator[str]:
    for file in facts.project.files:
        servers = (
            file.mapping.items.get("mcp_servers") if file.role == "endpoints" and file.mapping is not None else None
        )
        for item in servers.items if isinstance(servers, YamlSequence) else ():
            name = item.at("name")
            if isinstance(name, YamlScalar):
                yield str(name.value)
