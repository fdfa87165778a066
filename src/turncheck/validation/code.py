"""Names that the project's Python code uses and that the domain does not define."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.dialogue.domain import DEFAULT_ACTIONS, DEFAULT_INTENTS, DEFAULT_SLOTS
from turncheck.messages.finding import Name
from turncheck.messages.phrasing import suggestion
from turncheck.validation.checks import own_check
from turncheck.validation.facts import UTTER, Facts
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from turncheck.messages.finding import Finding, Location


CHECKS: Final = (
    own_check(
        "code-name-undefined",
        "info",
        "Python code uses a name that the domain does not define",
        "`get_slot` of an undefined slot is always `None`, and Rasa cannot set it, say such a response or run such an"
        " action. Define it, or correct the name. Calls of rasa-sdk with a written name are read; the code is not run.",
        'tracker.get_slot("sise")',
        'tracker.get_slot("size")',
        needs=("domain",),
        about=("slot", "entity", "intent", "response", "action", "form", "class"),
    ),
)


_VERBS: Final = {
    "slot": "reads or sets the slot",
    "entity": "reads the entity",
    "intent": "expects the intent",
    "response": "says the response",
    "action": "calls the action",
    "form": "names the form",
    "class": "defines the action",
}
_DEFINED: Final = {"class": "action"}
"""What a class is, if it is one of the assistant's."""
_OF_FORMS: Final = ("validate_", "action_ask_", "action_validate_")
_ABOUT: Final = {"method": "slot"}
"""What a use is of, if its kind does not say it."""


def check_code(facts: Facts) -> Iterator[Finding]:
    """Slots, entities, intents, responses, actions and forms in Python code, each once, with all its places.

    The code of an action that the domain does not list is never run.
    """
    if not facts.domain.actions and not facts.domain.forms and not facts.domain.slots:
        return  # no code of this assistant's
    known = _known(facts)
    places: dict[tuple[str, str], list[Location]] = {}
    for use in facts.code_uses:
        if use.action and use.action not in known["action"]:
            continue
        if use.kind in known and use.name not in known[use.kind]:
            places.setdefault((_ABOUT.get(use.kind, use.kind), use.name), []).append(use.location)
    for name, location in _classes_of_no_action(facts, known["action"]):
        places.setdefault(("class", name), []).append(location)
    for (kind, name), (first, *others) in places.items():
        message = f"Python code {_VERBS[kind]} '{name}', which the domain does not define."
        near = suggestion(name, known[_DEFINED.get(kind, kind)])
        yield found("code-name-undefined", message, first, near, others, names=(Name(kind, name),))


def _classes_of_no_action(facts: Facts, known: AbstractSet[str]) -> Iterator[tuple[str, Location]]:
    """Actions that the code defines and the domain does not, if one of the domain's without code has nearly that name.

    Those of forms have a check of their own.
    """
    classes = [use for use in facts.code_uses if use.kind == "class"]
    lacking = facts.domain.actions.keys() - {use.name for use in classes}
    for use in classes:
        if use.name not in known and not use.name.startswith(_OF_FORMS) and suggestion(use.name, lacking):
            yield use.name, use.location


def _known(facts: Facts) -> Mapping[str, AbstractSet[str]]:
    """What is defined, by kind; an action may be a form or a response, too."""
    responses = {key for name in facts.responses for key in (name, name.partition("/")[0])} | {
        f"{UTTER}{intent}" for intent in facts.retrieval_intents
    }
    slots = {*facts.slots, *facts.default_slots, *DEFAULT_SLOTS}
    return {
        "slot": slots,
        "method": {slot.replace("-", "_") for slot in slots},  # as rasa-sdk looks for them
        "entity": facts.entities,
        "intent": {*facts.intents, *DEFAULT_INTENTS},
        "response": responses,
        "action": {*facts.actions, *facts.forms, *responses, *DEFAULT_ACTIONS},
        "form": facts.forms,
    }
