"""Rows of sentence features: sparse n-grams and, if enabled, dense sentence vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turncheck.engines.embedded.nlu.ngrams import SparseRows


@dataclass(frozen=True, slots=True)
class FeatureRows:
    """One row for each sentence; the columns of the n-grams come first."""

    ngrams: SparseRows
    vectors: NDArray[np.float32] | None = None
    """Shape (rows, width of the vectors)."""
    products: NDArray[np.float64] | None = None
    """The products of all pairs of rows, shape (rows, rows), if known."""

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.ngrams)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.ngrams.width + (0 if self.vectors is None else self.vectors.shape[1])

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which rows are empty."""
        if self.vectors is not None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(np.diff(self.ngrams.starts) == 0)

    def take(self, rows: NDArray[np.int64]) -> FeatureRows:
        """Return these rows, in this order."""
        vectors = None if self.vectors is None else self.vectors[rows]
        products = None if self.products is None else self.products[np.ix_(rows, rows)]
        return FeatureRows(self.ngrams.take(rows), vectors, products)

    def of_vectors(self) -> FeatureRows:
        """The same without n-grams: as many columns, which are empty."""
        if self.vectors is None:
            raise AssertionError("no vectors")
        return FeatureRows(self.ngrams.emptied(), self.vectors)

    def with_products(self) -> FeatureRows:
        """The same with the products of all pairs of rows, which subsets keep: models of some of the rows need them."""
        if self.products is not None:
            return self
        products = self.ngrams.products()
        if self.vectors is not None:
            products += self.vectors @ self.vectors.T
        return replace(self, products=products)

    @property
    def known_products(self) -> NDArray[np.float64]:
        """The products of all pairs of rows, from :meth:`with_products`."""
        if self.products is None:
            raise AssertionError("no products")
        return self.products

    def times(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Multiply by a dense matrix of shape (width, outputs); returns (rows, outputs)."""
        border = self.ngrams.width
        product = self.ngrams.times(weights[:border])
        return product if self.vectors is None else product + self.vectors @ weights[border:]

    def weighted_sums(self, weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """Sum the weighted rows, for each column of ``weights`` (rows, outputs); (width, outputs)."""
        sums = self.ngrams.weighted_sums(weights)
        if self.vectors is None:
            return sums
        return np.concatenate([sums, self.vectors.T @ weights.astype(np.float32)])

    def to_scipy(self) -> Any:
        """As a SciPy CSR matrix in double precision, for scikit-learn."""
        from scipy import sparse

        ngrams = self.ngrams.to_scipy()
        if self.vectors is None:
            return ngrams
        return sparse.hstack([ngrams, sparse.csr_matrix(self.vectors.astype(np.float64))], format="csr")
