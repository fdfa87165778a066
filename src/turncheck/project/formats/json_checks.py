"""What is looked at in NLU data in JSON, whoever wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.location import Location
    from turncheck.project.nlu_data import EntityAnnotation
    from turncheck.yaml_tree.json_tree import JsonDocument

_COUNT: Final = "Count characters, not bytes, from 0, the end exclusive."


def not_json(document: JsonDocument) -> Finding | None:
    """Why a file is not JSON, which Rasa passes over in silence; ``None`` where it is."""
    fault = next((one for one in document.faults if one.kind != "duplicate-key"), None)
    if fault is None:
        return None
    what = f"'{document.source.path}' is not read: it is not JSON: {fault.what}."
    hint = "Correct it there: Rasa passes over the file in silence. `turncheck data convert nlu` writes YAML."
    return Finding("data-not-json", "error", what, fault.location, hint)


def out_of_range(entity: EntityAnnotation, text: str, place: Location) -> Iterator[Finding]:
    """An entity that marks nothing of its sentence; Rasa looks at no offsets."""
    if not 0 <= entity.start < entity.end <= len(text):
        what = (
            f"The entity '{entity.entity}' at {entity.start} to {entity.end} lies outside of its sentence of "
            f"{len(text)} characters, and nothing is learnt from it."
        )
        yield Finding("entity-out-of-range", "warning", what, place, _COUNT)
