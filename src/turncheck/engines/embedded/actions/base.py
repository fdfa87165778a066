"""What an action is: given the dialogue so far, it returns events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.tracker import Tracker


class ActionError(Exception):
    """The action could not be run. The conversation goes on as if it had done nothing, as in Rasa."""


class ActionRejectedError(Exception):
    """The action refused to run; another one is predicted."""


class Speech(Protocol):
    """Makes responses; see :class:`turncheck.engines.embedded.actions.responses.Responses`."""

    def generate(
        self, name: str, slots: Mapping[str, Any], variables: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """Return the filled response, or ``None`` if there is none to say."""


class CustomActionRunner(Protocol):
    """Runs custom actions; see :class:`turncheck.engines.embedded.actions.custom.CustomActions`."""

    def run(self, name: str, context: ActionContext, tracker: Tracker) -> list[Event]:
        """Run the action somewhere else and return its messages and events.

        Raises:
            ActionRejectedError: it refused.
            ActionError: it failed.
        """


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What actions work with, besides the dialogue."""

    domain: DialogueDomain
    responses: Speech
    custom: CustomActionRunner


class Action(Protocol):
    """Runs on a copy of the tracker: changes to it are lost, returned events are kept."""

    def __call__(self, context: ActionContext, tracker: Tracker) -> list[Event]:
        """Return the action's events.

        Raises:
            ActionRejectedError: the action refused.
            ActionError: it failed.
        """


ActionFinder = Callable[[str], Action]
"""Returns the action with a name; see :func:`turncheck.engines.embedded.actions.registry.finder`."""
