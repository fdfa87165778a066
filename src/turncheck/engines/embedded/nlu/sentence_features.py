"""What the stand-ins learn from: n-grams and, if enabled, sentence vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from turncheck.engines.embedded.nlu.feature_rows import FeatureRows
from turncheck.engines.embedded.nlu.ngrams import NgramFeatures
from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter

_LENGTH: Final = 2.0
"""The length of a sentence vector; word part and character part have length 1 each. Of 1, 1.5, 2 and 3, few sentences
need more and many need less; this one is within a point and a half of the best on each of banking77, SNIPS and NLU++,
with all sentences as well as with 5 or 13 per intent."""

_LENGTH_OF_LEVEL: Final = 1.75
"""The same for each of the two vectors of few sentences."""


@dataclass(frozen=True, slots=True)
class SentenceFeatures:
    """Sentence → one row of features.

    For few sentences both levels of the encoder are used, each minus its mean: what all sentences of an assistant share
    does not distinguish intents. Unknown terms show that a text is far from all sentences, and count in its
    n-grams.
    """

    ngrams: NgramFeatures
    vectors: SentenceVectors | None = None
    means: NDArray[np.float32] | None = None
    """The mean vectors of both levels one after the other, if there are few sentences."""

    @classmethod
    def fit(cls, texts: Sequence[str], vectors: SentenceVectors | None, *, few: bool) -> tuple[Self, FeatureRows]:
        """Learn the n-grams and, for few sentences, the vectors' means; return the features with those of ``texts``."""
        ngrams, rows = NgramFeatures.fit(texts, unknown_count=few)
        means = np.hstack(vectors.of_levels(texts)).mean(axis=0) if few and vectors is not None else None
        features = cls(ngrams, vectors, means)
        return features, FeatureRows(rows, features._vectors(texts))

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.ngrams.width if self.vectors is None else self.transform(("",)).width

    def transform(self, texts: Sequence[str]) -> FeatureRows:
        """Return the features of ``texts``."""
        return FeatureRows(self.ngrams.transform(texts), self._vectors(texts))

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        if self.vectors is None:
            return None
        if self.means is None:
            return self.vectors.of(texts) * np.float32(_LENGTH)
        levels = self.vectors.of_levels(texts)
        means = np.split(self.means, [levels[0].shape[1]])
        return np.hstack([_apart(level, mean) for level, mean in zip(levels, means, strict=True)])

    def save(self, members: MemberWriter) -> None:
        """Write the n-grams, and which vectors are needed."""
        self.ngrams.save(members)
        if self.vectors is not None:
            self.vectors.save(members)
            if self.means is not None:
                members.arrays("means", {"means": self.means})

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`.

        Raises:
            UserError: the vectors that are needed are not installed.
        """
        means = members.arrays("means")["means"].reshape(-1) if members.has("means.npz") else None
        return cls(NgramFeatures.load(members), SentenceVectors.load(members), means)


def _apart(vectors: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    """What distinguishes each row from the mean, of one length."""
    apart = vectors - mean
    apart *= _LENGTH_OF_LEVEL / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-9)
    return apart
