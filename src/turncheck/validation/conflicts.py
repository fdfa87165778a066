"""Story structure: stories that disagree about what comes next, loose checkpoints, contradicting rules."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turncheck.dialogue import states as s
from turncheck.dialogue.domain import ACTION_LISTEN, ACTION_UNLIKELY_INTENT
from turncheck.dialogue.events import ActionExecuted
from turncheck.dialogue.rule_learning import conflicts_of
from turncheck.dialogue.rules import RuleSettings
from turncheck.dialogue.story_steps import GENERATED_PREFIX, STORY_START
from turncheck.messages.errors import TrainingRefusedError
from turncheck.messages.finding import Finding, Location, Name
from turncheck.project.components import short_name
from turncheck.project.model import CheckpointStep
from turncheck.validation.findings import Places, found

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from turncheck.dialogue.states import State
    from turncheck.dialogue.training import StoryTracker
    from turncheck.validation.facts import Facts

_MANY_JOINED: Final = 1_000
"""More dialogues than this take seconds and much memory, and nobody can survey them."""
_NAMED_JOINS: Final = 5


def check_number_of_dialogues(facts: Facts) -> Iterator[Finding]:
    """Stories that make too many dialogues to train with."""
    error = facts.dialogues.refused if facts.dialogues is not None else None
    if error is not None:
        message = f"{error.message}: story structure is not checked, and training would not end."
        yield found("story-ways-too-many", message, error.location or Location(""))


def check_joined_dialogues(facts: Facts) -> Iterator[Finding]:
    """Checkpoints from which very many dialogues go on."""
    joined = facts.dialogues.trackers.joined if facts.dialogues is not None else {}
    many = {name: number for name, number in joined.items() if number > _MANY_JOINED}
    places: dict[str, Location] = {}
    for _, step in facts.steps:
        if isinstance(step, CheckpointStep) and step.name in many:
            places.setdefault(step.name, step.location)
    if not places:
        return
    first, *others = sorted(places, key=lambda name: (-many[name], name))
    named = ", ".join(f"'{name}' ({many[name]:,})" for name in [first, *others][:_NAMED_JOINS])
    more = f" and {len(others) + 1 - _NAMED_JOINS:,} more checkpoints" if len(others) >= _NAMED_JOINS else ""
    message = f"Checkpoints join stories to thousands of dialogues; so many go on from {named}{more}."
    yield found("checkpoint-joins-many", message, places[first], others=[places[name] for name in others])


# --- stories against stories -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Situation:
    """A history and what follows after it: action → the stories with it, by name, with the place of the step."""

    event: str
    name: str
    actions: dict[str, dict[str, Location]] = field(default_factory=dict)


def check_max_history(facts: Facts) -> Iterator[Finding]:
    """An invalid number of states to look back at."""
    if not facts.has_valid_max_history:
        message = f"--max-history is {facts.max_history}, not a positive integer."
        yield found("max-history-invalid", message, Location(""))


def check_story_conflicts(facts: Facts) -> Iterator[Finding]:
    """Find histories (the last ``max_history`` states, or all) after which stories go on differently, as Rasa does.

    No story can teach UnexpecTED's action, so it always conflicts. Linear in the number of turns times
    ``max_history``; without it, linear in the number of turns.
    """
    dialogues, max_history = facts.dialogues, facts.max_history
    if dialogues is None or not facts.project.stories or not facts.has_valid_max_history:
        return
    first: dict[Hashable, str] = {}
    parting: set[Hashable] = set()
    for tracker in dialogues.trackers.stories:
        for history, _, event in _turns(tracker, max_history):
            if first.setdefault(history, event.label) != event.label or event.label == ACTION_UNLIKELY_INTENT:
                parting.add(history)
    if not parting:
        return
    situations: dict[Hashable, _Situation] = {}
    for tracker in dialogues.trackers.stories:
        for history, state, event in _turns(tracker, max_history):
            previous = _previous_event(state) if history in parting else None
            if previous is None:
                continue  # no conflict; or the very start of a conversation, which is never predicted
            situation = situations.setdefault(history, _Situation(*previous))
            places = situation.actions.setdefault(event.label, {})
            places.setdefault(tracker.name, event.location or tracker.location or Location(""))
    yield from map(_conflict, situations.values())


def _turns(tracker: StoryTracker, max_history: int | None) -> Iterator[tuple[Hashable, State, ActionExecuted]]:
    """Each action of a dialogue with what came before it: an identity of that history, and its last state."""
    states = tracker.states()
    actions = [event for event in tracker.events if isinstance(event, ActionExecuted)]
    window: deque[str] = deque(maxlen=max_history)
    whole = 0
    for state, event in zip(states, actions, strict=False):
        if max_history is None:
            whole = hash((whole, state.text))
            yield whole, state, event
        else:
            window.append(state.text)
            yield tuple(window), state, event


def _previous_event(state: State) -> tuple[str, str] | None:
    """What came last before a state, in Rasa's words: an action, a bot's text, an intent, or a user's text."""
    action = state.get(s.PREVIOUS_ACTION, s.NO_PART)
    user = state.get(s.USER, s.NO_PART)
    if action.get(s.ACTION_NAME, ACTION_LISTEN) != ACTION_LISTEN:
        return "action", action[s.ACTION_NAME]
    if s.ACTION_TEXT in action:
        return "bot utterance", action[s.ACTION_TEXT]
    if s.INTENT in user:
        return "intent", user[s.INTENT]
    if s.TEXT in user:
        return "user utterance", user[s.TEXT]
    return None


def _conflict(situation: _Situation) -> Finding:
    ways = "; ".join(f"'{action}' in {_named(places)}" for action, places in sorted(situation.actions.items()))
    location = max((min(places.values(), key=_by_place) for places in situation.actions.values()), key=_by_place)
    every = {place for places in situation.actions.values() for place in places.values()}
    return found(
        "story-conflict",
        f"After the {situation.event} '{situation.name}' stories continue differently: {ways}.",
        location,
        others=sorted(every - {location}, key=_by_place),
    )


def _named(places: dict[str, Location]) -> str:
    return ", ".join(f"'{name}' ({location})" for name, location in sorted(places.items()))


def _by_place(location: Location) -> tuple[str, int, int]:
    return location.sort_key


# --- checkpoints -----------------------------------------------------------------------------------------------------


def check_checkpoints(facts: Facts) -> Iterator[Finding]:
    """Checkpoints that nothing leads to, or that lead nowhere; once for each block."""
    if facts.dialogues is not None and facts.project.stories and facts.has_valid_max_history:
        yield from loose_checkpoints(facts, facts.dialogues.trackers.unused)


def loose_checkpoints(facts: Facts, unused: Iterable[str]) -> Iterator[Finding]:
    """Return findings on checkpoints that were left ``unused`` when the dialogues were generated."""
    names = frozenset(name for name in unused if not name.startswith(GENERATED_PREFIX))
    if STORY_START in names and facts.project.stories:
        yield found(
            "story-start-missing",
            "All stories start with a checkpoint, so that no conversation can begin.",
            facts.project.stories[0].location,
        )
    for block in facts.blocks:
        begun = False
        seen: set[tuple[str, bool]] = set()
        for step in block.steps:
            if not isinstance(step, CheckpointStep):
                begun = True
            elif step.name in names and (step.name, begun) not in seen:
                seen.add((step.name, begun))
                if begun:
                    message = f"No story starts with the checkpoint '{step.name}' that '{block.name}' ends with."
                    yield found("checkpoint-unused", message, step.location)
                else:
                    message = f"No story ends with the checkpoint '{step.name}' that '{block.name}' starts with."
                    yield found("checkpoint-undefined", message, step.location)


# --- rules against rules and stories ---------------------------------------------------------------------------------


def check_rules(facts: Facts) -> Iterator[Finding]:
    """What RulePolicy refuses to learn. It is one of the policies that Rasa uses if none are configured."""
    project, dialogues = facts.project, facts.dialogues
    if dialogues is None or dialogues.refused is not None or not project.rules:
        return
    policies = project.config.policies or ()
    policy = next((policy for policy in policies if short_name(policy.name) == "RulePolicy"), None)
    if policies and policy is None:
        return
    try:
        settings = RuleSettings.of(policy.parameters if policy else {})
    except (TypeError, ValueError):
        return  # a parameter of RulePolicy that is not a number: the engine reports it when it trains
    try:
        conflicts = conflicts_of(dialogues.trackers.all, dialogues.domain, settings)
    except TrainingRefusedError as error:  # of the fallback action, which the policy names or has by default
        location = policy.location if policy else project.config.location
        if policy is not None:
            path = ("policies", policies.index(policy), "core_fallback_action_name")
            location = Places(project).of_entry(settings.fallback_action, location, *path)
        names = (Name("action", settings.fallback_action),)
        yield found("fallback-action-undefined", f"{error.message}.", location, names=names)
        return
    for conflict in conflicts:
        others = "".join(f" ('{place.name}': {place.location})" for place in conflict.others if place.location)
        locations = [place.location for place in conflict.others if place.location]
        message = conflict.message[:1].upper() + conflict.message[1:]
        yield found(
            "rule-contradiction", f"{message}{others}.", conflict.place.location or Location(""), others=locations
        )
