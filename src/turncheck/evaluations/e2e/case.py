"""Holds the conversation of one end-to-end case and judges it, turn by turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from turncheck.clock import evaluating_within
from turncheck.evaluations.core.misunderstood import heard_in
from turncheck.evaluations.coverage import digest_of
from turncheck.evaluations.e2e import steps
from turncheck.evaluations.e2e.clarification import judge_offered
from turncheck.evaluations.resolved import Resolved, resolved_case
from turncheck.messages.errors import EngineError, UnansweredError, UserError
from turncheck.project.e2e.model import Assertion, CaseTurn, E2ECase, FlowsAsserted, MessageAsserted, SlotAsserted
from turncheck.report.model import CaseMessage, CaseResult, CaseStep, Outcome, StepOutcome, StoryParse, TurnTrace
from turncheck.yaml_tree.shapes import SEARCH_SECONDS, EndlessSearchError, is_found

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.engines.conversation import ConversationEngine, CustomAction, Turn
    from turncheck.evaluations.e2e.botium.conversation import ScriptRun
    from turncheck.project.botium.model import Script
    from turncheck.report.measured import MeasuredTurn

    Events = Sequence[Mapping[str, Any]]


# Judges the assertions of an end-to-end case's user step.

NEEDS_FLOWS: Final = ("flow_started", "flow_completed", "flow_cancelled", "pattern_clarification_contains")
CLARIFICATION_CONTAINS: Final = "pattern_clarification_contains"
_MESSAGES: Final = frozenset({"bot", "utter", "bot_uttered"})
"""The steps that wait for a message."""
NEEDS_JUDGE: Final = ("generative_response_is_relevant", "generative_response_is_grounded")
NO_FLOWS: Final = "it needs an assistant with flows, which this engine does not run"
NO_JUDGE: Final = "it needs a language model as judge, and none is asked here"


class _Met(Struct, frozen=True):
    """The assertion was met, most recently by the event at ``place``."""

    place: int | None = None


class _NotMet(Struct, frozen=True):
    """It was not met: the reason in words, and what was found instead, as lines of the difference without signs."""

    reason: str
    actual: tuple[str, ...] = ()


def judge_assertions(
    assertions: Sequence[Assertion], turn: Turn, *, ordered: bool, has_flows: bool = False
) -> list[steps.StepResult]:
    """Judge the assertions in their order; after the first that fails, the others count as not run.

    With ``ordered``, each must be met by an event after that of the previous one. ``has_flows``: the assistant runs
    flows.
    """
    judged: list[steps.StepResult] = []
    position = 0
    failed = False
    for assertion in assertions:
        if failed:
            judged.append(_not_run(assertion, "not run, since an assertion before it failed"))
        elif reason := _why_not(assertion.kind, has_flows=has_flows) or _not_reported(assertion, turn):
            judged.append(_not_run(assertion, reason))
        elif assertion.kind == CLARIFICATION_CONTAINS:
            offered = judge_offered(assertion, turn.events)
            outcome: StepOutcome = "skipped" if offered.met is None else "passed" if offered.met else "failed"
            judged.append(_judged(assertion, outcome, offered.why or None))
            failed = offered.met is False
        else:
            found = _check(assertion, turn.events, position)
            if isinstance(found, _Met):
                judged.append(_judged(assertion, "passed", None, response=_said_by(turn.events, found)))
                position = found.place + 1 if ordered and found.place is not None else position
            else:
                judged.append(_judged(assertion, "failed", found.reason, found.actual))
                failed = True
    return judged


def _not_reported(assertion: Assertion, turn: Turn) -> str | None:
    """Why the turn says nothing about it, if that is so."""
    parts = [assertion.kind]
    if isinstance(wanted := assertion.wanted, MessageAsserted):
        parts += ["utter"] * (wanted.utter_name is not None) + ["buttons"] * (wanted.buttons is not None)
    return next((reason for part in parts if (reason := turn.not_reported.get(part))), None)


def _why_not(kind: str, *, has_flows: bool) -> str | None:
    if kind in NEEDS_JUDGE:
        return NO_JUDGE
    return NO_FLOWS if kind in NEEDS_FLOWS and not has_flows else None


def _not_run(assertion: Assertion, reason: str) -> steps.StepResult:
    return _judged(assertion, "skipped", reason)


def _said_by(events: Events, met: _Met) -> str | None:
    """The response of the event that met the assertion, if it is a message."""
    event = events[met.place] if met.place is not None else None
    return steps.response_name(event) if event is not None and event["event"] == "bot" else None


def _judged(
    assertion: Assertion,
    outcome: StepOutcome,
    reason: str | None,
    actual: tuple[str, ...] = (),
    response: str | None = None,
) -> steps.StepResult:
    expected = steps.json_text(assertion.value)
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
            return steps.StepResult(step, (f"  {line}",))
        case "failed":
            return steps.StepResult(step, (*(f"- {one}" for one in actual), f"+ {line}"))
        case _:
            return steps.StepResult(step, ())


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
            taken = f"the pattern {steps.json_text(wanted.text_matches)} took longer than {SEARCH_SECONDS:g} seconds"
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
            set_to = [steps.json_text(event["value"]) for event in events if _is_of(event, slot)]
            actual = tuple(f"slot_was_set: {slot.name}: {value}" for value in set_to)
            value = f" to {steps.json_text(slot.value)}" if slot.has_value else ""
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
                value = steps.json_text(event["value"])
                return _NotMet(f"the slot '{slot.name}' was set to {value}", (f"slot_was_set: {slot.name}: {value}",))
    return _Met()


def _is_of(event: Mapping[str, Any], slot: SlotAsserted) -> bool:
    return bool(event["event"] == "slot" and event["name"] == slot.name)


def _is_set(event: Mapping[str, Any], slot: SlotAsserted) -> bool:
    return _is_of(event, slot) and (not slot.has_value or steps.same(slot.value, event["value"]))


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
    if wanted.utter_name is not None and steps.response_name(event) != wanted.utter_name:
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
    if (name := steps.response_name(event)) is not None:
        message["utter_name"] = name
    message["text"] = event["text"]
    if wanted.buttons is not None:
        message["buttons"] = [_shown_button(button) for button in _buttons(event)]
    return f"bot_uttered: {steps.json_text(message)}"


def _shown_button(button: Any) -> Any:
    if not isinstance(button, dict):
        return button
    return {key: button[key] for key in ("title", "payload") if key in button}


DEFAULT_TIMEOUT: Final = 60.0
"""Seconds a turn may take."""
DEFAULT_CHANNEL: Final = "cmdline"
_REASONED: Final = ("ran", "stubbed", "failed", "timed out")
"""The outcomes of an action whose reason the case has to name."""


class CaseRun(Struct, frozen=True):
    """How cases are run. ``workers``: number of parallel conversations; ``repeat``: how often each case is run."""

    slot_order: steps.SlotOrder = "strict"
    fail_fast: bool = False
    workers: int = 1
    repeat: int = 1
    turn_timeout: float = DEFAULT_TIMEOUT
    channel: str = DEFAULT_CHANNEL


class CaseOutcome(Struct, frozen=True):
    """A case's result, the parts of the project that it exercised, and how long it took if it was run.

    ``left_out``: an earlier case failed, and the others were not to be run then.
    """

    result: CaseResult
    exercised: steps.Exercised
    seconds: float | None = None
    left_out: bool = False


def run_case(
    engine: ConversationEngine, case: E2ECase, run: CaseRun, attempt: int = 0, *, again: bool = False
) -> CaseOutcome:
    """Hold the case's conversation and judge it. After a failed turn the conversation goes on.

    A case that lacks a custom action is skipped, unless something had failed before; a case whose action server became
    unavailable is an error. ``again``: it was run before, and went wrong in a way that may be temporary.

    Raises:
        EngineError: the engine cannot hold conversations any more.
    """
    talk = _Talk(case, resolved_case(case, run.slot_order), has_flows=engine.has_flows)
    try:
        conversation = engine.conversation(
            channel=run.channel, fixtures=case.slots, stubs=case.stubs, turn_timeout=run.turn_timeout, attempt=attempt
        )
        first_message = next((turn for turn in case.turns if turn.user is not None), None)
        opening = conversation.open(first_message.metadata if first_message else None)
        talk.opening = steps.trace_of(opening)
        turns = case.turns
        if turns[0].user is None:
            talk.take(turns[0], opening, run)
            turns = turns[1:]
        else:
            talk.note(opening)
        for expected in turns:
            if talk.is_over:
                talk.leave_out(expected)
            else:
                spoken = talk.spoken(expected)
                turn = conversation.say(spoken.user or "", spoken.metadata or None)
                talk.take(spoken, turn, run)
    except UnansweredError as error:
        if not again:
            raise
        talk.error = str(error)
    except EngineError:
        raise
    except UserError as error:
        talk.error = str(error)
    for expected in case.turns[len(talk.judged) :]:  # after an error: it is the same case as one that gets there
        talk.leave_out(expected)
    return CaseOutcome(talk.result(), talk.exercised)


def _script_run(script: Script) -> ScriptRun:
    from turncheck.evaluations.e2e.botium.conversation import ScriptRun  # most cases are no scripts

    return ScriptRun(script)


class _Talk:
    """A case in progress: what was judged so far, and whether it can go on."""

    def __init__(self, case: E2ECase, resolved: Resolved, *, has_flows: bool) -> None:
        self.case = case
        self.resolved = resolved
        self.has_flows = has_flows
        self.script = None if case.script is None else _script_run(case.script)
        self.judged: list[tuple[CaseTurn, list[steps.StepResult]]] = []
        self.heard: dict[int, StoryParse] = {}
        """What was understood, by turn index."""
        self.opening: TurnTrace | None = None
        self.traces: dict[int, TurnTrace | None] = {}
        """What the assistant did, by turn index."""
        self.measured: dict[int, MeasuredTurn] = {}
        """What turns took, by turn index."""
        self.actions: list[CustomAction] = []
        self.exercised = steps.Exercised()
        self.missing: str | None = None
        self.remarks: list[str] = []
        self.error: str | None = None
        self.timed_out = False
        self.unsent = False

    @property
    def is_over(self) -> bool:
        """Whether no further message is to be sent."""
        return self._lacks_action or self.timed_out or (self.has_failed and self._ended_by_assertion)

    @property
    def _lacks_action(self) -> bool:
        return self.missing is not None or self.error is not None

    @property
    def has_failed(self) -> bool:
        """Whether any expectation was not met."""
        return any(step.failed for _, steps in self.judged for step in steps)

    @property
    def _ended_by_assertion(self) -> bool:
        turn, steps = self.judged[-1]
        goes_on = not turn.assertions if self.case.script is None else self.case.script.settings.goes_on
        return not goes_on and any(step.failed for step in steps)

    def spoken(self, turn: CaseTurn) -> CaseTurn:
        """Return the turn with what the user says now."""
        return turn if self.script is None else self.script.spoken(turn)

    def take(self, expected: CaseTurn, turn: Turn, run: CaseRun) -> None:
        """Judge a turn, within the time that a turn may take."""
        with evaluating_within(run.turn_timeout):
            self._take(expected, turn, run.slot_order)

    def _take(self, expected: CaseTurn, turn: Turn, slot_order: steps.SlotOrder) -> None:
        self.note(turn)
        if (story_parse := heard_in(turn)) is not None:
            self.heard[len(self.judged)] = story_parse
        self.traces[len(self.judged)] = steps.trace_of(turn)
        if turn.measured is not None:
            self.measured[len(self.judged)] = turn.measured
        if self._lacks_action:
            self.leave_out(expected)
            return
        if self.script is not None and expected.part is not None:
            judged = self.script.judge(expected.part, turn, expected.location)
        elif expected.assertions:
            judged = judge_assertions(expected.assertions, turn, ordered=expected.ordered, has_flows=self.has_flows)
        else:
            judged = steps.judge_steps(expected.expectations, turn, slot_order)
        self.judged.append((expected, [_explained(one, turn) for one in judged]))

    def note(self, turn: Turn) -> None:
        """Record a turn's actions and how it ended."""
        self.exercised = self.exercised.with_turn(turn)
        self.actions.extend(turn.custom_actions)
        lacking = next((action for action in turn.custom_actions if action.missing), None)
        if lacking is not None and lacking.outcome == "lost":
            self.error = lacking.reason
        elif lacking is not None:
            self.missing = lacking.reason
        self.remarks += [a.reason for a in turn.custom_actions if a.outcome in _REASONED and a.reason]
        self.remarks += turn.remarks
        if turn.stopped:
            self.remarks.append(turn.stopped)
            self.timed_out = self.timed_out or turn.timed_out
            self.unsent = self.unsent or turn.unsent

    def leave_out(self, expected: CaseTurn) -> None:
        """Record the expectations of a turn that was not judged."""
        left_out = [steps.not_judged(expectation) for expectation in expected.expectations]
        left_out += [_judged(assertion, "skipped", None) for assertion in expected.assertions]
        if self.script is not None and expected.part is not None:
            left_out += self.script.left_out(expected.part)
        self.judged.append((expected, left_out))

    def result(self) -> CaseResult:
        """Return the result of the case."""
        outcome, reason = self._outcome()
        messages, steps = self._messages_and_steps()
        return CaseResult(
            name=self.case.name,
            location=self.case.location,
            passed=outcome == "passed",
            outcome=outcome,
            fixtures=self.case.fixtures,
            given=_given(self.case),
            expects=_expects(self.case),
            resolved=self.resolved.digest,
            own=self.resolved.own,
            shared=self.resolved.shared,
            steps=steps,
            difference=self._difference() if outcome == "failed" else (),
            reason=reason,
            actions={action.name: _how(action) for action in self.actions},
            messages=messages,
            opening=self.opening,
        )

    def _messages_and_steps(self) -> tuple[tuple[CaseMessage, ...], tuple[CaseStep, ...]]:
        """Return all user messages of the case, and its expectations with the message that each follows."""
        messages: list[CaseMessage] = []
        steps: list[CaseStep] = []
        for number, (turn, judged) in enumerate(self.judged):
            if turn.user is not None:
                story_parse = self.heard.get(number)
                trace = self.traces.get(number)
                as_written = self.case.turns[number].user
                messages.append(
                    CaseMessage(
                        text=turn.user,
                        location=turn.location,
                        understood=story_parse,
                        written=UNSET if as_written in {None, turn.user} else as_written,
                        trace=trace,
                        measured=self.measured.get(number, UNSET),
                    )
                )
            steps += [replace(one.step, message=len(messages) - 1 if messages else None) for one in judged]
        return tuple(messages), tuple(steps)

    def _outcome(self) -> tuple[Outcome, str | None]:
        remarks = "; ".join(dict.fromkeys(self.remarks)) or None
        if self.error is not None:
            return "error", self.error
        if self.has_failed or self.timed_out or self.unsent:
            return "failed", remarks
        if self.missing is not None:
            return "skipped", self.missing
        not_run = [step.step for _, turn in self.judged for step in turn if step.step.outcome == "skipped"]
        if not_run:
            return "skipped", f"{not_run[0].kind}: {not_run[0].reason}"
        return "passed", remarks

    def _difference(self) -> tuple[str, ...]:
        """Return the steps up to the last that failed, with what was found instead."""
        lines: list[str] = []
        end = 0
        for turn, judged in self.judged:
            if turn.user is not None:
                lines.append(f"  user: {steps.one_line(turn.user)}")
            for step in judged:
                lines += step.lines
                if step.failed:
                    end = len(lines)
        return tuple(lines[:end] if end else lines)


def _explained(judged: steps.StepResult, turn: Turn) -> steps.StepResult:
    """Say with a message that did not come why the turn has none, if the engine knows."""
    step, why = judged.step, turn.stopped or "; ".join(turn.remarks)
    if not (why and judged.failed and step.actual is None and step.kind in _MESSAGES):
        return judged
    return replace(judged, step=replace(step, reason=f"{step.reason}: {why}" if step.reason else why))


def _how(action: CustomAction) -> str:
    if action.missing:
        return "missing"
    return action.outcome if action.outcome in {"stubbed", "assumed"} else "real"


def _given(case: E2ECase) -> str | UnsetType:
    """Return a digest of what a case sets beside its messages, whatever the places of its lines."""
    parts = [turn.part for turn in case.turns if turn.part is not None]
    hooks = [hook for part in parts for hook in (*part.hooks, *part.last_hooks)]
    hooks += case.script.hooks if case.script is not None else ()
    metadata = [turn.metadata for turn in case.turns]
    is_empty = not (case.slots or case.stubs or hooks or any(metadata))
    return UNSET if is_empty else digest_of((case.slots, case.stubs, hooks, metadata))


def _expects(case: E2ECase) -> str | UnsetType:
    """Return a digest of what the sections of Botium's files expect: which are steps depends on what is answered."""
    parts = [turn.part for turn in case.turns if turn.part is not None]
    expected = [(part.replies, part.last_checks, part.must_be_read) for part in parts]
    return digest_of(expected) if parts else UNSET


def skipped_case(case: E2ECase, reason: str) -> CaseResult:
    return CaseResult(
        name=case.name, location=case.location, passed=False, outcome="skipped", fixtures=case.fixtures, reason=reason
    )
