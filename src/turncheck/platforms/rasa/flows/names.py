"""Names in flows that nothing defines, and what flows define or the domain has and nothing uses."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Location, Name
from turncheck.messages.phrasing import count, misspelt, suggestion
from turncheck.platforms.rasa.flows import vocabulary
from turncheck.platforms.rasa.flows.model import PATTERN, Named
from turncheck.validation.code import check_code
from turncheck.validation.facts import UTTER
from turncheck.validation.findings import found
from turncheck.validation.references import check_domain, check_responses

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from turncheck.messages.finding import Finding
    from turncheck.platforms.rasa.flows.facts import FlowFacts
    from turncheck.platforms.rasa.flows.model import Flow

_Use = tuple["Flow", "Named"]


def undefined_names(facts: FlowFacts) -> Iterator[Finding]:
    """Flows, actions, responses, slots and intents that flows name, each once for each flow."""
    why = "which does not exist"
    yield from _undefined(facts, "flow", _flows(facts), "leads to the flow", why, facts.flow_names)
    listed = ((flow, one) for flow in _all(facts) for one in flow.digressions if not _may_be_flow(facts, one.name))
    yield from _undefined(facts, "flow", listed, "lists the flow", why, facts.flow_names)
    yield from _of_mappings(facts)
    yield from _actions(facts)
    known = facts.facts.responses | vocabulary.RESPONSES
    said = ((flow, named) for flow, named in _responses(facts) if not facts.has_response(named.name))
    yield from _undefined(facts, "response", said, "says the response", "which the domain does not define", known)
    slots = ((flow, named) for flow, named in _slots(facts) if named.name not in facts.slots)
    yield from _undefined(facts, "slot", slots, "uses the slot", "which the domain does not define", facts.facts.slots)
    intents = facts.facts.intents | facts.facts.nlu_intents.keys() | vocabulary.INTENTS
    triggers = ((flow, one.intent) for flow in _all(facts) for one in flow.triggers if one.intent.name not in intents)
    what = "which the domain does not list"
    yield from _undefined(facts, "intent", triggers, "is started by the intent", what, intents)


def _undefined(  # noqa: PLR0917 - one sentence
    facts: FlowFacts, kind: str, uses: Iterable[_Use], verb: str, why: str, known: Collection[str]
) -> Iterator[Finding]:
    places: dict[tuple[str, str], list[Location]] = defaultdict(list)
    called: dict[str, str] = {}
    for flow, named in uses:
        if not named.is_computed:
            called[flow.name] = flow.what
            places[flow.name, named.name].append(named.location)
    for (flow_name, name), (first, *others) in places.items():
        message = f"The {called[flow_name]} {verb} '{name}', {why}."
        names = (Name("flow", flow_name), Name(kind, name)) if kind != "flow" else (Name(kind, name),)
        about = (Name("in flow", flow_name), Name(kind, name))
        near = facts.meant(kind, name, known)
        yield found(f"flow-{kind}-undefined", message, first, near, others, names=names, about=about)


def _all(facts: FlowFacts) -> Iterator[Flow]:
    return (flow for file in facts.files for flow in file.flows)


def _flows(facts: FlowFacts) -> Iterator[_Use]:
    for flow, step in facts.steps():
        if step.name is None or step.kind not in {"link", "call"} or step.on_server:
            continue
        is_agent = step.kind == "call" and step.name.name in facts.agents
        if not is_agent and not _may_be_flow(facts, step.name.name):
            yield flow, step.name


def _may_be_flow(facts: FlowFacts, name: str) -> bool:
    """Whether there is a flow of this name, or it may be a pattern of a later version."""
    is_pattern = name.startswith(PATTERN) and misspelt(name, vocabulary.PATTERNS) is None
    return is_pattern or name in facts.flow_names


def _of_mappings(facts: FlowFacts) -> Iterator[Finding]:
    """Flows that must be active for a slot to be filled, and actions that fill it after each message."""
    for slot in facts.project.domain.slots.values():
        for mapping in slot.mappings:
            flows = [one.active_flow for one in mapping.conditions if one.active_flow is not None]
            actions = [mapping.action] if mapping.action is not None else []
            for kind, names, known, why in (
                ("flow", flows, facts.flow_names, "which does not exist"),
                ("action", actions, facts.actions, "which the domain does not list"),
            ):
                for name in names:
                    if name not in known:
                        message = f"A mapping of the slot '{slot.name}' needs the {kind} '{name}', {why}."
                        about = (Name("in flow", slot.name), Name(kind, name))
                        near, named = suggestion(name, known), (Name(kind, name),)
                        code = f"flow-{kind}-undefined"
                        yield found(code, message, mapping.location, near, names=named, about=about)


def _actions(facts: FlowFacts) -> Iterator[Finding]:
    named = [(flow, step.name) for flow, step in facts.steps() if step.kind == "action" and step.name is not None]
    named += [(flow, step.collect_action) for flow, step in facts.steps() if step.collect_action is not None]
    uses = [(flow, one) for flow, one in named if not one.name.startswith(UTTER) and one.name not in facts.actions]
    known = facts.facts.actions | facts.facts.responses
    yield from _undefined(facts, "action", uses, "runs the action", "which the domain does not list", known)


def _responses(facts: FlowFacts) -> Iterator[_Use]:
    listed = set(facts.project.domain.actions)
    for flow, step in facts.steps():
        is_said = step.kind == "action" and step.name is not None and step.name.name.startswith(UTTER)
        if is_said and step.name is not None and step.name.name not in listed:
            yield flow, step.name
        if step.utter is not None:
            yield flow, step.utter
        yield from ((flow, one.utter) for one in step.rejections if one.utter is not None)


def _slots(facts: FlowFacts) -> Iterator[_Use]:
    for flow in facts.all_flows:
        yield from ((flow, named) for named in flow.persisted)
        for condition in flow.conditions:
            yield from ((flow, Named(slot, condition.location)) for slot in facts.slots_of(condition))
        for step in flow.all_steps:
            if step.kind == "collect" and step.name is not None:
                yield flow, step.name
            yield from ((flow, one.slot) for one in step.assignments)
            yield from ((flow, named) for named in (*step.reads, *step.fills))


def undefined_in_stories(facts: FlowFacts) -> Iterator[Finding]:
    """What stories, rules and code beside the flows name, as without flows, but for what Rasa Pro brings."""
    known = vocabulary.ACTIONS | vocabulary.RESPONSES | vocabulary.SLOTS
    if not facts.project.domain.is_empty:
        for finding in (*check_domain(facts.facts), *check_responses(facts.facts), *check_code(facts.facts)):
            if finding.code != "response-unused" and not any(name.name in known for name in finding.names):
                is_said = finding.code == "code-name-undefined" and finding.names[0].kind == "response"
                yield _said_by_code(finding) if is_said else finding


def _said_by_code(finding: Finding) -> Finding:
    message = f"Python code says the response '{finding.names[0].name}', which the domain does not define."
    where, others = finding.location, finding.others
    return found("flow-code-response-undefined", message, where, finding.suggestion, others, names=finding.names)


def questions(facts: FlowFacts) -> Iterator[Finding]:
    """Slots that flows collect and that nothing asks for, each once."""
    domain = facts.project.domain
    places: dict[str, list[tuple[Flow, Location]]] = defaultdict(list)
    for flow, step in facts.steps():
        name = step.name
        if step.kind != "collect" or name is None or name.is_computed or name.name in vocabulary.SLOTS:
            continue
        if step.utter is not None or step.collect_action is not None or name.name not in facts.slots:
            continue  # what is missing there is reported as that
        if (known := facts.slot(name.name)) is not None and known.initial_value is not None:
            continue  # as documented for information that is only asked for in passing
        response, action = f"utter_ask_{name.name}", f"action_ask_{name.name}"
        if response not in facts.facts.responses and not {response, action} & set(domain.actions):
            places[name.name].append((flow, name.location))
    for slot, ((flow, first), *others) in places.items():
        message = f"The flow '{flow.name}' collects '{slot}', and nothing asks for it: there is no 'utter_ask_{slot}'."
        near = suggestion(f"utter_ask_{slot}", facts.facts.responses)
        more = tuple(location for _, location in others)
        names = (Name("flow", flow.name), Name("slot", slot))
        yield found("flow-question-missing", message, first, near, more, names=names, about=(Name("slot", slot),))


_LEFT_TO_CODE: Final = "controlled"
"""The mapping that leaves a slot to actions, steps and buttons; `custom` was also filled by models before Rasa 3.12."""


def unfillable(facts: FlowFacts) -> Iterator[Finding]:
    """Slots that flows collect or decide by, and that neither users nor steps, buttons or code can fill."""
    collected: dict[str, tuple[Flow, Named]] = {}
    for flow, named in _slots(facts):
        collected.setdefault(named.name, (flow, named))
    for name, (flow, named) in collected.items():
        slot = facts.slot(name)
        if slot is None or not slot.mappings or name in vocabulary.SLOTS or slot.initial_value is not None:
            continue
        if any(mapping.type != _LEFT_TO_CODE or mapping.action for mapping in slot.mappings):
            continue
        if name in facts.set_slots or _in_code(facts, name) or not facts.has_code:
            continue
        message = f"Nothing can fill the slot '{name}', which the {flow.what} uses."
        names = (Name("slot", name), Name("flow", flow.name))
        about = (Name("slot", name),)
        yield found(
            "flow-slot-never-filled", message, slot.location, others=(named.location,), names=names, about=about
        )


def _in_code(facts: FlowFacts, name: str) -> bool:
    return name in facts.facts.code.quoted


# --- unused ----------------------------------------------------------------------------------------------------------


def unused(facts: FlowFacts) -> Iterator[Finding]:
    """Flows that cannot begin, slots that nothing reads, responses that nothing says."""
    for flow in _all(facts):
        never = flow.guard is not None and (flow.guard.constant is False or flow.guard.text.lower() == "false")
        if never and not flow.triggers and not flow.is_pattern and flow.name not in facts.linked:
            message = f"Nothing starts the flow '{flow.name}': its guard is false, and no step links to it or calls it."
            yield found("flow-unused", message, flow.location, names=(Name("flow", flow.name),))
    yield from _unused_slots(facts)
    yield from _unused_responses(facts)


def _unused_slots(facts: FlowFacts) -> Iterator[Finding]:
    written = facts.set_slots | {use.slot for _, use in facts.facts.slot_steps()}
    in_forms = {slot for form in facts.project.domain.forms.values() for slot in form.required_slots}
    for slot in facts.project.domain.slots.values():
        if slot.name in facts.read_slots | written | in_forms | vocabulary.SLOTS or _in_code(facts, slot.name):
            continue
        if slot.name in facts.in_prompts or slot.influence_conversation or facts.project.stories or facts.project.rules:
            continue
        message = f"Nothing uses the slot '{slot.name}'."
        yield found("flow-slot-unused", message, slot.location, names=(Name("slot", slot.name),))


def _unused_responses(facts: FlowFacts) -> Iterator[Finding]:
    for name in says_nothing(facts):
        message = f"Nothing says the response '{name}'."
        location = facts.project.domain.responses[name].location
        yield found("flow-response-unused", message, location, names=(Name("response", name),))


def says_nothing(facts: FlowFacts) -> Iterator[str]:
    """Yield the responses of the domain that no flow, story, form, policy or code can say."""
    policies = [component.name for component in facts.project.config.policies or ()]
    if any(name.endswith(_SAYS_ANY) for name in policies) or "config" in facts.facts.missing or not facts.has_code:
        return
    of_stories = {step.action for _, step in facts.facts.action_steps()}
    asked = {f"utter_ask_{slot}" for slot in facts.slots} | {f"utter_ask_{form}" for form in facts.facts.forms}
    retrieval = {f"{UTTER}{intent}" for intent in facts.facts.retrieval_intents}
    used = facts.said_by_flows | of_stories | asked | retrieval | vocabulary.RESPONSES
    prefixes = tuple(f"utter_ask_{form}_" for form in facts.facts.forms)
    for name in facts.project.domain.responses:
        base = name.partition("/")[0]
        if {name, base} & used or vocabulary.may_be_built_in(name) or _in_code(facts, name):
            continue
        if not (prefixes and name.startswith(prefixes)) and not _may_be_computed(facts, name):
            yield name


_SAYS_ANY: Final = "IntentlessPolicy"
"""The policy that may say any response."""


def _may_be_computed(facts: FlowFacts, name: str) -> bool:
    """Whether code puts such a name together: what it writes up to what is filled in begins the name."""
    return name.startswith(facts.computed_responses)


# --- the same name, or nearly ----------------------------------------------------------------------------------------


def names_by_case(facts: FlowFacts) -> Iterator[Finding]:
    """Flows, slots, responses and actions whose names only differ by case."""
    domain = facts.project.domain
    kinds: dict[str, dict[str, Location]] = {
        "flow": {flow.name: flow.location for flow in _all(facts)},
        "slot": {name: slot.location for name, slot in domain.slots.items()},
        "response": {name: response.location for name, response in domain.responses.items()},
        "action": {name: action.location for name, action in domain.actions.items()},
    }
    for kind, places in kinds.items():
        groups: dict[str, list[str]] = defaultdict(list)
        for name in places:
            groups[name.lower()].append(name)
        for names in groups.values():
            if len(names) > 1:
                first, second, *_ = sorted(names)
                message = f"The {kind}s '{first}' and '{second}' only differ by upper and lower case."
                about = tuple(Name(kind, name) for name in sorted(names))
                yield found("flow-names-differ-by-case", message, places[second], others=(places[first],), names=about)


def repeated_flows(facts: FlowFacts) -> Iterator[Finding]:
    """Flows of one name in several files, and flows with the same description."""
    first: dict[str, Flow] = {}
    for flow in _all(facts):
        if flow.name in first:
            message = f"There are two flows '{flow.name}'."
            places = (first[flow.name].location,)
            yield found("flow-repeated", message, flow.location, others=places, names=(Name("flow", flow.name),))
        first.setdefault(flow.name, flow)
    described: dict[str, list[Flow]] = defaultdict(list)
    for flow in first.values():
        if not flow.description:
            message = f"The flow '{flow.name}' has no description."
            yield found("flow-description-missing", message, flow.location, names=(Name("flow", flow.name),))
        elif not flow.is_pattern and not (flow.guard is not None and flow.guard.constant is False):
            described[" ".join(flow.description.lower().split())].append(flow)
    for one, *others in described.values():
        if others:
            shown = f"'{others[0].name}'" if len(others) == 1 else count(len(others), "other flow")
            message = f"The flow '{one.name}' has the same description as {shown}."
            about = tuple(Name("flow", flow.name) for flow in (one, *others))
            more = tuple(flow.description_location or flow.location for flow in others)
            location = one.description_location or one.location
            yield found("flow-description-repeated", message, location, others=more, names=about)
