"""The folder of a sentence-transformers model → tokenizer and encoder: the BERT family; none of its code is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
import numpy as np

from turncheck.engines.embedded.nlu.bert import BertEncoder
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

_OF_BERT: Final = frozenset({"bert"})
_OF_ROBERTA: Final = frozenset({"roberta", "xlm-roberta", "camembert"})
"""Their positions are counted from after the padding's number."""
_WORDS: Final = "embeddings.word_embeddings.weight"
_MODULES: Final = frozenset({"Transformer", "Pooling", "Normalize"})
_POOLING: Final = "1_Pooling"
_LONGEST: Final = 512
_OTHER: Final = "Take a model of the BERT family (bert, roberta, xlm-roberta, camembert), all-MiniLM-L6-v2 for example."
_LFS: Final = b"version https://git-lfs"
_SHOWN: Final = 40

_Positive = Annotated[int, msgspec.Meta(ge=1)]


class _Kind(msgspec.Struct):
    """Checked first in ``config.json``: other architectures have other keys."""

    model_type: Any


class _Shape(msgspec.Struct):
    """The encoder's parameters in ``config.json``."""

    num_hidden_layers: _Positive
    num_attention_heads: _Positive
    layer_norm_eps: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    hidden_act: Any = "gelu"
    position_embedding_type: Any = "absolute"
    pad_token_id: Annotated[int, msgspec.Meta(ge=0)] | None = None


class _Module(msgspec.Struct):
    """One step of ``modules.json``."""

    type: str
    path: str = ""


class _Sentence(msgspec.Struct):
    """``sentence_bert_config.json``."""

    max_seq_length: _Positive | None = None


_T = TypeVar("_T")


def read_sentence_model(folder: Path, remedy: str) -> tuple[Any, BertEncoder]:
    """Read tokenizer and encoder, and try them on a sentence.

    Raises:
        UserError: a file cannot be read, or they do not fit together (``remedy`` says what to do); the architecture is
            not supported.
    """
    from safetensors import SafetensorError

    try:
        shape, first_position = _shape(folder)
        of_first_token = _is_of_first_token(folder)
        tokenizer = _tokenizer(folder)
        named = _tensors(folder, shape.num_hidden_layers)
        encoder = BertEncoder.of(
            named,
            layers=shape.num_hidden_layers,
            heads=shape.num_attention_heads,
            epsilon=shape.layer_norm_eps,
            first_position=first_position,
            of_first_token=of_first_token,
        )
        tokenizer.no_padding()
        tokenizer.enable_truncation(_longest(folder, len(encoder.positions), tokenizer))
        _try(tokenizer, encoder)
    except KeyError as error:
        raise unreadable(folder, f"model.safetensors lacks {error}", remedy) from None
    except (OSError, ValueError, TypeError, IndexError, OverflowError, SafetensorError) as error:
        raise unreadable(folder, error, remedy) from None
    return tokenizer, encoder


def unreadable(folder: Path, error: Exception | str, remedy: str) -> UserError:
    """Say that a model cannot be read."""
    return UserError(f"the model of sentence vectors at {folder} cannot be read: {error}", remedy=remedy)


def _decoded(folder: Path, name: str, of: type[_T]) -> _T:
    """Read a JSON file of the folder.

    Raises:
        OSError: it does not exist, or cannot be read.
        ValueError: it is not JSON of this form.
    """
    try:
        return msgspec.json.decode((folder / name).read_bytes(), type=of)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{name}: {error}") from None


def _tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer

    described = (folder / "tokenizer.json").read_bytes()
    try:
        return Tokenizer.from_str(described.decode("utf-8"))
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise ValueError(_pointer(described) or f"tokenizer.json: {error}") from None


def _tensors(folder: Path, layers: int) -> Mapping[str, NDArray[np.float32]]:
    """Read the weights, named as those of a bare BERT with this many layers.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or has more layers.
    """
    named = _stored(folder / "model.safetensors")
    prefix = next((name.removesuffix(_WORDS) for name in named if name.endswith(_WORDS)), "")
    if f"{prefix}encoder.layer.{layers}.output.dense.weight" in named:
        raise ValueError(f"it has more layers than the {layers} of config.json")
    return {name.removeprefix(prefix): tensor.astype(np.float32, copy=False) for name, tensor in named.items()}


def _stored(path: Path) -> Mapping[str, NDArray[Any]]:
    """Read the arrays; bfloat16, which NumPy does not support, as floats."""
    from safetensors import SafetensorError, deserialize
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except SafetensorError as error:
        with path.open("rb") as file:
            raise ValueError(_pointer(file.read(len(_LFS))) or f"model.safetensors: {error}") from None
    except TypeError:  # a number type that NumPy lacks
        read: list[tuple[str, dict[str, Any]]] = deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
        if others := sorted({held["dtype"] for _, held in read} - {"BF16", "F32"}):
            raise ValueError(f"model.safetensors holds numbers of the type {others[0]}") from None
        return {name: _numbers(held["data"], held["dtype"]).reshape(held["shape"]) for name, held in read}


def _numbers(data: bytes, kind: str) -> NDArray[np.float32]:
    if kind == "F32":
        return np.frombuffer(data, "<f4").astype(np.float32, copy=False)
    return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)


def _pointer(content: bytes) -> str:
    """Report a file that is only a Git LFS pointer."""
    return "it holds pointers of Git LFS, not the files themselves: git lfs pull" if content.startswith(_LFS) else ""


def _shape(folder: Path) -> tuple[_Shape, int]:
    """Return the encoder's architecture and the index of its first token's position.

    Raises:
        UserError: the encoder does not support it.
    """
    kind = _decoded(folder, "config.json", _Kind).model_type
    if not isinstance(kind, str) or kind not in _OF_BERT | _OF_ROBERTA:
        raise UserError(
            f"the model at {folder} has the architecture {_quoted(kind)}, which is not known", remedy=_OTHER
        )
    shape = _decoded(folder, "config.json", _Shape)
    for name, value, known in (
        ("hidden_act", shape.hidden_act, "gelu"),
        ("position_embedding_type", shape.position_embedding_type or "absolute", "absolute"),
    ):
        if value != known:
            raise UserError(f"the model at {folder} has the {name} {_quoted(value)}; known is {known!r}", remedy=_OTHER)
    if kind in _OF_BERT:
        return shape, 0
    if shape.pad_token_id is None:
        raise ValueError("config.json lacks pad_token_id")
    return shape, shape.pad_token_id + 1


def _is_of_first_token(folder: Path) -> bool:
    """Read how the tokens' vectors become the sentence's: by default, their mean."""
    pooling = _POOLING
    if (folder / "modules.json").is_file():
        modules = [(one.type.rpartition(".")[2], one.path) for one in _decoded(folder, "modules.json", list[_Module])]
        if others := sorted({kind for kind, _ in modules} - _MODULES):
            raise UserError(f"the model at {folder} has a part {_quoted(others[0])}, which is not known", remedy=_OTHER)
        pooling = next((path for kind, path in modules if kind == "Pooling"), _POOLING)
    name = f"{pooling}/config.json"
    if not (folder / name).is_file():
        return False
    stated = _decoded(folder, name, dict[str, Any])
    modes = [mode for mode, value in stated.items() if mode.startswith("pooling_mode_") and value is True]
    modes += [f"pooling_mode_{mode}_tokens" for mode in (stated.get("pooling_mode"),) if isinstance(mode, str)]
    if modes not in (["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"], ["pooling_mode_cls_tokens"]):
        words = _quoted(", ".join(sorted(modes)) or "nothing")
        raise UserError(
            f"the model at {folder} pools by {words}; known are the mean and the first token", remedy=_OTHER
        )
    return modes != ["pooling_mode_mean_tokens"]


def _longest(folder: Path, positions: int, tokenizer: Any) -> int:
    """Return the largest number of tokens of a sentence, including the special ones."""
    name = "sentence_bert_config.json"
    stated = _decoded(folder, name, _Sentence).max_seq_length if (folder / name).is_file() else None
    longest = min(stated or _LONGEST, positions)
    if longest <= tokenizer.num_special_tokens_to_add(is_pair=False):
        raise ValueError(f"it takes {longest} tokens, which leaves no room for a word")
    return longest


def _try(tokenizer: Any, encoder: BertEncoder) -> None:
    """Encode a sentence.

    Raises:
        ValueError: the two do not fit together, or the result is not a vector.
    """
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= len(encoder.words):
        raise ValueError(f"its tokenizer knows {largest + 1:,} words, its weights {len(encoder.words):,}")
    try:
        with np.errstate(all="ignore"):
            vector = encoder.encode([tokenizer.encode("a b c").ids or [0]])
    except (ValueError, IndexError):
        raise ValueError("the shapes of its weights do not fit together, or not those of config.json") from None
    if not np.isfinite(vector).all():
        raise ValueError("its vectors are not numbers")


def _quoted(value: object) -> str:
    """Return a file's content, shortened, on one line."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
