"""Where results may be written: not where the next run would read them as data or tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.messages.errors import UserError
from turncheck.process.regular_file import file_and_case, is_file, is_folder
from turncheck.project.batch.reader import FOLDERS
from turncheck.project.paths import (
    DEFAULT_CONFIG,
    DEFAULT_DATA,
    DEFAULT_DOMAIN,
    DEFAULT_DOMAIN_FOLDER,
    DEFAULT_ENDPOINTS,
)
from turncheck.project.testfiles import E2E_FOLDERS
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.settings.options import Settings


def ensure_apart_from_project(out: Path | None, settings: Settings, *files: Path | None, flag: str = "--out") -> None:
    """Refuse an output folder (that ``flag`` names), and further files to write, in a folder that these settings read.

    Raises:
        UserError: one is in such a folder, or is one; a file is one that is read.
    """
    root = Path(settings.project)
    by_default = (root / DEFAULT_DOMAIN_FOLDER, *(root / name for name in dict.fromkeys((*E2E_FOLDERS, *FOLDERS))))
    files_by_default = (root / name for name in (DEFAULT_CONFIG, DEFAULT_DOMAIN, DEFAULT_ENDPOINTS, FILE_NAME))
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
