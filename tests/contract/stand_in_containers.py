"""Stands in for tools/build_image.sh: images of two files, which are really pushed and pulled, but run nothing."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FILES = {
    "opt/turncheck/THIRD-PARTY-NOTICES.txt": b"Third-party software\n",
    "etc/os-release": b'ID=debian\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\n',
    "var/lib/dpkg/status.d/git": b"Package: git\nStatus: install ok installed\nVersion: 1:2.39.5\nArchitecture: amd64\n"
    b"Maintainer: nobody <n@example.org>\nDescription: version control\n",
}


def tar(files: Mapping[str, bytes], folders: Sequence[str] = ()) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in folders:
            member = tarfile.TarInfo(name)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(member)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def image() -> bytes:
    layer = tar(FILES)
    blobs: dict[str, bytes] = {}

    def kept(kind: str, content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    rootfs = {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}
    config = json.dumps({"architecture": architecture, "os": "linux", "config": {}, "rootfs": rootfs}).encode()
    manifest: dict[str, Any] = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json"}
    manifest |= {"config": kept("config.v1+json", config), "layers": [kept("layer.v1.tar", layer)]}
    top = kept("manifest.v1+json", json.dumps(manifest).encode())
    index = json.dumps({"schemaVersion": 2, "manifests": [top]}).encode()
    return tar(
        {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index, **blobs}, ("blobs", "blobs/sha256")
    )


# A release runs it dozens of times, and a shell starts in a hundredth of Python's time.
SCRIPT = """\
#!/bin/sh
set -eu
if [ "${STAND_IN_FAILS:-}" = "$1" ]; then
  echo "the container engine failed to $1" >&2
  exit 1
fi
here=$(dirname "$0")
for last; do :; done
case "$1 $last" in
  export*)
    cp "$here/image.tar" "$3" ;;
  pull*)
    folder=$(mktemp -d)
    trap 'rm -r "$folder"' EXIT
    skopeo copy -q --src-tls-verify=false "docker://$2" "dir:$folder" ;;
  "run --version")
    case "$RUN_OPTIONS" in *--entrypoint*) ;; *) echo "the action knows no --version" >&2; exit 1 ;; esac
    assigned=$(sed -n 's/^__version__ = "\\(.*\\)"$/\\1/p' "$here/../src/turncheck/__init__.py")
    echo "turncheck ${STAND_IN_VERSION:-$assigned}" ;;
  run*)
    printf 'verdict<<EOF\\npassed\\nEOF\\n' > "$4/_runner_file_commands/output"
    echo turncheck ;;
esac
"""


def write_stand_in(folder: Path) -> None:
    """Write the program, and beside it the image that it has always built."""
    (folder / "build_image.sh").write_text(SCRIPT)
    (folder / "image.tar").write_bytes(image())
