"""Holds the conversation of one end-to-end case and judges it, turn by turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from turncheck.evaluation.e2e_assertions import judge_assertions
from turncheck.evaluation.e2e_coverage import Exercised
from turncheck.evaluation.e2e_steps import Judged, SlotOrder, judge_steps, one_line
from turncheck.evaluation.heard import heard_in
from turncheck.evaluation.traces import trace_of
from turncheck.messages.engine_errors import EngineError
from turncheck.messages.errors import UserError
from turncheck.report.model import CaseMessage, CaseResult, CaseStep, Outcome

if TYPE_CHECKING:
    from turncheck.engines.conversation import ConversationEngine, CustomAction, Turn
    from turncheck.project.e2e.model import CaseTurn, E2ECase
    from turncheck.report.model import StoryParse, TurnTrace

DEFAULT_TIMEOUT: Final = 60.0
"""Seconds a turn may take."""
DEFAULT_CHANNEL: Final = "cmdline"
_REASONED: Final = ("ran", "stubbed", "failed", "timed out")
"""The outcomes of an action whose reason the case has to name."""


@dataclass(frozen=True, slots=True)
class CaseRun:
    """How cases are run. ``workers``: number of parallel conversations; ``repeat``: how often each case is run."""

    slot_order: SlotOrder = "any"
    fail_fast: bool = False
    workers: int = 1
    repeat: int = 1
    turn_timeout: float = DEFAULT_TIMEOUT
    channel: str = DEFAULT_CHANNEL


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """A case's result, the parts of the project that it exercised, and how long it took if it was run."""

    result: CaseResult
    exercised: Exercised
    seconds: float | None = None


def run_case(engine: ConversationEngine, case: E2ECase, run: CaseRun, attempt: int = 0) -> CaseOutcome:
    """Hold the case's conversation and judge it. After a failed turn the conversation goes on.

    A case that lacks a custom action is skipped, unless something had failed before; a case whose action server became
    unavailable is an error.

    Raises:
        EngineError: the engine cannot hold conversations any more.
    """
    talk = _Talk(case, has_flows=engine.has_flows)
    try:
        conversation = engine.conversation(
            channel=run.channel, fixtures=case.slots, stubs=case.stubs, turn_timeout=run.turn_timeout, attempt=attempt
        )
        first_message = next((turn for turn in case.turns if turn.user is not None), None)
        opening = conversation.open(first_message.metadata if first_message else None)
        talk.opening = trace_of(opening)
        turns = case.turns
        if turns[0].user is None:
            talk.take(turns[0], opening, run.slot_order)
            turns = turns[1:]
        else:
            talk.note(opening)
        for expected in turns:
            if talk.is_over:
                talk.leave_out(expected)
            else:
                turn = conversation.say(expected.user or "", expected.metadata or None)
                talk.take(expected, turn, run.slot_order)
    except EngineError:
        raise
    except UserError as error:
        talk.error = str(error)
    return CaseOutcome(talk.result(), talk.exercised)


class _Talk:
    """A case in progress: what was judged so far, and whether it can go on."""

    def __init__(self, case: E2ECase, *, has_flows: bool) -> None:
        self.case = case
        self.has_flows = has_flows
        self.judged: list[tuple[CaseTurn, list[Judged]]] = []
        self.heard: dict[int, StoryParse] = {}
        """What was understood, by turn index."""
        self.opening: TurnTrace | None = None
        self.traces: dict[int, TurnTrace | None] = {}
        """What the assistant did, by turn index."""
        self.actions: list[CustomAction] = []
        self.exercised = Exercised()
        self.missing: str | None = None
        self.remarks: list[str] = []
        self.error: str | None = None
        self.timed_out = False

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
        return bool(turn.assertions) and any(step.failed for step in steps)

    def take(self, expected: CaseTurn, turn: Turn, slot_order: SlotOrder) -> None:
        """Judge a turn."""
        self.note(turn)
        if (heard := heard_in(turn)) is not None:
            self.heard[len(self.judged)] = heard
        self.traces[len(self.judged)] = trace_of(turn)
        if self._lacks_action:
            self.leave_out(expected)
            return
        if expected.assertions:
            judged = judge_assertions(expected.assertions, turn, ordered=expected.ordered, has_flows=self.has_flows)
        else:
            judged = judge_steps(expected.expectations, turn, slot_order)
        self.judged.append((expected, judged))

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

    def leave_out(self, expected: CaseTurn) -> None:
        """Record the expectations of a turn that was not judged."""
        steps = [
            Judged(CaseStep(kind=e.kind, expected=e.name, outcome="skipped", location=e.location), ())
            for e in expected.expectations
        ]
        steps += [
            Judged(CaseStep(kind=a.kind, expected=str(a.value), outcome="skipped", location=a.location), ())
            for a in expected.assertions
        ]
        self.judged.append((expected, steps))

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
                heard = self.heard.get(number)
                trace = self.traces.get(number)
                messages.append(CaseMessage(text=turn.user, location=turn.location, understood=heard, trace=trace))
            steps += [replace(one.step, message=len(messages) - 1 if messages else None) for one in judged]
        said = len(self.judged)
        left = [turn for turn in self.case.turns[said:] if turn.user is not None]
        messages += [CaseMessage(text=turn.user or "", location=turn.location) for turn in left]
        return tuple(messages), tuple(steps)

    def _outcome(self) -> tuple[Outcome, str | None]:
        remarks = "; ".join(dict.fromkeys(self.remarks)) or None
        if self.error is not None:
            return "error", self.error
        if self.has_failed or self.timed_out:
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
                lines.append(f"  user: {one_line(turn.user)}")
            for step in judged:
                lines += step.lines
                if step.failed:
                    end = len(lines)
        return tuple(lines[:end] if end else lines)


def _how(action: CustomAction) -> str:
    if action.missing:
        return "missing"
    return action.outcome if action.outcome in {"stubbed", "assumed"} else "real"


def skipped_case(case: E2ECase, reason: str) -> CaseResult:
    return CaseResult(
        name=case.name, location=case.location, passed=False, outcome="skipped", fixtures=case.fixtures, reason=reason
    )
