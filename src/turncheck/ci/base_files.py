"""All files of the base: from the checkout, else fetched by git from a repository that has it, else by the host's API.

git fetches into a repository of its own, so that the checkout, which others use after us, stays as it is.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turncheck.ci.git import Checkout, GitError
from turncheck.ci.host import CommitFiles
from turncheck.ci.large_files import with_large_files
from turncheck.ci.submodules import that_matter, written_submodules
from turncheck.process.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from turncheck.ci.host import CloneAddress, Host


class NoFilesError(Exception):
    """The files of a commit cannot be had; the message says why."""


@dataclass(frozen=True, slots=True)
class _Place:
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
    return checkout.connection() if host.name or checkout.top.stat().st_uid == os.getuid() else {}


def _authorized(address: CloneAddress) -> dict[str, list[str]]:
    if address.authorization is None:
        return {}
    return {f"http.{address.url}.extraheader": [f"Authorization: {address.authorization.reveal()}"]}
