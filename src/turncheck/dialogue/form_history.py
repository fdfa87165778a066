"""What policies of Rasa 1 look back at: without the turns of a form that continues, with those that leave it.

Facts: ``generate_all_prior_trackers`` of rasa 1.10.26. Stories are learnt with every turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.dialogue.defaults import ACTION_LISTEN
from turncheck.dialogue.events import ActionExecuted, ActiveLoop, UserUttered
from turncheck.dialogue.situation import Situation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.states import State

FORM_POLICY: Final = "FormPolicy"


class SeenByRasa1:
    """Follows a growing dialogue and looks at each event once.

    For an action other than the active form, the next event decides: if the form runs again, the action was a part of
    the form and is dropped; if the form refuses, the action left the form. Until then the message is the one before the
    form.
    """

    __slots__ = ("_before_form", "_now", "_read", "_seen", "_waiting")

    def __init__(self, domain: DialogueDomain) -> None:
        self._now = Situation(domain)
        self._before_form = self._now.latest_message
        self._seen: list[State] = []
        self._waiting: list[State] = []
        self._read = 0

    def states(self, applied: Sequence[Event], max_history: int = 0) -> list[State]:
        """Return the states before the actions that count, and now, if now is a point at which a policy looks.

        ``applied``: the events that were given before, and perhaps more. ``max_history``: only the last states; 0: all.
        """
        for event in applied[self._read :]:
            self._look(event)
            self._now.apply(event)
        self._read = len(applied)
        now, seen = self._now, self._seen[-max_history:]
        if now.active_loop_name is None:
            seen.append(now.state())
        elif _is_rejected(now) or now.latest_action_name == ACTION_LISTEN:
            seen += [*self._waiting, now.state()]
        return seen[-max_history:]

    def _look(self, event: Event) -> None:
        now = self._now
        form = now.active_loop_name
        match event:
            case UserUttered() if form is None:
                self._before_form = event
            case ActiveLoop(name=name) if name is None or name != form:
                now.latest_message = self._before_form
            case ActionExecuted():
                if form is None:
                    self._seen.append(now.state())
                else:
                    self._look_at_action(event, form)
                if event.name == form:
                    self._waiting = []
            case _:
                pass

    def _look_at_action(self, event: ActionExecuted, form: str) -> None:
        now = self._now
        if _is_rejected(now):
            if event.name != form or _was_left_to_others(now, event):
                self._before_form = now.latest_message
            else:
                now.latest_message = self._before_form
            self._seen += [*self._waiting, now.state()]
            self._waiting = []
        elif event.name != form:
            heard, now.latest_message = now.latest_message, self._before_form
            self._waiting.append(now.state())
            now.latest_message = heard


def _is_rejected(now: Situation) -> bool:
    return now.active_loop is not None and now.active_loop.rejected


def _was_left_to_others(now: Situation, event: ActionExecuted) -> bool:
    """Whether the form ran without validating its answer: the turn is in a story, so the form's policy was silent."""
    return now.latest_action_name == ACTION_LISTEN and event.policy != FORM_POLICY
