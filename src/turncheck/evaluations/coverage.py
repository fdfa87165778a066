"""Coverage: which intents, entities, actions, responses, slots, forms, stories and rules the tests reach."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turncheck.messages.value_classes import field_names
from turncheck.platforms.base import Part
from turncheck.project import model
from turncheck.report.model import PLACES, CoverageItem, KindCoverage, StepDigest, StoryResult
from turncheck.validation.facts import UTTER

if TYPE_CHECKING:
    from turncheck.messages.finding import Location
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import Batch, Nlu

Pair = tuple[str, str]
"""Two consecutive steps of a conversation, such as ``("intent greet", "action utter_greet")``."""

_CLASS_NAME: Final = re.compile(r"^class \w+", re.MULTILINE)
_PLAIN = frozenset({str, int, float, bool, type(None)})
_NOT_CONTENT = {"location", "places", "origin", "index"}
_IN_ANY_ORDER = {"use_entities", "ignore_entities", "roles", "groups", "ignored_intents", "intents", "not_intents"}


class CoverageModule(Protocol):
    """What tests reach of a platform's own assistants, in the module ``coverage`` of its package."""

    def coverage(
        self, project: model.Project, sentences: Iterable[Example], nlu: Nlu | None, batch: Batch | None
    ) -> dict[str, KindCoverage]:
        """Return what the judged ``sentences`` and the suites reach."""


PLATFORM_COVERAGE: Final = Part[CoverageModule]("coverage")


class Reached(Struct, frozen=True):
    """What tests reach, by name; ``intents`` as written (``faq/hours`` reaches ``faq`` too), ``pairs`` of steps."""

    intents: frozenset[str] = frozenset()
    entities: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()
    slots: frozenset[str] = frozenset()
    forms: frozenset[str] = frozenset()
    flows: frozenset[str] = frozenset()
    pairs: frozenset[Pair] = frozenset()

    def __or__(self, other: Reached) -> Reached:
        """What either of them reaches."""
        return Reached(*(getattr(self, name) | getattr(other, name) for name in Reached.__struct_fields__))


def reached_by_examples(examples: Iterable[Example]) -> Reached:
    """What test sentences reach: their intents and entities."""
    examples = list(examples)
    return Reached(
        intents=frozenset(example.intent for example in examples if example.intent),
        entities=frozenset(entity.entity for example in examples for entity in example.entities),
    )


def reached_by_conversations(exercised: Mapping[str, Iterable[str]]) -> Reached:
    """What end-to-end cases reached when they ran, by kind (``EndToEnd.exercised``)."""
    named = {kind: frozenset(names) for kind, names in exercised.items()}
    nothing: frozenset[str] = frozenset()
    return Reached(
        intents=named.get("intents", nothing),
        entities=named.get("entities", nothing),
        actions=named.get("actions", nothing) | named.get("responses", nothing),
        slots=named.get("slots", nothing),
        forms=named.get("forms", nothing),
        flows=named.get("flows", nothing),
        pairs=frozenset(_pair(step) for step in named.get("steps", nothing)),
    )


def _pair(step: str) -> Pair:
    one, _, other = step.partition(" > ")
    return one, other


def reached_by_stories(stories: Iterable[model.Story], results: Iterable[StoryResult] = ()) -> Reached:
    """What test stories reach, step by step, including actions that were predicted instead of the expected ones.

    ``results``: the results of those that were judged.
    """
    instead = {
        step.location: step.predicted
        for result in results
        for step in result.steps
        if step.kind == "action" and not step.passed and step.location is not None
    }
    return reduce(Reached.__or__, (_reached_by_story(story, instead) for story in stories), Reached())


def _reached_by_story(story: model.Story, instead: Mapping[Location, str]) -> Reached:
    steps = list(_opened(story.steps))
    users = [step for step in steps if isinstance(step, model.UserStep)]
    came = {instead[step.location] for step in steps if step.location in instead}
    return Reached(
        intents=frozenset(step.intent for step in users if step.intent),
        entities=frozenset(entity.entity for step in users for entity in step.entities),
        actions=frozenset(step.action for step in steps if isinstance(step, model.ActionStep)) | came,
        slots=frozenset(step.slot for step in steps if isinstance(step, model.SlotWasSetStep)),
        forms=frozenset(step.name for step in steps if isinstance(step, model.ActiveLoopStep) and step.name),
        pairs=frozenset(_pairs(story, instead)),
    )


def coverage(project: model.Project, reached: Reached, code: Mapping[str, str]) -> dict[str, KindCoverage]:
    """Return all items of each kind with a digest of their content, and whether they are in ``reached``.

    A story or rule is reached if some test walks each two of its consecutive steps (intents and actions). A slot is
    reached if a test sets it or has what fills it: its entity, intent or form. A form reaches its questions as well.
    ``code`` is that of the custom actions, by name: an action changes with it.
    """
    full = _with_consequences(project, reached)
    domain = project.domain
    examples: dict[str, list[str]] = {}
    for example in project.nlu.examples:
        examples.setdefault(example.base_intent or "", []).append(example.text)
    intents = {
        name: (intent.location, (_plain(intent), sorted(examples.get(name, ()))), name in full.intents)
        for name, intent in domain.intents.items()
    }
    # Only if there are any: other projects do not have them.
    flows = {
        "flows": [coverage_item(f.name, f.location, f.content, f.name in full.flows) for f in project.flows.values()]
    }
    places = _places_in_flows(project)
    kinds: dict[str, list[CoverageItem]] = {
        "intents": [
            coverage_item(name, *parts, is_telling=bool(examples.get(name))) for name, parts in intents.items()
        ],
        "entities": [
            coverage_item(e.name, e.location, e, e.name in full.entities, is_telling=False)
            for e in domain.entities.values()
        ],
        "actions": [
            _action_item(action, places.get(action.name, []), code.get(action.name), action.name in full.actions)
            for action in domain.actions.values()
            if not action.name.startswith(UTTER)
        ],
        "responses": [coverage_item(r.name, r.location, r, r.name in full.actions) for r in domain.responses.values()],
        "slots": [_slot_item(slot, slot.name in full.slots) for slot in domain.slots.values()],
        "forms": [
            coverage_item(form.name, form.location, form, form.name in full.forms) for form in domain.forms.values()
        ],
        **(flows if project.flows else {}),
        "stories": [_story_item(story, full) for story in project.stories],
        "rules": [_story_item(rule, full) for rule in project.rules],
    }
    return {kind: kind_coverage(items) for kind, items in kinds.items()}


def _action_item(action: model.Action, places: Sequence[str], code: str | None, covered: bool) -> CoverageItem:
    """A custom action, which is recognised under another name by its code, or else by where flows run it."""
    item = coverage_item(action.name, action.location, (action, code), covered, is_telling=False)
    if code is not None:
        unnamed = _CLASS_NAME.sub("class", code).replace(repr(action.name), "''")
        return msgspec.structs.replace(item, content=_digest(unnamed))
    return msgspec.structs.replace(item, content=PLACES + digest_of(sorted(places)) if places else "")


def _slot_item(slot: model.Slot, covered: bool) -> CoverageItem:
    """A slot, which often has the name of the entity that fills it: either may get another name."""
    item = coverage_item(slot.name, slot.location, slot, covered)
    nameless = tuple(msgspec.structs.replace(mapping, entity="") for mapping in slot.mappings)
    filled_by = {mapping.entity for mapping in slot.mappings if mapping.entity is not None}
    content = coverage_item(slot.name, slot.location, dataclasses.replace(slot, mappings=nameless), covered).content
    return msgspec.structs.replace(item, content=content, names=tuple(sorted(filled_by)))


def _places_in_flows(project: model.Project) -> dict[str, list[str]]:
    """Where the flows name each action: the flow, and the keys and numbers that lead there."""
    found: dict[str, list[str]] = {}
    waiting: list[tuple[str, Any]] = [(flow.name, flow.content) for flow in project.flows.values()]
    while waiting:
        place, content = waiting.pop()
        if isinstance(content, str) and content in project.domain.actions:
            found.setdefault(content, []).append(place)
        elif isinstance(content, Mapping):
            waiting += [(f"{place}.{key}", below) for key, below in content.items()]
        elif isinstance(content, Sequence) and not isinstance(content, str):
            waiting += [(f"{place}.{number}", below) for number, below in enumerate(content)]
    return found


def kind_coverage(items: Sequence[CoverageItem]) -> KindCoverage:
    """Return the items of a kind with the share that is covered."""
    return KindCoverage(items=tuple(items), share=sum(item.covered for item in items) / len(items) if items else None)


def _with_consequences(project: model.Project, reached: Reached) -> Reached:
    """Add what follows from what is reached: base intents, responses of retrieval intents, forms, filled slots."""
    intents = reached.intents | {intent.partition("/")[0] for intent in reached.intents}
    forms = reached.forms | (reached.actions & project.domain.forms.keys())
    keys = {f"{UTTER}{intent}" for intent in reached.intents if "/" in intent}
    actions = reached.actions | {key for key in keys if key.partition("/")[0] in reached.actions}
    for name in forms & project.domain.forms.keys():
        for slot_name in project.domain.forms[name].required_slots:
            actions |= {f"{UTTER}ask_{slot_name}", f"{UTTER}ask_{name}_{slot_name}"}
    slots = set(reached.slots)
    for slot in project.domain.slots.values():
        for mapping in slot.mappings:
            if (mapping.entity in reached.entities) or intents & set(mapping.intents):
                slots.add(slot.name)
    for name in forms & project.domain.forms.keys():
        slots.update(project.domain.forms[name].required_slots)
    return replace(
        reached, intents=frozenset(intents), actions=frozenset(actions), forms=frozenset(forms), slots=frozenset(slots)
    )


def _story_item(story: model.Story, reached: Reached) -> CoverageItem:
    pairs = list(_pairs(story))
    single = [step.action for step in story.steps if isinstance(step, model.ActionStep)]
    is_walked = all(pair in reached.pairs for pair in pairs) if pairs else bool(reached.actions & set(single))
    item = coverage_item(story.name, story.location, story, is_walked, is_telling=False)
    # Its steps may have its own name, that of an intent or action, which is no name of the story there.
    content = digest_of(msgspec.structs.replace(story, name="")) if pairs else ""
    names = {name for part in _opened(story.steps) if (name := _name_of(part))}
    steps = tuple(
        StepDigest(line=part.location.line or 1, digest=digest_of((type(step).__name__, part))[:8])
        for step in (*story.condition, *story.steps)
        for part in _written(step)
    )
    return msgspec.structs.replace(item, content=content, names=tuple(sorted(names)), steps=steps)


def _written(step: model.Step) -> Iterator[model.Step]:
    """A step, or the alternatives of which it consists."""
    if isinstance(step, model.OrStep):
        yield from (part for alternative in step.alternatives for part in alternative)
    else:
        yield step


def _name_of(step: model.Step) -> str | None:
    """The intent, action or form that a step is about."""
    match step:
        case model.UserStep(intent=name) | model.ActionStep(action=name) | model.ActiveLoopStep(name=name):
            return name
        case _:
            return None


def _pairs(story: model.Story, instead: Mapping[Location, str] | None = None) -> Iterator[Pair]:
    """Each two consecutive intents or actions; each alternative continues. Actions in ``instead`` do not continue."""
    before: list[str] = []
    for step in story.steps:
        labels = [label for part in _opened((step,)) if (label := _label(part))]
        if labels:
            came = [f"action {instead[step.location]}"] if instead and step.location in instead else []
            yield from ((one, other) for one in before for other in (*labels, *came))
            before = labels


def labelled_steps(story: model.Story) -> list[tuple[tuple[str, ...], int]]:
    """Return the labels of each intent or action, of one with alternatives all of them, and the step's line."""
    found = []
    for step in story.steps:
        parts = [(label, part) for part in _opened((step,)) if (label := _label(part))]
        if parts:
            found.append((tuple(label for label, _ in parts), parts[0][1].location.line or 1))
    return found


def _label(step: model.Step) -> str | None:
    if isinstance(step, model.UserStep):
        intent = step.intent.partition("/")[0] if step.intent else None
        return f"intent {intent}" if intent else f"text {step.text}"
    if isinstance(step, model.ActionStep):
        return f"action {step.action}"
    return f"bot {step.text}" if isinstance(step, model.BotStep) else None


def _opened(steps: Iterable[model.Step]) -> Iterator[model.Step]:
    return (part for step in steps if not isinstance(step, model.CheckpointStep) for part in _written(step))


def coverage_item(
    name: str, location: Location, content: Any, covered: bool, *, is_telling: bool = True
) -> CoverageItem:
    """Return the item; ``is_telling``: its content is more than its name, so that it can be recognised after it is
    renamed."""
    text = text_of_content(content)
    unnamed = text.replace(json.dumps(name, ensure_ascii=False), '""').replace(json.dumps(name), '""')
    return CoverageItem(
        name=name,
        location=location,
        digest=_digest(text),
        covered=covered,
        content=_digest(unnamed) if is_telling else "",
    )


def text_of_content(content: Any) -> str:
    """Return what :func:`digest_of` is the digest of."""
    return json.dumps(_plain(content), sort_keys=True, ensure_ascii=False, default=str)


def digest_of(content: Any) -> str:
    """Return a digest of data or of parts of a project, whatever their places and the order of their keys."""
    return _digest(text_of_content(content))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """The value as JSON data, without locations."""
    if value.__class__ in _PLAIN:
        return value
    if value.__class__ in {tuple, list}:
        return [_plain(item) for item in value]
    if (names := field_names(type(value))) is not None:
        parts = {name: _plain(getattr(value, name)) for name in names if name not in _NOT_CONTENT}
        return {
            name: sorted(part, key=str) if name in _IN_ANY_ORDER and part.__class__ is list else part
            for name, part in parts.items()
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value
