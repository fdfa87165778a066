"""Columns that only one row has, put together: a linear model needs one weight for all of them.

What a row learns is learnt by all its features in proportion, and these features by no other row. So one feature, as
long as they are together, gives the same products of rows, the same solution, and each weight back. Of many intents
with few sentences, most terms are such; the weights of a multi-class model would fill gigabytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE: Final = 512
"""The number of columns whose weights are computed at a time."""


@dataclass(frozen=True, slots=True)
class SingleColumns:
    """Which columns of a matrix only one row has."""

    width: int
    shared: NDArray[np.int64]
    """The columns that several rows have."""
    single: NDArray[np.int64]
    """The columns that one row has."""
    column_of: NDArray[np.int64]
    """Of each single column, the column that its row's single columns become."""
    share_of: NDArray[np.float64]
    """Of each single column, its share of that one."""

    @classmethod
    def together(cls, matrix: Any) -> tuple[Self, Any]:
        """Return the columns of a SciPy CSR matrix, and the matrix with each row's single columns as one."""
        from scipy import sparse

        rows, width = matrix.shape
        times = np.bincount(matrix.indices, minlength=width)
        is_single = times[matrix.indices] == 1
        single, values = matrix.indices[is_single].astype(np.int64), matrix.data[is_single]
        row_of = np.repeat(np.arange(rows), np.diff(matrix.indptr))[is_single]
        lengths = np.sqrt(np.bincount(row_of, weights=values**2, minlength=rows))
        with_any = np.flatnonzero(lengths)
        number = np.zeros(rows, dtype=np.int64)
        number[with_any] = np.arange(len(with_any))
        shared = np.flatnonzero(times > 1)
        put_together = sparse.csr_matrix((lengths[with_any], (with_any, number[with_any])), shape=(rows, len(with_any)))
        columns = cls(width, shared, single, len(shared) + number[row_of], values / lengths[row_of])
        return columns, sparse.hstack([matrix[:, shared], put_together], format="csr")

    def apart(self, weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return the weights of all columns, shape (width, labels), from those of the columns put together."""
        every = np.zeros((self.width, weights.shape[1]), dtype=np.float32)
        for first in range(0, len(self.shared), _AT_ONCE):
            some = slice(first, min(first + _AT_ONCE, len(self.shared)))
            every[self.shared[some]] = weights[some]
        for first in range(0, len(self.single), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            every[self.single[some]] = weights[self.column_of[some]] * self.share_of[some, None]
        return every
