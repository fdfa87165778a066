"""The states that a policy looks at before it predicts: by text or by intent, with or without what only rules know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.dialogue import states as s
from turncheck.dialogue.defaults import ACTION_UNLIKELY_INTENT
from turncheck.dialogue.form_history import states_seen_by_rasa_1
from turncheck.dialogue.history import History
from turncheck.dialogue.states import Part, State, follows_listen, previous_action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.history import Moment
    from turncheck.dialogue.tracker import Tracker


@dataclass(frozen=True, slots=True)
class RuleOnly:
    """Slots and loops that only occur in rules: policies that learn from stories do not see them."""

    slots: frozenset[str] = frozenset()
    loops: frozenset[str] = frozenset()


def by_intent(states: Sequence[State]) -> list[State]:
    """Return the states without the text wherever there is an intent, and always in the newest message."""
    result = [state.by_intent for state in states]
    last = result[-1]
    if s.TEXT in last.get(s.USER, s.NO_PART) and follows_listen(last):
        result[-1] = last.with_user(last[s.USER].without_text)
    return result


def by_text(states: Sequence[State]) -> list[State]:
    """Return the states with the newest message seen by its text, earlier ones by their intent where they have one."""
    result = [*states[:-1]]
    last = states[-1]
    if s.USER in last and follows_listen(last):
        last = last.with_user(Part({key: value for key, value in last[s.USER].items() if key == s.TEXT}))
    result.append(last)
    return [state.by_intent for state in result]


def learnt(states: Sequence[State]) -> list[State]:
    """Return the states to learn from: without the text wherever there is an intent."""
    return [state.by_intent for state in states]


def learner_states(tracker: Tracker, rule_only: RuleOnly, *, text: bool = False) -> list[State]:
    """Return what a policy that learns from stories sees: no turns, slots and loops that only rules have.

    Neither does it see ``action_unlikely_intent``. ``text``: the newest message by its text.
    """
    return tracker.remembered(
        ("learner", text, rule_only), lambda: _learner_states(tracker.domain, tracker, rule_only, text=text)
    )


def _learner_states(domain: DialogueDomain, tracker: Tracker, rule_only: RuleOnly, *, text: bool) -> list[State]:
    if domain.is_older:
        return by_intent(states_seen_by_rasa_1(domain, tracker.applied_events()))
    states = _seen(visible_states(tracker.moments(), rule_only))
    return by_text(states) if text else by_intent(states)


def learner_states_of(domain: DialogueDomain, applied: Sequence[Event], rule_only: RuleOnly) -> list[State]:
    """Like :func:`learner_states`, from applied events."""
    if domain.is_older:
        return by_intent(states_seen_by_rasa_1(domain, applied))
    return by_intent(_seen(visible_states(History(domain).moments(applied), rule_only)))


def _seen(states: Sequence[State]) -> list[State]:
    return [state for state in states if not _is_unlikely_intent(state)]


def _is_unlikely_intent(state: State) -> bool:
    return previous_action(state) == ACTION_UNLIKELY_INTENT


def visible_states(moments: Sequence[Moment], rule_only: RuleOnly) -> list[State]:
    """Return the states without the turns that only rules have.

    After a hidden turn, the previous action and the message are those of the last visible turn.
    """
    states: list[State] = []
    last_action: Part | None = None
    hidden = False
    for moment in moments:
        if not hidden:
            last_action = moment.state.get(s.PREVIOUS_ACTION)
        # A follow-up action, or a loop that has just run, says nothing about the turn.
        if not moment.followup_action and moment.latest_action_name != moment.active_loop_name:
            hidden = moment.hide_rule_turn
        if hidden:
            continue
        states.append(_seen_by_learner(moment.state, states[-1] if states else None, last_action, rule_only))
    return states


def _seen_by_learner(state: State, before: State | None, last_action: Part | None, rule_only: RuleOnly) -> State:
    changed = _without_rule_only(state, rule_only)
    if before is not None and not follows_listen(changed):
        user = before.get(s.USER)
        if user is not changed.get(s.USER):
            changed = State(changed)
            if user:
                changed[s.USER] = user
            else:
                changed.pop(s.USER, None)
    if last_action and last_action is not changed.get(s.PREVIOUS_ACTION):
        changed = State(changed)
        changed[s.PREVIOUS_ACTION] = last_action
    return changed


def _without_rule_only(state: State, rule_only: RuleOnly) -> State:
    if not rule_only.slots and not rule_only.loops:
        return state
    slots = state.get(s.SLOTS, s.NO_PART)
    loop = state.get(s.ACTIVE_LOOP, s.NO_PART).get(s.LOOP_NAME)
    if rule_only.slots.isdisjoint(slots) and loop not in rule_only.loops:
        return state
    hidden_slots = rule_only.slots & slots.keys()
    changed = State(state)
    if hidden_slots:
        kept = Part({name: features for name, features in slots.items() if name not in hidden_slots})
        if kept:
            changed[s.SLOTS] = kept
        else:
            del changed[s.SLOTS]
    if loop in rule_only.loops:
        del changed[s.ACTIVE_LOOP]
    return changed
