"""The package index: files are uploaded once, and never replaced."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.release.build import built
from tools.release.place import run

if TYPE_CHECKING:
    from tools.release.place import Place


def ensure_published(place: Place, *options: str) -> bool:
    """Upload wheel and source distribution; uv skips those that the index has, and refuses to go on if it has others.

    Raises:
        ReleaseError: the index has a file of this name with other contents, or refuses the upload.
    """
    files = [str(place.dist / name) for name in built(place).files if name.endswith((".whl", ".tar.gz"))]
    uv = str(Path(sys.executable).parent / "uv")
    command = [uv, "publish", "--no-config", "--publish-url", place.upload, "--check-url", place.index, *options]
    run([*command, *files])
    return True
