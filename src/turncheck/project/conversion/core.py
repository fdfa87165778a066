"""Stories in Markdown → YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.project.conversion.result import document, with_comments
from turncheck.project.formats.rasa_nlu_writer import annotated
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
from turncheck.project.nlu_data import EntityAnnotation, Example

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.project.conversion.result import Converted
    from turncheck.project.files import DataFile
    from turncheck.project.model import Step, StoryEntity

_RENAMED: Final = {"action_deactivate_form": "action_deactivate_loop"}
_RESPOND: Final = "respond_"
_TEST_PREFIX: Final = "test_"


def convert_core(file: DataFile, converted: Converted) -> None:
    """Convert a file of stories; if its messages have texts, it becomes a file of test stories."""
    source, stories = file.file.source, file.parts.stories
    if source is None or not stories:
        return
    parts = [{"story": story.name, "steps": written_steps(story.steps, converted)} for story in stories]
    is_test = any(isinstance(step, UserStep) and step.text for story in stories for step in story.steps)
    content = with_comments(document({"version": "3.1", "stories": parts}), source.file_text)
    converted.add(file.file.path, content, prefix=_TEST_PREFIX if is_test else "")


def written_steps(steps: Sequence[Step], converted: Converted) -> list[dict[str, Any]]:
    """Return the steps in the YAML of Rasa 3."""
    written: list[dict[str, Any]] = []
    for step in steps:
        match step:
            case UserStep():
                written.append(_message(step))
            case ActionStep():
                written.append({"action": new_action(step.action)})
            case BotStep():
                written.append({"bot": step.text})
            case SlotWasSetStep():
                written.append(_slots([step]))
            case ActiveLoopStep():
                written.append({"active_loop": step.name})
            case CheckpointStep():
                written.append({"checkpoint": step.name, **(_slots(step.slots) if step.slots else {})})
            case OrStep():
                parts = [part for alternative in step.alternatives for part in alternative]
                written.append({"or": [_message(one) if isinstance(one, UserStep) else _slots([one]) for one in parts]})
            case EventStep():
                what = f"The event '{step.event}' is left out: stories of Rasa 3 have none."
                converted.note(what, step.location, "Let a custom action return it.")
    return written


def new_action(name: str) -> str:
    """Return the name of an action since Rasa 2."""
    if name.startswith(_RESPOND):
        return f"utter_{name.removeprefix(_RESPOND)}"
    return _RENAMED.get(name, name)


def _slots(steps: Sequence[SlotWasSetStep]) -> dict[str, Any]:
    return {"slot_was_set": [{one.slot: one.value} for one in steps]}


def _message(step: UserStep) -> dict[str, Any]:
    if step.text is None:
        entities = [_entity(one) for one in step.entities]
        return {"intent": step.intent, **({"entities": entities} if entities else {})}
    return {"user": _written(step, step.text), "intent": step.intent}


def _written(step: UserStep, text: str) -> str:
    if text.startswith("/"):
        return text
    marks = tuple(
        EntityAnnotation(one.start, one.end, one.entity, one.value, one.role, one.group)
        for one in step.entities
        if one.start is not None and one.end is not None
    )
    return annotated(Example(text, step.intent, marks))


def _entity(entity: StoryEntity) -> dict[str, Any]:
    more = {"role": entity.role, "group": entity.group}
    return {**{key: value for key, value in more.items() if value is not None}, entity.entity: entity.value}
