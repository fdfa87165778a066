"""Domain files → :class:`~turncheck.project.model.Domain`.

Findings made here: ``schema-violation``, if nothing can be read from a value because of its type. If Rasa considers the
complete domain invalid (a name listed twice, an unknown mapping type …) and continues with an empty one, this reader
reads on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from turncheck.project.formats.rasa_domain_sections import (
    Entry,
    SchemaFindings,
    Sections,
    is_nothing,
    mapping,
    mapping_entries,
    merge_sections,
    number_of,
    sequence,
    split_sections,
    text_of,
    texts_of,
    truth_of,
)
from turncheck.project.model import (
    Action,
    Domain,
    Entity,
    Form,
    Intent,
    MappingCondition,
    Response,
    ResponseVariation,
    SessionConfig,
    Slot,
    SlotMapping,
)
from turncheck.project.project_file import DOMAIN_KEYS
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.project.project_file import ProjectFile


def domain_from_files(
    files: Sequence[ProjectFile], location: Location, *, major: int = 3
) -> tuple[Domain, tuple[Finding, ...]]:
    """Read and merge domain files in their order. ``major``: the version of Rasa that they are written for."""
    schema = SchemaFindings(major)
    if schema.is_older:
        from turncheck.project.formats import older_domain  # most projects are for Rasa 3

        schema.stores_entities = older_domain.stores_entities(
            file.mapping for file in files if file.mapping is not None
        )
    keys = (*DOMAIN_KEYS, "templates") if schema.is_older else DOMAIN_KEYS
    parts = []
    for file in files:
        root = file.document.root if file.document else None
        if isinstance(root, YamlMapping):
            if len(files) == 1 or any(key in root.items for key in keys):
                parts.append(split_sections(schema, root))
                if schema.is_older:
                    from turncheck.project.formats import older_domain  # as above

                    older_domain.with_older_sections(schema, parts[-1], root)
        elif root is not None:
            schema.note(root, "the domain must be a mapping with keys such as intents, slots and responses")
    return _domain(schema, merge_sections(parts), location), tuple(schema.findings)


def read_responses(root: YamlMapping) -> tuple[dict[str, Response], tuple[Finding, ...]]:
    """Read the responses that an NLU data file defines."""
    schema = SchemaFindings()
    entries = mapping_entries(schema, "responses", root.items.get("responses"))
    return {name: _response(schema, name, entry) for name, entry in entries}, tuple(schema.findings)


def _domain(schema: SchemaFindings, sections: Sections, location: Location) -> Domain:
    named = sections.named
    slots = {name: _slot(schema, name, entry) for name, entry in named["slots"].items()}
    if schema.is_older:
        for form, entry in named["forms"].items():
            _fill_in_form(schema, slots, form, entry)
    entities = {name: _entity(schema, name, entry) for name, entry in named["entities"].items()}
    ignored = tuple(name for name, entity in entities.items() if entity.influence_conversation is False)
    return Domain(
        intents={name: _intent(schema, name, entry, ignored) for name, entry in named["intents"].items()},
        entities=entities,
        slots=slots,
        forms={name: _form(schema, name, entry) for name, entry in named["forms"].items()},
        responses={name: _response(schema, name, entry) for name, entry in named["responses"].items()},
        actions={name: _action(schema, name, entry) for name, entry in named["actions"].items()},
        end_to_end_actions=tuple(sections.end_to_end_actions),
        session=_session(schema, sections.session),
        location=location,
        rasa=schema.major,
    )


def _intent(schema: SchemaFindings, name: str, entry: Entry, ignored: tuple[str, ...]) -> Intent:
    what = f"the properties of intent '{name}'"
    items = mapping(schema, entry.node, what)
    use: bool | tuple[str, ...] = True
    node = items.get("use_entities")
    if isinstance(node, YamlScalar) and isinstance(node.value, bool | None):
        use = bool(node.value)
    elif node is not None:
        use = texts_of(schema, node, f"'use_entities' of intent '{name}'") or False
    ignore = items.get("ignore_entities")
    if isinstance(ignore, YamlScalar) and ignore.value is False:
        ignore_entities: tuple[str, ...] = ()
    elif ignore is None:
        ignore_entities = ignored
    else:
        ignore_entities = texts_of(schema, ignore, f"'ignore_entities' of intent '{name}'")
    triggers = text_of(schema, items.get("triggers"), f"'triggers' of intent '{name}'")
    return Intent(name, entry.location, use, ignore_entities, triggers)


def _entity(schema: SchemaFindings, name: str, entry: Entry) -> Entity:
    what = f"of entity '{name}'"
    items = mapping(schema, entry.node, f"the properties {what}")
    return Entity(
        name,
        entry.location,
        roles=texts_of(schema, items.get("roles"), f"'roles' {what}"),
        groups=texts_of(schema, items.get("groups"), f"'groups' {what}"),
        influence_conversation=truth_of(
            schema, items.get("influence_conversation"), f"'influence_conversation' {what}"
        ),
    )


def _slot(schema: SchemaFindings, name: str, entry: Entry) -> Slot:
    what = f"of slot '{name}'"
    items = mapping(schema, entry.node, f"the definition {what}")
    values = items.get("values")
    listed = () if values is None or is_nothing(values) else sequence(schema, values, f"'values' {what}")
    mappings = sequence(schema, items.get("mappings"), f"'mappings' {what}")
    initial = items.get("initial_value")
    kind = text_of(schema, items.get("type"), f"'type' {what}") or ""
    read = tuple(_slot_mapping(schema, name, node) for node in mappings if _is_mapping(schema, node, what))
    if schema.is_older:
        from turncheck.project.formats import older_domain  # most projects are for Rasa 3

        kind = older_domain.slot_type(kind)
        read = read or older_domain.auto_filled(name, items, entry, stores=schema.stores_entities)
    return Slot(
        name,
        kind,
        entry.location,
        mappings=read,
        initial_value=None if initial is None else initial.data,
        influence_conversation=truth_of(
            schema, items.get("influence_conversation"), f"'influence_conversation' {what}"
        ),
        values=None if values is None or is_nothing(values) else tuple(item.data for item in listed),
        min_value=number_of(schema, items.get("min_value"), f"'min_value' {what}"),
        max_value=number_of(schema, items.get("max_value"), f"'max_value' {what}"),
        value_reset_delay=number_of(schema, items.get("value_reset_delay"), f"'value_reset_delay' {what}"),
        places=tuple(item.location for item in listed),
    )


def _is_mapping(schema: SchemaFindings, node: YamlNode, what: str) -> bool:
    if isinstance(node, YamlMapping):
        return True
    schema.note(node, f"an entry of 'mappings' {what} must be a mapping with the key 'type'")
    return False


def _slot_mapping(schema: SchemaFindings, slot: str, node: YamlNode) -> SlotMapping:
    what = f"of a mapping of slot '{slot}'"
    items = mapping(schema, node, what)

    def text(key: str) -> str | None:
        return text_of(schema, items.get(key), f"'{key}' {what}")

    conditions = []
    for item in sequence(schema, items.get("conditions"), f"'conditions' {what}"):
        condition = mapping(schema, item, f"an entry of 'conditions' {what}")
        active_loop = text_of(schema, condition.get("active_loop"), f"'active_loop' {what}")
        requested_slot = text_of(schema, condition.get("requested_slot"), f"'requested_slot' {what}")
        conditions.append(MappingCondition(active_loop, requested_slot))
    value = items.get("value")
    return SlotMapping(
        text("type") or "",
        node.location,
        entity=text("entity"),
        role=text("role"),
        group=text("group"),
        intents=texts_of(schema, items.get("intent"), f"'intent' {what}"),
        not_intents=texts_of(schema, items.get("not_intent"), f"'not_intent' {what}"),
        value=None if value is None else value.data,
        action=text("action"),
        conditions=tuple(conditions),
    )


def _fill_in_form(schema: SchemaFindings, slots: dict[str, Slot], form: str, entry: Entry) -> None:
    """Add to slots the mappings that a Rasa 2 form has for them, which apply while the form is active."""
    from turncheck.project.formats import older_domain  # most projects are for Rasa 3

    for name, node in older_domain.form_body(entry.node).items():
        slot = slots.get(name)
        if slot is None:
            continue
        what = f"of slot '{name}' in form '{form}'"
        nodes = [one for one in sequence(schema, node, f"the mappings {what}") if _is_mapping(schema, one, what)]
        found = [_slot_mapping(schema, name, one) for one in nodes]
        in_form = (
            replace(one, conditions=(MappingCondition(form, name if one.type in older_domain.ASKED else None),))
            for one in found
        )
        slots[name] = replace(slot, mappings=(*slot.mappings, *in_form))


def _form(schema: SchemaFindings, name: str, entry: Entry) -> Form:
    if schema.is_older and not isinstance(_required(entry), YamlSequence):
        from turncheck.project.formats import older_domain  # most projects are for Rasa 3

        ignored = mapping(schema, entry.node, f"the definition of form '{name}'").get("ignored_intents")
        intents = texts_of(schema, ignored, f"'ignored_intents' of form '{name}'")
        return Form(name, entry.location, tuple(older_domain.form_body(entry.node)), intents)
    items = mapping(schema, entry.node, f"the definition of form '{name}'")
    required = sequence(schema, items.get("required_slots"), f"'required_slots' of form '{name}'")
    named = [(text_of(schema, node, f"an entry of 'required_slots' of form '{name}'"), node) for node in required]
    return Form(
        name,
        entry.location,
        required_slots=tuple(slot for slot, _ in named if slot is not None),
        ignored_intents=texts_of(schema, items.get("ignored_intents"), f"'ignored_intents' of form '{name}'"),
        places=tuple(node.location for slot, node in named if slot is not None),
    )


def _required(entry: Entry) -> YamlNode | None:
    return entry.node.items.get("required_slots") if isinstance(entry.node, YamlMapping) else None


def _response(schema: SchemaFindings, name: str, entry: Entry) -> Response:
    variations = []
    for node in sequence(schema, entry.node, f"response '{name}'"):
        if isinstance(node, YamlMapping):
            variations.append(ResponseVariation(node.data, node.location))
        elif schema.is_older and isinstance(node, YamlScalar) and isinstance(node.value, str):
            variations.append(ResponseVariation({"text": node.value}, node.location))
        else:
            schema.note(node, f"a variation of response '{name}' must be a mapping with 'text' or 'custom'")
    return Response(name, tuple(variations), entry.location)


def _action(schema: SchemaFindings, name: str, entry: Entry) -> Action:
    items = mapping(schema, entry.node, f"the properties of action '{name}'")
    send = truth_of(schema, items.get("send_domain"), f"'send_domain' of action '{name}'")
    return Action(name, entry.location, send_domain=bool(send) if items else name.startswith("validate_"))


def _session(schema: SchemaFindings, node: YamlMapping | None) -> SessionConfig:
    items = mapping(schema, node, "'session_config'")
    expiration = number_of(schema, items.get("session_expiration_time"), "'session_expiration_time'")
    carry_over = truth_of(schema, items.get("carry_over_slots_to_new_session"), "'carry_over_slots_to_new_session'")
    default = SessionConfig(0.0) if node is None and schema.major < 2 else SessionConfig()
    return SessionConfig(
        default.session_expiration_time if expiration is None else expiration,
        default.carry_over_slots_to_new_session if carry_over is None else carry_over,
    )
