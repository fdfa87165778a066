"""A domain and configured components as JSON, for the model archive: a model answers without the project's files."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from turncheck.engines.embedded.model_archive import as_shape
from turncheck.messages.finding import Location
from turncheck.project.model import (
    Action,
    Component,
    Domain,
    Entity,
    Form,
    Intent,
    Response,
    ResponseVariation,
    SessionConfig,
    Slot,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Json = dict[str, Any]
_Named = TypeVar("_Named", Intent, Entity, Slot, Form, Action)


class _ResponseShape(TypedDict):
    name: str
    variations: list[dict[str, Any]]


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
    """Read what :func:`domain_to_json` wrote. Responses lose their places in the files, the rest keeps them.

    Raises:
        KeyError, msgspec.ValidationError: it is not that.
    """
    return Domain(
        intents=_named(shape["intents"], Intent),
        entities=_named(shape["entities"], Entity),
        slots=_named(shape["slots"], Slot),
        forms=_named(shape["forms"], Form),
        responses={
            response.name: response for response in map(_response, as_shape(shape["responses"], list[_ResponseShape]))
        },
        actions=_named(shape["actions"], Action),
        end_to_end_actions=as_shape(shape["end_to_end_actions"], tuple[str, ...]),
        session=as_shape(shape["session"], SessionConfig),
        rasa=as_shape(shape["rasa"], int),
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


def _named(entries: Any, kind: type[_Named]) -> dict[str, _Named]:
    things: list[_Named] = as_shape(entries, list[kind])  # type: ignore[valid-type]  # only known when it runs
    return {thing.name: thing for thing in things}


def _response(entry: _ResponseShape) -> Response:
    nowhere = Location("")
    variations = tuple(ResponseVariation(content, nowhere) for content in entry["variations"])
    return Response(entry["name"], variations, nowhere)
