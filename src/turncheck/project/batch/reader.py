"""Files of batch suites → :class:`~turncheck.project.batch.model.Suites`.

Every fault is a finding with its place: an error if the file is refused, a warning if something is probably not
intended. Rules and codes: ``docs/kore.md``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.messages.finding import Finding, Location
from turncheck.process.regular_file import is_folder, is_there
from turncheck.project.folder import ProjectFolder, absolute_name
from turncheck.project.formats.format import SUITES, Format, FormatInput
from turncheck.project.formats.registry import CSV_SUITE, JSON_SUITE, recognised
from turncheck.yaml_tree.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.project.batch.model import Suite, Suites

FOLDERS: Final = ("tests", "batch")
"""Where a project keeps its suites."""
_SUFFIXES: Final = {".json": JSON_SUITE, ".csv": CSV_SUITE, ".tsv": CSV_SUITE, ".txt": CSV_SUITE}
_MARK_OF_UTF_8: Final = b"\xef\xbb\xbf"
_MARKS_OF_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


class HowToRead(NamedTuple):
    """``name``: the name of the suite, if there is only one. The other fields are as in ``FormatInput``."""

    name: str | None = None
    description: str = ""
    strict: bool = False
    upload: bool = False


def find_suites(root: Path) -> tuple[str, ...]:
    """Return the suites in the project's folders ``tests`` and ``batch``, recognised by their content; sorted."""
    folder = ProjectFolder(root)
    paths = [path for name in FOLDERS if is_folder(path := root / name)]
    return tuple(str(path) for path, _ in _below(folder, paths))


def find_mistaken_suites(root: Path) -> Iterator[Finding]:
    """Report each file in these folders that is probably a suite and is not recognised as one, so that it is not run.

    It is CSV with columns for an utterance and an intent under other names, or JSON whose cases have another key.
    """
    folder = ProjectFolder(root)
    paths = [path for name in FOLDERS if is_folder(path := root / name)]
    for file, fence, _ in folder.files(paths, skip=lambda path: path.name.startswith(".")):
        if file.suffix.lower() not in {".json", ".csv"} or file.name.startswith("."):
            continue
        content = partial(folder.content, file, fence)
        if recognised(file, content, SUITES) is None and (hint := _mistake_in(file, content())):
            name = folder.name(file)
            message = f"'{name}' looks like a batch suite and is not run."
            yield Finding("suite-not-recognised", "warning", message, Location(name, 1), hint)


def _mistake_in(file: Path, content: bytes) -> str:
    """Return what in a file that looks like a suite keeps it from being one; empty if it does not look like one."""
    from turncheck.project.batch.rules import meant_for_input, meant_key  # most projects have no such files

    if file.suffix.lower() == ".json":
        match = _NEARLY_TEST_CASES.search(content)
        return f"'{match[1].decode()}' should be 'testCases'." if match and _INPUT.search(content) else ""
    header = content[:_LONGEST_HEADER].decode("utf-8", "replace").lstrip("\ufeff \t\r\n").partition("\n")[0]
    columns = [column.strip().strip('"').strip() for column in re.split(r"[,;|\t]", header)]
    hint = meant_for_input(columns)
    return hint if any(column == "intent" or meant_key(column).endswith("'intent'?") for column in columns) else ""


_NEARLY_TEST_CASES: Final = re.compile(rb'"(test[ _-]?cases?)"\s*:', re.IGNORECASE)
_INPUT: Final = re.compile(rb'"input"\s*:')
_LONGEST_HEADER: Final = 4096


def read_suites(root: Path, paths: Iterable[Path | str], how: HowToRead | None = None) -> Suites:
    """Read these files, and the suites among the files below these folders.

    A file that is named is read according to its extension, whatever it holds. A missing path is an error.
    """
    from turncheck.project.batch.model import Suites  # suites are looked for in every project, and few have any

    how, folder = how or HowToRead(), ProjectFolder(root)
    suites: list[Suite] = []
    findings: list[Finding] = []
    files: list[str] = []
    for path in map(Path, paths):
        if not is_there(path):
            findings.append(_missing(folder.name(path)))
            continue
        for found, file_format in _below(folder, [path]) if is_folder(path) else [(path, _format_of(path))]:
            shown = folder.name(found)
            if shown in files:
                continue
            files.append(shown)
            if file_format is None:
                findings.append(_neither(shown))
                continue
            read, faults = _read_file(folder, found, file_format, how)
            suites += read
            findings += faults
    findings += folder.findings
    if how.name is not None or how.description:
        suites = [replace(suite, name=how.name or suite.name, description=how.description) for suite in suites]
    if how.name is None:
        findings += _same_names(suites)
    return Suites(tuple(suites), tuple(findings), tuple(files))


def _same_names(suites: Sequence[Suite]) -> Iterator[Finding]:
    """Report each suite with the name of one before it: on the platform it replaces that one."""
    first: dict[str, Suite] = {}
    for suite in suites:
        before = first.setdefault(suite.name, suite)
        if before is not suite:
            message = f"The suite '{suite.path}' has the name of '{before.path}': '{suite.name}'."
            hint = "Rename one of the files: a suite's name is that of its file, without the ending."
            others = (Location(before.path),)
            yield Finding("suite-same-name", "warning", message, Location(suite.path), hint, others)


def _format_of(path: Path) -> Format | None:
    return _SUFFIXES.get(path.suffix.lower())


def _below(folder: ProjectFolder, paths: Iterable[Path]) -> list[tuple[Path, Format]]:
    found = {}
    for file, fence, _ in folder.files(paths, skip=lambda path: path.name.startswith(".")):
        if file.suffix.lower() not in {".json", ".csv"} or file.name.startswith("."):
            continue
        file_format = recognised(file, partial(folder.content, file, fence), SUITES)
        if file_format is None and folder.is_foreign(file, fence):
            file_format = _format_of(file)  # it may be one: reading says why it cannot be read
        if file_format is not None:
            found[absolute_name(file)] = (file, file_format)
    return [found[key] for key in sorted(found)]


def _missing(name: str) -> Finding:
    return Finding("suite-not-found", "error", f"There is no suite at '{name}'.", Location(name), "Correct the path.")


def _neither(name: str) -> Finding:
    message = f"'{name}' is neither JSON nor CSV by its ending."
    return Finding("suite-not-found", "error", message, Location(name), "Name it .json or .csv.")


def _read_file(
    folder: ProjectFolder, path: Path, file_format: Format, how: HowToRead
) -> tuple[tuple[Suite, ...], tuple[Finding, ...]]:
    content = folder.read_bytes(path)
    if content is None or file_format.read is None:
        return (), ()
    source, findings = decode(folder.name(path), content)
    if source is None:
        return (), findings
    parts = file_format.read(FormatInput(source, folder, frozenset({SUITES}), strict=how.strict, upload=how.upload))
    refused = any(finding.severity == "error" for finding in parts.findings)
    suites = tuple(replace(suite, file=path) for suite in parts.suites)
    return suites, parts.findings if refused else (*findings, *parts.findings)


def decode(name: str, content: bytes) -> tuple[Source | None, tuple[Finding, ...]]:
    """Return a suite's text, and findings about its encoding; ``None`` if it cannot be decoded.

    UTF-8 with or without a byte order mark; UTF-16 with one, and Windows-1252, as spreadsheets save them, are read with
    the warning ``suite-encoding``.
    """
    hint = "Save it as UTF-8."
    if content.startswith(_MARKS_OF_UTF_16):
        try:
            text = content.decode("utf-16")
        except UnicodeDecodeError:
            return None, (_undecodable(name, Location(name, 1, 1)),)
        message = f"'{name}' is UTF-16: the platform wants UTF-8."
        return Source(name, text), (Finding("suite-encoding", "warning", message, Location(name, 1, 1), hint),)
    try:
        return Source(name, content.decode("utf-8")), ()
    except UnicodeDecodeError as error:
        before = content[: error.start].removeprefix(_MARK_OF_UTF_8)
        byte = content[error.start]
    line = before.count(b"\n") + 1
    location = Location(name, line, len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1)
    try:
        text = content.removeprefix(_MARK_OF_UTF_8).decode("cp1252")
    except UnicodeDecodeError:
        return None, (_undecodable(name, location),)
    message = f"'{name}' is not UTF-8 (byte {byte:#04x}); it is read as Windows-1252."
    return Source(name, text), (Finding("suite-encoding", "warning", message, location, hint),)


def _undecodable(name: str, location: Location) -> Finding:
    message = f"'{name}' is neither UTF-8 nor Windows-1252."
    return Finding("file-not-utf8", "error", message, location, "Save the file in the encoding UTF-8.")
