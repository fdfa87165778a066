"""What the assistant did in a turn of an end-to-end case, in lines that are folded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.report.model import TurnEvent, TurnTrace


def trace_in_words(trace: TurnTrace | None) -> list[tuple[str, str]]:
    """Return slots, form and events of a turn, each with its name; nothing if they are not known."""
    if trace is None:
        return []
    events = [_event(event) for event in trace.events]
    events += [f"… and {trace.left_out:,} more"] if trace.left_out else []
    parts = [
        ("events", "\n".join(events)),
        ("slots then", slots_in_words(trace.slots)),
        ("active form", trace.active_loop or ""),
    ]
    return [(name, text) for name, text in parts if text]


def slots_in_words(slots: Mapping[str, object]) -> str:
    """Return slots, one per line."""
    return "\n".join(f"{name}: {as_text(value)}" for name, value in slots.items())


def as_text(value: object) -> str:
    """Return a value of a slot as it is shown: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _event(event: TurnEvent) -> str:
    name = event.name or ""
    match event.kind:
        case "action":
            sure = f"{event.confidence:.2f}" if event.confidence is not None else ""
            behind = ", ".join(part for part in (event.policy or "", sure) if part)
            return f"action {name or as_text(event.value)}{f' ({behind})' if behind else ''}"
        case "slot":
            return f"slot {name}: {as_text(event.value)}"
        case "bot":
            said = as_text(event.value) if event.value is not None else "without text"
            return f"bot {name}: {said}" if name else f"bot: {said}"
        case "active_loop":
            return f"form {name}" if name else "no form"
        case _:
            value = f": {as_text(event.value)}" if event.value is not None else ""
            return f"{event.kind.replace('_', ' ')} {name}{value}".rstrip()
