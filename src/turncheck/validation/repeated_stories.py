"""Stories and rules that are there twice, or that no dialogue reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Name
from turncheck.project import model
from turncheck.validation.checks import own_check
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from turncheck.validation.facts import Facts

CHECKS: Final = (
    own_check(
        "story-name-duplicate",
        "warning",
        "Two stories or rules have the same name",
        "Reports and conflicts refer to them by name. Rename one.",
        "- story: happy path\n  steps: [{intent: greet}, {action: utter_greet}]\n- story: happy path\n"
        "  steps: [{intent: goodbye}, {action: utter_goodbye}]",
        "- story: happy path\n  steps: [{intent: greet}, {action: utter_greet}]\n- story: a short goodbye\n"
        "  steps: [{intent: goodbye}, {action: utter_goodbye}]",
        needs=("domain",),
        about=("story",),
    ),
    own_check(
        "story-duplicate",
        "warning",
        "Two stories or rules have the same steps",
        "The second teaches nothing. Remove one.",
        "- story: a\n  steps: [{intent: greet}, {action: utter_greet}]\n- story: b\n"
        "  steps: [{intent: greet}, {action: utter_greet}]",
        "- story: a\n  steps: [{intent: greet}, {action: utter_greet}]",
        needs=("domain",),
        about=("story",),
    ),
    own_check(
        "story-unreachable",
        "warning",
        "A story can never begin",
        "It starts with a checkpoint that only unreachable stories end with, or that requires a slot value which no"
        " dialogue has there. Correct the checkpoint's name, or the value.",
        "- story: b\n  steps:\n  - checkpoint: after_b\n  - intent: thank\n  - checkpoint: after_b",
        "- story: b\n  steps:\n  - checkpoint: after_a\n  - intent: thank",
        needs=("domain", "stories"),
        about=("story",),
    ),
)


def check_repeated_stories(facts: Facts) -> Iterator[Finding]:
    """Blocks with the same name, and blocks with the same steps."""
    if facts.dialogues is None:
        return
    names: dict[tuple[str, str], model.Story] = {}
    for block in sorted(facts.blocks, key=lambda story: story.location.sort_key):
        twin = names.setdefault((block.kind, block.name), block)
        if block.name and twin is not block:
            yield found(
                "story-name-duplicate",
                f"The name '{block.name}' is that of another {block.kind}, too ({twin.location}).",
                block.location,
                others=[twin.location],
                about=(Name("story", block.name),),
            )
    contents: dict[Hashable, model.Story] = {}
    for block in facts.blocks:
        twin = contents.setdefault(steps_of(block), block)
        if twin is not block:
            yield found(
                "story-duplicate",
                f"The {block.kind} '{block.name}' has the steps of '{twin.name}' ({twin.location}).",
                block.location,
                others=[twin.location],
                subject=" / ".join(sorted((block.name, twin.name))),
                about=(Name("story", block.name), Name("story", twin.name)),
            )


def check_reachability(facts: Facts) -> Iterator[Finding]:
    """Stories after checkpoints that can never be reached, although some story ends with them.

    Only dialogues with the required slot values pass a checkpoint with conditions.
    """
    if facts.dialogues is None or facts.dialogues.refused is not None:
        return
    trackers = facts.dialogues.trackers
    entries = [(block, *_checkpoints(block)) for block in facts.project.stories]
    produced = {name for _, _, ends in entries for name in ends}
    reached: set[str] = set()
    waiting: dict[str, list[tuple[model.Story, list[str]]]] = {}
    ready = [(block, ends) for block, starts, ends in entries if not starts]
    for block, starts, ends in entries:
        for start in starts:
            if not start.slots or block.location in trackers.begun:
                waiting.setdefault(start.name, []).append((block, ends))
    begun = {id(block) for block, _ in ready}
    while ready:
        _, ends = ready.pop()
        for name in ends:
            if name not in reached:
                reached.add(name)
                for block, more in waiting.get(name, ()):
                    if id(block) not in begun:
                        begun.add(id(block))
                        ready.append((block, more))
    for block, starts, _ in entries:
        if id(block) not in begun and any(start.name in produced for start in starts):
            message, about = f"The {block.kind} '{block.name}' can never begin.", (Name("story", block.name),)
            yield found("story-unreachable", message, block.location, about=about)


def _checkpoints(block: model.Story) -> tuple[list[model.CheckpointStep], list[str]]:
    """The checkpoints a block starts with, and the names of those it ends with (or passes)."""
    starts: list[model.CheckpointStep] = []
    ends: list[str] = []
    begun = False
    for step in block.steps:
        if not isinstance(step, model.CheckpointStep):
            begun = True
        elif begun:
            ends.append(step.name)
        else:
            starts.append(step)
    return starts, ends


def steps_of(block: model.Story, said: Callable[[str], Hashable] = str) -> Hashable:
    """What a block does, without its name and places; texts of user steps with an intent do not count.

    ``said`` turns the other texts into what is compared.
    """
    kind = (block.conversation_start, block.wait_for_user_input) if block.kind == "rule" else ()
    return (
        kind,
        tuple(_step_content(step, said) for step in block.condition),
        tuple(_step_content(step, said) for step in block.steps),
    )


def _step_content(step: model.Step, said: Callable[[str], Hashable]) -> Hashable:
    match step:
        case model.UserStep():
            entities = tuple((e.entity, repr(e.value), e.role, e.group) for e in step.entities)
            return ("user", step.intent if step.intent is not None else said(step.text or ""), entities)
        case model.ActionStep():
            return ("action", step.action)
        case model.BotStep():
            return ("bot", step.text)
        case model.SlotWasSetStep():
            return ("slot", step.slot, repr(step.value), step.named_only)
        case model.ActiveLoopStep():
            return ("loop", step.name)
        case model.EventStep():
            return ("event", step.event, repr(step.parameters))
        case model.CheckpointStep():
            return ("checkpoint", step.name, tuple(_step_content(slot, said) for slot in step.slots))
        case model.OrStep():
            return (
                "or",
                tuple(tuple(_step_content(s, said) for s in alternative) for alternative in step.alternatives),
            )
