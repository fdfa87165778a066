"""A small engine for tests of the evaluation: it knows its training sentences by heart and compares words else."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent
from turncheck.project.model import Project
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class ScriptedEngine:
    """Says what it was told to say."""

    answers: Mapping[str, Parse]
    extractors: tuple[str, ...] = ()
    info: EngineInfo = field(default_factory=lambda: EngineInfo(name="scripted", version="0"))

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        return [self.answers[text] for text in texts]


@dataclass(frozen=True)
class WordEngine:
    """Takes the intent of the training sentence that shares most words; finds the entity words it was shown."""

    project: Project
    info: EngineInfo = field(default_factory=lambda: EngineInfo(name="words", version="0"))
    extractors: tuple[str, ...] = ("WordExtractor",)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        return [self._parse(text) for text in texts]

    def _ranked(self, text: str) -> list[tuple[int, float]]:
        words = set(text.split())
        near = [
            (index, len(words & set(example.text.split())) / len(words | set(example.text.split())))
            for index, example in enumerate(self.project.nlu.examples)
        ]
        return sorted(near, key=lambda entry: (-entry[1], entry[0]))

    def _parse(self, text: str) -> Parse:
        best: dict[str, float] = {}
        for index, similarity in self._ranked(text):
            best.setdefault(self.project.nlu.examples[index].base_intent or "", similarity)
        ranking = tuple(PredictedIntent(name, similarity) for name, similarity in best.items())
        return Parse(text, ranking[0], ranking, tuple(self._entities(text)))

    def _entities(self, text: str) -> list[PredictedEntity]:
        known = {
            str(entity.value): entity.entity for example in self.project.nlu.examples for entity in example.entities
        }
        return [
            PredictedEntity(text.index(word), text.index(word) + len(word), known[word], word, "WordExtractor")
            for word in text.split()
            if word in known
        ]


@dataclass(frozen=True)
class WordTrainer:
    """Fits a :class:`WordEngine`."""

    def fit(self, project: Project) -> WordEngine:
        return WordEngine(project)


def project_of(examples: Sequence[tuple[str, str]]) -> Project:
    """Make a project of ``(intent, sentence)``; a word in square brackets is an entity ``thing``."""
    return Project(Path("bot"), "bot", nlu=NluData(tuple(example_of(intent, text) for intent, text in examples)))


def example_of(intent: str | None, text: str) -> Example:
    """Make an example; a part in square brackets is an entity ``thing``."""
    before, opened, rest = text.partition("[")
    if not opened:
        return Example(text, intent)
    inside, _, after = rest.partition("]")
    entity = EntityAnnotation(len(before), len(before) + len(inside), "thing", inside)
    return Example(before + inside + after, intent, (entity,))


def fallen_back(parse: Parse, threshold: float) -> Parse:
    """Return the parse as a FallbackClassifier leaves it."""
    fallback = PredictedIntent("nlu_fallback", threshold)
    return replace(parse, intent=fallback, ranking=(fallback, *parse.ranking))
