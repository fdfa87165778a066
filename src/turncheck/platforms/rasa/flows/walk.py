"""Which step follows which: the graph of a flow's steps, and of all flows with their links and calls."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.platforms.rasa.flows.model import END, START

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.platforms.rasa.flows.model import Branch, Flow, Step

_ENDS: Final = -1
"""In place of a step: the flow ends."""


class Node(Struct, frozen=True):
    """A step with the numbers of those that may follow; ``ends``: the flow may end after it."""

    step: Step
    following: tuple[int, ...]
    ends: bool
    is_certain: bool
    """Whether one thing follows, whatever the conditions."""


class Walk(Struct, frozen=True):
    """The steps of a flow as a graph; the first one is where the flow begins."""

    nodes: tuple[Node, ...]

    @property
    def reached(self) -> frozenset[int]:
        """The steps that some path from the start leads to."""
        seen: set[int] = set()
        waiting = [0] if self.nodes else []
        while waiting:
            number = waiting.pop()
            if number not in seen:
                seen.add(number)
                waiting += self.nodes[number].following
        return frozenset(seen)

    @property
    def ends(self) -> bool:
        """Whether some path from the start leads to the end."""
        return not self.nodes or any(self.nodes[number].ends for number in self.reached)


def walk_of(flow: Flow) -> Walk:
    """Return the graph of a flow. A ``next`` to nowhere is left out: it is reported, and the flow may go anywhere."""
    steps = list(flow.all_steps)
    numbers = {id(step): number for number, step in enumerate(steps)}
    named = {step.id.name: number for number, step in reversed(list(enumerate(steps))) if step.id is not None}
    nodes: dict[int, Node] = {}

    def connect(group: Sequence[Step], after: int) -> None:
        for step, follower in zip_longest(group, group[1:]):
            default = after if follower is None else numbers[id(follower)]
            targets = [*_targets(step, default, named, numbers)]
            nodes[numbers[id(step)]] = Node(
                step,
                tuple(dict.fromkeys(target for target in targets if target != _ENDS)),
                _ENDS in targets or not targets,
                len(set(targets)) == 1,
            )
            for branch in step.branches:
                connect(branch.steps, _ENDS)

    connect(flow.steps, _ENDS)
    return Walk(tuple(nodes[number] for number in range(len(steps))))


def _targets(step: Step, default: int, named: Mapping[str, int], numbers: Mapping[int, int]) -> Iterator[int]:
    if step.kind == "link":
        yield _ENDS
    elif step.next is not None:
        yield _number(step.next.name, named)
    elif step.branches:
        for branch in step.branches:
            yield _of_branch(branch, named, numbers)
        if all(branch.condition is not None for branch in step.branches):
            yield default
    else:
        yield default


def _of_branch(branch: Branch, named: Mapping[str, int], numbers: Mapping[int, int]) -> int:
    if branch.steps:
        return numbers[id(branch.steps[0])]
    return _ENDS if branch.step is None else _number(branch.step.name, named)


def _number(name: str, named: Mapping[str, int]) -> int:
    return 0 if name == START and name not in named else named.get(name, _ENDS)


def is_end(name: str) -> bool:
    """Whether a name in ``next`` is none of a step."""
    return name in {END, START}


# Loops through several flows.

_SILENT: Final = frozenset({"noop", "set_slots", "link", "call"})
_SAYING: Final = "utter_"
Place = tuple[str, int]
"""A step: its flow, and its number there."""


def silent_loops(walks: Mapping[str, Walk]) -> Iterator[tuple[Place, ...]]:
    """Yield each loop in which nothing is asked or done: steps that only say something or lead on, to flows and back.

    Each is a group of steps, all reachable from one another, in the order of flows and steps.
    """
    silent = _passed_silently(walks)
    edges: dict[Place, list[Place]] = {}
    for name, walk in walks.items():
        for number, node in enumerate(walk.nodes):
            if not _is_idle(node.step):
                continue
            other = _started(node.step, walks)
            targets = [] if other is None else [(other, 0)]
            if node.step.kind not in {"link", "call"} or (node.step.kind == "call" and other in silent):
                targets += [(name, following) for following in node.following]
            edges[name, number] = targets
    for group in _components(edges):
        if len(group) > 1 or group[0] in edges[group[0]]:
            yield tuple(sorted(group))


def _is_idle(step: Step) -> bool:
    """Whether a step changes nothing but what the loop's own ``set_slots`` set, and waits for nobody."""
    is_said = step.kind == "action" and step.name is not None and step.name.name.startswith(_SAYING)
    return is_said or step.kind in _SILENT


def endless_flows(walks: Mapping[str, Walk]) -> frozenset[str]:
    """Return the flows of which no path leads to the end, or only through calls of the flow itself."""
    calls = {name: _called(walk, walks) for name, walk in walks.items()}
    callers: dict[str, list[str]] = {}
    for name, called in calls.items():
        for other in called:
            callers.setdefault(other, []).append(name)
    ending: set[str] = set()
    waiting = list(walks)
    while waiting:
        name = waiting.pop()
        if name not in ending and _may_end(walks[name], walks, ending):
            ending.add(name)
            waiting += callers.get(name, ())
    edges: dict[Place, list[Place]] = {(name, 0): [(other, 0) for other in called] for name, called in calls.items()}
    cycles = (group for group in _components(edges) if len(group) > 1 or group[0] in edges[group[0]])
    calling_themselves = {name for group in cycles for name, _ in group}
    return frozenset(
        name for name in walks if name not in ending and (not walks[name].ends or name in calling_themselves)
    )


def _may_end(walk: Walk, walks: Mapping[str, Walk], ending: set[str]) -> bool:
    seen: set[int] = set()
    waiting = [0] if walk.nodes else []
    while waiting:
        number = waiting.pop()
        node = walk.nodes[number]
        called = _started(node.step, walks) if node.step.kind == "call" else None
        if number in seen or (called is not None and called not in ending):
            continue
        seen.add(number)
        if node.ends:
            return True
        waiting += node.following
    return not walk.nodes


def _called(walk: Walk, walks: Mapping[str, Walk]) -> list[str]:
    """The flows that the steps of a flow call, each once."""
    steps = (node.step for node in walk.nodes if node.step.kind == "call")
    return list(dict.fromkeys(name for step in steps if (name := _started(step, walks)) is not None))


def _started(step: Step, walks: Mapping[str, Walk]) -> str | None:
    """The flow that a step starts, if it is one of the project's; agents and tools are none."""
    name = step.name.name if step.kind in {"link", "call"} and step.name is not None else ""
    return name if name in walks and walks[name].nodes and not step.on_server else None


def _passed_silently(walks: Mapping[str, Walk]) -> set[str]:
    """The flows that may end without having said, asked or done anything."""
    silent: set[str] = set()
    while True:
        found = {name for name, walk in walks.items() if name not in silent and _may_pass(walk, walks, silent)}
        if not found:
            return silent
        silent |= found


def _may_pass(walk: Walk, walks: Mapping[str, Walk], silent: set[str]) -> bool:
    seen: set[int] = set()
    waiting = [0] if walk.nodes else []
    while waiting:
        number = waiting.pop()
        node = walk.nodes[number]
        if number in seen or not _is_idle(node.step):
            continue
        seen.add(number)
        if node.step.kind in {"link", "call"} and _started(node.step, walks) not in silent:
            continue
        if node.ends:
            return True
        waiting += node.following
    return False


def _components(edges: Mapping[Place, Sequence[Place]]) -> Iterator[list[Place]]:
    """Tarjan's strongly connected components, without recursion."""
    index: dict[Place, int] = {}
    low: dict[Place, int] = {}
    on_stack: set[Place] = set()
    stack: list[Place] = []
    for root in edges:
        if root in index:
            continue
        work: list[tuple[Place, int]] = [(root, 0)]
        while work:
            node, place = work.pop()
            if place == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            targets = [target for target in edges[node] if target in edges]
            if place > 0:
                low[node] = min(low[node], low[targets[place - 1]])
            descended = False
            for number in range(place, len(targets)):
                target = targets[number]
                if target not in index:
                    work += ((node, number + 1), (target, 0))
                    descended = True
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            if descended or low[node] != index[node]:
                continue
            group = []
            while True:
                member = stack.pop()
                on_stack.discard(member)
                group.append(member)
                if member == node:
                    break
            yield group
