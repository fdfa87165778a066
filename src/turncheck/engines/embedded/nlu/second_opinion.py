"""A second classifier for few sentences: its terms, plain counts of words and characters, and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypedDict

import numpy as np

from turncheck.engines.embedded.nlu.feature_rows import FeatureRows
from turncheck.engines.embedded.nlu.linear import LinearModel
from turncheck.engines.embedded.nlu.ngrams import all_terms, count_known, count_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter


class _Terms(TypedDict):
    terms: list[str]
    factor: float


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """Scores that are added to those of the first classifier."""

    columns: dict[str, int]
    """Term → column of its count."""
    linear: LinearModel
    factor: float
    """The factor on its scores, which is its weight."""

    def scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return what is added, shape (texts, intents)."""
        rows = FeatureRows(count_known(texts, all_terms, self.columns))
        return self.linear.scores(rows).astype(np.float64) * self.factor

    def save(self, members: MemberWriter) -> None:
        """Write terms, weights and factor."""
        members.json("terms", {"terms": list(self.columns), "factor": self.factor})
        self.linear.save(members)

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`."""
        head = members.json("terms", _Terms)
        columns = {term: column for column, term in enumerate(head["terms"])}
        return cls(columns, LinearModel.load(members, len(columns)), head["factor"])


def count(texts: Sequence[str]) -> tuple[dict[str, int], FeatureRows]:
    """Learn the terms of texts; return their columns with the counts."""
    columns, rows = count_terms(texts, all_terms, 1)
    return columns, FeatureRows(rows)
