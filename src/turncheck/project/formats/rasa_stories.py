"""Stories and rules: files with the keys ``stories`` and ``rules`` → :class:`~turncheck.project.model.Story`.

Mirrors what Rasa 3.x does when it loads these files. Findings made here: ``story-name-empty``,
``story-without-steps``, ``step-without-intent``, ``step-without-action``, ``annotation-…`` in user texts, and
``schema-violation`` if nothing can be read from a value because of its type. Everything around a fault is read if
possible. Whether the names that steps use exist is not checked here.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location, Severity
from turncheck.messages.phrasing import suggestion
from turncheck.project import model
from turncheck.project.formats.annotations import AnnotationError, parse_annotations
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_KINDS: Final[tuple[tuple[str, Literal["story", "rule"]], ...]] = (("stories", "story"), ("rules", "rule"))

_INTENT_MESSAGE: Final = re.compile(r"/(?P<intent>[^{@]+)(?:@[0-9.]+)?(?P<entities>\{.+\})?.*")
"""A user text such as ``/inform{"city": "Rome"}``, which Rasa parses instead of sending it through the NLU pipeline."""


class _Findings(Struct):
    notes: list[Finding] = field(default_factory=list)
    checks_keys: bool = False
    """Whether unknown keys of a step are reported here; otherwise the schema of the file reports them."""

    def note(self, code: str, severity: Severity, message: str, location: Location, hint: str = "") -> None:
        self.notes.append(Finding(code, severity, message, location, hint))

    def schema(self, node: YamlNode, what: str, near: str = "", *, location: Location | None = None) -> None:
        message = f"In '{node.source.path}' {what}." + (f" {near}" if near else "")
        hint = "See Rasa's format of stories and rules."
        self.note("schema-violation", "error", message, location or node.location, hint)


def read_rasa_stories(root: YamlMapping, *, checks_keys: bool = False) -> tuple[tuple[model.Story, ...], list[Finding]]:
    """Read the stories of a parsed file, then its rules.

    ``checks_keys``: an unknown key of a step is a fault as well.
    """
    findings = _Findings(checks_keys=checks_keys)
    stories: list[model.Story] = []
    for key, kind in _KINDS:
        stories += _read_section(findings, root.items.get(key), key, kind)
    return tuple(stories), findings.notes


def _read_section(
    findings: _Findings, section: YamlNode | None, key: str, kind: Literal["story", "rule"]
) -> list[model.Story]:
    if section is None or _is_nothing(section):
        return []
    if not isinstance(section, YamlSequence):
        findings.schema(section, f"'{key}' must be a list")
        return []
    stories = []
    for item in section.items:
        if not isinstance(item, YamlMapping):
            findings.schema(item, f"an entry of '{key}' must be a mapping with '{kind}' and 'steps'")
        elif kind in item.items:
            story = _read_story(findings, item, kind)
            if story is not None:
                stories.append(story)
        else:
            findings.schema(item, f"an entry of '{key}' lacks the key '{kind}'")
    return stories


def _read_story(findings: _Findings, item: YamlMapping, kind: Literal["story", "rule"]) -> model.Story | None:
    location = item.key_location(kind)
    path = location.path
    name = _text(findings, item.items[kind], f"the name of a {kind}") or ""
    if not name:
        message = f"A {kind} in '{path}' has an empty name."
        findings.note("story-name-empty", "warning", message, location, f"Give the {kind} a name.")
    steps = _sequence(findings, item.items.get("steps"), f"the steps of {kind} '{name}'")
    if not steps:
        message = f"The {kind} '{name}' in '{path}' has no steps; it is skipped."
        findings.note("story-without-steps", "warning", message, location, f"Add steps, or remove the {kind}.")
        return None
    read = tuple(_read_steps(findings, steps, kind))
    if read and all(isinstance(step, model.CheckpointStep) for step in read):
        message = f"The {kind} '{name}' in '{path}' has only checkpoints: Rasa ignores it."
        findings.note("story-without-steps", "warning", message, location, f"Add steps, or remove the {kind}.")
        return None
    if kind == "story":
        return model.Story(name, kind, read, location)
    condition = _sequence(findings, item.items.get("condition"), f"the condition of rule '{name}'")
    return model.Story(
        name,
        kind,
        read,
        location,
        condition=tuple(
            step
            for step in _read_steps(findings, condition, kind)
            if isinstance(step, model.SlotWasSetStep | model.ActiveLoopStep)
        ),
        conversation_start=bool(_value(item.items.get("conversation_start"))),
        wait_for_user_input=_value(item.items.get("wait_for_user_input")) is not False,
    )


def _read_steps(findings: _Findings, nodes: Sequence[YamlNode], kind: str) -> list[model.Step]:
    steps: list[model.Step] = []
    for node in nodes:
        if not isinstance(node, YamlMapping):
            findings.schema(
                node, f"a step of a {kind} must be a mapping such as 'intent: greet' or 'action: utter_greet'"
            )
            continue
        kind_of_step = next((key for key, _ in _STEP_READERS if key in node.items), None)
        if kind_of_step is not None:
            _check_keys(findings, node, kind_of_step)
            steps += _READERS[kind_of_step](findings, node)
        elif "metadata" not in node.items:
            names = ", ".join(f"'{key}'" for key in node.items) or "nothing"
            if node.items.keys() <= {"entities"}:
                message = (
                    f"A step of a {kind} in '{node.source.path}' holds {names}, which is not a step; it is skipped."
                )
                hint = "Write what the user says or the bot does."
                findings.note("step-unexpected", "warning", message, node.location, hint)
            else:
                near = next((near for key in node.items if (near := suggestion(str(key), _READERS))), "")
                findings.schema(node, f"a step of a {kind} holds {names}, which is not a step", near)
    return steps


def _check_keys(findings: _Findings, node: YamlMapping, kind_of_step: str) -> None:
    if not findings.checks_keys:
        return
    allowed = (kind_of_step, *_KEYS_BESIDE.get(kind_of_step, ()), "metadata")
    for key in node.items:
        if key not in allowed:
            what = f"the key '{key}' is not known beside '{kind_of_step}'"
            findings.schema(node, what, suggestion(str(key), allowed), location=node.key_location(key))


# --- the steps -------------------------------------------------------------------------------------------------------


def _user(findings: _Findings, node: YamlMapping) -> list[model.Step]:
    location = node.key_nodes[0].location
    intent = None
    if "intent" in node.items:
        written = (_text(findings, node.items["intent"], "an intent") or "").strip()
        intent = written.removeprefix("/")
        if intent != written:
            message = f"In '{location.path}' the intent '{written}' begins with a slash; it is read as '{intent}'."
            findings.note("intent-leading-slash", "warning", message, location, "Remove the slash.")
        if not intent and "user" not in node.items and isinstance(node.items["intent"], YamlScalar):
            message = f"A user step in '{location.path}' has an empty intent."
            findings.note("step-without-intent", "warning", message, location, "Name the intent, or remove the step.")
    if "user" not in node.items:
        return [model.UserStep(intent, location, None, tuple(_listed_entities(findings, node.items.get("entities"))))]
    text = (_text(findings, node.items["user"], "the text of a user step") or "").strip()
    try:
        plain, entities = _entities_in_text(text)
    except AnnotationError as error:
        hint = 'Write it like [Rome]{"entity": "city", "role": "to"}, with double quotes inside.'
        findings.note(error.code, "error", f"{error}.", node.items["user"].location, hint)
        plain, entities = text, ()
    return [model.UserStep(intent, location, plain, entities)]


def _entities_in_text(text: str) -> tuple[str, tuple[model.StoryEntity, ...]]:
    plain, annotations = parse_annotations(text)
    if plain.startswith("/"):
        return plain, _entities_in_intent_message(plain)
    return plain, tuple(model.StoryEntity(a.entity, a.value, a.role, a.group, a.start, a.end) for a in annotations)


def _entities_in_intent_message(text: str) -> tuple[model.StoryEntity, ...]:
    match = _INTENT_MESSAGE.fullmatch(text)
    if match is None or match["entities"] is None:
        return ()
    try:
        data = json.loads(match["entities"])
    except (ValueError, RecursionError):
        return ()  # as in Rasa: malformed entities are ignored
    if not isinstance(data, dict):
        return ()
    start, end = match.span("entities")
    return tuple(
        model.StoryEntity(name, value, start=start, end=end)
        for name, values in data.items()
        for value in (values if isinstance(values, list) else [values])
    )


def _listed_entities(findings: _Findings, node: YamlNode | None) -> list[model.StoryEntity]:
    entities = []
    for item in _sequence(findings, node, "the entities of a user step"):
        if isinstance(item, YamlMapping):
            data = item.data
            role, group = data.pop("role", None), data.pop("group", None)
            if data:
                name, value = list(data.items())[-1]  # as in Rasa, which uses the last one
                entities.append(model.StoryEntity(str(name), value, role, group))
        elif isinstance(item, YamlScalar) and isinstance(item.value, str):
            entities.append(model.StoryEntity(item.value, ""))
        else:
            findings.schema(item, "an entity of a user step must be a string or a mapping")
    return entities


def _action(findings: _Findings, node: YamlMapping) -> list[model.Step]:
    name = _text(findings, node.items["action"], "an action")
    location = node.key_location("action")
    if name:
        return [model.ActionStep(name, location)]
    message = f"A step in '{location.path}' has an empty action; it is skipped."
    findings.note("step-without-action", "warning", message, location, "Name the action, or remove the step.")
    return []


def _bot(findings: _Findings, node: YamlMapping) -> list[model.Step]:
    return [model.BotStep(_text(findings, node.items["bot"], "the text of a bot step") or "", node.key_location("bot"))]


def _slots(findings: _Findings, node: YamlMapping) -> list[model.SlotWasSetStep]:
    steps: list[model.SlotWasSetStep] = []
    for item in _sequence(findings, node.items.get("slot_was_set"), "'slot_was_set'"):
        if isinstance(item, YamlMapping):
            steps += (
                model.SlotWasSetStep(str(key), value.data, item.key_location(key)) for key, value in item.items.items()
            )
        elif isinstance(item, YamlScalar) and isinstance(item.value, str):
            steps.append(model.SlotWasSetStep(item.value, None, item.location, named_only=True))
        else:
            findings.schema(item, "an entry of 'slot_was_set' must be a string or a mapping")
    return steps


def _slot_steps(findings: _Findings, node: YamlMapping) -> list[model.Step]:
    return [*_slots(findings, node)]


def _active_loop(findings: _Findings, node: YamlMapping) -> list[model.Step]:
    name = _text(findings, node.items["active_loop"], "the name of a loop")
    return [model.ActiveLoopStep(name, node.key_location("active_loop"))]


def _checkpoint(findings: _Findings, node: YamlMapping) -> list[model.Step]:
    name = _text(findings, node.items["checkpoint"], "the name of a checkpoint") or ""
    slots = _slots(findings, node) if "slot_was_set" in node.items else []
    if any(slot.named_only for slot in slots):
        message = f"The checkpoint '{name}' names a slot without a value; it is skipped."
        findings.note(
            "checkpoint-slot-invalid", "warning", message, node.key_location("checkpoint"), "Write the value."
        )
        return []
    return [model.CheckpointStep(name, node.key_location("checkpoint"), tuple(slots))]


def _or(findings: _Findings, node: YamlMapping) -> list[model.Step]:
    alternatives: list[tuple[model.UserStep | model.SlotWasSetStep, ...]] = []
    for item in _sequence(findings, node.items["or"], "'or'"):
        if isinstance(item, YamlMapping) and "intent" in item.items:
            alternatives.append(tuple(step for step in _user(findings, item) if isinstance(step, model.UserStep)))
        elif isinstance(item, YamlMapping) and "slot_was_set" in item.items:
            alternatives.append(tuple(_slots(findings, item)))
        elif isinstance(item, YamlMapping) and item.items.keys() <= {"user", "entities"}:
            message = (
                f"An alternative of 'or' in '{item.source.path}' names no intent and no slot; the step is skipped."
            )
            findings.note("step-unexpected", "warning", message, item.location, "Name the intent of the alternative.")
            return []
        else:
            findings.schema(item, "an alternative of 'or' must be a mapping with 'intent' or 'slot_was_set'")
    return [model.OrStep(tuple(alternatives), node.key_location("or"))] if alternatives else []


_STEP_READERS: Final[tuple[tuple[str, Callable[[_Findings, YamlMapping], list[model.Step]]], ...]] = (
    ("intent", _user),
    ("user", _user),
    ("or", _or),
    ("action", _action),
    ("bot", _bot),
    ("checkpoint", _checkpoint),
    ("slot_was_set", _slot_steps),
    ("active_loop", _active_loop),
)
"""The first of these keys that a step has decides, in Rasa's order."""
_READERS: Final = dict(_STEP_READERS)
_KEYS_BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "intent": ("user", "entities"),
    "user": ("entities",),
    "checkpoint": ("slot_was_set",),
}
"""The other keys that a step may have, as in Rasa's schema, by the key that decides what it is."""


# --- values ----------------------------------------------------------------------------------------------------------


def _is_nothing(node: YamlNode) -> bool:
    return isinstance(node, YamlScalar) and node.value is None


def _value(node: YamlNode | None) -> Any:
    return node.value if isinstance(node, YamlScalar) else None


def _text(findings: _Findings, node: YamlNode, what: str) -> str | None:
    if isinstance(node, YamlScalar) and isinstance(node.value, str | None):
        return node.value
    findings.schema(node, f"{what} must be a string")
    return str(node.value) if isinstance(node, YamlScalar) else None


def _sequence(findings: _Findings, node: YamlNode | None, what: str) -> list[YamlNode]:
    if node is None or _is_nothing(node):
        return []
    if isinstance(node, YamlSequence):
        return node.items
    findings.schema(node, f"{what} must be a list")
    return []
