"""What only an older Rasa refuses or reads otherwise, once it is known that a project is of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.messages.finding import Finding
from turncheck.project.formats import rasa_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.project.files import DataFile


def refused_in_data(major: int, data: Iterable[DataFile]) -> Iterator[Finding]:
    """What of the training data a version refuses that a later one takes."""
    if major >= 2:
        return
    for one in data:
        if one.format is rasa_json.FORMAT:
            yield from _values_that_are_no_strings(one)


def _values_that_are_no_strings(data: DataFile) -> Iterator[Finding]:
    for example in data.parts.nlu.examples:
        for entity in example.entities:
            if not isinstance(entity.value, str):
                what = f"The value {entity.value!r} of the entity '{entity.entity}' is not a string; Rasa 1 ends here."
                yield Finding("annotation-invalid", "error", what, example.location, "Put it in double quotes.")
