"""A project with other names for its intents, entities, slots, responses, actions and forms, wherever it has them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.messages.value_classes import field_names
from turncheck.project import model
from turncheck.project.nlu_data import EntityAnnotation, Example, Lookup, Regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.messages.finding import Location
    from turncheck.project.model import Project


class NewName(Struct, frozen=True):
    """An item that a change gave another name; ``location``: where it is now."""

    kind: str
    old: str
    new: str
    location: Location | None = None

    @property
    def reversed(self) -> NewName:
        """The old name for the new one."""
        return NewName(self.kind, self.new, self.old, self.location)


_FIELDS: Final[Mapping[type, Mapping[str, str]]] = {
    model.Intent: {"name": "intents", "use_entities": "entities", "ignore_entities": "entities", "triggers": "actions"},
    model.Entity: {"name": "entities"},
    model.Slot: {"name": "slots"},
    model.SlotMapping: {
        "entity": "entities", "intents": "intents", "not_intents": "intents", "action": "actions",
    },
    model.MappingCondition: {"active_loop": "forms", "requested_slot": "slots"},
    model.Form: {"name": "forms", "required_slots": "slots", "ignored_intents": "intents"},
    model.Response: {"name": "responses"},
    model.Action: {"name": "actions"},
    model.UserStep: {"intent": "intents"},
    model.StoryEntity: {"entity": "entities"},
    model.ActionStep: {"action": "actions"},
    model.SlotWasSetStep: {"slot": "slots"},
    model.ActiveLoopStep: {"name": "forms"},
    Example: {"intent": "intents"},
    EntityAnnotation: {"entity": "entities"},
    Lookup: {"name": "entities"},
    Regex: {"name": "entities"},
}  # fmt: skip
"""The fields that name something, by class, and what kind of thing they name."""
_ALSO: Final[Mapping[str, frozenset[str]]] = {"actions": frozenset({"responses", "forms"})}
"""Where the name of an action is expected, a response or a form may be named."""
_SLOT_IN_TEXT: Final = re.compile(r"\{(\w+)\}")
_PARTS: Final = ("intents", "entities", "slots", "forms", "responses", "actions")


def with_names(project: Project, names: Iterable[NewName]) -> Project:
    """Return the project with the new names in place of the old ones, wherever its files name them."""
    table = {(one.kind, one.old): one.new for one in names}
    if not table:
        return project
    renamer = _Renamer(table)
    domain = project.domain
    changed: dict[str, Any] = {
        part: {(new := renamer.of(value)).name: new for value in getattr(domain, part).values()} for part in _PARTS
    }
    config, nlu = project.config, project.nlu
    policies = None if config.policies is None else tuple(map(renamer.policy, config.policies))
    pipeline = None if config.pipeline is None else tuple(map(renamer.component, config.pipeline))
    return dataclasses.replace(
        project,
        domain=replace(domain, **changed),
        nlu=replace(
            nlu,
            examples=renamer.of(nlu.examples),
            lookups=renamer.of(nlu.lookups),
            regexes=renamer.of(nlu.regexes),
        ),
        stories=renamer.of(project.stories),
        rules=renamer.of(project.rules),
        config=replace(config, policies=policies, pipeline=pipeline),
    )


class _Renamer(Struct, frozen=True):
    table: Mapping[tuple[str, str], str]

    def of(self, value: Any) -> Any:
        """Return a value with the new names; the same object if it has none of the old ones."""
        if isinstance(value, tuple):
            new = tuple(map(self.of, value))
            return value if all(one is other for one, other in zip(new, value, strict=True)) else new
        kind = type(value)
        if isinstance(value, model.ResponseVariation):
            said = self._said(value.content)
            return value if said == value.content else replace(value, content=said)
        names = field_names(kind)
        if names is None:
            return value
        named = next((_FIELDS[one] for one in kind.__mro__ if one in _FIELDS), {})
        changed: dict[str, Any] = {}
        for name in names:
            old = getattr(value, name)
            new = self._named(named[name], old) if name in named else self.of(old) if isinstance(old, tuple) else old
            if new is not old and new != old:
                changed[name] = new
        if not changed:
            return value
        return replace(value, **changed) if isinstance(value, Struct) else dataclasses.replace(value, **changed)

    def _named(self, kind: str, name: Any) -> Any:
        if isinstance(name, tuple):
            return tuple(self._named(kind, one) for one in name)
        if not isinstance(name, str):
            return name
        for of in (kind, *_ALSO.get(kind, ())):
            if (of, name) in self.table:
                return self.table[of, name]
        first, slash, key = name.partition("/")
        if slash and (kind, first) in self.table:  # a retrieval intent with the key of a response
            return f"{self.table[kind, first]}/{key}"
        return name

    def policy(self, policy: model.Component) -> model.Component:
        """Return a policy whose parameters name actions by their new names."""
        return self._with_parameters(policy, dict.fromkeys(policy.parameters, "actions"))

    def component(self, component: model.Component) -> model.Component:
        """Return a component of the pipeline that names its retrieval intent by the new name."""
        return self._with_parameters(component, {"retrieval_intent": "intents"})

    def _with_parameters(self, component: model.Component, kinds: Mapping[str, str]) -> model.Component:
        changed = {
            name: self._named(kinds[name], value) if name in kinds and isinstance(value, str) else value
            for name, value in component.parameters.items()
        }
        return component if changed == component.parameters else dataclasses.replace(component, parameters=changed)

    def _said(self, content: Any) -> Any:
        """Return what a response says with the new names of slots, in its texts and conditions."""
        if isinstance(content, str):
            return _SLOT_IN_TEXT.sub(lambda found: f"{{{self._named('slots', found[1])}}}", content)
        if isinstance(content, tuple | list):
            return [self._said(one) for one in content]
        if not isinstance(content, Mapping):
            return content
        is_condition = content.get("type") == "slot" and "name" in content
        return {
            key: self._named("slots", value) if is_condition and key == "name" else self._said(value)
            for key, value in content.items()
        }
