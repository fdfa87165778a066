"""Reads a report with many thousands of cases: case by case, with shared values only once in memory.

Decoded in one piece, each case would have its own copy of every name in it, and take four times the memory.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import force_setattr

from turncheck.messages.finding import Location
from turncheck.report.model import Core, Nlu, NluPrediction, Report, StoryResult, TrainingSentence, WrittenStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from turncheck.report.model import EntitySpan, StoryStep

_Value = TypeVar("_Value")


def decode_large(content: bytes) -> Report:
    """Decode a report, equal to what msgspec makes of it in one piece.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: it is not valid; the place in the message is that
            within one case.
    """
    outline = _OUTLINE.decode(content)
    common = _Common()
    core = outline.core and _whole(Core, outline.core, stories=map(common.story, outline.core.stories))
    nlu = outline.nlu and _whole(
        Nlu,
        outline.nlu,
        training=map(common.training_sentence, outline.nlu.training),
        predictions=map(common.prediction, outline.nlu.predictions),
    )
    return _whole(Report, outline, core=core, nlu=nlu, training=map(common.training_sentence, outline.training))


def _without(kind: type, **others: Any) -> Any:
    """Return a type like this one, with other types for some fields."""
    fields = [
        (field.name, others.get(field.name, field.type), msgspec.field(**_default_of(field)))
        for field in msgspec.structs.fields(kind)
    ]
    return msgspec.defstruct(kind.__name__, fields, kw_only=True, forbid_unknown_fields=True, gc=False)


def _default_of(field: msgspec.structs.FieldInfo) -> dict[str, Any]:
    return {
        name: value
        for name in ("default", "default_factory")
        if (value := getattr(field, name)) is not msgspec.NODEFAULT
    }


def _whole(kind: type[_Value], outline: Any, **parts: Any) -> _Value:
    """Build the value from an outline and the parts that it lacks."""
    made = {name: tuple(part) if isinstance(part, map) else part for name, part in parts.items()}
    return kind(**{name: getattr(outline, name) for name in outline.__struct_fields__} | made)


_RAW: Final = tuple[Raw, ...]
_OUTLINE: Final[Any] = msgspec.json.Decoder(
    _without(
        Report,
        core=_without(Core, stories=_RAW) | None,
        nlu=_without(Nlu, training=_RAW, predictions=_RAW) | None,
        training=_RAW,
    )
)
_STORY: Final[Any] = msgspec.json.Decoder(_without(StoryResult, written=_RAW))
_WRITTEN: Final = msgspec.json.Decoder(WrittenStep)
_PREDICTION: Final = msgspec.json.Decoder(NluPrediction)
_SENTENCE: Final = msgspec.json.Decoder(TrainingSentence)


class _Common:
    """Values that cases have in common, each once.

    In parts that were just decoded, and are not used elsewhere yet, values are replaced by equal ones.
    """

    def __init__(self) -> None:
        self._values: defaultdict[type, dict[Any, Any]] = defaultdict(dict)
        self._written: dict[bytes, WrittenStep] = {}
        self._slots: dict[bytes, dict[str, Any]] = {}

    def story(self, raw: Raw) -> StoryResult:
        outline = _STORY.decode(raw)
        story = _whole(StoryResult, outline, written=map(self._written_step, outline.written))
        force_setattr(story, "location", self._place(story.location))
        for step in story.steps:
            self._step(step)
        return story

    def prediction(self, raw: Raw) -> NluPrediction:
        nlu_prediction = _PREDICTION.decode(raw)
        force_setattr(nlu_prediction, "location", self._place(nlu_prediction.location))
        for side in (nlu_prediction.expected, nlu_prediction.predicted):
            self._replace(side, ("intent", "response"), self._one)
            self._entities(side.entities)
        self._replace(nlu_prediction.predicted, ("tokens",), self._one)
        for ranked in nlu_prediction.predicted.ranking:
            self._replace(ranked, ("name",), self._one)
        if not nlu_prediction.expected.entities:
            self._replace(nlu_prediction, ("expected",), self._one)
        return nlu_prediction

    def training_sentence(self, raw: Raw) -> TrainingSentence:
        sentence = _SENTENCE.decode(raw)
        self._replace(sentence, ("intent",), self._one)
        force_setattr(sentence, "location", self._place(sentence.location))
        return sentence

    def _written_step(self, raw: Raw) -> WrittenStep:
        """A step as it is written back: by its JSON, since 1, 1.0 and true are the same key in Python."""
        content = bytes(raw)
        if content not in self._written:
            self._written[content] = _WRITTEN.decode(content)
        return self._written[content]

    def _step(self, step: StoryStep) -> None:
        names = ("expected", "predicted", "policy", "confidence", "active_loop", "alternatives")
        self._replace(step, names, self._one)
        slots = self._slots.setdefault(msgspec.json.encode(step.slots), step.slots)
        force_setattr(step, "slots", slots)
        if step.location is not None:
            force_setattr(step, "location", self._place(step.location))

    def _entities(self, spans: Iterable[EntitySpan]) -> None:
        for span in spans:
            self._replace(span, ("entity", "role", "group", "extractor"), self._one)

    def _replace(self, part: Any, names: Iterable[str], common: Callable[[Any], Any]) -> None:
        for name in names:
            force_setattr(part, name, common(getattr(part, name)))

    def _one(self, value: Any) -> Any:
        """The first equal value of the same type: 1 and 1.0 are equal, too."""
        return self._values[type(value)].setdefault(value, value)

    def _place(self, location: Location) -> Location:
        return Location(self._one(location.path), self._one(location.line), location.column)
