"""Paths relative to the repository's top, in text that names them relative to the project's folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.messages.location import Location
from turncheck.render.links import LONGEST_PATH, repository_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.comparison.model import Comparison
    from turncheck.report.model import Report


_LOOKS_LIKE_A_PATH: Final = re.compile(r"[./]")


class Rooted:
    """Puts the project's path before the paths of a report, so that they open from the current folder.

    Args:
        report: the report with these paths.
        root: the project's path from there; by default, its path in the repository.
        also: further places.
    """

    def __init__(self, report: Report, root: str | None = None, also: Iterable[Location] = ()) -> None:
        self._root = report.project.root if root is None else "" if root == "." else root
        named = {location.path for location in (*places(report), *also)}
        # One that no system opens is data of a stranger, which would take seconds to search for; a folder called "data"
        # is a word of the sentence.
        paths = [path for path in named if 0 < len(path) <= LONGEST_PATH and _LOOKS_LIKE_A_PATH.search(path)]
        paths.sort(key=len, reverse=True)
        # Not within a longer path; a line number, a bracket or the end of a sentence may follow.
        known = "|".join(map(re.escape, paths))
        self._known = re.compile(rf"(?<![\w./-])(?:{known})(?![\w/-]|\.\w)") if paths and self._root else None

    def location(self, location: Location) -> Location:
        """Return a place with its path from the repository's top; one outside the repository is unchanged."""
        path = repository_path(self._root, location)
        return location if path is None else Location(path, location.line, location.column)

    def text(self, text: str) -> str:
        """Return a sentence with the report's paths in it written from the repository's top."""
        if self._known is None:
            return text
        return self._known.sub(lambda match: Location(match[0]).below(self._root).path, text)


def places(report: Report) -> Iterator[Location]:
    """Yield the places that a report names: of the assistant as a whole, its tests, its data, the findings."""
    if report.project.file is not None:
        yield Location(report.project.file, 1)
    for story in report.core.stories if report.core else ():
        yield story.location
    for case in report.e2e.cases if report.e2e else ():
        yield case.location
    for example in report.nlu.predictions if report.nlu else ():
        yield example.location
    for sentence in report.training_sentences:
        yield sentence.location
    for kind in report.coverage.values():
        yield from (item.location for item in kind.items)
    for suite in report.batch.suites if report.batch else ():
        yield from (case.location for case in suite.cases)
    for finding in (*report.validation.findings, *(report.validation.suppressed or ())) if report.validation else ():
        yield finding.location
        yield from finding.others
    for component in (report.engine.configured or ()) if report.engine else ():
        yield component.location
    for entry in report.skipped:
        if entry.location is not None:
            yield entry.location


def base_places(comparison: Comparison | None) -> Iterator[Location]:
    """Yield the places of tests that exist only on the base."""
    if comparison is not None:
        for cases in (comparison.stories, comparison.e2e, comparison.batch):
            yield from (case.base_location for case in cases.gone if case.base_location is not None)
