"""One test story compared with the policies, action by action, as ``rasa test core`` does it.

The dialogue always continues as the story says, whatever was predicted. Custom actions and forms are not run: their
events are those of the story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.dialogue.domain import ACTION_LISTEN, ACTION_SESSION_START, ACTION_UNLIKELY_INTENT, DialogueDomain
from turncheck.dialogue.events import ActionExecuted, ActionExecutionRejected, ActiveLoop, SlotSet, UserUttered
from turncheck.dialogue.tracker import Tracker
from turncheck.engines.conversation import Decision, Parse, Policies, PredictedIntent, SelectedResponse
from turncheck.evaluations.core import annotated
from turncheck.evaluations.core.annotated import found, predicted_intent
from turncheck.report.model import Alternative, StoryStep, WrittenStep

if TYPE_CHECKING:
    from turncheck.dialogue.training import StoryTracker


# The steps of a judged story as they are written to Rasa's story files.


def user_step(event: UserUttered) -> dict[str, Any]:
    """Write a message as in the story."""
    step: dict[str, Any] = {}
    if event.intent_name and not event.use_text:
        step["intent"] = event.intent.get("full_retrieval_intent_name") or event.intent_name
    if event.entities:
        step["entities"] = [_written_entity(entity) for entity in event.entities]
    if event.text and event.use_text:
        step["user"] = annotated.annotated(event.text, event.entities)
    return step


def _written_entity(entity: Mapping[str, Any]) -> Any:
    return {entity["entity"]: entity["value"]} if "value" in entity else entity["entity"]


def wrong_user_step(event: UserUttered, intent: str | None, predicted: Sequence[Mapping[str, Any]]) -> WrittenStep:
    """Write a misunderstood message with only those entities where something was found, along with what was found."""
    step: dict[str, Any] = {}
    if event.intent_name and not event.use_text:
        step["intent"] = event.intent_name
    comments: dict[str, str] = {}
    entities: list[Any] = []
    for entity in event.entities:
        if "value" not in entity:
            entities.append(entity["entity"])
            continue
        for span in predicted:
            if span.get("start") == entity.get("start"):
                if span["entity"] != entity["entity"]:
                    comments[str(len(entities))] = f"predicted: {span['entity']}: {span.get('value')}"
                entities.append(_written_entity(entity))
    if event.entities:
        step["entities"] = entities
    if event.text and event.use_text:
        step["user"] = annotated.annotated(event.text, event.entities)
    comment = None
    # Rasa attaches the comment to the intent: a step with only a text gets none.
    if "intent" in step and (not entities or intent != event.intent_name):
        comment = f"predicted: {intent}: {annotated.annotated(event.text or '', predicted)}".replace("\n", " ")
    return WrittenStep(step=step, comment=comment, entity_comments=comments)


@lru_cache(maxsize=4096)
def written_action(name: str | None, text: str | None, comment: str | None = None) -> WrittenStep:
    """Write an action. The same object is returned for the same action: thousands of stories use the same few."""
    return WrittenStep(step={"action": name} if name else {"bot": text}, comment=comment)


ACTION_LIMIT: Final = 10
"""The number of actions in a turn after which Rasa's circuit breaker ends it."""
CIRCUIT_BREAKER: Final = "circuit breaker tripped"
NOTHING_SHOWN: Final = "nothing, since it is not defined"
"""What the user sees of an action that the policies know only from stories and rules."""
_NO_SLOTS: Final[dict[str, Any]] = {}
"""Shared by all correct steps: a new one for each would take more memory than the step."""

Shows = Callable[[str], bool]
"""Whether the assistant can run an action, so that the user sees an effect."""


class MisparsedMessage(Struct, frozen=True):
    """A message that was understood differently than the story says; ``response``: the one that the story expects."""

    event: UserUttered
    parse: Parse
    response: str | None


class StoryRun(Struct):
    """The result of one story. Entities are ``{text, start, end, entity, value}``, as far as known."""

    steps: list[StoryStep] = field(default_factory=list)
    written: list[WrittenStep] = field(default_factory=list)
    actions: list[tuple[str, str]] = field(default_factory=list)
    intents: list[tuple[str | None, str | None]] = field(default_factory=list)
    expected_entities: list[annotated.Entity] = field(default_factory=list)
    predicted_entities: list[annotated.Entity] = field(default_factory=list)
    before_actions: list[annotated.AnnotatedText] = field(default_factory=list)
    """The annotated messages right before a prediction."""
    misparsed: list[MisparsedMessage] = field(default_factory=list)
    warned: bool = False
    severity: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether all actions and intents are right, and all messages together have the expected entities."""
        return all(
            expected == predicted for expected, predicted in (*self.actions, *self.intents)
        ) and annotated.as_set(self.expected_entities) == annotated.as_set(self.predicted_entities)


def run_story(
    story: StoryTracker, ensemble: Policies, understood: Mapping[str, Parse] | None, shows: Shows | None = None
) -> StoryRun:
    """Compare a test story with the policies.

    ``understood``: how the texts of the messages were understood, which is then judged, too (end to end); ``None``:
    messages are understood as written in the story. So is any message without a text.
    ``shows``: a correct prediction of an action that shows nothing is wrong; ``None``: only predictions are judged.
    """
    runner = _Runner(story, ensemble, understood or {}, shows)
    refilled = 0
    for number, event in enumerate(story.events):
        if refilled and isinstance(event, SlotSet):
            refilled -= 1  # in Rasa 1 the entities that were found fill slots, not those written in the story
        elif number == 0 or not isinstance(event, (ActionExecuted, UserUttered)):
            runner.apply_given(event)
        elif isinstance(event, ActionExecuted):
            runner.act(event)
        elif understood is not None:
            runner.hear(event, _response_as_written(story.events, number))
            refilled = runner.fill_from_found(event) if runner.domain.is_older else 0
        else:
            runner.apply_given(event)
    return runner.run


def passes_as_written(
    story: StoryTracker, ensemble: Policies, understood: Mapping[str, Parse], shows: Shows | None = None
) -> bool:
    """Compare the story with the policies again, with each message's intent and entities as written in the story.

    A retrieval action answers with the response that the story names, if anything in the pipeline selects responses
    (as ``understood`` shows): choosing one is a part of understanding the message.
    """
    runner = _Runner(story, ensemble, {}, shows)
    for number, event in enumerate(story.events):
        if number == 0 or not isinstance(event, ActionExecuted):
            runner.apply_given(event)
            if isinstance(event, UserUttered):
                response = _response_as_written(story.events, number)
                runner.heard = _as_written(event, response) if _selects(understood, event) else None
        else:
            runner.act(event)
    return runner.run.passed


def _response_as_written(events: Sequence[Any], number: int) -> str | None:
    """Return the response to the message with this number, according to its own intent or the action that follows."""
    message = events[number]
    if full := message.intent.get("full_retrieval_intent_name"):
        return str(full)
    for place in range(number + 1, len(events)):
        event = events[place]
        if isinstance(event, UserUttered):
            return None
        if isinstance(event, ActionExecuted) and (event.name or "").startswith(f"utter_{message.intent_name}/"):
            return (event.name or "").removeprefix("utter_")
    return None


def _selects(understood: Mapping[str, Parse], event: UserUttered) -> bool:
    """Whether a text was parsed and a response selected for it; a message without a text has none, as in Rasa."""
    parse = understood.get(event.text or "")
    return parse is not None and bool(parse.responses)


def _as_written(event: UserUttered, response: str | None) -> Parse:
    intent = PredictedIntent(event.intent_name, 1.0)
    chosen = {} if response is None else {"": SelectedResponse("", response, 1.0)}
    return Parse(event.text or "", intent, responses=chosen)


class _Runner:
    def __init__(
        self, story: StoryTracker, ensemble: Policies, understood: Mapping[str, Parse], shows: Shows | None
    ) -> None:
        self.run = StoryRun()
        self.tracker = Tracker(ensemble.domain, story.name)
        self.ensemble = ensemble
        self.domain: DialogueDomain = ensemble.domain
        self.understood = understood
        self.shows = shows
        self.heard: Parse | None = None
        self.slots: Mapping[str, Any] = {}
        self.filled: dict[str, Any] = {}
        """Those of ``slots`` with a value: created once for all wrong steps between two changes."""

    # --- what is only given -------------------------------------------------------------------------------------------

    def apply_given(self, event: Any) -> None:
        """Apply an event unchanged."""
        self.tracker.append(event)
        match event:
            case UserUttered():
                self.run.written.append(WrittenStep(step=user_step(event)))
            case SlotSet():
                self.run.written.append(WrittenStep(step={"slot_was_set": [{event.name: event.value}]}))
            case ActiveLoop():
                self.run.written.append(WrittenStep(step={"active_loop": event.name}))
            case ActionExecuted() if event.name != ACTION_LISTEN:
                self.run.written.append(written_action(event.name, event.text))
            case _:
                pass

    # --- messages -----------------------------------------------------------------------------------------------------

    def hear(self, event: UserUttered, response: str | None) -> None:
        """Parse the message with the NLU, and compare intent, entities and the selected response."""
        expected_intent = event.intent.get("full_retrieval_intent_name") or event.intent_name
        predicted_intent, found = self._understood(event, expected_intent)
        expected = [annotated.cleaned(event.text, entity) for entity in event.entities]
        predicted = [annotated.cleaned(event.text, entity) for entity in found]
        run = self.run
        run.intents.append((expected_intent, predicted_intent))
        run.expected_entities.extend(expected)
        run.predicted_entities.extend(predicted)
        intent_right = expected_intent == predicted_intent
        entities_right = annotated.as_set(expected) == annotated.as_set(predicted)
        text = event.text or ""
        run.steps.append(
            StoryStep(
                kind="intent",
                expected=str(expected_intent),
                predicted=str(predicted_intent),
                passed=intent_right,
                location=event.location,
                text=event.text,
                **self._situation(right=intent_right),
            )
        )
        if expected or predicted:
            run.steps.append(
                StoryStep(
                    kind="entities",
                    expected=annotated.shown(text, expected),
                    predicted=annotated.shown(text, predicted),
                    passed=entities_right,
                    location=event.location,
                    text=event.text,
                    **self._situation(right=entities_right),
                )
            )
        self.heard = None
        parse = self.understood.get(text)
        if parse is not None and not (
            (intent_right or expected_intent is None) and entities_right and annotated.selects_this(parse, response)
        ):
            run.misparsed.append(MisparsedMessage(event, parse, response))
        if intent_right and entities_right:
            self.heard = parse
            self.tracker.append(event)
            run.written.append(WrittenStep(step=user_step(event)))
        else:
            wrong = UserUttered(
                text=event.text,
                intent={"name": expected_intent},
                entities=tuple(expected),
                location=event.location,
            )
            self.tracker.append(wrong)
            run.written.append(wrong_user_step(wrong, predicted_intent, predicted))

    def fill_from_found(self, event: UserUttered) -> int:
        """Fill slots from the entities that were found; return how many the story's own entities would have filled."""
        _, found = self._understood(event, event.intent_name)
        for slot in self.domain.slots_for_entities(found):
            self.apply_given(replace(slot, location=event.location))
        return len(self.domain.slots_for_entities(event.entities))

    def _understood(self, event: UserUttered, expected: str | None) -> tuple[str | None, Sequence[Mapping[str, Any]]]:
        if not event.text:
            return event.intent_name, event.entities
        parse = self.understood[event.text]
        return predicted_intent(parse, expected), [found(entity) for entity in parse.entities]

    def _situation(self, *, right: bool) -> dict[str, Any]:
        """Slots and active loop at this point, which are a part of a wrong step."""
        if right:
            return {}
        slots = self.tracker.slots
        if slots is not self.slots:
            self.slots = slots
            self.filled = {name: value for name, value in slots.items() if value is not None}
        return {"slots": self.filled, "active_loop": self.tracker.active_loop_name}

    # --- actions ------------------------------------------------------------------------------------------------------

    def act(self, event: ActionExecuted) -> None:
        """Predict the action and compare it; then continue with the story's action."""
        expected = event.label
        heard = annotated.annotated_text(self.tracker)
        predicted, decision = self._predict(expected)
        warned = predicted == ACTION_UNLIKELY_INTENT != expected
        if warned:
            self._note_unlikely_intent(event, decision)
            predicted, decision = self._predict(expected)
        elif heard is not None:
            self.run.before_actions.append(heard)
        if predicted == expected and self.shows is not None and not self.shows(expected):
            predicted = NOTHING_SHOWN
        right = predicted == expected
        run = self.run
        run.actions.append((expected, predicted))
        run.steps.append(self._action_result(event, predicted, decision, warned=warned))
        metadata = None if decision is None else decision.metadata
        policy = None if decision is None else decision.policy
        confidence = 0.0 if decision is None else decision.confidence
        if right:
            executed = ActionExecuted(predicted, policy, confidence, metadata=metadata)
            comment = f"predicted: {ACTION_UNLIKELY_INTENT}" if warned else None
        else:
            executed = ActionExecuted(event.name, policy, confidence, event.text, metadata=metadata)
            comment = f"predicted: {predicted}{f' after {ACTION_UNLIKELY_INTENT}' if warned else ''}"
        self.tracker.append(executed)
        if comment is not None or executed.name not in {ACTION_LISTEN, ACTION_UNLIKELY_INTENT, ACTION_SESSION_START}:
            run.written.append(written_action(executed.name, executed.text, comment))

    def _predict(self, expected: str) -> tuple[str, Decision | None]:
        decision = self._decide()
        if decision is None:
            return CIRCUIT_BREAKER, None
        predicted = self._name(decision.action, expected)
        if (
            decision.policy
            and predicted != expected
            and predicted == self.tracker.active_loop_name
            and predicted in self.domain.domain.forms
        ):
            # The story deviates while a form is active: the form would have rejected its execution there.
            self.tracker.append(ActionExecutionRejected(predicted))
            decision = self._decide()
            if decision is None:
                return CIRCUIT_BREAKER, None
            predicted = self._name(decision.action, expected)
        return predicted, decision

    def _decide(self) -> Decision | None:
        """Ask the policies; ``None`` if too many actions were run in this turn."""
        tracker = self.tracker
        if tracker.latest_action_name not in {ACTION_LISTEN, ACTION_SESSION_START} and _acted(tracker) >= ACTION_LIMIT:
            return None
        return self.ensemble.next(tracker)

    def _name(self, predicted: str, expected: str) -> str:
        """Return a retrieval action with the response it would choose, if the story names one."""
        intent = predicted.removeprefix("utter_")
        if predicted in {expected, intent} or intent not in self.domain.retrieval_intents:
            return predicted
        chosen = None if self.heard is None else annotated.response_key(self.heard, intent)
        return predicted if chosen is None else f"utter_{chosen}"

    def _note_unlikely_intent(self, event: ActionExecuted, decision: Decision | None) -> None:
        metadata = None if decision is None else decision.metadata
        severity = ((metadata or {}).get("query_intent") or {}).get("severity") or 0.0
        self.run.warned = True
        self.run.severity = max(self.run.severity, severity)
        self.tracker.append(
            ActionExecuted(
                ACTION_UNLIKELY_INTENT,
                None if decision is None else decision.policy,
                None if decision is None else decision.confidence,
                event.text,
                metadata=metadata,
            )
        )

    def _action_result(
        self, event: ActionExecuted, predicted: str, decision: Decision | None, *, warned: bool
    ) -> StoryStep:
        right = predicted == event.label
        others = () if right or decision is None else _alternatives(decision.alternatives)
        return StoryStep(
            kind="action",
            expected=event.label,
            predicted=predicted,
            passed=right,
            policy=None if decision is None else decision.policy,
            confidence=None if decision is None else decision.confidence,
            location=event.location,
            alternatives=others,
            warning=warned,
            **({"slots": _NO_SLOTS} if right else self._situation(right=False)),
        )


@lru_cache(maxsize=4096)
def _alternatives(scores: tuple[tuple[str, float], ...]) -> tuple[Alternative, ...]:
    """Return the same objects for the same scores: thousands of stories reach the same points."""
    return tuple(Alternative(action=action, confidence=confidence) for action, confidence in scores)


def _acted(tracker: Tracker) -> int:
    count = 0
    for event in reversed(tracker.events):
        if isinstance(event, ActionExecuted):
            if event.name in {ACTION_LISTEN, ACTION_SESSION_START}:
                break
            count += 1
    return count
