"""One thread for numeric libraries: on small matrices several wait for each other, and the last digit of a sum depends
on how many there are.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def one_thread(kind: str | None = None) -> Iterator[None]:
    """Give the libraries that are loaded one thread until the end of the block.

    Args:
        kind: ``"blas"`` for those of linear algebra alone; ``None`` for OpenMP's, too.
    """
    with _libraries(len(sys.modules)).limit(limits=1, user_api=kind):
        yield


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:  # noqa: ARG001 - a library comes with a module: only then is looked again
    """Return the numeric libraries of this process; to look for them takes milliseconds, and files are asked for."""
    from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn, which not every engine needs

    return ThreadpoolController()
