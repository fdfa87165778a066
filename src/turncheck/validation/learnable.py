"""What messages can possibly be understood as: the intents and entities that a pipeline can learn from a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.project.config import is_custom, short_name
from turncheck.project.rasa_components import pipeline_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.project import model
    from turncheck.project.nlu_data import NluData
from turncheck.validation.unused import learning_extractors, pretrained_entities

_FALLBACK: Final = "nlu_fallback"


class Learnable(NamedTuple):
    """Names of intents and entities."""

    intents: frozenset[str]
    entities: frozenset[str]

    def holds(self, intent: str | None, entities: Iterable[str] = ()) -> bool:
        """Whether a message can be understood this way."""
        return (intent is None or intent in self.intents) and self.entities.issuperset(entities)


def learnable(project: model.Project) -> Learnable | None:
    """Return what the pipeline can learn; ``None`` if that is not known because of a custom component."""
    # Without a pipeline Rasa's default one is trained; without a configuration none is.
    pipeline = pipeline_of(project.config) if project.config.keys else project.config.pipeline
    if not pipeline or any(is_custom(component.name) for component in pipeline):
        return None
    intents = {example.base_intent for example in project.nlu.examples if example.base_intent is not None}
    entities = pretrained_entities(project.config) | _trained_entities(project.nlu, pipeline)
    return Learnable(frozenset({*intents, _FALLBACK}), frozenset(entities))


def _trained_entities(nlu: NluData, pipeline: Sequence[model.Component]) -> set[str]:
    """The entities that the pipeline learns from examples, and annotated ones found by regex or lookup table."""
    annotated = {annotation.entity for example in nlu.examples for annotation in example.entities}
    trained: set[str] = set()
    for component in pipeline:
        name, parameters = short_name(component.name), component.parameters
        if learning_extractors([component]):
            trained |= annotated
        elif name == "RegexEntityExtractor":
            if parameters.get("use_regexes", True):
                trained |= annotated & {regex.name for regex in nlu.regexes}
            if parameters.get("use_lookup_tables", True):
                trained |= annotated & {table.name for table in nlu.lookups}
    return trained
