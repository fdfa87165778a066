"""What the stand-ins learn from: n-grams, and beside them sentence vectors where they are switched on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from turncheck.engines.embedded.nlu.ngrams import NgramFeatures, SparseRows, beside
from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter

_LENGTH: Final = 2.0
"""How long a sentence vector is beside word part and character part, of length 1 each. Of 1, 1.5, 2 and 3 few sentences
want more and many want less; this one is within a point and a half of the best on each of banking77, SNIPS and NLU++,
with all sentences as with 5 or 13 an intent."""


@dataclass(frozen=True, slots=True)
class SentenceFeatures:
    """Sentence → one row of features."""

    ngrams: NgramFeatures
    vectors: SentenceVectors | None = None

    @classmethod
    def fit(cls, texts: Sequence[str], vectors: SentenceVectors | None) -> tuple[Self, SparseRows]:
        """Learn the n-grams; return the features with those of ``texts``."""
        ngrams, rows = NgramFeatures.fit(texts)
        features = cls(ngrams, vectors)
        return features, features._with_vectors(rows, texts)

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Return the features of ``texts``."""
        return self._with_vectors(self.ngrams.transform(texts), texts)

    def _with_vectors(self, rows: SparseRows, texts: Sequence[str]) -> SparseRows:
        if self.vectors is None:
            return rows
        return beside(rows, SparseRows.of_dense(self.vectors.of(texts) * _LENGTH))

    def save(self, members: MemberWriter) -> None:
        """Write the n-grams, and which vectors are needed."""
        self.ngrams.save(members)
        if self.vectors is not None:
            self.vectors.save(members)

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`.

        Raises:
            UserError: the vectors that are needed are not installed.
        """
        return cls(NgramFeatures.load(members), SentenceVectors.load(members))
