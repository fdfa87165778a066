"""Where results may be written: not where the next run would read them as data or tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.messages.errors import UserError
from turncheck.process.regular_file import is_folder
from turncheck.project.batch.reader import FOLDERS
from turncheck.project.paths import DEFAULT_DATA, DEFAULT_DOMAIN_FOLDER
from turncheck.project.testfiles import E2E_FOLDERS, file_and_case

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.settings.options import Settings


def ensure_apart_from_project(out: Path, settings: Settings) -> None:
    """Refuse an output folder in one of the folders that these settings read.

    Raises:
        UserError: it is in one, or is one.
    """
    root = Path(settings.project)
    by_default = (root / DEFAULT_DOMAIN_FOLDER, *(root / name for name in dict.fromkeys((*E2E_FOLDERS, *FOLDERS))))
    given = (*settings.stories, *settings.e2e, *settings.batch, *filter(None, (settings.domain, settings.nlu)))
    data = settings.data or (root / DEFAULT_DATA,)
    ensure_apart(out, (*data, *by_default, *(file_and_case(path)[0] for path in given)))


def ensure_apart(out: Path, read: Iterable[Path | str]) -> None:
    """Refuse an output folder in one of the folders that are read; files among ``read`` do not matter.

    Raises:
        UserError: it is in one, or is one.
    """
    real = Path(os.path.realpath(out))
    for folder in map(Path, read):
        if is_folder(folder) and real.is_relative_to(os.path.realpath(folder)):
            where = "" if os.path.realpath(folder) == str(real) else f"in '{folder}', which is "
            raise UserError(
                f"the output folder '{out}' is {where}read: the next run would take the results for data or tests",
                remedy="Name another folder with --out.",
            )
