"""What the assistant did in the turns of end-to-end cases, for the report: limited in size, failed cases first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from turncheck.evaluation.e2e_steps import json_text, response_name
from turncheck.report.model import CaseResult, TurnEvent, TurnTrace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.conversation import Turn

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
    return tuple(one if number in kept else _without_traces(one) for number, one in enumerate(results))


def _traces(result: CaseResult) -> list[TurnTrace]:
    every = (result.opening, *(message.trace for message in result.messages))
    return [trace for trace in every if trace is not None]


def _without_traces(result: CaseResult) -> CaseResult:
    return replace(result, opening=None, messages=tuple(replace(one, trace=None) for one in result.messages))


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
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
    )


def _short(value: Any) -> Any:
    """A value unchanged unless it is very long; else the beginning of its JSON."""
    text = value if isinstance(value, str) else json_text(value)
    return value if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
