"""A domain and configured components as JSON, for the model archive: a model answers without the project's files."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from turncheck.messages.location import Location
from turncheck.project.model import (
    Action,
    Component,
    Domain,
    Entity,
    Form,
    Intent,
    MappingCondition,
    Response,
    ResponseVariation,
    SessionConfig,
    Slot,
    SlotMapping,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Json = dict[str, Any]


def domain_to_json(domain: Domain) -> Json:
    """Return the domain as JSON values. Lists keep the order of the files."""
    return {
        "intents": _listed(domain.intents),
        "entities": _listed(domain.entities),
        "slots": _listed(domain.slots),
        "forms": _listed(domain.forms),
        "responses": [
            {"name": name, "variations": [dict(variation.content) for variation in response.variations]}
            for name, response in domain.responses.items()
        ],
        "actions": _listed(domain.actions),
        "end_to_end_actions": list(domain.end_to_end_actions),
        "session": asdict(domain.session),
        "rasa": domain.rasa,
    }


def domain_from_json(shape: Mapping[str, Any]) -> Domain:
    """Read what :func:`domain_to_json` wrote. Responses lose their places in the files, the rest keeps them."""
    return Domain(
        intents=_named(shape["intents"], _intent),
        entities=_named(shape["entities"], _entity),
        slots=_named(shape["slots"], _slot),
        forms=_named(shape["forms"], _form),
        responses=_named(shape["responses"], _response),
        actions=_named(shape["actions"], _action),
        end_to_end_actions=tuple(shape["end_to_end_actions"]),
        session=SessionConfig(**shape["session"]),
        rasa=shape["rasa"],
    )


def components_to_json(components: Iterable[Component]) -> list[Json]:
    """Return names and parameters of configured components."""
    return [{"name": component.name, "parameters": dict(component.parameters)} for component in components]


def components_from_json(shape: Sequence[Mapping[str, Any]]) -> tuple[Component, ...]:
    """Read what :func:`components_to_json` wrote."""
    return tuple(Component(entry["name"], entry["parameters"], Location("")) for entry in shape)


def _listed(things: Mapping[str, Any]) -> list[Json]:
    # The places of single values are not needed in a model.
    return [{key: value for key, value in asdict(thing).items() if key != "places"} for thing in things.values()]


def _named(entries: Sequence[Json], read: Callable[[Json], Any]) -> dict[str, Any]:
    return {entry["name"]: read(entry) for entry in entries}


def _location(entry: Json) -> Location:
    return Location(**entry["location"])


def _intent(entry: Json) -> Intent:
    use = entry["use_entities"]
    return Intent(
        entry["name"],
        _location(entry),
        tuple(use) if isinstance(use, list) else use,
        tuple(entry["ignore_entities"]),
        entry["triggers"],
    )


def _entity(entry: Json) -> Entity:
    return Entity(
        entry["name"],
        _location(entry),
        tuple(entry["roles"]),
        tuple(entry["groups"]),
        entry["influence_conversation"],
    )


def _slot(entry: Json) -> Slot:
    plain = {key: value for key, value in entry.items() if key not in {"location", "mappings", "values"}}
    return Slot(
        **plain,
        location=_location(entry),
        mappings=tuple(_mapping(mapping) for mapping in entry["mappings"]),
        values=None if entry["values"] is None else tuple(entry["values"]),
    )


def _mapping(entry: Json) -> SlotMapping:
    other = {"location", "conditions", "intents", "not_intents"}
    plain = {key: value for key, value in entry.items() if key not in other}
    return SlotMapping(
        **plain,
        location=_location(entry),
        intents=tuple(entry["intents"]),
        not_intents=tuple(entry["not_intents"]),
        conditions=tuple(MappingCondition(**condition) for condition in entry["conditions"]),
    )


def _form(entry: Json) -> Form:
    return Form(entry["name"], _location(entry), tuple(entry["required_slots"]), tuple(entry["ignored_intents"]))


def _response(entry: Json) -> Response:
    nowhere = Location("")
    variations = tuple(ResponseVariation(content, nowhere) for content in entry["variations"])
    return Response(entry["name"], variations, nowhere)


def _action(entry: Json) -> Action:
    return Action(entry["name"], _location(entry), entry["send_domain"])
