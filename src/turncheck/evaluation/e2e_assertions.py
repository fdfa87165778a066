"""Judges the assertions of an end-to-end case's user step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluation.e2e_steps import Judged, json_text, response_name, same
from turncheck.project.e2e.model import FlowsAsserted, MessageAsserted
from turncheck.report.model import CaseStep, StepOutcome
from turncheck.yaml_tree.patterns import SEARCH_SECONDS, EndlessSearchError, is_found

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.engines.conversation import Turn
    from turncheck.project.e2e.model import Assertion, SlotAsserted

    Events = Sequence[Mapping[str, Any]]

NEEDS_FLOWS: Final = ("flow_started", "flow_completed", "flow_cancelled", "pattern_clarification_contains")
CLARIFICATION_CONTAINS: Final = "pattern_clarification_contains"
NEEDS_JUDGE: Final = ("generative_response_is_relevant", "generative_response_is_grounded")
NO_FLOWS: Final = "it needs an assistant with flows, which this engine does not run"
NOT_IN_TRACKER: Final = "what a clarification offers is not in the server's tracker"
NO_JUDGE: Final = "it needs a language model as judge, and none is asked here"


@dataclass(frozen=True, slots=True)
class _Met:
    """The assertion was met, most recently by the event at ``place``."""

    place: int | None = None


@dataclass(frozen=True, slots=True)
class _NotMet:
    """It was not met: the reason in words, and what was found instead, as lines of the difference without signs."""

    reason: str
    actual: tuple[str, ...] = ()


def judge_assertions(
    assertions: Sequence[Assertion], turn: Turn, *, ordered: bool, has_flows: bool = False
) -> list[Judged]:
    """Judge the assertions in their order; after the first that fails, the others count as not run.

    With ``ordered``, each must be met by an event after that of the previous one. ``has_flows``: the assistant runs
    flows.
    """
    judged: list[Judged] = []
    position = 0
    failed = False
    for assertion in assertions:
        if failed:
            judged.append(_not_run(assertion, "not run, since an assertion before it failed"))
        elif reason := _why_not(assertion.kind, has_flows=has_flows):
            judged.append(_not_run(assertion, reason))
        else:
            found = _check(assertion, turn.events, position)
            if isinstance(found, _Met):
                judged.append(_judged(assertion, "passed", None, response=_said_by(turn.events, found)))
                position = found.place + 1 if ordered and found.place is not None else position
            else:
                judged.append(_judged(assertion, "failed", found.reason, found.actual))
                failed = True
    return judged


def _why_not(kind: str, *, has_flows: bool) -> str | None:
    if kind in NEEDS_JUDGE:
        return NO_JUDGE
    if kind in NEEDS_FLOWS and not has_flows:
        return NO_FLOWS
    return NOT_IN_TRACKER if kind == CLARIFICATION_CONTAINS else None


def _not_run(assertion: Assertion, reason: str) -> Judged:
    return _judged(assertion, "skipped", reason)


def _said_by(events: Events, met: _Met) -> str | None:
    """The response of the event that met the assertion, if it is a message."""
    event = events[met.place] if met.place is not None else None
    return response_name(event) if event is not None and event["event"] == "bot" else None


def _judged(
    assertion: Assertion,
    outcome: StepOutcome,
    reason: str | None,
    actual: tuple[str, ...] = (),
    response: str | None = None,
) -> Judged:
    expected = json_text(assertion.value)
    step = CaseStep(
        kind=assertion.kind,
        expected=expected,
        outcome=outcome,
        actual="; ".join(actual) or None,
        location=assertion.location,
        reason=reason,
        response=response,
    )
    line = f"{assertion.kind}: {expected}"
    match outcome:
        case "passed":
            return Judged(step, (f"  {line}",))
        case "failed":
            return Judged(step, (*(f"- {one}" for one in actual), f"+ {line}"))
        case _:
            return Judged(step, ())


def _check(assertion: Assertion, events: Events, position: int) -> _Met | _NotMet:
    wanted = assertion.wanted
    if isinstance(wanted, str):
        return _action_executed(wanted, events, position)
    if isinstance(wanted, MessageAsserted):
        try:
            if assertion.kind == "bot_uttered":
                return _bot_uttered(wanted, events, position)
            return _bot_did_not_utter(wanted, events)
        except EndlessSearchError:
            taken = f"the pattern {json_text(wanted.text_matches)} took longer than {SEARCH_SECONDS:g} seconds"
            return _NotMet(f"{taken} to be searched for: it can be matched in too many ways")
    if isinstance(wanted, FlowsAsserted):
        return _flows(assertion.kind, wanted, events, position)
    if assertion.kind == "slot_was_set":
        return _slots_set(wanted or (), events, position)
    return _slots_not_set(wanted or (), events)


def _find(events: Events, position: int, fits: Callable[[Mapping[str, Any]], bool]) -> int | None:
    return next((place for place in range(position, len(events)) if fits(events[place])), None)


def _too_early(what: str) -> str:
    return f"{what}, but before what is asserted before it"


# --- actions and slots ------------------------------------------------------------------------------------------------


def _action_executed(name: str, events: Events, position: int) -> _Met | _NotMet:
    def fits(event: Mapping[str, Any]) -> bool:
        return bool(event["event"] == "action" and event["name"] == name)

    place = _find(events, position, fits)
    if place is not None:
        return _Met(place)
    ran = [event["name"] for event in events if event["event"] == "action" and event["name"]]
    actual = (f"action_executed: {', '.join(ran) or 'none'}",)
    if _find(events, 0, fits) is not None:
        return _NotMet(_too_early(f"the action '{name}' ran"), actual)
    return _NotMet(f"the action '{name}' did not run", actual)


def _slots_set(wanted: Sequence[SlotAsserted], events: Events, position: int) -> _Met | _NotMet:
    places = []
    for slot in wanted:
        place = _find(events, position, lambda event: _is_set(event, slot))  # noqa: B023 - used at once
        if place is None:
            set_to = [json_text(event["value"]) for event in events if _is_of(event, slot)]
            actual = tuple(f"slot_was_set: {slot.name}: {value}" for value in set_to)
            value = f" to {json_text(slot.value)}" if slot.has_value else ""
            if any(_is_set(event, slot) for event in events):
                return _NotMet(_too_early(f"the slot '{slot.name}' was set{value}"), actual)
            values = f"; its values in this turn: {', '.join(set_to)}" if set_to else " in this turn"
            return _NotMet(f"the slot '{slot.name}' was not set{value}{values}", actual)
        places.append(place)
    return _Met(max(places, default=None))


def _slots_not_set(wanted: Sequence[SlotAsserted], events: Events) -> _Met | _NotMet:
    """If only the slot's name is written, a slot that was set to ``null`` does not count as set."""
    for slot in wanted:
        for event in events:
            if _is_set(event, slot) and (slot.has_value or event["value"] is not None):
                value = json_text(event["value"])
                return _NotMet(f"the slot '{slot.name}' was set to {value}", (f"slot_was_set: {slot.name}: {value}",))
    return _Met()


def _is_of(event: Mapping[str, Any], slot: SlotAsserted) -> bool:
    return bool(event["event"] == "slot" and event["name"] == slot.name)


def _is_set(event: Mapping[str, Any], slot: SlotAsserted) -> bool:
    return _is_of(event, slot) and (not slot.has_value or same(slot.value, event["value"]))


# --- flows ------------------------------------------------------------------------------------------------------------


def _flows(kind: str, wanted: FlowsAsserted, events: Events, position: int) -> _Met | _NotMet:
    """The events of flows are named like the assertions about them."""

    def fits(event: Mapping[str, Any], flow: str) -> bool:
        is_of = event["event"] == kind and event.get("flow_id") == flow
        return is_of and (wanted.step is None or event.get("step_id") == wanted.step)

    places = [_find(events, position, lambda event: fits(event, flow)) for flow in wanted.flows]  # noqa: B023 - at once
    met = [place for place in places if place is not None]
    if met and (wanted.any or len(met) == len(places)):
        return _Met(min(met) if wanted.any else max(met))
    happened = [event for event in events if event["event"] == kind]
    actual = tuple(f"{kind}: {_flow(event.get('flow_id'), event.get('step_id'))}" for event in happened)
    lacking = [flow for flow, place in zip(wanted.flows, places, strict=True) if place is None]
    done = kind.removeprefix("flow_")
    if all(any(fits(event, flow) for event in events) for flow in lacking):
        return _NotMet(_too_early(f"the flow '{lacking[0]}' was {done}"), actual)
    names = " or ".join(f"'{flow}'" for flow in lacking) if wanted.any else f"'{lacking[0]}'"
    return _NotMet(f"the flow {names} was not {done}{f' at the step {wanted.step!r}' if wanted.step else ''}", actual)


def _flow(flow: object, step: object) -> str:
    return f"{flow} (step {step})" if step else str(flow)


# --- messages ---------------------------------------------------------------------------------------------------------


def _bot_uttered(wanted: MessageAsserted, events: Events, position: int) -> _Met | _NotMet:
    place = _find(events, position, lambda event: _is_said(event, wanted))
    if place is not None:
        return _Met(place)
    actual = tuple(_shown(event, wanted) for event in events if event["event"] == "bot")
    if _find(events, 0, lambda event: _is_said(event, wanted)) is not None:
        return _NotMet(_too_early("such a message was said"), actual)
    return _NotMet("no message matches" if actual else "nothing was said", actual)


def _bot_did_not_utter(wanted: MessageAsserted, events: Events) -> _Met | _NotMet:
    place = _find(events, 0, lambda event: _is_said(event, wanted))
    return _Met() if place is None else _NotMet("it was said", (_shown(events[place], wanted),))


def _is_said(event: Mapping[str, Any], wanted: MessageAsserted) -> bool:
    """Whether this is a message and matches all that is written: response, text, buttons in order."""
    if event["event"] != "bot":
        return False
    if wanted.utter_name is not None and response_name(event) != wanted.utter_name:
        return False
    if wanted.buttons is not None and not _has_buttons(event, wanted.buttons):
        return False
    return wanted.text_matches is None or is_found(wanted.text_matches, event["text"] or "")


def _buttons(event: Mapping[str, Any]) -> Sequence[Any]:
    """Return the message's buttons. An action may send something that is not a button, and Rasa passes it on."""
    buttons = (event.get("data") or {}).get("buttons")
    return buttons if isinstance(buttons, (list, tuple)) else () if buttons is None else (buttons,)


def _has_buttons(event: Mapping[str, Any], wanted: Sequence[Mapping[str, str]]) -> bool:
    buttons = _buttons(event)
    return len(buttons) == len(wanted) and all(
        isinstance(button, dict) and str(button.get(key)) == text
        for button, asked in zip(buttons, wanted, strict=True)
        for key, text in asked.items()
    )


def _shown(event: Mapping[str, Any], wanted: MessageAsserted) -> str:
    """Return a message as a line of the difference: its text and response, and its buttons if the assertion has any."""
    message: dict[str, Any] = {}
    if (name := response_name(event)) is not None:
        message["utter_name"] = name
    message["text"] = event["text"]
    if wanted.buttons is not None:
        message["buttons"] = [_shown_button(button) for button in _buttons(event)]
    return f"bot_uttered: {json_text(message)}"


def _shown_button(button: Any) -> Any:
    if not isinstance(button, dict):
        return button
    return {key: button[key] for key in ("title", "payload") if key in button}
