"""All files of the base: from the checkout, else fetched by git from a repository that has it, else by the host's API.

git fetches into a repository of its own, so that the checkout, which others use after us, stays as it is. The API gives
an archive, which is unpacked under limits. It may leave files out (``export-ignore`` in ``.gitattributes``), so it is
compared with the list of the tree.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import posixpath
import re
import tarfile
import tempfile
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, BinaryIO, Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from turncheck.ci.git import Checkout, GitError
from turncheck.ci.host import CloneAddress, CommitFiles, Host
from turncheck.ci.rest import RestClient, RestError
from turncheck.process.output_files import temporary_folder
from turncheck.process.regular_file import read_regular
from turncheck.process.system import owner_is_this_user
from turncheck.web.addresses import is_same_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

# Files that Git LFS keeps elsewhere: the base's files hold pointers to them, which say nothing about what they test.
#
# Source: the specification of the pointer file (``docs/spec.md`` of git-lfs).

_RULES: Final = frozenset({".gitattributes", ".lfsconfig"})
"""Which files git keeps elsewhere, and which of those a job fetches."""
_POINTER: Final = re.compile(
    rb"version https://git-lfs\.github\.com/spec/.*^oid sha256:([0-9a-f]{64})$", re.DOTALL | re.MULTILINE
)
_MOST_OF_A_POINTER: Final = 1024
_MOST_BYTES_OF_A_FILE: Final = 64 << 20
_READ: Final = frozenset({".yml", ".yaml", ".md", ".json"})
"""Suffixes of files that turncheck reads; a model or a picture may stay a pointer."""


def with_large_files(folder: Path, commit: str, checkout: Checkout | None, here: Path | None) -> frozenset[str]:
    """Put the contents of large files in the place of their pointers; return the paths of those that cannot be had.

    Args:
        folder: with the base's files.
        commit: the base.
        checkout: of this job.
        here: the top folder of this job's own files.

    A pointer that this job has in the same place, by the same rules, is one on both sides: jobs do not fetch it.
    """
    rules = _rules(folder)
    if not any(b"lfs" in content for content in rules.values()):
        return frozenset()
    same_rules = here is not None and rules == _rules(here)
    left_out = set()
    for path, pointer, digest in _pointers(folder):
        own = _content(here / path) if here is not None else None
        if own == pointer and same_rules:
            continue
        content = own if own is not None and hashlib.sha256(own).hexdigest() == digest else None
        if content is None and checkout is not None:
            content = checkout.unfiltered(commit, path)
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            left_out.add(path)
        else:
            (folder / path).write_bytes(content)
    return frozenset(left_out)


def _rules(folder: Path) -> Mapping[str, bytes]:
    """Return the files with the rules, by their paths."""
    found = {}
    for path in _files(folder):
        if path.name in _RULES and (content := _content(path)) is not None:
            found[path.relative_to(folder).as_posix()] = content
    return found


def _pointers(folder: Path) -> Iterator[tuple[str, bytes, str]]:
    for path in _files(folder):
        if path.suffix.lower() in _READ and not path.is_symlink() and path.stat().st_size <= _MOST_OF_A_POINTER:
            content = _content(path) or b""
            if match := _POINTER.match(content):
                yield path.relative_to(folder).as_posix(), content, match[1].decode()


def _files(folder: Path) -> Iterator[Path]:
    for current, folders, files in os.walk(folder):
        if ".git" in folders:
            folders.remove(".git")
        yield from (Path(current, name) for name in files)


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path, most=_MOST_BYTES_OF_A_FILE, follow=False)
    except OSError:
        return None


# The files of other repositories that the base includes: as this job has them, else from where the base says they are.
#
# A job that checks no submodules out has none on either side: they do not count. Whether it does must not depend on
# the change, which owns ``.gitmodules``: what that says about a submodule has to be what the base's own says, and git
# leaves an empty folder in the place of one that it knows and does not check out. One of which the base's own says
# nothing, such as a clone that somebody added by accident, is checked out by no job.

_FILE: Final = ".gitmodules"
_ALL: Final = frozenset({"."})
_MOST_BYTES_OF_GITMODULES: Final = 1024 * 1024
_SECTION: Final = re.compile(r'\[submodule "(?P<name>[^"\\]*)"\]')
_ENTRY: Final = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*)\s*=\s*(?P<value>.*)")
_REMARKS: Final = ("#", ";")


class Declared(Struct, frozen=True):
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

    def is_silent(self, path: str) -> bool:
        """Whether it certainly says nothing about a submodule."""
        return not self.at(path) and not self.others

    def says_the_same(self, path: str, other: Declared) -> bool:
        """Whether another file says the same of a submodule."""
        own = self.at(path)
        return bool(own) and own == other.at(path) and self.others == other.others


def declared(folder: Path) -> Declared:
    """Read the ``.gitmodules`` of a folder; without that file, nothing is said."""
    try:
        text = read_regular(folder / _FILE, most=_MOST_BYTES_OF_GITMODULES, follow=False).decode("utf-8", "replace")
    except OSError:
        return Declared({}, ())
    sections: dict[str, list[tuple[str, str]]] = {}
    others: list[str] = []
    section: list[tuple[str, str]] | None = None
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith(_REMARKS):
            continue
        if match := _SECTION.fullmatch(line):
            section = sections.setdefault(match["name"], [])
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
        elif place is not None and then.is_silent(path) and (_is_empty(place) or not os.path.lexists(place)):
            continue  # no job has it
        else:
            url = _address(then.url(path), source[0])
            lacking = (
                _fetched_submodule(url, commit, _connection_of_submodule(url, *source), folder / path, None)
                if url
                else _ALL
            )
        left_out |= {posixpath.normpath(posixpath.join(path, one)) for one in lacking}
    return frozenset(left_out)


def _connection_of_submodule(url: str, around: str, connection: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    """Return git's settings for a submodule: a header for every server may hold a token of the one around it."""
    if is_same_server(url, around):
        return connection
    return {name: values for name, values in connection.items() if name.lower() != "http.extraheader"}


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _wrote(here: Checkout, commit: str, folder: Path) -> frozenset[str]:
    """Write the files of a submodule's commit into a folder: from its own checkout, else from its remote.

    Return the paths in it that could not be had.
    """
    url, connection = here.address() or "", here.connection()
    if not here.has(commit):
        return _fetched_submodule(url, commit, connection, folder, here) if url else _ALL
    with temporary_folder("base") as holder:
        return _written(here, commit, folder, holder / "index", here, (url, connection))


def _fetched_submodule(
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


class NoFilesError(Exception):
    """The files of a commit cannot be had; the message says why."""


class _Place(Struct, frozen=True):
    """Where git may fetch from: an address, and the settings of git that let it in."""

    url: str
    connection: Mapping[str, list[str]]


@contextmanager
def files_of_commit(commit: str, checkout: Checkout | None, host: Host, top: Path | None) -> Iterator[CommitFiles]:
    """Write all files of a commit into a temporary folder, which is removed afterwards.

    Args:
        commit: its full object id.
        checkout: the working tree that this job has, if it has one.
        host: where this runs.
        top: the folder that this job's files of the repository are in.

    Raises:
        NoFilesError: it is neither here nor at the remote, and the host cannot be asked.
        HostError: the host was asked, and does not give them.
    """
    troubles: list[str] = []
    with ExitStack() as stack:
        files = None
        if checkout is not None and checkout.has(commit):
            try:
                files = stack.enter_context(_from_checkout(checkout, commit, host))
            except GitError as error:  # files that a partial clone lacks, say
                troubles.append(f"git: {error}")
        if files is None:
            for place in _places(checkout, host):
                try:
                    files = stack.enter_context(_fetched(place, commit, checkout))
                    break
                except GitError as error:
                    troubles.append(f"git fetch: {error}")
        if files is None and (asked := host.files_of(commit)) is not None:
            files = stack.enter_context(asked)
        if files is None:
            raise NoFilesError("; ".join(dict.fromkeys(troubles)))
        large = with_large_files(files.folder, commit, checkout, top)
        yield replace(files, left_out=that_matter(files.left_out, files.folder, top) | large)


@contextmanager
def _from_checkout(checkout: Checkout, commit: str, host: Host) -> Iterator[CommitFiles]:
    with checkout.files_of(commit) as folder:
        source = (checkout.address() or "", _connection(checkout, host))
        left_out = written_submodules(checkout.submodules(commit), folder, checkout, source)
        yield CommitFiles(folder, "git", left_out)


@contextmanager
def _fetched(place: _Place, commit: str, checkout: Checkout | None) -> Iterator[CommitFiles]:
    with temporary_folder("base") as holder:
        repository, folder = Checkout(holder / "repository"), holder / "tree"
        repository.top.mkdir()
        folder.mkdir()
        repository.fetch(place.url, commit, place.connection)
        repository.write(commit, folder, holder / "index")
        source = (place.url, place.connection)
        left_out = written_submodules(repository.submodules(commit), folder, checkout, source)
        yield CommitFiles(folder, "git", left_out)


def _places(checkout: Checkout | None, host: Host) -> Iterator[_Place]:
    """Where the base may be fetched: the checkout's own remote, with its logins; the host's repository with the token.

    An object id names the same files wherever they come from.
    """
    if checkout is not None and (url := checkout.address()):
        yield _Place(url, _connection(checkout, host))
    address = host.clone_address()
    if address is not None:
        yield _Place(address.url, _authorized(address))


def _connection(checkout: Checkout, host: Host) -> dict[str, list[str]]:
    """What a checkout says about connections.

    A folder that somebody else owns may hold programs in its configuration; a host's own checkout does not.
    """
    return checkout.connection() if host.name or owner_is_this_user(checkout.top.resolve()) else {}


def _authorized(address: CloneAddress) -> dict[str, list[str]]:
    if address.authorization is None:
        return {}
    return {f"http.{address.url}.extraheader": [f"Authorization: {address.authorization.reveal()}"]}


MOST_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of the compressed archive."""
MOST_UNPACKED: Final = 1024 * 1024 * 1024
MOST_FILES: Final = 100_000
_CHUNK: Final = 1024 * 1024
_IN_MEMORY: Final = 32 * 1024 * 1024


@contextmanager
def files_by_api(
    client: RestClient, path: str, listed: Iterable[str], *, needs: str | None = None, **parameters: str
) -> Iterator[CommitFiles]:
    """Fetch a commit's files into a temporary folder, and remove it afterwards.

    Args:
        client: asks the API.
        path: where it has the commit's ``.tar.gz``, and the ``parameters`` of the request.
        listed: the paths of all files and links of the commit, as the API lists them.
        needs: what the token must be allowed to.

    Raises:
        RestError: they cannot be had or listed, or are more than is taken.
    """
    with temporary_folder("base") as folder:
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
            taken: BinaryIO = file  # type: ignore[assignment]  # it has what is needed
            client.download(path, taken, MOST_BYTES, needs=needs, **parameters)
            file.seek(0)
            unpack(file, folder)
        expected = frozenset(listed)
        if not expected:
            raise RestError("the list of the base's files is empty")
        there = (one for one in expected if not os.path.lexists(folder / one))
        yield CommitFiles(folder, "tarball", frozenset(there))


def unpack(file: IO[bytes], folder: Path) -> None:
    """Unpack a repository's archive, without the one folder that everything in it is in.

    Devices and the like are left out; names that lead out are an error. Links are written last, so that no file is
    written through one.

    Raises:
        RestError: it is not an archive, or holds more than is taken.
    """
    left = MOST_UNPACKED
    links: dict[str, str] = {}
    try:
        with _Bounded(fileobj=file, mode="rb") as unzipped, tarfile.open(fileobj=unzipped, mode="r|") as archive:
            for number, member in enumerate(archive):
                if number >= MOST_FILES:
                    raise RestError(f"the archive of the base holds more than {MOST_FILES} files")
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts:
                    raise RestError("the archive of the base holds a name that leads out of it")
                name = "/".join(path.parts[1:])
                if member.issym() and name:
                    links[name] = member.linkname
                content = archive.extractfile(member) if member.isreg() else None
                if content is not None and name:
                    left -= _write(content, folder / name, left)
        write_links(folder, links)
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as error:
        raise RestError(f"the archive of the base cannot be unpacked ({type(error).__name__})") from None


_NO_RIGHT_TO_LINK: Final = 1314
"""What Windows answers whoever may not make symbolic links (ERROR_PRIVILEGE_NOT_HELD)."""


def write_links(folder: Path, links: Mapping[str, str]) -> None:
    """Write symbolic links, by their paths in a folder, once its files are there.

    Where Windows lets nobody make one, a file holds where it leads, as in a checkout that git makes there.

    Raises:
        RestError: one is below another link, or in the place of a file.
        OSError: one cannot be written.
    """
    for name, target in links.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(path) or path.parent.resolve() != folder.resolve() / Path(name).parent:
            raise RestError("the files of the base hold a link in the place of another file")
        try:
            path.symlink_to(target)
        except OSError as error:
            if getattr(error, "winerror", None) != _NO_RIGHT_TO_LINK:
                raise
            path.write_text(target, "utf-8", newline="")


class _Bounded(gzip.GzipFile):
    """A stream limited in size, including the headers, which :mod:`tarfile` reads completely into memory."""

    _read = 0

    def read(self, size: int | None = -1) -> bytes:
        chunk = super().read(size)
        self._read += len(chunk)
        if self._read > MOST_UNPACKED:
            raise RestError(f"the archive of the base is larger than {MOST_UNPACKED // 2**20} MiB")
        return chunk


def _write(content: IO[bytes], path: Path, limit: int) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with path.open("wb") as file:
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > limit:
                raise RestError(f"the archive of the base is larger than {MOST_UNPACKED // 2**20} MiB")
            file.write(chunk)
    return size


# A commit's files from an API that gives them one by one, for checkouts that do not have them.

MOST_SINGLE_FILES: Final = 1_000
"""Maximum number of files; each takes one request."""


class Listed(Struct, frozen=True):
    """A path of a commit: a file, a link, whose content is where it leads to, or what cannot be fetched here."""

    path: str
    is_link: bool = False
    left_out: bool = False


@contextmanager
def single_files(listed: Iterable[Listed], fetch: Callable[[str, BinaryIO, int], None]) -> Iterator[CommitFiles]:
    """Fetch a commit's files into a temporary folder, and remove it afterwards.

    Args:
        listed: all that the commit has.
        fetch: writes the content of a path, of this many bytes at most.

    Raises:
        RestError: they cannot be had, there are none, or more than is taken.
    """
    with temporary_folder("base") as folder:
        left = MOST_BYTES
        links: dict[str, str] = {}
        left_out: set[str] = set()
        number = 0
        for number, one in enumerate(listed, start=1):
            if number > MOST_SINGLE_FILES:
                raise RestError(f"the base holds more than {MOST_SINGLE_FILES:,} files, which are fetched one by one")
            parts = PurePosixPath(one.path.lstrip("/")).parts
            if not parts or ".." in parts or "\0" in one.path:
                raise RestError("the base holds a name that leads out of it")
            name = "/".join(parts)
            if one.left_out:
                left_out.add(name)
                continue
            target = folder / name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("w+b") as file:
                    fetch(one.path, file, left)
                    left -= file.tell()
                if one.is_link:
                    links[name] = target.read_bytes().decode("utf-8", "surrogateescape")
                    target.unlink()
            except (OSError, ValueError) as error:  # a name that is a folder's too, or too long
                raise RestError(f"a file of the base cannot be written ({type(error).__name__})") from None
        if not number:
            raise RestError("the list of the base's files is empty")
        try:
            write_links(folder, links)
        except (OSError, ValueError) as error:
            raise RestError(f"a link of the base cannot be written ({type(error).__name__})") from None
        yield CommitFiles(folder, "tarball", frozenset(left_out))
