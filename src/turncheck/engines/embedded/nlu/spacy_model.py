"""Rasa's spaCy components, if spaCy and the model that ``SpacyNLP`` names are installed as packages.

A model in a folder of the project is not loaded: what spaCy reads there may be code.
"""

from __future__ import annotations

import importlib.util
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Self, TypedDict

import numpy as np
from msgspec import Struct

from turncheck.engines.conversation import PredictedEntity
from turncheck.engines.embedded.nlu.batch import (
    Batch,
    CharacterTokenizer,
    JiebaTokenizer,
    Tokenizer,
    Tokens,
    Training,
    WhitespaceTokenizer,
    split_further,
)
from turncheck.messages.errors import UserError
from turncheck.process.regular_file import read_regular
from turncheck.project.config import short_name
from turncheck.project.folder import MAX_FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.plan import Step
    from turncheck.project.model import Component


class SpacyModel(Struct, frozen=True):
    """An installed model, by name; loaded once per process."""

    name: str
    case_sensitive: bool

    def document(self, text: str) -> Any:
        """Return spaCy's document of the text, in lower case unless the case matters (as in Rasa)."""
        return _document(self.name, text if self.case_sensitive else text.lower())

    def original(self, text: str) -> Any:
        """Return spaCy's document of the unchanged text: names are recognised by their case."""
        return _document(self.name, text)


@lru_cache(maxsize=2)
def _language(name: str) -> Any:
    import spacy

    return spacy.load(name)


@lru_cache(maxsize=20_000)
def _document(name: str, text: str) -> Any:
    return _language(name)(text)


class SpacyTokenizer(Struct, frozen=True):
    """Rasa's SpacyTokenizer: spaCy's tokens with their lemmas and part-of-speech tags."""

    model: SpacyModel
    token_pattern: re.Pattern[str] | None = None

    def tokenize(self, text: str) -> Tokens:
        """Split one text."""
        found = [token for token in self.model.document(text) if token.text.strip()]
        if not found:
            return Tokens((text,), ((0, len(text)),))
        tokens = Tokens(
            tuple(token.text for token in found),
            tuple((token.idx, token.idx + len(token.text)) for token in found),
            tuple(token.lemma_ or token.text for token in found),
            tuple(token.tag_ for token in found),
        )
        return split_further(tokens, self.token_pattern)

    def to_json(self) -> dict[str, Any]:
        """Model and pattern."""
        pattern = self.token_pattern and self.token_pattern.pattern
        model = {"name": self.model.name, "case_sensitive": self.model.case_sensitive}
        return {"kind": "spacy", "token_pattern": pattern, "model": model}


class SpacyFeaturizer(Struct, frozen=True):
    """Rasa's SpacyFeaturizer: word vectors, pooled over the sentence (zero vectors aside)."""

    model: SpacyModel
    pooling: str

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self | None:
        """Nothing is learned; ``None`` (and a note) for a model without word vectors."""
        if parameters["pooling"] not in {"mean", "max"}:
            raise UserError(f"the pooling of SpacyFeaturizer must be mean or max, not {parameters['pooling']!r}")
        model = _model(parameters)
        if _language(model.name).vocab.vectors_length == 0:
            training.notes.append(f"SpacyFeaturizer gives no features: the model {model.name} has no word vectors")
            return None
        return cls(model, parameters["pooling"])

    def process(self, batch: Batch) -> None:
        """Add the dense block, and the vectors of the tokens if spaCy made these."""
        width = _language(self.model.name).vocab.vectors_length
        of_tokens = [self._vectors(text, width) for text in batch.texts]
        batch.sentence_features.append(np.stack([self._pooled(vectors) for vectors in of_tokens]))
        if all(len(vectors) == len(tokens.words) for vectors, tokens in zip(of_tokens, batch.tokens, strict=True)):
            batch.dense_token_features = of_tokens

    def _vectors(self, text: str, width: int) -> NDArray[np.float64]:
        vectors = [token.vector for token in self.model.document(text) if token.text.strip()]
        return np.array(vectors, dtype=np.float64) if vectors else np.zeros((1, width))

    def _pooled(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        nonzero = vectors[vectors.any(axis=1)]
        if not len(nonzero):
            return np.zeros(vectors.shape[1])
        pooled: NDArray[np.float64] = nonzero.max(axis=0) if self.pooling == "max" else nonzero.mean(axis=0)
        return pooled

    def save(self, members: MemberWriter) -> None:
        """Nothing beyond the parameters."""

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Take model and pooling."""
        return cls(_model(parameters), parameters["pooling"])


class SpacyEntityExtractor(Struct, frozen=True):
    """Rasa's SpacyEntityExtractor: the names that the pretrained model recognises."""

    model: SpacyModel
    dimensions: tuple[str, ...]

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self:  # noqa: ARG003  # the common protocol
        """Nothing is learned."""
        return cls(_model(parameters), tuple(parameters["dimensions"] or ()))

    def process(self, batch: Batch) -> None:
        """Append the names found."""
        for text, entities in zip(batch.texts, batch.entities, strict=True):
            for name in self.model.original(text).ents:
                if not self.dimensions or name.label_ in self.dimensions:
                    entities.append(
                        PredictedEntity(name.start_char, name.end_char, name.label_, name.text, "SpacyEntityExtractor")
                    )

    def save(self, members: MemberWriter) -> None:
        """Nothing beyond the parameters."""

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Take model and dimensions."""
        return cls(_model(parameters), tuple(parameters["dimensions"] or ()))


def _model(parameters: Mapping[str, Any]) -> SpacyModel:
    """The plan puts the model that ``SpacyNLP`` names among the parameters of the steps that use it."""
    name = parameters["spacy_model"]["name"]
    if importlib.util.find_spec("spacy") is None or importlib.util.find_spec(name) is None:
        raise UserError(f"the spaCy model {name} is not installed here", hint=f"Install spaCy and {name}.")
    return SpacyModel(name, parameters["spacy_model"]["case_sensitive"])


# Which tokenizer a step or a model names.


class _SpacyShape(TypedDict):
    name: str
    case_sensitive: bool


class TokenizerShape(TypedDict):
    """A tokenizer as JSON in a model."""

    kind: Literal["whitespace", "characters", "jieba", "spacy"]
    token_pattern: str | None
    dictionaries: NotRequired[tuple[str, ...]]
    model: NotRequired[_SpacyShape]


def load_tokenizer(shape: TokenizerShape) -> Tokenizer:
    """Make the tokenizer that a model describes."""
    pattern = re.compile(shape["token_pattern"]) if shape["token_pattern"] else None
    if shape["kind"] == "spacy":
        return SpacyTokenizer(SpacyModel(**shape["model"]), pattern)
    if shape["kind"] == "jieba":
        return JiebaTokenizer.of(shape["dictionaries"], pattern)
    if shape["kind"] == "characters":
        return CharacterTokenizer(pattern)
    return WhitespaceTokenizer(pattern)


def make_tokenizer(step: Step, root: Path) -> Tokenizer:
    """Make the tokenizer of this step; ``root`` is the project's folder.

    Raises:
        UserError: ``token_pattern`` is not a regular expression, or ``dictionary_path`` is not a folder of the project.
    """
    component, parameters = step.component, step.parameters
    pattern = _compile_token_pattern(component, parameters.get("token_pattern"))
    if step.kind == "SpacyTokenizer":
        return SpacyTokenizer(SpacyModel(**parameters["spacy_model"]), pattern)
    if step.kind == "JiebaTokenizer":
        return JiebaTokenizer.of(_dictionaries(component, parameters.get("dictionary_path"), root), pattern)
    is_stand_in = short_name(component.name) != step.kind
    return CharacterTokenizer(pattern) if is_stand_in else WhitespaceTokenizer(pattern)


def _compile_token_pattern(component: Component, pattern: object) -> re.Pattern[str] | None:
    if not pattern:
        return None
    try:
        return re.compile(str(pattern))
    except re.error as error:
        raise UserError(
            f"the token_pattern {pattern!r} of {component.name} is not a regular expression: {error}",
            location=component.location,
        ) from None


def _dictionaries(component: Component, path: object, root: Path) -> tuple[str, ...]:
    if importlib.util.find_spec("jieba") is None:
        raise UserError(
            "JiebaTokenizer needs the package jieba, which is not installed",
            location=component.location,
            hint="Install turncheck[jieba].",
        )
    if path is None:
        return ()
    folder = root / str(path)
    if not folder.is_dir() or not folder.resolve().is_relative_to(root.resolve()):
        raise UserError(
            f"the dictionary_path {str(path)!r} of JiebaTokenizer is not a folder of the project",
            location=component.location,
        )
    try:
        files = [file for file in sorted(folder.iterdir()) if file.is_file()]
        return tuple(read_regular(file, most=MAX_FILE_BYTES, inside=root).decode("utf-8") for file in files)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"a dictionary of JiebaTokenizer below {str(path)!r} cannot be read: {error}", location=component.location
        ) from None
