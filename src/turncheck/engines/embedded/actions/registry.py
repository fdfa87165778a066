"""From an action's name to what it does: the default actions, and forms.

Forms ask for one required slot after the other, extract and validate values, as Rasa 3's form action does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from turncheck.dialogue import domain as names
from turncheck.dialogue.domain import (
    ACTION_DEFAULT_ASK_AFFIRMATION,
    ACTION_DEFAULT_ASK_REPHRASE,
    ACTION_DEFAULT_FALLBACK,
    ACTION_EXTRACT_SLOTS,
    ACTION_LISTEN,
    ACTION_TWO_STAGE_FALLBACK,
    ACTION_VALIDATE_SLOT_MAPPINGS,
    DEFAULT_SLOTS,
    INTENT_NLU_FALLBACK,
    INTENT_OUT_OF_SCOPE,
    SLOT_REQUESTED,
    DialogueDomain,
)
from turncheck.dialogue.events import (
    ActionExecuted,
    ActionExecutionRejected,
    ActiveLoop,
    Event,
    Restarted,
    SessionStarted,
    SlotSet,
    UserUtteranceReverted,
    UserUttered,
)
from turncheck.dialogue.outward_events import BotUttered
from turncheck.dialogue.tracker import Tracker
from turncheck.engines.embedded.actions import base
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.project.model import Form, Slot, SlotMapping

# What forms and the two-stage fallback have in common: they stay active over several turns until they are done.


class LoopAction(ABC):
    """Activates itself on its first run, runs its step each time, and deactivates itself when it is done."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, context: base.ActionContext, tracker: Tracker) -> list[Event]:
        """Run one step and return its events."""
        events: list[Event] = []
        if tracker.active_loop_name != self.name:
            events.append(ActiveLoop(self.name))
            events += self.activate(context, tracker)
        if not self.is_done(tracker, events):
            events += self.do(context, tracker, events)
        if self.is_done(tracker, events):
            events.append(ActiveLoop(None))
            events += self.deactivate(context, tracker)
        return events

    def activate(self, context: base.ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG002 - for those who need it
        """Return the events that follow the one that activates it."""
        return []

    @abstractmethod
    def do(self, context: base.ActionContext, tracker: Tracker, events: Sequence[Event]) -> list[Event]:
        """Run one step; ``events`` are those of this run so far."""

    @abstractmethod
    def is_done(self, tracker: Tracker, events: Sequence[Event]) -> bool:
        """Whether the loop ends here."""

    def deactivate(self, context: base.ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG002 - for those who need it
        """Return the events that follow the one that deactivates it."""
        return []


class FormAction(LoopAction):
    """One form of the domain. ``find`` finds the actions that it runs: extraction, those that ask."""

    def __init__(self, form: Form, find: base.ActionFinder) -> None:
        super().__init__(form.name)
        self._form = form
        self._find = find

    def activate(self, context: base.ActionContext, tracker: Tracker) -> list[Event]:
        """Extract slots again, now that the form is active, and validate all that already have a value."""
        tracker = tracker.copy()
        tracker.append(ActiveLoop(self.name))
        extracted = self._find(ACTION_EXTRACT_SLOTS)(context, tracker)
        tracker.extend(extracted)
        if self._validation not in context.domain.actions:
            return [event for event in extracted if isinstance(event, SlotSet)]
        filled = {name: tracker.slots.get(name) for name in self._form.required_slots}
        candidates = {name: value for name, value in filled.items() if value is not None}
        validated = self._validate_slots(candidates, context, tracker)
        names = {event.name for event in validated if isinstance(event, SlotSet)}
        return [*validated, *(e for e in extracted if isinstance(e, SlotSet) and e.name not in names)]

    def do(self, context: base.ActionContext, tracker: Tracker, events: Sequence[Event]) -> list[Event]:
        """Validate the message, if that was not done on activation, then ask for the next slot."""
        validated: list[Event] = []
        if all(isinstance(event, ActiveLoop) for event in events):
            validated = self._validate_if_needed(context, tracker)
        if _is_rejected(validated):
            return validated
        return [*validated, *self._ask_next(context, tracker, [*events, *validated])]

    def is_done(self, tracker: Tracker, events: Sequence[Event]) -> bool:  # noqa: ARG002 - a loop
        """Done when the last event for the requested slot, or the loop, sets it to null. A rejection keeps it open."""
        if _is_rejected(events):
            return False
        requested = [e for e in events if isinstance(e, SlotSet) and e.name == SLOT_REQUESTED]
        loops = [e for e in events if isinstance(e, ActiveLoop)]
        return (bool(requested) and requested[-1].value is None) or (bool(loops) and loops[-1].name is None)

    @property
    def _validation(self) -> str:
        return f"validate_{self.name}"

    def _requested_slot(self, tracker: Tracker) -> str | None:
        """Return the slot that this form asked for; another form's does not count."""
        return tracker.slots.get(SLOT_REQUESTED) if tracker.active_loop_name == self.name else None

    def _validate_if_needed(self, context: base.ActionContext, tracker: Tracker) -> list[Event]:
        just_heard = tracker.latest_action_name == ACTION_LISTEN and not tracker.is_active_loop_interrupted
        if tracker.active_loop is None or just_heard:
            return self._validate_message(context, tracker)
        return self._validate_slots({}, context, tracker)

    def _validate_message(self, context: base.ActionContext, tracker: Tracker) -> list[Event]:
        extracted = self._extracted(tracker)
        events = self._validate_slots(extracted, context, tracker)
        sets_slot = any(isinstance(e, SlotSet) and e.name != SLOT_REQUESTED for e in events)
        requested = self._requested_slot(tracker)
        if requested and not extracted and not sets_slot and not _is_rejected(events):
            raise base.ActionRejectedError(f"'{requested}' is not in the message that '{self.name}' was given")
        return events

    def _extracted(self, tracker: Tracker) -> dict[str, Any]:
        """Return the required slots (and the one asked for) that were set since the latest message."""
        requested = self._requested_slot(tracker)
        if isinstance(requested, (list, dict)):  # an action may set it to anything; on these Rasa's form fails
            raise base.ActionError(f"the slot '{SLOT_REQUESTED}' holds no slot's name")
        wanted = {*self._form.required_slots, requested}
        latest = (tracker.latest_message.text, tracker.latest_message.intent_name)
        since: list[SlotSet] = []
        for event in reversed(tracker.events_since_restart()):
            if isinstance(event, UserUttered) and (event.text, event.intent_name) == latest:
                break
            if isinstance(event, SlotSet) and event.name in wanted:
                since.append(event)
        return {event.name: event.value for event in reversed(since)}

    def _validate_slots(
        self, candidates: Mapping[str, Any], context: base.ActionContext, tracker: Tracker
    ) -> list[Event]:
        """Run the validation action on the candidates; without one, they are valid as they are."""
        if self._validation not in context.domain.actions:
            return []
        events = [SlotSet(name, value) for name, value in candidates.items()]
        return context.custom.run(self._validation, context, self._with(events, tracker))

    def _with(self, events: Sequence[Event], tracker: Tracker) -> Tracker:
        """Return the dialogue in which this form has just run and returned these events."""
        requested = SlotSet(SLOT_REQUESTED, self._requested_slot(tracker))
        so_far = [*tracker.events_since_restart(), requested, ActionExecuted(self.name)]
        return Tracker.of(tracker.domain, [*so_far, *events], tracker.name)

    def _ask_next(self, context: base.ActionContext, tracker: Tracker, events: Sequence[Event]) -> list[Event]:
        if self.is_done(tracker, events):
            return [SlotSet(SLOT_REQUESTED, None)]
        candidate = self._with(events, tracker)
        chosen = next((e.value for e in events if isinstance(e, SlotSet) and e.name == SLOT_REQUESTED), None)
        if chosen:
            return self._ask(chosen, context, candidate)
        missing = (name for name in self._form.required_slots if candidate.slots.get(name) is None)
        slot = next(missing, None)
        if slot is None:
            return [SlotSet(SLOT_REQUESTED, None)]
        return [SlotSet(SLOT_REQUESTED, slot), *self._ask(slot, context, candidate)]

    def _ask(self, slot: str, context: base.ActionContext, tracker: Tracker) -> list[Event]:
        """Run the action that asks; silence if there is none."""
        action = asking_action(self.name, slot, context.domain)
        return [] if action is None else self._find(action)(context, tracker)


def asking_action(form: str, slot: str, domain: DialogueDomain) -> str | None:
    """Return the action that asks for a slot of a form: the form's before the slot's, actions before responses."""
    names = (f"action_ask_{form}_{slot}", f"utter_ask_{form}_{slot}", f"action_ask_{slot}", f"utter_ask_{slot}")
    return next((name for name in names if name in domain.actions), None)


def _is_rejected(events: Sequence[Event]) -> bool:
    return any(isinstance(event, ActionExecutionRejected) for event in events)


# ``action_extract_slots``: after every user message, fill slots by their mappings. Mirrors Rasa 3.


def extract_slots(context: base.ActionContext, tracker: Tracker) -> list[Event]:
    """Return a slot event for each slot that the latest message fills, after validation.

    For each slot its mappings are tried in order, until one gives a value. A custom mapping's action runs once; what it
    returns besides slots and messages is dropped. ``action_validate_slot_mappings``, if the domain has it, may
    replace what was extracted.
    """
    events: list[Event] = []
    done: set[str] = set()
    for slot in context.domain.slots.values():
        if slot.name not in DEFAULT_SLOTS:
            events += _extract(slot, context, tracker, done)
    return _validate(events, context, tracker)


def _extract(slot: Slot, context: base.ActionContext, tracker: Tracker, done: set[str]) -> list[Event]:
    events: list[Event] = []
    for mapping in slot.mappings:
        if not _applies(slot, mapping, context.domain, tracker):
            continue
        values = _values(mapping, tracker)
        if values:
            value = values if slot.type == "list" else values[-1]
            if value is not None or tracker.slots.get(slot.name) is not None:
                return [*events, SlotSet(slot.name, value)]
        if mapping.type == "custom" and mapping.action and mapping.action not in done:
            done.add(mapping.action)
            events += _slots_and_messages(mapping.action, context, tracker)
    return events


def _applies(slot: Slot, mapping: SlotMapping, domain: DialogueDomain, tracker: Tracker) -> bool:
    return (
        _is_valid(mapping, domain)
        and _intent_fits(mapping, domain, tracker)
        and _conditions_fit(slot, mapping, tracker)
        and not _is_ambiguous_in_form(slot, mapping, domain, tracker)
    )


def _is_valid(mapping: SlotMapping, domain: DialogueDomain) -> bool:
    """Whether the domain knows the mapping's entity or intents; an invalid mapping is skipped."""
    if mapping.type == "from_entity":
        return mapping.entity in domain.domain.entities
    if mapping.type == "from_intent":
        return all(intent in domain.used_entities for intent in mapping.intents)
    return True


def _intent_fits(mapping: SlotMapping, domain: DialogueDomain, tracker: Tracker) -> bool:
    intent = tracker.latest_message.intent_name
    if mapping.intents:
        return intent in mapping.intents
    return intent not in mapping.not_intents and intent not in _ignored_intents(mapping, domain, tracker)


def _ignored_intents(mapping: SlotMapping, domain: DialogueDomain, tracker: Tracker) -> Sequence[str]:
    """Return what the active form ignores, for the mappings that are tied to it or to none."""
    form = domain.domain.forms.get(tracker.active_loop_name or "")
    if form is None:
        return ()
    if mapping.conditions and not any(c.active_loop == form.name for c in mapping.conditions):
        return ()
    return form.ignored_intents


def _conditions_fit(slot: Slot, mapping: SlotMapping, tracker: Tracker) -> bool:
    if not mapping.conditions or mapping.type == "from_trigger_intent":
        return True
    loop, requested = tracker.active_loop_name, tracker.slots.get(SLOT_REQUESTED)
    if tracker.is_active_loop_rejected and requested == slot.name:
        return False
    return any(
        (condition.active_loop is None and loop is None)
        or (
            bool(condition.active_loop)
            and condition.active_loop == loop
            and (not condition.requested_slot or condition.requested_slot == requested)
        )
        for condition in mapping.conditions
    )


def _is_ambiguous_in_form(slot: Slot, mapping: SlotMapping, domain: DialogueDomain, tracker: Tracker) -> bool:
    """Whether the entity could also fill another slot of the active form: then only the requested one is filled."""
    form = domain.domain.forms.get(tracker.active_loop_name or "")
    if mapping.type != "from_entity" or form is None or slot.name not in form.required_slots:
        return False
    if tracker.slots.get(SLOT_REQUESTED) == slot.name:
        return False
    same = [
        other
        for name in form.required_slots
        if name in domain.domain.slots
        for other in domain.domain.slots[name].mappings
        if _content(other) == _content(mapping)
    ]
    return len(same) > 1


def _content(mapping: SlotMapping) -> tuple[Any, ...]:
    """Return everything in a mapping except its place in the file."""
    return (
        mapping.type,
        mapping.entity,
        mapping.role,
        mapping.group,
        mapping.intents,
        mapping.not_intents,
        mapping.value,
        mapping.conditions,
    )


def _values(mapping: SlotMapping, tracker: Tracker) -> list[Any]:
    match mapping.type:
        case "from_entity" if mapping.entity is not None:
            return tracker.entity_values(mapping.entity, mapping.role, mapping.group)
        case "from_intent":
            return [mapping.value]
        case "from_text":
            return [tracker.latest_message.text]
        case "from_trigger_intent" if _is_triggered(mapping, tracker):
            return [mapping.value]
        case _:
            return []


def _is_triggered(mapping: SlotMapping, tracker: Tracker) -> bool:
    """Whether a loop that the mapping allows is active; it is extracted while the form is being activated."""
    if tracker.active_loop_name is None:
        return False
    loops = [condition.active_loop for condition in mapping.conditions]
    return not loops or tracker.active_loop_name in loops


def _validate(events: Sequence[Event], context: base.ActionContext, tracker: Tracker) -> list[Event]:
    """Let ``action_validate_slot_mappings`` check the slots; those that it does not return count as valid.

    The messages of custom actions are lost here, as in Rasa.
    """
    extracted: list[Event] = [event for event in events if isinstance(event, SlotSet)]
    if ACTION_VALIDATE_SLOT_MAPPINGS not in context.domain.domain.actions:
        return extracted
    candidate = Tracker.of(tracker.domain, [*tracker.events_since_restart(), *extracted], tracker.name)
    validated = _slots_and_messages(ACTION_VALIDATE_SLOT_MAPPINGS, context, candidate)
    names = {event.name for event in validated if isinstance(event, SlotSet)}
    return [*validated, *(e for e in extracted if isinstance(e, SlotSet) and e.name not in names)]


def _slots_and_messages(action: str, context: base.ActionContext, tracker: Tracker) -> list[Event]:
    """Run a custom action; one that fails has no effect."""
    try:
        events = context.custom.run(action, context, tracker)
    except (base.ActionError, base.ActionRejectedError):
        return []
    return [event for event in events if isinstance(event, (SlotSet, BotUttered))]


# Actions that say something: responses, retrieved responses, end-to-end texts.

UTTER_PREFIX = "utter_"


def respond(response: str) -> base.Action:
    """Return the action that says this response; it says nothing if no variation fits."""

    def run(context: base.ActionContext, tracker: Tracker) -> list[Event]:
        content = context.responses.generate(response, tracker.slots)
        return [] if content is None else [base.bot_event({**content, "utter_action": response})]

    return run


def say(text: str) -> base.Action:
    """Return the action that says just this text (an end-to-end bot message)."""

    def run(context: base.ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
        return [base.bot_event({"text": text})]

    return run


def retrieve(action: str) -> base.Action:
    """Return the action ``utter_faq`` of the retrieval intent ``faq``: it says what the response selector chose."""

    def run(context: base.ActionContext, tracker: Tracker) -> list[Event]:
        selectors: dict[str, Any] = (tracker.latest_message.parse_data or {}).get("response_selector", {})
        if not selectors:
            raise base.ActionError(f"no response selector has chosen a response for '{action}'")
        selected = selectors.get(action.removeprefix(UTTER_PREFIX)) or selectors.get("default")
        if selected is None:
            return []
        try:
            response = str(selected["response"]["utter_action"])
        except (KeyError, TypeError) as error:  # a message from an action contains whatever the action put there
            raise base.ActionError(f"no response selector has chosen a response for '{action}'") from error
        return respond(response)(context, tracker)

    return run


# The default actions of Rasa 3 that are not loops.


def do_nothing(context: base.ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
    """``action_listen``, ``action_unlikely_intent``, and ``action_revert_fallback_events``.

    The last one reverted what a policy of Rasa 1 had done; in Rasa 3 it fails, which has no effect.
    """
    return []


def _respond_then(response: str, *events: Event) -> base.Action:
    speak = respond(response)

    def run(context: base.ActionContext, tracker: Tracker) -> list[Event]:
        return [*speak(context, tracker), *events]

    return run


restart = _respond_then("utter_restart", Restarted())
go_back = _respond_then("utter_back", UserUtteranceReverted(), UserUtteranceReverted())
fall_back = _respond_then("utter_default", UserUtteranceReverted())
ask_to_rephrase = _respond_then("utter_ask_rephrase")


def start_session(context: base.ActionContext, tracker: Tracker) -> list[Event]:
    """``action_session_start``: a new session that keeps the slots, if the domain says so."""
    kept: list[Event] = []
    if context.domain.domain.session.carry_over_slots_to_new_session:
        kept = [
            SlotSet(event.name, event.value, metadata=event.metadata)
            for event in tracker.applied_events()
            if isinstance(event, SlotSet)
        ]
    return [SessionStarted(), *kept, ActionExecuted(ACTION_LISTEN)]


def deactivate_loop(context: base.ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
    """``action_deactivate_loop``: no loop is active and no slot is requested any more."""
    return [ActiveLoop(None), SlotSet(SLOT_REQUESTED, None)]


def reset_routing(context: base.ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
    """``action_reset_routing``: slots are as at first, but for those that flows and what is beside them share.

    See https://rasa.com/docs/pro/calm-with-nlu/coexistence. That policies see nothing of what was before is left out.
    """
    return [
        SlotSet(name, slot.initial_value)
        for name, slot in context.domain.domain.slots.items()
        if not slot.shared_for_coexistence
    ]


def ask_affirmation(context: base.ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
    """``action_default_ask_affirmation``: ask whether the likeliest intent (except the fallback) was meant."""
    message = tracker.latest_message
    intent = message.intent_name
    ranking = (message.parse_data or {}).get("intent_ranking") or []
    if intent == INTENT_NLU_FALLBACK and len(ranking) > 1:
        intent = ranking[1].get("name")
    content = {
        "text": f"Did you mean '{intent}'?",
        "buttons": [
            {"title": "Yes", "payload": f"/{intent}"},
            {"title": "No", "payload": f"/{INTENT_OUT_OF_SCOPE}"},
        ],
        "utter_action": ACTION_DEFAULT_ASK_AFFIRMATION,
    }
    return [base.bot_event(content)]


# ``action_two_stage_fallback``: ask whether the likeliest intent was meant, then to rephrase, then give up.
#
# Mirrors Rasa 3's loop of that name.

_TWO_FALLBACKS = [INTENT_NLU_FALLBACK, INTENT_NLU_FALLBACK]
_DENIED_AGAIN = [INTENT_OUT_OF_SCOPE, INTENT_NLU_FALLBACK, INTENT_OUT_OF_SCOPE]


class TwoStageFallback(LoopAction):
    """See the module. ``find`` finds the actions that ask and give up: a project may define its own."""

    def __init__(self, find: base.ActionFinder) -> None:
        super().__init__(ACTION_TWO_STAGE_FALLBACK)
        self._find = find

    def do(self, context: base.ActionContext, tracker: Tracker, events: Sequence[Event]) -> list[Event]:
        """Ask for affirmation at the beginning and after an unclear message, else to rephrase."""
        just_activated = any(isinstance(event, ActiveLoop) for event in events)
        affirm = just_activated or tracker.latest_message.intent_name == INTENT_NLU_FALLBACK
        ask: base.Action = self._find(ACTION_DEFAULT_ASK_AFFIRMATION if affirm else ACTION_DEFAULT_ASK_REPHRASE)
        return ask(context, tracker)

    def is_done(self, tracker: Tracker, events: Sequence[Event]) -> bool:  # noqa: ARG002 - a loop
        """Done when the user is understood, or was not understood twice."""
        unclear = tracker.latest_message.intent_name in {INTENT_NLU_FALLBACK, INTENT_OUT_OF_SCOPE}
        return not unclear or _has_failed(tracker)

    def deactivate(self, context: base.ActionContext, tracker: Tracker) -> list[Event]:
        """Give up, or forget the detour and take the message as it is now understood, with confidence 1."""
        if _has_failed(tracker):
            return self._find(ACTION_DEFAULT_FALLBACK)(context, tracker)
        message = tracker.latest_message
        intent = {**message.intent, "confidence": 1.0}
        parse_data = {**(message.parse_data or {}), "intent": intent}
        return [
            UserUtteranceReverted(),
            ActionExecuted(ACTION_LISTEN),
            replace(message, intent=intent, parse_data=parse_data, timestamp=None),
        ]


def _has_failed(tracker: Tracker) -> bool:
    return _last_intents(tracker, 2) == _TWO_FALLBACKS or _last_intents(tracker, 3) == _DENIED_AGAIN


def _last_intents(tracker: Tracker, count: int) -> list[str | None]:
    """Return the intents of the latest messages since the latest restart, newest first; reverts take one place each."""
    latest = (
        e for e in reversed(tracker.events_since_restart()) if isinstance(e, (UserUttered, UserUtteranceReverted))
    )
    return [event.intent_name for event in islice(latest, count) if isinstance(event, UserUttered)]


_DEFAULT_ACTIONS: dict[str, base.Action] = {
    names.ACTION_LISTEN: do_nothing,
    names.ACTION_RESTART: restart,
    names.ACTION_SESSION_START: start_session,
    names.ACTION_DEFAULT_FALLBACK: fall_back,
    names.ACTION_DEACTIVATE_LOOP: deactivate_loop,
    names.ACTION_DEACTIVATE_FORM: deactivate_loop,
    names.ACTION_REVERT_FALLBACK_EVENTS: do_nothing,
    names.ACTION_DEFAULT_ASK_AFFIRMATION: ask_affirmation,
    names.ACTION_DEFAULT_ASK_REPHRASE: ask_to_rephrase,
    names.ACTION_UNLIKELY_INTENT: do_nothing,
    names.ACTION_BACK: go_back,
    names.ACTION_EXTRACT_SLOTS: extract_slots,
    names.ACTION_RESET_ROUTING: reset_routing,
}


def finder(domain: DialogueDomain) -> base.ActionFinder:
    """Return the function that finds this domain's actions by name (or by text, for end-to-end ones).

    A default action, or a form, that the domain lists under ``actions`` is the project's own: a custom action.
    """
    own = {*domain.domain.actions, *domain.domain.responses, *domain.domain.forms}

    def find(name: str) -> base.Action:
        if name not in own:
            if name == names.ACTION_REVERT_FALLBACK_EVENTS and domain.domain.rasa < NEWEST:
                return base.revert_fallback_events
            if name == names.ACTION_TWO_STAGE_FALLBACK:
                return TwoStageFallback(find)
            if name in _DEFAULT_ACTIONS:
                return _DEFAULT_ACTIONS[name]
        if name.startswith(UTTER_PREFIX) and name.removeprefix(UTTER_PREFIX) in domain.retrieval_intents:
            return retrieve(name)
        if name in domain.bot_texts:
            return say(name)
        if name.startswith(UTTER_PREFIX):
            return respond(name)
        if name in domain.domain.forms and name not in domain.domain.actions:
            return FormAction(domain.domain.forms[name], find)
        return _custom(name)

    return find


def _custom(name: str) -> base.Action:
    def run(context: base.ActionContext, tracker: Tracker) -> list[Event]:
        return context.custom.run(name, context, tracker)

    return run
