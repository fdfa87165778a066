"""An engine of its own: an intent is understood by the words of its examples that no other intent has."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from turncheck.plugins import Capabilities, Engine, EngineInfo, Parse, PredictedIntent, Project, RegisteredEngine

INFO = EngineInfo(name="keyword", version="1.0")
ENGINE = RegisteredEngine("keyword_bot.engine", kinds=("rasa",))
"""The entry point: the module whose function `opened` opens the engine."""


class KeywordNlu:
    """Knows the words of each intent."""

    info = INFO
    extractors = ()

    def __init__(self, words: Mapping[str, str]) -> None:
        self._intents = words

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each sentence by its first known word."""
        return [Parse(text, self._intent(text)) for text in texts]

    def _intent(self, text: str) -> PredictedIntent:
        known = (self._intents[word] for word in text.lower().split() if word in self._intents)
        intent = next(known, None)
        return PredictedIntent(intent, 0.0 if intent is None else 1.0)


class KeywordTrainer:
    """Collects the words of the examples; also for each fold of a cross-validation."""

    def fit(self, project: Project) -> KeywordNlu:
        """Return an engine that knows the words which only one intent has."""
        intents: dict[str, set[str]] = {}
        for example in project.nlu.examples:
            for word in example.text.lower().split():
                intents.setdefault(word, set()).add(example.intent or "")
        return KeywordNlu({word: next(iter(found)) for word, found in intents.items() if len(found) == 1})


class KeywordEngine(Engine):
    """Only understands sentences."""

    capabilities = Capabilities(no_dialogue="it holds no dialogues", no_conversation="it says nothing")
    nlu_trainer = KeywordTrainer()

    def __init__(self, project: Project) -> None:
        self._project = project

    def info(self, **_: Any) -> EngineInfo:
        """Name and version."""
        return INFO

    @property
    def nlu(self) -> KeywordNlu:
        """The engine of the whole project."""
        return self.nlu_trainer.fit(self._project)


@contextmanager
def opened(_: Any, project: Project, *__: Any) -> Iterator[Engine]:
    """Open the engine for a project; the other arguments are settings, environment, hosts, models and variables."""
    yield KeywordEngine(project)
