"""From `uses:` to the first line: the pull of the action's image from a registry on this machine, and its start.

    python benchmarks/image.py             builds the image as the release does
    python benchmarks/image.py ARCHIVE     takes one that `tools/build_image.sh export` has written

Prints the compressed size and the seconds; ends with 1 beyond a limit. Nothing of the image is here before: it is
pulled into an empty store. Needs Debian's docker-registry and skopeo.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import requests

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tools.release.smoke import first_line  # noqa: E402

LIMIT_SECONDS = 15
LIMIT_MEGABYTES = 140


def build(archive: Path) -> None:
    """Build the image of this checkout, and write it as it is published."""
    tool, name = ROOT / "tools" / "build_image.sh", "localhost/turncheck:benchmark"
    subprocess.run([tool, "build", ROOT, name], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tool, "export", name, archive], check=True)
    subprocess.run([tool, "remove", name], check=True)


def measure(archive: Path, folder: Path) -> tuple[float, float]:
    """Return the seconds of the pull, and those from the start of the container to its first line."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    config = folder / "registry.yml"
    config.write_text(
        f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/blobs}}}}\nhttp: {{addr: '{host}'}}\n"
    )
    serve, silent = ["docker-registry", "serve", str(config)], subprocess.DEVNULL
    with subprocess.Popen(serve, stdout=silent, stderr=silent) as registry:
        try:
            while not _answers(f"http://{host}/v2/"):
                time.sleep(0.05)
            reference = f"{host}/turncheck:benchmark"
            copied = [f"oci-archive:{archive}", f"docker://{reference}"]
            subprocess.run(["skopeo", "copy", "-q", "--dest-tls-verify=false", *copied], check=True)
            return first_line(ROOT, reference)
        finally:
            registry.kill()


def _answers(address: str) -> bool:
    try:
        return requests.get(address, timeout=5).ok
    except requests.ConnectionError:
        return False


def main() -> int:
    """Print the figures; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, nargs="?")
    given = parser.parse_args().archive
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        archive = given or folder / "image.tar"
        if given is None:
            build(archive)
        megabytes = archive.stat().st_size / 1e6
        os.environ["IMAGE_STORE"] = str(folder / "store")
        try:
            pulled, first = measure(archive, folder)
        finally:
            subprocess.run([ROOT / "tools" / "build_image.sh", "clean"], check=True)
    print("| compressed MB | pulled in s | first line after s | together |\n|---|---|---|---|")
    print(f"| {megabytes:.0f} | {pulled:.1f} | {first:.1f} | {pulled + first:.1f} |")
    return 0 if megabytes <= LIMIT_MEGABYTES and pulled + first <= LIMIT_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
