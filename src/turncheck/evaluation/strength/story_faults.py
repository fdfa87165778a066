"""Faults in stories and rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from turncheck.evaluation.strength.mutant import BY_NAME, Mutant
from turncheck.project.model import (
    ActionStep,
    ActiveLoopStep,
    BotStep,
    CheckpointStep,
    EventStep,
    OrStep,
    SlotWasSetStep,
    UserStep,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.location import Location
    from turncheck.project.model import Project, Step, Story


def story_faults(project: Project) -> Iterator[Mutant]:
    """Yield the project with a fault in one of its stories or rules."""
    for story in (*project.stories, *project.rules):
        name = f"{story.kind} '{story.name}'"

        def mutant(operator: str, what: str, place: Location, new: Story | None, of: Story = story) -> Mutant:
            return Mutant(BY_NAME[operator], what, place, _with(project, of, new), touched_by(of), (place,))

        said = [number for number, step in enumerate(story.steps) if isinstance(step, ActionStep | BotStep)]
        for number, step in enumerate(story.steps):
            if isinstance(step, CheckpointStep | EventStep):
                continue
            rest = (*story.steps[:number], *story.steps[number + 1 :])
            # A story without any action has nothing to learn from, and Rasa does not accept it.
            new = replace(story, steps=rest) if said != [number] else None
            yield mutant("drop-step", f"{name} without {_called(step)}", step.location, new)
        for number in said:
            if number + 1 in said and _called(story.steps[number]) != _called(story.steps[number + 1]):
                one, other = story.steps[number : number + 2]
                swapped = (*story.steps[:number], other, one, *story.steps[number + 2 :])
                what = f"{name} with {_called(other)} before {_called(one)}"
                yield mutant("swap-steps", what, one.location, replace(story, steps=swapped))
        for condition in story.condition:
            kept = tuple(one for one in story.condition if one is not condition)
            what = f"{name} without its condition on {_condition(condition)}"
            yield mutant("drop-rule-condition", what, condition.location, replace(story, condition=kept))
        for number, step in enumerate(story.steps):
            if isinstance(step, SlotWasSetStep) and not step.named_only and (value := _another(step.value)) is not None:
                steps = (*story.steps[:number], replace(step, value=value), *story.steps[number + 1 :])
                what = f"{name} with '{step.slot}' set to '{value}' instead of '{step.value}'"
                yield mutant("rename-slot-value", what, step.location, replace(story, steps=steps))


def touched_by(story: Story) -> frozenset[str]:
    """Return the names of what a story uses, and its own name."""
    names = {f"{story.kind} {story.name}"}
    for step in _opened(story.steps):
        match step:
            case UserStep():
                names.add(f"intent {step.base_intent}")
                names |= {f"entity {entity.entity}" for entity in step.entities}
            case ActionStep():
                names.add(f"action {step.action}")
            case SlotWasSetStep():
                names.add(f"slot {step.slot}")
            case ActiveLoopStep() if step.name:
                names.add(f"form {step.name}")
            case _:
                pass
    return frozenset(names)


def _opened(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, OrStep):
            yield from (part for alternative in step.alternatives for part in alternative)
        else:
            yield step


def _called(step: Step) -> str:
    match step:
        case ActionStep():
            return f"'{step.action}'"
        case UserStep():
            return f"the message '{step.intent or step.text}'"
        case SlotWasSetStep():
            return f"the slot '{step.slot}'"
        case ActiveLoopStep():
            return f"the loop '{step.name}'" if step.name else "the end of the loop"
        case OrStep():
            return "its alternatives"
        case _:
            return f"'{getattr(step, 'text', '')}'"


def _another(value: Any) -> str | bool | None:
    """Return another value for a string or a Boolean; ``None`` for any other value."""
    if isinstance(value, bool):
        return not value
    return f"{value}_x" if isinstance(value, str) and value else None


def _condition(condition: SlotWasSetStep | ActiveLoopStep) -> str:
    return f"the slot '{condition.slot}'" if isinstance(condition, SlotWasSetStep) else "the active loop"


def _with(project: Project, story: Story, new: Story | None) -> Project:
    """Return the project with another story in place of this one, or without it."""
    stories, rules = (
        tuple(kept for one in group if (kept := new if one is story else one) is not None)
        for group in (project.stories, project.rules)
    )
    return replace(project, stories=stories, rules=rules)
