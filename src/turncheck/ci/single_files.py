"""A commit's files from an API that gives them one by one, for checkouts that do not have them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from turncheck.ci.host import CommitFiles
from turncheck.ci.rest import RestError
from turncheck.ci.tarball import MOST_BYTES, write_links
from turncheck.process.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

MOST_FILES: Final = 1_000
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
            if number > MOST_FILES:
                raise RestError(f"the base holds more than {MOST_FILES:,} files, which are fetched one by one")
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
