"""Responses of which no variation may fit: whoever says one then says nothing, without a word in a test."""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.variations import fitting
from turncheck.messages.finding import Name
from turncheck.validation.checks import Fault, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.project.model import Response, ResponseVariation, Slot
    from turncheck.validation.facts import Facts

_FIRST_WITH_CONDITIONS: Final = 2
"""The first major version of Rasa that knows conditional variations."""
_MOST_SITUATIONS: Final = 4096


_CONDITIONAL: Final = """\
utter_hello:
  - condition:
    - type: slot
      name: logged_in
      value: true
    text: Welcome back!"""


class _AnotherValue:
    """A value of a slot that no condition names."""


_ANOTHER: Final = _AnotherValue()


@check(
    "response-without-default",
    "warning",
    title="A response says nothing for some values of slots",
    text="All its variations have conditions, and for such values none of them holds: the bot is silent. Add a"
    " variation without `condition`.",
    wrong=_CONDITIONAL,
    right=f"{_CONDITIONAL}\n  - text: Welcome!",
    matters_always=True,
    needs=("domain",),
    about=("response",),
)
def response_without_default(facts: Facts) -> Iterator[Fault]:
    """Responses without a variation for a situation that can be: each with the first such situation.

    A slot that a form asks for, or that has an initial value, counts as set.
    """
    if facts.domain.rasa < _FIRST_WITH_CONDITIONS or facts.project.calm is not None:
        return  # Rasa Pro has conditions of its own
    asked = {name for form in facts.domain.forms.values() for name in form.required_slots}
    for response in facts.domain.responses.values():
        slots = _slots_of_conditions(facts, response)
        if slots is None:
            continue
        for channel in _channels(response.variations):
            situation = _unanswered(response.variations, channel, slots, asked)
            if situation is not None:
                message = f"The response '{response.name}' says nothing {_in_words(situation, channel)}."
                yield Fault(message, response.location, names=(Name("response", response.name),))
                break


def _slots_of_conditions(facts: Facts, response: Response) -> Mapping[str, Slot] | None:
    """The slots of its conditions; ``None`` if it has no conditions, or some that cannot be judged."""
    conditions = [c for variation in response.variations for c in variation.conditions]
    if all(variation.content.get("condition") is None for variation in response.variations):
        return None
    names = [c.get("name") if hasattr(c, "get") else None for c in conditions]
    slots = {name: facts.domain.slots[name] for name in names if isinstance(name, str) and name in facts.domain.slots}
    return slots if all(name in slots for name in names) else None


def _channels(variations: Sequence[ResponseVariation]) -> list[str | None]:
    """The channels to judge: any other one, if something is said there at all, and those that are named."""
    named = list(dict.fromkeys(variation.channel for variation in variations if variation.channel is not None))
    is_general = any(variation.channel is None for variation in variations)
    return [None, *named] if is_general else [*named]


def _unanswered(
    variations: Sequence[ResponseVariation], channel: str | None, slots: Mapping[str, Slot], asked: set[str]
) -> dict[str, Any] | None:
    conditions = [condition for variation in variations for condition in variation.conditions]
    values = [
        _values(slot, [c.get("value") for c in conditions if c.get("name") == name], is_set=name in asked)
        for name, slot in slots.items()
    ]
    for situation in islice(product(*values), _MOST_SITUATIONS):
        slot_values = dict(zip(slots, situation, strict=True))
        if not fitting(variations, channel, slot_values):
            return slot_values
    return None


def _values(slot: Slot, compared: list[Any], *, is_set: bool) -> list[Any]:
    """What the slot can hold, as far as conditions can tell it apart; not being set comes last."""
    values: list[Any]
    if slot.type == "bool":
        values = [True, False]
    elif slot.type == "categorical" and slot.values:
        same = {str(value).casefold(): value for value in compared if value is not None}
        values = [same.get(str(value).casefold(), value) for value in slot.values]
    else:
        values = [_ANOTHER, *(value for value in compared if value is not None)]
    is_always_set = is_set or slot.initial_value is not None
    return values if is_always_set and None not in compared else [*values, None]


def _in_words(situation: Mapping[str, Any], channel: str | None) -> str:
    where = f"on the channel '{channel}'" if channel is not None else ""
    slots = " and ".join(f"'{name}' {_value_in_words(value)}" for name, value in situation.items())
    return " ".join(filter(None, (where, f"while {slots}" if slots else "at any time")))


def _value_in_words(value: Any) -> str:
    if value is None:
        return "is not set"
    if value is _ANOTHER:
        return "has another value"
    return f"is {str(value).lower()}" if isinstance(value, bool) else f"is '{value}'"
