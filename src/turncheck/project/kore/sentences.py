"""The sentences of an export (``sentences[]``): the intent that each is an example of, and its annotations."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from turncheck.project.kore.faults import Fault, shown
from turncheck.project.kore.places import Place, Texts
from turncheck.project.kore.values import clean, records
from turncheck.project.nlu_data import EntityAnnotation, WholeLabelExample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.yaml_tree.json_places import JsonFile, Step

_HINT_SPAN = "Annotate the entity anew on the platform, and export again."


class Sentence(NamedTuple):
    """A cleaned sentence in any language, with its intent and entities."""

    language: str
    example: WholeLabelExample


class _Span(NamedTuple):
    start: int
    end: int
    name: str
    number: int


class SentenceReader:
    """Reads the sentences, and collects their faults in ``faults``.

    ``tasks``: intents by the ID of their component; ``entities``: names by the ID of theirs.
    """

    def __init__(
        self,
        file: JsonFile,
        prefix: tuple[Step, ...],
        default: str,
        tasks: Mapping[str, str],
        entities: Mapping[str, str],
    ) -> None:
        self.faults: list[Fault] = []
        self._file = file
        self._prefix = (*prefix, "sentences")
        self._default = default
        self._tasks = tasks
        self._entities = entities
        self._origin = Texts(file)

    def read(self, data: Any) -> Iterator[Sentence]:
        """Yield the sentences that have a text and an intent, in the order of the file."""
        for number, record in records(data):
            language = clean(record.get("language")) or self._default
            written = record.get("sentence")
            text = clean(written)
            if not text or not isinstance(written, str):
                message = "A sentence is empty; it teaches nothing."
                self._note("kore-empty-sentence", message, number, "Remove it on the platform.")
                continue
            intent = self._tasks.get(clean(record.get("taskId")))
            if intent is None:
                message = f"The sentence {shown(text)} belongs to no task of this export, and is left out."
                self._note("kore-unresolved-task", message, number, "Remove it on the platform, or export its task.")
                continue
            annotated = record.get("entities")
            entities = self._spans(annotated, number, written, text) if annotated else ()
            index = self._origin.add((*self._prefix, number, "sentence"))
            yield Sentence(language, WholeLabelExample(text, intent, entities, None, self._origin, index))

    def _spans(self, data: Any, number: int, written: str, text: str) -> tuple[EntityAnnotation, ...]:
        """Return the annotations of a sentence with known borders and names; none if two of them overlap."""
        found: list[_Span] = []
        units = _Units(written)
        for place, record in records(data):
            start, end = units.index(record.get("startIndex")), units.index(record.get("endIndex"))
            if start is None or end is None or not written[start:end].strip():
                message = f"An annotation of the sentence {shown(text)} lies outside of it; it is left out."
                self._note("kore-span-out-of-range", message, number, _HINT_SPAN, "entities", place)
                continue
            name = self._entities.get(clean(record.get("entityId")))
            if name is None:
                message = f"An annotation of the sentence {shown(text)} names no entity of this export; it is left out."
                self._note("kore-unresolved-entity", message, number, _HINT_SPAN, "entities", place)
                continue
            found.append(_trimmed(written, start, end, name, place))
        found.sort(key=lambda span: (span.start, span.end))
        for one, other in pairwise(found):
            if other.start < one.end:
                message = f"Annotations of the sentence {shown(text)} overlap; none of them is used."
                self._note("kore-span-overlap", message, number, _HINT_SPAN, "entities", other.number)
                return ()
        shift = len(written) - len(written.lstrip())
        return tuple(
            EntityAnnotation(
                span.start - shift, span.end - shift, span.name, text[span.start - shift : span.end - shift]
            )
            for span in found
        )

    def _note(self, code: str, message: str, number: int, hint: str, *more: Step) -> None:
        path: Sequence[Step] = (number, *(more or ("sentence",)))
        self.faults.append(Fault(code, message, Place(self._file, (*self._prefix, *path)), hint))


def _trimmed(text: str, start: int, end: int, name: str, number: int) -> _Span:
    """A span without leading and trailing spaces that were marked along with the words."""
    marked = text[start:end]
    return _Span(start + len(marked) - len(marked.lstrip()), end - (len(marked) - len(marked.rstrip())), name, number)


class _Units:
    """Converts the platform's offsets, which count UTF-16 code units, to indexes of characters."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        # Hardly any sentence has a character of two units.
        plain = text.isascii() or max(text) <= "\uffff"
        self._starts = None if plain else [0, *accumulate(1 + (character > "\uffff") for character in text)]

    def index(self, offset: Any) -> int | None:
        """Return the index; ``None`` if the offset is not a valid number, or points outside or into a character."""
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            return None
        if self._starts is None:
            return offset if offset <= self._length else None
        index = bisect_left(self._starts, offset)
        return index if index < len(self._starts) and self._starts[index] == offset else None
