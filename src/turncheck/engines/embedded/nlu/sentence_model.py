"""The folder of a sentence-transformers model → tokenizer and encoder: the BERT family; none of its code is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
import numpy as np

from turncheck.engines.embedded.nlu.architectures import ARCHITECTURES, WORDS, encoder_of, read_shape
from turncheck.engines.embedded.nlu.model_files import MOST_DESCRIBED, WEIGHTS, decoded, pointer, quoted, read_tensors
from turncheck.engines.embedded.nlu.sentence_modules import OTHER, SentenceModules
from turncheck.messages.errors import UserError
from turncheck.process.regular_file import read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from turncheck.engines.embedded.nlu.architectures import Shape
    from turncheck.engines.embedded.nlu.bert import BertEncoder

_CONFIG: Final = "config.json"
_FIRST_NAMES: Final = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
"""Of the tensors of the first BERT models."""
_LONGEST: Final = 512
"""The most tokens of a message that are read: longer ones, which some models allow, take gigabytes."""


class _Kind(msgspec.Struct):
    """Checked first in ``config.json``: other architectures have other keys."""

    model_type: Any


class _Sentence(msgspec.Struct):
    """``sentence_bert_config.json``."""

    max_seq_length: Annotated[int, msgspec.Meta(ge=1)] | None = None
    do_lower_case: bool | None = None


class _Tokenizer(msgspec.Struct):
    """``tokenizer_config.json``; a length that is not known is written as 10 to the 30th."""

    model_max_length: Annotated[float, msgspec.Meta(ge=1)] | None = None


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """Text → vector."""

    tokenizer: Any
    encoder: BertEncoder
    prompt: str = ""
    """What is put before each text."""

    def tokens(self, text: str) -> list[int]:
        """Return the numbers of a text's tokens, including the special ones."""
        sound = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be tokenized
        numbers: list[int] = self.tokenizer.encode(f"{self.prompt}{sound}").ids
        return numbers


def read_sentence_model(folder: Path, remedy: str) -> SentenceModel:
    """Read tokenizer and encoder, and try them on a sentence.

    Raises:
        UserError: a file cannot be read, or they do not fit together (``remedy`` says what to do); the architecture is
            not supported.
    """
    from safetensors import SafetensorError

    try:
        modules = SentenceModules.of(folder)
        kind, shape = _shape(modules)
        of_first_token, prompt = modules.is_of_first_token(), modules.prompt()
        tokenizer = _tokenizer(modules.encoder)
        tensors = _tensors(modules.encoder)
        dense = modules.dense(tensors[WORDS].shape[-1])
        encoder = encoder_of(kind, shape, tensors, of_first_token=of_first_token, dense=dense)
        _prepare(tokenizer, modules.encoder, encoder.most_tokens)
        model = SentenceModel(tokenizer, encoder, prompt)
        _try(model)
    except KeyError as error:
        raise unreadable(folder, f"model.safetensors lacks {error}", remedy) from None
    except (OSError, ValueError, TypeError, IndexError, OverflowError, SafetensorError) as error:
        raise unreadable(folder, error, remedy) from None
    return model


def unreadable(folder: Path, error: Exception | str, remedy: str) -> UserError:
    """Say that a model cannot be read."""
    return UserError(f"the model of sentence vectors at {folder} cannot be read: {error}", remedy=remedy)


def _tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer

    described = read_regular(folder / "tokenizer.json", most=MOST_DESCRIBED)
    try:
        return Tokenizer.from_str(described.decode("utf-8"))
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise ValueError(pointer(described) or f"tokenizer.json: {error}") from None


def _tensors(folder: Path) -> Mapping[str, NDArray[np.float32]]:
    """Read the weights, named as those of a bare model: some files have a prefix, or BERT's first names.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged.
    """
    stored = read_tensors(folder / WEIGHTS)
    prefix = next((name.removesuffix(WORDS) for name in stored if name.endswith(WORDS)), "")
    return {_renamed(name.removeprefix(prefix)): tensor for name, tensor in stored.items()}


def _renamed(name: str) -> str:
    return next((name.replace(old, new) for old, new in _FIRST_NAMES.items() if name.endswith(old)), name)


def _shape(modules: SentenceModules) -> tuple[str, Shape]:
    """Return the encoder's architecture and parameters.

    Raises:
        UserError: the encoder does not support it.
    """
    kind = decoded(modules.encoder / _CONFIG, _Kind).model_type
    if not isinstance(kind, str) or kind not in ARCHITECTURES:
        raise UserError(
            f"the model at {modules.folder} has the architecture {quoted(kind)}, which is not known", remedy=OTHER
        )
    try:
        shape = read_shape(kind, read_regular(modules.encoder / _CONFIG, most=MOST_DESCRIBED))
    except msgspec.DecodeError as error:
        raise ValueError(f"{_CONFIG}: {error}") from None
    for name, value, known in (
        ("hidden_act", shape.hidden_act, "gelu"),
        ("position_embedding_type", shape.position_embedding_type or "absolute", "absolute"),
    ):
        if value != known:
            raise UserError(
                f"the model at {modules.folder} has the {name} {quoted(value)}; known is {known!r}", remedy=OTHER
            )
    return kind, shape


def _prepare(tokenizer: Any, folder: Path, positions: int) -> None:
    """Have it truncate texts, not pad them, and lower-case them, all as the model says.

    Raises:
        OSError, ValueError: a file cannot be read, or leaves no room for a word.
    """
    from tokenizers.normalizers import Lowercase, Sequence

    stated = _if_present(folder / "sentence_bert_config.json", _Sentence())
    limit = stated.max_seq_length or _if_present(folder / "tokenizer_config.json", _Tokenizer()).model_max_length
    longest = int(min(_LONGEST, positions, limit or _LONGEST))
    if longest <= tokenizer.num_special_tokens_to_add(is_pair=False):
        raise ValueError(f"it takes {longest} tokens, which leaves no room for a word")
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    normalizer = tokenizer.normalizer
    if stated.do_lower_case and (normalizer is None or "A" in normalizer.normalize_str("A")):
        tokenizer.normalizer = Sequence([Lowercase(), *([] if normalizer is None else [normalizer])])


def _if_present(path: Path, default: _T) -> _T:
    return decoded(path, type(default)) if path.is_file() else default


def _try(model: SentenceModel) -> None:
    """Encode a sentence.

    Raises:
        ValueError: tokenizer and encoder do not fit together, or the result is not a vector.
    """
    tokenizer, encoder = model.tokenizer, model.encoder
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= len(encoder.words):
        raise ValueError(f"its tokenizer knows {largest + 1:,} words, its weights {len(encoder.words):,}")
    try:
        with np.errstate(all="ignore"):
            vector = encoder.encode([model.tokens("a b c") or [0]])
    except (ValueError, IndexError):
        raise ValueError("the shapes of its weights do not fit together, or not those of config.json") from None
    if not np.isfinite(vector).all():
        raise ValueError("its vectors are not numbers")
