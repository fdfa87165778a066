"""matplotlib with its own defaults, whatever the machine or the current folder configures."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

_BACKEND: Final = "MPLBACKEND"
"""Which backend to draw with; an unknown one ends the import."""


@cache
def figure_class() -> type[Figure]:
    """Return matplotlib's Figure, with matplotlib's own settings.

    Imported without this, it reads a ``matplotlibrc`` of the current folder before any other. On a pull request anybody
    may have written that file, and ``text.usetex`` in it has matplotlib run LaTeX on what is drawn.
    """
    backend = os.environ.pop(_BACKEND, None)
    try:
        with _in_its_own_folder():
            from matplotlib.figure import Figure  # only imported to draw
    finally:
        if backend is not None:
            os.environ[_BACKEND] = backend
    return Figure


@contextmanager
def _in_its_own_folder() -> Iterator[None]:
    """Change to the folder of matplotlib's own ``matplotlibrc``: there is no other way to make it read that."""
    found = find_spec("matplotlib")
    if found is None or not found.submodule_search_locations:
        yield
        return
    here = os.open(".", os.O_RDONLY)
    os.chdir(Path(found.submodule_search_locations[0]) / "mpl-data")
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)
