"""The names in a project that a suite may expect: intents by kind, and entities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.batch.model import KnownIntent, KnownNames, by_comparable, comparable
from turncheck.report.batch import BatchSetting

if TYPE_CHECKING:
    from turncheck.project.model import Project


def setting_of(project: Project) -> BatchSetting:
    """Return what a project's files say about the assistant: for a Rasa project its language."""
    return BatchSetting(language=project.language or "") if project.native is None else project.native.setting


def known_names(project: Project) -> KnownNames:
    """Return the names of a project; in a Rasa project all intents are dialogs."""
    if project.native is not None:
        return project.native.known_names()
    names = [*project.domain.intents, *(example.intent for example in project.nlu.examples if example.intent)]
    bases = {
        example.base_intent
        for example in project.nlu.examples
        if example.intent != example.base_intent and example.base_intent
    }
    intents = {comparable(name): KnownIntent(name, "dialog") for name in reversed(names)}
    # Each response of a retrieval intent can be expected; the intent itself means any of them.
    intents |= {comparable(name): KnownIntent(name, "dialog", in_total=False) for name in bases}
    entities = [*project.domain.entities, *(entity.entity for each in project.nlu.examples for entity in each.entities)]
    return KnownNames(intents, {}, by_comparable(entities))
