"""The parts of the report about conversations: stories and end-to-end cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import UNSET, UnsetType

from turncheck.messages.finding import Location
from turncheck.report.commands import CommandCounts
from turncheck.report.entities import EntitySpan
from turncheck.report.measured import MeasuredRun, MeasuredTurn
from turncheck.report.part import Count, Figure, Part
from turncheck.report.repeats import MOST_ERRORS, Attempt, HowRepeated, Repeats
from turncheck.report.understanding import Confusion, ExpectedParse, RankedIntent

if TYPE_CHECKING:
    from collections.abc import Mapping

# --- dialogue --------------------------------------------------------------------------------------------------------


class Alternative(Part, frozen=True, kw_only=True):
    """Another action the policies considered."""

    action: str
    """The action."""
    confidence: Figure
    """How sure the policies are of it, 0 to 1."""


StoryOutcome = Literal["passed", "failed", "misunderstood"]


class StoryStep(Part, frozen=True, kw_only=True):
    """One prediction within a test story: an action, or what was understood (``kind``)."""

    kind: Literal["action", "intent", "entities"]
    """What was predicted: an action, or what was understood of a sentence."""
    expected: str
    """What the story says."""
    predicted: str
    """What was predicted."""
    passed: bool
    """Whether they agree."""
    policy: str | None = None
    """The policy that decided."""
    confidence: Figure | None = None
    """How sure it was, 0 to 1."""
    location: Location | None = None
    """Where the step is."""
    text: str | None = None
    """What the user says at this step; ``None`` where only an intent is given."""
    alternatives: tuple[Alternative, ...] = ()
    """What else was considered, the best first; of wrong steps only."""
    slots: dict[str, Any] = {}
    """The slots that were set at this point; of wrong steps only."""
    active_loop: str | None = None
    """The form that was active at this point; of wrong steps only."""
    warning: bool = False
    """Whether the previous message was found unlikely, of which Rasa only warns."""

    @property
    def wanted(self) -> str:
        """What was expected, in words also where that is nothing."""
        return _or_none(self.kind, self.expected)

    @property
    def got(self) -> str:
        """What came instead, in words also where that is nothing."""
        return _or_none(self.kind, self.predicted)


def _or_none(kind: str, value: str) -> str:
    """The engine's ``None`` for "no intent" is written as a string; an empty annotation says that there is no
    entity."""
    if value in {"", "None"}:
        return {"intent": "no intent", "entities": "no entity"}.get(kind, value or "no action")
    return value


class WrittenStep(Part, frozen=True, kw_only=True):
    """One step of a judged story as it is written back into a story file.

    ``step`` has the shape of the YAML (``{"action": "utter_greet"}``); ``comment`` is behind its first key, and
    each of ``entity_comments`` after the entity with that index.
    """

    step: dict[str, Any]
    """The step in the shape of its YAML: ``{"action": "utter_greet"}``."""
    comment: str | None = None
    """What is behind its first key."""
    entity_comments: dict[str, str] = {}
    """What is behind its entities, by their index."""

    def __post_init__(self) -> None:
        """Refuse what cannot be written into a story file.

        Raises:
            ValueError: slots or entities are not listed, a form has no name, or a comment belongs to no entity.
        """
        slots, entities = self.step.get("slot_was_set", []), self.step.get("entities", [])
        if not isinstance(slots, list) or not isinstance(entities, list):
            raise ValueError("the slots and the entities of a step must be lists")
        if not isinstance(self.step.get("active_loop"), str | None):
            raise ValueError("the form of a step must be a name")
        if not self.entity_comments.keys() <= {str(index) for index in range(len(entities))}:
            raise ValueError("a comment of a step belongs to none of its entities")


class NearSentence(Part, frozen=True, kw_only=True):
    """A training sentence that looks like another one: where it is, and how near (0 to 1)."""

    text: str
    """The sentence."""
    intent: str
    """Its intent."""
    location: Location
    """Where it is."""
    similarity: Figure
    """How near it is, 0 to 1."""


class StoryParse(Part, frozen=True, kw_only=True):
    """What was understood of a sentence that a user says in a test.

    ``fallback``: too unsure, so that the fallback stood for ``intent``.

    ``confidence`` is ``None`` where imported files do not say it.
    """

    intent: str | None
    """The intent that was understood; ``None`` where none was."""
    confidence: Figure | None = None
    """How sure the classifier is of it, 0 to 1; ``None`` where it is not known."""
    ranking: tuple[RankedIntent, ...] = ()
    """The most likely intents, the best first."""
    response: str | None = None
    """The response that was selected (``faq/hours``)."""
    response_confidence: Figure | None = None
    """How sure the response selector is, 0 to 1."""
    entities: tuple[EntitySpan, ...] = ()
    """The entities that were found."""
    fallback: bool = False
    """Whether the fallback stood in for the intent."""
    commands: tuple[str, ...] | UnsetType = UNSET
    """The commands that a language model gave for it (``start flow order_pizza``); left out where none does."""


class Misunderstanding(Part, frozen=True, kw_only=True):
    """A sentence of a test whose intent, response or entities were understood differently than they should have been.

    A story says itself what that is; for an end-to-end case it is what was understood when the case passed.

    ``neighbours``, the nearest first: the training sentences that drew it away. Of another intent they are those of the
    intent it was predicted as; of other entities those that have the same words with other entities, or without.
    """

    text: str
    """The sentence."""
    location: Location
    """Where it is."""
    expected: ExpectedParse
    """What the story says, or what was understood when the end-to-end case passed."""
    predicted: StoryParse
    """What was understood."""
    neighbours: tuple[NearSentence, ...] = ()
    """The training sentences that drew it away, the nearest first."""


class StoryResult(Part, frozen=True, kw_only=True):
    """A test story. ``duplicate``: Rasa would drop it silently, since an earlier one is the same.

    ``passed`` and ``steps`` are about the story end to end: what is understood of its texts, and every action.
    ``as_written`` is whether its dialogue passes with the intents, entities and responses that the story itself gives
    (``None``: not known). ``written`` is the story with what was predicted instead, as Rasa writes it into its story
    files. ``named`` is false for stories that imported files only count.
    """

    name: str
    """The story's name."""
    location: Location
    """Where it begins."""
    passed: bool
    """Whether every step of it passed."""
    warned: bool = False
    """Whether it passed although a message was found unlikely, of which Rasa only warns."""
    severity: Figure | None = None
    """How unlikely, according to the policy that found it so."""
    steps: tuple[StoryStep, ...] = ()
    """What was predicted, step by step."""
    written: tuple[WrittenStep, ...] = ()
    """The story with what was predicted instead, as Rasa writes it into its files."""
    duplicate: bool = False
    """Whether it is the same as an earlier one to every policy, so that it does not count."""
    named: bool = True
    """Whether its name is known: imported files only count some."""
    as_written: bool | None = None
    """Whether its dialogue passes with intents and entities as written; ``None``: not known."""
    can_be_understood: bool = True
    """Whether the training data have what its misunderstood sentences should be understood as: if not, it fails."""
    misunderstood: tuple[Misunderstanding, ...] = ()
    """The sentences that were understood differently than written, also of a story whose dialogue fails; imported files
    do not always say which."""
    resolved: str | UnsetType = UNSET
    """A digest of all that the story says, sets and expects, in whatever file; imported files do not say it."""
    own: str | UnsetType = UNSET
    """A digest of what its own file adds to that."""
    shared: dict[str, str] | UnsetType = UNSET
    """What other files add to that, a digest each, by their paths."""

    @property
    def outcome(self) -> StoryOutcome:
        """The class of the result: ``misunderstood`` fails only because of how its sentences were understood."""
        if self.passed:
            return "passed"
        return "misunderstood" if self.as_written and self.can_be_understood else "failed"


class StoriesAsWritten(Part, frozen=True, kw_only=True):
    """How many dialogues pass with the intents, entities and responses as the stories give them: no text is read."""

    passed: Count
    """How many pass."""
    failed: Count
    """How many fail."""


class PolicyEntities(Part, frozen=True, kw_only=True):
    """Entities of the annotated messages, compared with what the policies found in them, token by token.

    ``report`` and ``errors`` are shaped as Rasa's ``TEDPolicy_report.json`` and ``TEDPolicy_errors.json``; ``labels``
    counts each pair of labels, the right ones as well.
    """

    report: dict[str, Any]
    """The figures, with the keys of Rasa's ``TEDPolicy_report.json``."""
    errors: tuple[dict[str, Any], ...] = ()
    """The wrong messages, with the keys of Rasa's ``TEDPolicy_errors.json``."""
    labels: tuple[Confusion, ...] = ()
    """How often each label of a token was found for each, the right ones as well."""


class Core(Part, frozen=True, kw_only=True):
    """The evaluation of the dialogue. ``report`` has the keys of Rasa's ``story_report.json``."""

    stories: tuple[StoryResult, ...]
    """The test stories."""
    report: dict[str, Any]
    """The figures of each action and their averages, with the keys of Rasa's ``story_report.json``."""
    accuracy: Figure
    """The share of predictions that are right."""
    conversation_accuracy: Figure
    """The share of stories that passed."""
    precision: Figure = 0.0
    """Precision, averaged over the labels by their support."""
    recall: Figure = 0.0
    """Recall, averaged over the labels by their support."""
    f1: Figure = 0.0
    """F1, averaged over the labels by their support."""
    in_training_data_fraction: Figure | None = None
    """Rasa's figure of this name."""
    as_written: StoriesAsWritten | None = None
    """How many dialogues pass as written; ``None`` if that is not known of every story."""
    remarks: tuple[str, ...] = ()
    """What a reader must know about how it was measured, a sentence each."""
    policy_entities: PolicyEntities | None = None
    """The entities that policies found; ``None`` if no message has annotated entities."""


# The part of the report about end-to-end cases.

StepOutcome = Literal["passed", "failed", "skipped", "error"]
Outcome = Literal["passed", "failed", "misunderstood", "skipped", "error", "unclear"]

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
    """Why it had this outcome, if that is not obvious."""
    message: Count | None = None
    """Which of the case's messages it follows, counted from 0; ``None`` before the first."""
    response: str | None = None
    """For a message of the bot: the response that it came from, where the engine says so."""


_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "passed": "passed",
    "flaky": "passed",
    "failed": "failed",
    "regressed": "failed",
    "worse": "failed",
    "unclear": "unclear",
}
"""What became of a case, by the outcome of its runs."""


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
    written: str | UnsetType = UNSET
    """The message as the test has it, where that is not what was said: with variables, such as ``$random``."""
    trace: TurnTrace | None = None
    """What the assistant did then; ``None`` where it was not said, or there were too many cases to keep it of all."""
    measured: MeasuredTurn | UnsetType = UNSET
    """What the turn took, of an assistant that is asked over the network."""

    @property
    def as_written(self) -> str:
        """The message as the test has it, which is the same in every run."""
        return self.text if isinstance(self.written, UnsetType) else self.written

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


class FailedRun(Part, frozen=True, kw_only=True):
    """The first run that failed of an end-to-end case that passed nevertheless, since others did."""

    steps: tuple[CaseStep, ...] = ()
    """The case's expectations, one by one."""
    messages: tuple[CaseMessage, ...] = ()
    """What the user said, step by step, and what that was understood as."""
    opening: TurnTrace | None = None
    """What the assistant did before the first message."""
    difference: tuple[str, ...] = ()
    """Its lines up to the failure: ``+`` expected, ``-`` actual."""


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
    given: str | UnsetType = UNSET
    """A digest of what the test sets beside its messages: slots of its fixtures, metadata, stubs, variables; left out
    if it sets nothing."""
    expects: str | UnsetType = UNSET
    """A digest of what the test expects, if its steps depend on what is answered, as optional messages of Botium do."""
    resolved: str | UnsetType = UNSET
    """A digest of all that the case says, sets and expects, and of how that is read, in whatever file."""
    own: str | UnsetType = UNSET
    """A digest of what its own file adds to that."""
    shared: dict[str, str] | UnsetType = UNSET
    """What other files add to that, a digest each, by their paths."""
    steps: tuple[CaseStep, ...] = ()
    """Its expectations, one by one."""
    difference: tuple[str, ...] = ()
    """Its lines up to the failure: ``+`` expected, ``-`` actual."""
    reason: str | None = None
    """Why it failed or was skipped; of one that passed, what went wrong nevertheless."""
    attempts: Attempt | None = None
    """How it fared, where it was run several times."""
    actions: dict[str, str] = {}
    """How each custom action of the case was run: ``real``, ``stubbed``, ``assumed``, or ``missing`` if nothing could
    run it."""
    messages: tuple[CaseMessage, ...] = ()
    """What the user says, step by step, and what that was understood as."""
    opening: TurnTrace | None = None
    """What the assistant did before the first message: its session's start, the fixtures' slots."""
    as_before: bool | None = None
    """Whether it passes with its messages understood as when it passed; ``None``: it was not judged so."""
    repeats: Repeats | UnsetType = UNSET
    """Its runs, if the assistant's answers vary."""
    measured: tuple[MeasuredRun, ...] | UnsetType = UNSET
    """What the turns of these runs took, of a bot over HTTP: of those that passed or failed, in their order."""
    failed_run: FailedRun | UnsetType = UNSET
    """The first of these runs that failed, if the case counts as passed."""

    def __post_init__(self) -> None:
        """Refuse an outcome that those of its runs contradict.

        Raises:
            ValueError: it does not follow from them.
        """
        if not isinstance(self.repeats, UnsetType):
            expected = {_OUTCOMES[self.repeats.outcome]}
            if self.repeats.outcome == "worse":  # the setting `worth` may say that it does not count
                expected = {"failed", "passed"}
            if self.repeats.outcome == "unclear" and self.repeats.errors >= MOST_ERRORS:
                expected = {"error"} if self.repeats.is_unanswered else {"error", "unclear"}  # "error": as it once was
            if self.outcome not in expected:
                raise ValueError(f"a case whose runs are '{self.repeats.outcome}' cannot be '{self.outcome}'")
        if self.outcome == "unclear" and isinstance(self.repeats, UnsetType):
            raise ValueError("a case is only unclear after several runs")

    def tests_the_same_as(self, other: CaseResult) -> bool:
        """Whether both begin with, say and expect the same; a step that a side did not judge is not known there."""
        if [message.as_written for message in self.messages] != [message.as_written for message in other.messages]:
            return False
        if self.resolved != other.resolved and UNSET not in {self.resolved, other.resolved}:
            return False
        if not isinstance(self.expects, UnsetType) and not isinstance(other.expects, UnsetType):
            return self.given == other.given and self.expects == other.expects
        return (
            self.given == other.given
            and len(self.steps) == len(other.steps)
            and all(
                step.kind == there.kind
                and (step.expected == there.expected or "skipped" in {step.outcome, there.outcome})
                for step, there in zip(self.steps, other.steps, strict=True)
            )
        )

    @property
    def measured_runs(self) -> tuple[MeasuredRun, ...]:
        """What the turns of its runs took; of one that was run once, those of its messages."""
        if not isinstance(self.measured, UnsetType):
            return self.measured
        turns = measured_turns(self)
        return (MeasuredRun(turns=turns),) if turns and self.outcome in {"passed", "failed"} else ()

    @property
    def trace_id(self) -> str:
        """The trace of the message at which a run of it failed, else of its last one; "" if none was sent with it."""
        run = self.telling_run
        traced = [one for one in run.messages if not isinstance(one.measured, UnsetType) and one.measured.trace]
        failing = _failing_message(run)
        shown = failing if failing in traced else traced[-1] if traced else None
        return "" if shown is None or isinstance(shown.measured, UnsetType) else shown.measured.trace

    @property
    def telling_run(self) -> CaseResult | FailedRun:
        """The run that a reader wants to see: the first that failed, also of a case that passed nevertheless."""
        return self if isinstance(self.failed_run, UnsetType) else self.failed_run

    @property
    def misunderstood(self) -> tuple[Misunderstanding, ...]:
        """The messages that are understood differently than when the case passed; also of a case that fails anyhow."""
        return tuple(
            misunderstanding for message in self.messages if (misunderstanding := message.misunderstanding) is not None
        )

    @property
    def failing_message(self) -> CaseMessage | None:
        """What the user said last before the first step that failed."""
        return _failing_message(self)

    @property
    def warning(self) -> str | None:
        """What went wrong in a case that passed nevertheless, such as an action that failed."""
        return self.reason if self.outcome == "passed" else None


def _failing_message(run: CaseResult | FailedRun) -> CaseMessage | None:
    wrong = next((step for step in run.steps if step.outcome in {"failed", "error"}), None)
    if wrong is None or wrong.message is None or not 0 <= wrong.message < len(run.messages):
        return None
    return run.messages[wrong.message]


def measured_turns(case: CaseResult) -> tuple[MeasuredTurn, ...]:
    """Return what the turns of the run took that the result of a case shows."""
    return tuple(one.measured for one in case.messages if not isinstance(one.measured, UnsetType))


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
    repeats: HowRepeated | UnsetType = UNSET
    """How the cases were repeated, if the assistant's answers vary."""
    commands: tuple[CommandCounts, ...] | UnsetType = UNSET
    """The commands of dialogue understanding tests by kind; left out where there are none."""

    @property
    def all_commands(self) -> CommandCounts | None:
        """The commands of all kinds together; ``None`` where none were counted."""
        if isinstance(self.commands, UnsetType):
            return None
        counts = [(one.tp, one.fp, one.fn) for one in self.commands]
        tp, fp, fn = map(sum, zip(*counts, strict=True)) if counts else (0, 0, 0)
        return CommandCounts(command="", tp=tp, fp=fp, fn=fn)

    @property
    def warned(self) -> tuple[CaseResult, ...]:
        """The cases that passed although something went wrong in them."""
        return tuple(case for case in self.cases if case.warning is not None)
