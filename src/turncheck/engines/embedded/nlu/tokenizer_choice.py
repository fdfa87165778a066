"""Which tokenizer a step or a model names."""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

from turncheck.engines.embedded.nlu.spacy_model import SpacyModel, SpacyTokenizer
from turncheck.engines.embedded.nlu.tokenizers import JiebaTokenizer, WhitespaceTokenizer
from turncheck.messages.errors import UserError
from turncheck.process.regular_file import read_regular
from turncheck.project.folder import MAX_FILE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.engines.embedded.nlu.plan import Step
    from turncheck.engines.embedded.nlu.tokenizers import Tokenizer
    from turncheck.project.model import Component


class _SpacyShape(TypedDict):
    name: str
    case_sensitive: bool


class TokenizerShape(TypedDict):
    """A tokenizer as JSON in a model."""

    kind: Literal["whitespace", "jieba", "spacy"]
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
    return WhitespaceTokenizer(pattern)


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
            remedy="Install turncheck[jieba].",
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
