"""The story steps as a graph whose edges are checkpoints: in order, and without cycles, as Rasa goes through it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from turncheck.dialogue.story_steps import GENERATED_PREFIX, STORY_START, Checkpoint, StoryStep

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CYCLE_PREFIX: Final = f"{GENERATED_PREFIX}CYCL_"


@dataclass(frozen=True, slots=True)
class StoryGraph:
    """Steps in the order of the files. ``continued``: the checkpoint at which an end inside a cut cycle continues."""

    steps: tuple[StoryStep, ...]
    continued: Mapping[str, str] = field(default_factory=dict)

    def ordered(self) -> list[StoryStep]:
        """Return the steps so that each comes after those that lead to it (except in cycles)."""
        steps = {step.id: step for step in self.steps}
        order, _ = self._sorted()
        return [steps[step_id] for step_id in order]

    def without_cycles(self) -> StoryGraph:
        """Return the graph with each cycle cut: its last step ends in a separate checkpoint, from which it continues
        once."""
        _, cyclic = self._sorted()
        steps = {step.id: step for step in self.steps}
        continued = dict(self.continued)
        overlapping: set[str] = set()
        for number, (source, target) in enumerate(cyclic):
            overlapping |= _cut_cycle(steps, source, target, number, continued)
        _remove_unused(steps, overlapping, continued)
        return StoryGraph(tuple(steps.values()), continued)

    def _sorted(self) -> tuple[list[str], list[tuple[str, str]]]:
        followers: defaultdict[str, list[str]] = defaultdict(list)
        for step in self.steps:
            for start in step.start:
                followers[start.name].append(step.id)
        edges = {step.id: {other for end in step.end for other in followers[end.name]} for step in self.steps}
        return topological_order(edges)


def topological_order(edges: Mapping[str, Iterable[str]]) -> tuple[list[str], list[tuple[str, str]]]:
    """Sort nodes so that each comes before those it leads to; edges that close a cycle are returned separately.

    Depth first from the last node backwards, as Rasa does: nodes that do not depend on each other stay in the order of
    their ids as texts. Without recursion, so that long chains of checkpoints do no harm.
    """
    open_, closed = 0, 1
    seen: dict[str, int] = {}
    backwards: list[str] = []
    cyclic: set[tuple[str, str]] = set()
    for root in sorted(edges, reverse=True):
        if root in seen:
            continue
        seen[root] = open_
        stack = [(root, iter(sorted(edges[root])))]
        while stack:
            node, children = stack[-1]
            for child in children:
                if seen.get(child) == open_:
                    cyclic.add((node, child))
                elif child not in seen:
                    seen[child] = open_
                    stack.append((child, iter(sorted(edges.get(child, ())))))
                    break
            else:
                stack.pop()
                seen[node] = closed
                backwards.append(node)
    return backwards[::-1], sorted(cyclic)


def _cut_cycle(
    steps: dict[str, StoryStep], source: str, target: str, number: int, continued: dict[str, str]
) -> set[str]:
    """Cut the edge from ``source`` to ``target``; return the checkpoints that it was made of."""
    sink, connector, again = (f"{_CYCLE_PREFIX}{part}_{number}" for part in ("SINK", "CONN", "SRC"))
    continued[sink] = again
    shared = {end.name for end in steps[source].end} & {start.name for start in steps[target].start}
    ends = [end for end in steps[source].end if end.name not in shared] + [Checkpoint(sink)]
    steps[source] = replace(steps[source], end=tuple(ends))
    connector_needed = False
    for step_id, step in list(steps.items()):
        additional: list[Checkpoint] = []
        for start in step.start:
            if start.name not in shared:
                continue
            name = again if step_id == target else connector
            connector_needed = connector_needed or name == connector
            checkpoint = Checkpoint(name, start.conditions)
            if checkpoint not in step.start:
                additional.append(checkpoint)
        if additional:
            steps[step_id] = replace(step, start=(*step.start, *additional))
    if connector_needed:
        steps[source] = replace(steps[source], end=(*steps[source].end, Checkpoint(connector)))
    return shared


def _remove_unused(steps: dict[str, StoryStep], overlapping: set[str], continued: Mapping[str, str]) -> None:
    """Remove the checkpoints that cutting left without a partner, and steps that have no other."""
    unused = unused_checkpoints(steps.values(), continued)
    generated = {name for name in unused if name.startswith(GENERATED_PREFIX)}
    for step_id, step in list(steps.items()):
        start = tuple(c for c in step.start if c.name not in unused & overlapping)
        end = tuple(c for c in step.end if c.name not in generated)
        if (step.start and not start) or (step.end and not end):
            del steps[step_id]
        else:
            steps[step_id] = replace(step, start=start, end=end)


def unused_checkpoints(steps: Iterable[StoryStep], continued: Mapping[str, str]) -> set[str]:
    """Return the checkpoints that only begin or only end a step."""
    steps = list(steps)
    starts = {STORY_START} | {start.name for step in steps for start in step.start}
    ends = {STORY_START} | {continued.get(end.name, end.name) for step in steps for end in step.end}
    return starts ^ ends
