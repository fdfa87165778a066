"""Entries of a cache as one archive, as a CI host keeps it between runs.

It is a tar file compressed by gzip, with the folder :data:`FOLDER` at its top, as ``@actions/cache`` makes and reads
it. The digest of its entries is part of the name that it is kept under, so that only those are taken that the name was
given to.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tarfile
import time
import zlib
from typing import IO, TYPE_CHECKING, BinaryIO, Final

from turncheck.process.cache import MOST_BYTES, entries_in
from turncheck.process.regular_file import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FOLDER: Final = "turncheck-cache"
_NAME: Final = re.compile(rf"{FOLDER}/(?P<key>(?P<two>[0-9a-f]{{2}})/(?P=two)[0-9a-f]{{14,126}}\.entry)")
_MOST_ENTRIES: Final = 100_000
_CHUNK: Final = 1 << 20
_AGO: Final = 60.0
_LEVEL: Final = 1
"""Of gzip: most entries are compressed already."""
_LEAST_SPARE: Final = 8 << 20
"""Bytes of unused entries that are kept in any case."""


class BadArchiveError(Exception):
    """The archive is not one, or has something else in it than entries, or more than is read; says what is wrong."""


def worth_keeping(folder: Path, since: float) -> list[Path]:
    """Return the entries that were made or used since a time, in the order of their names, and of the others the most
    recently used ones, as many again: who takes a whole pipeline does not touch its steps, which the next change needs.
    """
    found = [(stat.st_mtime, stat.st_size, path) for path in entries_in(folder) for stat in (path.lstat(),)]
    kept = [path for used, _, path in found if used >= since]
    spare = max(_LEAST_SPARE, sum(size for used, size, _ in found if used >= since))
    for _, size, path in sorted((one for one in found if one[0] < since), reverse=True):
        spare -= size
        if spare < 0:
            break
        kept.append(path)
    return sorted(kept)


def digest_of(entries: Iterable[Path]) -> str:
    """Return the digest of the names and contents of entries that are in the order of their names.

    Raises:
        OSError: one cannot be read.
    """
    whole = hashlib.sha256()
    for path in entries:
        with open_regular(path, most=MOST_BYTES, follow=False) as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        whole.update(_line(f"{path.parent.name}/{path.name}", digest))
    return whole.hexdigest()


def pack(entries: Iterable[Path], file: BinaryIO) -> None:
    """Write entries into a file, with the time when each was used.

    Raises:
        OSError: one cannot be read, or the file cannot be written.
    """
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=_LEVEL, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path in entries:
            member = tarfile.TarInfo(f"{FOLDER}/{path.parent.name}/{path.name}")
            member.size, member.mtime = path.stat().st_size, int(path.stat().st_mtime)
            with path.open("rb") as content:
                archive.addfile(member, content)


def unpack(file: BinaryIO, folder: Path) -> str:
    """Write the entries of an archive below an empty folder, and return the digest of all of them.

    None counts as used since now: the cache marks those that it uses with the present time.

    Raises:
        BadArchiveError: it holds something else; what was written until then is still there.
        OSError: an entry cannot be written.
    """
    lines: dict[str, bytes] = {}
    left = MOST_BYTES
    try:
        with (
            _Limited(fileobj=file, mode="rb") as packed,
            tarfile.open(fileobj=packed, mode="r|") as archive,
        ):
            for member in archive:
                if member.isdir():
                    continue
                name = _NAME.fullmatch(member.name)
                content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
                left -= member.size
                if name is None or content is None or name["key"] in lines or left < 0 or len(lines) >= _MOST_ENTRIES:
                    raise BadArchiveError("it has something else in it than entries, or more of them than are read")
                lines[name["key"]] = _line(name["key"], _write(folder / name["key"], content, member.mtime))
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, ValueError, MemoryError):
        raise BadArchiveError("it is damaged") from None
    return hashlib.sha256(b"".join(lines[key] for key in sorted(lines))).hexdigest()


def _line(key: str, digest: str) -> bytes:
    return f"{key} {digest}\n".encode()


def _write(path: Path, content: IO[bytes], used: float) -> str:
    """Write an entry, and return the digest of its content."""
    digest = hashlib.sha256()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as written:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            written.write(chunk)
    used = min(max(used, 0.0), time.time() - _AGO)
    os.utime(path, (used, used))
    return digest.hexdigest()


class _Limited(gzip.GzipFile):
    """What is unpacked, up to a limit: a small archive may hold any number of zeros."""

    left = 2 * MOST_BYTES

    def read(self, size: int | None = -1) -> bytes:
        content = super().read(size)
        self.left -= len(content)
        if self.left < 0:
            raise ValueError("more than is read")
        return content
