"""The export of a Kore.ai assistant, also as the platform's ``.zip``: how it is recognised and read.

Findings made here: ``kore-not-an-export``. Other faults are in those of the :class:`~.model.KoreBot`, since they do not
prevent training.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Location
from turncheck.platforms.kore.faults import not_an_export
from turncheck.platforms.rows.kore import KORE
from turncheck.process.regular_file import is_file, is_link, is_there, read_regular
from turncheck.project.folder import MAX_FILE_BYTES, ProjectFolder
from turncheck.project.formats.format import Format, FormatInput, ParsedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


_SUFFIXES: Final = frozenset({".json", ".zip"})
_MARKS: Final = (b'"dialogComponents"', b'"dialogs"')


def find(root: Path, data: Sequence[Path] | None = None) -> Path | None:
    """Return the export in a folder, or the one that is named as the only data; ``None`` if there is none.

    Next to the files of a Rasa project its content must look like an export: other platforms use these file names too.
    """
    if data is None:
        paths = (path for name in KORE.export_names if is_file(path := root / name) or is_link(path))
        is_of_rasa = any(is_there(root / name) for name in ("domain.yml", "domain", "config.yml"))
        return next((path for path in paths if not is_of_rasa or _looks_like_one(path)), None)
    if len(data) != 1 or not is_file(data[0]) or data[0].suffix not in _SUFFIXES:
        return None
    from turncheck.project.formats.registry import recognised  # has this format in it

    is_one = data[0].suffix == ".zip" or (  # no other data is a zip
        recognised(data[0], partial(ProjectFolder(root).content, data[0])) is FORMAT
    )
    return data[0] if is_one else None


def _looks_like_one(path: Path) -> bool:
    try:
        content = read_regular(path, most=MAX_FILE_BYTES, inside=path.parent)
    except OSError:
        return False
    return all(mark in content for mark in _MARKS)


def _recognises(path: Path, content: Callable[[], bytes]) -> bool:
    if path.name in KORE.export_names:
        return True
    if path.suffix == ".json":
        return all(mark in content() for mark in _MARKS)
    if path.suffix != ".zip":
        return False
    from turncheck.platforms.kore.reader import holds_export  # most projects have none

    return holds_export(content())


def _unpack(name: str, content: bytes) -> tuple[str, bytes] | Finding:
    from turncheck.platforms.kore.reader import ArchiveError, is_archive, read_export

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


def _read_export(file: FormatInput) -> ParsedFile:
    from turncheck.platforms.kore.reader import NotAnExportError, read_bot  # most projects are Rasa's

    try:
        bot, nlu = read_bot(file.source, file.language)
    except NotAnExportError as error:
        return ParsedFile(findings=(error.finding,))
    return ParsedFile(nlu, native=bot)


FORMAT: Final = Format("Kore.ai export", _recognises, frozenset({"nlu"}), _read_export, unpack=_unpack)
