"""Converts an engine's answers to JSON and back exactly, and only the types that are listed here.

The value that is read equals the one written: floats to the last digit, tuples as tuples. Nothing is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET

from turncheck.dialogue.events import UserUttered
from turncheck.engines.base import SuiteAnswers, UtteranceAnswer
from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.evaluations.answers import EngineFacts
from turncheck.evaluations.core.annotated import AnnotatedText, Entity
from turncheck.evaluations.core.judging import StoryAnswer
from turncheck.evaluations.core.story_run import MisparsedMessage, StoryRun
from turncheck.evaluations.e2e.case import CaseOutcome
from turncheck.evaluations.e2e.steps import Exercised
from turncheck.evaluations.nlu.splits import FoldRun
from turncheck.evaluations.varying.attempts import StoredRun, StoredRuns
from turncheck.evaluations.varying.batch import RepeatedSuite
from turncheck.messages.finding import Location
from turncheck.messages.value_classes import field_names
from turncheck.report import model
from turncheck.report.batch import BatchResult, BatchSetting
from turncheck.report.entities import EntitySpan, Tokens
from turncheck.report.part import LARGEST, LARGEST_FIGURE
from turncheck.report.strength import Strength

_TYPES: Final[Mapping[str, type]] = {
    one.__name__: one
    for one in (
        *(Parse, PredictedEntity, PredictedIntent, SelectedResponse, SuiteAnswers, UtteranceAnswer),
        *(EngineFacts, FoldRun, StoryAnswer, StoryRun, MisparsedMessage, AnnotatedText, CaseOutcome, Exercised),
        *(
            UserUttered,
            Location,
            model.Alternative,
            model.Attempt,
            model.CaseMessage,
            model.CaseResult,
            model.CaseStep,
            model.EngineInfo,
            EntitySpan,
        ),
        *(
            model.Misunderstanding,
            model.NearSentence,
            model.RankedIntent,
            model.StoryParse,
            model.StoryStep,
            model.Substitution,
            model.WrittenStep,
        ),
        *(model.TurnEvent, model.TurnTrace, model.MeasuredTurn, BatchSetting, StoredRun, StoredRuns, RepeatedSuite),
    )
}
_NEVER: Final = frozenset({"repeats"})
"""Fields that no answer has: what several runs say is judged where all of them are known."""
_NAMES: Final[Mapping[type, tuple[str, ...]]] = {
    one: tuple(name for name in field_names(one) or () if name not in _NEVER) for one in _TYPES.values()
}
_ANNOTATED: Final = {
    **_TYPES,
    "Mapping": Mapping,
    "Any": Any,
    "Entity": Entity,
    "Tokens": Tokens,
    "BatchResult": BatchResult,
}
"""What the annotations of their fields name."""
_SECTIONS: Final[Mapping[str, type]] = {one.__name__: one for one in (model.Robustness, Strength)}
"""Complete sections of the report that are single answers: written as in the report."""
ANSWER_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "engine": (EngineFacts,),
    "fold": (FoldRun,),
    "sentence": (Parse, StoredRuns),
    "story": (StoryAnswer,),
    "case": (CaseOutcome, StoredRuns),
    "suite": (SuiteAnswers, RepeatedSuite),
    "section": tuple(_SECTIONS.values()),
}
"""The types of answers by the kind of their units."""
_LIST, _TUPLE, _SET, _MAPPING, _LEFT_OUT = "[]", "()", "{}", "{:}", "-"
_COMMON: Final = frozenset({model.WrittenStep.__name__, model.Alternative.__name__, _MAPPING})
"""What many answers have in common. Nobody changes a mapping in an answer."""
_NAME: Final = 80
"""Longer strings are hardly names."""
_PART: Final = 1_000
"""ParsedFile whose JSON is longer are hardly common."""
_MOST_SHARED: Final = 4_096
"""So many strings and parts are shared at a time: those that only one answer has would fill the memory."""


class UnwritableError(ValueError):
    """A value cannot be written so that the same value is read again."""


class UnreadableError(ValueError):
    """What is read is not an answer, or is damaged."""


def write_answer(answer: Any) -> str:
    """Return an answer as JSON on one line.

    Raises:
        UnwritableError: something in it is of a type that is not listed here.
    """
    try:
        return json.dumps(_plain(answer), separators=(",", ":"))
    except RecursionError as error:
        raise UnwritableError("too deep") from error


def read_answer(text: str | bytes) -> Any:
    """Return the answer that was written.

    Raises:
        UnreadableError: it is not one.
    """
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from error
    return AnswerReader().value_of(plain)


class AnswerReader:
    """Reads answers. What they have in common is only once in memory, as it is for the engine that gave them."""

    def __init__(self) -> None:
        self._strings: dict[str, str] = {}
        self._parts: dict[str, Any] = {}

    def value_of(self, plain: Any) -> Any:
        """Return the answer from its JSON, which is already parsed.

        Raises:
            UnreadableError: it is not one.
        """
        try:
            return self._value(plain)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UnreadableError(str(error)) from error

    def _value(self, plain: Any) -> Any:
        if isinstance(plain, str):
            return _shared(self._strings, plain, lambda: plain) if len(plain) <= _NAME else plain
        if not isinstance(plain, dict):
            if isinstance(plain, list):
                raise UnreadableError("a list without its kind")
            return plain
        ((kind, items),) = plain.items()
        if kind not in _COMMON:
            return self._made(kind, items)
        text = json.dumps(plain)  # not the value: 1, 1.0 and true are equal
        if len(text) > _PART:
            return self._made(kind, items)
        return _shared(self._parts, text, lambda: self._made(kind, items))

    def _made(self, kind: str, items: Any) -> Any:
        if kind == _LIST:
            return [self._value(item) for item in items]
        if kind == _TUPLE:
            values = tuple(self._value(item) for item in items)
            is_of_names = len(values) == 2 and all(isinstance(value, str) and len(value) <= _NAME for value in values)
            return _shared(self._parts, json.dumps(values), lambda: values) if is_of_names else values
        if kind == _SET:
            return frozenset(items)
        if kind == _LEFT_OUT:
            return UNSET
        if kind == _MAPPING:
            return {self._value(key): self._value(item) for key, item in items}
        if kind in _SECTIONS:
            return msgspec.json.decode(items, type=_SECTIONS[kind])
        return _with_fields(kind, dict(zip(_NAMES[_TYPES[kind]], map(self._value, items), strict=True)))


def _shared(known: dict[str, Any], text: str, make: Callable[[], Any]) -> Any:
    if text not in known:
        value = make()
        if len(known) >= _MOST_SHARED:
            known.clear()
        known[text] = value
    return known[text]


# The types of fields: whoever wrote an answer may have put anything there, and what is computed from it relies on them.


def _with_fields(kind: str, values: Mapping[str, Any]) -> Any:
    """Return an object of a class with these fields; what is in them has been checked.

    Raises:
        ValueError: a field has another type.
    """
    for name, fits in _checks(kind).items():
        if not fits(values[name]):
            raise UnreadableError(f"{kind}.{name} has another type")
    return _TYPES[kind](**values)


@cache
def _checks(kind: str) -> dict[str, Callable[[Any], bool]]:
    hints = get_type_hints(_TYPES[kind], localns=_ANNOTATED, include_extras=True)
    return {name: _check(hints[name]) for name in _NAMES[_TYPES[kind]]}


def _check(hint: Any) -> Callable[[Any], bool]:
    """Return what checks whether a value is of an annotated type; numbers are as a report may have them."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return lambda _: True
    if kind is Literal:
        return lambda value: value in parts
    if kind is Annotated:
        fits, bounds = _check(parts[0]), parts[1]
        return lambda value: fits(value) and _is_within(value, bounds)
    checks = [_check(part) for part in parts if part is not Ellipsis]
    if kind in {Union, UnionType}:
        return lambda value: any(fits(value) for fits in checks)
    if kind is tuple and Ellipsis not in parts:
        return lambda value: (
            type(value) is tuple
            and len(value) == len(checks)
            and all(fits(one) for fits, one in zip(checks, value, strict=True))
        )
    if kind in {tuple, list, frozenset}:
        return lambda value: type(value) is kind and all(map(checks[0], value))
    if kind in {dict, Mapping}:
        return lambda value: type(value) is dict and all(map(checks[0], value)) and all(map(checks[1], value.values()))
    if kind is float:
        return lambda value: type(value) in {float, int} and abs(value) <= LARGEST_FIGURE  # not what is not a number
    if kind is int:  # a place or a number of something
        return lambda value: type(value) is int and 0 <= value <= LARGEST
    return lambda value: type(value) is kind


def _is_within(value: Any, bounds: msgspec.Meta) -> bool:
    if bounds.pattern is not None:
        return re.search(bounds.pattern, value) is not None
    return bool(bounds.ge is not None and bounds.le is not None and bounds.ge <= value <= bounds.le)


def _plain(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in {bool, int, str, float}:
        return value
    if value is UNSET:
        return {_LEFT_OUT: []}
    if isinstance(value, float):  # so are NumPy's floats
        return float(value)
    if kind is list:
        return {_LIST: [_plain(one) for one in value]}
    if kind is tuple:
        return {_TUPLE: [_plain(one) for one in value]}
    if isinstance(value, frozenset):
        return {_SET: sorted(value)}
    if _TYPES.get(kind.__name__) is kind:
        return {kind.__name__: [_plain(getattr(value, name)) for name in _NAMES[kind]]}
    if _SECTIONS.get(kind.__name__) is kind:
        return {kind.__name__: msgspec.json.encode(value).decode()}
    if isinstance(value, Mapping):
        return {_MAPPING: [[_plain(key), _plain(item)] for key, item in value.items()]}
    raise UnwritableError(f"a {kind.__name__} cannot be written")
