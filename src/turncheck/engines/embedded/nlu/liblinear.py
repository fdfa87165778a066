"""Crammer and Singer's multi-class SVM by LIBLINEAR, as scikit-learn has it, without importing scikit-learn.

CPU seconds to solve the first sentences of banking77 (77 intents) and of our example clinic (40), beside coordinate
descent over the Gram matrix in a loop of Python, whose matrix has to be computed first:

    sentences                          50     229   1,000   1,590   3,000
    banking77   LIBLINEAR           0.003   0.029    0.27    0.32    0.61
    clinic      LIBLINEAR           0.001   0.019    0.06    0.12       –
    clinic      Python, a tenth as exact
                                    0.018   0.196    1.10    1.83       –
    clinic      the Gram matrix     0.001   0.009    0.20    0.60       –

Importing ``sklearn.svm`` takes 0.8 to 1.0 s, of which the solver needs 0.01: its own module and three others that it
is linked with. So these are loaded by their files; whoever imports scikit-learn later gets the same modules. Where they
are laid out in another way, scikit-learn is imported as usual. No other dependency has a solver of this problem:
SciPy's are for a few hundred variables, of which there are as many here as sentences times intents.

The optimum is unique. Every solution begins at zero, so that it depends on nothing but the sentences: not on what was
solved before it, on a cache, or on how many processes there are; nor on the processor, since LIBLINEAR's sums are in
its own loops.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from sysconfig import get_config_var
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from turncheck.process.little_memory import ensure_room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from turncheck.engines.ngrams import SparseRows

_PACKAGES: Final = ("scipy", "sklearn")
_SUFFIX: Final = str(get_config_var("EXT_SUFFIX"))
_MODULE: Final = "sklearn.svm._liblinear"
_LINKED: Final = ("scipy._cyutility", "scipy.linalg.cython_blas", "sklearn._cyutility", "sklearn.utils._cython_blas")
"""What it is linked with, in this order; which of them exist depends on the versions."""
_CRAMMER_SINGER: Final = 4
"""LIBLINEAR's number for the problem."""
_MOST_SWEEPS: Final = 1000
_NOT_USED: Final = 0.1
"""The width of the insensitive loss, which only regressions have."""


class Matrix(Struct, frozen=True):
    """What LIBLINEAR reads of a SciPy CSR matrix."""

    data: NDArray[Any]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int32]
    shape: tuple[int, int]

    @classmethod
    def of(cls, rows: SparseRows) -> Matrix:
        """Take rows as they are."""
        values, columns, starts = rows.values, rows.columns, rows.starts.astype(np.int32)
        if not len(values):  # LIBLINEAR looks at the first value of all
            values, columns = np.zeros(1, dtype=np.float32), np.zeros(1, dtype=np.int32)
            starts = np.append(0, np.ones(len(rows), dtype=np.int32)).astype(np.int32)
        return cls(np.ascontiguousarray(values), np.ascontiguousarray(columns), starts, (len(rows), rows.width))

    @property
    def dtype(self) -> Any:
        """The type of its values."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many values it has."""
        return len(self.data)


def fit_machine(
    matrix: Any, truth: NDArray[np.int64], labels: int, *, penalty: float, tolerance: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of features, shape (features, labels), and the intercepts.

    Args:
        matrix: one row per sentence, a :class:`Matrix` or a SciPy CSR matrix.
        truth: the rows' labels; each label occurs.
        labels: their number, at least two.
        penalty: the SVM's C.
        tolerance: the largest remaining violation of the optimality conditions.
        seed: for the order in which sentences are visited.
    """
    solver = _solver()
    if solver is None:
        return _fit_by_import(matrix, truth, penalty, tolerance, seed)
    of_labels, of_rows = np.ones(labels), np.ones(len(truth))
    found, _ = solver.train_wrap(
        matrix,
        truth.astype(np.float64),
        True,
        _CRAMMER_SINGER,
        tolerance,
        1.0,  # the intercept is one more feature, always 1
        penalty,
        of_labels,
        _MOST_SWEEPS,
        seed % 2**31,
        _NOT_USED,
        of_rows,
    )
    return found[:, :-1].T, np.ascontiguousarray(found[:, -1])


def _fit_by_import(
    matrix: Any, truth: NDArray[np.int64], penalty: float, tolerance: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Do the same by what scikit-learn has for everybody."""
    from scipy import sparse
    from sklearn.svm import LinearSVC

    rows = sparse.csr_matrix((matrix.data.astype(np.float64), matrix.indices, matrix.indptr), shape=matrix.shape)
    model = LinearSVC(
        multi_class="crammer_singer", C=penalty, tol=tolerance, max_iter=_MOST_SWEEPS, random_state=seed % 2**31
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about exhausted sweeps, and nearly as many labels as sentences
        model.fit(rows, truth)
    weights, intercepts = model.coef_.T, np.asarray(model.intercept_, dtype=np.float64)
    if weights.shape[1] == 1:  # of two labels it only keeps the difference
        return np.hstack([-weights / 2, weights / 2]), np.concatenate([-intercepts / 2, intercepts / 2])
    return weights, intercepts


@cache
def _solver() -> Any | None:
    """Return scikit-learn's module for LIBLINEAR; ``None`` if it cannot be loaded without the rest."""
    places = {name: spec.submodule_search_locations for name in _PACKAGES if (spec := find_spec(name))}
    loaded: Any = None
    try:
        with _stand_ins():
            for name in (*_LINKED, _MODULE):
                package, *below = name.split(".")
                files = (Path(place, *below).with_suffix(_SUFFIX) for place in places[package] or ())
                if (file := next(filter(Path.is_file, files), None)) is not None:
                    loaded = sys.modules.get(name) or _loaded(name, file)
    except (ImportError, KeyError):
        return None
    if not hasattr(loaded, "train_wrap"):
        return None
    loaded.set_verbosity_wrap(0)
    return loaded


@contextmanager
def _stand_ins() -> Iterator[None]:
    """Put empty modules in the places of packages: what is linked asks for them, and would have them imported."""
    here = {name: ModuleType(name) for name in _PACKAGES if name not in sys.modules}
    sys.modules.update(here)
    try:
        yield
    finally:
        for name, empty in here.items():
            if sys.modules.get(name) is empty:
                del sys.modules[name]


def _loaded(name: str, file: Path) -> Any:
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    ensure_room(name)
    module = sys.modules[name] = module_from_spec(spec)  # what is linked with it asks for it by its name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
