"""What Rasa reads from text that begins with a slash: intent, confidence, entities, and a rest that is dropped."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import suggestion
from turncheck.validation.checks import own_check
from turncheck.validation.findings import found
from turncheck.validation.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.validation.facts import Facts


CHECKS: Final = (
    own_check(
        "button-payload-invalid",
        "warning",
        "The payload of a button cannot be read",
        'A payload that begins with a slash is `/intent` or `/intent{"entity": "value"}` with valid JSON. This one is'
        " treated as plain text, or its entities are dropped.",
        'payload: \'/inform{"size": "large"\'',
        'payload: \'/inform{"size": "large"}\'',
        matters_always=True,
        about=("place",),
    ),
    own_check(
        "button-intent-undefined",
        "warning",
        "The payload of a button names an intent that the domain does not list",
        "A click is treated as plain text. List the intent, or correct its name.",
        "payload: /afirm",
        "payload: /affirm",
        matters_always=True,
        needs=("domain",),
        about=("intent", "place"),
    ),
    own_check(
        "button-entity-undefined",
        "warning",
        "The payload of a button names an entity that the domain does not list",
        "The entity is dropped. List it, or correct its name.",
        'payload: \'/inform{"sise": "large"}\'',
        'payload: \'/inform{"size": "large"}\'',
        matters_always=True,
        needs=("domain",),
        about=("entity", "place"),
    ),
)


# What Rasa reads from text that begins with a slash: intent, confidence, entities, and a rest that is dropped.
_SLOT = re.compile(r"(?<!\{)\{[^\W\d]\w*\}")
_PAYLOAD = re.compile(r"/(?P<intent>[^{@]+)(?P<confidence>@[0-9.]+)?(?P<entities>\{.+\})?(?P<rest>.*)", re.DOTALL)


def check_buttons(facts: Facts) -> Iterator[Finding]:
    """Payloads of buttons and quick replies."""
    places = Places(facts.project)
    for response in facts.domain.responses.values():
        for number, variation in enumerate(response.variations):
            for key in ("buttons", "quick_replies"):
                for position, button in enumerate(variation.content.get(key) or ()):
                    payload = button.get("payload") if isinstance(button, dict) else None
                    if isinstance(payload, str) and payload.strip().startswith("/"):
                        path = ("responses", response.name, number, key, position, "payload")
                        location = places.of_entry(payload, variation.location, *path)
                        yield from _payload(facts, response.name, payload.strip(), location)


def filled_payload(payload: str) -> str:
    """Return the payload as Rasa sends it, with 1 for each slot: double braces become single ones."""
    filled = _SLOT.sub("1", payload)
    if "{{" not in payload or filled.count("{{") != filled.count("}}"):
        return payload
    return filled.replace("{{", "{").replace("}}", "}")


class Payload(NamedTuple):
    """What a message that begins with a slash stands for: an intent and the names of entities."""

    intent: str
    entities: tuple[str, ...]


def payload_of(said: str) -> Payload | None:
    """Return what a user message stands for; ``None`` if it is text, or a payload that cannot be read."""
    match = _PAYLOAD.fullmatch(said.strip())
    if match is None or match["rest"]:
        return None
    try:
        entities = json.loads(match["entities"] or "{}")
    except (ValueError, RecursionError):
        return None
    return Payload(match["intent"].strip(), tuple(entities)) if isinstance(entities, dict) else None


def _payload(facts: Facts, response: str, payload: str, location: Location) -> Iterator[Finding]:
    match = _PAYLOAD.fullmatch(filled_payload(payload))
    where = f"The payload '{payload}' of a button of '{response}'"
    entities: Any = {}
    if match is not None and match["entities"]:
        try:
            entities = json.loads(match["entities"])
        except (ValueError, RecursionError):
            entities = None
    if match is None or match["rest"] or not isinstance(entities, dict):
        yield found("button-payload-invalid", f"{where} cannot be read.", location)
        return
    left = _SLOT.search(match["entities"] or "")
    if left is not None:
        advice = "Double the braces of the JSON: '/intent{{…}}'."
        yield found("button-payload-invalid", f"{where} is said with '{left[0]}' as is.", location, advice)
    yield from _intent(facts, match["intent"].strip(), payload, where, location)
    for name in entities:
        if name not in facts.domain.entities:
            yield found(
                "button-entity-undefined",
                f"{where} names the entity '{name}', which the domain does not list.",
                location,
                suggestion(name, facts.entities),
                names=(Name("payload", payload), Name("entity", name)),
            )


def _intent(facts: Facts, intent: str, payload: str, where: str, location: Location) -> Iterator[Finding]:
    """The intent of a payload. One with a key is none that the domain lists, even where there are examples for it."""
    if intent in facts.intents:
        return
    base, key, _ = intent.partition("/")
    advice = suggestion(intent, facts.intents)
    if key and base in facts.retrieval_intents:
        advice = "A payload cannot choose a key: write a sentence that is understood as it."
        if intent in facts.retrieval_labels or "nlu" in facts.missing:
            if facts.project.older is None:
                yield found("button-payload-invalid", f"{where} names a key of '{base}'.", location, advice)
            return
    yield found(
        "button-intent-undefined",
        f"{where} names the intent '{intent}', which the domain does not list.",
        location,
        advice,
        names=(Name("payload", payload), Name("intent", intent if base in facts.intents else base)),
    )
