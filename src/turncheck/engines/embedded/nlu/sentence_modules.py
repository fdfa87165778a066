"""What follows the encoder in a sentence-transformers model: pooling, dense layers, scaling; and a prompt before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np

from turncheck.engines.embedded.nlu.architectures import linear_of
from turncheck.engines.embedded.nlu.bert import Dense
from turncheck.engines.embedded.nlu.model_files import WEIGHTS, decoded, quoted, read_tensors
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class SentenceModules:
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
        modules = decoded(folder / _MODULES, list[_Module])
        if others := sorted({one.kind for one in modules} - _KNOWN):
            raise UserError(f"the model at {folder} has a part {quoted(others[0])}, which is not known", remedy=OTHER)
        kinds = [one.kind for one in modules]
        if kinds[:2] != ["Transformer", "Pooling"] or {"Transformer", "Pooling"} & set(kinds[2:]):
            raise UserError(
                f"the model at {folder} has the parts {quoted(', '.join(kinds))}, in this order", remedy=OTHER
            )
        places = [folder / one.path for one in modules]
        return cls(folder, places[0], places[1], tuple(zip(kinds[2:], places[2:], strict=True)))

    @property
    def weights(self) -> tuple[Path, ...]:
        """The files with its weights."""
        return (self.encoder / WEIGHTS, *(place / WEIGHTS for kind, place in self.after if kind == "Dense"))

    def is_of_first_token(self) -> bool:
        """Read how the tokens' vectors become the sentence's: by default, their mean.

        Raises:
            OSError, ValueError: the file cannot be read.
            UserError: in another way.
        """
        path = self.pooling / "config.json"
        if not path.is_file():
            return False
        stated = decoded(path, dict[str, Any])
        modes = [mode for mode, value in stated.items() if mode.startswith("pooling_mode_") and value is True]
        modes += [f"pooling_mode_{mode}_tokens" for mode in (stated.get("pooling_mode"),) if isinstance(mode, str)]
        if len(modes) != 1 or modes[0] not in {_MEAN, *_FIRST}:
            words = quoted(", ".join(sorted(modes)) or "nothing")
            raise UserError(
                f"the model at {self.folder} pools by {words}; known are the mean and the first token", remedy=OTHER
            )
        if stated.get("include_prompt") is False and self.prompt():
            raise UserError(
                f"the model at {self.folder} leaves its prompt out of the mean, which is not known", remedy=OTHER
            )
        return modes[0] in _FIRST

    def dense(self, width: int) -> list[Dense]:
        """Read the dense layers, the first of which receives vectors of this width.

        Raises:
            OSError, ValueError, KeyError: a file cannot be read, or does not fit.
            UserError: one computes something unknown.
        """
        found: list[Dense] = []
        of_length_1 = False
        for kind, place in self.after:
            if kind == "Normalize":
                of_length_1 = True
                continue
            found.append(self._dense(place, width, of_length_1=of_length_1))
            width, of_length_1 = len(found[-1].linear[1]), False
        return found

    def _dense(self, place: Path, width: int, *, of_length_1: bool) -> Dense:
        shape = decoded(place / "config.json", _Dense)
        for name, known in (
            ("module_input_name", _SENTENCE),
            ("module_output_name", _SENTENCE),
            ("use_residual", False),
        ):
            if (value := getattr(shape, name)) not in (known, None):
                raise UserError(
                    f"the model at {self.folder} has a dense layer with the {name} {quoted(value)}; known is {known!r}",
                    remedy=OTHER,
                )
        tanh = _ACTIVATIONS.get(shape.activation_function) if isinstance(shape.activation_function, str) else None
        if tanh is None:
            raise UserError(
                f"the model at {self.folder} has a dense layer with the activation"
                f" {quoted(shape.activation_function)}; known are the hyperbolic tangent and none",
                remedy=OTHER,
            )
        tensors = dict(read_tensors(place / WEIGHTS))
        if not shape.bias:
            tensors["linear.bias"] = np.zeros(shape.out_features, dtype=np.float32)
        linear = linear_of(tensors, "linear")
        if linear[0].shape != (width, shape.out_features) or linear[1].shape != (shape.out_features,):
            raise ValueError(f"the weights of {place.name} do not fit its config.json or what comes before it")
        return Dense(linear, tanh, of_length_1)

    def prompt(self) -> str:
        """Read what is put before each text, if the model names a prompt by default.

        Raises:
            OSError, ValueError: the file cannot be read, or there is no such prompt.
        """
        path = self.folder / _PROMPTS
        if not path.is_file():
            return ""
        stated = decoded(path, _Prompts)
        if not stated.default_prompt_name:
            return ""
        prompts = stated.prompts or {}
        if stated.default_prompt_name not in prompts:
            raise ValueError(f"{_PROMPTS} has no prompt {quoted(stated.default_prompt_name)}")
        return prompts[stated.default_prompt_name] or ""
