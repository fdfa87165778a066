"""A commit's files from an API that gives them one by one, for checkouts that do not have them."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from turncheck.ci.rest import RestError
from turncheck.ci.tarball import MOST_BYTES
from turncheck.process.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

MOST_FILES: Final = 1_000
"""Maximum number of files; each takes one request."""


@contextmanager
def single_files(listed: Iterable[str], fetch: Callable[[str, BinaryIO, int], None]) -> Iterator[Path]:
    """Fetch a commit's files into a temporary folder, and remove it afterwards.

    Args:
        listed: their paths in the repository.
        fetch: writes the file of a path, of this many bytes at most.

    Raises:
        RestError: they cannot be had, or are more than is taken.
    """
    with temporary_folder("base") as name:
        folder, left = Path(name), MOST_BYTES
        for number, path in enumerate(listed):
            if number >= MOST_FILES:
                raise RestError(f"the base holds more than {MOST_FILES:,} files, which are fetched one by one")
            parts = PurePosixPath(path.lstrip("/")).parts
            if not parts or ".." in parts or "\0" in path:
                raise RestError("the base holds a name that leads out of it")
            target = folder.joinpath(*parts)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("w+b") as file:
                    fetch(path, file, left)
                    left -= file.tell()
            except (OSError, ValueError) as error:  # a name that is a folder's too, or too long
                raise RestError(f"a file of the base cannot be written ({type(error).__name__})") from None
        yield folder
