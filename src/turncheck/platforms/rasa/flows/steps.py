"""The structure of flows: where steps lead, which are never reached, loops, and patterns that lost an action."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Name
from turncheck.messages.phrasing import misspelt, suggestion
from turncheck.platforms.rasa.flows import vocabulary
from turncheck.platforms.rasa.flows.model import END, PATTERN
from turncheck.platforms.rasa.flows.walk import endless_flows, is_end, silent_loops, walk_of
from turncheck.validation.facts import UTTER
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.messages.finding import Finding, Location
    from turncheck.platforms.rasa.flows.facts import FlowFacts
    from turncheck.platforms.rasa.flows.model import Flow, Named, Step
    from turncheck.platforms.rasa.flows.walk import Walk

_FLOW_NAME: Final = re.compile(r"\w[\w-]*")


def structure(facts: FlowFacts) -> Iterator[Finding]:
    """All checks of this module."""
    flows = [flow for file in facts.files for flow in file.flows]
    loops = [*_loops(facts)]
    in_loops = {name.name for finding in loops for name in finding.names}
    endless = endless_flows({name: walk_of(flow) for name, flow in facts.flows.items()}) - in_loops
    for flow in flows:
        if not _FLOW_NAME.fullmatch(flow.name):
            message = (
                f"'{flow.name}' is not the name of a flow: it has letters, digits, '_' and '-', and begins with no '-'."
            )
            yield found("flow-name-invalid", message, flow.location, names=(Name("flow", flow.name),))
        undefined = [*_undefined_steps(flow)]
        yield from undefined
        yield from _repeated_ids(flow)
        yield from _open_ends(flow)
        if not undefined:
            yield from _reachability(flow, walk_of(flow))
            if flow.name in endless:
                yield from _without_end(flow)
        yield from _pattern(facts, flow)
    yield from loops


def _targets(step: Step) -> Iterator[Named]:
    if step.next is not None:
        yield step.next
    yield from (branch.step for branch in step.branches if branch.step is not None)


def _undefined_steps(flow: Flow) -> Iterator[Finding]:
    ids = {step.id.name for step in flow.all_steps if step.id is not None}
    for step in flow.all_steps:
        for target in _targets(step):
            if target.name not in ids and not is_end(target.name):
                near = suggestion(target.name, {*ids, END})
                message = f"The flow '{flow.name}' has no step '{target.name}'."
                names = (Name("flow", flow.name), Name("step", target.name))
                yield found("flow-step-undefined", message, target.location, near, names=names)


def _repeated_ids(flow: Flow) -> Iterator[Finding]:
    first: dict[str, Named] = {}
    for step in flow.all_steps:
        if step.id is None:
            continue
        if step.id.name in first:
            message = f"The flow '{flow.name}' has two steps '{step.id.name}'."
            names = (Name("flow", flow.name), Name("step", step.id.name))
            places = (first[step.id.name].location,)
            yield found("flow-step-repeated", message, step.id.location, others=places, names=names)
        elif is_end(step.id.name):
            message = f"'{step.id.name}' is not the name of a step: it stands for the flow's own end or beginning."
            names = (Name("flow", flow.name), Name("step", step.id.name))
            yield found("flow-step-repeated", message, step.id.location, names=names)
        first.setdefault(step.id.name, step.id)


def _open_ends(flow: Flow) -> Iterator[Finding]:
    """Alternatives without ``else``, alternatives that lead nowhere, and steps after a link."""
    for group, nested in _groups(flow):
        for number, step in enumerate(group):
            is_last = number == len(group) - 1
            names = (Name("flow", flow.name),)
            if step.kind == "link" and (step.next is not None or step.branches):
                message = f"A link ends the flow '{flow.name}': its 'next' is never followed."
                yield found("flow-link-not-last", message, step.location, names=names)
            elif step.kind == "link" and not is_last and not _is_named(flow, group[number + 1]):
                message = f"A link ends the flow '{flow.name}': the step after it is never reached."
                others = (group[number + 1].location,)
                yield found("flow-link-not-last", message, step.location, others=others, names=names)
            if nested and is_last and step.kind != "link" and step.next is None and not step.branches:
                message = f"The last step of an alternative in the flow '{flow.name}' has no 'next'."
                yield found("flow-branch-open", message, step.location, names=names)
            conditions = [branch.condition for branch in step.branches]
            if any(conditions) and all(condition is not None for condition in conditions):
                message = f"The alternatives of a step in the flow '{flow.name}' have no 'else'."
                yield found("flow-else-missing", message, step.branches[0].location, names=names)


def _is_named(flow: Flow, step: Step) -> bool:
    """Whether a step has an id that some ``next`` names."""
    return step.id is not None and any(step.id.name == one.name for other in flow.all_steps for one in _targets(other))


def _after_links(flow: Flow) -> set[Location]:
    groups = (group for group, _ in _groups(flow))
    return {step.location for group in groups for before, step in pairwise(group) if before.kind == "link"}


def _groups(flow: Flow) -> Iterator[tuple[tuple[Step, ...], bool]]:
    yield flow.steps, False
    for step in flow.all_steps:
        is_choice = any(branch.condition is not None for branch in step.branches)
        yield from ((branch.steps, is_choice) for branch in step.branches if branch.steps)


def _without_end(flow: Flow) -> Iterator[Finding]:
    message = f"No path through the flow '{flow.name}' leads to its end."
    yield found("flow-without-end", message, flow.location, names=(Name("flow", flow.name),))


def _reachability(flow: Flow, walk: Walk) -> Iterator[Finding]:
    reached = walk.reached
    reported: set[int] = set()
    after_links = _after_links(flow)
    for number, node in enumerate(walk.nodes):
        if number in reached or number in reported:
            continue
        # What only follows from it is never reached either: one finding.
        waiting = [number]
        while waiting:
            one = waiting.pop()
            if one not in reported and one not in reached:
                reported.add(one)
                waiting += walk.nodes[one].following
        step = node.step
        if step.location in after_links and not _is_named(flow, step):
            continue  # the link is to blame
        called = step.id or step.name
        what = f" '{called.name}'" if called else ""
        message = f"The step{what} of the flow '{flow.name}' is never reached."
        names = (Name("flow", flow.name), Name("step", called.name if called else str(number)))
        yield found("flow-step-unreachable", message, step.location, names=names)


def _loops(facts: FlowFacts) -> Iterator[Finding]:
    walks = {name: walk_of(flow) for name, flow in facts.flows.items()}
    for loop in silent_loops(walks):
        steps = [walks[name].nodes[number].step for name, number in loop]
        if _may_change(facts, steps):
            continue
        flows = tuple(dict.fromkeys(name for name, _ in loop))
        where = (
            f"the flow '{flows[0]}'"
            if len(flows) == 1
            else "the flows " + " and ".join(f"'{one}'" for one in flows[:3])
        )
        is_said = any(step.kind == "action" for step in steps)
        does = "says the same again and again" if is_said else "neither says nor asks nor does anything"
        message = f"A loop in {where} {does}: it never ends."
        names = tuple(Name("flow", name) for name in flows)
        places = tuple(step.location for step in steps[1:])
        yield found("flow-endless-loop", message, steps[0].location, others=places, names=names)


def _may_change(facts: FlowFacts, steps: Sequence[Step]) -> bool:
    """Whether a condition in a loop reads a slot that the loop sets, or may do so."""
    set_here = {one.slot.name for step in steps for one in step.assignments}
    conditions = [one for step in steps for one in step.conditions]
    read = {slot for one in conditions for slot in facts.slots_of(one)}
    return bool(set_here) and (bool(set_here & read) or any("{{" in one.text for one in conditions))


def _pattern(facts: FlowFacts, flow: Flow) -> Iterator[Finding]:
    names = (Name("flow", flow.name),)
    if not flow.is_pattern:
        return
    if flow.name not in vocabulary.PATTERNS:
        known = [name.removeprefix(PATTERN) for name in vocabulary.PATTERNS]
        near = misspelt(flow.name.removeprefix(PATTERN), known)
        if near and flow.name not in facts.linked:
            message = f"Rasa has no pattern '{flow.name}', so nothing starts it."
            yield found("flow-pattern-unknown", message, flow.location, f"Did you mean '{PATTERN}{near}'?", names=names)
        return
    actions = {step.name.name for step in flow.all_steps if step.kind == "action" and step.name is not None}
    own = {name for name in actions if not name.startswith(UTTER) and name not in vocabulary.ACTIONS}
    missing = [action for action in vocabulary.PATTERNS[flow.name] if action not in actions]
    if missing and not own and not any(step.kind in {"link", "call"} for step in flow.all_steps):
        message = f"'{flow.name}' overrides Rasa's pattern and lacks its action '{missing[0]}'."
        yield found("flow-pattern-incomplete", message, flow.location, names=(*names, Name("action", missing[0])))
