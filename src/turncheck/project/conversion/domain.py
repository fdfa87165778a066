"""Domains of Rasa 0.x, 1.x and 2.x → that of Rasa 3, and the rules for intents that trigger actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.project.conversion.core import new_action
from turncheck.project.conversion.result import document
from turncheck.project.conversion.yaml_comments import with_yaml_comments
from turncheck.project.conversion.yaml_data import new_response

if TYPE_CHECKING:
    from collections.abc import Collection

    from turncheck.project.conversion.result import Converted
    from turncheck.project.model import Domain, Form, Intent, Slot, SlotMapping
    from turncheck.project.project_file import ProjectFile

RULES_OF_INTENTS: Final = "rules_for_intents.yml"
_OWN_CLASS: Final = "."
_SECTIONS: Final = {"templates": "responses"}


def convert_domain(
    file: ProjectFile, domain: Domain, converted: Converted, *, beside: Collection[str] = frozenset()
) -> None:
    """Convert a domain that was read by the rules of its version.

    ``beside``: the data files, whose responses are converted along with them.
    """
    content: dict[str, Any] = {"version": "3.1"}
    content["session_config"] = {
        "session_expiration_time": domain.session.session_expiration_time,
        "carry_over_slots_to_new_session": domain.session.carry_over_slots_to_new_session,
    }
    sections: dict[str, Any] = {
        "intents": [_intent(one) for one in domain.intents.values()],
        "entities": [_entity(name, domain) for name in domain.entities],
        "slots": {slot.name: _slot(slot, domain, converted) for slot in domain.slots.values()},
        "forms": {form.name: _form(form, converted) for form in domain.forms.values()},
        "responses": {
            new_response(name): [dict(one.content) for one in response.variations]
            for name, response in domain.responses.items()
            if response.location.path not in beside
        },
        "actions": [new_action(name) for name in domain.actions if name not in domain.forms],
    }
    content |= {key: section for key, section in sections.items() if section}
    written = file.source.file_text if file.source is not None else ""
    converted.files["domain.yml"] = with_yaml_comments(document(content), written, _renamed)
    rules = [
        {"rule": f"{intent.name} triggers {intent.triggers}", "steps": _mapped(intent)}
        for intent in domain.intents.values()
        if intent.triggers
    ]
    if rules:
        converted.files[RULES_OF_INTENTS] = document({"version": "3.1", "rules": rules})


def _renamed(path: tuple[str, ...]) -> tuple[str, ...]:
    names = [new_response(new_action(name)) for name in path]
    return (_SECTIONS.get(names[0], names[0]), *names[1:]) if names else ()


def _mapped(intent: Intent) -> list[dict[str, Any]]:
    return [{"intent": intent.name}, {"action": new_action(intent.triggers or "")}]


def _intent(intent: Intent) -> Any:
    options: dict[str, Any] = {}
    if intent.use_entities is not True:
        options["use_entities"] = list(intent.use_entities) if intent.use_entities else []
    if intent.ignore_entities:
        options["ignore_entities"] = list(intent.ignore_entities)
    return {intent.name: options} if options else intent.name


def _entity(name: str, domain: Domain) -> Any:
    entity = domain.entities[name]
    options = {"roles": list(entity.roles), "groups": list(entity.groups)}
    filled = {key: value for key, value in options.items() if value}
    return {name: filled} if filled else name


def _slot(slot: Slot, domain: Domain, converted: Converted) -> dict[str, Any]:
    written: dict[str, Any] = {"type": slot.type}
    if _OWN_CLASS in slot.type:
        what = f"The slot '{slot.name}' is of the class '{slot.type}', which must be ported to Rasa 3."
        converted.note(what, slot.location, "Port its class: features are given as a list since Rasa 2.")
    written["influence_conversation"] = slot.type != "any" and slot.influence_conversation is not False
    optional = {
        "initial_value": slot.initial_value,
        "values": None if slot.values is None else list(slot.values),
        "min_value": slot.min_value,
        "max_value": slot.max_value,
    }
    written |= {key: value for key, value in optional.items() if value is not None}
    mappings = [one for one in slot.mappings if one.entity is None or one.entity in domain.entities]
    written["mappings"] = [_mapping(one) for one in mappings] or [{"type": "custom"}]
    return written


def _mapping(mapping: SlotMapping) -> dict[str, Any]:
    written: dict[str, Any] = {"type": mapping.type}
    optional = {"entity": mapping.entity, "role": mapping.role, "group": mapping.group, "value": mapping.value}
    written |= {key: value for key, value in optional.items() if value is not None}
    written |= {
        key: list(names) for key, names in (("intent", mapping.intents), ("not_intent", mapping.not_intents)) if names
    }
    conditions = [
        {
            key: value
            for key, value in (("active_loop", one.active_loop), ("requested_slot", one.requested_slot))
            if value
        }
        for one in mapping.conditions
    ]
    return {**written, **({"conditions": conditions} if conditions else {})}


def _form(form: Form, converted: Converted) -> dict[str, Any]:
    if not form.required_slots:
        what = (
            f"What the form '{form.name}' asks for is not in the files: it is code of the action server (FormAction)."
        )
        remedy = "List its slots below `required_slots`, and move its checks to a `validate_` action of the SDK 3."
        converted.note(what, form.location, remedy)
    written: dict[str, Any] = {"required_slots": list(form.required_slots)}
    if form.ignored_intents:
        written["ignored_intents"] = list(form.ignored_intents)
    return written
