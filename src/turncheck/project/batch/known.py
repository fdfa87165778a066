"""The names in a project that a suite may expect: intents by kind, and entities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turncheck.project.batch.model import comparable
from turncheck.report.batch import BatchSetting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.project.model import Project

KINDS = ("dialog", "faq", "small_talk", "trait")


@dataclass(frozen=True, slots=True)
class KnownIntent:
    """An intent of the project; ``in_total``: whether coverage counts it."""

    name: str
    kind: str
    in_total: bool = True


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Names by their comparable forms, including an intent's other names (older ones, in other languages).

    ``disabled``: FAQs that are switched off; they are not among the ``intents``. ``extracted_first``: the entities that
    are learnt or found by a pattern, in comparable form: the platform extracts these before the others.
    """

    intents: Mapping[str, KnownIntent] = field(default_factory=dict)
    traits: Mapping[str, KnownIntent] = field(default_factory=dict)
    entities: Mapping[str, str] = field(default_factory=dict)
    disabled: Mapping[str, str] = field(default_factory=dict)
    extracted_first: frozenset[str] = frozenset()

    def kind_of(self, name: str) -> str | None:
        """Return the kind of an intent or trait; ``None`` if the project has none of this name."""
        found = self.intents.get(comparable(name)) or self.traits.get(comparable(name))
        return None if found is None else found.kind

    def canonical(self, name: str, *, is_trait: bool = False) -> str:
        """Return the name by which an intent or trait is compared."""
        found = (self.traits if is_trait else self.intents).get(comparable(name))
        return comparable(name if found is None else found.name)

    def in_total(self, kind: str) -> dict[str, str]:
        """Return the intents of a kind that coverage counts, by their comparable names."""
        known = self.traits if kind == "trait" else self.intents
        return {comparable(one.name): one.name for one in known.values() if one.kind == kind and one.in_total}


def setting_of(project: Project) -> BatchSetting:
    """Return what a project's files say about the assistant: for a Rasa project its language."""
    bot = project.kore
    if bot is None:
        return BatchSetting(language=project.language or "")
    return BatchSetting(bot=bot.name, language=bot.language, thresholds=tuple(dict(one) for one in bot.thresholds))


def known_names(project: Project) -> KnownNames:
    """Return the names of a project; in a Rasa project all intents are dialogs."""
    if project.kore is not None:
        return _of_kore(project)
    names = [*project.domain.intents, *(one.intent for one in project.nlu.examples if one.intent)]
    bases = {one.base_intent for one in project.nlu.examples if one.intent != one.base_intent and one.base_intent}
    intents = {comparable(name): KnownIntent(name, "dialog") for name in reversed(names)}
    # Each response of a retrieval intent can be expected; the intent itself means any of them.
    intents |= {comparable(name): KnownIntent(name, "dialog", in_total=False) for name in bases}
    entities = [*project.domain.entities, *(one.entity for each in project.nlu.examples for one in each.entities)]
    return KnownNames(intents, {}, _by_comparable(entities))


def _of_kore(project: Project) -> KnownNames:
    intents: dict[str, KnownIntent] = {}
    traits: dict[str, KnownIntent] = {}
    bot = project.kore
    found = () if bot is None else bot.intents
    for one in found:
        into = traits if one.kind == "trait" else intents
        into.setdefault(comparable(one.name), KnownIntent(one.name, one.kind, one.in_total))
    for one in found:
        for alias in one.aliases:
            into = traits if one.kind == "trait" else intents
            into.setdefault(comparable(alias), KnownIntent(one.name, one.kind, one.in_total))
    if bot is None:
        return KnownNames(intents, traits)
    learnt = (entity.entity for example in bot.utterances for entity in example.entities)
    first = {*learnt, *(one.name for one in bot.entities if one.pattern is not None)}
    entities, disabled = _by_comparable(one.name for one in bot.entities), _by_comparable(bot.disabled)
    return KnownNames(intents, traits, entities, disabled, frozenset(map(comparable, first)))


def _by_comparable(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(comparable(name), name)
    return found
