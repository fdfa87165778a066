"""Where results and trained models may be written.

Results: not where the next run would read them as data or tests. Models: never where the change that is measured could
have put some of its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.ci.git import Checkout, GitError, find_checkout
from turncheck.ci.hosts import find_host
from turncheck.messages.errors import UserError
from turncheck.process.cache import Cache
from turncheck.process.places import ensure_inside, on_the_way
from turncheck.process.regular_file import file_and_case, is_file, is_folder, is_link
from turncheck.process.system import home_folder
from turncheck.project import files as project_files
from turncheck.project.batch.reader import FOLDERS
from turncheck.project.candidates import DEFAULT_DATA, DEFAULT_DOMAIN_FOLDER
from turncheck.project.testfiles import E2E_FOLDERS
from turncheck.settings.secrets import secret_setting
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from turncheck.ci.host import Host
    from turncheck.process.screen import Console
    from turncheck.settings.options import Settings


def ensure_apart_from_project(out: Path | None, settings: Settings, *files: Path | None, flag: str = "--out") -> None:
    """Refuse an output folder (that ``flag`` names), and further files to write, in a folder that these settings read,
    or that a link of the project leads out of it.

    Raises:
        UserError: one is in such a folder, or is one; a file is one that is read; a link leads out.
    """
    root = Path(settings.project)
    for place in filter(None, (out, *files)):
        ensure_inside(place, root)
    by_default = (
        root / DEFAULT_DOMAIN_FOLDER,
        *(root / name for name in dict.fromkeys((*E2E_FOLDERS, *FOLDERS))),
    )
    files_by_default = (
        root / name
        for name in (
            project_files.DEFAULT_CONFIG,
            project_files.DEFAULT_DOMAIN,
            project_files.DEFAULT_ENDPOINTS,
            FILE_NAME,
        )
    )
    single = filter(None, (settings.domain, settings.nlu, settings.config))
    given = (*settings.stories, *settings.e2e, *settings.batch, *single)
    data = settings.data or (root / DEFAULT_DATA,)
    read = (*data, *by_default, *files_by_default, *(file_and_case(path)[0] for path in given))
    if out is not None:
        ensure_apart(out, read, flag)
    for file in filter(None, files):
        ensure_file_apart(file, read)


def ensure_apart(out: Path, read: Iterable[Path | str], flag: str = "--out") -> None:
    """Refuse an output folder in one of the folders that are read; files among ``read`` do not matter.

    Raises:
        UserError: it is in one, or is one.
    """
    folder = _read_folder_around(out, read)
    if folder is not None:
        where = "" if os.path.realpath(folder) == os.path.realpath(out) else f"in '{folder}', which is "
        raise UserError(
            f"the output folder '{out}' is {where}read: the next run would take the results for data or tests",
            hint=f"Name another folder with {flag}.",
        )


def ensure_file_apart(file: Path, read: Iterable[Path | str]) -> None:
    """Refuse a file to write, named by itself, that is read or in one of the folders that are.

    Raises:
        UserError: it is.
    """
    if any(os.path.realpath(file) == os.path.realpath(one) for one in read if not is_folder(Path(one))):
        raise UserError(f"'{file}' is a file of the assistant, which is read", hint="Name another one.")
    folder = _read_folder_around(file, read)
    if folder is not None:
        raise UserError(
            f"'{file}' would be in '{folder}', which is read: the next run would take it for data or tests",
            hint="Name a place outside.",
        )


def _read_folder_around(path: Path, read: Iterable[Path | str]) -> Path | None:
    """Return the folder that is read with this path in it; one that does not exist yet is read as soon as it does."""
    real = Path(os.path.realpath(path))
    folders = (Path(one) for one in read if not is_file(Path(one)))
    return next((folder for folder in folders if real.is_relative_to(os.path.realpath(folder))), None)


OFF: Final = "off"


def cache_of(settings: Settings, host: Host, project: Path, environment: Mapping[str, str]) -> Cache | None:
    """Return the cache of a run; ``None`` if nothing may be kept.

    Raises:
        UserError: a change could have written to its folder, or the key of the cache cannot be used.
    """
    folder = None if settings.cache == OFF or host.run.of_a_fork else _named_folder(settings, environment)
    if folder is None:
        return None
    _ensure_out_of_reach(folder, project, host.run.workspace)
    return Cache(folder, secret=secret_setting(settings, "cache-key", environment))


def cache_of_command(settings: Settings, environment: Mapping[str, str], screen: Console) -> Cache | None:
    """Return the cache of a command that runs one evaluation; where the usual folder cannot be used, it goes without.

    Raises:
        UserError: the folder that is named cannot be used.
    """
    try:
        return cache_of(settings, find_host(environment, settings.token), Path(settings.project), environment)
    except UserError as error:
        if settings.cache_folder is not None:
            raise
        screen.note(f"Nothing is cached: {error.message}.")
        return None


def _named_folder(settings: Settings, environment: Mapping[str, str]) -> Path | None:
    if settings.cache_folder is not None:
        return Path(settings.cache_folder)
    places = (environment.get("XDG_CACHE_HOME", ""), f"{environment.get('HOME') or '.'}/.cache")
    base = next((place for place in places if os.path.isabs(place)), None)  # noqa: PTH117 - of any system
    return None if base is None else Path(base, "turncheck")


def _ensure_out_of_reach(folder: Path, project: Path, workspace: Path | None) -> None:
    """Make sure that nothing on the way to the folder, and nothing in it, belongs to the change.

    Raises:
        UserError: something does, or nobody can tell.
    """
    checkouts = list(_checkouts_around(project))
    tops = [checkout.top for checkout in checkouts] + ([Path(os.path.realpath(workspace))] if workspace else [])
    for path in on_the_way(folder):
        if any(path.is_relative_to(top) for top in tops or _without_checkout(project)):
            _ensure_not_tracked(folder, path)


def _without_checkout(project: Path) -> list[Path]:
    """Return the folders that a project which is not in a checkout may have come with: its own, and the current one
    if it is in there, unless that is where this user is at home."""
    real, current = Path(os.path.realpath(project)), Path.cwd()
    home = home_folder()  # the variable could be the change's
    is_above = real.is_relative_to(current) and not Path(os.path.realpath(home)).is_relative_to(current)
    return [real, current] if is_above else [real]


def _may_not_be_read(folder: Path) -> bool:
    try:
        with os.scandir(folder):
            return False
    except OSError as error:
        return isinstance(error, PermissionError)


def _ensure_not_tracked(folder: Path, path: Path) -> None:
    """Make sure that no repository around a place has files there."""
    hint = "Name a folder outside of the repository with --cache-folder, or use --no-cache."
    around = list(_checkouts_around(path.parent if is_link(path) else path))
    if not around and _may_not_be_read(path):
        return  # nothing comes from there
    if not around:
        raise UserError(
            f"the cache folder '{folder}' belongs to the project, which is not in a git checkout:"
            " a change could bring results of its own",
            hint=hint,
        )
    try:
        if any(checkout.tracks(path) for checkout in around):
            raise UserError(
                f"the cache folder '{folder}' holds files of the repository: a change could bring results of its own",
                hint="Name another with --cache-folder, or remove them from the repository.",
            )
    except GitError as error:
        raise UserError(
            f"whether the cache folder '{folder}' holds files of the repository cannot be found out: {error}",
            hint=hint,
        ) from None


def _checkouts_around(folder: Path) -> Iterator[Checkout]:
    """Yield the checkouts that a folder is in, a submodule's before that of the repository that it belongs to."""
    checkout = find_checkout(folder)
    while checkout is not None:
        yield checkout
        parent = checkout.top.parent
        checkout = None if parent == checkout.top else find_checkout(parent)
