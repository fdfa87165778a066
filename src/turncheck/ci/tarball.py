"""A commit's files from an archive of the API, for checkouts that do not have them: unpacked under limits.

An archive may leave files out (``export-ignore`` in ``.gitattributes``), so it is compared with the list of the tree.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, BinaryIO, Final

from turncheck.ci.host import CommitFiles
from turncheck.ci.rest import RestError
from turncheck.process.output_files import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from turncheck.ci.rest import RestClient


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


def write_links(folder: Path, links: Mapping[str, str]) -> None:
    """Write symbolic links, by their paths in a folder, once its files are there.

    Raises:
        RestError: one is below another link, or in the place of a file.
        OSError: one cannot be written.
    """
    for name, target in links.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(path) or path.parent.resolve() != folder.resolve() / Path(name).parent:
            raise RestError("the files of the base hold a link in the place of another file")
        path.symlink_to(target)


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


@dataclass(frozen=True, slots=True)
class Listed:
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
