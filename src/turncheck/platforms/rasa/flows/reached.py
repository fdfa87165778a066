"""The steps of flows one by one: what each is known by, what is in it, and whether a test reaches it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from turncheck.platforms.rasa.flows.walk import walk_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from turncheck.messages.finding import Location
    from turncheck.platforms.rasa.flows.model import Flow, Step
    from turncheck.platforms.rasa.flows.walk import Walk


class ReachedStep(NamedTuple):
    """A step: ``name`` is its flow and its id, or what it does with what; ``content`` is without nested steps."""

    name: str
    location: Location
    content: Any
    covered: bool


def keys_of(step: Step) -> tuple[tuple[str, str], ...]:
    """Return what a test may name of a step; nothing for steps that nobody sees."""
    if step.kind == "set_slots":
        return tuple(("slot", one.slot.name) for one in step.assignments)
    if step.name is None:
        return ()
    name = step.name.name
    if step.kind == "collect":
        asked = step.utter.name if step.utter is not None else f"utter_ask_{name}"
        return ("response", asked), ("action", f"action_ask_{name}"), ("slot", name)
    if step.kind == "action":
        return (("response", name), ("action", name))
    return (("flow", name),) if step.kind in {"link", "call"} else ()


def named_steps(flows: Iterable[Flow], named: Collection[tuple[str, str]]) -> Iterator[ReachedStep]:
    """Yield the steps; reached are those of which a test names something, and those that only lead to one of them."""
    for flow in flows:
        walk = walk_of(flow)
        yield from _steps(flow, walk, [any(key in named for key in keys_of(node.step)) for node in walk.nodes])


def walked_steps(flows: Iterable[Flow], walked: Mapping[str, Sequence[str]]) -> Iterator[ReachedStep]:
    """Yield the steps; reached are those that conversations walked (``EndToEnd.exercised``).

    Rasa gives a step without an id one that begins with its place in the flow.
    """
    stacked = {reached.partition("::")[::2] for reached in walked.get("flow_steps", ())}
    kinds = {"response": ("responses", "actions"), "action": ("actions",), "slot": ("slots",), "flow": ("flows",)}
    happened = {(kind, name) for kind, names in kinds.items() for of in names for name in walked.get(of, ())}
    for flow in flows:
        walk = walk_of(flow)
        is_started = flow.name in walked.get("flows", ())
        reached = [
            any(_is(step_id, number, node.step) for name, step_id in stacked if name == flow.name)
            or (is_started and any(key in happened for key in keys_of(node.step)))
            for number, node in enumerate(walk.nodes)
        ]
        yield from _steps(flow, walk, reached)


def _is(step_id: str, number: int, step: Step) -> bool:
    return step_id == step.id.name if step.id is not None else step_id.startswith(f"{number}_")


def _steps(flow: Flow, walk: Walk, reached: list[bool]) -> Iterator[ReachedStep]:
    seen: Counter[str] = Counter()
    for number, node in enumerate(walk.nodes):
        step = node.step
        what = step.id.name if step.id is not None else " ".join([step.kind, *_objects(step)])
        seen[what] += 1
        name = f"{flow.name}: {what}" if seen[what] == 1 else f"{flow.name}: {what} ({seen[what]})"
        branches = tuple(
            replace(branch, steps=branch.steps[:1] and (_bare(branch.steps[0]),)) for branch in step.branches
        )
        content = (replace(step, branches=branches, kept=None), step.kept is not None)
        yield ReachedStep(name, step.location, content, reached[number] or _leads_to_reached(walk, number, reached))


def _objects(step: Step) -> list[str]:
    return [one.slot.name for one in step.assignments] if step.name is None else [step.name.name]


def _bare(step: Step) -> Step:
    """A step by only its kind and what that names."""
    return type(step)(step.kind, step.location, step.name, step.id)


def _leads_to_reached(walk: Walk, number: int, reached: Sequence[bool]) -> bool:
    """Whether a step that nobody sees is followed by one that is reached."""
    seen: set[int] = set()
    waiting = [number]
    while waiting:
        one = waiting.pop()
        if reached[one]:
            return True
        if one not in seen and not keys_of(walk.nodes[one].step):
            seen.add(one)
            waiting += walk.nodes[one].following
    return False
