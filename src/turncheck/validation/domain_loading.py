"""What Rasa refuses or warns about while it loads the domain: each fault of each file, found in the file as written.

Rasa stops at the first of them, which :mod:`.loading` determines. Here all are found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.domain import DEFAULT_ACTIONS, SLOT_SESSION_METADATA
from turncheck.messages.finding import Name
from turncheck.messages.phrasing import misspelt, suggestion
from turncheck.project.testfiles import defines_class
from turncheck.validation.checks import emptying_check, error_check, warning_check
from turncheck.validation.findings import found
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence
from turncheck.yaml_tree.unquoted import rasa_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from turncheck.messages.finding import Finding, Location


CHECKS: Final = (
    emptying_check(
        "intent-duplicate",
        "An intent is listed twice in the domain",
        "Remove one of the two.",
        position=5,
        about=("place",),
    ),
    emptying_check(
        "action-duplicate",
        "An action is listed twice in the domain",
        "Remove one of the two. Forms and default actions count as actions too.",
        position=7,
        about=("place",),
    ),
    emptying_check(
        "slot-duplicate",
        "A slot is defined twice in the domain",
        "Remove or rename one of the two.",
        position=8,
        about=("place",),
    ),
    emptying_check(
        "entity-duplicate",
        "An entity is listed twice in the domain",
        "Remove one of the two.",
        position=9,
        about=("place",),
    ),
    emptying_check(
        "intent-trailing-colon",
        "An intent of the domain is followed by a colon and nothing else",
        "Remove the colon, or write `use_entities` or `ignore_entities` below it.",
        position=4,
        about=("place",),
    ),
    emptying_check(
        "entity-trailing-colon",
        "An entity of the domain is followed by a colon and nothing else",
        "Remove the colon, or write `roles`, `groups` or `influence_conversation` below it.",
        position=3,
        about=("place",),
    ),
    emptying_check(
        "trigger-action-undefined",
        "The `triggers` key of an intent names an unknown action",
        "The key is from Rasa 1 and was removed. Write a rule instead.",
        position=10,
        about=("intent", "action"),
    ),
    emptying_check(
        "mapping-malformed",
        "A slot mapping is not a mapping of keys",
        "Write `- type: from_entity` and so on.",
        about=("place",),
    ),
    emptying_check(
        "mapping-type-unknown",
        "A slot mapping has an unknown type",
        "Known are `from_entity`, `from_intent`, `from_trigger_intent`, `from_text` and `custom`.",
        about=("place",),
    ),
    emptying_check(
        "mapping-key-missing",
        "A slot mapping lacks a key that its type needs",
        "`from_entity` needs `entity`; `from_intent` and `from_trigger_intent` need `value`.",
        about=("place",),
    ),
    emptying_check(
        "form-malformed",
        "The forms of the domain are not written as mappings",
        "Write the form's name, and below it `required_slots` with a list.",
        position=2,
        about=("place",),
    ),
    emptying_check(
        "form-without-required-slots",
        "A form has `ignored_intents` but no `required_slots`",
        "Add `required_slots`, at least as an empty list.",
        position=2,
        about=("place",),
    ),
    error_check(
        "slot-type-unknown",
        "load",
        "A slot has an unknown type",
        "Known are `text`, `bool`, `categorical`, `float`, `list` and `any`. A custom class is named by its module path"
        " and must be importable where Rasa runs.",
        then="stops",
        position=1,
        about=("place",),
    ),
    error_check(
        "slot-key-unknown",
        "load",
        "A slot has a key that its type does not know",
        "Rasa 3.6 ends with a traceback here. Remove the key or correct its spelling; `values` belongs to categorical"
        " slots, `min_value` and `max_value` to float slots.",
        then="stops",
        position=1,
        about=("place",),
    ),
    error_check(
        "slot-range-invalid",
        "load",
        "The minimum of a float slot is not below its maximum",
        "Without keys the range is 0 to 1. Set `min_value` and `max_value`.",
        then="stops",
        position=1,
        about=("place",),
    ),
    error_check(
        "section-empty",
        "load",
        "A section of the domain is empty",
        "Rasa 3.6 ends with a traceback here. Remove the key, or write an empty list: `intents: []`.",
        then="stops",
        position=6,
        about=("place",),
    ),
    error_check(
        "intent-malformed",
        "load",
        "The properties of an intent are not written as a mapping, or its entities not as a list",
        "Rasa 3.6 ends with a traceback here. Write `use_entities` or `ignore_entities` below the intent, or only its"
        " name.",
        then="stops",
        position=4,
        about=("place",),
    ),
    error_check(
        "entity-malformed",
        "load",
        "The roles or groups of an entity are not written as a list",
        "Rasa 3.6 ends with a traceback here. Write a list, or remove the key.",
        then="stops",
        position=4,
        about=("place",),
    ),
    error_check(
        "name-not-text",
        "load",
        "A name in the domain is not a string",
        "A number, a date or a Boolean cannot be compared with the other names, and Rasa 3.6 ends with a traceback."
        " Put it in quotes.",
        then="stops",
        position=4,
        about=("place",),
    ),
    error_check(
        "slot-any-influences",
        "load",
        "A slot of type `any` is set to influence the conversation",
        "It cannot; Rasa refuses to load the domain. Remove `influence_conversation`, or use another type.",
        then="stops",
        position=1,
        about=("place",),
    ),
    warning_check(
        "slot-initial-value-outside",
        "load",
        "The initial value of a float slot is outside its range",
        "Correct the value, or set `min_value` and `max_value`.",
        about=("place",),
    ),
    warning_check(
        "slot-value-null",
        "load",
        "A categorical slot lists `null` as a value",
        'It is left out, since `null` means “not set”. Write `"null"` in quotes, or another word.',
        about=("place",),
    ),
    warning_check(
        "entity-used-and-ignored",
        "load",
        "An intent uses and ignores the same entity",
        "Ignoring wins. Remove the entity from `use_entities` or from `ignore_entities`.",
        position=4,
        about=("place",),
    ),
)


MAPPING_KEYS = {
    "from_entity": ("entity",),
    "from_intent": ("value",),
    "from_trigger_intent": ("value",),
    "from_text": (),
    "custom": (),
}
"""The types of slot mappings, and the keys that each needs."""
_MAPPINGS_OF_PRO: Final = {**MAPPING_KEYS, "from_llm": (), "controlled": ()}
"""The additional ones of Rasa Pro, which runs CALM assistants."""

_SLOT_KEYS = frozenset({"type", "mappings", "initial_value", "value_reset_delay", "influence_conversation"})
SLOT_TYPES = {
    "text": _SLOT_KEYS,
    "bool": _SLOT_KEYS,
    "list": _SLOT_KEYS,
    "any": _SLOT_KEYS,
    "categorical": _SLOT_KEYS | {"values"},
    "float": _SLOT_KEYS | {"min_value", "max_value"},
}
"""The slot types, and the keys that each knows."""
_SLOT_CLASSES: Final = {
    f"rasa.shared.core.slots.{name}Slot": kind
    for name, kind in {"Text": "text", "Boolean": "bool", "List": "list", "Any": "any"}.items()
    | {"Categorical": "categorical", "Float": "float"}.items()
}
"""Rasa's own classes for them, which may also be used as the type's name."""

Named = tuple[str, "YamlNode | None", "Location"]


def check_domain_file(root: YamlMapping, project: Path, *, is_calm: bool) -> Iterator[Finding]:
    """All faults of one domain file that its schema accepts.

    Args:
        root: the file's content.
        project: the folder with the project's own slot classes, if there are any.
        is_calm: whether Rasa Pro reads the file, whose slots have more mapping types and more keys.
    """
    yield from _empty_sections(root)
    yield from _names_of_other_types(root)
    yield from _slots(root, project, is_calm=is_calm)
    yield from _forms(root)
    yield from _entities(root)
    yield from _intents(root)
    yield from _repeated_names(root)
    yield from _triggers(root)


def _empty_sections(root: YamlMapping) -> Iterator[Finding]:
    for key in ("intents", "entities", "actions"):
        node = root.items.get(key)
        if isinstance(node, YamlScalar) and node.value is None:
            yield found("section-empty", f"There is nothing below the key '{key}'.", root.key_location(key))
        for item in node.items if isinstance(node, YamlSequence) else ():
            if _is_nothing(item):
                yield found("section-empty", f"An entry of '{key}' is empty.", item.location)


def _names_of_other_types(root: YamlMapping) -> Iterator[Finding]:
    """Names that Rasa cannot compare with others, since they are not strings; those that its schema accepts."""
    for section in ("intents", "entities", "forms", "responses"):
        node = root.items.get(section)
        for mapping in node.items if isinstance(node, YamlSequence) else (node,):
            if not isinstance(mapping, YamlMapping):
                continue
            for key, written in mapping.keys.items():
                if not isinstance(key, str) or rasa_value(written) in {"date", "number"}:
                    yield found(
                        "name-not-text", f"The name '{key}' below '{section}' is not a string.", written.location
                    )
    texts = root.items.get("e2e_actions")
    if isinstance(texts, YamlSequence):
        for item in texts.items:
            if not isinstance(item.data, str):
                yield found("name-not-text", "An entry of 'e2e_actions' is not a string.", item.location)
    elif texts is not None and not _is_nothing(texts):
        yield found("name-not-text", "The 'e2e_actions' are not a list of strings.", root.key_location("e2e_actions"))


def _slots(root: YamlMapping, project: Path, *, is_calm: bool) -> Iterator[Finding]:
    for name, node, location in _named(root.items.get("slots")):
        if not isinstance(node, YamlMapping):
            continue
        mappings = node.items.get("mappings")
        if mappings is not None and _is_nothing(mappings):
            message = f"There is nothing below 'mappings' of the slot '{name}'."
            yield found("section-empty", message, node.key_location("mappings"))
        for mapping in mappings.items if isinstance(mappings, YamlSequence) else ():
            yield from _mapping(name, mapping, _MAPPINGS_OF_PRO if is_calm else MAPPING_KEYS)
        yield from _slot(name, node, location, project, is_calm=is_calm)


def _mapping(slot: str, node: YamlNode, known: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    if not isinstance(node, YamlMapping):
        yield found("mapping-malformed", f"A mapping of the slot '{slot}' is not a mapping of keys.", node.location)
        return
    written = _value(node.items.get("type"))
    kind = "None" if written is None else str(written)
    if kind not in known:
        yield found(
            "mapping-type-unknown",
            f"The slot '{slot}' has a mapping of the unknown type '{kind}'.",
            node.location,
            suggestion(kind, known),
        )
        return
    for key in known[kind]:
        value = node.items.get(key)
        if value is None or (isinstance(value, YamlScalar) and value.value is None):
            yield found(
                "mapping-key-missing", f"A mapping of the slot '{slot}' of type '{kind}' lacks '{key}'.", node.location
            )


def _slot(name: str, node: YamlMapping, location: Location, project: Path, *, is_calm: bool) -> Iterator[Finding]:
    written = str(_value(node.items.get("type")))
    kind = _SLOT_CLASSES.get(written, written)
    if kind not in SLOT_TYPES:
        if not defines_class(project, kind):
            yield found(
                "slot-type-unknown",
                f"The slot '{name}' has the unknown type '{kind}'.",
                location,
                suggestion(kind, SLOT_TYPES),
            )
        return
    for key in node.items:
        if key not in SLOT_TYPES[kind] and (not is_calm or _is_misspelt(str(key), SLOT_TYPES[kind])):
            yield found(
                "slot-key-unknown",
                f"The slot '{name}' has the key '{key}', which slots of type '{kind}' do not know.",
                node.key_location(key),
                suggestion(str(key), SLOT_TYPES[kind]),
            )
    if kind == "float":
        yield from _range(name, node, location)
    values = node.items.get("values")
    if kind == "categorical" and isinstance(values, YamlSequence) and any(_is_nothing(item) for item in values.items):
        yield found(
            "slot-value-null", f"The slot '{name}' lists null as a value, which stands for “not set”.", location
        )
    if kind == "any" and _value(node.items.get("influence_conversation")) is True:
        yield found(
            "slot-any-influences",
            f"The slot '{name}' of type 'any' cannot influence the conversation.",
            node.key_location("influence_conversation"),
        )


_SLOT_KEYS_OF_PRO: Final = frozenset({"validation", "shared_for_coexistence", "description"})


def _is_misspelt(key: str, known: Collection[str]) -> bool:
    """Whether a key of Rasa Pro, which may have more, is like a known one."""
    return misspelt(key, {*known, *_SLOT_KEYS_OF_PRO}) is not None


def _range(name: str, node: YamlMapping, location: Location) -> Iterator[Finding]:
    """Rasa compares the values as written, also two strings, and stops if they cannot be compared."""
    least = _data(node.items.get("min_value")) if "min_value" in node.items else 0.0
    most = _data(node.items.get("max_value")) if "max_value" in node.items else 1.0
    initial = _data(node.items.get("initial_value"))
    try:
        is_invalid = least >= most
        is_outside = not is_invalid and initial is not None and not least <= initial <= most
    except TypeError:
        is_invalid, is_outside = True, False
    if is_invalid:
        starts = "" if initial is None else f", and starts with {initial}"
        yield found(
            "slot-range-invalid", f"The range of the slot '{name}' goes from {least} to {most}{starts}.", location
        )
    elif is_outside:
        message = f"The initial value {initial} of the slot '{name}' is outside its range from {least} to {most}."
        yield found("slot-initial-value-outside", message, node.key_location("initial_value"))


def _forms(root: YamlMapping) -> Iterator[Finding]:
    section = root.items.get("forms")
    if section is not None and not isinstance(section, YamlMapping):
        yield found("form-malformed", "The forms are not written as a mapping.", root.key_location("forms"))
    for name, node, location in _named(section):
        if isinstance(node, YamlMapping):
            if "ignored_intents" in node.items and "required_slots" not in node.items:
                yield found(
                    "form-without-required-slots",
                    f"The form '{name}' has 'ignored_intents' but no 'required_slots'.",
                    location,
                )
        elif not _is_nothing(node):
            yield found("form-malformed", f"The content of the form '{name}' is not a mapping of keys.", location)


def _entities(root: YamlMapping) -> Iterator[Finding]:
    for name, node, location in _listed(root.items.get("entities")):
        if node is not None and _is_empty(node):
            yield found("entity-trailing-colon", f"There is nothing after the colon of the entity '{name}'.", location)
        for key in ("roles", "groups"):
            if isinstance(node, YamlMapping) and key in node.items and not _is_iterable(node.items[key]):
                yield found("entity-malformed", f"The '{key}' of the entity '{name}' are not a list.", location)


def _intents(root: YamlMapping) -> Iterator[Finding]:
    roles = {
        name: [f"{name}#{label}" for key in ("roles", "groups") for label in _texts(node.items.get(key))]
        for name, node, _ in _listed(root.items.get("entities"))
        if isinstance(node, YamlMapping)
    }
    default = [
        name
        for name, node, _ in _listed(root.items.get("entities"))
        if isinstance(node, YamlMapping) and _value(node.items.get("influence_conversation")) is False
    ]
    for name, node, location in _listed(root.items.get("intents"), first_only=True):
        if node is None:
            continue
        if _is_empty(node):
            yield found("intent-trailing-colon", f"There is nothing after the colon of the intent '{name}'.", location)
        elif not isinstance(node, YamlMapping):
            yield found(
                "intent-malformed", f"The properties of the intent '{name}' are not a mapping of keys.", location
            )
        elif key := next((key for key in ("use_entities", "ignore_entities") if _is_no_list_of_names(node, key)), None):
            yield found("intent-malformed", f"The '{key}' of the intent '{name}' are not a list of entities.", location)
        elif isinstance(node.items.get("use_entities"), YamlSequence):
            used = _with_roles(_texts(node.items["use_entities"]), roles)
            ignored = _with_roles(
                _texts(node.items["ignore_entities"]) if "ignore_entities" in node.items else default, roles
            )
            both = sorted(used & ignored)
            if both:
                names = ", ".join(f"'{entity}'" for entity in both)
                yield found("entity-used-and-ignored", f"The intent '{name}' both uses and ignores {names}.", location)


def _repeated_names(root: YamlMapping) -> Iterator[Finding]:
    sections = (
        ("intent-duplicate", "intent", _listed(root.items.get("intents"), first_only=True)),
        ("action-duplicate", "action", _action_names(root)),
        ("entity-duplicate", "entity", _listed(root.items.get("entities"))),
    )
    for code, what, names in sections:
        seen: dict[str, Location] = {}
        for name, _, location in names:
            if name in seen:
                yield found(code, f"The {what} '{name}' is listed twice ({seen[name]}).", location)
            seen.setdefault(name, location)
    for name, _, location in _unlisted_actions(root):
        if name in DEFAULT_ACTIONS:
            yield found(
                "action-duplicate", f"'{name}' is a default action, and can be no form and no sentence.", location
            )
    for name, _, location in _named(root.items.get("slots")):
        if name == SLOT_SESSION_METADATA:
            yield found("slot-duplicate", f"The slot '{name}' is Rasa's own, which every domain has.", location)


def _action_names(root: YamlMapping) -> Iterator[Named]:
    """The actions as Rasa counts them: a default action that is listed, or is a response, replaces the default one."""
    listed = {name for name, _, _ in _listed(root.items.get("actions"))}
    for name, node, location in _listed(root.items.get("actions")):
        if name not in DEFAULT_ACTIONS:
            yield name, node, location
    for name, node, location in _named(root.items.get("responses")):
        if name not in listed and name not in DEFAULT_ACTIONS:
            yield name, node, location
    yield from _unlisted_actions(root)


def _unlisted_actions(root: YamlMapping) -> Iterator[Named]:
    """The forms that the actions do not list, and the texts of end-to-end actions."""
    listed = {name for name, _, _ in _listed(root.items.get("actions"))}
    for name, node, location in _named(root.items.get("forms")):
        if name not in listed:
            yield name, node, location
    yield from _listed(root.items.get("e2e_actions"))


def _is_no_list_of_names(intent: YamlMapping, key: str) -> bool:
    """Whether Rasa stops at it: any string passes as a list and, for ``use_entities``, booleans and null, too."""
    node = intent.items.get(key)
    if node is None:
        return False
    if key == "use_entities" and (not node.data or node.data is True):
        return False
    if not isinstance(node, YamlSequence):
        return not _is_iterable(node)
    kinds = {type(item.data) for item in node.items}
    return not kinds.isdisjoint({list, dict}) or (key == "use_entities" and str in kinds and len(kinds) > 1)


def _triggers(root: YamlMapping) -> Iterator[Finding]:
    known = {name for name, _, _ in _listed(root.items.get("actions"))} | set(DEFAULT_ACTIONS)
    known |= {name for key in ("responses", "forms") for name, _, _ in _named(root.items.get(key))}
    known |= set(_texts(root.items.get("e2e_actions")))
    for name, node, location in _listed(root.items.get("intents"), first_only=True):
        if isinstance(node, YamlMapping) and "triggers" in node.items:
            action = str(node.items["triggers"].data)
            if action not in known:
                yield found(
                    "trigger-action-undefined",
                    f"The intent '{name}' triggers the action '{action}', which is not in the domain.",
                    location,
                    suggestion(action, known),
                    about=(Name("intent", str(name)), Name("action", action)),
                )


# --- the shapes of sections ------------------------------------------------------------------------------------------


def _named(section: YamlNode | None) -> Iterator[Named]:
    """The entries of a section that is a mapping."""
    if isinstance(section, YamlMapping):
        for key, node in section.items.items():
            yield str(key), node, section.key_location(key)


def _listed(section: YamlNode | None, *, first_only: bool = False) -> Iterator[Named]:
    """The entries of a section that is a list of names and of mappings; in an intent's mapping the first key counts."""
    if not isinstance(section, YamlSequence):
        return
    for item in section.items:
        if isinstance(item, YamlMapping):
            for key in list(item.items)[: 1 if first_only else None]:
                yield str(key), item.items[key], item.key_location(key)
        elif isinstance(item, YamlScalar):
            yield str(item.value), None, item.location


def _with_roles(names: Iterable[str], roles: dict[str, list[str]]) -> set[str]:
    return {label for name in names for label in (name, *roles.get(name, ()))}


def _texts(node: YamlNode | None) -> list[str]:
    if isinstance(node, YamlSequence):
        return [str(item.value) for item in node.items if isinstance(item, YamlScalar)]
    return [node.value] if isinstance(node, YamlScalar) and isinstance(node.value, str) else []


def _value(node: YamlNode | None) -> Any:
    return node.value if isinstance(node, YamlScalar) else None


def _data(node: YamlNode | None) -> Any:
    return node.data if node is not None else None


def _is_nothing(node: YamlNode | None) -> bool:
    return node is None or (isinstance(node, YamlScalar) and node.value is None)


def _is_iterable(node: YamlNode) -> bool:
    return isinstance(node.data, str | list | dict)


def _is_empty(node: YamlNode) -> bool:
    """Whether the value is false in Python: null, an empty string, list or mapping."""
    return not node.data
