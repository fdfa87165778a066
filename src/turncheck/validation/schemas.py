"""The schemas of Rasa 3.6: domain, NLU data, stories and rules, configuration."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence
from turncheck.yaml_tree.unquoted import rasa_value, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.messages.finding import Location


# A schema language just large enough for Rasa's YAML schemas, and a validator that behaves like pykwalify.
#
# Rasa 3.6 validates its files with pykwalify. Which faults it sees, in which order, and what it accepts (an empty
# value almost anywhere, any list after a rule without keys) follows from that program's behaviour, which is mirrored
# here.

_MOST_FAULTS: Final = 200


class Scalar(NamedTuple):
    """A value without parts. ``least`` bounds a number from below."""

    type: Literal["str", "bool", "number", "any"]
    least: float | None = None


class ListOf(NamedTuple):
    """A list; each item must satisfy one of the rules.

    ``responses``: there must be a list, and each item needs text or a custom payload.
    """

    items: tuple[Rule, ...]
    responses: bool = False


class Keys(NamedTuple):
    """A mapping. ``others``: what other keys may hold; ``True``: anything, ``False``: there must be none.

    ``others_named``: a pattern that other keys must match somewhere. ``keys`` is ``None`` for a rule that says nothing
    about the keys, and therefore accepts whatever is in its list.
    """

    keys: Mapping[str, Rule] | None
    required: tuple[str, ...] = ()
    others: Rule | bool = False
    others_named: str = ""
    must_exist: bool = False


Rule = Scalar | ListOf | Keys


class Fault(NamedTuple):
    """What is wrong, its path in the file (``/slots/size/type``), and its place.

    ``wanted``: the types that a value may have. ``keys``: those that may be here. ``advice``: what to do,
    if neither of them says it. ``unknown``: the key that is not known, if that is the fault.
    """

    what: str
    path: str
    location: Location
    wanted: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    advice: str = ""
    unknown: str | None = None

    @property
    def message(self) -> str:
        """The fault, as the end of a sentence that begins with the file."""
        if not self.wanted:
            return self.what
        if len(self.wanted) == 1:
            return f"{self.what} is not {self.wanted[0]}"
        return f"{self.what} is neither {' nor '.join(self.wanted)}"

    @property
    def loses(self) -> bool:
        """Whether something is there that is not read, rather than something missing or out of range."""
        return self.unknown is not None or bool(self.wanted)

    @property
    def hint(self) -> str:
        """What to do about it."""
        known = ", ".join(f"'{key}'" for key in self.keys)
        advice = [self.advice] if self.advice else [_ADVICE[name] for name in self.wanted]
        if self.unknown is not None:
            return f"Correct the key, or remove it. Known here: {known}." if known else "Remove the key."
        if known:
            advice.append(f"Keys that are known here: {known}.")
        return " Or: ".join(advice) if not known else " ".join(advice)


def faults_of(root: YamlNode, rule: Rule) -> list[Fault]:
    """Return the faults of a file in pykwalify's order, each once, at most 200.

    If a list's items have several rules, pykwalify lists the faults for each. Here only those for the rule that fits
    best are listed, since for the others everything is wrong.
    """
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
    reading = rasa_value(node)
    if reading == "variable":
        what = f"{_shown(node)} names an environment variable and"
        yield Fault(what, path, node.location, (_TYPES[rule.type],), advice=_IN_QUOTES)
    elif reading == "sign":
        what = f"{_shown(node)} has a meaning of its own in YAML and"
        yield Fault(what, path, node.location, (_TYPES[rule.type],), advice="Put quotes around it.")
    elif reading is not None and rule.type == "str":
        yield Fault(f"the {reading} {str(value)[:60]}", path, node.location, (_STRING,))
    elif not _is_of_type(value, rule.type):
        yield Fault(_shown(node), path, node.location, (_TYPES[rule.type],))
    elif rule.least is not None and isinstance(value, int | float) and value < rule.least:
        advice = f"Write {rule.least:g} or more."
        yield Fault(f"{value} is less than {rule.least:g}", path, node.location, advice=advice)


_IN_QUOTES: Final = (
    "Rasa expands no variable here. Put quotes around it if the text itself is meant; else write its value."
)
_STRING, _BOOLEAN, _NUMBER, _LIST, _KEYS = "a string", "true or false", "a number", "a list", "a mapping of keys"
_TYPES: Final = {"str": _STRING, "bool": _BOOLEAN, "number": _NUMBER}
_ADVICE: Final = {
    _STRING: "Write a string; quote numbers, dates and words such as yes, no and true that are meant as text.",
    _BOOLEAN: "Write true or false, without quotes.",
    _NUMBER: "Write a number.",
    _LIST: "Write a list, with '- ' before each entry.",
    _KEYS: "Write a mapping ('key: value').",
}


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
            yield Fault("a value is required", path, node.location, advice=_ADVICE[_LIST])
        return
    if not isinstance(node, YamlSequence):
        yield Fault(_shown(node), path, node.location, (_LIST,))
        return
    mute = next((item for item in node.items if _says_nothing(item)), None)
    if rule.responses and mute is not None:
        advice = "Give each variation of the response a 'text' or a 'custom' payload."
        yield Fault("a response has neither 'text' nor 'custom'", path, mute.location, advice=advice)
    if any(isinstance(item_rule, Keys) and item_rule.keys is None for item_rule in rule.items):
        return  # pykwalify stops checking the list here
    for index, item in enumerate(node.items):
        item_path = f"{path}/{index}"
        if all(next(_faults(item, item_rule, item_path), None) is not None for item_rule in rule.items):
            yield from _best_faults(item, rule.items, item_path)


def _best_faults(item: YamlNode, rules: Sequence[Rule], path: str) -> Iterator[Fault]:
    """The faults for the rule that fits best, with what equally good rules expect in the same place."""
    judged = [(rule, list(_faults(item, rule, path))) for rule in rules]
    best = max(_fit(item, rule, faults) for rule, faults in judged)
    candidates = [faults for rule, faults in judged if _fit(item, rule, faults) == best]
    alike: defaultdict[tuple[str, str], list[Fault]] = defaultdict(list)
    for fault in chain.from_iterable(candidates):
        alike[fault.what, fault.path].append(fault)
    for fault in candidates[0]:
        same = alike[fault.what, fault.path]
        wanted = dict.fromkeys(name for f in same for name in f.wanted)
        keys = dict.fromkeys(key for f in same for key in f.keys)
        yield fault._replace(wanted=tuple(wanted), keys=tuple(keys))


_NO_FAULT: Final = 1_000_000
"""Deeper than any fault of a value."""


def _fit(item: YamlNode, rule: Rule, faults: Sequence[Fault]) -> tuple[bool, int, int, int]:
    """How well a rule fits: the kind of value, the known keys, how deep the faults of values are, how few they are."""
    kinds = {Scalar: YamlScalar, ListOf: YamlSequence, Keys: YamlMapping}
    keys = set(item.items) if isinstance(item, YamlMapping) else set()
    known = len(keys & set(rule.keys or ())) if isinstance(rule, Keys) else 0
    depth = min((fault.path.count("/") for fault in faults if fault.unknown is None), default=_NO_FAULT)
    return isinstance(item, kinds[type(rule)]), known, depth, -len(faults)


def _says_nothing(item: YamlNode) -> bool:
    if not isinstance(item, YamlMapping):
        return False
    data = item.data
    return data.get("text") is None and not data.get("custom")


def _mapping_faults(node: YamlNode, rule: Keys, path: str) -> Iterator[Fault]:
    known = tuple(rule.keys or ())
    if isinstance(node, YamlScalar) and node.value is None:
        advice = _ADVICE[_KEYS] if rule.must_exist else "Write what belongs below the key, or remove the key."
        yield Fault("a value is required", path, node.location, keys=known, advice=advice)
        return
    if not isinstance(node, YamlMapping):
        yield Fault(_shown(node), path, node.location, (_KEYS,), known)
        return
    if rule.keys is None:
        return
    for key in rule.required:
        if key not in node.items:
            advice = f"Add the key '{key}'."
            yield Fault(f"the required key '{key}' is missing", path, node.location, advice=advice)
        elif isinstance(value := node.items[key], YamlScalar) and value.value is None:
            advice = f"Write a value after '{key}:'."
            yield Fault("a value is required", f"{path}/{key}", value.location, advice=advice)
    for key, value in node.items.items():
        key_rule = rule.keys.get(key) if isinstance(key, str) else None
        if key_rule is not None:
            yield from _faults(value, key_rule, f"{path}/{key}")
        elif isinstance(rule.others, Scalar | ListOf | Keys):
            if re.search(rule.others_named, str(key)):
                yield from _faults(value, rule.others, f"{path}/{key}")
            else:
                advice = "Give it a name with letters."
                yield Fault(f"the name '{key}' has no letter in it", path, node.key_location(key), advice=advice)
        elif not rule.others:
            what = f"the key '{key}' is not known here"
            yield Fault(what, path, node.key_location(key), keys=known, unknown=str(key))


def _shown(node: YamlNode) -> str:
    if isinstance(node, YamlScalar):
        if isinstance(node.value, bool):
            return f"the value {str(node.value).lower()}"
        if isinstance(node.value, int | float):
            return f"the number {str(node.value)[:60]}"
        text = written(node)
        return f"'{text[:60]}{'…' if len(text) > 60 else ''}'"
    return "a list" if isinstance(node, YamlSequence) else "a mapping"


_TEXT: Final = Scalar("str")
_BOOL: Final = Scalar("bool")
_ANY: Final = Scalar("any")
_TEXTS: Final = ListOf((_TEXT,))
_LETTER: Final = "[A-Za-z]+"
_OPEN: Final = Keys(None)

# --- responses, in the domain and in NLU files -----------------------------------------------------------------------

_BUTTONS: Final = ListOf((Keys({"title": _TEXT, "payload": _TEXT}, others=True),))
_CONDITION: Final = Keys({"type": _TEXT, "name": _TEXT, "value": _ANY})
_VARIATION: Final = Keys(
    {
        "id": _TEXT,
        "text": _TEXT,
        "image": _TEXT,
        "custom": _OPEN,
        "buttons": _BUTTONS,
        "button_type": _TEXT,
        "quick_replies": _BUTTONS,
        "attachment": _OPEN,
        "elements": ListOf((_OPEN,)),
        "channel": _TEXT,
        "metadata": _ANY,
        "condition": ListOf((_CONDITION,)),
    },
    must_exist=True,
)
_RESPONSES: Final = Keys({}, others=ListOf((_VARIATION,), responses=True), others_named=".+")

# --- domain ----------------------------------------------------------------------------------------------------------

_MAPPING: Final = Keys(
    {
        "type": _TEXT,
        "intent": _ANY,
        "not_intent": _ANY,
        "entity": _TEXT,
        "role": _TEXT,
        "group": _TEXT,
        "value": _ANY,
        "action": _TEXT,
        "conditions": ListOf((Keys({"active_loop": _TEXT, "requested_slot": _TEXT}),)),
    },
    others=True,
)
_SLOT: Final = Keys(
    {
        "influence_conversation": _BOOL,
        "type": _ANY,
        "values": ListOf((_ANY,)),
        "min_value": Scalar("number"),
        "max_value": Scalar("number"),
        "initial_value": _ANY,
        "mappings": ListOf((_MAPPING,)),
    },
    required=("type", "mappings"),
    others=True,
)
DOMAIN: Final[Rule] = Keys(
    {
        "version": _TEXT,
        "intents": ListOf((Keys({"use_entities": _ANY, "ignore_entities": _ANY}, others=True), _TEXT)),
        "entities": ListOf((Keys({"roles": _TEXTS, "groups": _TEXTS}, others=True), _TEXT)),
        "actions": ListOf((_TEXT, Keys({}, others=Keys({"send_domain": _BOOL}), others_named=_LETTER))),
        "responses": _RESPONSES,
        "slots": Keys({}, others=_SLOT, others_named=_LETTER),
        "forms": Keys({}, others=Keys({"required_slots": _TEXTS, "ignored_intents": _ANY}), others_named=_LETTER),
        "config": Keys({"store_entities_as_slots": _BOOL}, others=True),
        "session_config": Keys(
            {"session_expiration_time": Scalar("number", least=0), "carry_over_slots_to_new_session": _BOOL},
            others=True,
        ),
    },
    others=True,
)

# --- NLU data --------------------------------------------------------------------------------------------------------

_LIST_EXAMPLES: Final = ListOf((Keys({"text": _TEXT, "metadata": _ANY}),))
NLU: Final[Rule] = Keys(
    {
        "version": _TEXT,
        "nlu": ListOf(
            (
                Keys({"intent": _TEXT, "metadata": _ANY, "examples": _TEXT}),
                Keys({"intent": _TEXT, "metadata": _ANY, "examples": _LIST_EXAMPLES}),
                Keys({"synonym": _TEXT, "examples": _TEXT}),
                Keys({"regex": _TEXT, "examples": _TEXT}),
                Keys({"lookup": _TEXT, "examples": _TEXT}),
            )
        ),
        "responses": _RESPONSES,
    },
    others=True,
)

# --- stories and rules -----------------------------------------------------------------------------------------------

_ENTITIES: Final = ListOf((Keys({"role": _TEXT, "group": _TEXT}, others=_ANY), _TEXT))
_USER: Final = Keys({"intent": _TEXT, "user": _TEXT, "entities": _ENTITIES})
_LOOP: Final = Keys({"active_loop": _TEXT})
_ACTION: Final = Keys({"action": _TEXT})
# The last of pykwalify's alternatives is a mapping without any rule, so every list passes.
_SLOT_LIST: Final = ListOf((_OPEN,))
_SLOTS: Final = Keys({"slot_was_set": _SLOT_LIST})
_OR: Final = Keys({"or": ListOf((_USER, _SLOTS))})

STORIES: Final[Rule] = Keys(
    {
        "version": _TEXT,
        "stories": ListOf(
            (
                Keys(
                    {
                        "story": _TEXT,
                        "metadata": _ANY,
                        "steps": ListOf(
                            (
                                _USER,
                                _LOOP,
                                _ACTION,
                                Keys({"bot": _TEXT}),
                                _SLOTS,
                                Keys({"checkpoint": _TEXT, "slot_was_set": _SLOT_LIST}),
                                _OR,
                            )
                        ),
                    }
                ),
            )
        ),
        "rules": ListOf(
            (
                Keys(
                    {
                        "rule": _TEXT,
                        "metadata": _ANY,
                        "steps": ListOf((_USER, _ACTION, _LOOP, _SLOTS, _OR)),
                        "condition": ListOf((_LOOP, _SLOTS)),
                        "conversation_start": _BOOL,
                        "wait_for_user_input": _BOOL,
                    }
                ),
            )
        ),
    },
    others=True,
)

# --- configuration ---------------------------------------------------------------------------------------------------

_NAMED: Final = ListOf((Keys({"name": _TEXT}, required=("name",), others=True),))
CONFIG: Final[Rule] = Keys(
    {
        "version": _TEXT,
        "language": _TEXT,
        "assistant_id": _TEXT,
        "pipeline": _NAMED,
        "policies": _NAMED,
        "spaces": _NAMED,
    },
    others=True,
)
