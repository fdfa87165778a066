"""What takes long is done once for all workers of a test run, whichever of them needs it first."""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def once(name: str, tmp_path_factory: pytest.TempPathFactory, make: Callable[[], Any]) -> Any:
    """Return what ``make`` returned in the first worker that asked; it has to be what JSON can hold."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    kept = folder / f"once-{name}.json"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_text(json.dumps(make()), "utf-8")
    return json.loads(kept.read_text("utf-8"))
