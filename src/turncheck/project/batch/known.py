"""The names that a project gives to what a suite expects: intents by kind, and entities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.project.model import Project


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Names by their comparable forms. ``intents``: by kind (``dialog``, ``faq``, ``small_talk``, ``trait``)."""

    intents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    entities: Mapping[str, str] = field(default_factory=dict)

    def kind_of(self, name: str) -> str | None:
        """Return the kind of an intent, ``None`` where the project has none of this name."""
        key = comparable(name)
        return next((kind for kind, names in self.intents.items() if kind != "trait" and key in names), None)


def known_names(project: Project) -> KnownNames:
    """Return the names of a project; of a Rasa project all intents are dialogs."""
    intents = [*project.domain.intents, *(one.intent for one in project.nlu.examples if one.intent)]
    intents += [one.base_intent for one in project.nlu.examples if one.base_intent]
    entities = [*project.domain.entities, *(one.entity for each in project.nlu.examples for one in each.entities)]
    return KnownNames({"dialog": _by_comparable(intents)}, _by_comparable(entities))


def _by_comparable(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(comparable(name), name)
    return found
