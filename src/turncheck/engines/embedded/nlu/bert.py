"""A BERT encoder (Devlin et al. 2019) in NumPy: token ids in, one vector per sentence out. It is not trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer of self-attention and feed-forward; matrices have shape (inputs, outputs)."""

    attend: tuple[Floats, Floats]
    """Queries, keys and values concatenated: weights and biases."""
    attended: tuple[Floats, Floats]
    attended_norm: tuple[Floats, Floats]
    widen: tuple[Floats, Floats]
    narrow: tuple[Floats, Floats]
    narrow_norm: tuple[Floats, Floats]

    @classmethod
    def of(cls, tensors: Mapping[str, Floats], prefix: str) -> Self:
        """Take one layer's tensors by the names that BERT's models use."""

        def pair(name: str) -> tuple[Floats, Floats]:
            return np.ascontiguousarray(tensors[f"{prefix}{name}.weight"].T), tensors[f"{prefix}{name}.bias"]

        asked = [pair(f"attention.self.{name}") for name in ("query", "key", "value")]
        return cls(
            (np.hstack([weights for weights, _ in asked]), np.concatenate([biases for _, biases in asked])),
            pair("attention.output.dense"),
            pair("attention.output.LayerNorm"),
            pair("intermediate.dense"),
            pair("output.dense"),
            pair("output.LayerNorm"),
        )


@dataclass(frozen=True, slots=True)
class BertEncoder:
    """Sentence vectors as sentence-transformers makes them: the mean over the last layer's tokens, of length 1."""

    words: Floats
    """Shape (vocabulary, width)."""
    positions: Floats
    """Shape (positions, width), the vector of token type 0 added."""
    norm: tuple[Floats, Floats]
    layers: tuple[_Layer, ...]
    heads: int
    epsilon: float
    of_first_token: bool = False
    """Whether a sentence's vector is that of its first token; else the mean over all of them."""

    @classmethod
    def of(
        cls,
        tensors: Mapping[str, Floats],
        *,
        layers: int,
        heads: int,
        epsilon: float,
        first_position: int = 0,
        of_first_token: bool = False,
    ) -> Self:
        """Take the tensors by the names that BERT's models use; RoBERTa's positions begin after its padding's."""
        positions = tensors["embeddings.position_embeddings.weight"][first_position:]
        return cls(
            tensors["embeddings.word_embeddings.weight"],
            positions + tensors["embeddings.token_type_embeddings.weight"][0],
            (tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"]),
            tuple(_Layer.of(tensors, f"encoder.layer.{number}.") for number in range(layers)),
            heads,
            epsilon,
            of_first_token,
        )

    @property
    def width(self) -> int:
        """The number of dimensions of a vector."""
        return int(self.words.shape[1])

    def encode(self, tokens: Sequence[Sequence[int]]) -> Floats:
        """Encode sentences with the same number of tokens, at two levels; shape (sentences, 2, width).

        The first is the last layer's vector, which is the model's own; the second the mean over the layers before it
        (except the lowest third) of their tokens' mean, of length 1 each and then together.
        """
        numbers = np.array(tokens)
        states = self._normalized(self.words[numbers] + self.positions[: numbers.shape[1]], self.norm)
        below = np.zeros((len(numbers), self.width), dtype=np.float32)
        for number, layer in enumerate(self.layers):
            if number >= len(self.layers) // 3:
                below += _of_length_1(states.mean(axis=1))
            states = self._through(layer, states)
        own = states[:, 0] if self.of_first_token else states.mean(axis=1)
        return np.stack([_of_length_1(own), _of_length_1(below)], axis=1)

    def _through(self, layer: _Layer, states: Floats) -> Floats:
        """Self-attention, then the feed-forward part; each is added to its input, and normalized."""
        count, length, width = states.shape
        split = _linear(states, layer.attend).reshape(count, length, 3, self.heads, width // self.heads)
        queries, keys, values = split.transpose(2, 0, 3, 1, 4)
        attention = queries @ keys.swapaxes(-1, -2) / np.float32(np.sqrt(width // self.heads))
        attention = np.exp(attention - attention.max(axis=-1, keepdims=True))
        attention /= attention.sum(axis=-1, keepdims=True)
        mixed = (attention @ values).swapaxes(1, 2).reshape(count, length, width)
        states = self._normalized(states + _linear(mixed, layer.attended), layer.attended_norm)
        return self._normalized(states + _linear(_gelu(_linear(states, layer.widen)), layer.narrow), layer.narrow_norm)

    def _normalized(self, states: Floats, norm: tuple[Floats, Floats]) -> Floats:
        """Layer normalization (Ba et al. 2016)."""
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + np.float32(self.epsilon)) * norm[0] + norm[1]
        normalized: Floats = scaled.astype(np.float32, copy=False)
        return normalized


def _of_length_1(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-30))
    return scaled


def _linear(states: Floats, matrix: tuple[Floats, Floats]) -> Floats:
    """The rows of all sentences at once: one large product is several times as fast as many small ones."""
    product = states.reshape(-1, states.shape[-1]) @ matrix[0] + matrix[1]
    outputs: Floats = product.reshape(*states.shape[:-1], -1)
    return outputs


def _gelu(values: Floats) -> Floats:
    """Gaussian error linear unit (Hendrycks and Gimpel 2016), by the exact error function."""
    from scipy.special import erf

    activated: Floats = values * (1 + erf(values / np.float32(np.sqrt(2)))) / 2
    return activated
