"""What is published, built once from the released commit: the image of this platform, then everything beside it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from tools.release import registry
from tools.release.layout import digest_of, file_in, join
from tools.release.place import PACKAGE, ReleaseError, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.release.place import Place

RECORD = "release.json"
SUMS = "SHA256SUMS"
NOTICES = "THIRD-PARTY-NOTICES.txt"
NOTICES_IN_IMAGE = f"opt/{PACKAGE}/{NOTICES}"
_BILL = rf"{PACKAGE}-[\w.+-]+\.(?:spdx|cyclonedx)\.json"
_WRITTEN = re.compile(
    rf"{PACKAGE}-[\w.+-]+\.(?:whl|tar\.gz)(?:\.publish\.attestation)?|{_BILL}|{re.escape(NOTICES)}|{SUMS}"
    rf"|{re.escape(RECORD)}(?:\.new)?|image/(?:blobs/sha256/[0-9a-f]{{64}}|index\.json|oci-layout)"
    rf"|image-[0-9a-f]{{12}}/(?:linux-\w+\.tar(?:\.new(?:\.saved)?)?|{_BILL})"
)
"""The files of a release, and what an interrupted one leaves, as paths in its folder."""
_FOLDERS = re.compile(r"image(?:-[0-9a-f]{12})?")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class Built(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the folder of a release contains."""

    version: str
    commit: str
    digest: str
    """Of the image."""
    files: dict[str, str]
    """SHA-256 of each file that is published beside the image."""


def built(place: Place) -> Built:
    """Return what was built from the commit that is checked out.

    Raises:
        ReleaseError: nothing was, or something from another commit, or a file has changed since.
    """
    try:
        record = msgspec.json.decode((place.dist / RECORD).read_bytes(), type=Built)
    except FileNotFoundError as error:
        raise ReleaseError(f"{place.dist}: nothing has been built yet; run the step `build`") from error
    if (record.version, record.commit) != (place.version, place.commit):
        raise ReleaseError(
            f"{place.dist} has {record.version} of {record.commit[:12]}, but {place.version} of {place.commit[:12]} is"
            " checked out: remove the folder, or check that commit out"
        )
    changed = [name for name, digest in record.files.items() if sha256(place.dist / name) != digest]
    if changed:
        raise ReleaseError(
            f"{place.dist}: {', '.join(changed)} changed since the build: remove the folder and build again"
        )
    return record


def build_image(place: Place) -> bool:
    """Build the image for this machine's platform, with its bills of materials, or fetch what an earlier run pushed.

    Raises:
        ReleaseError: it cannot be built, or the folder has files that are not of a release.
    """
    ensure_own(place.dist)
    architecture = ARCHITECTURES[platform.machine()]
    parts = _parts(place)
    archive = parts / f"linux-{architecture}.tar"
    if archive.exists():
        return False
    with _new(archive) as new:
        if architecture in registry.platforms_of(place, place.candidate):
            registry.copy_platform(place, place.candidate, architecture, new)
        else:
            with _exported(place) as source:
                tool, tag = str(source / "tools" / "build_image.sh"), f"localhost/{PACKAGE}:{place.candidate}"
                run([tool, "build", str(source), tag], env={"SOURCE_DATE_EPOCH": place.time()})
                run([tool, "export", tag, str(new)])
                run([tool, "remove", tag])
        _bills_of_materials(place, new, parts / f"{PACKAGE}-{place.version}-linux-{architecture}")
    return True


def build(place: Place) -> bool:
    """Build the package, join the images of all platforms, and record what there is.

    Raises:
        ReleaseError: there is no image to join, or the folder has something of another commit, or not of a release.
    """
    if (place.dist / RECORD).exists():
        built(place)
        return False
    parts = _parts(place)
    archives = sorted(parts.glob("linux-*.tar"))
    if not archives:
        raise ReleaseError(f"{parts}: there is no image; run the step `image`")
    clear(place.dist, parts)
    build_package(place)
    (place.dist / NOTICES).write_bytes(file_in(archives[0], NOTICES_IN_IMAGE))
    for bill in parts.glob("*.json"):
        shutil.copy(bill, place.dist)
    annotations = {
        "org.opencontainers.image.source": f"https://github.com/{place.repository}",
        "org.opencontainers.image.revision": place.commit,
        "org.opencontainers.image.version": place.version,
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    digest = join(archives, place.dist / "image", annotations)
    files = {file.name: sha256(file) for file in sorted(place.dist.glob("*")) if file.is_file()}
    (place.dist / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in files.items()), "utf-8")
    files[SUMS] = sha256(place.dist / SUMS)
    record = Built(place.version, place.commit, digest, files)
    with _new(place.dist / RECORD) as new:
        new.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1))
    return True


def ensure_own(folder: Path) -> None:
    """Check that a folder, if there is one, has only what the release writes.

    Raises:
        ReleaseError: it has other files, with their names.
    """
    files = (
        file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_symlink() or not file.is_dir()
    )
    foreign = sorted(name for name in files if not _WRITTEN.fullmatch(name))
    if foreign:
        raise ReleaseError(
            f"{folder} has files that are not of a release: {_some(foreign)}; move them, or choose another --dist"
        )


def clear(folder: Path, kept: Path) -> None:
    """Remove what an earlier build left in a folder, but for one folder in it.

    Raises:
        ReleaseError: it has files that are not of a release; nothing was removed.
    """
    ensure_own(folder)
    for file in folder.glob("*"):
        if not file.is_dir():
            file.unlink()
        elif file != kept and _FOLDERS.fullmatch(file.name):
            shutil.rmtree(file)


def build_package(place: Place) -> None:
    """Build wheel and source distribution: the same bytes from the same commit, whatever else lies in the checkout.

    Raises:
        ReleaseError: they cannot be built, or lack a file of the commit.
    """
    with _exported(place) as source:
        new = source.parent / "package"
        command = [sys.executable, "-P", "-m", "hatchling", "build", "-d", str(new)]
        run(command, folder=source, env={"SOURCE_DATE_EPOCH": place.time()})
        _ensure_nothing_is_left_out(place, new)
        place.dist.mkdir(parents=True, exist_ok=True)
        for file in new.iterdir():
            shutil.move(file, place.dist / file.name)


def _parts(place: Place) -> Path:
    """The images by platform, which several machines may have built."""
    return place.dist / f"image-{place.commit[:12]}"


def sha256(file: Path) -> str:
    """Return the digest of a file, or nothing if it is not there."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else ""


def _bills_of_materials(place: Place, archive: Path, stem: Path) -> None:
    """Write what an image contains, in both formats; time and identity are those of the commit and of the image."""
    spdx, cyclonedx = (stem.with_name(f"{stem.name}.{kind}.json") for kind in ("spdx", "cyclonedx"))
    outputs = ["-o", f"spdx-json={spdx}", "-o", f"cyclonedx-json={cyclonedx}"]
    named = ["--source-name", PACKAGE, "--source-version", place.version]
    run(["syft", "scan", f"oci-archive:{archive}", "-q", *named, *outputs], env={"SYFT_CHECK_FOR_APP_UPDATE": "false"})
    time = place.git("log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", env={"TZ": "UTC"})
    identity = digest_of(archive).removeprefix("sha256:")
    document = json.loads(spdx.read_text("utf-8"))
    document["creationInfo"]["created"] = time
    document["documentNamespace"] = f"https://github.com/{place.repository}/sbom/{stem.name}-{identity}"
    _write(spdx, document)
    document = json.loads(cyclonedx.read_text("utf-8"))
    document["metadata"]["timestamp"] = time
    document["serialNumber"] = "urn:uuid:" + "-".join(
        identity[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    )
    _write(cyclonedx, document)


def _write(file: Path, document: Any) -> None:
    file.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")


@contextmanager
def _exported(place: Place) -> Iterator[Path]:
    """Yield the files of the commit in a folder of their own: nothing else can get into what is built."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "source.tar"
        place.git("archive", "--format=tar", f"--output={archive}", "HEAD")
        source = Path(folder) / "source"
        try:
            with tarfile.open(archive) as packed:
                packed.extractall(source, filter="data")
        except tarfile.FilterError as refused:
            raise ReleaseError(f"the commit cannot be built: {refused}") from refused
        if differing := [path for path, blob in _files_of(place).items() if _blob_of(source / path) != blob]:
            raise ReleaseError(
                f"{_some(differing)}: git archive leaves this out or alters it; remove what .gitattributes says of it"
            )
        yield source


def _files_of(place: Place) -> dict[str, str]:
    """Return the object of each file and link of the commit, by its path."""
    listed = filter(None, place.git("ls-tree", "-r", "-z", "--full-tree", "HEAD", strip=False).split("\0"))
    entries = (line.partition("\t") for line in listed)
    return {path: facts.split()[2] for facts, _, path in entries}


def _blob_of(path: Path) -> str:
    """Return the name that git gives to what a file contains or a link names; "" if there is neither."""
    if path.is_symlink():
        content = os.fsencode(path.readlink())
    elif path.is_file():
        content = path.read_bytes()
    else:
        return ""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _ensure_nothing_is_left_out(place: Place, built_in: Path) -> None:
    """Check that the package has all its modules: what .gitignore names is left out, whether it is committed or not."""
    own = [path for path in _files_of(place) if path.startswith(f"src/{PACKAGE}/")]
    (wheel,) = built_in.glob("*.whl")
    (source,) = built_in.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive, tarfile.open(source) as packed:
        packages = (
            {f"src/{name}" for name in archive.namelist()},
            {name.partition("/")[2] for name in packed.getnames()},
        )
    if lacking := [path for path in own if not all(path in names for names in packages)]:
        raise ReleaseError(f"{_some(lacking)}: not in the package; remove what .gitignore or pyproject.toml says of it")


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")


@contextmanager
def _new(file: Path) -> Iterator[Path]:
    """Yield a name beside a file; it becomes that file at the end, so that there is never half of one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.new")
    yield new
    new.replace(file)
