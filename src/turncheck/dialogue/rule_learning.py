"""Learning rules from the dialogues of rules and stories, and refusing those that contradict each other."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec import Struct, field

from turncheck.dialogue import states as s
from turncheck.dialogue.domain import ACTION_LISTEN, ACTION_RULE_SNIPPET, SHOULD_NOT_BE_SET, DialogueDomain
from turncheck.dialogue.events import ActionExecuted, ActionExecutionRejected, ActiveLoop, SlotSet, UserUttered
from turncheck.dialogue.policy_states import RuleOnly, learnt
from turncheck.dialogue.rules import (
    Detour,
    RuleBook,
    RuleDecision,
    RuleSettings,
    RuleTable,
    built_in_sources,
    is_built_in,
    memorised,
    rule_key,
)
from turncheck.dialogue.situation import influences
from turncheck.dialogue.states import State, active_loop, follows_listen, previous_action
from turncheck.messages.errors import BeyondLimitError, TrainingRefusedError
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from turncheck.dialogue.training import StoryTracker
    from turncheck.messages.finding import Location


class Place(NamedTuple):
    """A rule or story by name, and where it is; a default or a loop has no place."""

    name: str
    location: Location | None = None


class Conflict(NamedTuple):
    """Rules that cannot all hold. ``place`` disagrees with ``others``.

    ``kind``: ``restriction`` (more than one message in a rule), ``incomplete`` (an action does not set what it sets in
    other rules), ``contradiction``. ``expected`` is what the place says, ``predicted`` what the others say.
    """

    kind: Literal["restriction", "incomplete", "contradiction"]
    message: str
    place: Place
    others: tuple[Place, ...] = ()
    is_story: bool = False
    expected: str | None = None
    predicted: str | None = None
    missing: tuple[str, ...] = ()
    """The slots or loops that an incomplete rule does not set."""


_MOST_SHOWN: Final = 20
"""How many conflicts the message lists: a story with many alternatives may contradict a rule in each of its ways."""


class RuleConflictError(TrainingRefusedError):
    """Rules that cannot all hold."""

    def __init__(self, what: str, conflicts: Sequence[Conflict], hint: str) -> None:
        messages = tuple(dict.fromkeys(conflict.message for conflict in conflicts))
        lines = [f"- {message}" for message in messages[:_MOST_SHOWN]]
        lines += [f"- and {count(len(messages) - _MOST_SHOWN, 'other')}"] if len(messages) > _MOST_SHOWN else []
        super().__init__("\n".join((f"{what}:", *lines)), location=conflicts[0].place.location, hint=hint)
        self.headline = what
        self.conflicts = tuple(conflicts)


def learn_rules(trackers: Iterable[StoryTracker], domain: DialogueDomain, settings: RuleSettings) -> RuleBook:
    """Learn from the dialogues of rules and stories (except those glued together).

    Raises :class:`RuleConflictError`, and another :class:`~turncheck.messages.errors.TrainingRefusedError` if the
    fallback action is not in the domain.
    """
    trackers = [tracker for tracker in trackers if not tracker.is_augmented]
    rules = [tracker for tracker in trackers if tracker.is_rule]
    stories = [tracker for tracker in trackers if not tracker.is_rule]
    if settings.fallback_action and settings.fallback_action not in domain.actions:
        raise TrainingRefusedError(
            f"The fallback action '{settings.fallback_action}' of RulePolicy is not in the domain",
            location=domain.domain.location,
            hint="Add it to the domain, or name another one as 'core_fallback_action_name'.",
        )
    if settings.restrict_rules:
        _raise_if_any(
            restricted(rules),
            "A rule holds more than one user message",
            "Rules answer one message; write a story instead, or set 'restrict_rules: false'.",
        )
    if settings.check_for_contradictions:
        _raise_if_any(
            incomplete(rules, domain),
            "Incomplete rules",
            "Set the same slots and loops after an action in every rule; where one must stay empty, set it to null.",
        )
    book = _book(rules, stories, domain, settings)
    if settings.check_for_contradictions:
        _raise_if_any(
            contradictions(book, rules, trackers),
            "Rules and stories contradict each other",
            "Change the rules and stories so that the same situation has one continuation.",
        )
    return book.learnt(book.not_in_stories)


def _raise_if_any(conflicts: Sequence[Conflict], what: str, hint: str) -> None:
    if conflicts:
        raise RuleConflictError(what, conflicts, hint)


def conflicts_of(trackers: Iterable[StoryTracker], domain: DialogueDomain, settings: RuleSettings) -> list[Conflict]:
    """Return what keeps Rasa from training, without raising: for checks that continue."""
    try:
        learn_rules(trackers, domain, settings)
    except RuleConflictError as error:
        return list(error.conflicts)
    return []


def place_of(tracker: StoryTracker) -> Place:
    """Return name and place of a dialogue."""
    return Place(tracker.name, tracker.location)


_MOST_STATES: Final = 1_000_000
"""A rule of 700 messages has as many: its actions look back at all states before them. They take some five seconds."""


# --- the tables ------------------------------------------------------------------------------------------------------


def _book(
    rules: Sequence[StoryTracker], stories: Sequence[StoryTracker], domain: DialogueDomain, settings: RuleSettings
) -> RuleBook:
    of_rules = list(_examples((tracker.states_of_set(), tracker) for tracker in rules))
    if sum(rule.number for rule in of_rules) > _MOST_STATES:
        raise BeyondLimitError(
            f"The rules are too long, or too many, to be learnt here: their actions look back at more than"
            f" {_MOST_STATES:,} states together",
            location=rules[0].location,
            hint="Each action of a rule looks back at all states before it: write stories for long dialogues.",
        )
    lookup = memorised((rule_key(rule.states[: rule.number]), rule.action) for rule in of_rules)
    book = RuleBook(
        domain,
        settings,
        RuleTable({key: action for key, action in lookup.items() if action != ACTION_RULE_SNIPPET}),
        RuleTable(_detours(chain(of_rules, _of_stories(stories)))),
    )
    if settings.check_for_contradictions:
        book.rule_only = _rule_only(of_rules, _of_stories(stories))
    return book


def _of_stories(stories: Iterable[StoryTracker]) -> Iterator[_Example]:
    return _examples((tracker.states(), tracker) for tracker in stories)


class _Example(NamedTuple):
    """An action that can be learnt; before it were the first ``number`` states of a dialogue."""

    states: Sequence[State]
    number: int
    action: str

    @property
    def now(self) -> State:
        """The state just before the action."""
        return self.states[self.number - 1]


def _examples(dialogues: Iterable[tuple[Sequence[State], StoryTracker]]) -> Iterator[_Example]:
    """Yield the actions that can be learnt, with the states before them."""
    for states, tracker in dialogues:
        seen = learnt(states)
        actions = (event for event in tracker.applied_events() if isinstance(event, ActionExecuted))
        for number, event in enumerate(actions, 1):
            if not event.is_unpredictable:
                yield _Example(seen, min(number, len(seen)), event.label)


def _detours(examples: Iterable[_Example]) -> dict[str, Detour]:
    """Return what is learnt about turns inside a loop that are not the loop's own."""
    detours: dict[str, Detour] = {}
    for example in examples:
        loop = active_loop(example.now)
        key = rule_key(_around_detour(example)) if loop else None
        if key is None:
            continue
        if follows_listen(example.now) and example.action == loop:
            detours[key] = "interrupted"
        elif not follows_listen(example.now) and example.action != loop:
            detours[key] = "without loop"
    return detours


def _around_detour(example: _Example) -> list[State]:
    """Keep the last state, and of the one before only its action: the intent there does not matter."""
    before = example.states[example.number - 2] if example.number > 1 else None
    if before is None or not before.get(s.PREVIOUS_ACTION):
        return [example.now]
    return [State({s.PREVIOUS_ACTION: before[s.PREVIOUS_ACTION]}), example.now]


def _rule_only(of_rules: Iterable[_Example], of_stories: Iterable[_Example]) -> RuleOnly:
    rule_slots, rule_loops = _slots_and_loops(of_rules)
    story_slots, story_loops = _slots_and_loops(of_stories)
    return RuleOnly(
        frozenset(rule_slots - story_slots - {SHOULD_NOT_BE_SET}),
        frozenset(rule_loops - story_loops - {SHOULD_NOT_BE_SET}),
    )


def _slots_and_loops(examples: Iterable[_Example]) -> tuple[set[str], set[str]]:
    slots: set[str] = set()
    loops: set[str] = set()
    known: set[int] = set()
    dialogue: Sequence[State] = ()
    read = 0
    for example in examples:
        if example.states is not dialogue:
            dialogue, read = example.states, 0
        # Not the newest state alone: nothing can be learnt from some actions, whose states are before others, too.
        for state in dialogue[read : example.number]:
            if id(state) in known:  # dialogues share their states
                continue
            known.add(id(state))
            slots |= state.get(s.SLOTS, s.NO_PART).keys()
            loop = state.get(s.ACTIVE_LOOP, s.NO_PART).get(s.LOOP_NAME)
            if loop:
                loops.add(loop)
        read = example.number
    return slots, loops


# --- what Rasa refuses -----------------------------------------------------------------------------------------------


def restricted(rules: Iterable[StoryTracker]) -> list[Conflict]:
    """Return the rules with more than one user message."""
    return [
        Conflict("restriction", f"rule '{rule.name}' contains more than one user message", place_of(rule))
        for rule in rules
        if sum(isinstance(event, UserUttered) for event in rule.events) > 1
    ]


class _Effects(Struct):
    """What an action sets in any of the rules."""

    slots: set[str] = field(default_factory=set)
    loops: set[str | None] = field(default_factory=set)


def incomplete(rules: Sequence[StoryTracker], domain: DialogueDomain) -> list[Conflict]:
    """Return the places where an action does not set a slot or loop that it sets in another rule."""
    effects = _effects(rules, domain)
    conflicts: list[Conflict] = []
    for rule in rules:
        states = rule.states()
        followers = [previous_action(state) for state in states[1:]] + [ACTION_LISTEN]
        for state, follower in zip(states, followers, strict=True):
            action = previous_action(state)
            if not action or action not in effects or ACTION_RULE_SNIPPET in (action, follower):
                continue
            conflicts.extend(_missing(action, effects[action], state, rule))
    return conflicts


def _effects(rules: Iterable[StoryTracker], domain: DialogueDomain) -> dict[str, _Effects]:
    effects: defaultdict[str, _Effects] = defaultdict(_Effects)
    for rule in rules:
        action: str | None = None
        for event in rule.events:
            match event:
                case ActionExecuted():
                    action = event.label
                case UserUttered():
                    action = None  # slots set by its entities are not the action's doing
                case SlotSet() if action:
                    slot = domain.slots.get(event.name)
                    known = effects[action]
                    if slot is not None and influences(slot):
                        known.slots.add(event.name)
                case ActiveLoop() if action:
                    effects[action].loops.add(event.name)
                case _:
                    pass
    return dict(effects)


def _missing(action: str, effects: _Effects, state: State, rule: StoryTracker) -> Iterator[Conflict]:
    slots = sorted(effects.slots - state.get(s.SLOTS, s.NO_PART).keys())
    if slots:
        names = ", ".join(f"'{name}'" for name in slots)
        yield Conflict(
            "incomplete",
            f"action '{action}' in rule '{rule.name}' does not set {names}, which it sets in other rules",
            place_of(rule),
            expected=action,
            missing=tuple(slots),
        )
    if effects.loops and state.get(s.ACTIVE_LOOP, s.NO_PART).get(s.LOOP_NAME) not in effects.loops:
        loops = sorted("null" if loop in (None, SHOULD_NOT_BE_SET) else str(loop) for loop in effects.loops)
        names = ", ".join(f"'{name}'" for name in loops)
        yield Conflict(
            "incomplete",
            f"form '{action}' in rule '{rule.name}' does not set 'active_loop' to {names}, as it does in other rules",
            place_of(rule),
            expected=action,
            missing=tuple(loops),
        )


# --- contradictions --------------------------------------------------------------------------------------------------

Sources = dict[str, list[tuple[Place, str | None]]]

_MOST_TRIES: Final = 8_000_000
"""How many states of rules may be compared with states of dialogues: some ten seconds."""
_TRIES_OF_AN_ACTION: Final = 8
"""Going on by an action takes about as long as so many comparisons."""


def contradictions(book: RuleBook, rules: Sequence[StoryTracker], trackers: Sequence[StoryTracker]) -> list[Conflict]:
    """Let the rules predict every rule and story; return where they disagree with what is written there.

    On the way, the book learns which rules no story needs, and drops rules that a story only seems to contradict.
    """
    sources: Sources = defaultdict(list)
    rehearsal = _Rehearsal(book)
    for rule in rules:
        for expected, predicted, source, _ in rehearsal.predictions(rule):
            if source is None:
                continue
            if is_built_in(source):
                sources[source].append((Place(source), predicted))
            else:
                sources[source].append((place_of(rule), expected))
    conflicts: list[Conflict] = []
    used: set[str | None] = set()
    for tracker in trackers:
        for expected, predicted, source, event in rehearsal.predictions(tracker):
            if not tracker.is_rule and predicted == expected:
                used.add(source)
            if predicted and source and predicted != expected:
                if _is_only_about_listening(book, source, tracker, predicted):
                    rehearsal.drop(source)
                else:
                    seen = sources.get(source, ())
                    others = list(dict.fromkeys(place for place, action in seen if action != expected))
                    if others:
                        conflicts.append(_contradiction(book, others, tracker, event, predicted))
    book.not_in_stories = frozenset((sources.keys() | built_in_sources(book.domain)) - used)
    return conflicts


class _Rehearsal:
    """Walks through dialogues and lets the rules predict them. What is decided in a situation is decided once.

    Raises:
        BeyondLimitError: there are too many dialogues and rules.
    """

    def __init__(self, book: RuleBook) -> None:
        self.book = book
        self._reach = max(1, book.rules.longest, book.detours.longest)
        self._decided: dict[Hashable, RuleDecision] = {}
        self._actions = 0

    def drop(self, rule: str) -> None:
        """Go on without a rule."""
        self.book.rules.remove(rule)
        self._decided.clear()

    def predictions(self, tracker: StoryTracker) -> Iterator[tuple[str, str | None, str | None, ActionExecuted]]:
        """Walk through a dialogue; yield what is written, what the rules predict, its source, and the event."""
        walked = tracker.fresh()
        # Nothing comes before the first action, nor before the one after "anything may come before".
        predictable = False
        for event in tracker.applied_events():
            if not isinstance(event, ActionExecuted):
                walked.append(event)
                continue
            if event.name == ACTION_RULE_SNIPPET:
                predictable = False
            elif not predictable or event.is_unpredictable:
                predictable = True
            else:
                predicted, source = self._predicted(walked, event.label)
                yield event.label, predicted, source, event
            walked.append(event)
        self._ensure_few(tracker)

    def _predicted(self, tracker: StoryTracker, expected: str) -> tuple[str | None, str | None]:
        self._actions += 1
        predicted, source = self._next_action(tracker)
        loop = tracker.active_loop_name
        if loop is not None and predicted == loop != expected:
            # The rules always predict that a loop continues first; on a detour it has refused.
            tracker.append(ActionExecutionRejected(loop))
            predicted, source = self._next_action(tracker)
        return predicted, source

    def _next_action(self, tracker: StoryTracker) -> tuple[str | None, str | None]:
        book, decision = self.book, self._decision(tracker)
        if decision.action is None and not tracker.is_rule:
            return None, decision.source
        scores = book.scores(decision.action, tracker)
        if not tracker.is_rule and scores == book.scores(None, tracker):
            return None, decision.source
        source = book.source(decision, tracker)
        best = max(scores.values(), default=0.0)
        if best <= 0.0:
            return book.domain.actions[0], source
        winners = [action for action, score in scores.items() if score == best]
        return min(winners, key=book.domain.action_number), source

    def _decision(self, tracker: StoryTracker) -> RuleDecision:
        key = (
            *(state.text for state in tracker.last_states(self._reach)),
            tracker.latest_message.intent_name,
            tracker.active_loop_name,
            tracker.is_active_loop_rejected,
        )
        decision = self._decided.get(key)
        if decision is None:
            decision = self._decided[key] = self.book.decide(tracker)
        return decision

    def _ensure_few(self, tracker: StoryTracker) -> None:
        book = self.book
        if self._actions * _TRIES_OF_AN_ACTION + book.rules.tried + book.detours.tried > _MOST_TRIES:
            raise BeyondLimitError(
                "Rules and stories make more dialogues than can be held against each other here",
                location=tracker.location,
                hint="Each `or` and checkpoint multiplies them: split stories into several with fewer of them.",
            )


def _is_only_about_listening(book: RuleBook, source: str, tracker: StoryTracker, predicted: str) -> bool:
    """Whether a story continues where a rule listens, and another rule continues there too: then the rule gives way."""
    if tracker.is_rule or source.count(s.PREVIOUS_ACTION) > 1 or predicted != ACTION_LISTEN:
        return False
    return any(other != source and other.startswith(source[:-2]) for other in book.rules.outcomes)


def _contradiction(
    book: RuleBook, others: Sequence[Place], tracker: StoryTracker, event: ActionExecuted, predicted: str
) -> Conflict:
    expected = event.label
    kind = "rule" if tracker.is_rule else "story"
    names = ", ".join(place.name if is_built_in(place.name) else f"'{place.name}'" for place in others)
    message = f"action '{expected}' in {kind} '{tracker.name}' contradicts {names}"
    is_fallback = predicted == book.settings.fallback_action
    if not is_fallback:
        message += f", where '{predicted}' follows"
    return Conflict(
        "contradiction",
        message,
        Place(tracker.name, event.location or tracker.location),
        tuple(others),
        is_story=not tracker.is_rule,
        expected=expected,
        predicted=None if is_fallback else predicted,
    )
