"""Reads the export from the ``.zip`` that the platform provides, within limits, never unpacking it to a folder."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import Final

from turncheck.project.kore.faults import EXPORT_NAMES

MAX_MEMBERS: Final = 10_000
"""A zip with more entries is not searched; an export has three."""

_DEEPEST: Final = 2
"""How deep in folders the file may be, in case somebody packed a folder."""
_MAGIC: Final = b"PK\x03\x04"
_ENCRYPTED: Final = 0x1


class ArchiveError(ValueError):
    """A zip that cannot be read; the message says why, as the end of a sentence."""


def is_archive(content: bytes) -> bool:
    """Whether these are the bytes of a zip."""
    return content.startswith(_MAGIC)


def holds_export(content: bytes) -> bool:
    """Whether a zip has an export in it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _export_of(archive) is not None
    except (zipfile.BadZipFile, ArchiveError, ValueError, OSError, NotImplementedError):
        return False


def read_export(content: bytes, limit: int) -> tuple[str, bytes]:
    """Return the name of the export in a zip and its content, of at most ``limit`` bytes.

    Raises:
        ArchiveError: it is damaged, encrypted, too large, or holds no export.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            member = _export_of(archive)
            if member is None:
                raise ArchiveError(f"holds neither {EXPORT_NAMES[0]} nor {EXPORT_NAMES[1]}")
            if member.flag_bits & _ENCRYPTED:
                raise ArchiveError("is encrypted")
            with archive.open(member) as file:
                unpacked = file.read(limit + 1)  # the size in the zip's directory may be wrong
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError("is damaged, or packed in a way that cannot be read") from None
    if len(unpacked) > limit:
        raise ArchiveError(f"unpacks to more than {limit:,} bytes")
    return member.filename, unpacked


def _export_of(archive: zipfile.ZipFile) -> zipfile.ZipInfo | None:
    """The topmost export."""
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise ArchiveError(f"has more than {MAX_MEMBERS:,} entries")
    found = [
        (len(path.parts), member.filename, member)
        for member in members
        if (path := PurePosixPath(member.filename)).name in EXPORT_NAMES and len(path.parts) <= _DEEPEST + 1
    ]
    return min(found, key=lambda one: one[:2])[2] if found else None
