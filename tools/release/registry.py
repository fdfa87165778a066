"""The image in its registry, by skopeo: which digest a tag has, and a tag for a digest."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from tools.release.place import ReleaseError, run

if TYPE_CHECKING:
    from pathlib import Path

    from tools.release.place import Place

_ABSENT = re.compile(r"manifest unknown|name unknown|repository name not known|not found", re.IGNORECASE)


def digest_of(place: Place, tag: str) -> str | None:
    """Return the digest that a tag has, or None if there is no such tag."""
    raw = _manifest(place, f":{tag}")
    return None if raw is None else "sha256:" + hashlib.sha256(raw.encode()).hexdigest()


def platforms_of(place: Place, tag: str) -> list[str]:
    """Return the architectures that the image of a tag is for."""
    raw = _manifest(place, f":{tag}")
    document: Any = {} if raw is None else json.loads(raw)
    return [entry["platform"]["architecture"] for entry in document.get("manifests", [])]


def ensure_tag(place: Place, tag: str, digest: str, source: str) -> bool:
    """Give an image a tag, unless it has it; return whether there was something to do.

    Raises:
        ReleaseError: the tag is that of another image.
    """
    present = digest_of(place, tag)
    if present is None:
        run(
            [
                "skopeo",
                "copy",
                "--all",
                "--preserve-digests",
                *_tls(place, "src", "dest"),
                source,
                f"docker://{place.image}:{tag}",
            ]
        )
        present = digest_of(place, tag)
        if present == digest:
            return True
    if present != digest:
        raise ReleaseError(f"{place.image}:{tag} is {present}, expected {digest}; nothing was overwritten")
    return False


def copy_platform(place: Place, tag: str, architecture: str, archive: Path) -> None:
    """Write the image of one platform as an OCI archive, byte for byte as it was pushed."""
    chosen = ["--override-os", "linux", "--override-arch", architecture]
    source = f"docker://{place.image}:{tag}"
    run(["skopeo", *chosen, "copy", "--preserve-digests", *_tls(place, "src"), source, f"oci-archive:{archive}"])


def _manifest(place: Place, suffix: str) -> str | None:
    try:
        return run(["skopeo", "inspect", "--raw", *_tls(place, ""), f"docker://{place.image}{suffix}"])
    except ReleaseError as refused:
        if _ABSENT.search(str(refused)):
            return None
        raise


def _tls(place: Place, *sides: str) -> list[str]:
    return [f"--{side}-tls-verify=false".replace("---", "--") for side in sides] if place.plain_http else []
