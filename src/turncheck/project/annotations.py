"""Annotated sentences: ``[Rome](city)``, ``[NYC](city:New York)``, ``[LA]{"entity": "city", …}`` and lists of such.

The grammar, as Rasa 3.x reads it (there is no escape for brackets): text in square brackets without ``]`` in it, then
``(entity)`` or ``(entity:value)`` or ``{…}``, a JSON object that ends at the first ``}``, or ``[{…}, {…}]``, several
entities on the same text. Anything else in brackets stays as it is.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from turncheck.project.model import EntityAnnotation

_ANNOTATION: Final = re.compile(
    r"""
    \[ (?P<text> [^\]]+ ) \]
    (?:   \( (?P<entity> [^:)]+ ) (?: : (?P<value> [^)]+ ) )? \)
      |   \{ (?P<attributes> [^}]+ ) \}
      |   \[ (?P<several> .*? ) \]
    )
    """,
    re.VERBOSE,
)
_OBJECT: Final = re.compile(r"\{([^}]+)\}")


class AnnotationError(ValueError):
    """An annotation that Rasa refuses. ``code`` is ``annotation-not-json`` or ``annotation-invalid``.

    ``offset`` is where the annotation stands in the sentence as written.
    """

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.code = code
        self.offset = offset


def parse_annotations(example: str) -> tuple[str, tuple[EntityAnnotation, ...]]:
    """Return the sentence without its marks and its entities; raises :class:`AnnotationError`.

    ``"to [Rome](city)"`` gives ``"to Rome"`` and the entity ``city`` from 3 to 7 with the value ``"Rome"``.
    """
    if "[" not in example:
        return example, ()
    parts: list[str] = []
    entities: list[EntityAnnotation] = []
    done = length = 0
    for match in _ANNOTATION.finditer(example):
        text = match["text"]
        parts += (example[done : match.start()], text)
        start = length + match.start() - done
        length = start + len(text)
        done = match.end()
        if match["entity"] is not None:
            entities.append(EntityAnnotation(start, length, match["entity"], match["value"] or text))
        elif match["attributes"] is not None:
            entities.append(_from_object(match["attributes"], start, text, match.start()))
        else:
            entities += (
                _from_object(attributes, start, text, match.start()) for attributes in _OBJECT.findall(match["several"])
            )
    parts.append(example[done:])
    return "".join(parts), tuple(entities)


def _from_object(attributes: str, start: int, text: str, offset: int) -> EntityAnnotation:
    written = "{" + attributes + "}"
    try:
        data: dict[str, Any] = json.loads(written)
    except (ValueError, RecursionError) as error:
        message = f"The annotation {written} behind [{text}] is not JSON"
        raise AnnotationError("annotation-not-json", message, offset) from error
    if "entity" not in data:
        message = f"The annotation {written} behind [{text}] lacks the key 'entity'"
        raise AnnotationError("annotation-invalid", message, offset)
    for key in ("entity", "role", "group"):
        if key in data and not isinstance(data[key], str):
            message = f"{json.dumps(data[key])} as '{key}' in the annotation {written} is not of type 'string'"
            raise AnnotationError("annotation-invalid", message, offset)
    value = data.get("value", text)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        message = f"{json.dumps(value)} as 'value' in the annotation {written} is not of type 'string' or 'number'"
        raise AnnotationError("annotation-invalid", message, offset)
    return EntityAnnotation(start, start + len(text), data["entity"], value, data.get("role"), data.get("group"))
