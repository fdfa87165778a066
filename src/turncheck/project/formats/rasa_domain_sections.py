"""The sections of domain files, split into named entries and merged as Rasa merges them, before they are typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.messages.finding import Finding
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.messages.location import Location

LIST_SECTIONS: Final = ("intents", "entities", "actions")
MAPPING_SECTIONS: Final = ("forms", "responses", "slots")
_HINT: Final = "See Rasa's documentation of the domain for the shape."


class Entry(NamedTuple):
    """A named entry of a section; ``node`` is the value of the name, ``None`` for a bare name."""

    node: YamlNode | None
    location: Location


@dataclass(slots=True)
class Sections:
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


def mapping_entries(schema: SchemaFindings, key: str, section: YamlNode | None) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a section that maps names to what they define."""
    if section is None or is_nothing(section):
        return
    if not isinstance(section, YamlMapping):
        schema.note(section, f"'{key}' must be a mapping from names to their definitions")
        return
    for name, node in section.items.items():
        yield str(name), Entry(node, section.key_location(name))


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
