"""Sentences that somebody has to write: those for intents without test sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.neighbours import find_neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import Strength

_CONFUSABLE: Final = 3
_FAULTS: Final = 3


@dataclass(frozen=True, slots=True)
class SentenceTask:
    """An intent without test sentences.

    ``near``: the sentences of other intents that are nearest to its own, with their intents. ``faults``: the faults in
    its sentences that no test notices.
    """

    intent: str
    near: tuple[tuple[str, str], ...]
    faults: tuple[str, ...] = ()


def sentence_tasks(project: Project, held_out: Sequence[Example], strength: Strength) -> tuple[SentenceTask, ...]:
    """Return the intents without test sentences: those with the most unnoticed faults, then the most confusable."""
    tested = {example.base_intent for example in held_out}
    every = project.nlu.examples
    by_intent: dict[str, list[Example]] = {}
    for example in every:
        if example.base_intent:
            by_intent.setdefault(example.base_intent, []).append(example)
    lost: dict[object, list[str]] = {}
    for one in strength.mutants:
        if one.outcome == "survived" and one.kind == "sentences":
            lost.setdefault((one.location.path, one.location.line), []).append(one.what)
    tasks = []
    for intent, examples in by_intent.items():
        if intent in tested:
            continue
        texts = {number: example.text for number, example in enumerate(examples)}
        found = find_neighbours(every, texts, lambda _, index, own=intent: every[index].base_intent != own)  # type: ignore[misc]
        alike: dict[tuple[str, str], float] = {}
        for index, like in (pair for pairs in found.values() for pair in pairs):
            key = every[index].text, every[index].base_intent or ""
            alike[key] = max(like, alike.get(key, 0.0))
        near = sorted(alike, key=lambda key: (-alike[key], key))[:_CONFUSABLE]
        places = {(example.location.path, example.location.line) for example in examples}
        faults = [what for place, what_is_lost in lost.items() if place in places for what in what_is_lost]
        task = SentenceTask(intent, tuple(near), tuple(faults[:_FAULTS]))
        tasks.append((-len(faults), -alike[near[0]] if near else 0.0, intent, task))
    return tuple(task for *_, task in sorted(tasks, key=lambda one: one[:3]))
