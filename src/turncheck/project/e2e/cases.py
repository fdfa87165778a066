"""Files of end-to-end test cases, as Rasa Pro users write them → :class:`~turncheck.project.e2e.model.E2ECases`.

Every fault is a finding with its line: an error if a case cannot mean what is written, a warning if it probably does
not. Shapes and rules: ``docs/e2e.md``.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Location
from turncheck.messages.phrasing import suggestion
from turncheck.process.regular_file import file_and_case, is_file, is_folder, is_there
from turncheck.project.botium.others import suites_without_convos
from turncheck.project.e2e.model import E2ECase, E2ECases, Stub
from turncheck.project.e2e.reader import FileReader, Named
from turncheck.project.files import path_without_data
from turncheck.project.folder import ProjectFolder, absolute_name
from turncheck.project.formats.format import Format, FormatInput
from turncheck.project.formats.registry import recognised
from turncheck.project.project_file import SHARED_FILE
from turncheck.yaml_tree.tree import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from turncheck.project.botium.folder import Suite, Suites
    from turncheck.yaml_tree.source import Source


# ``conftest.yml``: fixtures that are shared by the files of end-to-end cases in and below its folder.


class SharedFixtures:
    """Reads each ``conftest.yml`` once; its faults are added to the folder's findings."""

    def __init__(self, folder: ProjectFolder) -> None:
        self._folder = folder
        self._read: dict[Path, Named] = {}

    def of(self, path: Path) -> Named:
        """Return the fixtures for a file of cases: those of all ``conftest.yml`` above it, of which the nearest wins.

        The topmost is that in the project's folder; for a file outside the project, that in their common folder.
        """
        above = [Path(os.path.abspath(path)).parent]  # noqa: PTH100 - unlike resolve(), it follows no symbolic link
        above += above[0].parents
        top, fence = self._top(above)
        fixtures: Named = {}
        for place in reversed(above[: above.index(top) + 1]):
            fixtures |= self._fixtures(place / SHARED_FILE, fence)
        return fixtures

    def _top(self, above: list[Path]) -> tuple[Path, Path | None]:
        """Return the topmost folder that counts, and the fence for its files.

        The project may be named by a different path than the file (``bot/../bot``, a symbolic link).
        """
        root = os.path.realpath(self._folder.root)
        for path in above:
            if os.path.realpath(path) == root:
                return path, self._folder.root
        return Path(os.path.commonpath([above[0], os.path.abspath(self._folder.root)])), None  # noqa: PTH100 - as above

    def _fixtures(self, file: Path, fence: Path | None) -> Named:
        if file not in self._read:
            self._read[file] = self._read_file(file, fence)
        return self._read[file]

    def _read_file(self, file: Path, fence: Path | None) -> Named:
        source = self._folder.read(file, fence=fence) if is_file(file) else None
        if source is None:
            return {}
        document = parse_yaml(source)
        reader = FileReader({})
        fixtures = {} if document.root is None else reader.read_shared(document.root)
        self._folder.findings += (*document.findings, *reader.findings)
        return fixtures


DEFAULT_PATH: Final = "tests/e2e_test_cases.yml"
CASES: Final = "test_cases"
"""The kind of data that is read here."""


def read_cases(root: Path, paths: Iterable[Path | str]) -> E2ECases:
    """Read the cases of these files and of the files below these folders.

    ``path::name`` names one case of a file; if the file itself is also named, it is read completely. In a folder, files
    without ``test_cases`` (results of earlier runs, ``conftest.yml``) are skipped, and so are hidden files and folders,
    as in Rasa; a file that is named must have cases. A missing path is an error.
    """
    folder = ProjectFolder(root)
    paths = tuple(paths)
    shared = SharedFixtures(folder)
    suites: list[Suites] = []

    def suite_of(path: Path) -> Suite:
        from turncheck.project.botium.folder import Suites  # most projects have none

        if not suites:
            suites.append(Suites(folder, [file for file, _ in map(file_and_case, paths) if is_folder(file)]))
        return suites[0].of(path)

    wanted: dict[str, set[str]] = {}
    whole: set[str] = set()
    cases: list[E2ECase] = []
    stubs: list[Stub] = []
    findings: list[Finding] = []
    files: list[str] = []
    for path in paths:
        file, name = file_and_case(path)
        if not is_there(file):
            findings.append(_missing(folder, file))
            continue
        below = _files(folder, file)
        if is_folder(file) and not below:
            findings.append(path_without_data(folder.name(file), "end-to-end cases"))
            findings += suites_without_convos(file, folder.root)
        for found, file_format in below:
            shown = folder.name(found)
            if name is None:
                whole.add(shown)
            else:
                wanted.setdefault(shown, set()).add(name)
            if shown in files:
                continue
            opened = partial(FormatInput, fixtures=partial(shared.of, found), botium=partial(suite_of, found))
            read = _read_file(folder, found, file_format, opened, must_have_cases=not is_folder(file))
            files.append(shown)
            cases += read.cases
            stubs += read.stubs
            findings += read.findings
    findings += [*(finding for known in suites for finding in known.findings), *folder.findings]
    faulty = {finding.location.path for finding in findings if finding.severity == "error"}
    for shown, names in wanted.items():
        there = [case.name for case in cases if case.location.path == shown]
        if shown not in faulty:  # a case with a fault is not among those that could be read
            findings += [_no_such_case(shown, name, there) for name in sorted(names.difference(there))]
        if shown not in whole:
            cases = [case for case in cases if case.location.path != shown or case.name in names]
    return E2ECases(tuple(cases), tuple(stubs), tuple(findings), tuple(files), tuple(folder.contents_read.values()))


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _missing(folder: ProjectFolder, path: Path) -> Finding:
    message = "There is no such file or folder of test cases."
    return Finding("e2e-not-found", "error", message, Location(folder.name(path)), "Write some, or name their files.")


def _no_such_case(path: str, name: str, there: Sequence[str]) -> Finding:
    message = f"There is no test case '{name}' in this file."
    return Finding("e2e-not-found", "error", message, Location(path), suggestion(name, there))


def _files(folder: ProjectFolder, path: Path) -> list[tuple[Path, Format]]:
    """Return the files at and below a path that may hold cases; in a folder, without hidden and shared files."""
    found = []
    for file, fence, is_given in folder.files([path], skip=_is_hidden):
        if not is_given and (_is_hidden(file) or file.name == SHARED_FILE):
            continue
        file_format = recognised(file, partial(folder.content, file, fence), CASES)
        if file_format is not None:
            found.append((file, file_format))
        elif is_given:
            folder.note_unread(file)
    return sorted(found, key=lambda one: absolute_name(one[0]))


def _read_file(
    folder: ProjectFolder,
    path: Path,
    file_format: Format,
    opened: Callable[[Source, ProjectFolder, frozenset[str]], FormatInput],
    *,
    must_have_cases: bool,
) -> E2ECases:
    content = folder.read_bytes(path)
    source = None if content is None else folder.decode(folder.name(path), content)
    if source is None or file_format.read is None:
        return E2ECases()
    parts = file_format.read(opened(source, folder, frozenset({CASES})))
    folder.findings += parts.findings
    return parts.cases if parts.cases and (parts.belongs or must_have_cases) else E2ECases()
