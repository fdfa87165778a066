"""The export of a Kore.ai assistant: ``botDefinition.json``, ``appDefinition.json``, or the platform's ``.zip`` of one.

Findings made here: ``kore-not-an-export``. Other faults of the assistant are in ``Project.kore.findings``, since they
do not prevent training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.location import Location
from turncheck.process.existing import is_file, is_link, is_there
from turncheck.process.regular_file import read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.formats.format import Format, Opened, Parts
from turncheck.project.kore.faults import EXPORT_NAMES, not_an_export

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from turncheck.messages.finding import Finding

EXPORT_SUFFIXES: Final = frozenset({".json", ".zip"})
_MARKS: Final = (b'"dialogComponents"', b'"dialogs"')


def find_export(root: Path) -> Path | None:
    """Return the export in a folder, ``None`` if there is none.

    Next to the files of a Rasa project its content must look like an export: other platforms use these file names too.
    """
    found = (path for name in EXPORT_NAMES if is_file(path := root / name) or is_link(path))
    is_of_rasa = any(is_there(root / name) for name in ("domain.yml", "domain", "config.yml"))
    return next((path for path in found if not is_of_rasa or _looks_like_one(path)), None)


def _looks_like_one(path: Path) -> bool:
    try:
        content = read_regular(path, most=MAX_FILE_BYTES, inside=path.parent)
    except OSError:
        return False
    return all(mark in content for mark in _MARKS)


def _recognises(path: Path, content: Callable[[], bytes]) -> bool:
    if path.name in EXPORT_NAMES:
        return True
    if path.suffix == ".json":
        return all(mark in content() for mark in _MARKS)
    if path.suffix != ".zip":
        return False
    from turncheck.project.kore.archive import holds_export  # zipfile is slow to load, and most projects have none

    return holds_export(content())


def _unpack(name: str, content: bytes) -> tuple[str, bytes] | Finding:
    from turncheck.project.kore.archive import ArchiveError, is_archive, read_export

    if not is_archive(content):
        return name, content
    try:
        member, unpacked = read_export(content, MAX_FILE_BYTES)
    except ArchiveError as error:
        return not_an_export(f"'{name}' {error}.", Location(name))
    return f"{name}/{member}", unpacked


def why_no_export(name: str, content: bytes) -> Finding:
    """Say why a file that is named as an export is not one."""
    unpacked = _unpack(name, content)
    if isinstance(unpacked, tuple):
        return not_an_export(f"'{name}' is not a zip.", Location(name))
    return unpacked


def _read(file: Opened) -> Parts:
    from turncheck.project.kore.reader import NotAnExportError, read_bot  # most projects are Rasa's

    try:
        bot, nlu = read_bot(file.source, file.language)
    except NotAnExportError as error:
        return Parts(findings=(error.finding,))
    return Parts(nlu, bot=bot)


FORMAT: Final = Format("Kore.ai export", _recognises, frozenset({"nlu"}), _read, unpack=_unpack)
