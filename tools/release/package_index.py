"""The package index: files are uploaded once, and never replaced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tools.release.build import built
from tools.release.place import run

if TYPE_CHECKING:
    from tools.release.place import Place


def ensure_published(place: Place) -> bool:
    """Upload wheel and source distribution; uv skips those that the index has, and refuses to go on if it has others.

    In a job of GitHub's with `id-token: write`, uv gets its rights from PyPI's trusted publishing.

    Raises:
        ReleaseError: the index has a file of this name with other contents, or refuses the upload.
    """
    files = [str(place.dist / name) for name in built(place).files if name.endswith((".whl", ".tar.gz"))]
    # uv sends the signature of a file only if it is named as well.
    files += [signature for file in files if Path(signature := f"{file}.publish.attestation").exists()]
    run(["uv", "publish", "--no-config", "--publish-url", place.upload, "--check-url", place.index, *files])
    return True
