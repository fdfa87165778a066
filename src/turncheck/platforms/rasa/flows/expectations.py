"""What a test expects, one by one, in words that only depend on what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.phrasing import shortened
from turncheck.project.e2e.model import FlowsAsserted, MessageAsserted, SlotAsserted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.e2e.model import Assertion, E2ECase

_LONGEST: Final = 80


def expectations(case: E2ECase) -> Iterator[str]:
    """Yield what a test expects, in its order: ``slot_was_set: size = large``."""
    for turn in case.turns:
        for step in turn.expectations:
            yield _of(step.kind, step.name, step.value, has_value=step.has_value)
        for assertion in turn.assertions:
            yield from _asserted(assertion)
        yield from (_of("command", command.text) for command in turn.commands)


def _asserted(assertion: Assertion) -> Iterator[str]:
    kind = assertion.kind
    match assertion.wanted:
        case str(action):
            yield _of(kind, action)
        case FlowsAsserted(flows=flows, step=step):
            yield from (_of(kind, flow, step, has_value=step is not None) for flow in flows)
        case MessageAsserted(utter_name=name, text_matches=pattern, buttons=buttons):
            yield from (_of(kind, one) for one in (name, pattern) if one is not None)
            yield from (_of(kind, " ".join(button.values())) for button in buttons or ())
        case tuple(slots):
            yield from (_slot(kind, slot) for slot in slots)
        case _:
            yield _of(kind, str(assertion.value))


def _slot(kind: str, slot: SlotAsserted) -> str:
    return _of(kind, slot.name, slot.value, has_value=slot.has_value)


def _of(kind: str, name: str, value: Any = None, *, has_value: bool = False) -> str:
    return shortened(f"{kind}: {name} = {value}" if has_value else f"{kind}: {name}", _LONGEST)
