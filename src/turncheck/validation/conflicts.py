"""Stories and rules compared with each other and with the tests.

Stories that disagree about what comes next, loose checkpoints, contradicting rules.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.dialogue import states as s
from turncheck.dialogue.domain import ACTION_LISTEN, ACTION_UNLIKELY_INTENT
from turncheck.dialogue.events import ActionExecuted
from turncheck.dialogue.rule_learning import conflicts_of
from turncheck.dialogue.rules import RuleSettings
from turncheck.dialogue.story_steps import GENERATED_PREFIX, STORY_START
from turncheck.messages.errors import BeyondLimitError, TrainingRefusedError
from turncheck.messages.finding import Finding, Location, Name
from turncheck.project import model
from turncheck.project.config import policy_class
from turncheck.validation.checks import error_check, own_check, warning_check
from turncheck.validation.findings import found
from turncheck.validation.places import Places

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from turncheck.dialogue.rule_learning import Conflict
    from turncheck.dialogue.states import State
    from turncheck.dialogue.training import StoryTracker, Trackers
    from turncheck.project.model import Component, Project
    from turncheck.validation.facts import Facts


CHECKS: Final = (
    error_check(
        "max-history-invalid",
        "stories",
        "`--max-history` is not a positive integer",
        "It is the number of turns that the story structure check looks back. Give 1 or more.",
        then="stops",
        about=("file",),
    ),
    warning_check(
        "checkpoint-undefined",
        "stories",
        "A story starts with a checkpoint that no story ends with",
        "It can never be reached. Correct the name, or end a story with the checkpoint.",
        needs=("stories",),
        about=("checkpoint", "story"),
    ),
    warning_check(
        "checkpoint-unused",
        "stories",
        "A story ends with a checkpoint that no story starts with",
        "The conversation cannot go on from there. Correct the name, or remove the checkpoint.",
        needs=("stories",),
        about=("checkpoint", "story"),
    ),
    warning_check(
        "story-start-missing",
        "stories",
        "No story can start a conversation",
        "All stories start with a checkpoint. Write one that does not.",
        needs=("stories",),
        about=("section",),
    ),
    warning_check(
        "story-conflict",
        "stories",
        "Stories disagree about what comes next",
        "After the same turns, two stories continue with different actions; a policy cannot learn both. Make them"
        " agree, or make what differs visible: a slot, an entity, a longer `max_history`.",
        "on-warnings",
        needs=("domain",),
        about=("story", "event"),
    ),
    own_check(
        "rule-contradiction",
        "error",
        "A rule contradicts a story or another rule",
        "Rasa refuses to train (RulePolicy). Change the story so that it does what the rule says, or give the rule a"
        " condition.",
        "rules:\n- rule: greet\n  steps:\n  - intent: greet\n  - action: utter_greet\n"
        "stories:\n- story: hello\n  steps:\n"
        "  - intent: greet\n  - action: utter_menu",
        "rules:\n- rule: greet\n  steps:\n  - intent: greet\n  - action: utter_greet\n"
        "stories:\n- story: hello\n  steps:\n"
        "  - intent: greet\n  - action: utter_greet",
        details="Beside its base, a contradiction that a changed rule or story brings is at that change. Changed"
        " rules and"
        " stories that contradict only each other are named together: none of them alone is to blame.",
        matters_always=True,
        needs=("domain", "stories"),
        about=("story",),
    ),
    own_check(
        "fallback-action-undefined",
        "error",
        "The fallback action of RulePolicy is not in the domain",
        "Rasa refuses to train. List it below `actions`, or correct `core_fallback_action_name`.",
        "- name: RulePolicy\n  core_fallback_action_name: action_sory",
        "- name: RulePolicy\n  core_fallback_action_name: action_default_fallback",
        matters_always=True,
        needs=("domain",),
        about=("action",),
    ),
    own_check(
        "story-ways-too-many",
        "warning",
        "Stories make more dialogues than can be followed here",
        "Each `or` and each checkpoint multiplies the ways through a story: eleven `or` steps of three intents make"
        " 177,147, and at most 60,000 (with 1,500,000 events on all) are followed here. Stories are not judged then."
        " Rasa follows all, if time and memory suffice. Split the story.",
        "- story: survey\n  steps:   # eleven times:\n  - or: [{intent: yes}, {intent: no}, {intent: perhaps}]\n"
        "  - action: utter_next",
        "- story: first question\n  steps:\n  - or: [{intent: yes}, {intent: no}, {intent: perhaps}]\n"
        "  - action: utter_next",
        matters_always=True,
        needs=("domain",),
        about=("section",),
    ),
    own_check(
        "checkpoint-joins-many",
        "warning",
        "More than a thousand dialogues go on from a checkpoint",
        "Each dialogue that ends with a checkpoint is joined with each story that starts with it, so that `or` steps"
        " and checkpoints multiply. Training and its checks take time and memory for each. Write a story of its own,"
        " without the checkpoint, or a rule.",
        "- story: survey\n  steps:\n  - or: [{intent: yes}, {intent: no}]\n"
        "  - action: utter_next   # and nine more such questions\n  - checkpoint: asked\n"
        "- story: thanks\n  steps:\n  - checkpoint: asked\n  - intent: thank\n  - action: utter_welcome",
        "- story: thanks\n  steps:\n  - intent: thank\n  - action: utter_welcome",
        matters_always=True,
        about=("section",),
    ),
)


_MANY_JOINED: Final = 1_000
"""More dialogues than this take seconds and much memory, and nobody can survey them."""
_NAMED_JOINS: Final = 5
_ALL_STORIES: Final = (Name("section", "stories"),)
"""What findings on the stories as a whole are about: with any edit, other checkpoints may join most of them."""


def check_number_of_dialogues(facts: Facts) -> Iterator[Finding]:
    """Stories that make too many dialogues to train with."""
    error = facts.dialogues.refused if facts.dialogues is not None else None
    if error is not None:
        yield _too_many(error)


def _too_many(error: BeyondLimitError) -> Finding:
    message = f"{error.message}: stories are neither checked nor tested, and Rasa trains for a long time."
    return found("story-ways-too-many", message, error.location or Location(""), about=_ALL_STORIES)


def check_joined_dialogues(facts: Facts) -> Iterator[Finding]:
    """Checkpoints from which very many dialogues go on."""
    joined = facts.dialogues.trackers.joined if facts.dialogues is not None else {}
    many = {name: number for name, number in joined.items() if number > _MANY_JOINED}
    places: dict[str, Location] = {}
    for _, step in facts.steps:
        if isinstance(step, model.CheckpointStep) and step.name in many:
            places.setdefault(step.name, step.location)
    if not places:
        return
    first, *others = sorted(places, key=lambda name: (-many[name], name))
    named = ", ".join(f"'{name}' ({many[name]:,})" for name in [first, *others][:_NAMED_JOINS])
    more = f" and {len(others) + 1 - _NAMED_JOINS:,} more checkpoints" if len(others) >= _NAMED_JOINS else ""
    message = f"Checkpoints join stories to thousands of dialogues; so many go on from {named}{more}."
    more_places = [places[name] for name in others]
    yield found("checkpoint-joins-many", message, places[first], others=more_places, about=_ALL_STORIES)


# --- stories against stories -----------------------------------------------------------------------------------------


class StoryConflict(Struct):
    """A history and what follows after it: action → the stories with it, by name, with the place of the step."""

    event: str
    name: str
    actions: dict[str, dict[str, Location]] = field(default_factory=dict)

    @property
    def location(self) -> Location:
        """Where the last of the stories begins to disagree with those before it."""
        return max((min(places.values(), key=_by_place) for places in self.actions.values()), key=_by_place)

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """Stories that disagree, two by two."""
        for one, other in combinations(self.actions.values(), 2):
            yield from ((min(pair), max(pair)) for pair in product(one, other))


def check_max_history(facts: Facts) -> Iterator[Finding]:
    """An invalid number of states to look back at."""
    if not facts.has_valid_max_history:
        message = f"--max-history is {facts.max_history}, not a positive integer."
        yield found("max-history-invalid", message, Location(""))


def check_story_conflicts(facts: Facts) -> Iterator[Finding]:
    """Stories that disagree about what comes next."""
    yield from map(_conflict, story_conflicts(facts))


def story_conflicts(facts: Facts) -> Iterable[StoryConflict]:
    """Find histories (the last ``max_history`` states, or all) after which stories go on differently, as Rasa does.

    No story can teach UnexpecTED's action, so it always conflicts. Linear in the number of turns times
    ``max_history``; without it, linear in the number of turns.
    """
    dialogues, max_history = facts.dialogues, facts.max_history
    if dialogues is None or not facts.project.stories or not facts.has_valid_max_history:
        return ()
    first: dict[Hashable, str] = {}
    parting: set[Hashable] = set()
    for tracker in dialogues.trackers.stories:
        for history, _, event in _turns(tracker, max_history):
            if first.setdefault(history, event.label) != event.label or event.label == ACTION_UNLIKELY_INTENT:
                parting.add(history)
    if not parting:
        return ()
    situations: dict[Hashable, StoryConflict] = {}
    for tracker in _first_of_equals(dialogues.trackers).stories:
        for history, state, event in _turns(tracker, max_history):
            previous = _previous_event(state) if history in parting else None
            if previous is None:
                continue  # no conflict; or the very start of a conversation, which is never predicted
            situation = situations.setdefault(history, StoryConflict(*previous))
            places = situation.actions.setdefault(event.label, {})
            places.setdefault(tracker.name, event.location or tracker.location or Location(""))
    return situations.values()


def _first_of_equals(trackers: Trackers) -> Trackers:
    """Return the dialogues; of equal ones the first in the files: which one Rasa keeps changes with any other."""
    first: dict[Hashable, StoryTracker] = {}
    for tracker in sorted(trackers.duplicates, key=_place_of):
        first.setdefault((tracker.is_rule, tracker.fingerprint), tracker)
    if not first:
        return trackers

    def named(kept: StoryTracker) -> StoryTracker:
        return min(kept, first.get((kept.is_rule, kept.fingerprint), kept), key=_place_of)

    return replace(trackers, stories=tuple(map(named, trackers.stories)), rules=tuple(map(named, trackers.rules)))


def names_of_equals(facts: Facts) -> dict[str, set[str]]:
    """Return the names of equal rules, or of equal stories, by each of these names."""
    trackers = facts.dialogues.trackers if facts.dialogues is not None else None
    if trackers is None or not trackers.duplicates:
        return {}
    equals: dict[Hashable, set[str]] = {}
    for tracker in (*trackers.duplicates, *trackers.all):
        equals.setdefault((tracker.is_rule, tracker.fingerprint), set()).add(tracker.name)
    return {name: names for names in equals.values() if len(names) > 1 for name in names}


def _place_of(tracker: StoryTracker) -> tuple[str, int, int]:
    return (tracker.location or Location("")).sort_key


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


def _conflict(situation: StoryConflict) -> Finding:
    ways = "; ".join(f"'{action}' in {_named(places)}" for action, places in sorted(situation.actions.items()))
    every = {place for places in situation.actions.values() for place in places.values()}
    return found(
        "story-conflict",
        f"After the {situation.event} '{situation.name}' stories continue differently: {ways}.",
        situation.location,
        others=sorted(every - {situation.location}, key=_by_place),
        about=(
            *(Name("story", name) for places in situation.actions.values() for name in places),
            Name("event", situation.name),
        ),
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
            about=_ALL_STORIES,
        )
    for block in facts.blocks:
        begun = False
        seen: set[tuple[str, bool]] = set()
        for step in block.steps:
            if not isinstance(step, model.CheckpointStep):
                begun = True
            elif step.name in names and (step.name, begun) not in seen:
                seen.add((step.name, begun))
                about = (Name("checkpoint", step.name), Name("story", block.name))
                if begun:
                    message = f"No story starts with the checkpoint '{step.name}' that '{block.name}' ends with."
                    yield found("checkpoint-unused", message, step.location, about=about)
                else:
                    message = f"No story ends with the checkpoint '{step.name}' that '{block.name}' starts with."
                    yield found("checkpoint-undefined", message, step.location, about=about)


# --- rules against rules and stories ---------------------------------------------------------------------------------


def rule_conflicts(facts: Facts) -> list[Conflict]:
    """Return what RulePolicy refuses to learn. It is one of the policies that Rasa uses if none are configured.

    Raises:
        TrainingRefusedError: there is no such fallback action.
        BeyondLimitError: too many dialogues would be held against the rules.
    """
    project, dialogues = facts.project, facts.dialogues
    if dialogues is None or dialogues.refused is not None or not project.rules:
        return []
    policy = _rule_policy(project)
    if project.config.policies is not None and policy is None:
        return []
    try:
        settings = RuleSettings.of(policy.parameters if policy else {})
    except (TypeError, ValueError):
        return []  # a parameter of RulePolicy that is not a number: the engine reports it when it trains
    return conflicts_of(_first_of_equals(dialogues.trackers).all, dialogues.domain, settings)


def _rule_policy(project: Project) -> Component | None:
    return next((policy for policy in project.config.policies or () if policy_class(policy) == "RulePolicy"), None)


def check_rules(facts: Facts) -> Iterator[Finding]:
    """What RulePolicy refuses to learn."""
    project = facts.project
    try:
        conflicts = rule_conflicts(facts)
    except BeyondLimitError as error:
        yield _too_many(error)
        return
    except TrainingRefusedError as error:  # of the fallback action, which the policy names or has by default
        policy, location = _rule_policy(project), project.config.location
        settings = RuleSettings.of(policy.parameters if policy else {})
        if policy is not None:
            path = ("policies", (project.config.policies or ()).index(policy), "core_fallback_action_name")
            location = Places(project).of_entry(settings.fallback_action, policy.location, *path)
        names = (Name("action", settings.fallback_action),)
        yield found("fallback-action-undefined", f"{error.message}.", location, names=names)
        return
    keys = _keys_of_blocks(facts) if conflicts else {}
    for conflict in conflicts:
        others = "".join(f" ('{place.name}': {place.location})" for place in conflict.others if place.location)
        locations = [place.location for place in conflict.others if place.location]
        message = conflict.message[:1].upper() + conflict.message[1:]
        finding = found(
            "rule-contradiction",
            f"{message}{others}.",
            conflict.place.location or Location(""),
            others=locations,
            about=tuple(Name("story", place.name) for place in (conflict.place, *conflict.others)),
        )
        shared = _retrieval_intent(keys, [conflict.place.name, *(place.name for place in conflict.others)])
        if shared:
            finding = replace(finding, hint=_ONE_RULE.format(intent=shared), names=(Name("intent", shared),))
        elif not conflict.is_story:
            finding = replace(finding, hint=_AMONG_RULES)
        yield replace(finding, hint=_ALONE.get(conflict.kind, finding.hint))


_ALONE: Final[Mapping[str, str]] = {
    "restriction": "Rasa refuses to train (RulePolicy): rules answer one message. Write a story instead, or set"
    " `restrict_rules: false` of RulePolicy.",
    "incomplete": "Rasa refuses to train (RulePolicy). Set the same slots and loops after an action in every rule;"
    " where one must stay empty, set it to null.",
}
"""What to do about a rule that contradicts nothing, by what is wrong with it."""
_AMONG_RULES: Final = "Rasa refuses to train (RulePolicy). Make the rules agree, or give one of them a condition."
_ONE_RULE: Final = (
    "Rasa refuses to train (RulePolicy): rules see only `{intent}`, not `{intent}/…`. Write one rule for the intent"
    " `{intent}`, with the action `utter_{intent}`."
)


def _keys_of_blocks(facts: Facts) -> dict[str, set[tuple[str, str]]]:
    """The retrieval intents that a story or rule of a name begins with, each with its key."""
    keys: dict[str, set[tuple[str, str]]] = {}
    for block, step in facts.steps:
        if isinstance(step, model.UserStep) and step.intent and "/" in step.intent:
            intent, _, key = step.intent.partition("/")
            keys.setdefault(block.name, set()).add((intent, key))
    return keys


def _retrieval_intent(keys: Mapping[str, set[tuple[str, str]]], names: Iterable[str]) -> str:
    """The retrieval intent of which these blocks name several keys; "" if there is none."""
    named = set[tuple[str, str]]().union(*(keys.get(name, set()) for name in names))
    times = Counter(intent for intent, _ in named)
    return next((intent for intent, number in times.most_common(1) if number > 1), "")
