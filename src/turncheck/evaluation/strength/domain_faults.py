"""Faults in the domain: responses, slots, forms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.strength.mutant import BY_NAME, Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.location import Location
    from turncheck.project.model import Domain, Form, Project, Response, Slot

REPLACED: Final = "(another text)"
"""The text that replaces a response's own."""


def domain_faults(project: Project) -> Iterator[Mutant]:
    """Yield the project with a fault in its domain."""
    domain = project.domain
    yield from _of_responses(project)
    for slot in domain.slots.values():
        touched = frozenset({f"slot {slot.name}", *(f"entity {one.entity}" for one in slot.mappings if one.entity)})
        for number, mapping in enumerate(slot.mappings):
            kept = (*slot.mappings[:number], *slot.mappings[number + 1 :])
            yield Mutant(
                BY_NAME["drop-mapping"], f"the slot '{slot.name}' without its mapping {mapping.type}",
                mapping.location, _with_slot(project, replace(slot, mappings=kept)), touched, (mapping.location,),
            )  # fmt: skip
            if mapping.conditions:
                free = (*slot.mappings[:number], replace(mapping, conditions=()), *slot.mappings[number + 1 :])
                yield Mutant(
                    BY_NAME["drop-mapping-condition"],
                    f"the mapping {mapping.type} of the slot '{slot.name}' without its conditions",
                    mapping.location, _with_slot(project, replace(slot, mappings=free)), touched, (mapping.location,),
                )  # fmt: skip
        for number, value in enumerate(slot.values or ()):
            if isinstance(value, str):
                values = slot.values or ()
                renamed = (*values[:number], f"{value}_x", *values[number + 1 :])
                place = slot.places[number] if number < len(slot.places) else slot.location
                yield Mutant(
                    BY_NAME["rename-category"], f"the value '{value}' of the slot '{slot.name}' is called '{value}_x'",
                    place, _with_slot(project, replace(slot, values=renamed)), touched, (place,),
                )  # fmt: skip
    for form in domain.forms.values():
        for number, name in enumerate(form.required_slots):
            place = form.places[number] if number < len(form.places) else form.location
            kept_slots = tuple(one for one in form.required_slots if one != name)
            yield Mutant(
                BY_NAME["drop-required-slot"], f"the form '{form.name}' without '{name}'", place,
                _with_form(project, replace(form, required_slots=kept_slots)),
                frozenset({f"form {form.name}", f"slot {name}", f"action utter_ask_{name}"}), (place,),
            )  # fmt: skip


def _of_responses(project: Project) -> Iterator[Mutant]:
    with_text = [one for one in project.domain.responses.values() if any(v.text for v in one.variations)]
    for response in with_text:
        new = replace(
            response,
            variations=tuple(
                replace(one, content={**one.content, "text": REPLACED}) if one.text else one
                for one in response.variations
            ),
        )
        yield Mutant(
            BY_NAME["replace-response"], f"'{response.name}' says something else", response.location,
            _with_responses(project, new), _touched(response), _places(response),
        )  # fmt: skip
        for number, variation in enumerate(response.variations):
            if variation.conditions:
                free = {key: value for key, value in variation.content.items() if key != "condition"}
                variations = (
                    *response.variations[:number], replace(variation, content=free), *response.variations[number + 1 :],
                )  # fmt: skip
                yield Mutant(
                    BY_NAME["drop-response-condition"], f"a variation of '{response.name}' without its condition",
                    variation.location, _with_responses(project, replace(response, variations=variations)),
                    _touched(response), (variation.location,),
                )  # fmt: skip
    for one, other in zip(with_text[::2], with_text[1::2], strict=False):
        swapped = replace(one, variations=other.variations), replace(other, variations=one.variations)
        yield Mutant(
            BY_NAME["swap-responses"], f"'{one.name}' and '{other.name}' are swapped", one.location,
            _with_responses(project, *swapped), _touched(one) | _touched(other), (*_places(one), *_places(other)),
        )  # fmt: skip


def _places(response: Response) -> tuple[Location, ...]:
    return (response.location, *(one.location for one in response.variations))


def _touched(response: Response) -> frozenset[str]:
    return frozenset({f"action {response.name}", f"action {response.name.partition('/')[0]}"})


def _with_responses(project: Project, *responses: Response) -> Project:
    changed = {**project.domain.responses, **{one.name: one for one in responses}}
    return _with(project, replace(project.domain, responses=changed))


def _with_slot(project: Project, slot: Slot) -> Project:
    return _with(project, replace(project.domain, slots={**project.domain.slots, slot.name: slot}))


def _with_form(project: Project, form: Form) -> Project:
    return _with(project, replace(project.domain, forms={**project.domain.forms, form.name: form}))


def _with(project: Project, domain: Domain) -> Project:
    return replace(project, domain=domain)
