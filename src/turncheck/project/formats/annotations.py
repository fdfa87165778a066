"""Annotated sentences: ``[Rome](city)``, ``[NYC](city:New York)``, ``[LA]{"entity": "city", …}`` and lists of such.

The grammar, as Rasa 3.x reads it (brackets cannot be escaped): text without ``]`` in square brackets, then
``(entity)`` or ``(entity:value)`` or ``{…}``, a JSON object that ends at the first ``}``, or ``[{…}, {…}]`` for several
entities on the same text. Anything else in brackets stays as it is.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

from turncheck.project.nlu_data import EntityAnnotation

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK: Final = re.compile(
    r"""
          \( (?P<entity> [^:)]+ ) (?: : (?P<value> [^)]+ ) )? \)
      |   \{ (?P<attributes> [^}]+ ) \}
      |   \[ (?P<several> .*? ) \]
    """,
    re.VERBOSE,
)
"""What follows the annotated text."""
_OBJECT: Final = re.compile(r"\{([^}]+)\}")


class AnnotationError(ValueError):
    """An annotation that Rasa refuses. ``code`` is ``annotation-not-json`` or ``annotation-invalid``.

    ``offset`` is the position of the annotation in the sentence as written.
    """

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.code = code
        self.offset = offset


def parse_annotations(example: str, *, lists: bool = True) -> tuple[str, tuple[EntityAnnotation, ...]]:
    """Return the sentence without its marks, and its entities; raises :class:`AnnotationError`.

    ``lists``: whether ``[{…}, {…}]`` is a mark, which Rasa 1.x does not know.

    ``"to [Rome](city)"`` gives ``"to Rome"`` and the entity ``city`` from 3 to 7 with the value ``"Rome"``.
    """
    if "[" not in example:
        return example, ()
    parts: list[str] = []
    entities: list[EntityAnnotation] = []
    done = length = 0
    for opening, text, mark in _annotations(example, lists=lists):
        parts += (example[done:opening], text)
        start = length + opening - done
        length = start + len(text)
        done = mark.end()
        if mark["entity"] is not None:
            entities.append(EntityAnnotation(start, length, mark["entity"], mark["value"] or text))
        elif mark["attributes"] is not None:
            entities.append(_from_object(mark["attributes"], start, text, opening))
        else:
            several = mark["several"][: mark["several"].rfind("}") + 1]
            entities += (_from_object(attributes, start, text, opening) for attributes in _OBJECT.findall(several))
    parts.append(example[done:])
    return "".join(parts), tuple(entities)


class WrittenSentence:
    """A sentence with its marks, and where the characters of the plain text are in it."""

    def __init__(self, example: str) -> None:
        self._starts: list[int] = []
        self._marked: list[tuple[int, int, int]] = []
        done = length = 0
        for opening, text, mark in _annotations(example):
            start = length + opening - done
            self._starts.append(start)
            self._marked.append((opening, len(text), mark.end()))
            done, length = mark.end(), start + len(text)

    def offset(self, plain: int) -> int:
        """Return the position, in the sentence with marks, of a character of the one without."""
        number = bisect_right(self._starts, plain) - 1
        if number < 0:
            return plain
        opening, length, end = self._marked[number]
        within = plain - self._starts[number]
        return opening + 1 + within if within < length else end + within - length


def _annotations(example: str, *, lists: bool = True) -> Iterator[tuple[int, str, re.Match[str]]]:
    """Yield where each annotation begins, its text and the mark after it, in linear time.

    A single regular expression would retry every ``[`` of a long run; here all those before one ``]`` are decided at
    once, and a mark is tried only if its end is still to come.
    """
    last_end = {"(": example.rfind(")"), "{": example.rfind("}"), "[": example.rfind("]") if lists else -1}
    opening = example.find("[")
    while opening >= 0:
        closing = example.find("]", opening + 1)
        if closing < 0:
            return
        behind = closing + 1
        is_possible = closing > opening + 1 and behind < last_end.get(example[behind : behind + 1], -1)
        mark = _MARK.match(example, behind) if is_possible else None
        if mark is not None:
            yield opening, example[opening + 1 : closing], mark
            behind = mark.end()
        opening = example.find("[", behind)


def _from_object(attributes: str, start: int, text: str, offset: int) -> EntityAnnotation:
    written = "{" + attributes + "}"
    try:
        data: dict[str, Any] = json.loads(written)
    except (ValueError, RecursionError) as error:
        message = f"The annotation {written} after [{text}] is not JSON"
        raise AnnotationError("annotation-not-json", message, offset) from error
    if "entity" not in data:
        message = f"The annotation {written} after [{text}] lacks the key 'entity'"
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
