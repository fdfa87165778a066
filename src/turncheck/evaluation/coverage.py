"""What of an assistant its tests reach: intents, actions, rules … by name, from the dialogues that were judged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

from turncheck.dialogue.defaults import ACTION_LISTEN, DEFAULT_ACTIONS, DEFAULT_INTENTS, DEFAULT_SLOTS
from turncheck.project.model import ActionStep, BotStep, OrStep, UserStep
from turncheck.report.model import CoverageItem, KindCoverage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.location import Location
    from turncheck.project.model import Project, Story
    from turncheck.report.model import Core, StoryResult

Seen = tuple[str, str]
"""What happened in a dialogue: ``("intent", "greet")``, ``("action", "utter_greet")``, ``("slot", …)`` …"""


@dataclass(frozen=True, slots=True)
class Reached:
    """What the tests reach. ``turns``: of each dialogue its intents and actions in order."""

    seen: frozenset[Seen] = frozenset()
    turns: tuple[tuple[Seen, ...], ...] = ()

    def __or__(self, other: Reached) -> Reached:
        """Return what either reaches."""
        return Reached(self.seen | other.seen, self.turns + other.turns)


def reached_by_stories(core: Core) -> Reached:
    """Return what the judged stories reach, passed or not: they say what should happen."""
    seen: set[Seen] = set()
    turns = []
    for story in core.stories:
        if story.duplicate:
            continue
        told = list(_told(story))
        seen.update(told)
        turns.append(tuple(one for one in told if one[0] in {"intent", "action", "bot"} and one[1] != ACTION_LISTEN))
    return Reached(frozenset(seen), tuple(turns))


def _told(story: StoryResult) -> Iterable[Seen]:
    for written in story.written:
        step = written.step
        if "intent" in step:
            yield "intent", step["intent"]
        for entity in step.get("entities") or ():
            yield from (("entity", name) for name in (entity if isinstance(entity, dict) else [entity]))
        if "action" in step:
            yield "action", step["action"]
        if "bot" in step:
            yield "bot", step["bot"]
        for slot in step.get("slot_was_set") or ():
            yield from (("slot", name) for name in slot)
        if step.get("active_loop"):
            yield "form", step["active_loop"]


def coverage_of(project: Project, reached: Reached) -> dict[str, KindCoverage]:
    """Return for each kind of thing which of the project's own are reached; Rasa's defaults are left out."""
    domain = project.domain
    seen = reached.seen
    intents = {name for kind, name in seen if kind == "intent"}
    bases = intents | {name.partition("/")[0] for name in intents}
    actions = {name for kind, name in seen if kind == "action"}
    forms = {name for kind, name in seen if kind == "form"} | (actions & domain.forms.keys())
    slots = {name for kind, name in seen if kind == "slot"}
    entities = {name for kind, name in seen if kind == "entity"}
    examples: dict[str, list[str]] = {}
    for example in project.nlu.examples:
        examples.setdefault(example.base_intent or "", []).append(example.text)
    told = _Index(reached.turns)
    own_actions = {name: a for name, a in domain.actions.items() if name not in domain.responses}
    return {
        "intents": _kind(domain.intents, bases.__contains__, DEFAULT_INTENTS, lambda i: [i, examples.get(i.name)]),
        "entities": _kind(domain.entities, entities.__contains__),
        "actions": _kind(own_actions, actions.__contains__, DEFAULT_ACTIONS),
        "responses": _kind(domain.responses, actions.__contains__),
        "slots": _kind(domain.slots, slots.__contains__, tuple(DEFAULT_SLOTS)),
        "forms": _kind(domain.forms, forms.__contains__),
        "stories": _stories(project.stories, told),
        "rules": _stories(project.rules, told),
    }


def _kind(
    things: Mapping[str, Any],
    is_covered: Callable[[str], bool],
    defaults: Sequence[str] = (),
    content: Callable[[Any], Any] = lambda thing: thing,
) -> KindCoverage:
    return _coverage(
        (name, thing.location, content(thing), is_covered(name))
        for name, thing in things.items()
        if name not in defaults
    )


def _stories(stories: Iterable[Story], told: _Index) -> KindCoverage:
    return _coverage((story.name, story.location, story, told.contains(_pattern(story))) for story in stories)


def _coverage(found: Iterable[tuple[str, Location, Any, bool]]) -> KindCoverage:
    items = tuple(
        CoverageItem(name=name, location=location, digest=digest_of(content), covered=covered)
        for name, location, content, covered in found
    )
    return KindCoverage(items=items, share=sum(item.covered for item in items) / len(items) if items else None)


def digest_of(content: Any) -> str:
    """Return a digest that changes when the content does, and not when it only moves in its file."""
    return hashlib.sha256(json.dumps(_plain(content), sort_keys=True, default=str).encode()).hexdigest()[:16]


def _plain(content: Any) -> Any:
    if is_dataclass(content) and not isinstance(content, type):
        content = asdict(content)
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items() if key != "location"}
    if isinstance(content, (list, tuple)):
        return [_plain(value) for value in content]
    return content


def _pattern(story: Story) -> list[frozenset[Seen]]:
    """Return what a story or rule tells, turn by turn; alternatives stand in one place."""
    pattern: list[frozenset[Seen]] = []
    for step in story.steps:
        match step:
            case UserStep(intent=str(intent)):
                pattern.append(frozenset({("intent", intent)}))
            case ActionStep():
                pattern.append(frozenset({("action", step.action)}))
            case BotStep():
                pattern.append(frozenset({("bot", step.text), ("action", step.text)}))
            case OrStep():
                users = (part for alternative in step.alternatives for part in alternative)
                intents = {("intent", part.intent) for part in users if isinstance(part, UserStep) and part.intent}
                if intents:
                    pattern.append(frozenset(intents))
            case _:
                pass
    return pattern


class _Index:
    """Finds patterns in many dialogues: where each thing happened is looked up, not searched."""

    def __init__(self, turns: Sequence[tuple[Seen, ...]]) -> None:
        self.turns = turns
        self.places: dict[Seen, list[tuple[int, int]]] = {}
        for number, dialogue in enumerate(turns):
            for place, one in enumerate(dialogue):
                self.places.setdefault(one, []).append((number, place))

    def contains(self, pattern: Sequence[frozenset[Seen]]) -> bool:
        """Whether some dialogue tells the pattern without a gap."""
        if not pattern:
            return False
        return any(self._matches(pattern, *place) for one in sorted(pattern[0]) for place in self.places.get(one, ()))

    def _matches(self, pattern: Sequence[frozenset[Seen]], number: int, place: int) -> bool:
        told = self.turns[number][place : place + len(pattern)]
        return len(told) == len(pattern) and all(one in wanted for one, wanted in zip(told, pattern, strict=True))
