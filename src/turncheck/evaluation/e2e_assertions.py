"""Judges the assertions of an end-to-end case's user step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluation.e2e_steps import Judged, json_text, response_name, same
from turncheck.report.model import CaseStep, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.engines.base import Turn
    from turncheck.project.e2e_model import Assertion

Event = "Mapping[str, Any]"
NEEDS_FLOWS: Final = ("flow_started", "flow_completed", "flow_cancelled", "pattern_clarification_contains")
NEEDS_JUDGE: Final = ("generative_response_is_relevant", "generative_response_is_grounded")
NO_FLOWS: Final = "it needs an assistant with flows, which this engine does not run"
NO_JUDGE: Final = "it needs a language model as judge, and none is asked here"


def judge_assertions(assertions: Sequence[Assertion], turn: Turn, *, ordered: bool) -> list[Judged]:
    """Judge the assertions in their order; the first that fails ends it, the others were not run.

    With ``ordered`` each must be met by an event after the one before.
    """
    judged: list[Judged] = []
    position = 0
    failed = False
    for assertion in assertions:
        if failed:
            judged.append(_judged(assertion, "skipped", "not run, since an assertion before it failed"))
            continue
        if assertion.kind in NEEDS_FLOWS or assertion.kind in NEEDS_JUDGE:
            reason = NO_FLOWS if assertion.kind in NEEDS_FLOWS else NO_JUDGE
            judged.append(_judged(assertion, "skipped", reason))
            continue
        fault, place = _check(assertion, turn.events, position)
        if fault is None and ordered and place is not None:
            position = place + 1
        failed = fault is not None
        judged.append(_judged(assertion, "failed" if failed else "passed", fault))
    return judged


def _judged(assertion: Assertion, outcome: Outcome, reason: str | None) -> Judged:
    expected = json_text(assertion.value)
    step = CaseStep(kind=assertion.kind, expected=expected, outcome=outcome, location=assertion.location, reason=reason)
    mark = {"failed": "+ ", "passed": "  "}.get(outcome)
    return Judged(step, () if mark is None else (f"{mark}{assertion.kind}: {expected}",))


def _check(assertion: Assertion, events: Sequence[Mapping[str, Any]], position: int) -> tuple[str | None, int | None]:
    """Return what is wrong (``None``: nothing) and the place of the last event that met it."""
    match assertion.kind:
        case "action_executed":
            return _action_executed(str(assertion.value), events, position)
        case "slot_was_set":
            return _slots_set(assertion.value, events, position)
        case "slot_was_not_set":
            return _slots_not_set(assertion.value, events), None
        case "bot_uttered":
            return _bot_uttered(assertion.value, events, position)
        case _:
            return _bot_did_not_utter(assertion.value, events), None


def _find(events: Sequence[Mapping[str, Any]], position: int, fits: Callable[[Mapping[str, Any]], bool]) -> int | None:
    return next((place for place in range(position, len(events)) if fits(events[place])), None)


def _action_executed(name: str, events: Sequence[Mapping[str, Any]], position: int) -> tuple[str | None, int | None]:
    place = _find(events, position, lambda event: event["event"] == "action" and event["name"] == name)
    if place is not None:
        return None, place
    ran = [event["name"] for event in events if event["event"] == "action" and event["name"]]
    return f"the action '{name}' did not run; these did: {', '.join(ran) or 'none'}", None


def _slots_set(expected: Any, events: Sequence[Mapping[str, Any]], position: int) -> tuple[str | None, int | None]:
    places = []
    for name, has_value, value in _named_slots(expected):
        place = _find(events, position, lambda event: _is_set(event, name, has_value, value))  # noqa: B023 - used at once
        if place is None:
            values = [json_text(e["value"]) for e in events if e["event"] == "slot" and e["name"] == name]
            wanted = f" to {json_text(value)}" if has_value else ""
            return f"the slot '{name}' was not set{wanted}; values in this turn: {', '.join(values) or 'none'}", None
        places.append(place)
    return None, max(places, default=None)


def _slots_not_set(expected: Any, events: Sequence[Mapping[str, Any]]) -> str | None:
    """A slot that was set to nothing was not set, where only its name is given."""
    for name, has_value, value in _named_slots(expected):
        for event in events:
            if _is_set(event, name, has_value, value) and (has_value or event["value"] is not None):
                return f"the slot '{name}' was set to {json_text(event['value'])}"
    return None


def _named_slots(expected: Any) -> list[tuple[str, bool, Any]]:
    items = expected if isinstance(expected, list) else [expected]
    return [
        (str(item.get("name")), "value" in item, item.get("value"))
        if isinstance(item, dict)
        else (str(item), False, None)
        for item in items
    ]


def _is_set(event: Mapping[str, Any], name: str, has_value: bool, value: Any) -> bool:
    return event["event"] == "slot" and event["name"] == name and (not has_value or same(value, event["value"]))


def _bot_uttered(expected: Any, events: Sequence[Mapping[str, Any]], position: int) -> tuple[str | None, int | None]:
    place = _find(events, position, lambda event: event["event"] == "bot" and _is_said(event, expected))
    if place is not None:
        return None, place
    said = [_described(event) for event in events if event["event"] == "bot"]
    return f"no message is {_wanted(expected)}; said: {'; '.join(said) or 'nothing'}", None


def _bot_did_not_utter(expected: Any, events: Sequence[Mapping[str, Any]]) -> str | None:
    for event in events:
        if event["event"] == "bot" and _is_said(event, expected):
            return f"it was said: {_described(event)}"
    return None


def _is_said(event: Mapping[str, Any], expected: Any) -> bool:
    """Whether one message meets all that is given: response, text (anywhere in it, or a pattern), buttons in order."""
    wanted = expected if isinstance(expected, dict) else {"utter_name": expected}
    if "utter_name" in wanted and response_name(event) != wanted["utter_name"]:
        return False
    if "text_matches" in wanted and not _matches(str(wanted["text_matches"]), event["text"] or ""):
        return False
    if "buttons" in wanted:
        buttons = (event.get("data") or {}).get("buttons") or []
        shown = [
            {key: button.get(key) for key in asked} for asked, button in zip(wanted["buttons"], buttons, strict=False)
        ]
        return len(buttons) == len(wanted["buttons"]) and shown == wanted["buttons"]
    return True


def _matches(pattern: str, text: str) -> bool:
    if pattern in text:
        return True
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def _described(event: Mapping[str, Any]) -> str:
    name = response_name(event)
    return f"{json_text(event['text'])}{f' ({name})' if name else ''}"


def _wanted(expected: Any) -> str:
    wanted = expected if isinstance(expected, dict) else {"utter_name": expected}
    return ", ".join(f"{key} {json_text(value)}" for key, value in wanted.items())
