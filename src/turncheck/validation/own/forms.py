"""What Rasa looks for by its name while a form runs, and goes on without if it is not there: no test sees a silence."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from turncheck.dialogue.domain import ACTION_VALIDATE_SLOT_MAPPINGS
from turncheck.messages.finding import Name
from turncheck.project.model import ActionStep
from turncheck.validation.checks import Fault, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.model import Form, Slot
    from turncheck.validation.facts import Facts

_FIRST_WITH_SLOTS: Final = 2
"""The first major version of Rasa whose domain says which slots a form asks for."""
_FORM: Final = """\
forms:
  pizza_form:
    required_slots: [size]
responses:
  """


@check(
    "form-question-missing",
    "warning",
    title="Nothing asks for a slot of a form",
    text="The form then waits in silence. Add `utter_ask_SLOT` or `utter_ask_FORM_SLOT`, or list an action"
    " `action_ask_SLOT`.",
    wrong=f"{_FORM}utter_ask_sise:\n  - text: Which size?",
    right=f"{_FORM}utter_ask_size:\n  - text: Which size?",
    matters_always=True,
    needs=("domain", "responses"),
    about=("form", "slot"),
    details="Not reported: forms with `validate_FORM`, and the first slot of one that always follows another action.",
)
def form_question_missing(facts: Facts) -> Iterator[Fault]:
    """Required slots for which a form finds no action and no response, in the order in which Rasa looks for one.

    What the form's own validation says is not known, and what the bot says just before a form may ask the first
    question; a slot with an initial value is never asked for.
    """
    if facts.domain.rasa < _FIRST_WITH_SLOTS:
        return
    known = {*facts.actions, *facts.responses, *facts.domain.actions}
    for form in facts.domain.forms.values():
        if _validation(form) in facts.domain.actions:
            continue
        for place, name in enumerate(form.required_slots):
            if place == 0 and _begins_after_an_action(facts, form):
                continue
            if known.isdisjoint(questions(form.name, name)) and _is_asked_for(facts.domain.slots.get(name)):
                yield Fault(
                    f"The form '{form.name}' needs the slot '{name}', and nothing asks for it:"
                    f" there is no 'utter_ask_{name}'.",
                    form.places[place] if place < len(form.places) else form.location,
                    names=(Name("form", form.name), Name("slot", name)),
                )


def questions(form: str, slot: str) -> tuple[str, ...]:
    """The actions and responses that may ask for a slot of a form, in the order in which Rasa looks for one."""
    return tuple(f"{prefix}_ask_{of}" for of in (f"{form}_{slot}", slot) for prefix in ("action", "utter"))


def _begins_after_an_action(facts: Facts, form: Form) -> bool:
    """Whether in all stories and rules the bot does something else right before the form."""
    before = [
        previous
        for block in facts.blocks
        for previous, step in pairwise((None, *block.steps))
        if isinstance(step, ActionStep) and step.action == form.name
    ]
    return bool(before) and all(isinstance(step, ActionStep) for step in before)


def _validation(form: Form) -> str:
    return f"validate_{form.name}"


def _is_asked_for(slot: Slot | None) -> bool:
    """Whether a slot may be empty when its form asks; one that is not defined is reported as that."""
    if slot is None or slot.initial_value is not None:
        return False
    return all(mapping.type != "from_trigger_intent" for mapping in slot.mappings)


@check(
    "form-action-unlisted",
    "warning",
    title="An action that a form would run is not listed in the domain",
    text="Rasa only runs what the domain lists. Add it to `actions`.",
    wrong="actions: []  # and a class in actions.py has the name validate_pizza_form",
    right="actions: [validate_pizza_form]",
    matters_always=True,
    needs=("domain",),
    about=("action",),
)
def form_action_unlisted(facts: Facts) -> Iterator[Fault]:
    """Classes of the project's code that validate or ask for the slots of its forms, and that the domain lacks."""
    forms = facts.domain.forms.values()
    looked_for = {_validation(form) for form in forms}
    looked_for |= {
        name
        for form in forms
        for slot in form.required_slots
        for name in questions(form.name, slot)
        if name.startswith("action_")
    }
    if facts.domain.slots and facts.domain.rasa > _FIRST_WITH_SLOTS:
        looked_for.add(ACTION_VALIDATE_SLOT_MAPPINGS)
    missing = looked_for - facts.domain.actions.keys()
    said: set[str] = set()
    for use in facts.code_uses if missing else ():
        if use.kind == "class" and use.name in missing - said:
            said.add(use.name)
            message = f"The domain does not list the action '{use.name}', which this class defines: it is never run."
            yield Fault(message, use.location, names=(Name("action", use.name),))
