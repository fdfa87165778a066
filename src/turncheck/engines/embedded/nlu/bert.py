"""Encoders of the BERT family (Devlin et al. 2019) in NumPy: token ids in, one vector per sentence out; not trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Linear = tuple[Floats, Floats]
    """A matrix of shape (inputs, outputs), and the biases; of a normalization: scales and biases."""

_FARTHEST: Final = 128
"""From this distance on, MPNet does not tell distances between tokens apart."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of self-attention and feed-forward."""

    attend: Linear
    """Queries, keys and values concatenated."""
    attended: Linear
    attended_norm: Linear
    widen: Linear
    narrow: Linear
    narrow_norm: Linear


@dataclass(frozen=True, slots=True)
class Dense:
    """What some models put sentences' vectors through at the end."""

    linear: Linear
    tanh: bool
    of_length_1: bool
    """Whether vectors are scaled to length 1 first."""

    def __call__(self, vectors: Floats) -> Floats:
        """Apply it to each row."""
        outputs = _linear(_of_length_1(vectors) if self.of_length_1 else vectors, self.linear)
        return np.tanh(outputs) if self.tanh else outputs


@dataclass(frozen=True, slots=True)
class BertEncoder:
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
