"""Forms: ask for one required slot after the other, and validate the values. Mirrors Rasa 3's form action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.dialogue.defaults import ACTION_EXTRACT_SLOTS, ACTION_LISTEN, SLOT_REQUESTED
from turncheck.dialogue.events import ActionExecuted, ActionExecutionRejected, ActiveLoop, SlotSet, UserUttered
from turncheck.dialogue.tracker import Tracker
from turncheck.engines.embedded.actions.base import ActionError, ActionRejectedError
from turncheck.engines.embedded.actions.loops import LoopAction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.engines.embedded.actions.base import ActionContext, ActionFinder
    from turncheck.project.model import Form


class FormAction(LoopAction):
    """One form of the domain. ``find`` finds the actions that it runs: extraction, those that ask."""

    def __init__(self, form: Form, find: ActionFinder) -> None:
        super().__init__(form.name)
        self._form = form
        self._find = find

    def activate(self, context: ActionContext, tracker: Tracker) -> list[Event]:
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

    def do(self, context: ActionContext, tracker: Tracker, events: Sequence[Event]) -> list[Event]:
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

    def _validate_if_needed(self, context: ActionContext, tracker: Tracker) -> list[Event]:
        just_heard = tracker.latest_action_name == ACTION_LISTEN and not tracker.is_active_loop_interrupted
        if tracker.active_loop is None or just_heard:
            return self._validate_message(context, tracker)
        return self._validate_slots({}, context, tracker)

    def _validate_message(self, context: ActionContext, tracker: Tracker) -> list[Event]:
        extracted = self._extracted(tracker)
        events = self._validate_slots(extracted, context, tracker)
        sets_slot = any(isinstance(e, SlotSet) and e.name != SLOT_REQUESTED for e in events)
        requested = self._requested_slot(tracker)
        if requested and not extracted and not sets_slot and not _is_rejected(events):
            raise ActionRejectedError(f"'{requested}' is not in the message that '{self.name}' was given")
        return events

    def _extracted(self, tracker: Tracker) -> dict[str, Any]:
        """Return the required slots (and the one asked for) that were set since the latest message."""
        requested = self._requested_slot(tracker)
        if isinstance(requested, (list, dict)):  # an action may set it to anything; on these Rasa's form fails
            raise ActionError(f"the slot '{SLOT_REQUESTED}' holds no slot's name")
        wanted = {*self._form.required_slots, requested}
        latest = (tracker.latest_message.text, tracker.latest_message.intent_name)
        since: list[SlotSet] = []
        for event in reversed(tracker.events_since_restart()):
            if isinstance(event, UserUttered) and (event.text, event.intent_name) == latest:
                break
            if isinstance(event, SlotSet) and event.name in wanted:
                since.append(event)
        return {event.name: event.value for event in reversed(since)}

    def _validate_slots(self, candidates: Mapping[str, Any], context: ActionContext, tracker: Tracker) -> list[Event]:
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

    def _ask_next(self, context: ActionContext, tracker: Tracker, events: Sequence[Event]) -> list[Event]:
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

    def _ask(self, slot: str, context: ActionContext, tracker: Tracker) -> list[Event]:
        """Run the action that asks; silence if there is none."""
        action = asking_action(self.name, slot, context.domain)
        return [] if action is None else self._find(action)(context, tracker)


def asking_action(form: str, slot: str, domain: DialogueDomain) -> str | None:
    """Return the action that asks for a slot of a form: the form's before the slot's, actions before responses."""
    names = (f"action_ask_{form}_{slot}", f"utter_ask_{form}_{slot}", f"action_ask_{slot}", f"utter_ask_{slot}")
    return next((name for name in names if name in domain.actions), None)


def _is_rejected(events: Sequence[Event]) -> bool:
    return any(isinstance(event, ActionExecutionRejected) for event in events)
