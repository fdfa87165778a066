"""What policies of Rasa 1 look back at: without the turns of a form that continues, with those that leave it.

Facts: ``generate_all_prior_trackers`` of rasa 1.10.26. Stories are learnt with every turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.dialogue.defaults import ACTION_LISTEN
from turncheck.dialogue.events import ActionExecuted, ActiveLoop, UserUttered
from turncheck.dialogue.situation import Situation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.states import State

FORM_POLICY: Final = "FormPolicy"


def states_seen_by_rasa_1(domain: DialogueDomain, applied: Iterable[Event]) -> list[State]:
    """Return the states before the actions that count, and now, if now is a point at which a policy looks.

    For an action other than the active form, the next event decides: if the form runs again, the action was a part of
    the form and is dropped; if the form refuses, the action left the form. Until then the message is the one before the
    form.
    """
    now = Situation(domain)
    before_form = now.latest_message
    seen: list[State] = []
    waiting: list[State] = []
    for event in applied:
        form = now.active_loop_name
        match event:
            case UserUttered() if form is None:
                before_form = event
            case ActiveLoop(name=name) if name is None or name != form:
                now.latest_message = before_form
            case ActionExecuted():
                if form is None:
                    seen.append(now.state())
                elif _is_rejected(now):
                    if event.name != form or _was_left_to_others(now, event):
                        before_form = now.latest_message
                    else:
                        now.latest_message = before_form
                    seen += [*waiting, now.state()]
                    waiting = []
                elif event.name != form:
                    heard, now.latest_message = now.latest_message, before_form
                    waiting.append(now.state())
                    now.latest_message = heard
                if event.name == form:
                    waiting = []
            case _:
                pass
        now.apply(event)
    if now.active_loop_name is None:
        return [*seen, now.state()]
    if _is_rejected(now) or now.latest_action_name == ACTION_LISTEN:
        return [*seen, *waiting, now.state()]
    return seen


def _is_rejected(now: Situation) -> bool:
    return now.active_loop is not None and now.active_loop.rejected


def _was_left_to_others(now: Situation, event: ActionExecuted) -> bool:
    """Whether the form ran without validating its answer: the turn is in a story, so the form's policy was silent."""
    return now.latest_action_name == ACTION_LISTEN and event.policy != FORM_POLICY
