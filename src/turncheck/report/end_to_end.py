"""The part of the report about end-to-end cases."""

from __future__ import annotations

from typing import Any, Final, Literal

from turncheck.messages.location import Location
from turncheck.report.conversations import Misunderstanding, NearSentence, StoryParse
from turncheck.report.part import Count, Figure, Part
from turncheck.report.understanding import ExpectedParse

StepOutcome = Literal["passed", "failed", "skipped", "error"]
Outcome = Literal["passed", "failed", "misunderstood", "skipped", "error"]

FALLBACK: Final = "nlu_fallback"
"""The intent that stands for one that is too unsure."""


class CaseStep(Part, frozen=True, kw_only=True):
    """One expectation of an end-to-end case, as written, and what came of it."""

    kind: str
    """What is expected: a response, a slot, an action …"""
    expected: str
    """The expectation as written."""
    outcome: StepOutcome
    """What came of it."""
    actual: str | None = None
    """What was there instead."""
    location: Location | None = None
    """Where the step is."""
    reason: str | None = None
    """Why it came out so, where that is not plain."""
    message: Count | None = None
    """Which of the case's messages it follows, counted from 0; ``None`` before the first."""
    response: str | None = None
    """For a message of the bot: the response that it came from, where the engine says so."""


class Attempt(Part, frozen=True, kw_only=True):
    """How a case that was repeated fared."""

    passed: Count
    """How many times it passed."""
    of: Count
    """How many times it was run."""
    runs: tuple[bool, ...] = ()
    """Whether it passed, run by run."""


class TurnEvent(Part, frozen=True, kw_only=True):
    """One thing that happened in a turn, as the tracker has it."""

    kind: str
    """What it is, by Rasa's names: ``action``, ``slot``, ``bot``, ``active_loop`` …"""
    name: str | None = None
    """The action, slot, form or flow; of a message of the bot the response that it came from."""
    value: Any = None
    """What a slot was set to, what the bot said; cut where it is very long."""
    policy: str | None = None
    """The policy that decided on an action."""
    confidence: Figure | None = None
    """How sure it was, 0 to 1."""


class TurnTrace(Part, frozen=True, kw_only=True):
    """What the assistant did in one turn, and the state that it left."""

    events: tuple[TurnEvent, ...] = ()
    """What happened, in its order; what the user said is not repeated."""
    left_out: Count = 0
    """How many events more there were."""
    slots: dict[str, Any] = {}
    """The slots that are set after the turn."""
    active_loop: str | None = None
    """The form that is active after the turn."""


class CaseMessage(Part, frozen=True, kw_only=True):
    """What the user says at one step of an end-to-end case, and what it was understood as.

    ``before`` is there where that is not what it was understood as when the case passed: on the base, or, of a case
    that is misunderstood there too, further back.
    """

    text: str
    """What the user says."""
    location: Location
    """Where the step is."""
    understood: StoryParse | None = None
    """What it was understood as; ``None`` where it was not said, or the engine does not say."""
    before: StoryParse | None = None
    """What it was understood as when the case passed, where that is something else."""
    neighbours: tuple[NearSentence, ...] = ()
    """The training sentences that drew it away, the nearest first."""
    trace: TurnTrace | None = None
    """What the assistant did then; ``None`` where it was not said, or there were too many cases to keep it of all."""

    @property
    def misunderstanding(self) -> Misunderstanding | None:
        """How it is understood differently than when the case passed, if it is."""
        if self.understood is None or self.before is None:
            return None
        before = self.before
        return Misunderstanding(
            text=self.text,
            location=self.location,
            expected=ExpectedParse(
                intent=FALLBACK if before.fallback else before.intent,
                response=before.response,
                entities=before.entities,
            ),
            predicted=self.understood,
            neighbours=self.neighbours,
        )


class CaseResult(Part, frozen=True, kw_only=True):
    """An end-to-end test case. ``difference`` holds lines that begin with ``+`` expected, ``-`` actual, or a space.

    A ``misunderstood`` one failed only because of what its messages were understood as: it passed on the base, and
    passes here with its messages understood as they were there.
    """

    name: str
    """The case's name."""
    location: Location
    """Where it begins."""
    passed: bool
    """Whether it passed."""
    outcome: Outcome
    """What came of it: an ``error`` is not a verdict about the assistant."""
    fixtures: tuple[str, ...] = ()
    """The fixtures it begins with."""
    steps: tuple[CaseStep, ...] = ()
    """Its expectations, one by one."""
    difference: tuple[str, ...] = ()
    """Its lines up to the failure: ``+`` expected, ``-`` actual."""
    reason: str | None = None
    """Why it failed or was skipped; of one that passed, what went wrong nevertheless."""
    attempts: Attempt | None = None
    """How it fared, where it was run several times."""
    actions: dict[str, str] = {}
    """How each custom action of the case was run: ``real``, ``stubbed``, ``assumed``, or ``missing`` where nobody was
    there to run it."""
    messages: tuple[CaseMessage, ...] = ()
    """What the user says, step by step, and what that was understood as."""
    opening: TurnTrace | None = None
    """What the assistant did before the first message: its session's start, the fixtures' slots."""
    as_before: bool | None = None
    """Whether it passes with its messages understood as when it passed; ``None``: it was not judged so."""

    @property
    def misunderstood(self) -> tuple[Misunderstanding, ...]:
        """The messages that are understood differently than when the case passed; also of a case that fails anyhow."""
        return tuple(one for message in self.messages if (one := message.misunderstanding) is not None)

    @property
    def failing_message(self) -> CaseMessage | None:
        """What the user said last before the first step that failed."""
        wrong = next((step for step in self.steps if step.outcome in {"failed", "error"}), None)
        if wrong is None or wrong.message is None or not 0 <= wrong.message < len(self.messages):
            return None
        return self.messages[wrong.message]

    @property
    def warning(self) -> str | None:
        """What went wrong in a case that passed nevertheless, such as an action that failed."""
        return self.reason if self.outcome == "passed" else None


class EndToEnd(Part, frozen=True, kw_only=True):
    """The end-to-end test cases."""

    cases: tuple[CaseResult, ...]
    """The cases."""
    passed: Count
    """How many passed."""
    failed: Count
    """How many failed or ended in an error."""
    skipped: Count = 0
    """How many were not run."""
    misunderstood: Count = 0
    """How many failed only because their messages are understood differently than on the base."""
    remarks: tuple[str, ...] = ()
    """What a reader must know about how they were run, a sentence each."""
    exercised: dict[str, tuple[str, ...]] = {}
    """What of the project the cases came by, by kind (``intents``, ``actions``, ``slots`` …), sorted."""

    @property
    def warned(self) -> tuple[CaseResult, ...]:
        """The cases that passed although something went wrong in them."""
        return tuple(case for case in self.cases if case.warning is not None)
