"""Images of several platforms as one: an OCI image layout with an index, whose digest follows from its contents."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

INDEX = "application/vnd.oci.image.index.v1+json"


def join(archives: list[Path], layout: Path, annotations: dict[str, str]) -> str:
    """Write the images of OCI archives, one per platform, as one layout; return the digest of its index."""
    blobs = layout / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    entries = []
    for archive in archives:
        with tarfile.open(archive) as packed:
            for member in packed:
                path = Path(member.name)
                content = packed.extractfile(member) if member.isfile() else None
                if content is not None and path.parent.name == "sha256":
                    with (blobs / path.name).open("wb") as file:
                        while block := content.read(1 << 20):
                            file.write(block)
            (entry,) = _document(packed, "index.json")["manifests"]
        config = _blob(blobs, _blob(blobs, entry["digest"])["config"]["digest"])
        platform = {name: config[name] for name in ("architecture", "os", "variant") if config.get(name)}
        kept = {name: entry[name] for name in ("mediaType", "digest", "size")}
        entries.append({**kept, "platform": platform})
    entries.sort(key=lambda entry: sorted(entry["platform"].items()))
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries, "annotations": annotations}
    encoded = json.dumps(index, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(encoded).hexdigest()
    (blobs / digest).write_bytes(encoded)
    top = {"mediaType": INDEX, "digest": f"sha256:{digest}", "size": len(encoded)}
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [top]}), "utf-8")
    (layout / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}', "utf-8")
    return f"sha256:{digest}"


def digest_of(archive: Path) -> str:
    """Return the digest of the image in an OCI archive."""
    with tarfile.open(archive) as packed:
        (entry,) = _document(packed, "index.json")["manifests"]
    return str(entry["digest"])


def file_in(archive: Path, path: str) -> bytes:
    """Return a file of the image in an OCI archive.

    Raises:
        LookupError: none of its layers has the file.
    """
    with tarfile.open(archive) as packed:
        (entry,) = _document(packed, "index.json")["manifests"]
        manifest = _document(packed, _path(entry["digest"]))
        for layer in reversed(manifest["layers"]):
            blob = cast("IO[bytes]", packed.extractfile(_path(layer["digest"])))
            with _unpacked(blob, layer["mediaType"]) as stream, tarfile.open(fileobj=stream, mode="r|*") as files:
                for member in files:
                    if member.name.removeprefix("./") == path:
                        return cast("IO[bytes]", files.extractfile(member)).read()
    raise LookupError(f"{archive} has no {path}")


@contextmanager
def _unpacked(blob: IO[bytes], kind: str) -> Iterator[IO[bytes]]:
    """Yield what tarfile can read, which knows gzip, but not zstd."""
    if not kind.endswith("zstd"):
        yield blob
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(blob, copy)
        copy.seek(0)
        # Whoever has found what was looked for closes the stream, which ends the program.
        with subprocess.Popen(["zstd", "-dc"], stdin=copy, stdout=subprocess.PIPE) as program:
            yield cast("IO[bytes]", program.stdout)


def _path(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _document(packed: tarfile.TarFile, name: str) -> Any:
    member = next(one for one in packed if one.name.removeprefix("./") == name)
    with cast("IO[bytes]", packed.extractfile(member)) as content:
        return json.load(content)


def _blob(blobs: Path, digest: str) -> Any:
    return json.loads((blobs / digest.removeprefix("sha256:")).read_bytes())
