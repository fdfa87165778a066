"""Checks that all NLU data in JSON share, whichever tool wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.messages.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.nlu_data import EntityAnnotation
    from turncheck.yaml_tree.json_tree import JsonDocument

_COUNT: Final = "Count characters, not bytes, from 0, the end exclusive."


def not_json(document: JsonDocument) -> Finding | None:
    """Why a file is not JSON, which Rasa skips silently; ``None`` if it is."""
    path = document.source.path
    if document.source.has_byte_order_mark:
        what = f"'{path}' is not read: it begins with a byte order mark, so that Rasa does not take it for JSON."
        hint = "Save it without one: Rasa silently skips the file."
        return Finding("data-not-json", "error", what, Location(path, 1, 1), hint)
    fault = next((one for one in document.faults if one.kind != "duplicate-key"), None)
    if fault is None:
        return None
    what = f"'{path}' is not read: it is not JSON: {fault.what}."
    hint = "Correct it there: Rasa silently skips the file. `turncheck data convert nlu` writes YAML."
    return Finding("data-not-json", "error", what, fault.location, hint)


def lookup_file_missing(name: str, path: str, place: Location) -> Finding:
    """A lookup table whose file does not exist."""
    what = f"The file '{path[:60]}' of the lookup table '{name}' does not exist; training fails."
    return Finding("lookup-file-missing", "error", what, place, "Correct the path; it counts from the project.")


def out_of_range(entity: EntityAnnotation, text: str, place: Location) -> Iterator[Finding]:
    """An entity whose offsets are outside its sentence; Rasa does not check offsets."""
    if not 0 <= entity.start < entity.end <= len(text):
        what = (
            f"The entity '{entity.entity}' at {entity.start} to {entity.end} lies outside of its sentence of "
            f"{len(text)} characters, and nothing is learnt from it."
        )
        yield Finding("entity-out-of-range", "warning", what, place, _COUNT)
