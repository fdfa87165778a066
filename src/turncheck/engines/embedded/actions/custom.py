"""Custom actions: run by an action server, or stubbed by a test; the outcome of each is recorded."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from turncheck.dialogue.event_reading import ShapeError
from turncheck.engines.action_server.server import CallFailedError
from turncheck.engines.conversation import CustomAction
from turncheck.engines.embedded.actions.answer import check_message, read_answer
from turncheck.engines.embedded.actions.base import ActionError, ActionRejectedError
from turncheck.engines.embedded.actions.messages import bot_event
from turncheck.engines.embedded.actions.request import action_call

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from turncheck.dialogue.events import BotUttered, Event
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.conversation import ActionOutcome, ActionServer
    from turncheck.engines.embedded.actions.answer import Answer, Said
    from turncheck.engines.embedded.actions.base import ActionContext, Speech

Json = dict[str, Any]

VALIDATION_PREFIX = "validate_"
VALIDATE_SLOT_MAPPINGS = "action_validate_slot_mappings"


class CustomActions:
    """Runs the custom actions of one conversation.

    With ``stubs`` (by action: ``{"events": […], "responses": […]}``) the server is never called: an action
    without a stub does nothing, which is recorded; a validation without one accepts all values.
    """

    def __init__(self, server: ActionServer, stubs: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._server = server
        self._stubs = stubs
        self._noted: list[CustomAction] = []
        self.deadline: float | None = None
        """When the turn must be over, on :func:`time.monotonic`."""

    def take_notes(self) -> tuple[CustomAction, ...]:
        """Return the outcomes of the actions since the last call."""
        noted, self._noted = tuple(self._noted), []
        return noted

    def run(self, name: str, context: ActionContext, tracker: Tracker) -> list[Event]:
        """Run the action and return its messages and events.

        Raises:
            ActionRejectedError: it refused.
            ActionError: it failed, or nothing is there to run it.
        """
        try:
            document, outcome, reason = self._answer(name, context, tracker)
            answer = read_answer(document)
            events = _events(answer, context.responses, tracker)
        except ActionRejectedError as error:
            self._note(name, "rejected", str(error))
            raise
        except ShapeError as error:
            raise self._failed(name, f"'{name}' failed, its answer is malformed: {error}") from error
        except CallFailedError as error:
            self._note(name, error.outcome, str(error))
            raise
        except ActionError as error:
            raise self._failed(name, f"'{name}' failed: {error}") from error
        self._note(name, outcome, reason or unsaid(name, answer, context.domain.domain.responses))
        return events

    def _failed(self, name: str, reason: str) -> CallFailedError:
        self._note(name, "failed", reason)
        return CallFailedError("failed", reason)

    def _note(self, name: str, outcome: ActionOutcome, reason: str) -> None:
        self._noted.append(CustomAction(name, outcome, reason))

    def _answer(self, name: str, context: ActionContext, tracker: Tracker) -> tuple[Any, ActionOutcome, str]:
        if self._stubs is not None:
            return stubbed(name, self._stubs)
        timeout = None if self.deadline is None else self.deadline - time.monotonic()
        if timeout is not None and timeout <= 0:
            raise CallFailedError("timed out", f"no time was left in this turn to run '{name}'")
        call = action_call(name, tracker, with_domain=not self._server.selective_domain or _needs_domain(name, context))
        return self._server.run(call, timeout), "ran", ""


def stubbed(name: str, stubs: Mapping[str, Mapping[str, Any]]) -> tuple[Mapping[str, Any], ActionOutcome, str]:
    """Return what runs in place of an action, the name of that outcome, and why.

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


def unsaid(name: str, answer: Answer, responses: Container[str]) -> str:
    """Return the remark on a message that the action cannot send for lack of the response; Rasa skips it."""
    named = dict.fromkeys(said.response for said in answer.said if said.response is not None)
    unknown = ", ".join(f"'{response}'" for response in named if response not in responses)
    return f"'{name}' names {unknown}, which the domain has no response for: nothing was said" if unknown else ""


def _events(answer: Answer, responses: Speech, tracker: Tracker) -> list[Event]:
    """Turn an answer into events: first its messages, as in Rasa."""
    messages = [message for said in answer.said if (message := _message(said, responses, tracker)) is not None]
    return [*messages, *answer.happened]


def _message(said: Said, responses: Speech, tracker: Tracker) -> BotUttered | None:
    """Create a message: the named response, filled, overridden by whatever the action itself gives."""
    given = dict(said.given)
    draft: Json = {}
    if said.response is not None:
        generated = responses.generate(said.response, tracker.slots, given)
        if not generated:
            return None
        draft = {**generated, "utter_action": said.response}
    buttons = given.pop("buttons", None)
    if buttons:
        draft["buttons"] = [*(draft.get("buttons") or ()), *buttons]
    draft.update({key: value for key, value in given.items() if value})
    message = bot_event(draft)
    check_message(message, said.place)
    return message
