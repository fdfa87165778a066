"""The folder of a sentence-transformers model → tokenizer and encoder: the BERT family; none of its code is run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from turncheck.engines.embedded.nlu import bert
from turncheck.messages.errors import UserError
from turncheck.process.regular_file import read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from turncheck.engines.embedded.nlu.bert import BertEncoder, Shape


# What follows the encoder in a sentence-transformers model: pooling, dense layers, scaling; and a prompt before it.

_MODULES: Final = "modules.json"
_KNOWN: Final = frozenset({"Transformer", "Pooling", "Dense", "Normalize"})
_OURS: Final = "sentence_transformers."
_POOLING: Final = "1_Pooling"
_MEAN: Final = "pooling_mode_mean_tokens"
_FIRST: Final = frozenset({"pooling_mode_cls_token", "pooling_mode_cls_tokens"})
_ACTIVATIONS: Final = {
    "torch.nn.modules.activation.Tanh": True,
    "torch.nn.modules.linear.Identity": False,
}
"""Whether it is the hyperbolic tangent."""
_SENTENCE: Final = "sentence_embedding"
_PROMPTS: Final = "config_sentence_transformers.json"
OTHER: Final = (
    "Take a model of the BERT family (bert, roberta, xlm-roberta, camembert, mpnet, distilbert),"
    " all-MiniLM-L6-v2 for example."
)


class _Module(msgspec.Struct):
    """One step of ``modules.json``."""

    type: str
    path: str = ""

    @property
    def kind(self) -> str:
        """The class, if it is one of sentence-transformers."""
        return self.type.rpartition(".")[2] if self.type.startswith(_OURS) else self.type


class _Dense(msgspec.Struct):
    """``config.json`` of a dense layer."""

    in_features: Annotated[int, msgspec.Meta(ge=1)]
    out_features: Annotated[int, msgspec.Meta(ge=1)]
    bias: bool = True
    activation_function: Any = "torch.nn.modules.activation.Tanh"
    module_input_name: Any = _SENTENCE
    module_output_name: Any = _SENTENCE
    use_residual: Any = False


class _Prompts(msgspec.Struct):
    """``config_sentence_transformers.json``."""

    prompts: dict[str, str | None] | None = None
    default_prompt_name: str | None = None


class SentenceModules(Struct, frozen=True):
    """Where a model's parts are."""

    folder: Path
    encoder: Path
    """The folder of the encoder and its tokenizer."""
    pooling: Path
    after: tuple[tuple[str, Path], ...] = ()
    """``Dense`` and ``Normalize``, in order, with their folders."""

    @classmethod
    def of(cls, folder: Path) -> SentenceModules:
        """Read ``modules.json``; a folder without one is an encoder, whose tokens' mean is taken.

        Raises:
            OSError, ValueError: the file cannot be read.
            UserError: a part is unknown.
        """
        if not (folder / _MODULES).is_file():
            return cls(folder, folder, folder / _POOLING)
        modules = bert.decoded(folder / _MODULES, list[_Module])
        if others := sorted({module.kind for module in modules} - _KNOWN):
            raise UserError(
                f"the model at {folder} has a part {bert.quoted(others[0])}, which is not known", hint=OTHER
            )
        kinds = [module.kind for module in modules]
        if kinds[:2] != ["Transformer", "Pooling"] or {"Transformer", "Pooling"} & set(kinds[2:]):
            raise UserError(
                f"the model at {folder} has the parts {bert.quoted(', '.join(kinds))}, in this order", hint=OTHER
            )
        paths = [folder / module.path for module in modules]
        return cls(folder, paths[0], paths[1], tuple(zip(kinds[2:], paths[2:], strict=True)))

    @property
    def weights(self) -> tuple[Path, ...]:
        """The files with its weights."""
        return (self.encoder / bert.WEIGHTS, *(path / bert.WEIGHTS for kind, path in self.after if kind == "Dense"))

    def is_of_first_token(self) -> bool:
        """Read how the tokens' vectors become the sentence's: by default, their mean.

        Raises:
            OSError, ValueError: the file cannot be read.
            UserError: in another way.
        """
        path = self.pooling / "config.json"
        if not path.is_file():
            return False
        stated = bert.decoded(path, dict[str, Any])
        modes = [mode for mode, value in stated.items() if mode.startswith("pooling_mode_") and value is True]
        modes += [f"pooling_mode_{mode}_tokens" for mode in (stated.get("pooling_mode"),) if isinstance(mode, str)]
        if len(modes) != 1 or modes[0] not in {_MEAN, *_FIRST}:
            words = bert.quoted(", ".join(sorted(modes)) or "nothing")
            raise UserError(
                f"the model at {self.folder} pools by {words}; known are the mean and the first token", hint=OTHER
            )
        if stated.get("include_prompt") is False and self.prompt():
            raise UserError(
                f"the model at {self.folder} leaves its prompt out of the mean, which is not known", hint=OTHER
            )
        return modes[0] in _FIRST

    def dense(self, width: int) -> list[bert.Dense]:
        """Read the dense layers, the first of which receives vectors of this width.

        Raises:
            OSError, ValueError, KeyError: a file cannot be read, or does not fit.
            UserError: one computes something unknown.
        """
        found: list[bert.Dense] = []
        of_length_1 = False
        for kind, path in self.after:
            if kind == "Normalize":
                of_length_1 = True
                continue
            found.append(self._dense(path, width, of_length_1=of_length_1))
            width, of_length_1 = len(found[-1].linear[1]), False
        return found

    def _dense(self, path: Path, width: int, *, of_length_1: bool) -> bert.Dense:
        shape = bert.decoded(path / "config.json", _Dense)
        for name, known in (
            ("module_input_name", _SENTENCE),
            ("module_output_name", _SENTENCE),
            ("use_residual", False),
        ):
            if (value := getattr(shape, name)) not in (known, None):
                raise UserError(
                    f"the model at {self.folder} has a dense layer with the {name} {bert.quoted(value)};"
                    f" known is {known!r}",
                    hint=OTHER,
                )
        tanh = _ACTIVATIONS.get(shape.activation_function) if isinstance(shape.activation_function, str) else None
        if tanh is None:
            raise UserError(
                f"the model at {self.folder} has a dense layer with the activation"
                f" {bert.quoted(shape.activation_function)}; known are the hyperbolic tangent and none",
                hint=OTHER,
            )
        tensors = dict(bert.read_tensors(path / bert.WEIGHTS))
        if not shape.bias:
            tensors["linear.bias"] = np.zeros(shape.out_features, dtype=np.float32)
        linear = bert.linear_of(tensors, "linear")
        if linear[0].shape != (width, shape.out_features) or linear[1].shape != (shape.out_features,):
            raise ValueError(f"the weights of {path.name} do not fit its config.json or what comes before it")
        return bert.Dense(linear, tanh, of_length_1)

    def prompt(self) -> str:
        """Read what is put before each text, if the model names a prompt by default.

        Raises:
            OSError, ValueError: the file cannot be read, or there is no such prompt.
        """
        path = self.folder / _PROMPTS
        if not path.is_file():
            return ""
        stated = bert.decoded(path, _Prompts)
        if not stated.default_prompt_name:
            return ""
        prompts = stated.prompts or {}
        if stated.default_prompt_name not in prompts:
            raise ValueError(f"{_PROMPTS} has no prompt {bert.quoted(stated.default_prompt_name)}")
        return prompts[stated.default_prompt_name] or ""


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


class SentenceModel(Struct, frozen=True):
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


def read_sentence_model(folder: Path, hint: str) -> SentenceModel:
    """Read tokenizer and encoder, and try them on a sentence.

    Raises:
        UserError: a file cannot be read, or they do not fit together (``hint`` says what to do); the architecture is
            not supported.
    """
    from safetensors import SafetensorError

    try:
        modules = SentenceModules.of(folder)
        kind, shape = _shape(modules)
        of_first_token, prompt = modules.is_of_first_token(), modules.prompt()
        tokenizer = _tokenizer(modules.encoder)
        tensors = _tensors(modules.encoder)
        dense = modules.dense(tensors[bert.WORDS].shape[-1])
        encoder = bert.encoder_of(kind, shape, tensors, of_first_token=of_first_token, dense=dense)
        _prepare(tokenizer, modules.encoder, encoder.most_tokens)
        model = SentenceModel(tokenizer, encoder, prompt)
        _try(model)
    except KeyError as error:
        raise unreadable(folder, f"model.safetensors lacks {error}", hint) from None
    except (OSError, ValueError, TypeError, IndexError, OverflowError, SafetensorError) as error:
        raise unreadable(folder, error, hint) from None
    return model


def unreadable(folder: Path, error: Exception | str, hint: str) -> UserError:
    """Say that a model cannot be read."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        error = f"{os.path.relpath(error.filename, folder)}: {error.strerror}"
    return UserError(f"the model of sentence vectors at {folder} cannot be read: {error}", hint=hint)


def _tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer

    described = read_regular(folder / "tokenizer.json", most=bert.MOST_DESCRIBED)
    try:
        return Tokenizer.from_str(described.decode("utf-8"))
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise ValueError(bert.pointer(described) or f"tokenizer.json: {error}") from None


def _tensors(folder: Path) -> Mapping[str, NDArray[np.float32]]:
    """Read the weights, named as those of a bare model: some files have a prefix, or BERT's first names.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged.
    """
    stored = bert.read_tensors(folder / bert.WEIGHTS)
    prefix = next((name.removesuffix(bert.WORDS) for name in stored if name.endswith(bert.WORDS)), "")
    return {_renamed(name.removeprefix(prefix)): tensor for name, tensor in stored.items()}


def _renamed(name: str) -> str:
    return next((name.replace(old, new) for old, new in _FIRST_NAMES.items() if name.endswith(old)), name)


def _shape(modules: SentenceModules) -> tuple[str, Shape]:
    """Return the encoder's architecture and parameters.

    Raises:
        UserError: the encoder does not support it.
    """
    kind = bert.decoded(modules.encoder / _CONFIG, _Kind).model_type
    if not isinstance(kind, str) or kind not in bert.ARCHITECTURES:
        raise UserError(
            f"the model at {modules.folder} has the architecture {bert.quoted(kind)}, which is not known", hint=OTHER
        )
    try:
        shape = bert.read_shape(kind, read_regular(modules.encoder / _CONFIG, most=bert.MOST_DESCRIBED))
    except msgspec.DecodeError as error:
        raise ValueError(f"{_CONFIG}: {error}") from None
    for name, value, known in (
        ("hidden_act", shape.hidden_act, "gelu"),
        ("position_embedding_type", shape.position_embedding_type or "absolute", "absolute"),
    ):
        if value != known:
            raise UserError(
                f"the model at {modules.folder} has the {name} {bert.quoted(value)}; known is {known!r}", hint=OTHER
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
    return bert.decoded(path, type(default)) if path.is_file() else default


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
