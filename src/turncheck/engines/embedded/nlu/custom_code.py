"""Components that are classes of the project (``module.Class``), only run if the caller allows it.

Such a class has the shape of Rasa's graph components: ``create(config, model_storage, resource, execution_context)``,
perhaps ``get_default_config()`` and ``train(training_data)``, and ``process(messages)``. It gets messages with
Rasa's keys, and may set ``intent``, ``intent_ranking`` and ``entities``. Features, model storage and Rasa's own
packages are not available: a class that needs them cannot run, and is listed with the reason.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from turncheck.engines.conversation import PredictedEntity, PredictedIntent
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from turncheck.engines.embedded.model_archive import MemberWriter
    from turncheck.engines.embedded.nlu.batch import Batch, Tokens, Training
    from turncheck.engines.embedded.nlu.plan import Step
    from turncheck.project.nlu_data import Example

_ENTITY_KEYS = frozenset({"start", "end", "entity", "value", "extractor", "role", "group", "confidence_entity"})


class Token(Struct):
    """A token as Rasa's components read it."""

    text: str
    start: int
    end: int
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def lemma(self) -> str:
        """The text: there is no language model."""
        return self.text

    def get(self, name: str, default: Any = None) -> Any:
        """Read a property."""
        return self.data.get(name, default)

    def set(self, name: str, value: Any) -> None:
        """Write a property."""
        self.data[name] = value


class Message(Struct):
    """A message as Rasa's components read and write it."""

    data: dict[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """Read a property: ``text``, ``text_tokens``, ``intent``, ``intent_ranking``, ``entities`` …"""
        return self.data.get(name, default)

    def set(self, name: str, value: Any, add_to_output: bool = False) -> None:
        """Write a property."""
        del add_to_output  # everything that is set is read back
        self.data[name] = value


class TrainingData(Struct, frozen=True):
    """Training data as Rasa's components read it."""

    training_examples: list[Message]

    @property
    def nlu_examples(self) -> list[Message]:
        """All of them: here stories do not add any."""
        return self.training_examples

    @property
    def intent_examples(self) -> list[Message]:
        """Those with an intent."""
        return [message for message in self.training_examples if message.get("intent")]

    @property
    def entity_examples(self) -> list[Message]:
        """Those with entities."""
        return [message for message in self.training_examples if message.get("entities")]


class CustomComponent(Struct, frozen=True):
    """A component from the project's own code."""

    name: str
    instance: Any

    @classmethod
    def train(cls, step: Step, training: Training) -> CustomComponent | None:
        """Import, create and, if possible, train the class; ``None`` if it cannot be imported, and listed.

        Raises:
            UserError: its code fails.
        """
        name = step.component.name
        with _faults_named(name):
            try:
                kind = _load(name, training.project.root)
            except (ImportError, AttributeError, SyntaxError) as error:
                training.leave_out(name, f"it cannot be imported here: {error}")
                return None
            defaults = kind.get_default_config() if hasattr(kind, "get_default_config") else {}
            config = {**defaults, **step.parameters}
            instance = kind.create(config, None, None, None) if hasattr(kind, "create") else kind(config)
            if hasattr(instance, "train"):
                instance.train(TrainingData(_examples(training)))
        return cls(name, instance)

    def process(self, batch: Batch) -> None:
        """Pass it the messages as understood so far, and read back what it set.

        Raises:
            UserError: its code fails.
        """
        messages = [_message(batch, row) for row in range(len(batch.texts))]
        with _faults_named(self.name):
            processed = self.instance.process(messages)
            for row, message in enumerate(processed if processed is not None else messages):
                _read_back(batch, row, message, self.name.rpartition(".")[2])

    def save(self, members: MemberWriter) -> None:
        """Refuse: a model contains data, never code.

        Raises:
            UserError: always.
        """
        del members
        raise UserError(
            f"{self.name} is code of the project, which a model cannot hold",
            hint="Test without saving a model.",
        )


_MODULES: dict[str, str] = {}
"""Modules of projects that were imported here, and the folder of each one's project."""


def _stands_in(folder: str, module: str) -> bool:
    return (getattr(sys.modules.get(module), "__file__", None) or "").startswith(folder + os.sep)


def _load(name: str, root: Path) -> Any:
    module, _, attribute = name.rpartition(".")
    folder = str(root.resolve())
    for other in [known for known, owner in _MODULES.items() if owner != folder]:
        sys.modules.pop(other, None)  # another commit's module of this name is a different one
        del _MODULES[other]
    before = set(sys.modules)
    sys.path.insert(0, folder)
    try:
        importlib.invalidate_caches()
        kind = getattr(importlib.import_module(module), attribute)
    finally:
        sys.path.remove(folder)
        _MODULES.update((new, folder) for new in sys.modules.keys() - before if _stands_in(folder, new))
    if not inspect.isclass(kind) or not hasattr(kind, "process"):
        raise ImportError(f"{name} is not a class with a method 'process'")
    return kind


@contextmanager
def _faults_named(name: str) -> Iterator[None]:
    """Turn any failure of foreign code into an error that names the code."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise UserError(
            f"the project's component {name} failed: {type(error).__name__}: {error}",
            hint="Fix it, or omit --allow-custom-code.",
        ) from error


def _tokens(tokens: Tokens) -> list[Token]:
    return [Token(word, start, end) for word, (start, end) in zip(tokens.words, tokens.spans, strict=True)]


def _examples(training: Training) -> list[Message]:
    return [
        Message(
            {
                "text": example.text,
                "text_tokens": _tokens(tokens),
                "intent": example.base_intent,
                "entities": _annotations(example),
                "metadata": example.metadata,
            }
        )
        for example, tokens in zip(training.examples, training.batch.tokens, strict=True)
    ]


def _annotations(example: Example) -> list[dict[str, Any]]:
    return [
        {
            "start": entity.start,
            "end": entity.end,
            "entity": entity.entity,
            "value": entity.value,
            "role": entity.role,
            "group": entity.group,
        }
        for entity in example.entities
    ]


def _message(batch: Batch, row: int) -> Message:
    intent = batch.intents[row]
    return Message(
        {
            "text": batch.texts[row],
            "text_tokens": _tokens(batch.tokens[row]),
            "intent": {"name": intent.name, "confidence": intent.confidence},
            "intent_ranking": [
                {"name": predicted_intent.name, "confidence": predicted_intent.confidence}
                for predicted_intent in batch.rankings[row]
            ],
            "entities": [_entity_to_json(entity) for entity in batch.entities[row]],
        }
    )


def _entity_to_json(entity: PredictedEntity) -> dict[str, Any]:
    written = {"start": entity.start, "end": entity.end, "entity": entity.entity, "value": entity.value}
    optional = {"role": entity.role, "group": entity.group, "confidence_entity": entity.confidence}
    present = {name: value for name, value in optional.items() if value is not None}
    return {**written, "extractor": entity.extractor, **present, **entity.extra}


def _read_back(batch: Batch, row: int, message: Any, component: str) -> None:
    intent = message.get("intent") or {"name": None, "confidence": 0.0}
    batch.intents[row] = PredictedIntent(intent["name"], float(intent.get("confidence", 0.0)))
    ranking = message.get("intent_ranking") or []
    batch.rankings[row] = tuple(PredictedIntent(one["name"], float(one["confidence"])) for one in ranking)
    batch.entities[row] = [_entity(entity, component) for entity in message.get("entities") or []]


def _entity(given: Mapping[str, Any], component: str) -> PredictedEntity:
    return PredictedEntity(
        start=int(given["start"]),
        end=int(given["end"]),
        entity=str(given["entity"]),
        value=given["value"],
        extractor=str(given.get("extractor") or component),
        role=given.get("role"),
        group=given.get("group"),
        confidence=given.get("confidence_entity"),
        extra={name: value for name, value in given.items() if name not in _ENTITY_KEYS},
    )
