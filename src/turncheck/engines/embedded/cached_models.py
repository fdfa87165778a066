"""Trained models that are kept in a cache, as ``turncheck train`` writes them: data, nothing that is executed."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, TypeVar

from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.engines.embedded.policies.ensemble import Ensemble
    from turncheck.process.cache import Cache
    from turncheck.project.model import Config

Model = TypeVar("Model")
_NLU, _POLICIES = "trained pipeline", "set of trained policies"


def cached_nlu(cache: Cache, key: str | None, train: Callable[[], EmbeddedNluEngine]) -> EmbeddedNluEngine:
    """Return trained language understanding: that which is kept under the key, else it is trained and kept."""
    from turncheck.engines.embedded.nlu.persistence import read_nlu, write_nlu

    found = _read(cache, key, _NLU, read_nlu)
    if found is not None:
        return found
    engine = train()
    _write(cache, key, _NLU, lambda writer: write_nlu(writer, engine))
    return engine


def cached_ensemble(
    cache: Cache, key: str, config: Config, domain: DialogueDomain, train: Callable[[], Ensemble]
) -> Ensemble | None:
    """Return trained policies: those that are kept under the key, else they are trained and kept.

    ``domain`` is the one that they act in, which may have more than what they learnt from. Returns ``None`` where they
    cannot be kept.
    """
    from turncheck.engines.embedded.policies.archive import read_ensemble, write_ensemble

    def read(reader: MemberReader) -> Ensemble:
        return read_ensemble(reader, domain)

    found = _read(cache, key, _POLICIES, read)
    if found is not None:
        return found
    ensemble = train()
    members = _write(cache, key, _POLICIES, lambda writer: write_ensemble(writer, ensemble, config))
    return None if members is None else read(MemberReader(members))


def _read(cache: Cache, key: str | None, kind: str, read: Callable[[MemberReader], Model]) -> Model | None:
    if key is None or (content := cache.get(key, kind)) is None:
        return None
    try:
        return read(MemberReader(_members(content)))
    except (UserError, tarfile.TarError, ValueError, KeyError, TypeError, EOFError, OSError):
        cache.mark_damaged(key)
        return None


def _write(
    cache: Cache, key: str | None, kind: str, write: Callable[[MemberWriter], None]
) -> Mapping[str, bytes] | None:
    """Keep what ``write`` writes, and return it; ``None`` where it cannot be kept, and is trained each time."""
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
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        return {head.name: file.read() for head in archive if (file := archive.extractfile(head)) is not None}
