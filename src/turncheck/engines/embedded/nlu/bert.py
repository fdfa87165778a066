"""Encoders of the BERT family (Devlin et al. 2019) in NumPy: token ids in, one vector per sentence out; not trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from turncheck.process.regular_file import open_regular, read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Linear = tuple[Floats, Floats]
    """A matrix of shape (inputs, outputs), and the biases; of a normalization: scales and biases."""
    from collections.abc import Mapping
    from pathlib import Path


_FARTHEST: Final = 128
"""From this distance on, MPNet does not tell distances between tokens apart."""


class Layer(Struct, frozen=True):
    """One layer of self-attention and feed-forward."""

    attend: Linear
    """Queries, keys and values concatenated."""
    attended: Linear
    attended_norm: Linear
    widen: Linear
    narrow: Linear
    narrow_norm: Linear


class Dense(Struct, frozen=True):
    """What some models put sentences' vectors through at the end."""

    linear: Linear
    tanh: bool
    of_length_1: bool
    """Whether vectors are scaled to length 1 first."""

    def __call__(self, vectors: Floats) -> Floats:
        """Apply it to each row."""
        outputs = _linear(_of_length_1(vectors) if self.of_length_1 else vectors, self.linear)
        return np.tanh(outputs) if self.tanh else outputs


class BertEncoder(Struct, frozen=True):
    """Sentence vectors as sentence-transformers makes them, of length 1."""

    words: Floats
    """Shape (vocabulary, width)."""
    positions: Floats
    """Shape (positions, width), the vector of token type 0 added."""
    norm: Linear
    layers: tuple[Layer, ...]
    heads: int
    epsilon: float
    padding: int | None = None
    """The padding's number, after which RoBERTa counts positions; ``None``: they are counted from 0."""
    by_distance: Floats | None = None
    """MPNet's addition to the attention, by the distance between two tokens; shape (buckets, heads)."""
    of_first_token: bool = False
    """Whether a sentence's vector is that of its first token; else the mean over all of them."""
    dense: tuple[Dense, ...] = ()

    @property
    def own_width(self) -> int:
        """The number of dimensions of the model's own vector."""
        return int(self.dense[-1].linear[1].shape[0] if self.dense else self.words.shape[1])

    @property
    def width(self) -> int:
        """The number of dimensions of both levels together."""
        return self.own_width + int(self.words.shape[1])

    @property
    def most_tokens(self) -> int:
        """As many as there are positions."""
        return len(self.positions) - (0 if self.padding is None else self.padding + 1)

    def encode(self, tokens: Sequence[Sequence[int]]) -> Floats:
        """Encode sentences with the same number of tokens, at two levels side by side; shape (sentences, width).

        The first is the model's own vector; the second the mean over the layers before the last (except the lowest
        third) of their tokens' mean, of length 1 each and then together.
        """
        numbers = np.array(tokens)
        states = self._normalized(self.words[numbers] + self.positions[self._places(numbers)], self.norm)
        distances = self._distances(numbers.shape[1])
        below = np.zeros((len(numbers), states.shape[-1]), dtype=np.float32)
        for number, layer in enumerate(self.layers):
            if number >= len(self.layers) // 3:
                below += _of_length_1(states.mean(axis=1))
            states = self._through(layer, states, distances)
        own = states[:, 0] if self.of_first_token else states.mean(axis=1)
        for dense in self.dense:
            own = dense(own)
        return np.hstack([_of_length_1(own), _of_length_1(below)])

    def _places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions of tokens: RoBERTa does not count padding, which a text may spell out."""
        if self.padding is None:
            return np.arange(numbers.shape[1])
        counted = numbers != self.padding
        places: NDArray[np.int64] = np.cumsum(counted, axis=1) * counted + self.padding
        return places

    def _distances(self, length: int) -> Floats | None:
        """What is added to the attention of each token to each other; shape (heads, length, length)."""
        if self.by_distance is None:
            return None
        places = np.arange(length)
        buckets = _buckets(places[:, None] - places, len(self.by_distance))
        return self.by_distance[buckets].transpose(2, 0, 1)

    def _through(self, layer: Layer, states: Floats, distances: Floats | None) -> Floats:
        """Self-attention, then the feed-forward part; each is added to its input, and normalized."""
        count, length, width = states.shape
        split = _linear(states, layer.attend).reshape(count, length, 3, self.heads, width // self.heads)
        queries, keys, values = split.transpose(2, 0, 3, 1, 4)
        attention = queries @ keys.swapaxes(-1, -2) / np.float32(np.sqrt(width // self.heads))
        if distances is not None:
            attention += distances
        attention = np.exp(attention - attention.max(axis=-1, keepdims=True))
        attention /= attention.sum(axis=-1, keepdims=True)
        mixed = (attention @ values).swapaxes(1, 2).reshape(count, length, width)
        states = self._normalized(states + _linear(mixed, layer.attended), layer.attended_norm)
        return self._normalized(states + _linear(_gelu(_linear(states, layer.widen)), layer.narrow), layer.narrow_norm)

    def _normalized(self, states: Floats, norm: Linear) -> Floats:
        """Layer normalization (Ba et al. 2016)."""
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + np.float32(self.epsilon)) * norm[0] + norm[1]
        normalized: Floats = scaled.astype(np.float32, copy=False)
        return normalized


def _buckets(distances: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Number distances (positive: to a token before): small ones exactly, others by logarithm (Raffel et al. 2020).

    >>> _buckets(np.array([0, 1, 7, 8, 16, 64, 500, -1, -500]), 32).tolist()
    [0, 1, 7, 8, 10, 14, 15, 17, 31]
    """
    half = count // 2
    exact = half // 2
    apart = np.abs(distances)
    ratio = np.log(np.maximum(apart, 1).astype(np.float32) / np.float32(exact)) / np.float32(np.log(_FARTHEST / exact))
    far = np.minimum(exact + (ratio * np.float32(half - exact)).astype(np.int64), half - 1)
    buckets: NDArray[np.int64] = np.where(apart < exact, apart, far) + half * (distances < 0)
    return buckets


def _of_length_1(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-30))
    return scaled


def _linear(states: Floats, matrix: Linear) -> Floats:
    """The rows of all sentences at once: one large product is several times as fast as many small ones."""
    product = states.reshape(-1, states.shape[-1]) @ matrix[0] + matrix[1]
    outputs: Floats = product.reshape(*states.shape[:-1], -1)
    return outputs


def _gelu(values: Floats) -> Floats:
    """Gaussian error linear unit (Hendrycks and Gimpel 2016), by the exact error function."""
    from scipy.special import erf

    activated: Floats = values * (1 + erf(values / np.float32(np.sqrt(2)))) / 2
    return activated


# Architectures of the BERT family: what each calls its parameters and tensors.

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


class Architecture(Struct, frozen=True):
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


# Reads the files of a sentence-transformers model: JSON and tensors.

WEIGHTS: Final = "model.safetensors"
_PICKLED: Final = "pytorch_model.bin"
MOST_DESCRIBED: Final = 256 << 20
"""No description of a model, the tokenizer with its words included, is larger."""
MOST_WEIGHTS: Final = 64 << 30
_LFS: Final = b"version https://git-lfs"
_SHOWN: Final = 40

_T = TypeVar("_T")


def decoded(path: Path, of: type[_T]) -> _T:
    """Read a JSON file.

    Raises:
        OSError: it does not exist, or cannot be read.
        ValueError: it is not JSON of this form.
    """
    try:
        return msgspec.json.decode(read_regular(path, most=MOST_DESCRIBED), type=of)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{path.name}: {error}") from None


def read_tensors(path: Path) -> Mapping[str, NDArray[np.float32]]:
    """Read the arrays of a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged, or there is only one that Python's pickle would have to run.
    """
    if not path.exists() and (path.parent / _PICKLED).exists():
        raise ValueError(
            f"{path.parent.name} holds {_PICKLED}, not {path.name}: load it in sentence-transformers and save it"
        )
    return {name: tensor.astype(np.float32, copy=False) for name, tensor in _stored(path).items()}


def _stored(path: Path) -> Mapping[str, NDArray[Any]]:
    """Read the arrays; bfloat16, which NumPy does not support, as floats."""
    from safetensors import SafetensorError, deserialize
    from safetensors.numpy import load_file

    with open_regular(path, most=MOST_WEIGHTS) as file:
        begin = file.read(len(_LFS))
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(pointer(begin) or f"{path.name}: {error}") from None
    except TypeError:  # a number type that NumPy lacks
        content = read_regular(path, most=MOST_WEIGHTS)
        read: list[tuple[str, dict[str, Any]]] = deserialize(content)  # type: ignore[no-untyped-call]
        if others := sorted({held["dtype"] for _, held in read} - {"BF16", "F32"}):
            raise ValueError(f"{path.name} holds numbers of the type {others[0]}") from None
        return {name: _numbers(held["data"], held["dtype"]).reshape(held["shape"]) for name, held in read}


def _numbers(data: bytes, kind: str) -> NDArray[np.float32]:
    if kind == "F32":
        return np.frombuffer(data, "<f4").astype(np.float32, copy=False)
    return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)


def pointer(content: bytes) -> str:
    """Report a file that is only a Git LFS pointer."""
    return "it holds pointers of Git LFS, not the files themselves: git lfs pull" if content.startswith(_LFS) else ""


def quoted(value: object) -> str:
    """Return a file's content, shortened, on one line."""
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
