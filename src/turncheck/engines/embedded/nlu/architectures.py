"""Architectures of the BERT family: what each calls its parameters and tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np

from turncheck.engines.embedded.nlu.bert import BertEncoder, Layer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.nlu.bert import Dense, Floats, Linear

WORDS: Final = "embeddings.word_embeddings.weight"
_POSITIONS: Final = "embeddings.position_embeddings.weight"
_TYPES: Final = "embeddings.token_type_embeddings.weight"
_BY_DISTANCE: Final = "encoder.relative_attention_bias.weight"
_PADDING_OF_MPNET: Final = 1
_FEWEST_BUCKETS: Final = 4

_Positive = Annotated[int, msgspec.Meta(ge=1)]


class Shape(msgspec.Struct, kw_only=True):
    """The encoder's parameters in ``config.json``."""

    num_hidden_layers: _Positive
    num_attention_heads: _Positive
    layer_norm_eps: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    hidden_act: Any = "gelu"
    position_embedding_type: Any = "absolute"
    pad_token_id: Annotated[int, msgspec.Meta(ge=0)] | None = None


class _DistilShape(msgspec.Struct, kw_only=True):
    n_layers: _Positive
    n_heads: _Positive
    activation: Any = "gelu"

    def as_shape(self) -> Shape:
        return Shape(
            num_hidden_layers=self.n_layers,
            num_attention_heads=self.n_heads,
            layer_norm_eps=1e-12,
            hidden_act=self.activation,
        )


@dataclass(frozen=True, slots=True)
class Architecture:
    """The names of tensors, those of a layer relative to ``layer``."""

    layer: str = "encoder.layer."
    attend: tuple[str, str, str] = ("attention.self.query", "attention.self.key", "attention.self.value")
    attended: str = "attention.output.dense"
    attended_norm: str = "attention.output.LayerNorm"
    widen: str = "intermediate.dense"
    narrow: str = "output.dense"
    narrow_norm: str = "output.LayerNorm"
    token_types: bool = True
    positions_after_padding: bool = False

    def layer_of(self, tensors: Mapping[str, Floats], number: int) -> Layer:
        """Take one layer's tensors.

        Raises:
            KeyError: one is missing.
        """

        def linear(name: str) -> Linear:
            return linear_of(tensors, f"{self.layer}{number}.{name}")

        asked = [linear(name) for name in self.attend]
        return Layer(
            (np.hstack([weights for weights, _ in asked]), np.concatenate([biases for _, biases in asked])),
            linear(self.attended),
            linear(self.attended_norm),
            linear(self.widen),
            linear(self.narrow),
            linear(self.narrow_norm),
        )


_BERT: Final = Architecture()
_ROBERTA: Final = Architecture(positions_after_padding=True)
_MPNET: Final = Architecture(
    attend=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
    attended="attention.attn.o",
    attended_norm="attention.LayerNorm",
    token_types=False,
    positions_after_padding=True,
)
_DISTILBERT: Final = Architecture(
    layer="transformer.layer.",
    attend=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    attended="attention.out_lin",
    attended_norm="sa_layer_norm",
    widen="ffn.lin1",
    narrow="ffn.lin2",
    narrow_norm="output_layer_norm",
    token_types=False,
)
ARCHITECTURES: Final = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "mpnet": _MPNET,
    "distilbert": _DISTILBERT,
}
"""By ``model_type``."""


def read_shape(kind: str, config: bytes) -> Shape:
    """Read the parameters of an encoder of this architecture.

    Raises:
        msgspec.DecodeError: they are not those of such an encoder.
        ValueError: one is missing.
    """
    if kind == "distilbert":
        return msgspec.json.decode(config, type=_DistilShape).as_shape()
    shape = msgspec.json.decode(config, type=Shape)
    if kind == "mpnet":
        shape.pad_token_id = _PADDING_OF_MPNET
    if ARCHITECTURES[kind].positions_after_padding and shape.pad_token_id is None:
        raise ValueError("config.json lacks pad_token_id")
    return shape


def encoder_of(
    kind: str, shape: Shape, tensors: Mapping[str, Floats], *, of_first_token: bool, dense: Sequence[Dense]
) -> BertEncoder:
    """Make an encoder of tensors, named as those of a bare model of this architecture.

    Raises:
        KeyError: a tensor is missing.
        ValueError: there are tensors of more layers than ``shape`` has.
    """
    architecture, layers = ARCHITECTURES[kind], shape.num_hidden_layers
    if f"{architecture.layer}{layers}.{architecture.narrow}.weight" in tensors:
        raise ValueError(f"it has more layers than the {layers} of config.json")
    by_distance = tensors[_BY_DISTANCE] if kind == "mpnet" else None
    if by_distance is not None and len(by_distance) < _FEWEST_BUCKETS:
        raise ValueError(f"{_BY_DISTANCE} has fewer than {_FEWEST_BUCKETS} rows")
    return BertEncoder(
        words=tensors[WORDS],
        positions=tensors[_POSITIONS] + (tensors[_TYPES][0] if architecture.token_types else np.float32(0)),
        norm=(tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"]),
        layers=tuple(architecture.layer_of(tensors, number) for number in range(layers)),
        heads=shape.num_attention_heads,
        epsilon=shape.layer_norm_eps,
        padding=shape.pad_token_id if architecture.positions_after_padding else None,
        by_distance=by_distance,
        of_first_token=of_first_token,
        dense=tuple(dense),
    )


def linear_of(tensors: Mapping[str, NDArray[np.float32]], name: str) -> Linear:
    """Take a matrix, whose shape is (outputs, inputs) in files, and its biases.

    Raises:
        KeyError: one is missing.
    """
    return np.ascontiguousarray(tensors[f"{name}.weight"].T), tensors[f"{name}.bias"]
