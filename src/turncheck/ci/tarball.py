"""A commit's files from the API, for checkouts that do not have them: unpacked under limits, regular files alone."""

from __future__ import annotations

import gzip
import tarfile
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, BinaryIO, Final

from turncheck.ci.rest import RestError
from turncheck.process.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.ci.rest import RestClient

MOST_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of the compressed archive."""
MOST_UNPACKED: Final = 1024 * 1024 * 1024
MOST_FILES: Final = 100_000
_CHUNK: Final = 1024 * 1024
_IN_MEMORY: Final = 32 * 1024 * 1024


@contextmanager
def files_by_api(client: RestClient, path: str, *, needs: str | None = None, **parameters: str) -> Iterator[Path]:
    """Fetch a commit's files into a temporary folder, and remove it afterwards.

    Args:
        client: asks the API.
        path: where it has the commit's ``.tar.gz``, and the ``parameters`` of the request.
        needs: what the token must be allowed to.

    Raises:
        RestError: they cannot be had, or are more than is taken.
    """
    with temporary_folder("base") as folder:
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
            taken: BinaryIO = file  # type: ignore[assignment]  # it has what is needed
            client.download(path, taken, MOST_BYTES, needs=needs, **parameters)
            file.seek(0)
            unpack(file, Path(folder))
        yield Path(folder)


def unpack(file: IO[bytes], folder: Path) -> None:
    """Unpack a repository's archive, without the one folder that everything in it is in.

    Links and everything else that is not a file are left out; names that lead out are an error.

    Raises:
        RestError: it is not an archive, or holds more than is taken.
    """
    left = MOST_UNPACKED
    try:
        with _Bounded(fileobj=file, mode="rb") as unzipped, tarfile.open(fileobj=unzipped, mode="r|") as archive:
            for number, member in enumerate(archive):
                if number >= MOST_FILES:
                    raise RestError(f"the archive of the base holds more than {MOST_FILES} files")
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts:
                    raise RestError("the archive of the base holds a name that leads out of it")
                content = archive.extractfile(member) if member.isreg() else None
                if content is None or len(path.parts) < 2:
                    continue
                left -= _write(content, folder.joinpath(*path.parts[1:]), left)
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError) as error:
        raise RestError(f"the archive of the base cannot be unpacked ({type(error).__name__})") from None


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
