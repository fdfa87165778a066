"""All files of the base: from the checkout, else fetched by git from a repository that has it, else by the host's API.

git fetches into a repository of its own, so that the checkout, which others use after us, stays as it is.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.ci.git import Checkout, GitError
from turncheck.ci.host import CommitFiles
from turncheck.process.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from turncheck.ci.host import CloneAddress, Host


class NoFilesError(Exception):
    """The files of a commit cannot be had; the message says why."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where git may fetch from: an address, and the settings of git that let it in."""

    url: str
    connection: Mapping[str, Sequence[str]]


@contextmanager
def files_of_commit(commit: str, checkout: Checkout | None, host: Host) -> Iterator[CommitFiles]:
    """Write all files of a commit into a temporary folder, which is removed afterwards.

    Raises:
        NoFilesError: it is neither here nor at the remote, and the host cannot be asked.
        HostError: the host was asked, and does not give them.
    """
    troubles: list[str] = []
    with ExitStack() as stack:
        files = None
        if checkout is not None and checkout.has(commit):
            try:
                files = stack.enter_context(_from_checkout(checkout, commit))
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
        yield files


@contextmanager
def _from_checkout(checkout: Checkout, commit: str) -> Iterator[CommitFiles]:
    with checkout.files_of(commit) as folder:
        yield CommitFiles(folder, "git", _without_submodules(checkout, checkout, commit, folder))


@contextmanager
def _fetched(place: _Place, commit: str, checkout: Checkout | None) -> Iterator[CommitFiles]:
    with temporary_folder("base") as holder:
        repository, folder = Checkout(holder / "repository"), holder / "tree"
        repository.top.mkdir()
        folder.mkdir()
        repository.fetch(place.url, commit, place.connection)
        repository.write(commit, folder, holder / "index")
        yield CommitFiles(folder, "git", _without_submodules(repository, checkout, commit, folder))


def _places(checkout: Checkout | None, host: Host) -> Iterator[_Place]:
    """Where the base may be fetched: the checkout's own remote, with its logins; the host's repository with the token.

    An object id names the same files wherever they come from.
    """
    if checkout is not None and (url := checkout.address()):
        # A folder that somebody else owns may hold programs in its configuration; a host's own checkout does not.
        trusted = bool(host.name) or checkout.top.stat().st_uid == os.getuid()
        yield _Place(url, checkout.connection() if trusted else {})
    address = host.clone_address()
    if address is not None:
        yield _Place(address.url, _authorized(address))


def _authorized(address: CloneAddress) -> dict[str, list[str]]:
    if address.authorization is None:
        return {}
    return {f"http.{address.url}.extraheader": [f"Authorization: {address.authorization.reveal()}"]}


def _without_submodules(repository: Checkout, checkout: Checkout | None, commit: str, folder: Path) -> frozenset[str]:
    """Write the files of other repositories that a commit includes; return those that cannot be had.

    A job that does not check them out has none on either side: they do not count.
    """
    included = repository.submodules(commit)
    if not included or checkout is None:
        return frozenset(included)
    now = checkout.submodules()
    left_out = set()
    for path, other in included.items():
        place = checkout.top / path
        if (place / ".git").exists():
            if not _wrote_submodule(Checkout(place.resolve()), other, folder / path):
                left_out.add(path)
        elif path not in now or (place.is_dir() and any(place.iterdir())):
            left_out.add(path)
    return frozenset(left_out)


def _wrote_submodule(here: Checkout, commit: str, folder: Path) -> bool:
    """Write the files of a submodule's commit into a folder: from its own checkout, else from its remote."""
    with temporary_folder("base") as holder:
        try:
            if not here.has(commit):
                url = here.address()
                if url is None:
                    return False
                fetched = Checkout(holder / "repository")
                fetched.top.mkdir()
                fetched.fetch(url, commit, here.connection())
                here = fetched
            folder.mkdir(parents=True, exist_ok=True)
            here.write(commit, folder, holder / "index")
        except (GitError, OSError):
            return False
    return True
