"""Domain files → :class:`~turncheck.project.model.Domain`.

Findings made here: ``schema-violation``, if nothing can be read from a value because of its type. If Rasa considers the
complete domain invalid (a name listed twice, an unknown mapping type …) and continues with an empty one, this reader
reads on.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.messages.finding import Finding, Location
from turncheck.project import model
from turncheck.project.project_file import DOMAIN_KEYS, ProjectFile
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


# The sections of domain files, split into named entries and merged as Rasa merges them, before they are typed.

LIST_SECTIONS: Final = ("intents", "entities", "actions")
MAPPING_SECTIONS: Final = ("forms", "responses", "slots")
_HINT: Final = "See Rasa's documentation of the domain for the shape."


class Entry(NamedTuple):
    """A named entry of a section; ``node`` is the value of the name, ``None`` for a bare name."""

    node: YamlNode | None
    location: Location


class Sections(Struct):
    """What one domain file, or several merged, define: section → name → entry."""

    named: dict[str, dict[str, Entry]] = field(default_factory=dict)
    end_to_end_actions: list[str] = field(default_factory=list)
    session: YamlMapping | None = None


class SchemaFindings:
    """Collects ``schema-violation`` findings while sections are read.

    ``major``: the version of Rasa whose notation applies; ``stores_entities``: for older ones, whether entities fill
    slots.
    """

    def __init__(self, major: int = 3, *, stores_entities: bool = True) -> None:
        self.findings: list[Finding] = []
        self.major = major
        self.stores_entities = stores_entities

    @property
    def is_older(self) -> bool:
        """Whether the notation of an older Rasa applies."""
        return self.major < 3

    def note(self, node: YamlNode, what: str) -> None:
        """Note that ``node`` is not as expected; ``what`` names its place and what was expected."""
        message = f"In '{node.source.path}' {what}."
        self.findings.append(Finding("schema-violation", "error", message, node.location, _HINT))


def split_sections(schema: SchemaFindings, root: YamlMapping) -> Sections:
    """Split one domain file into its named entries; of entries with the same name the first one counts."""
    sections = Sections()
    for key in LIST_SECTIONS:
        entries = sections.named[key] = {}
        for name, entry in _list_entries(schema, key, root.items.get(key)):
            entries.setdefault(name, entry)
    for key in MAPPING_SECTIONS:
        node = root.items.get(key)
        is_list_of_old = schema.is_older and key == "forms" and isinstance(node, YamlSequence)
        sections.named[key] = {} if is_list_of_old else dict(mapping_entries(schema, key, node))
    for node in sequence(schema, root.items.get("e2e_actions"), "'e2e_actions'"):
        if (text := text_of(schema, node, "an entry of 'e2e_actions'")) is not None:
            sections.end_to_end_actions.append(text)
    session = root.items.get("session_config")
    if isinstance(session, YamlMapping):
        sections.session = session
    elif session is not None and not is_nothing(session):
        schema.note(session, "'session_config' must be a mapping")
    return sections


def merge_sections(parts: Iterable[Sections]) -> Sections:
    """Merge domain files in their order, as Rasa does (``Domain.merge_domain_dicts`` without overriding).

    If several files define an entry, the first file's counts; the names in later files come before those that only
    earlier files have. Actions that are forms in an earlier file are left out. End-to-end actions are sorted.
    """
    merged: Sections | None = None
    for part in parts:
        if merged is None:
            merged = part
            continue
        for form in merged.named["forms"]:
            part.named["actions"].pop(form, None)
        for key, entries in merged.named.items():
            merged.named[key] = {**part.named[key], **entries}
        merged.end_to_end_actions = sorted({*merged.end_to_end_actions, *part.end_to_end_actions})
        if _is_default_session(merged.session):
            merged.session = part.session or merged.session
    return merged or Sections({key: {} for key in (*LIST_SECTIONS, *MAPPING_SECTIONS)})


def _is_default_session(session: YamlMapping | None) -> bool:
    default = {"session_expiration_time": 60, "carry_over_slots_to_new_session": True}
    return session is None or session.data == default


def _list_entries(schema: SchemaFindings, key: str, section: YamlNode | None) -> Iterator[tuple[str, Entry]]:
    for item in sequence(schema, section, f"'{key}'"):
        if isinstance(item, YamlMapping):
            for name, node in item.items.items():
                yield str(name), Entry(node, item.key_location(name))
        elif isinstance(item, YamlScalar) and isinstance(item.value, str):
            yield item.value, Entry(None, item.location)
        else:
            schema.note(item, f"an entry of '{key}' must be a name, or a name with its properties")
    if isinstance(section, YamlScalar):
        yield from _bare_names(section)


def mapping_entries(schema: SchemaFindings, key: str, section: YamlNode | None) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a section that maps names to what they define."""
    if section is None or is_nothing(section):
        return
    if not isinstance(section, YamlMapping):
        schema.note(section, f"'{key}' must be a mapping from names to their definitions")
        for node in section.items if isinstance(section, YamlSequence) else [section]:
            yield from _bare_names(node)
        return
    for name, node in section.items.items():
        yield str(name), Entry(node, section.key_location(name))


def _bare_names(node: YamlNode) -> Iterator[tuple[str, Entry]]:
    """Yield the names that stand where their section or its entries should: what uses them is no further fault."""
    if isinstance(node, YamlScalar) and isinstance(node.value, str):
        for name in node.value.split():
            yield name, Entry(None, node.location)


# --- values ----------------------------------------------------------------------------------------------------------


def is_nothing(node: YamlNode | None) -> bool:
    """Whether there is no value: no node, or ``null``."""
    return node is None or (isinstance(node, YamlScalar) and node.value is None)


def sequence(schema: SchemaFindings, node: YamlNode | None, what: str) -> list[YamlNode]:
    """Return the items of a list, empty if there is no value."""
    if isinstance(node, YamlSequence):
        return node.items
    if node is not None and not is_nothing(node):
        schema.note(node, f"{what} must be a list")
    return []


def mapping(schema: SchemaFindings, node: YamlNode | None, what: str) -> dict[Any, YamlNode]:
    """Return the entries of a mapping, empty if there is no value."""
    if isinstance(node, YamlMapping):
        return node.items
    if node is not None and not is_nothing(node):
        schema.note(node, f"{what} must be a mapping")
    return {}


def text_of(schema: SchemaFindings, node: YamlNode | None, what: str) -> str | None:
    """Return a string, ``None`` if there is no value."""
    if isinstance(node, YamlScalar) and isinstance(node.value, str | None):
        return node.value
    if node is not None:
        schema.note(node, f"{what} must be a string")
    return None


def texts_of(schema: SchemaFindings, node: YamlNode | None, what: str) -> tuple[str, ...]:
    """Return the strings of a list, or the single string in place of a list."""
    if isinstance(node, YamlScalar):
        text = text_of(schema, node, what)
        return () if text is None else (text,)
    texts = (text_of(schema, item, f"an entry of {what}") for item in sequence(schema, node, what))
    return tuple(text for text in texts if text is not None)


def number_of(schema: SchemaFindings, node: YamlNode | None, what: str) -> float | None:
    """Return a number, ``None`` if there is no value."""
    if isinstance(node, YamlScalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if node is not None and not is_nothing(node):
        schema.note(node, f"{what} must be a number")
    return None


def truth_of(schema: SchemaFindings, node: YamlNode | None, what: str) -> bool | None:
    """Return ``true`` or ``false``, ``None`` if there is no value."""
    if isinstance(node, YamlScalar) and isinstance(node.value, bool):
        return node.value
    if node is not None and not is_nothing(node):
        schema.note(node, f"{what} must be true or false")
    return None


def domain_from_files(
    files: Sequence[ProjectFile], location: Location, *, major: int = 3
) -> tuple[model.Domain, tuple[Finding, ...]]:
    """Read and merge domain files in their order. ``major``: the version of Rasa that they are written for."""
    schema = SchemaFindings(major)
    if schema.is_older:
        schema.stores_entities = stores_entities(file.mapping for file in files if file.mapping is not None)
    keys = (*DOMAIN_KEYS, "templates") if schema.is_older else DOMAIN_KEYS
    parts = []
    for file in files:
        root = file.document.root if file.document else None
        if isinstance(root, YamlMapping):
            if len(files) == 1 or any(key in root.items for key in keys):
                parts.append(split_sections(schema, root))
                if schema.is_older:
                    with_older_sections(schema, parts[-1], root)
        elif root is not None:
            schema.note(root, "the domain must be a mapping with keys such as intents, slots and responses")
    return _domain(schema, merge_sections(parts), location), tuple(schema.findings)


def read_responses(root: YamlMapping) -> tuple[dict[str, model.Response], tuple[Finding, ...]]:
    """Read the responses that an NLU data file defines."""
    schema = SchemaFindings()
    entries = mapping_entries(schema, "responses", root.items.get("responses"))
    return {name: _response(schema, name, entry) for name, entry in entries}, tuple(schema.findings)


def _domain(schema: SchemaFindings, sections: Sections, location: Location) -> model.Domain:
    named = sections.named
    slots = {name: _slot(schema, name, entry) for name, entry in named["slots"].items()}
    if schema.is_older:
        for form, entry in named["forms"].items():
            _fill_in_form(schema, slots, form, entry)
    entities = {name: _entity(schema, name, entry) for name, entry in named["entities"].items()}
    ignored = tuple(name for name, entity in entities.items() if entity.influence_conversation is False)
    return model.Domain(
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


def _intent(schema: SchemaFindings, name: str, entry: Entry, ignored: tuple[str, ...]) -> model.Intent:
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
    return model.Intent(name, entry.location, use, ignore_entities, triggers)


def _entity(schema: SchemaFindings, name: str, entry: Entry) -> model.Entity:
    what = f"of entity '{name}'"
    items = mapping(schema, entry.node, f"the properties {what}")
    return model.Entity(
        name,
        entry.location,
        roles=texts_of(schema, items.get("roles"), f"'roles' {what}"),
        groups=texts_of(schema, items.get("groups"), f"'groups' {what}"),
        influence_conversation=truth_of(
            schema, items.get("influence_conversation"), f"'influence_conversation' {what}"
        ),
    )


def _slot(schema: SchemaFindings, name: str, entry: Entry) -> model.Slot:
    what = f"of slot '{name}'"
    items = mapping(schema, entry.node, f"the definition {what}")
    values = items.get("values")
    listed = () if values is None or is_nothing(values) else sequence(schema, values, f"'values' {what}")
    mappings = sequence(schema, items.get("mappings"), f"'mappings' {what}")
    initial = items.get("initial_value")
    kind = text_of(schema, items.get("type"), f"'type' {what}") or ""
    read = tuple(_slot_mapping(schema, name, node) for node in mappings if _is_mapping(schema, node, what))
    if schema.is_older:
        kind = slot_type(kind)
        read = read or auto_filled(name, items, entry, stores=schema.stores_entities)
    return model.Slot(
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
        shared_for_coexistence=truth_of(
            schema, items.get("shared_for_coexistence"), f"'shared_for_coexistence' {what}"
        ),
        places=tuple(item.location for item in listed),
    )


def _is_mapping(schema: SchemaFindings, node: YamlNode, what: str) -> bool:
    if isinstance(node, YamlMapping):
        return True
    schema.note(node, f"an entry of 'mappings' {what} must be a mapping with the key 'type'")
    return False


def _slot_mapping(schema: SchemaFindings, slot: str, node: YamlNode) -> model.SlotMapping:
    what = f"of a mapping of slot '{slot}'"
    items = mapping(schema, node, what)

    def text(key: str) -> str | None:
        return text_of(schema, items.get(key), f"'{key}' {what}")

    conditions = []
    for item in sequence(schema, items.get("conditions"), f"'conditions' {what}"):
        condition = mapping(schema, item, f"an entry of 'conditions' {what}")
        active_loop = text_of(schema, condition.get("active_loop"), f"'active_loop' {what}")
        requested_slot = text_of(schema, condition.get("requested_slot"), f"'requested_slot' {what}")
        active_flow = text_of(schema, condition.get("active_flow"), f"'active_flow' {what}")
        conditions.append(model.MappingCondition(active_loop, requested_slot, active_flow))
    value = items.get("value")
    return model.SlotMapping(
        text("type") or "",
        node.location,
        entity=text("entity"),
        role=text("role"),
        group=text("group"),
        intents=texts_of(schema, items.get("intent"), f"'intent' {what}"),
        not_intents=texts_of(schema, items.get("not_intent"), f"'not_intent' {what}"),
        value=None if value is None else value.data,
        action=text("action") or text("run_action_every_turn"),
        conditions=tuple(conditions),
    )


def _fill_in_form(schema: SchemaFindings, slots: dict[str, model.Slot], form: str, entry: Entry) -> None:
    """Add to slots the mappings that a Rasa 2 form has for them, which apply while the form is active."""
    for name, node in form_body(entry.node).items():
        slot = slots.get(name)
        if slot is None:
            continue
        what = f"of slot '{name}' in form '{form}'"
        nodes = [
            yaml_node
            for yaml_node in sequence(schema, node, f"the mappings {what}")
            if _is_mapping(schema, yaml_node, what)
        ]
        slot_mappings = [_slot_mapping(schema, name, one) for one in nodes]
        in_form = (
            replace(
                slot_mapping, conditions=(model.MappingCondition(form, name if slot_mapping.type in ASKED else None),)
            )
            for slot_mapping in slot_mappings
        )
        slots[name] = dataclasses.replace(slot, mappings=(*slot.mappings, *in_form))


def _form(schema: SchemaFindings, name: str, entry: Entry) -> model.Form:
    if schema.is_older and not isinstance(_required(entry), YamlSequence):
        ignored = mapping(schema, entry.node, f"the definition of form '{name}'").get("ignored_intents")
        intents = texts_of(schema, ignored, f"'ignored_intents' of form '{name}'")
        return model.Form(name, entry.location, tuple(form_body(entry.node)), intents)
    items = mapping(schema, entry.node, f"the definition of form '{name}'")
    required = sequence(schema, items.get("required_slots"), f"'required_slots' of form '{name}'")
    named = [(text_of(schema, node, f"an entry of 'required_slots' of form '{name}'"), node) for node in required]
    return model.Form(
        name,
        entry.location,
        required_slots=tuple(slot for slot, _ in named if slot is not None),
        ignored_intents=texts_of(schema, items.get("ignored_intents"), f"'ignored_intents' of form '{name}'"),
        places=tuple(node.location for slot, node in named if slot is not None),
    )


def _required(entry: Entry) -> YamlNode | None:
    return entry.node.items.get("required_slots") if isinstance(entry.node, YamlMapping) else None


def _response(schema: SchemaFindings, name: str, entry: Entry) -> model.Response:
    variations = []
    for node in sequence(schema, entry.node, f"response '{name}'"):
        if isinstance(node, YamlMapping):
            variations.append(model.ResponseVariation(node.data, node.location))
        elif schema.is_older and isinstance(node, YamlScalar) and isinstance(node.value, str):
            variations.append(model.ResponseVariation({"text": node.value}, node.location))
        else:
            schema.note(node, f"a variation of response '{name}' must be a mapping with 'text' or 'custom'")
    return model.Response(name, tuple(variations), entry.location)


def _action(schema: SchemaFindings, name: str, entry: Entry) -> model.Action:
    items = mapping(schema, entry.node, f"the properties of action '{name}'")
    send = truth_of(schema, items.get("send_domain"), f"'send_domain' of action '{name}'")
    return model.Action(name, entry.location, send_domain=bool(send) if items else name.startswith("validate_"))


def _session(schema: SchemaFindings, node: YamlMapping | None) -> model.SessionConfig:
    items = mapping(schema, node, "'session_config'")
    expiration = number_of(schema, items.get("session_expiration_time"), "'session_expiration_time'")
    carry_over = truth_of(schema, items.get("carry_over_slots_to_new_session"), "'carry_over_slots_to_new_session'")
    default = model.SessionConfig(0.0) if node is None and schema.major < 2 else model.SessionConfig()
    return model.SessionConfig(
        default.session_expiration_time if expiration is None else expiration,
        default.carry_over_slots_to_new_session if carry_over is None else carry_over,
    )


# Domains of Rasa 0.x, 1.x and 2.x: what they write differently, converted to the current model.
#
# The differences: ``templates`` for ``responses``, plain strings as variations, ``forms`` as a list or with the
# mappings of their slots, ``unfeaturized`` slots, and slots without mappings, which the entity of the same name fills.

UNFEATURIZED: Final = "unfeaturized"
_OWN_CLASS: Final = re.compile(r"rasa(?:_core|\.core|\.shared\.core)\.slots\.(\w+)Slot")
"""A slot's type as written by Rasa's own exports."""
_TYPES: Final = {"Boolean": "bool", "Unfeaturized": "any"}
ASKED: Final = frozenset({"from_text", "from_intent"})
"""Mappings of a form that fill a slot only while the form requests it."""


def with_older_sections(schema: SchemaFindings, sections: Sections, root: YamlMapping) -> None:
    """Add what one file has in the older notation: templates, which precede responses, and forms as a list."""
    if "templates" in root.items:
        sections.named["responses"] = dict(mapping_entries(schema, "templates", root.items["templates"]))
    forms = root.items.get("forms")
    if isinstance(forms, YamlSequence):
        for item in forms.items:
            if isinstance(item, YamlScalar) and isinstance(item.value, str):
                sections.named["forms"].setdefault(item.value, Entry(None, item.location))
            elif isinstance(item, YamlMapping):
                for name, node in item.items.items():
                    sections.named["forms"].setdefault(str(name), Entry(node, item.key_location(name)))


def slot_type(written: str) -> str:
    """Return the current name of a type, which may be the path of Rasa's class; ``any`` for unfeaturized slots.

    >>> slot_type("rasa.core.slots.BooleanSlot")
    'bool'
    """
    own = _OWN_CLASS.fullmatch(written)
    if own is not None:
        return _TYPES.get(own[1], own[1].lower())
    return "any" if written == UNFEATURIZED else written


def form_body(node: YamlNode | None) -> Mapping[str, YamlNode]:
    """Return the slots of a Rasa 2 form with their mappings, by name; empty if they are only listed, or set in code."""
    if not isinstance(node, YamlMapping):
        return {}
    body = node.items.get("required_slots", node)
    if not isinstance(body, YamlMapping):
        return {}
    return {str(name): mappings for name, mappings in body.items.items() if name != "ignored_intents"}


def stores_entities(roots: Iterable[YamlMapping]) -> bool:
    """Whether entities fill the slots of the same name: they do unless the domain's ``config`` says otherwise."""
    for root in roots:
        config = root.items.get("config")
        stores = config.items.get("store_entities_as_slots") if isinstance(config, YamlMapping) else None
        if isinstance(stores, YamlScalar) and stores.value is False:
            return False
    return True


def auto_filled(
    name: str, items: Mapping[str, YamlNode], entry: Entry, *, stores: bool
) -> tuple[model.SlotMapping, ...]:
    """Return the mapping that fills a slot without mappings from the entity of the same name."""
    fills = items.get("auto_fill")
    if not stores or (isinstance(fills, YamlScalar) and fills.value is False):
        return ()
    return (model.SlotMapping("from_entity", entry.location, entity=name),)
