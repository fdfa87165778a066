"""What responses expect of slots: variables, such as ``{customer}`` in a text, and values in conditions.

Rasa fills in a response as a whole: if one variable has no value, all of them are said with their braces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.domain import DEFAULT_SLOTS
from turncheck.messages.finding import Name
from turncheck.messages.phrasing import suggestion
from turncheck.validation.checks import own_check
from turncheck.validation.facts import UTTER, Facts
from turncheck.validation.findings import found
from turncheck.validation.places import Places
from turncheck.yaml_tree.source import ScalarLines
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from turncheck.messages.finding import Finding, Location
    from turncheck.project import model

CHECKS: Final = (
    own_check(
        "condition-slot-undefined",
        "warning",
        "The condition of a response names a slot that the domain does not define",
        "The condition is never met, so that this variation is never said.",
        "condition:\n- type: slot\n  name: logged_inn\n  value: true",
        "condition:\n- type: slot\n  name: logged_in\n  value: true",
        matters_always=True,
        needs=("domain",),
        about=("response", "slot"),
    ),
    own_check(
        "condition-value-quoted",
        "info",
        "The condition of a response compares a bool or float slot with a string",
        "Values of different types are never the same: `true` is not `'true'`. Remove the quotes, unless an action"
        " sets the slot to a string.",
        "condition:\n- type: slot\n  name: logged_in\n  value: 'true'",
        "condition:\n- type: slot\n  name: logged_in\n  value: true",
        about=("response", "slot", "value"),
    ),
    own_check(
        "response-variable-undefined",
        "warning",
        "A variable of a response is not a slot",
        "Nothing fills it in, and one such variable leaves all others of the response unfilled, too: the bot says the"
        " names in braces. Double the braces (`{{name}}`) to say them on purpose.",
        "utter_hello:\n  - text: Hi {custmer}!",
        "utter_hello:\n  - text: Hi {customer}!",
        matters_always=True,
        needs=("domain", "stories"),
        about=("response", "slot"),
    ),
    own_check(
        "response-variable-unknown",
        "info",
        "A variable of a response that only a custom action says is not a slot",
        "The action must pass its value: `dispatcher.utter_message(response=…, name=…)`. Otherwise the bot says the"
        " names of all variables of the response in braces.",
        "utter_order:\n  - text: Order {nmuber} is on its way.",
        "utter_order:\n  - text: Order {number} is on its way.",
        needs=("domain", "stories"),
        about=("response", "slot"),
    ),
)

_VARIABLE: Final = re.compile(r"""(?<!\{)\{([^\n{}\[\]"':,]+)\}(?!\})""")
"""What Rasa looks up as a name: ``{first name}``, too. In doubled braces it is text; JSON in a payload has quotes."""
_NAME: Final = re.compile(r"[^\W\d][\w-]*(\.[^\W\d][\w-]*)*")
"""``customer.name``, too: an attribute, as templates of other tools have it."""
_FILLED: Final = ("text", "image", "custom", "buttons", "attachment", "quick_replies")
"""The keys of a response in which Rasa fills in variables."""
_DEEPEST: Final = 50


def check_variables(facts: Facts) -> Iterator[Finding]:
    """Variables of responses that are no slots: wrong, unless a custom action may pass a value for them."""
    if facts.project.calm is not None:
        return  # Rasa Pro has variables of its own
    known = {*facts.domain.slots, *facts.default_slots, *DEFAULT_SLOTS}
    said = {step.action for _, step in facts.action_steps()} | asked_by_forms(facts)
    yield from undefined_variables(facts, facts.domain.responses.values(), known, said)


def undefined_variables(
    facts: Facts, responses: Iterable[model.Response], known: Collection[str], said: Collection[str]
) -> Iterator[Finding]:
    """Variables of these responses that are not known; ``said``: the responses that code need not pass values to."""
    slots = frozenset(_words(name) for name in facts.slots)
    for response in responses:
        unknown: dict[str, list[Location]] = {}
        for variation in response.variations:
            for name in dict.fromkeys(variables_of(variation.content, slots)):
                if name not in known:
                    unknown.setdefault(name, []).append(_place(facts, response, variation, name))
        for name, (first, *others) in unknown.items():
            names = (Name("response", response.name), Name("slot", name))
            near = suggestion(name, facts.slots)
            if _may_be_passed(facts, response.name.partition("/")[0], name, said):
                message = f"The response '{response.name}' names {{{name}}}, which is no slot: an action must pass it."
                yield found("response-variable-unknown", message, first, near, others, names=names)
            else:
                message = f"The response '{response.name}' names {{{name}}}, which is no slot: it is said in braces."
                yield found("response-variable-undefined", message, first, near, others, names=names)


_TYPED: Final = frozenset({"bool", "float"})
_MAY_GIVE_STRINGS: Final = frozenset({"from_entity", "from_text"})


def check_conditions(facts: Facts) -> Iterator[Finding]:
    """Conditions that can never be met: they name no slot, or compare a bool or float slot with a string.

    Rasa's generator compares two strings whatever their case, and anything else as it is: true is not 'true'.
    """
    places = Places(facts.project)
    for response in facts.domain.responses.values():
        for number, variation in enumerate(response.variations):
            for position, condition in enumerate(variation.content.get("condition") or ()):
                name = condition.get("name") if isinstance(condition, dict) else None
                if not isinstance(name, str):
                    continue
                path = ("responses", response.name, number, "condition", position)
                if name in facts.domain.slots:
                    place = places.of_entry(condition.get("value"), variation.location, *path, "value")
                    yield from _quoted_value(facts.domain.slots[name], response, condition.get("value"), place)
                elif name not in DEFAULT_SLOTS:
                    yield found(
                        "condition-slot-undefined",
                        f"A condition of the response '{response.name}' names the slot '{name}', which is not defined.",
                        places.of_entry(name, variation.location, *path, "name"),
                        suggestion(name, facts.slots),
                        names=(Name("response", response.name), Name("slot", name)),
                    )


def _quoted_value(slot: model.Slot, response: model.Response, value: object, place: Location) -> Iterator[Finding]:
    may_be_string = any(mapping.type in _MAY_GIVE_STRINGS for mapping in slot.mappings)
    if slot.type in _TYPED and isinstance(value, str) and not may_be_string:
        yield found(
            "condition-value-quoted",
            f"A condition of the response '{response.name}' compares the {slot.type} slot '{slot.name}' with the string"
            f" '{value}'.",
            place,
            about=(Name("response", response.name), Name("slot", slot.name), Name("value", value)),
        )


def variables_of(content: Mapping[str, Any], slots: Collection[str] = ()) -> Iterator[str]:
    """Yield the variables that Rasa fills in when it says this variation of a response.

    ``slots``: the words of slots, which are meant where their names are written with blanks (``{first name}``).
    """
    for key in _FILLED:
        yield from _variables(content.get(key), slots, 0)


def _variables(value: Any, slots: Collection[str], depth: int) -> Iterator[str]:
    if isinstance(value, str):
        named = _VARIABLE.findall(value)
        alone = len(set(named)) == 1  # then braces around anything but a name are probably meant to be said
        yield from (name for name in named if not alone or _NAME.fullmatch(name.strip()) or _words(name) in slots)
    elif depth < _DEEPEST:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for part in parts:
            yield from _variables(part, slots, depth + 1)


def _words(name: str) -> str:
    return " ".join(re.split(r"[\s_-]+", name.strip().lower()))


def asked_by_forms(facts: Facts) -> set[str]:
    """Return the responses with which forms ask for their slots."""
    return {
        f"{UTTER}ask_{name}"
        for form in facts.domain.forms.values()
        for slot in form.required_slots
        for name in (slot, f"{form.name}_{slot}")
    }


def _may_be_passed(facts: Facts, response: str, variable: str, said: Collection[str]) -> bool:
    """Whether only custom actions say a response, and some pass such a value with what they say."""
    if response in said or not any(quoted.partition("/")[0] == response for quoted in facts.code.quoted):
        return False
    return any(use.kind == "variable" and use.name in {variable, "**"} for use in facts.code_uses)


def _place(facts: Facts, response: model.Response, variation: model.ResponseVariation, name: str) -> Location:
    """Where a variable is: the value with it, or its line in a block of text."""
    document = next((file.document for file in facts.project.files if file.path == variation.location.path), None)
    if document is None or not isinstance(document.root, YamlMapping):
        return variation.location
    written = document.root.at("responses", response.name)
    for node in written.items if isinstance(written, YamlSequence) else ():
        if node.location == variation.location:
            return _place_in(node, f"{{{name}}}", 0) or variation.location
    return variation.location


def _place_in(node: YamlNode, text: str, depth: int) -> Location | None:
    if isinstance(node, YamlScalar):
        if not isinstance(node.value, str) or text not in node.value:
            return None
        number = node.value[: node.value.index(text)].count("\n")
        return ScalarLines(node).locate(number) if number else node.location
    if depth >= _DEEPEST:
        return None
    parts: Iterable[YamlNode] = node.items.values() if isinstance(node, YamlMapping) else ()
    parts = node.items if isinstance(node, YamlSequence) else parts
    return next((place for part in parts if (place := _place_in(part, text, depth + 1)) is not None), None)
