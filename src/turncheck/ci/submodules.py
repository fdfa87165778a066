"""The files of other repositories that the base includes: as this job has them, else from where the base says they are.

A job that checks no submodules out has none on either side: they do not count. Whether it does must not depend on the
change, which owns ``.gitmodules``: what that says about a submodule has to be what the base's own says, and git leaves
an empty folder in the place of one that it knows and does not check out.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from turncheck.ci.git import Checkout, GitError
from turncheck.process.regular_file import read_regular
from turncheck.process.temporary import temporary_folder
from turncheck.web.addresses import is_same_server

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_FILE: Final = ".gitmodules"
_ALL: Final = frozenset({"."})
_MOST_BYTES: Final = 1024 * 1024
_SECTION: Final = re.compile(r'\[submodule "(?P<name>[^"\\]*)"\]')
_ENTRY: Final = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*)\s*=\s*(?P<value>.*)")
_REMARKS: Final = ("#", ";")


@dataclass(frozen=True, slots=True)
class Declared:
    """What a ``.gitmodules`` says: the entries of each section by the name of its submodule, sections of the same name
    together, as git reads them; and the lines that only git understands."""

    entries: Mapping[str, tuple[tuple[str, str], ...]]
    others: tuple[str, ...]

    def at(self, path: str) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """Return the entries about the submodule at a path; empty if there are none."""
        return {name: entries for name, entries in self.entries.items() if ("path", path) in entries}

    def url(self, path: str) -> str:
        """Return where the submodule at a path comes from; "" if unknown."""
        return next((dict(entries).get("url", "") for entries in self.at(path).values()), "")

    def says_the_same(self, path: str, other: Declared) -> bool:
        """Whether another file says the same of a submodule."""
        own = self.at(path)
        return bool(own) and own == other.at(path) and self.others == other.others


def declared(folder: Path) -> Declared:
    """Read the ``.gitmodules`` of a folder; without that file, nothing is said."""
    try:
        text = read_regular(folder / _FILE, most=_MOST_BYTES, follow=False).decode("utf-8", "replace")
    except OSError:
        return Declared({}, ())
    sections: dict[str, list[tuple[str, str]]] = {}
    others: list[str] = []
    section: list[tuple[str, str]] | None = None
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith(_REMARKS):
            continue
        if found := _SECTION.fullmatch(line):
            section = sections.setdefault(found["name"], [])
        elif section is not None and (entry := _ENTRY.fullmatch(line)):
            section.append((entry["key"].lower(), entry["value"].strip().strip('"')))
        else:
            others.append(line)
            section = None if line.startswith("[") else section
    return Declared({name: tuple(entries) for name, entries in sections.items()}, tuple(others))


def that_matter(left_out: Iterable[str], base: Path, here: Path | None) -> frozenset[str]:
    """Return the paths that are missing in the base's files, without submodules that jobs do not check out.

    Args:
        left_out: the paths.
        base: the folder with the base's files.
        here: the top folder of this job's own files, if there is one.
    """
    if here is None:
        return frozenset(left_out)
    then, now = declared(base), declared(here)
    return frozenset(path for path in left_out if not (then.says_the_same(path, now) and _is_empty(here / path)))


def written_submodules(
    included: Mapping[str, str], folder: Path, checkout: Checkout | None, source: tuple[str, Mapping[str, list[str]]]
) -> frozenset[str]:
    """Write the files of submodules into the base's files; return the paths of those that could not be had.

    Args:
        included: their commits, by their paths.
        folder: with the base's files.
        checkout: of this job.
        source: the address of the repository that has the base, and git's settings for it.
    """
    then, left_out = declared(folder), set[str]()
    now = declared(checkout.top) if checkout is not None else Declared({}, ())
    for path, commit in included.items():
        place = checkout.top / path if checkout is not None else None
        if place is not None and (place / ".git").exists():
            lacking = _wrote(Checkout(place.resolve()), commit, folder / path)
        elif place is not None and then.says_the_same(path, now) and _is_empty(place):
            continue
        else:
            url = _address(then.url(path), source[0])
            lacking = _fetched(url, commit, _connection(url, *source), folder / path, None) if url else _ALL
        left_out |= {posixpath.normpath(posixpath.join(path, one)) for one in lacking}
    return frozenset(left_out)


def _connection(url: str, around: str, connection: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    """Return git's settings for a submodule: a header for every server may hold a token of the one around it."""
    if is_same_server(url, around):
        return connection
    return {name: values for name, values in connection.items() if name.lower() != "http.extraheader"}


def _is_empty(place: Path) -> bool:
    return place.is_dir() and not place.is_symlink() and not any(place.iterdir())


def _wrote(here: Checkout, commit: str, folder: Path) -> frozenset[str]:
    """Write the files of a submodule's commit into a folder: from its own checkout, else from its remote.

    Return the paths in it that could not be had.
    """
    url, connection = here.address() or "", here.connection()
    if not here.has(commit):
        return _fetched(url, commit, connection, folder, here) if url else _ALL
    with temporary_folder("base") as holder:
        return _written(here, commit, folder, holder / "index", here, (url, connection))


def _fetched(
    url: str, commit: str, connection: Mapping[str, list[str]], folder: Path, here: Checkout | None
) -> frozenset[str]:
    with temporary_folder("base") as holder:
        repository = Checkout(holder / "repository")
        repository.top.mkdir()
        try:
            repository.fetch(url, commit, connection)
        except GitError:
            return _ALL
        return _written(repository, commit, folder, holder / "index", here, (url, connection))


def _written(  # noqa: PLR0917 - where from, where to
    repository: Checkout,
    commit: str,
    folder: Path,
    index: Path,
    here: Checkout | None,
    source: tuple[str, Mapping[str, list[str]]],
) -> frozenset[str]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        repository.write(commit, folder, index)
    except (GitError, OSError):
        return _ALL
    return written_submodules(repository.submodules(commit), folder, here, source)


def _address(url: str, around: str) -> str:
    """Return the address of a submodule, which may be relative to that of the repository around it.

    >>> _address("../suite.git", "https://example.org/acme/bots.git")
    'https://example.org/acme/suite.git'
    >>> _address("../suite", "git@example.org:acme/bots")
    'git@example.org:acme/suite'
    """
    if not url.startswith(("./", "../")):
        return url
    parts = urlsplit(around)
    if parts.scheme and "://" in around:
        return parts._replace(path=posixpath.normpath(posixpath.join(parts.path, url))).geturl()
    before, colon, path = around.rpartition(":")
    return f"{before}{colon}{posixpath.normpath(posixpath.join(path, url))}"
