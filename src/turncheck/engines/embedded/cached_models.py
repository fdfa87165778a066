"""Trained models in a cache, as ``turncheck train`` writes them: only data, nothing executable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.engines.embedded.cached_members import keep, read_kept
from turncheck.engines.embedded.model_archive import MemberReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.engines.embedded.policies.ensemble import Ensemble
    from turncheck.process.cache import Cache

_NLU, _POLICIES = "trained pipeline", "set of trained policies"


def cached_nlu(cache: Cache, key: str | None, train: Callable[[], EmbeddedNluEngine]) -> EmbeddedNluEngine:
    """Return trained language understanding: the one stored under the key, else it is trained and stored."""
    from turncheck.engines.embedded.nlu.persistence import read_nlu, write_nlu

    found = read_kept(cache, key, _NLU, read_nlu)
    if found is not None:
        return found
    engine = train()
    keep(cache, key, _NLU, lambda writer: write_nlu(writer, engine))
    return engine


def cached_ensemble(cache: Cache, key: str, domain: DialogueDomain, train: Callable[[], Ensemble]) -> Ensemble | None:
    """Return trained policies: those stored under the key, else they are trained and stored.

    ``domain`` is the one that they act in, which may have more than what they learnt from. Returns ``None`` if they
    cannot be stored.
    """
    from turncheck.engines.embedded.policies.archive import read_ensemble, write_ensemble

    def read(reader: MemberReader) -> Ensemble:
        return read_ensemble(reader, domain)

    found = read_kept(cache, key, _POLICIES, read)
    if found is not None:
        return found
    ensemble = train()
    members = keep(cache, key, _POLICIES, lambda writer: write_ensemble(writer, ensemble))
    return None if members is None else read(MemberReader(members))
