"""Rule-based components that find or rewrite entities: RegexEntityExtractor and EntitySynonymMapper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from turncheck.engines.embedded.nlu.patterns import OfPatterns, collect_patterns
from turncheck.engines.parse import PredictedEntity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.batch import Batch, Training


@dataclass(frozen=True, slots=True)
class RegexEntityExtractor(OfPatterns):
    """Rasa's RegexEntityExtractor: every match of a regex or lookup table with an annotated entity's name."""

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self:
        """Take the patterns; add a note if none is left."""
        patterns = collect_patterns(training.project.nlu, parameters, training.entity_names)
        if not patterns:
            training.notes.append(
                "RegexEntityExtractor: no regex or lookup table bears the name of an annotated entity"
            )
        return cls(patterns)

    def process(self, batch: Batch) -> None:
        """Append all matches, overlapping ones as well."""
        for text, entities in zip(batch.texts, batch.entities, strict=True):
            for named in self.patterns:
                for match in named.pattern.finditer(text):
                    start, end = match.span()
                    entities.append(PredictedEntity(start, end, named.name, text[start:end], "RegexEntityExtractor"))


@dataclass(frozen=True, slots=True)
class EntitySynonymMapper:
    """Rasa's EntitySynonymMapper: values whose lower case is among the synonyms are replaced, and marked as such."""

    synonyms: Mapping[str, str]

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self:  # noqa: ARG003  # the common protocol
        """Collect the synonyms of the data, then the values from annotations; the last one counts."""
        pairs = [(synonym.synonym, synonym.value) for synonym in training.project.nlu.synonyms]
        pairs += (
            (example.text[entity.start : entity.end], str(entity.value))
            for example in training.project.nlu.examples  # in the order of the files
            for entity in example.entities
        )
        synonyms: dict[str, str] = {}
        for text, value in pairs:
            if text != value:
                synonyms[text.lower()] = value
            if training.project.older is None:  # since Rasa 3 a value maps to itself, whatever its case
                synonyms.setdefault(value.lower(), value)
        return cls(synonyms)

    def process(self, batch: Batch) -> None:
        """Replace the values of the entities found so far."""
        for entities in batch.entities:
            for index, entity in enumerate(entities):
                value = self.synonyms.get(str(entity.value).lower())
                if value is not None:
                    processors = [*entity.extra.get("processors", ()), "EntitySynonymMapper"]
                    entities[index] = replace(entity, value=value, extra={**entity.extra, "processors": processors})

    def save(self, members: MemberWriter) -> None:
        """Write the synonyms."""
        members.json("synonyms", dict(self.synonyms))

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Read the synonyms."""
        return cls(members.json("synonyms", dict[str, str]))
