"""Judges one turn of an end-to-end case: compares what was expected with what happened.

Rules (see ``docs/e2e.md``): events beyond the expected ones never fail; order does not matter, except for slots with
the ``strict`` order; a ``bot`` or ``utter`` step needs a message of its own.
"""

from __future__ import annotations

import difflib
import json
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from turncheck.report.model import CaseStep

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.engines.conversation import Turn
    from turncheck.project.e2e.model import Expectation

SlotOrder = Literal["any", "strict"]

_JOINERS: Final = "\u200c\u200d"
"""Some scripts (Persian, Hindi) and emoji are misspelt without these characters."""
NEAR: Final = 0.75
"""Two texts need at least this similarity (0 to 1, by :mod:`difflib`) for their differences to be marked."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A step with its outcome, and its lines in the difference: what was expected, and what was found instead."""

    step: CaseStep
    lines: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether the expectation was not met."""
        return self.step.outcome == "failed"


@dataclass(frozen=True, slots=True)
class _Message:
    """The part of a bot message that steps compare: its text, or the name of its response."""

    said: str
    response: str | None


@dataclass(frozen=True, slots=True)
class Happened:
    """What matters to steps in a turn: messages, each with its response, and slots in order."""

    texts: tuple[_Message, ...]
    responses: tuple[_Message, ...]
    slots: tuple[tuple[str, Any], ...]

    @classmethod
    def in_turn(cls, turn: Turn) -> Happened:
        """Extract it from the turn's events."""
        bot = [event for event in turn.events if event["event"] == "bot"]
        return cls(
            texts=tuple(_Message(event["text"], response_name(event)) for event in bot if event["text"] is not None),
            responses=tuple(_Message(name, name) for event in bot if (name := response_name(event)) is not None),
            slots=tuple((event["name"], event["value"]) for event in turn.events if event["event"] == "slot"),
        )


def response_name(event: Mapping[str, Any]) -> str | None:
    """Return the name of a bot event's response."""
    name = (event.get("metadata") or {}).get("utter_action")
    return name if isinstance(name, str) else None


def judge_steps(expectations: Sequence[Expectation], turn: Turn, slot_order: SlotOrder = "any") -> list[Judged]:
    """Judge the steps of one turn in their order."""
    happened = Happened.in_turn(turn)
    by_index: dict[int, Judged] = {}
    by_index |= _judge_messages(_of_kind(expectations, "bot"), happened.texts, clean)
    by_index |= _judge_messages(_of_kind(expectations, "utter"), happened.responses, str)
    by_index |= _judge_slots(_of_kind(expectations, "slot_was_set"), happened.slots, slot_order)
    for index, expected in _of_kind(expectations, "slot_was_not_set"):
        by_index[index] = _judge_slot_not_set(expected, happened.slots)
    return [by_index[index] for index in range(len(expectations))]


def _of_kind(expectations: Sequence[Expectation], kind: str) -> list[tuple[int, Expectation]]:
    return [(index, expected) for index, expected in enumerate(expectations) if expected.kind == kind]


# --- messages ---------------------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """Normalise a text for comparison: uniform line ends, no white space at either end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _judge_messages(
    expected: Sequence[tuple[int, Expectation]], said: Sequence[_Message], compared: Any
) -> dict[int, Judged]:
    """Assign each expectation a message of its own; the others are shown next to the remaining messages."""
    left = list(said)
    missing: list[tuple[int, Expectation]] = []
    judged: dict[int, Judged] = {}
    for index, expectation in expected:
        found = next((one for one in left if compared(one.said) == compared(expectation.name)), None)
        if found is None:
            missing.append((index, expectation))
        else:
            left.remove(found)
            judged[index] = passed(expectation, found.response)
    others = [one.said for one in left]
    for index, expectation in missing:
        actual = _closest(expectation.name, others)
        if actual is not None:
            others.remove(actual)
        judged[index] = _missing_message(expectation, actual)
    return judged


def _closest(text: str, left: Sequence[str]) -> str | None:
    """Return the message that is most similar to the text; the first one if none is similar."""
    close = difflib.get_close_matches(text, left, 1)
    return close[0] if close else (left[0] if left else None)


def _missing_message(expectation: Expectation, actual: str | None) -> Judged:
    shown = f"bot: {one_line(expectation.name)}"
    if actual is None:
        reason = "nothing else was said" if expectation.kind == "bot" else "no other response was said"
        return failed(expectation, None, reason, [f"+ {shown}"])
    return failed(
        expectation, actual, near_miss(expectation.name, actual), compared_lines(f"bot: {one_line(actual)}", shown)
    )


def near_miss(expected: str, actual: str) -> str | None:
    """Explain differences that are hard to see: only in white space, in letter case or in look-alike characters."""
    if " ".join(expected.split()) == " ".join(actual.split()):
        return f"the texts differ in white space alone: expected {expected!r}, actual {actual!r}"
    if expected.casefold() == actual.casefold():
        return "the texts differ in capital letters alone"
    if _without_unseen(expected) == _without_unseen(actual):
        return f"the texts differ in characters that cannot be seen: expected {expected!a}, actual {actual!a}"
    if unicodedata.normalize("NFKC", expected) == unicodedata.normalize("NFKC", actual):
        return f"the texts differ in characters that look alike: expected {expected!a}, actual {actual!a}"
    return None


def _without_unseen(text: str) -> str:
    """Remove characters without width: format characters and variation selectors."""
    return "".join(c for c in text if unicodedata.category(c) != "Cf" and not 0xFE00 <= ord(c) <= 0xFE0F)


# --- slots ------------------------------------------------------------------------------------------------------------


def _judge_slots(
    expected: Sequence[tuple[int, Expectation]], slots: Sequence[tuple[str, Any]], order: SlotOrder
) -> dict[int, Judged]:
    judged: dict[int, Judged] = {}
    position = 0
    for index, expectation in expected:
        found = [place for place, (name, value) in enumerate(slots) if _fits(expectation, name, value)]
        later = [place for place in found if place >= position]
        if order == "strict" and found and not later:
            reason = "it was set, but before the slot that is expected before it"
            judged[index] = failed(expectation, None, reason, [f"+ {shown_slot(expectation)}"])
        elif found:
            position = later[0] + 1 if order == "strict" else 0
            judged[index] = passed(expectation)
        else:
            judged[index] = _slot_not_as_expected(expectation, slots)
    return judged


def _fits(expectation: Expectation, name: str, value: Any) -> bool:
    return name == expectation.name and (not expectation.has_value or same(expectation.value, value))


def same(expected: Any, actual: Any) -> bool:
    """Whether two JSON values and their types are equal: ``1`` equals ``1.0``, but neither ``true`` nor ``"1"``."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(same(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    return bool(expected == actual)


def _slot_not_as_expected(expectation: Expectation, slots: Sequence[tuple[str, Any]]) -> Judged:
    values = [value for name, value in slots if name == expectation.name]
    shown = shown_slot(expectation)
    if not values:
        return failed(expectation, None, f"the slot '{expectation.name}' was not set in this turn", [f"+ {shown}"])
    actual = values[-1]
    reason = None
    if str(actual) == str(expectation.value) or json_text(actual) == str(expectation.value).lower():
        reason = f"only the type differs: expected {type_name(expectation.value)}, actual {type_name(actual)}"
    line = f"{expectation.kind}: {expectation.name}: {json_text(actual)}"
    return failed(expectation, json_text(actual), reason, compared_lines(line, shown))


def _judge_slot_not_set(expectation: Expectation, slots: Sequence[tuple[str, Any]]) -> Judged:
    against = [value for name, value in slots if _fits(expectation, name, value)]
    if not against:
        return passed(expectation)
    line = f"slot_was_set: {expectation.name}: {json_text(against[-1])}"
    reason = f"the slot '{expectation.name}' was set in this turn"
    return failed(expectation, json_text(against[-1]), reason, [f"- {line}", f"+ {shown_slot(expectation)}"])


def type_name(value: Any) -> str:
    """Name a value's type in words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case _:
            return "a map"


# --- lines ------------------------------------------------------------------------------------------------------------


def shown(expectation: Expectation) -> str:
    """Return the step as one line of the difference; a response's name follows ``bot``, as in Rasa Pro."""
    if expectation.kind in {"bot", "utter"}:
        return f"bot: {one_line(expectation.name)}"
    return shown_slot(expectation)


def shown_slot(expectation: Expectation) -> str:
    """Return a slot step as one line."""
    value = f": {json_text(expectation.value)}" if expectation.has_value else ""
    return f"{expectation.kind}: {expectation.name}{value}"


def json_text(value: Any) -> str:
    """Return the value as JSON, so that ``1`` and ``"1"`` look different."""
    return json.dumps(value, ensure_ascii=False, default=str)


def one_line(text: str) -> str:
    """Return the text with invisible characters made visible: line breaks, tabs, odd spaces, zero-width characters."""
    cleaned = clean(text)
    if all(_is_seen(character) for character in cleaned):
        return text
    return "".join(_visible(character) for character in cleaned)


def _is_seen(character: str) -> bool:
    is_odd = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zs", "Zl", "Zp"}
    return character == " " or character in _JOINERS or not is_odd


def _visible(character: str) -> str:
    if character == "\\" or not _is_seen(character):
        return character.encode("unicode_escape").decode("ascii")
    return character


def compared_lines(actual: str, expected: str) -> list[str]:
    """Return ``- actual`` and ``+ expected``; if they differ only a little, a ``?`` line below each shows where."""
    matcher = difflib.SequenceMatcher(None, actual.partition(": ")[2], expected.partition(": ")[2])
    if matcher.real_quick_ratio() < NEAR or matcher.ratio() < NEAR:  # lengths first: a message may be huge
        return [f"- {actual}", f"+ {expected}"]
    return [line.rstrip() for line in difflib.ndiff([actual], [expected])]


def passed(expectation: Expectation, response: str | None = None) -> Judged:
    """Return a step that was met; ``response``: the name of the response of the message that met it."""
    line = shown(expectation)
    step = CaseStep(
        kind=expectation.kind,
        expected=_expected(line),
        outcome="passed",
        location=expectation.location,
        response=response,
    )
    return Judged(step, (f"  {line}",))


def failed(expectation: Expectation, actual: str | None, reason: str | None, lines: Iterable[str]) -> Judged:
    """Return a step that was not met."""
    step = CaseStep(
        kind=expectation.kind,
        expected=_expected(shown(expectation)),
        outcome="failed",
        actual=actual,
        location=expectation.location,
        reason=reason,
    )
    return Judged(step, tuple(lines))


def _expected(line: str) -> str:
    return line.partition(": ")[2]
