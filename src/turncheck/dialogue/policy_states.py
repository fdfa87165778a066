"""The states that a policy looks at before it predicts, and what forms leave of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from turncheck.dialogue import states as s
from turncheck.dialogue.domain import ACTION_LISTEN, ACTION_UNLIKELY_INTENT, DialogueDomain
from turncheck.dialogue.events import ActionExecuted, ActiveLoop, Event, UserUttered
from turncheck.dialogue.situation import Situation
from turncheck.dialogue.states import Part, State, follows_listen, previous_action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.dialogue.tracker import History, Moment, Tracker


# What policies of Rasa 1 look back at: without the turns of a form that continues, with those that leave it.
#
# Facts: ``generate_all_prior_trackers`` of rasa 1.10.26. Stories are learnt with every turn.

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


class RuleOnly(Struct, frozen=True):
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


def before_action(states: Sequence[State], number: int, max_history: int) -> Sequence[State]:
    """Return the last ``max_history`` (0: all) of the first ``number`` states: those before that action."""
    end = min(number, len(states))
    return states[max(0, end - max_history) if max_history else 0 : end]


def learner_states(
    tracker: Tracker, rule_only: RuleOnly, *, max_history: int = 0, text: bool = False
) -> Sequence[State]:
    """Return what a policy that learns from stories sees: no turns, slots and loops that only rules have.

    Neither does it see ``action_unlikely_intent``. ``max_history``: only the last ones; 0: all. ``text``: the newest
    message by its text.
    """
    key = ("learner", text, rule_only, max_history)
    return tracker.remembered(key, lambda: _learner_states(tracker, rule_only, max_history, text=text))


def _learner_states(tracker: Tracker, rule_only: RuleOnly, max_history: int, *, text: bool) -> list[State]:
    if tracker.domain.is_older:
        seen = tracker.growing("seen by rasa 1", lambda: SeenByRasa1(tracker.domain))
        return by_intent(seen.states(tracker.applied_events(), max_history))
    past, now = learner_history(tracker, rule_only)
    states = [*past[-max_history:], *now][-max_history:]
    return by_text(states) if text else by_intent(states)


def learner_history(tracker: Tracker, rule_only: RuleOnly) -> tuple[Sequence[State], Sequence[State]]:
    """Return what such a policy sees of the past, and now; nothing of now if that is a turn that only rules have.

    The past is one list that grows with the dialogue.
    """
    learner = tracker.growing(("learner", rule_only), lambda: _Learner(rule_only))
    return learner.history(tracker.moments())


def learner_states_of(history: History, events: Sequence[Event], rule_only: RuleOnly) -> list[State]:
    """Like :func:`learner_states`, from the events of a history."""
    if history.domain.is_older:
        return by_intent(SeenByRasa1(history.domain).states(history.applied_events(events)))
    past, now = _Learner(rule_only).history(history.moments(events))
    return by_intent([*past, *now])


class _Glimpse(NamedTuple):
    """What a learner remembers at some moment: the last visible state and action, and whether this turn is hidden."""

    state: State | None = None
    action: Part | None = None
    hidden: bool = False

    @property
    def seen(self) -> State | None:
        """The state of this moment, unless the learner does not see it."""
        if self.hidden or self.state is None or previous_action(self.state) == ACTION_UNLIKELY_INTENT:
            return None
        return self.state


class _Learner:
    """Follows a growing dialogue and looks at each moment once, leaving out the turns that only rules have.

    After a hidden turn, the previous action and the message are those of the last visible turn.
    """

    __slots__ = ("_last", "_past", "_read", "_rule_only")

    def __init__(self, rule_only: RuleOnly) -> None:
        self._rule_only = rule_only
        self._last = _Glimpse()
        self._past: list[State] = []
        self._read = 0

    def history(self, moments: Sequence[Moment]) -> tuple[Sequence[State], Sequence[State]]:
        """Return what is seen of the past, and of now, the last moment."""
        for moment in moments[self._read : -1]:
            self._last = self._glimpse(moment)
            seen = self._last.seen
            if seen is not None:
                self._past.append(seen)
        self._read = len(moments) - 1
        now = self._glimpse(moments[-1]).seen
        return self._past, () if now is None else (now,)

    def _glimpse(self, moment: Moment) -> _Glimpse:
        before, action, hidden = self._last
        if not hidden:
            action = moment.state.get(s.PREVIOUS_ACTION)
        # A follow-up action, or a loop that has just run, says nothing about the turn.
        if not moment.followup_action and moment.latest_action_name != moment.active_loop_name:
            hidden = moment.hide_rule_turn
        state = before if hidden else _seen_by_learner(moment.state, before, action, self._rule_only)
        return _Glimpse(state, action, hidden)


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
