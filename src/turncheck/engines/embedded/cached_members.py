"""Archives of members in a cache: only data, nothing executable."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, TypeVar

from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter, members_of
from turncheck.messages.errors import UserError
from turncheck.process.cache import MOST_BYTES
from turncheck.process.unpack import BoundedGzip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.process.cache import Cache

Model = TypeVar("Model")


def read_kept(cache: Cache, key: str | None, kind: str, read: Callable[[MemberReader], Model]) -> Model | None:
    """Return what ``read`` makes of the members under a key, ``None`` if there are no readable ones."""
    if key is None or (content := cache.get(key, kind)) is None:
        return None
    try:
        return read(MemberReader(_members(content)))
    except Exception:  # noqa: BLE001 - what somebody put there may go wrong in any way, and is only ignored
        cache.mark_damaged(key, kind)
        return None


def keep(cache: Cache, key: str | None, kind: str, write: Callable[[MemberWriter], None]) -> Mapping[str, bytes] | None:
    """Store what ``write`` writes, and return it; ``None`` if it cannot be stored, and is trained each time."""
    if key is None:
        return None
    writer = MemberWriter()
    try:
        write(writer)
    except (UserError, TypeError, ValueError):
        return None
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for name, content in sorted(writer.members.items()):
            head = tarfile.TarInfo(name)
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
    cache.put(key, kind, packed.getvalue())
    return writer.members


def _members(content: bytes) -> dict[str, bytes]:
    with BoundedGzip(io.BytesIO(content), MOST_BYTES) as unpacked:
        return dict(members_of(unpacked))
