"""The parts in which two states of a project differ, and the project with some of them taken back.

A part is what people change and name as one: a rule, a story, an intent with its sentences, a slot, a component with
its parameters. Taking it back gives it the base's content: what was added goes, what was removed returns.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from turncheck.causes.changed_lines import Definitions, first_changed_line, place_of_session
from turncheck.causes.renaming import with_names
from turncheck.messages.finding import Location
from turncheck.messages.value_classes import field_names
from turncheck.project import model
from turncheck.project.config import short_name
from turncheck.project.rasa_components import configured_policies, pipeline_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

    from turncheck.causes.renaming import NewName
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example, NluData

Learner = Literal["nlu", "core"]
"""What must be trained again once a part is taken back."""

_Sides = tuple[Definitions, Definitions]
"""What the domains of the base and of the change define."""

SYNONYMS_ONLY: Final = frozenset({"EntitySynonymMapper"})
"""The kinds of pipeline steps that learn from synonyms: no other needs to be trained again for these."""


class Difference(Struct, frozen=True):
    """A part that differs, with what it was and what it is.

    ``location`` is its first changed line, ``base_location`` where the base has it; ``None`` on the side that lacks it.
    ``names``: what it is called and what it mentions, on both sides. ``learners``: what learns from it; ``steps``: if
    only these kinds of pipeline steps do. ``size``: how many sentences of an intent differ; of all else 1.
    """

    kind: str
    name: str
    change: Literal["added", "changed", "removed", "moved", "renamed", "replaced"]
    location: Location | None
    base_location: Location | None
    names: frozenset[str]
    learners: frozenset[Learner]
    steps: frozenset[str] | None = None
    old_name: str = ""
    size: int = 1


class _Item(Struct, frozen=True):
    """Something of a section on both sides; ``None`` where one lacks it. ``replaces``: the name of what was there."""

    name: str
    before: Any
    after: Any
    replaces: str = ""

    @property
    def differs(self) -> bool:
        return contents(self.before) != contents(self.after)


class _Section(Struct, frozen=True):
    """Things of one kind on both sides, and how they are put into a project.

    ``group``: what the parts made of it are called; items of one name and group in several sections are one part.
    """

    group: str
    items: tuple[_Item, ...]
    put: Callable[[Project, Sequence[Any]], Project]
    learners: Callable[[_Item], frozenset[Learner]]
    steps: Callable[[_Item], frozenset[str] | None]


@dataclasses.dataclass(frozen=True)
class Changes:
    """What a change did to a project, part by part."""

    head: Project
    sections: tuple[_Section, ...]
    parts: tuple[Difference, ...]
    places: tuple[frozenset[tuple[int, int]], ...]
    """Of each part, the items that it consists of: numbers of section and item."""
    renamed: Mapping[int, NewName] = dataclasses.field(default_factory=dict)
    """The parts that are new names, by number."""

    def without(self, taken: Collection[int]) -> Project:
        """Return the project of the change with these parts, by number, as they are on the base."""
        places = frozenset().union(*(self.places[number] for number in taken))
        project = self.head
        for number, section in enumerate(self.sections):
            touched = {item for of, item in places if of == number}
            if touched:
                values = [
                    one
                    for place, item in enumerate(section.items)
                    if (one := item.before if place in touched else item.after) is not None
                ]
                project = section.put(project, values)
        back = [self.renamed[number].reversed for number in sorted(taken) if number in self.renamed]
        return with_names(project, back) if back else project


def changes_between(base: Project, head: Project, renamed: Iterable[NewName] = ()) -> Changes:
    """Compare two states of a project; a new name is one part, wherever it is used.

    What keeps an old name was not changed: that the name is another one elsewhere is no edit of it.
    """
    new_names = tuple(renamed)
    sections = tuple(_sections(with_names(base, new_names), head))
    kept = [_of_base(section) for section in _sections(base, head)] if new_names else [frozenset()] * len(sections)
    found: dict[tuple[str, str, int], list[tuple[int, int]]] = defaultdict(list)
    on_both: set[tuple[str, str, int]] = set()
    for number, section in enumerate(sections):
        for place, (item, number_of_name) in enumerate(zip(section.items, _numbers(section.items), strict=True)):
            key = section.group, item.name, number_of_name
            if item.before is not None and item.after is not None:
                on_both.add(key)
            if item.differs and contents(item.after) not in kept[number]:
                found[key].append((number, place))
    sides = Definitions(base), Definitions(head)
    parts = [_difference(sections, places, sides, on_both=key in on_both) for key, places in found.items()]
    places = [frozenset(one) for one in found.values()]
    renaming = {len(parts) + number: one for number, one in enumerate(new_names)}
    for one in new_names:
        parts.append(_renaming(one))
        places.append(frozenset())
    return Changes(head, sections, tuple(parts), tuple(places), renaming)


def _of_base(section: _Section) -> frozenset[Hashable]:
    return frozenset(contents(item.before) for item in section.items if item.before is not None)


def _numbers(items: Sequence[_Item]) -> Iterator[int]:
    """Number the items of a name: those of both sides first; then one that is gone and one that is new are one."""
    both = Counter(item.name for item in items if item.before is not None and item.after is not None)
    seen: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), both.copy(), both.copy())
    for item in items:
        counter = seen[0 if item.before is not None and item.after is not None else 1 if item.after is None else 2]
        counter[item.name] += 1
        yield counter[item.name]


def _renaming(new: NewName) -> Difference:
    learners: frozenset[Learner] = _BOTH if new.kind in {"intents", "entities"} else _CORE
    return Difference(
        new.kind, new.new, "renamed", new.location, None, frozenset({new.old, new.new}), learners, old_name=new.old
    )


def _difference(
    sections: Sequence[_Section], places: Sequence[tuple[int, int]], sides: _Sides, *, on_both: bool
) -> Difference:
    """Describe a part; ``on_both``: whether both sides have anything of that name."""
    items = [(sections[number], sections[number].items[place]) for number, place in places]
    first = items[0]
    is_new = not on_both and all(item.before is None for _, item in items)
    is_gone = not on_both and all(item.after is None for _, item in items)
    after = next((item.after for _, item in items if item.after is not None), None)
    before = next((item.before for _, item in items if item.before is not None), None)
    counterpart = next((item.before for _, item in items if type(item.before) is type(after)), None)
    replaces = first[1].replaces
    moved = counterpart is not None and after is not None and contents(counterpart) == contents(after)
    steps = [section.steps(item) for section, item in items]
    return Difference(
        kind=first[0].group,
        name=first[1].name,
        change=(
            "replaced" if replaces else "added" if is_new else "removed" if is_gone else "moved" if moved else "changed"
        ),
        location=None if after is None else _place(after) if replaces else _first_changed(counterpart, after, sides),
        base_location=None if before is None else _place(before),
        names=frozenset({first[1].name}).union(
            *(words_in(side) for _, item in items for side in (item.before, item.after) if side is not None)
        ),
        learners=frozenset().union(*(section.learners(item) for section, item in items)),
        steps=None if None in steps else frozenset[str]().union(*(some for some in steps if some is not None)),
        old_name=replaces,
        size=max(_size(item) for _, item in items),
    )


def _size(item: _Item) -> int:
    sides = [side.examples for side in (item.before, item.after) if isinstance(side, _Sentences)]
    if not sides:
        return 1
    one, other, *_ = (*(Counter(example.place_in_order for example in side) for side in sides), Counter())
    return ((one - other) + (other - one)).total()


# What is compared, section by section.

_ALIKE: Final = 0.5
"""A new story replaces one that is gone if so many of their steps are the same."""
_MOST_PAIRS: Final = 2_500
_NONE: Final[frozenset[Learner]] = frozenset()
_NLU: Final[frozenset[Learner]] = frozenset({"nlu"})
_CORE: Final[frozenset[Learner]] = frozenset({"core"})
_BOTH: Final[frozenset[Learner]] = frozenset({"nlu", "core"})


def _sections(base: Project, head: Project) -> Iterator[_Section]:
    """Everything that is learnt or that decides how an assistant answers; tests, files and servers are not parts."""
    for group in ("rules", "stories"):
        yield _Section(
            group, _by_name(getattr(base, group), getattr(head, group)), _put_stories(group), _of_story, _of_all_steps
        )
    before, after = base.domain, head.domain
    for group in ("intents", "entities", "slots", "forms", "responses", "actions"):
        items = _of_mapping(getattr(before, group), getattr(after, group))
        yield _Section(group, items, _put_in_domain(group), _LEARNERS.get(group, _always_core), _of_all_steps)
    texts = tuple(_Item(text, *_sides(text, before, after)) for text in _texts(before, after))
    yield _Section("actions", texts, _put_texts, _always_core, _of_all_steps)
    session = _Item("", _session_of(base), _session_of(head))
    yield _Section("session", (session,), _put_session, _always_core, _of_all_steps)
    yield _Section(
        "intents", _of_mapping(_by_intent(base.nlu), _by_intent(head.nlu)), _put_examples, lambda _: _NLU, _of_all_steps
    )
    for group, key in (("synonyms", "value"), ("regexes", "name"), ("lookups", "name")):
        sides = (_grouped(getattr(side.nlu, group), key) for side in (base, head))
        steps = _of_synonyms if group == "synonyms" else _of_all_steps
        yield _Section(group, _of_mapping(*sides), _put_lists(group), lambda _: _NLU, steps)
    for group, named in (("pipeline", _pipeline), ("policies", _policies)):
        components = _of_components(named(base), named(head))
        learners = _NLU if group == "pipeline" else _CORE
        yield _Section(
            group,
            components,
            _put_components(group),
            lambda _, learners=learners: learners,  # type: ignore[misc]
            _of_component if group == "pipeline" else _of_all_steps,
        )
    language = _Item(
        "language", _Language(base.config.language, base.config), _Language(head.config.language, head.config)
    )
    yield _Section("config", (language,), _put_language, lambda _: _NLU, _of_all_steps)


def _pipeline(project: Project) -> Sequence[model.Component]:
    """What is trained: a pipeline that is named where there was none is the default one, with some differences."""
    return pipeline_of(project.config)


def _policies(project: Project) -> Sequence[model.Component]:
    return configured_policies(project.config, project.domain.rasa)


class _Session(Struct, frozen=True):
    session: model.SessionConfig
    location: Location


def _session_of(project: Project) -> _Session:
    return _Session(project.domain.session, place_of_session(project) or project.domain.location)


class _Language(Struct, frozen=True):
    language: str | None
    config: model.Config

    @property
    def location(self) -> Location:
        return self.config.keys.get("language", self.config.location)


class _Sentences(Struct, frozen=True):
    """The sentences of an intent."""

    examples: tuple[Example, ...]


def _always_core(_: _Item) -> frozenset[Learner]:
    return _CORE


def _of_story(item: _Item) -> frozenset[Learner]:
    """Sentences in training stories are learnt by both."""
    steps = [step for side in (item.before, item.after) if side is not None for step in side.steps]
    texts = any(isinstance(step, model.UserStep) and step.text for step in steps)
    return _BOTH if texts else _CORE


def _of_response(item: _Item) -> frozenset[Learner]:
    """Policies know a response by its name; texts of a retrieval intent's responses are learnt from."""
    name = item.name.partition("/")
    retrieval = _NLU if name[1] else _NONE
    return retrieval | (_CORE if item.before is None or item.after is None else _NONE)


_LEARNERS: Final[Mapping[str, Callable[[_Item], frozenset[Learner]]]] = {"responses": _of_response}


_BY_THEMSELVES: Final = frozenset({"FallbackClassifier", "EntitySynonymMapper"})
"""Components that no other component learns from."""


def _of_all_steps(_: _Item) -> None:
    """Every step of a pipeline may learn from it."""


def _of_synonyms(_: _Item) -> frozenset[str]:
    return SYNONYMS_ONLY


def _of_component(item: _Item) -> frozenset[str] | None:
    """A component whose parameters differ is the only one to be trained again if no other learns from it."""
    changed = item.before is not None and item.after is not None
    name = short_name(item.name)
    return frozenset({name}) if changed and name in _BY_THEMSELVES else None


def _of_mapping(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[_Item, ...]:
    """Everything by name; what is gone comes last."""
    names = dict.fromkeys((*after, *before))
    return tuple(_Item(name, before.get(name), after.get(name)) for name in names)


def _by_name(before: Sequence[model.Story], after: Sequence[model.Story]) -> tuple[_Item, ...]:
    """Stories by name, of several of a name equal ones first; one that only has another name is the same.

    One that is new replaces one that is gone if half of their steps are the same.
    """
    left = list(before)

    def take(fits: Callable[[model.Story], bool]) -> model.Story | None:
        found = next((story for story in left if fits(story)), None)
        if found is not None:
            left.remove(found)
        return found

    said = {id(story): contents(replace(story, name="")) for story in (*before, *after)}
    pairs: dict[int, model.Story | None] = {}
    same: list[Callable[[model.Story, model.Story], bool]] = [
        lambda one, other: one.name == other.name and said[id(one)] == said[id(other)],
        lambda one, other: said[id(one)] == said[id(other)],
        lambda one, other: one.name == other.name,
    ]
    for alike in same:
        for place, story in enumerate(after):
            if place not in pairs and (old := take(lambda one, story=story, alike=alike: alike(one, story))):  # type: ignore[misc]
                pairs[place] = old
    replaced = _replaced(left, [place for place in range(len(after)) if place not in pairs], after)
    items = []
    for place, story in enumerate(after):
        old = pairs.get(place) or replaced.get(place)
        replaces = old.name if old is not None and place in replaced else ""
        items.append(_Item(story.name, _called(old, story.name), story, replaces))
    gone = [story for story in left if all(story is not other for other in replaced.values())]
    return (*items, *(_Item(story.name, story, None) for story in gone))


def _replaced(gone: Sequence[model.Story], new: Sequence[int], after: Sequence[model.Story]) -> dict[int, model.Story]:
    """Pair stories that are gone with new ones, by place, the most similar first; nothing if there are very many."""
    if len(gone) * len(new) > _MOST_PAIRS:
        return {}
    steps = {id(story): [contents(step) for step in story.steps] for story in (*gone, *(after[one] for one in new))}
    likeness = sorted(
        (-SequenceMatcher(None, steps[id(old)], steps[id(after[place])], autojunk=False).ratio(), place, number)
        for place in new
        for number, old in enumerate(gone)
    )
    pairs: dict[int, int] = {}
    for negative, place, number in likeness:
        if -negative >= _ALIKE and place not in pairs and number not in pairs.values():
            pairs[place] = number
    return {place: gone[number] for place, number in pairs.items()}


def _called(story: model.Story | None, name: str) -> model.Story | None:
    """The story by its new name: how it is called is not what it says."""
    return None if story is None else replace(story, name=name)


def _by_intent(nlu: NluData) -> dict[str, _Sentences]:
    """The sentences of each intent, retrieval intents key by key."""
    found: dict[str, list[Example]] = defaultdict(list)
    for example in nlu.examples:
        found[example.intent or ""].append(example)
    return {intent: _Sentences(tuple(examples)) for intent, examples in found.items()}


def _grouped(items: Iterable[Any], key: str) -> dict[str, tuple[Any, ...]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        found[str(getattr(item, key))].append(item)
    return {name: tuple(of) for name, of in found.items()}


def _of_components(old: Sequence[model.Component], new: Sequence[model.Component]) -> tuple[_Item, ...]:
    """Components by their names, in order; those without a counterpart are new or gone, or in another place."""
    names = [component.name for component in old], [component.name for component in new]
    items: list[_Item] = []
    for kind, first, end, start, stop in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if kind == "equal":
            pairs = zip(old[first:end], new[start:stop], strict=True)
            items += (_Item(other.name, one, other) for one, other in pairs)
            continue
        items += (_Item(component.name, component, None) for component in old[first:end])
        items += (_Item(component.name, None, component) for component in new[start:stop])
    return tuple(items)


def _texts(before: model.Domain, after: model.Domain) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*after.end_to_end_actions, *before.end_to_end_actions)))


def _sides(text: str, before: model.Domain, after: model.Domain) -> tuple[str | None, str | None]:
    return (text if text in before.end_to_end_actions else None), (text if text in after.end_to_end_actions else None)


# How items are put back into a project.


def _put_stories(group: str) -> Callable[[Project, Sequence[Any]], Project]:
    def put(project: Project, stories: Sequence[Any]) -> Project:
        changed: dict[str, Any] = {group: tuple(stories)}
        return dataclasses.replace(project, **changed)

    return put


def _put_in_domain(group: str) -> Callable[[Project, Sequence[Any]], Project]:
    def put(project: Project, items: Sequence[Any]) -> Project:
        domain = replace(project.domain, **{group: {item.name: item for item in items}})
        return dataclasses.replace(project, domain=domain)

    return put


def _put_texts(project: Project, texts: Sequence[str]) -> Project:
    return dataclasses.replace(project, domain=replace(project.domain, end_to_end_actions=tuple(texts)))


def _put_session(project: Project, values: Sequence[_Session]) -> Project:
    return dataclasses.replace(project, domain=replace(project.domain, session=values[0].session))


def _put_examples(project: Project, groups: Sequence[_Sentences]) -> Project:
    examples = tuple(example for group in groups for example in group.examples)
    return dataclasses.replace(project, nlu=replace(project.nlu, examples=examples))


def _put_lists(group: str) -> Callable[[Project, Sequence[Any]], Project]:
    def put(project: Project, groups: Sequence[tuple[Any, ...]]) -> Project:
        items = tuple(item for of in groups for item in of)
        return dataclasses.replace(project, nlu=replace(project.nlu, **{group: items}))

    return put


def _put_components(group: str) -> Callable[[Project, Sequence[Any]], Project]:
    def put(project: Project, components: Sequence[Any]) -> Project:
        return dataclasses.replace(project, config=replace(project.config, **{group: tuple(components) or None}))

    return put


def _put_language(project: Project, values: Sequence[_Language]) -> Project:
    return dataclasses.replace(project, config=replace(project.config, language=values[0].language))


# What a value says, without its places.

_PLACES: Final = frozenset({"location", "places", "keys", "origin", "index", "config"})


def contents(value: Any) -> Hashable:
    """Return what a value says, without where it is written: to compare both sides by it."""
    if isinstance(value, _Sentences):  # their order matters to nobody
        return frozenset(Counter(example.place_in_order for example in value.examples).items())
    if isinstance(value, Mapping):
        return tuple((key, contents(item)) for key, item in value.items())
    if isinstance(value, tuple | list):
        return tuple(map(contents, value))
    names = field_names(type(value))
    if names is None:
        return type(value).__name__, repr(value)
    return type(value).__name__, *(contents(getattr(value, name)) for name in names if name not in _PLACES)


def words_in(value: Any) -> frozenset[str]:
    """Return the names that a part mentions: all strings in it but sentences of users."""
    found: set[str] = set()
    _collect(value, found)
    return frozenset(found)


def _collect(value: Any, found: set[str]) -> None:
    if isinstance(value, str):
        found.add(value)
    elif isinstance(value, _Sentences):
        for example in value.examples:
            found.add(example.base_intent or "")
            found.update(annotation.entity for annotation in example.entities)
    elif isinstance(value, Mapping):
        found.update(key for key in value if isinstance(key, str))
        for item in value.values():
            _collect(item, found)
    elif isinstance(value, tuple | list):
        for item in value:
            _collect(item, found)
    else:
        for name in field_names(type(value)) or ():
            if name not in _PLACES:
                _collect(getattr(value, name), found)


# Where a part begins to differ.


def _first_changed(before: Any, after: Any, sides: _Sides) -> Location | None:
    """The same, to the line where the files of both sides have such places."""
    one, other = (side.at(_place(value)) for side, value in zip(sides, (before, after), strict=True))
    line = first_changed_line(one, other) if one is not None and other is not None else None
    return line or first_changed(before, after)


def first_changed(before: Any, after: Any) -> Location | None:
    """Return the place of the first thing of ``after`` that ``before`` does not have; its own if it has them all."""
    if isinstance(after, _Sentences):
        known = Counter(example.place_in_order for example in before.examples) if before is not None else Counter()
        for example in after.examples:
            if known[example.place_in_order] <= 0:
                return example.location
            known[example.place_in_order] -= 1
        return after.examples[0].location if after.examples else None
    if isinstance(after, model.Story) and isinstance(before, model.Story):
        return _first_step(before, after) or after.location
    if isinstance(after, model.Component) and isinstance(before, model.Component):
        for name, value in after.parameters.items():
            if name not in before.parameters or before.parameters[name] != value:
                return after.places.get(name, after.location)
    if isinstance(after, tuple) and isinstance(before, tuple):
        known_items = Counter(map(contents, before))
        new = next((item for item in after if not known_items[contents(item)]), None)
        return _place(new) if new is not None else _place(after)
    for group in ("mappings", "variations"):
        if (
            before is not None
            and hasattr(after, group)
            and contents(getattr(before, group)) != contents(getattr(after, group))
        ):
            return first_changed(getattr(before, group), getattr(after, group)) or _place(after)
    return _place(after)


def _first_step(before: model.Story, after: model.Story) -> Location | None:
    """Where the steps begin to differ; the last one if those after it are gone."""
    if contents(before.condition) != contents(after.condition):
        return next((condition.location for condition in after.condition), None)
    for place, step in enumerate(after.steps):
        if place >= len(before.steps) or contents(before.steps[place]) != contents(step):
            return step.location
    return after.steps[-1].location if after.steps and len(after.steps) < len(before.steps) else None


def _place(value: Any) -> Location | None:
    if isinstance(value, _Sentences):
        return value.examples[0].location if value.examples else None
    if isinstance(value, tuple):
        return _place(value[0]) if value else None
    location = getattr(value, "location", None)
    return location if isinstance(location, Location) and location.path else None
