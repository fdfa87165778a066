"""Training dialogues: every way through the story graph, as trackers, with Rasa's deduplication and augmentation."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.dialogue.events import ActionExecuted, ActionReverted, Event, Restarted, UserUtteranceReverted
from turncheck.dialogue.story_steps import GENERATED_PREFIX, STORY_START, Checkpoint, StoryStep, story_steps
from turncheck.dialogue.tracker import History, Tracker
from turncheck.messages.errors import BeyondLimitError
from turncheck.project.config import states_looked_back_at

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from random import Random

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.situation import Situation
    from turncheck.dialogue.states import State
    from turncheck.messages.finding import Location
    from turncheck.project.model import Project, Story


# The story steps as a graph whose edges are checkpoints: in order, and without cycles, as Rasa goes through it.

_CYCLE_PREFIX: Final = f"{GENERATED_PREFIX}CYCL_"


class StoryGraph(Struct, frozen=True):
    """Steps in the order of the files. ``continued``: the checkpoint at which an end inside a cut cycle continues."""

    steps: tuple[StoryStep, ...]
    continued: Mapping[str, str] = field(default_factory=dict)

    def ordered(self) -> list[StoryStep]:
        """Return the steps so that each comes after those that lead to it (except in cycles)."""
        steps = {step.id: step for step in self.steps}
        order, _ = self._sorted()
        return [steps[step_id] for step_id in order]

    def without_cycles(self) -> StoryGraph:
        """Return the graph with each cycle cut: its last step ends in a separate checkpoint, from which it continues
        once."""
        _, cyclic = self._sorted()
        steps = {step.id: step for step in self.steps}
        continued = dict(self.continued)
        overlapping: set[str] = set()
        for number, (source, target) in enumerate(cyclic):
            overlapping |= _cut_cycle(steps, source, target, number, continued)
        _remove_unused(steps, overlapping, continued)
        return StoryGraph(tuple(steps.values()), continued)

    def _sorted(self) -> tuple[list[str], list[tuple[str, str]]]:
        followers: defaultdict[str, list[str]] = defaultdict(list)
        for step in self.steps:
            for start in step.start:
                followers[start.name].append(step.id)
        edges = {step.id: {other for end in step.end for other in followers[end.name]} for step in self.steps}
        return topological_order(edges)


def topological_order(edges: Mapping[str, Iterable[str]]) -> tuple[list[str], list[tuple[str, str]]]:
    """Sort nodes so that each comes before those it leads to; edges that close a cycle are returned separately.

    Depth first from the last node backwards, as Rasa does: nodes that do not depend on each other stay in the order of
    their ids as texts. Without recursion, so that long chains of checkpoints do no harm.
    """
    open_, closed = 0, 1
    seen: dict[str, int] = {}
    backwards: list[str] = []
    cyclic: set[tuple[str, str]] = set()
    for root in sorted(edges, reverse=True):
        if root in seen:
            continue
        seen[root] = open_
        stack = [(root, iter(sorted(edges[root])))]
        while stack:
            node, children = stack[-1]
            for child in children:
                if seen.get(child) == open_:
                    cyclic.add((node, child))
                elif child not in seen:
                    seen[child] = open_
                    stack.append((child, iter(sorted(edges.get(child, ())))))
                    break
            else:
                stack.pop()
                seen[node] = closed
                backwards.append(node)
    return backwards[::-1], sorted(cyclic)


def _cut_cycle(
    steps: dict[str, StoryStep], source: str, target: str, number: int, continued: dict[str, str]
) -> set[str]:
    """Cut the edge from ``source`` to ``target``; return the checkpoints that it was made of."""
    sink, connector, again = (f"{_CYCLE_PREFIX}{part}_{number}" for part in ("SINK", "CONN", "SRC"))
    continued[sink] = again
    shared = {end.name for end in steps[source].end} & {start.name for start in steps[target].start}
    ends = [end for end in steps[source].end if end.name not in shared] + [Checkpoint(sink)]
    steps[source] = replace(steps[source], end=tuple(ends))
    connector_needed = False
    for step_id, step in list(steps.items()):
        additional: list[Checkpoint] = []
        for start in step.start:
            if start.name not in shared:
                continue
            name = again if step_id == target else connector
            connector_needed = connector_needed or name == connector
            checkpoint = Checkpoint(name, start.conditions)
            if checkpoint not in step.start:
                additional.append(checkpoint)
        if additional:
            steps[step_id] = replace(step, start=(*step.start, *additional))
    if connector_needed:
        steps[source] = replace(steps[source], end=(*steps[source].end, Checkpoint(connector)))
    return shared


def _remove_unused(steps: dict[str, StoryStep], overlapping: set[str], continued: Mapping[str, str]) -> None:
    """Remove the checkpoints that cutting left without a partner, and steps that have no other."""
    unused = unused_checkpoints(steps.values(), continued)
    generated = {name for name in unused if name.startswith(GENERATED_PREFIX)}
    for step_id, step in list(steps.items()):
        start = tuple(c for c in step.start if c.name not in unused & overlapping)
        end = tuple(c for c in step.end if c.name not in generated)
        if (step.start and not start) or (step.end and not end):
            del steps[step_id]
        else:
            steps[step_id] = replace(step, start=start, end=end)


def unused_checkpoints(steps: Iterable[StoryStep], continued: Mapping[str, str]) -> set[str]:
    """Return the checkpoints that only begin or only end a step."""
    steps = list(steps)
    starts = {STORY_START} | {start.name for step in steps for start in step.start}
    ends = {STORY_START} | {continued.get(end.name, end.name) for step in steps for end in step.end}
    return starts ^ ends


_SEED: Final = 42
"""Rasa's own seed: the same stories are glued together in every training."""
MOST_WAYS: Final = 60_000
"""Each ``or`` multiplies the dialogues of a story: ten of three intents make 59,049, which take seconds and two hundred
megabytes here. Rasa has no limit."""
MOST_EVENTS: Final = 1_500_000
"""A few ways through a long story take as long as many through a short one: so many events are followed on all ways
together, in half a minute of Rasa's time. Stories that are glued together do not count: their number has a limit."""
MOST_GLUED: Final = 500_000
"""So many events are followed in each round that glues stories together: Rasa begins every story behind as many others
as it is told, however many there are, and keeps few of all that; a thousand long stories take a quarter of an hour."""
_COPIED: Final = 16
"""So many events of the dialogue so far are copied and compared while one is followed."""


_UNDOING: Final = (ActionReverted, UserUtteranceReverted, Restarted)


class TooManyDialoguesError(BeyondLimitError):
    """More than :data:`MOST_WAYS` dialogues lead through one step, or all have more than :data:`MOST_EVENTS`.

    ``joined``: how many go on from each checkpoint.
    """

    def __init__(
        self,
        what: str,
        *,
        location: Location | None = None,
        hint: str | None = None,
        joined: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(what, location=location, hint=hint)
        self.joined = joined or {}


class StoryTracker(Tracker):
    """The dialogue of a story or rule. ``location``: where its latest step begins.

    Its states are those that were recorded while it was read, one for each action, including a loop's repeated runs:
    this is what Rasa's policies learn from, while at run time repeated runs are left out.
    """

    __slots__ = ("_states", "is_augmented", "location", "parts")

    def __init__(self, domain: DialogueDomain, name: str = "", *, is_rule: bool = False) -> None:
        super().__init__(domain, name, is_rule=is_rule)
        self.location: Location | None = None
        self.parts: tuple[StoryStep, ...] = ()
        self.is_augmented = False
        self._states: list[State] = [self.situation.state()]

    def _replay(self) -> History:
        """Return a new history each time: dialogues are many, and each is replayed a few times."""
        return History(self.domain)

    def copy(self) -> Self:
        """Return an independent copy of this tracker."""
        other = super().copy()
        other.location, other.parts, other.is_augmented = self.location, self.parts, self.is_augmented
        other._states = list(self._states)  # noqa: SLF001 - its own class
        return other

    def followed(self, step: StoryStep, passage: _Passage) -> StoryTracker:
        """Return the dialogue that goes on through the step."""
        other = self.entering(step)
        other.events += passage.events
        other.situation = passage.end.copy()
        other._states[-1:] = passage.states  # noqa: SLF001 - its own class
        return other

    def entering(self, step: StoryStep) -> StoryTracker:
        """Return a copy that is about to go through the step."""
        other = self.copy()
        other.name = _joined(self.name, step.name)
        other.location = step.location
        other.source = step.location.path
        other.parts = (*self.parts, step)
        return other

    def fresh(self) -> StoryTracker:
        """Return an empty tracker of the same story, to go through it again."""
        other = StoryTracker(self.domain, self.name, is_rule=self.is_rule)
        other.location = self.location
        other.parts = self.parts
        return other

    def share_states(self, known: dict[str, State]) -> None:
        """Use one object for equal states of all dialogues: there are few of them, and many dialogues."""
        self._states = [known.setdefault(state.text, state) for state in self._states]

    def append(self, event: Event) -> None:
        """Append an event, and record the state."""
        super().append(event)
        match event:
            case ActionExecuted():
                pass
            case ActionReverted():
                del self._states[-2:]
            case UserUtteranceReverted() | Restarted():
                self._states = list(super().states())
                return
            case _:
                self._states.pop()
        self._states.append(self.situation.state())

    def states(self) -> Sequence[State]:
        """Return the state before each action that was read, and now."""
        return self._states

    def last_states(self, number: int) -> Sequence[State]:
        """Return the last ones of :meth:`states`, at most this many."""
        return self._states[-number:]

    def states_of_set(self) -> list[State]:
        """Return the state before each action that counts, and now, without slots that no event has set."""
        situation = Tracker(self.domain).situation
        states = []
        for event in self.applied_events():
            if isinstance(event, ActionExecuted):
                states.append(situation.state(of_set=True))
            situation.apply(event)
        return [*states, situation.state(of_set=True)]

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """A fingerprint that is equal for trackers that are the same dialogue for every policy."""
        return tuple([state.text for state in self._states])

    @property
    def identity(self) -> tuple[int, ...]:
        """The same as :attr:`fingerprint`, but quick, and valid only among trackers that share their states."""
        return tuple(map(id, self._states))


class _Passage(Struct, frozen=True):
    """The events of a step, what policies see before each of its actions and at its end, and where it ends.

    All dialogues that come in the same situation go through the step in the same way.
    """

    events: Sequence[Event]
    states: Sequence[State]
    end: Situation

    @classmethod
    def through(cls, events: Sequence[Event], begin: Situation, known: dict[str, State]) -> _Passage:
        """Follow the events, none of which undoes others, from this situation on."""
        now = begin.copy()
        states = []
        for event in events:
            if isinstance(event, ActionExecuted):
                states.append(now.state())
            now.apply(event)
        return cls(events, [known.setdefault(state.text, state) for state in (*states, now.state())], now)


class Trackers(Struct, frozen=True):
    """The dialogues of a project's stories and rules, and those that Rasa drops as duplicates of earlier ones.

    ``unused``: the checkpoints of stories that nothing leads to, or that lead nowhere; ``begun``: the stories and rules
    that some dialogue reached, by their places; ``joined``: how many dialogues go on from each checkpoint.
    """

    stories: tuple[StoryTracker, ...]
    rules: tuple[StoryTracker, ...]
    duplicates: tuple[StoryTracker, ...] = ()
    unused: frozenset[str] = frozenset()
    begun: frozenset[Location] = frozenset()
    joined: Mapping[str, int] = field(default_factory=dict)

    @property
    def all(self) -> tuple[StoryTracker, ...]:
        """Stories first, then rules."""
        return (*self.stories, *self.rules)


def training_trackers(project: Project, domain: DialogueDomain, *, augmentation: int = 50) -> Trackers:
    """Return the dialogues of the project's stories and rules. ``augmentation`` 0 glues no stories together.

    Rasa 0 to 2 follow only one of the dialogues whose last states are the same, if no policy looks back further. What
    they have in common is all that can be learnt from the others, so it is done here where they are too many otherwise.
    """
    steps = tuple(story_steps((*project.stories, *project.rules), domain))
    try:
        return trackers_of_steps(steps, domain, augmentation=augmentation)
    except TooManyDialoguesError:
        window = states_looked_back_at(project.config, project.major)
        if not window:
            raise
    return trackers_of_steps(steps, domain, augmentation=augmentation, window=window)


def trackers_of(stories: Iterable[Story], domain: DialogueDomain, *, augmentation: int = 0) -> Trackers:
    """Return the dialogues of these stories and rules, in Rasa's order."""
    return trackers_of_steps(story_steps(stories, domain), domain, augmentation=augmentation)


def trackers_of_steps(
    steps: Iterable[StoryStep], domain: DialogueDomain, *, augmentation: int = 0, window: int = 0
) -> Trackers:
    """Return the dialogues of these steps, in Rasa's order.

    ``window``: of the dialogues whose last so many states are the same, one goes on, and the others end there; 0: all
    go on (Rasa's ``unique_last_num_states``).

    Raises:
        TooManyDialoguesError: more than :data:`MOST_WAYS` dialogues lead to one step, or there are more than
            :data:`MOST_EVENTS` events on all ways.
    """
    graph = StoryGraph(tuple(steps)).without_cycles()
    try:
        return _walked(graph, domain, augmentation, window)
    except TooManyDialoguesError as error:
        raise error.with_traceback(None) from None  # whoever keeps the error would keep all dialogues of the walk


def _walked(graph: StoryGraph, domain: DialogueDomain, augmentation: int, window: int) -> Trackers:
    ordered = graph.ordered()
    walk = _Walk(graph, domain, augmentation, window)
    stories = walk.through([step for step in ordered if not step.is_rule], is_rule=False)
    unused = walk.unused
    rules = walk.through([step for step in ordered if step.is_rule], is_rule=True)
    return Trackers(tuple(stories), tuple(rules), tuple(walk.duplicates), unused, frozenset(walk.begun), walk.joined)


class _Walk:
    """Walks through the graph, round after round, until no new checkpoint is reached; then glues stories together."""

    def __init__(self, graph: StoryGraph, domain: DialogueDomain, augmentation: int, window: int) -> None:
        self.graph = graph
        self.domain = domain
        self.augmentation = augmentation
        self.window = window
        self.random: Random | None = None
        self.known: set[tuple[bool, tuple[int, ...]]] = set()
        self.duplicates: list[StoryTracker] = []
        self.unused: frozenset[str] = frozenset()
        self.states: dict[str, State] = {}
        self.begun: set[Location] = set()
        self.joined: Counter[str] = Counter()
        self.events = 0

    def through(self, steps: Sequence[StoryStep], *, is_rule: bool) -> list[StoryTracker]:
        """Return the dialogues that these steps make."""
        if not steps:
            return []
        augmentation = 0 if is_rule else self._affordable(steps)
        waiting: defaultdict[str, list[StoryTracker]] = defaultdict(list)
        first = StoryTracker(self.domain, is_rule=is_rule)
        first.share_states(self.states)
        waiting[STORY_START].append(first)
        finished: list[StoryTracker] = []
        story_ends: list[StoryTracker] = []
        used: set[str] = set()
        unused_before: set[str] = set()
        reached_all = False
        phase = 0
        while (not reached_all or phase < (3 if augmentation else 0)) and any(waiting.values()):
            unused = self._round(steps, waiting, used, finished, story_ends, is_augmenting=reached_all)
            phase += 1
            if not reached_all:
                unused |= waiting.keys() - used
                waiting = defaultdict(
                    list, {name: waiting.get(name, []) for name in sorted(unused) if name != STORY_START}
                )
                reached_all = unused == unused_before or not any(waiting.values())
                unused_before = unused
                if reached_all:
                    # A tracker at a checkpoint that leads nowhere is a dialogue, too.
                    self.unused = frozenset(unused - used)
                    for name in sorted(self.unused):
                        finished.extend(waiting[name])
                    phase = 0
            if reached_all:
                used = set()
                waiting = self._starts_for_augmentation(story_ends, augmentation)
        return self._limited([*finished, *story_ends], self.augmentation)

    def _affordable(self, steps: Iterable[StoryStep]) -> int:
        """Behind how many other stories each one begins."""
        events = sum(len(step.explicit_events(self.domain)) for step in steps) if self.augmentation else 0
        return min(self.augmentation, max(1, MOST_GLUED // events)) if events else self.augmentation

    def _round(
        self,
        steps: Sequence[StoryStep],
        waiting: defaultdict[str, list[StoryTracker]],
        used: set[str],
        finished: list[StoryTracker],
        story_ends: list[StoryTracker],
        *,
        is_augmenting: bool,
    ) -> set[str]:
        """Go through all steps once; return the checkpoints that are left for the next round."""
        unused: set[str] = set()
        last_steps = self._last_steps(steps)
        for step in steps:
            incoming: list[StoryTracker] = []
            for start in step.start:
                if waiting[start.name]:
                    incoming.extend(_passing(start, waiting[start.name]))
                    used.add(start.name)
                    self.joined[start.name] = max(self.joined[start.name], len(waiting[start.name]))
                elif start.name not in used:
                    unused.add(start.name)
            if not incoming:
                continue
            self.begun.add(step.location)
            incoming = _distinct(incoming)
            if self.window:
                incoming, ended = _joined_by_end(incoming, self.window)
                finished.extend(self._new(ended))
            if len(incoming) > MOST_WAYS:
                what = f"{len(incoming):,} dialogues or more lead through '{step.name}', and at most {MOST_WAYS:,}"
                raise _too_many(what, step, self.joined)
            if is_augmenting:
                incoming = self._sample(incoming, self.augmentation * 10)
            else:
                self._count_events(step, incoming)
            trackers = self._followed(step, incoming, finished)
            for end in step.end:
                name = self.graph.continued.get(end.name, end.name)
                waiting[name].extend(trackers)
                if name in used:
                    unused.add(name)
            if not step.end:
                story_ends.extend(self._new(trackers))
            for start in step.start:
                if last_steps[start.name] is step and start.name not in unused:
                    waiting[start.name] = []  # all stories that begin here have begun
        return unused

    def _count_events(self, step: StoryStep, incoming: Sequence[StoryTracker]) -> None:
        new = len(step.explicit_events(self.domain))
        self.events += sum(new + len(tracker.events) // _COPIED for tracker in incoming)
        if self.events > MOST_EVENTS:
            what = (
                f"the dialogues that lead through '{step.name}' or come before it have {self.events:,} events or more"
            )
            raise _too_many(f"{what}, and at most {MOST_EVENTS:,}", step, self.joined)

    def _last_steps(self, steps: Iterable[StoryStep]) -> dict[str, StoryStep]:
        """Return the last step that begins or ends at each checkpoint."""
        last: dict[str, StoryStep] = {}
        for step in steps:
            last |= dict.fromkeys((start.name for start in step.start), step)
            last |= dict.fromkeys((self.graph.continued.get(end.name, end.name) for end in step.end), step)
        return last

    def _followed(
        self, step: StoryStep, incoming: Sequence[StoryTracker], finished: list[StoryTracker]
    ) -> list[StoryTracker]:
        """Append the step's events to each tracker; dialogues that an event cuts off are finished before it."""
        events = step.explicit_events(self.domain)
        if not events:
            return []
        if any(isinstance(event, _UNDOING) for event in events):
            return self._followed_one_by_one(step, events, incoming, finished)
        passages: dict[Hashable, _Passage] = {}
        trackers = []
        for tracker in incoming:
            key = tracker.situation.key
            if key not in passages:
                passages[key] = _Passage.through(events, tracker.situation, self.states)
            trackers.append(tracker.followed(step, passages[key]))
        return trackers

    def _followed_one_by_one(
        self, step: StoryStep, events: Sequence[Event], incoming: Sequence[StoryTracker], finished: list[StoryTracker]
    ) -> list[StoryTracker]:
        """Follow events of which some undo what each dialogue said before."""
        trackers = [tracker.entering(step) for tracker in incoming]
        for event in events:
            for tracker in trackers:
                if isinstance(event, _UNDOING):
                    tracker.share_states(self.states)
                    finished.append(tracker.copy())
                tracker.append(event)
        for tracker in trackers:
            tracker.share_states(self.states)
        return trackers

    def _new(self, trackers: Iterable[StoryTracker]) -> list[StoryTracker]:
        """Leave out duplicates of earlier dialogues."""
        new = []
        for tracker in trackers:
            key = (tracker.is_rule, tracker.identity)
            if key in self.known:
                self.duplicates.append(tracker)
            else:
                self.known.add(key)
                new.append(tracker)
        return new

    def _starts_for_augmentation(
        self, story_ends: list[StoryTracker], augmentation: int
    ) -> defaultdict[str, list[StoryTracker]]:
        """Start stories again where others ended; the last listening is undone, since each story brings its own."""
        waiting: defaultdict[str, list[StoryTracker]] = defaultdict(list)
        if augmentation:
            for tracker in self._sample(story_ends, augmentation):
                start = tracker.copy()
                start.is_augmented = True
                start.append(ActionReverted())
                start.share_states(self.states)
                waiting[STORY_START].append(start)
        return waiting

    def _limited(self, trackers: list[StoryTracker], augmentation: int) -> list[StoryTracker]:
        if not augmentation:
            return trackers
        glued = [tracker for tracker in trackers if tracker.is_augmented]
        return [*(one for one in trackers if not one.is_augmented), *self._sample(glued, augmentation * 10)]

    def _sample(self, trackers: list[StoryTracker], number: int) -> list[StoryTracker]:
        """Shuffle in place, as Rasa does, and take the first ones."""
        if self.random is None:
            from random import Random  # only where stories are glued together

            self.random = Random(_SEED)
        self.random.shuffle(trackers)
        return trackers[:number]


def _too_many(what: str, step: StoryStep, joined: Mapping[str, int]) -> TooManyDialoguesError:
    return TooManyDialoguesError(
        f"{what} can be followed here",
        location=step.location,
        hint="Each `or` and checkpoint multiplies them: split it into several stories with fewer of them.",
        joined=joined,
    )


def _passing(start: Checkpoint, trackers: Sequence[StoryTracker]) -> list[StoryTracker]:
    return [
        tracker
        for tracker in trackers
        if all(tracker.slots.get(name) == value for name, value in start.conditions.items())
    ]


def _distinct(trackers: Iterable[StoryTracker]) -> list[StoryTracker]:
    """Keep the first of the dialogues that are the same up to here: they would stay the same."""
    distinct: dict[tuple[int, ...], StoryTracker] = {}
    for tracker in trackers:
        distinct.setdefault(tracker.identity, tracker)
    return list(distinct.values())


def _joined_by_end(trackers: Iterable[StoryTracker], window: int) -> tuple[list[StoryTracker], list[StoryTracker]]:
    """Part the first of the dialogues with the same last states, which goes on, from the others."""
    going_on: dict[tuple[int, ...], StoryTracker] = {}
    ended = [one for one in trackers if going_on.setdefault(one.identity[-window:], one) is not one]
    return list(going_on.values()), ended


def _joined(name: str, part: str) -> str:
    if not name:
        return part
    return f"{name} > {part}" if part and part not in name.split(" > ") else name
