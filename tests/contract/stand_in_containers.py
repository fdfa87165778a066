"""Stands in for tools/build_image.sh: images of two files, which are really pushed and pulled, but run nothing."""

import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
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


def main(command: str, *arguments: str) -> None:
    if os.environ.get("STAND_IN_FAILS") == command:
        sys.exit(f"the container engine failed to {command}")
    if command == "export":
        Path(arguments[1]).write_bytes(image())
    elif command == "pull":
        with tempfile.TemporaryDirectory() as folder:
            copied = [f"docker://{arguments[0]}", f"dir:{folder}"]
            subprocess.run(["skopeo", "copy", "-q", "--src-tls-verify=false", *copied], check=True)
    elif command == "run" and arguments[-1] == "--version":
        assert "--entrypoint" in os.environ["RUN_OPTIONS"], "that of the action knows no --version"
        package = Path(__file__).parents[1] / "src" / "turncheck" / "__init__.py"
        assigned = package.read_text("utf-8").partition('__version__ = "')[2].partition('"')[0]
        sys.stdout.write(f"turncheck {os.environ.get('STAND_IN_VERSION') or assigned}\n")
    elif command == "run":
        output = Path(arguments[2]) / "_runner_file_commands" / "output"
        output.write_text("verdict<<EOF\npassed\nEOF\n")
        sys.stdout.write("turncheck\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
