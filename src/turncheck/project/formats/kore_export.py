"""Kore.ai's formats: the export of an assistant, also as the platform's ``.zip``, and batch suites.

Findings made here: ``kore-not-an-export``. Other faults of the assistant are in ``Project.kore.findings``, since they
do not prevent training.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from turncheck.messages.location import Location
from turncheck.process.regular_file import is_file, is_link, is_there, read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.formats.format import SUITES, Format, Opened, Parts
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


def _read_export(file: Opened) -> Parts:
    from turncheck.project.kore.reader import NotAnExportError, read_bot  # most projects are Rasa's

    try:
        bot, nlu = read_bot(file.source, file.language)
    except NotAnExportError as error:
        return Parts(findings=(error.finding,))
    return Parts(nlu, bot=bot)


FORMAT: Final = Format("Kore.ai export", _recognises, frozenset({"nlu"}), _read_export, unpack=_unpack)


# Batch suites of Kore.ai's platform: JSON with the key ``testCases``, or CSV with a column ``input``.

_LOOK: Final = 4096
"""This many bytes are inspected to distinguish a suite from other CSV files."""
_HEADER_CELL: Final = rb'(?:^|[,;|\t\n\r])[ \t]*"?input"?[ \t]*(?:$|[,;|\t\r\n])'
_KEY: Final = rb'["\x93\x9c\x9d]?testCases["\x94\xe2]?'


def _is_json_suite(path: Path, content: Callable[[], bytes]) -> bool:
    return path.suffix.lower() == ".json" and re.search(_KEY, content()) is not None


def _is_csv_suite(path: Path, content: Callable[[], bytes]) -> bool:
    if path.suffix.lower() != ".csv":
        return False
    start = content()[:_LOOK].removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = start.splitlines()[:2] if start.lower().startswith(b"sep=") else start.splitlines()[:1]
    return any(re.search(_HEADER_CELL, line) for line in lines)


def _read_suites(file: Opened) -> Parts:
    from turncheck.project.batch.csv_reader import read_csv_suite  # most projects have no suites
    from turncheck.project.batch.json_reader import read_json_suite
    from turncheck.project.batch.model import Suite
    from turncheck.project.batch.rules import Rules

    path = file.source.path
    rules = Rules(path, strict=file.strict, upload=file.upload)
    cases = (read_json_suite if path.lower().endswith(".json") else read_csv_suite)(file.source, rules)
    if rules.has_errors:
        return Parts(findings=tuple(finding for finding in rules.findings if finding.severity == "error"))
    return Parts(suites=(Suite(PurePath(path).stem, path, cases),), findings=tuple(rules.findings))


JSON: Final = Format("Kore.ai batch suite (JSON)", _is_json_suite, frozenset({SUITES}), _read_suites)
CSV: Final = Format("Kore.ai batch suite (CSV)", _is_csv_suite, frozenset({SUITES}), _read_suites)
