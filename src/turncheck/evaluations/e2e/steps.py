"""Judges one turn of an end-to-end case, traces it, and counts what it covers.

Rules (see ``docs/e2e.md``): events beyond the expected ones never fail; order does not matter, except for consecutive
``slot_was_set`` steps with the ``strict`` order; a ``bot`` or ``utter`` step needs a message of its own.
"""

from __future__ import annotations

import difflib
import json
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from turncheck.report.model import CaseMessage, CaseResult, CaseStep, TurnEvent, TurnTrace
from turncheck.report.part import LARGEST_FIGURE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.engines.conversation import Turn
    from turncheck.project.e2e.model import Expectation


SlotOrder = Literal["any", "strict"]

_JOINERS: Final = "\u200c\u200d"
"""Some scripts (Persian, Hindi) and emoji are misspelt without these characters."""
NEAR: Final = 0.75
"""Two texts need at least this similarity (0 to 1, by :mod:`difflib`) for their differences to be marked."""


class StepResult(Struct, frozen=True):
    """A step with its outcome, and its lines in the difference: what was expected, and what was found instead."""

    step: CaseStep
    lines: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """Whether the expectation was not met."""
        return self.step.outcome == "failed"


class _Message(Struct, frozen=True):
    """The part of a bot message that steps compare: its text, or the name of its response."""

    said: str
    response: str | None


class Happened(Struct, frozen=True):
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


def judge_steps(expectations: Sequence[Expectation], turn: Turn, slot_order: SlotOrder = "strict") -> list[StepResult]:
    """Judge the steps of one turn in their order."""
    happened = Happened.in_turn(turn)
    by_index: dict[int, StepResult] = {}
    by_index |= _judge_messages(_of_kind(expectations, "bot"), happened.texts, clean)
    by_index |= _judge_messages(_of_kind(expectations, "utter"), happened.responses, str)
    by_index |= _judge_slots(_of_kind(expectations, "slot_was_set"), happened.slots, slot_order)
    for index, expected in _of_kind(expectations, "slot_was_not_set"):
        by_index[index] = _judge_slot_not_set(expected, happened.slots)
    for kind, reason in turn.not_reported.items():
        by_index |= {index: not_judged(expected, reason) for index, expected in _of_kind(expectations, kind)}
    return [by_index[index] for index in range(len(expectations))]


def _of_kind(expectations: Sequence[Expectation], kind: str) -> list[tuple[int, Expectation]]:
    return [(index, expected) for index, expected in enumerate(expectations) if expected.kind == kind]


# --- messages ---------------------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """Normalise a text for comparison: uniform line ends, no white space at either end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _judge_messages(
    expected: Sequence[tuple[int, Expectation]], said: Sequence[_Message], compared: Any
) -> dict[int, StepResult]:
    """Assign each expectation a message of its own; the others are shown next to the remaining messages."""
    left = list(said)
    missing: list[tuple[int, Expectation]] = []
    judged: dict[int, StepResult] = {}
    for index, expectation in expected:
        found = next((message for message in left if compared(message.said) == compared(expectation.name)), None)
        if found is None:
            missing.append((index, expectation))
        else:
            left.remove(found)
            judged[index] = passed(expectation, found.response)
    others = [message.said for message in left]
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


def _missing_message(expectation: Expectation, actual: str | None) -> StepResult:
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
) -> dict[int, StepResult]:
    """With the ``strict`` order, a step is met after the ones right before it; the slots of one step in any order."""
    judged: dict[int, StepResult] = {}
    before: tuple[int, Expectation] | None = None
    least = reached = 0  # where a slot of this step may be set at the earliest, and the last one that met a step
    for index, expectation in expected:
        if order == "any" or before is None or before[0] != index - 1:
            least = reached = 0
        elif expectation.step is None or expectation.step != before[1].step:
            least = reached
        before = (index, expectation)
        found = [place for place, (name, value) in enumerate(slots) if _fits(expectation, name, value)]
        later = [place for place in found if place >= least]
        if found and not later:
            reason = "it was set, but before the slot of the step before; --slot-order any takes any order"
            judged[index] = failed(expectation, None, reason, [f"+ {shown_slot(expectation)}"])
        elif found:
            reached = max(reached, later[0])
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


def _slot_not_as_expected(expectation: Expectation, slots: Sequence[tuple[str, Any]]) -> StepResult:
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


def _judge_slot_not_set(expectation: Expectation, slots: Sequence[tuple[str, Any]]) -> StepResult:
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


def passed(expectation: Expectation, response: str | None = None) -> StepResult:
    """Return a step that was met; ``response``: the name of the response of the message that met it."""
    line = shown(expectation)
    step = CaseStep(
        kind=expectation.kind,
        expected=_expected(line),
        outcome="passed",
        location=expectation.location,
        response=response,
    )
    return StepResult(step, (f"  {line}",))


def failed(expectation: Expectation, actual: str | None, reason: str | None, lines: Iterable[str]) -> StepResult:
    """Return a step that was not met."""
    step = CaseStep(
        kind=expectation.kind,
        expected=_expected(shown(expectation)),
        outcome="failed",
        actual=actual,
        location=expectation.location,
        reason=reason,
    )
    return StepResult(step, tuple(lines))


def not_judged(expectation: Expectation, reason: str | None = None) -> StepResult:
    """Return a step that was not judged."""
    line = shown(expectation)
    step = CaseStep(
        kind=expectation.kind,
        expected=_expected(line),
        outcome="skipped",
        location=expectation.location,
        reason=reason,
    )
    return StepResult(step, (f"  {line}",))


def _expected(line: str) -> str:
    return line.partition(": ")[2]


# What the assistant did in the turns of end-to-end cases, for the report: limited in size, failed cases first.

_LEFT_OUT: Final = frozenset({"user", "user_featurization"})
"""Events of the message itself, which are elsewhere in the report."""
_MOST_OF_TURN: Final = 100
_MOST_OF_ALL: Final = 20_000
_LONGEST: Final = 1_000


def trace_of(turn: Turn) -> TurnTrace | None:
    """Return what happened in a turn and the state after it; ``None`` if the engine does not say."""
    shown = [event for event in turn.events if event["event"] not in _LEFT_OUT]
    slots = {name: _short(value) for name, value in turn.slots.items() if value is not None}
    if not shown and not slots:
        return None
    return TurnTrace(
        events=tuple(_event(event) for event in shown[:_MOST_OF_TURN]),
        left_out=max(len(shown) - _MOST_OF_TURN, 0),
        slots=dict(sorted(slots.items())),
        active_loop=turn.active_loop,
    )


def within_limits(results: Sequence[CaseResult], most: int = _MOST_OF_ALL) -> tuple[CaseResult, ...]:
    """Return the results; traces beyond ``most`` events in total are left out.

    Traces of failed cases are kept first, then those of the others, both in the order of the cases.
    """
    room, kept = most, set[int]()
    for number in sorted(range(len(results)), key=lambda number: results[number].passed):
        size = sum(len(trace.events) + len(trace.slots) for trace in _traces(results[number]))
        if size <= room:
            room -= size
            kept.add(number)
    return tuple(case if number in kept else _without_traces(case) for number, case in enumerate(results))


def _traces(result: CaseResult) -> list[TurnTrace]:
    every = [result.opening, *(message.trace for message in result.messages)]
    if not isinstance(failed := result.failed_run, UnsetType):
        every += [failed.opening, *(message.trace for message in failed.messages)]
    return [trace for trace in every if trace is not None]


def _without_traces(result: CaseResult) -> CaseResult:
    failed = result.failed_run
    if not isinstance(failed, UnsetType):
        failed = replace(failed, opening=None, messages=_untraced(failed.messages))
    return replace(result, opening=None, messages=_untraced(result.messages), failed_run=failed)


def _untraced(messages: Iterable[CaseMessage]) -> tuple[CaseMessage, ...]:
    return tuple(replace(message, trace=None) for message in messages)


def _event(event: Mapping[str, Any]) -> TurnEvent:
    kind = event["event"]
    match kind:
        case "bot":
            name, value = response_name(event), event.get("text")
        case "action":
            name, value = event.get("name"), event.get("action_text")
        case "flow_started" | "flow_completed" | "flow_interrupted" | "flow_resumed" | "flow_cancelled":
            name, value = event.get("flow_id"), None
        case _:
            name, value = event.get("name"), event.get("value")
    policy, confidence = event.get("policy"), event.get("confidence")
    return TurnEvent(
        kind=kind,
        name=name if isinstance(name, str) else None,
        value=_short(value),
        policy=policy if isinstance(policy, str) else None,
        confidence=float(confidence)
        if isinstance(confidence, int | float) and abs(confidence) <= LARGEST_FIGURE
        else None,
    )


def _short(value: Any) -> Any:
    """A value unchanged unless it is very long; else the beginning of its JSON."""
    text = value if isinstance(value, str) else json_text(value)
    return value if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


# Which parts of the project conversations exercise.

_NOBODY: frozenset[str] = frozenset()
_BETWEEN_STEPS: Final = frozenset({"action_listen", "action_session_start", "action_extract_slots"})
"""Actions that stories and rules omit between their steps."""


class Exercised(Struct, frozen=True):
    """Names by kind, as in the report's coverage.

    ``steps`` are pairs of consecutive steps, ``"intent greet > action utter_greet"``; ``last`` is the step that the
    next one follows. ``flow_steps`` (``"transfer::ask_amount"``) are those that were on the dialogue stack of an
    assistant with flows, ``stack`` is what is on it; ``commands`` are what its language model made of messages.
    """

    intents: frozenset[str] = _NOBODY
    entities: frozenset[str] = _NOBODY
    actions: frozenset[str] = _NOBODY
    responses: frozenset[str] = _NOBODY
    slots: frozenset[str] = _NOBODY
    forms: frozenset[str] = _NOBODY
    flows: frozenset[str] = _NOBODY
    steps: frozenset[str] = _NOBODY
    flow_steps: frozenset[str] = _NOBODY
    commands: frozenset[str] = _NOBODY
    last: str = ""
    stack: tuple[tuple[str, str], ...] = ()

    def with_turn(self, turn: Turn) -> Exercised:
        """Return these names and those of the turn."""
        found: dict[str, set[str | None]] = {kind: set() for kind in _KINDS}
        walked, stack = [self.last], self.stack
        for event in turn.events:
            match event["event"]:
                case "user":
                    found["intents"].add(event["parse_data"]["intent"].get("name"))
                    walked.append(f"intent {event['parse_data']['intent'].get('name')}")
                    found["entities"].update(entity.get("entity") for entity in event["parse_data"]["entities"])
                    found["commands"].update(_commands(event["parse_data"]))
                case "action":
                    found["actions"].add(event["name"])
                    if event["name"] not in _BETWEEN_STEPS:
                        walked.append(f"action {event['name']}")
                case "bot":
                    found["responses"].add(response_name(event))
                case "slot":
                    found["slots"].add(event["name"])
                case "active_loop":
                    found["forms"].add(event["name"])
                case "flow_started":
                    found["flows"].add(event.get("flow_id"))
                case "stack":
                    stack = with_update(stack, event.get("update"))
                    found["flow_steps"].update(f"{flow}::{step}" for flow, step in stack if flow and step)
                case _:
                    pass
        found["actions"].update(action.name for action in turn.custom_actions if not action.missing)
        found["actions"].update(turn.unseen_actions)
        found["steps"].update(f"{one} > {other}" for one, other in pairwise(walked) if one)
        both = {kind: getattr(self, kind) | {name for name in names if name} for kind, names in found.items()}
        return Exercised(**both, last=walked[-1], stack=stack)

    def with_all(self, other: Exercised) -> Exercised:
        """Return the names of both."""
        return Exercised(**{kind: getattr(self, kind) | getattr(other, kind) for kind in _KINDS})

    def by_kind(self) -> dict[str, tuple[str, ...]]:
        """Return sorted names by kind, without kinds that have none."""
        return {kind: tuple(sorted(getattr(self, kind))) for kind in _KINDS if getattr(self, kind)}


_KINDS: Final = tuple(name for name in Exercised.__struct_fields__ if name not in {"last", "stack"})


def _commands(parse_data: Mapping[str, Any]) -> Iterator[str]:
    for command in parse_data.get("commands") or ():
        if isinstance(command, dict) and isinstance(command.get("command"), str):
            yield command["command"]


def with_update(stack: tuple[tuple[str, str], ...], update: Any) -> tuple[tuple[str, str], ...]:
    """Return flow and step of each frame of a dialogue stack after a change (a JSON patch, RFC 6902).

    What no flow's frame has is passed over, and so is what cannot be read: the stack is only looked at.
    """
    try:
        patch = json.loads(update) if isinstance(update, str) else update
    except (ValueError, RecursionError):
        return stack
    frames = [{"flow_id": flow, "step_id": step} for flow, step in stack]
    for change in patch if isinstance(patch, list) else ():
        if isinstance(change, dict) and isinstance(path := change.get("path"), str):
            _change(frames, str(change.get("op")), path.split("/")[1:], change.get("value"))
    return tuple((str(frame.get("flow_id") or ""), str(frame.get("step_id") or "")) for frame in frames)


def _change(frames: list[dict[str, Any]], operation: str, path: list[str], value: Any) -> None:
    if not path:  # the whole stack
        frames[:] = [dict(frame) for frame in value if isinstance(frame, dict)] if isinstance(value, list) else []
        return
    place = len(frames) if path[0] == "-" else int(path[0]) if path[0].isdecimal() else -1
    if len(path) == 1 and operation == "add" and 0 <= place <= len(frames):
        frames.insert(place, dict(value) if isinstance(value, dict) else {})
    elif not 0 <= place < len(frames):
        return
    elif len(path) == 1 and operation == "remove":
        del frames[place]
    elif len(path) == 1 and operation == "replace":
        frames[place] = dict(value) if isinstance(value, dict) else {}
    elif len(path) == 2 and operation in {"add", "replace"}:
        frames[place][path[1]] = value
