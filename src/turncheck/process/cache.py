"""Earlier results, kept by the digest of everything that they depend on.

An entry is only used if it is complete: it names its key and the digest of its content, or with a secret their
signature. A damaged one is ignored, reported and removed. Nothing in an entry is executed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from platform import machine, python_version
from typing import TYPE_CHECKING, ClassVar, Final

from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.process.output_files import atomic_write, remove
from turncheck.process.regular_file import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from turncheck.process.environment import Secret

_HEAD: Final = "turncheck cache v1"
_SIGNED: Final = "turncheck cache v1 signed"
_SUFFIX: Final = ".entry"
MOST_BYTES: Final = 1 << 30
"""Above this size, the least recently used entries are removed."""
_SEVERAL: Final = {"set of trained policies": "sets of trained policies"}
"""Kinds of entries whose plural has no s at its end."""
_MOST_NAMED: Final = 3
"""Damaged entries, so many of which are named one by one."""
_LIBRARIES: Final = ("numpy", "scipy", "scikit-learn", "python-crfsuite", "skops", "regex", "msgspec")


@dataclass(slots=True)
class Cache:
    """Entries in a folder; ``found`` and ``kept`` count them by what they are, ``damaged`` names those ignored.

    ``unsigned``: those that were not signed with ``secret``. ``trouble``: why the first of those that could not be
    kept was not; ``unkept``: how many there are since one was.
    """

    compression: ClassVar[int] = 1
    """How models are compressed, by gzip's levels."""
    folder: Path
    secret: Secret | None = None
    found: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    damaged: list[Path] = field(default_factory=list)
    unsigned: list[Path] = field(default_factory=list)
    trouble: UserError | None = None
    unkept: int = 0

    def surroundings(self) -> Mapping[str, str]:
        """Return what the entries depend on besides what they are made of; their keys have it."""
        return surroundings()

    def get(self, key: str, kind: str) -> bytes | None:
        """Return the content that was kept under a key, ``None`` if there is no valid entry."""
        path = self._path(key)
        try:
            whole = read_regular(path, most=MOST_BYTES, follow=False)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        except (OSError, MemoryError):  # a pipe, a folder, a link, a file without end, a broken disk
            self._ignore(path)
            return None
        head, _, content = whole.partition(b"\n")
        if not hmac.compare_digest(head, self._head(key, content)):
            if self.secret is not None or head.startswith(_SIGNED.encode()):
                self.unsigned.append(path)
            else:
                self._ignore(path)
            return None
        self.found[kind] = self.found.get(kind, 0) + 1
        with suppress(OSError):
            path.touch()  # mark it as used: unused entries are removed first
        return content

    def put(self, key: str, kind: str, content: bytes) -> None:
        """Keep a content. If it cannot be written, it is not kept; that is reported, and nothing fails."""
        path = self._path(key)
        try:
            with suppress(OSError):
                if path.is_symlink() or (path.exists() and not path.is_file()):
                    remove(path)
            with atomic_write(path) as file:
                file.write(self._head(key, content) + b"\n" + content)
        except UserError as error:
            self.trouble = self.trouble or error
            self.unkept += 1
        else:
            self.kept[kind] = self.kept.get(kind, 0) + 1
            self.unkept = 0

    def put_made(self, key: str, kind: str, make: Callable[[], bytes | None]) -> None:
        """Keep the content that ``make`` returns, if it can be made."""
        content = make()
        if content is not None:
            self.put(key, kind, content)

    def mark_damaged(self, key: str, kind: str) -> None:
        """Ignore from now on an entry that was found: its content has changed."""
        self.found[kind] -= 1
        self._ignore(self._path(key))

    def _ignore(self, path: Path) -> None:
        self.damaged.append(path)
        with suppress(OSError):
            remove(path)

    def trim(self, most: int = MOST_BYTES) -> None:
        """Remove the least recently used entries until all together are at most ``most`` bytes."""
        entries = []
        for path in entries_in(self.folder):
            with suppress(OSError):
                stat = path.lstat()
                entries.append((stat.st_mtime, stat.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= most:
                break
            with suppress(OSError):
                path.unlink()
                total -= size

    def notes(self) -> list[str]:
        """Return notes on what was taken from the cache, and what could not be used."""
        said = [f"The cache entry {path} is damaged: it is ignored." for path in self.damaged]
        if len(said) > _MOST_NAMED:
            said = [f"{len(said):,} cache entries in {self.folder} are damaged: they are ignored."]
        if self.unsigned:
            number = count(len(self.unsigned), "cache entry", "cache entries")
            verb = "is" if len(self.unsigned) == 1 else "are"
            said.append(f"{number} in {self.folder} {verb} not signed with this run's cache key: ignored.")
        if self.trouble is not None:
            what = "keeps nothing more" if self.unkept else "could not keep everything"
            said.append(f"The cache {what}: {self.trouble.message}.")
        if found := {kind: number for kind, number in self.found.items() if number}:
            words = ", ".join(count(number, kind, _SEVERAL.get(kind)) for kind, number in sorted(found.items()))
            said.append(f"Unchanged, and taken from the cache: {words}.")
        return said

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{_SUFFIX}"

    def _head(self, key: str, content: bytes) -> bytes:
        if self.secret is None:
            return f"{_HEAD} {key} {hashlib.sha256(content).hexdigest()}".encode()
        secret = self.secret.reveal().encode()
        signature = hmac.new(secret, f"{_SIGNED} {key}\n".encode() + content, hashlib.sha256)
        return f"{_SIGNED} {key} {signature.hexdigest()}".encode()


class RunCache(Cache):
    """Entries of this run alone, in memory: what both sides learn alike is learnt once, though nothing is kept."""

    compression: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__(Path())
        self._entries_here: dict[str, Callable[[], bytes | None]] = {}

    def __reduce__(self) -> tuple[type[RunCache], tuple[()]]:
        """Begin empty in another process: what is not made yet cannot be sent, and other folds learn other things."""
        return RunCache, ()

    def surroundings(self) -> Mapping[str, str]:
        """Return nothing: code, libraries and machine stay the same until the run ends."""
        return {}

    def get(self, key: str, kind: str) -> bytes | None:  # noqa: ARG002 - as above
        """Return the content that was kept under a key."""
        make = self._entries_here.get(key)
        content = None if make is None else make()
        if content is not None:
            self._entries_here[key] = lambda: content
        return content

    def put(self, key: str, kind: str, content: bytes) -> None:
        """Keep a content until the run ends."""
        self.put_made(key, kind, lambda: content)

    def put_made(self, key: str, kind: str, make: Callable[[], bytes | None]) -> None:  # noqa: ARG002 - as above
        """Have a content made when it is asked for: most are not."""
        self._entries_here[key] = make

    def mark_damaged(self, key: str, kind: str) -> None:  # noqa: ARG002 - as above
        """Ignore an entry from now on."""
        del self._entries_here[key]

    def trim(self, most: int = MOST_BYTES) -> None:
        """Keep everything: it is gone after the run."""

    def notes(self) -> list[str]:
        """Return nothing: it is no news that a run remembers what it did."""
        return []


def entries_in(folder: Path) -> Iterator[Path]:
    """Yield all entries below a folder, of folders that can be read."""
    return (path for below in _listed(folder) for path in _listed(below) if path.suffix == _SUFFIX)


def _listed(folder: Path) -> list[Path]:
    """Return what is in a folder; nothing if it is not one, or may not be read."""
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries]
    except OSError:
        return []


@cache
def surroundings() -> Mapping[str, str]:
    """Return what every result depends on besides its inputs: our own code, the libraries, the kind of machine."""
    own = hashlib.sha256()
    root = str(Path(__file__).parents[1])
    for path in _code_below(root):
        own.update(f"{path.removeprefix(root)}\0".encode() + hashlib.sha256(Path(path).read_bytes()).digest())
    found = {name: _version(name) for name in _LIBRARIES}
    return {**found, "turncheck": own.hexdigest(), "python": python_version(), "machine": machine(), "cpu": _cpu()}


def _code_below(folder: str) -> list[str]:
    """Return all modules of Python in a folder and those below it, in order."""
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [f"{where}/{name}" for name in names if name.endswith(".py")]
    return sorted(found)


def _version(library: str) -> str:
    """Return the version of an installed library, by the name of its folder of metadata if that says it.

    ``importlib.metadata`` parses each of them as an e-mail, and imports what does.
    """
    wanted = re.compile(rf"{library.replace('-', '[-_.]')}-([^-]+)\.dist-info", re.IGNORECASE)
    for folder in sys.path:
        found = {match[1] for name in _names_in(folder) if (match := wanted.fullmatch(name))}
        if len(found) == 1:
            return found.pop()
    from importlib.metadata import version

    return version(library)


@cache
def _names_in(folder: str) -> tuple[str, ...]:
    try:
        return tuple(entry.name for entry in os.scandir(folder or os.curdir))
    except OSError:  # there is none, or it is an archive
        return ()


def software() -> Mapping[str, str]:
    """Return the software that results depend on; processors are left out, since no two machines need have the same."""
    found = surroundings()
    return {"code": found["turncheck"]} | {
        name: words for name, words in found.items() if name not in {"turncheck", "cpu"}
    }


def difference_of_software(found: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Describe how two sets of software differ, such as "numpy 1.26.4, not 2.3.5"; empty if they do not."""
    names = sorted(name for name in found.keys() | here.keys() if found.get(name) != here.get(name))
    return ", ".join(
        "different code of turncheck" if name == "code" else f"{name} {found.get(name)}, not {here.get(name)}"
        for name in names
    )


def _cpu() -> str:
    """The processor's features: the last digit of a sum may depend on them."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        return next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return ""
