"""``conftest.yml``: fixtures that are shared by the files of end-to-end cases in and below its folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.process.existing import is_file
from turncheck.project.e2e.reader import FileReader, Named
from turncheck.project.project_file import SHARED_FILE
from turncheck.yaml_tree.tree import parse_yaml

if TYPE_CHECKING:
    from turncheck.project.folder import ProjectFolder


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
        for place in above:
            if os.path.realpath(place) == root:
                return place, self._folder.root
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
