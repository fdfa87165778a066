"""The cache that a CI host keeps between runs: restored before a run, and what is new kept after it.

Meanwhile it is a folder like any other one. Its archive is kept under a key with the digest of its entries: one with
other entries is ignored, whoever wrote it under that key, and whenever.
"""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from msgspec import Struct

from turncheck.ci.host import Host, HostCache, HostError
from turncheck.ci.hosts import find_host
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.process.cache import entries_in, surroundings
from turncheck.process.cache_archive import BadArchiveError, digest_of, pack, unpack, worth_keeping
from turncheck.process.output_files import remove, temporary_folder
from turncheck.settings.declared import of_scope, options
from turncheck.settings.repeats import AUTO
from turncheck.settings.secrets import secret_setting
from turncheck.settings.sources import combine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from turncheck.process.screen import Console

_ASK_FOR_RUNS: Final = frozenset({AUTO, "artifact"})
"""Values of ``baseline`` with which the search for the base asks for earlier runs."""
_FORMAT: Final = 1
_DIGEST: Final = re.compile(r"-([0-9a-f]{64})\Z")
_SHORT: Final = 12
_CHUNK: Final = 1 << 20
_MIB: Final = 1 << 20


@contextmanager
def cache_of_host(
    given: Mapping[str, Any], environment: Mapping[str, str], screen: Console, write: Callable[[str], object]
) -> Iterator[Mapping[str, Any]]:
    """Yield the settings of a run with the folder that holds what its host kept; keep what is new when the run is over.

    Whatever the host's cache does not do is said in one line, and the run goes on without it.

    Args:
        given: the settings from inputs.
        environment: the variables of the process.
        screen: where it is said.
        write: prints to the log, for what must not be shown there.

    Raises:
        UserError: the key of the cache cannot be used.
    """
    settings = combine(given)
    wanted = settings.cache == AUTO and settings.cache_folder is None
    host = find_host(environment, settings.token) if wanted else Host()
    cache = "" if host.run.of_a_fork else host.cache(write)
    if isinstance(cache, str):
        if cache:
            screen.note(f"{host.name}'s cache is not used: {cache}.")
        yield given
        return
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder("cache"))
        except UserError as error:
            screen.note(f"{host.name}'s cache is not used: {error.message}.")
            yield given
            return
        signed = secret_setting(settings, "cache-key", environment) is not None
        base_asks = settings.baseline in _ASK_FOR_RUNS
        kept = KeptCache(host, cache, folder, _prefix(given, signed=signed), signed, screen, time.time() - 1, base_asks)
        restored = kept.restore()
        yield {**given, "cache_folder": str(kept.entries)}
        if restored is not None and cache.saves(signed=signed):
            kept.save(but=restored)


class KeptCache(Struct, frozen=True):
    """The host's cache as one run uses it, by way of a folder that is empty at first."""

    host: Host
    cache: HostCache
    folder: Path
    prefix: str
    signed: bool
    screen: Console
    since: float
    """When the run began."""
    base_asks: bool = False
    """Whether the search for the base asks for earlier runs: it says if the token lacks the permission for both."""

    @property
    def entries(self) -> Path:
        """The folder of the cache."""
        return self.folder / "entries"

    def restore(self) -> frozenset[str] | None:
        """Restore what an earlier run kept, and return the names of its entries; ``None`` if the host does not answer
        as it should, so that it is not asked again."""
        archive = self.folder / "archive"
        try:
            with archive.open("w+b") as file:
                key = self.cache.restore(self.prefix, file, signed=self.signed)
                if key is not None:
                    file.seek(0)
                    self._unpack(key, file)
        except HostError as error:
            if not (error.forbidden and self.base_asks):
                self.screen.note(f"{self.host.name}'s cache is not used: {error.why}.")
            return None
        except OSError as error:
            self.screen.note(f"{self.host.name}'s cache is not used: {error.strerror or error}.")
            return None
        finally:
            archive.unlink(missing_ok=True)
        return frozenset(path.name for path in entries_in(self.entries))

    def _unpack(self, key: str, file: BinaryIO) -> None:
        digest = _DIGEST.search(key)
        try:
            why = "" if digest and unpack(file, self.entries) == digest[1] else "its content is not that of its key"
        except BadArchiveError as error:
            why = str(error)
        if why:
            remove(self.entries)
            self.screen.note(f"The entry {key[:200]} of {self.host.name}'s cache is ignored: {why}.")

    def save(self, *, but: frozenset[str]) -> None:
        """Keep what the run used, and some of the rest, unless all of it was restored."""
        used = worth_keeping(self.entries, self.since)
        if all(path.name in but for path in used):
            return
        archive = self.folder / "archive"
        try:
            run = self.host.run
            key = f"{self.prefix}{run.checked_out or run.commit or ''}-{digest_of(used)}"
            with archive.open("w+b") as file:
                pack(used, file)
                size = file.tell()
                file.seek(0)
                is_new = self.cache.save(key, iter(lambda: file.read(_CHUNK), b""))
        except HostError as error:
            self.screen.note(f"Nothing is kept in {self.host.name}'s cache: {error.why}.")
        except OSError as error:
            self.screen.note(f"Nothing is kept in {self.host.name}'s cache: {error.strerror or error}.")
        else:
            if is_new:
                number = count(len(used), "entry", "entries")
                self.screen.note(f"Kept in {self.host.name}'s cache: {number} ({size / _MIB:.1f} MiB).")


def _prefix(given: Mapping[str, Any], *, signed: bool) -> str:
    """Return the beginning of the keys of what a run like this can use: by the same software, of the same assistants.

    Jobs with other inputs, as a matrix has them, do not replace each other's entries.
    """
    software = "\0".join(f"{name}={words}" for name, words in sorted(surroundings().items()))
    measured = {"shard", *of_scope("measuring", "one assistant")}
    words = [
        f"{name}={given[name.replace('-', '_')]!r}"
        for name in sorted(measured)
        if name.replace("-", "_") in given and not options()[name].is_private
    ]
    parts = ("turncheck", str(_FORMAT), *(["signed"] if signed else []), _short(software), _short("\0".join(words)))
    return "-".join((*parts, ""))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_SHORT]
