"""Domains of Rasa 0.x, 1.x and 2.x: what they write differently, converted to the current model.

The differences: ``templates`` for ``responses``, plain strings as variations, ``forms`` as a list or with the mappings
of their slots, ``unfeaturized`` slots, and slots without mappings, which the entity of the same name fills.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.project.formats.rasa_domain_sections import Entry, mapping_entries
from turncheck.project.model import SlotMapping
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.project.formats.rasa_domain_sections import SchemaFindings, Sections
    from turncheck.yaml_tree.tree import YamlNode

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


def auto_filled(name: str, items: Mapping[str, YamlNode], entry: Entry, *, stores: bool) -> tuple[SlotMapping, ...]:
    """Return the mapping that fills a slot without mappings from the entity of the same name."""
    fills = items.get("auto_fill")
    if not stores or (isinstance(fills, YamlScalar) and fills.value is False):
        return ()
    return (SlotMapping("from_entity", entry.location, entity=name),)
