"""Custom actions: run by an action server, or stubbed by a test; what became of each is noted down."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from turncheck.dialogue.events import BotUttered, Event, from_json
from turncheck.engines.base import CustomAction
from turncheck.engines.embedded.actions.base import ActionError, ActionRejectedError
from turncheck.engines.embedded.actions.messages import bot_event
from turncheck.engines.embedded.actions.request import action_call
from turncheck.engines.embedded.actions.server import CallFailedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.base import ActionOutcome
    from turncheck.engines.embedded.actions.base import ActionContext, Speech
    from turncheck.engines.embedded.actions.server import ActionServer

Json = dict[str, Any]

VALIDATION_PREFIX = "validate_"
VALIDATE_SLOT_MAPPINGS = "action_validate_slot_mappings"


class CustomActions:
    """Runs the custom actions of one conversation.

    Where ``stubs`` are given (by action: ``{"events": […], "responses": […]}``) the server is never called: an action
    without a stub does nothing, and that is noted; a validation without one takes all values as valid.
    """

    def __init__(self, server: ActionServer, stubs: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._server = server
        self._stubs = stubs
        self._noted: list[CustomAction] = []
        self.deadline: float | None = None
        """When the turn has to be over, on :func:`time.monotonic`."""

    def take_notes(self) -> tuple[CustomAction, ...]:
        """Return what became of the actions since the last call."""
        noted, self._noted = tuple(self._noted), []
        return noted

    def run(self, name: str, context: ActionContext, tracker: Tracker) -> list[Event]:
        """Run the action and return its messages and events.

        Raises:
            ActionRejectedError: it refused.
            ActionError: it failed, or nobody is there to run it.
        """
        try:
            answer, outcome, reason = self._answer(name, context, tracker)
            events = _events(answer, context.responses, tracker)
        except ActionRejectedError as error:
            self._note(name, "rejected", str(error))
            raise
        except CallFailedError as error:
            self._note(name, error.outcome, str(error))
            raise
        except ActionError as error:
            self._note(name, "failed", str(error))
            raise
        self._note(name, outcome, reason)
        return events

    def _note(self, name: str, outcome: ActionOutcome, reason: str) -> None:
        self._noted.append(CustomAction(name, outcome, reason))

    def _answer(
        self, name: str, context: ActionContext, tracker: Tracker
    ) -> tuple[Mapping[str, Any], ActionOutcome, str]:
        if self._stubs is not None:
            return stubbed(name, self._stubs)
        timeout = None if self.deadline is None else self.deadline - time.monotonic()
        if timeout is not None and timeout <= 0:
            raise CallFailedError("timed out", f"no time was left in this turn to run '{name}'")
        call = action_call(name, tracker, with_domain=not self._server.selective_domain or _needs_domain(name, context))
        return self._server.run(call, timeout), "ran", ""


def stubbed(name: str, stubs: Mapping[str, Mapping[str, Any]]) -> tuple[Mapping[str, Any], ActionOutcome, str]:
    """Return what stands for an action, what that is called, and why.

    Raises:
        CallFailedError: nothing does.
    """
    if name in stubs:
        return stubs[name], "stubbed", ""
    if name.startswith(VALIDATION_PREFIX) or name == VALIDATE_SLOT_MAPPINGS:
        return {}, "assumed", f"'{name}' has no stub: all values count as valid"
    raise CallFailedError("no server", f"'{name}' has no stub where other actions have")


def _needs_domain(name: str, context: ActionContext) -> bool:
    action = context.domain.domain.actions.get(name)
    return action is not None and action.send_domain


def _events(answer: Mapping[str, Any], responses: Speech, tracker: Tracker) -> list[Event]:
    """Turn an answer into events: first its messages, as in Rasa. Nothing of a malformed one is used."""
    said, happened = answer.get("responses", []), answer.get("events", [])
    if not _is_list_of_mappings(said) or not _is_list_of_mappings(happened):
        raise CallFailedError(
            "failed", "the action's answer is malformed: 'events' and 'responses' must be lists of objects"
        )
    messages = [message for response in said if (message := _message(response, responses, tracker)) is not None]
    return [*messages, *(_event(shape) for shape in happened)]


def _is_list_of_mappings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _event(shape: Json) -> Event:
    if shape.get("event") == "slot" and "value" not in shape:
        raise CallFailedError("failed", "the action's answer is malformed: a slot event without a value")
    if shape.get("event") == "user" and not isinstance(shape.get("parse_data"), dict):
        raise CallFailedError("failed", "the action's answer is malformed: a user event without parse_data")
    if not isinstance(shape.get("metadata") or {}, dict):
        raise CallFailedError("failed", "the action's answer is malformed: metadata that is no object")
    try:
        return from_json({**shape, "timestamp": None})
    except (ValueError, TypeError, AttributeError) as error:
        raise CallFailedError("failed", f"the action's answer is malformed: {error}") from error


def _message(response: Json, responses: Speech, tracker: Tracker) -> BotUttered | None:
    """Make a message: the named response, filled, and over it whatever the action itself gives."""
    given = dict(response)
    name = given.pop("response", None)
    draft: Json = {}
    if name:
        generated = responses.generate(name, tracker.slots, given)
        if not generated:
            return None
        draft = {**generated, "utter_action": name}
    buttons = given.pop("buttons", None)
    if buttons:
        draft["buttons"] = [*(draft.get("buttons") or ()), *buttons]
    draft.update({key: value for key, value in given.items() if value})
    return bot_event(draft)
