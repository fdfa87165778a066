"""A schema language just large enough to say what Rasa's YAML schemas say, and a check that judges as pykwalify does.

Rasa 3.6 validates its files with pykwalify. Which faults it sees, in which order, and what it lets pass (an empty value
almost anywhere, any list behind a rule without keys) follows from that program's behaviour, which is mirrored here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from turncheck.project.yaml_positions import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.location import Location

_MOST_FAULTS: Final = 200


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts. ``least`` bounds a number from below."""

    type: Literal["str", "bool", "number", "any"]
    least: float | None = None


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; each item must satisfy one of the rules.

    ``responses``: there must be a list, and each item needs a text or a custom payload.
    """

    items: tuple[Rule, ...]
    responses: bool = False


@dataclass(frozen=True, slots=True)
class Keys:
    """A mapping. ``others``: what other keys may hold; ``True`` anything, ``False`` there may be none.

    ``others_named``: a pattern that other keys must match somewhere. ``keys`` is ``None`` for a rule that says nothing
    about the keys, and then lets pass whatever list it stands in.
    """

    keys: Mapping[str, Rule] | None
    required: tuple[str, ...] = ()
    others: Rule | bool = False
    others_named: str = ""
    must_exist: bool = False


Rule = Scalar | ListOf | Keys


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, the path of it in the file (``/slots/size/type``), and where it stands."""

    message: str
    path: str
    location: Location


def faults_of(root: YamlNode, rule: Rule) -> list[Fault]:
    """Return the faults of a file in pykwalify's order, each once, at most 200."""
    unique = {(fault.message, fault.path): fault for fault in _faults(root, rule, "")}
    return list(unique.values())[:_MOST_FAULTS]


def _faults(node: YamlNode, rule: Rule, path: str) -> Iterator[Fault]:
    match rule:
        case Scalar():
            yield from _scalar_faults(node, rule, path)
        case ListOf():
            yield from _list_faults(node, rule, path)
        case Keys():
            yield from _mapping_faults(node, rule, path)


def _scalar_faults(node: YamlNode, rule: Scalar, path: str) -> Iterator[Fault]:
    value = node.value if isinstance(node, YamlScalar) else node
    if value is None or rule.type == "any":
        return
    if not _is_of_type(value, rule.type):
        yield Fault(f"{_shown(node)} is not {_TYPES[rule.type]}", path, node.location)
    elif rule.least is not None and isinstance(value, int | float) and value < rule.least:
        yield Fault(f"{value} is less than {rule.least:g}", path, node.location)


_TYPES: Final = {"str": "a text", "bool": "true or false", "number": "a number", "any": "anything"}


def _is_of_type(value: object, name: str) -> bool:
    if name == "str":
        return isinstance(value, str)
    if name == "bool":
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        float(value)
    except (ValueError, OverflowError):
        return isinstance(value, int)
    return True


def _list_faults(node: YamlNode, rule: ListOf, path: str) -> Iterator[Fault]:
    if isinstance(node, YamlScalar) and node.value is None:
        if rule.responses:
            yield Fault("a value is required", path, node.location)
        return
    if not isinstance(node, YamlSequence):
        yield Fault(f"{_shown(node)} is not a list", path, node.location)
        return
    if rule.responses and any(_says_nothing(item) for item in node.items):
        yield Fault("a response has neither 'text' nor 'custom'", path, node.location)
    if any(isinstance(item_rule, Keys) and item_rule.keys is None for item_rule in rule.items):
        return  # pykwalify stops looking at the list here
    for index, item in enumerate(node.items):
        item_path = f"{path}/{index}"
        if all(next(_faults(item, item_rule, item_path), None) is not None for item_rule in rule.items):
            for item_rule in rule.items:
                yield from _faults(item, item_rule, item_path)


def _says_nothing(item: YamlNode) -> bool:
    if not isinstance(item, YamlMapping):
        return False
    data = item.data
    return data.get("text") is None and not data.get("custom")


def _mapping_faults(node: YamlNode, rule: Keys, path: str) -> Iterator[Fault]:
    if rule.must_exist and isinstance(node, YamlScalar) and node.value is None:
        yield Fault("a value is required", path, node.location)
        return
    if not isinstance(node, YamlMapping):
        yield Fault(f"{_shown(node)} is not a mapping of keys", path, node.location)
        return
    if rule.keys is None:
        return
    for key in rule.required:
        if key not in node.items:
            yield Fault(f"the required key '{key}' is missing", path, node.location)
        elif isinstance(value := node.items[key], YamlScalar) and value.value is None:
            yield Fault("a value is required", f"{path}/{key}", value.location)
    for key, value in node.items.items():
        key_rule = rule.keys.get(key) if isinstance(key, str) else None
        if key_rule is not None:
            yield from _faults(value, key_rule, f"{path}/{key}")
        elif isinstance(rule.others, Scalar | ListOf | Keys):
            if re.search(rule.others_named, str(key)):
                yield from _faults(value, rule.others, f"{path}/{key}")
            else:
                yield Fault(f"the name '{key}' has no letter in it", path, node.key_location(key))
        elif not rule.others:
            yield Fault(f"the key '{key}' is not known here", path, node.key_location(key))


def _shown(node: YamlNode) -> str:
    if isinstance(node, YamlScalar):
        text = str(node.value)
        return f"'{text[:60]}{'…' if len(text) > 60 else ''}'"
    return "a list" if isinstance(node, YamlSequence) else "a mapping"
