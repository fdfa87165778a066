"""Links to a file and line of a commit, to a commit, a run, an artifact; and paths from the repository's top."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import UNSET, Struct

from turncheck.messages.finding import Finding, Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.comparison.model import Comparison
    from turncheck.report.model import Report


LONGEST_PATH: Final = 4096
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_TRACE: Final = re.compile(r"[0-9a-f]{32}")
TRACE_PLACE: Final = "{trace}"
_NUMBER: Final = re.compile(r"[0-9]{1,20}")


class Pages(Protocol):
    """How a host writes the addresses of one repository's pages; arguments are validated before."""

    def file(self, commit: str, path: str, line: int | None) -> str:
        """Address of a file in a commit, and of a line in it; the path is not quoted."""

    def commit(self, commit: str) -> str:
        """Address of a commit."""

    def run(self, run_id: str) -> str:
        """Address of a run."""


class Links(Struct, frozen=True):
    """Addresses of everything that can be linked. All are optional: what is not known is not linked.

    ``pages`` writes the addresses of the repository, ``commit`` is the measured state (on a pull request its head
    commit), ``base_commit`` the baseline's. All of them come from the context of the run, never from a report.
    ``trace_url`` is where traces are, with ``{trace}`` in place of the id: it comes from a flag or an input as well.
    ``folder`` is the project's path from the current folder, ``html_url`` the page that is written; on a
    page of several assistants ``page_part`` is the one that is meant.
    """

    pages: Pages | None = None
    commit: str | None = None
    base_commit: str | None = None
    run_url: str | None = None
    artifact_url: str | None = None
    html_url: str | None = None
    page_part: str = ""
    folder: str = ""
    trace_url: str = ""

    def file(self, root: str, location: Location, *, base: bool = False) -> str | None:
        """Address of a place in the measured commit, or in the baseline's.

        Args:
            root: the project's path in its repository, "" at its top.
            location: the place, relative to the project.
            base: point into the baseline's commit (for what was removed).
        """
        commit = self.base_commit if base else self.commit
        path = repository_path(root, location)
        if self.pages is None or commit is None or not _COMMIT.fullmatch(commit) or path is None:
            return None
        line = location.line if location.line is not None and location.line > 0 else None
        return self.pages.file(commit, path, line)

    def case(self, key: str) -> str | None:
        """Address of a case on the page."""
        part = f"{self.page_part}/" if self.page_part else ""
        return f"{self.html_url}#{part}{key}" if self.html_url else None

    def trace(self, trace_id: str) -> str | None:
        """Address of a trace; nothing else than the id of one is put into it."""
        if not self.trace_url or not _TRACE.fullmatch(trace_id):
            return None
        return self.trace_url.replace(TRACE_PLACE, trace_id)

    def commit_page(self, commit: str | None) -> str | None:
        """Address of a commit of this repository."""
        if self.pages is None or commit is None or not _COMMIT.fullmatch(commit):
            return None
        return self.pages.commit(commit)

    def run_page(self, run_id: str | None) -> str | None:
        """Address of a run of this repository."""
        if self.pages is None or run_id is None or not _NUMBER.fullmatch(run_id):
            return None
        return self.pages.run(run_id)


def repository_path(root: str, location: Location) -> str | None:
    """Path of a place, relative to the repository's top.

    ``None`` for one that is outside (a path from the command line), or that is longer than any path in a repository
    (:data:`LONGEST_PATH`, Linux' own limit for a path).
    """
    if len(root) + len(location.path) > LONGEST_PATH:
        return None
    parts: list[str] = []
    for part in f"{root}/{location.path}".split("/"):
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return None if location.path.startswith("/") or not parts else "/".join(parts)


# Paths relative to the repository's top, in text that names them relative to the project's folder.

_LOOKS_LIKE_A_PATH: Final = re.compile(r"[./]")


class RootedPaths:
    """Puts the project's path from the current folder, ``root``, before the paths of these places.

    ``root_on_base``: what is put before where something was, if that is another one.
    """

    def __init__(self, root: str, named_places: Iterable[Location], root_on_base: str | None = None) -> None:
        self._root = "" if root == "." else root
        self._root_on_base = self._root if root_on_base is None else root_on_base
        named = {location.path for location in named_places}
        # One that no system opens is data of a stranger, which would take seconds to search for; a folder called "data"
        # is a word of the sentence.
        paths = [path for path in named if 0 < len(path) <= LONGEST_PATH and _LOOKS_LIKE_A_PATH.search(path)]
        paths.sort(key=len, reverse=True)
        # Not within a longer path; a line number, a bracket or the end of a sentence may follow.
        known = "|".join(map(re.escape, paths))
        in_a_folder = self._root or self._root_on_base
        self._known = re.compile(rf"(was at )?(?<![\w./-])({known})(?![\w/-]|\.\w)") if paths and in_a_folder else None

    def location(self, location: Location) -> Location:
        """Return a place with its path from the repository's top; one outside the repository is unchanged."""
        path = repository_path(self._root, location)
        return location if path is None else Location(path, location.line, location.column)

    def text(self, text: str) -> str:
        """Return a sentence with the report's paths in it written from the repository's top."""
        if self._known is None:
            return text
        return self._known.sub(self._rooted, text)

    def _rooted(self, match: re.Match[str]) -> str:
        root = self._root_on_base if match[1] else self._root
        return f"{match[1] or ''}{Location(match[2]).below(root).path}"


class PathResolver(RootedPaths):
    """Does so for the paths of a report.

    Args:
        report: the report with these paths.
        root: the project's path from the current folder; by default, its path in the repository.
        also: further places.
        root_on_base: see :class:`RootedPaths`.
    """

    def __init__(
        self,
        report: Report,
        root: str | None = None,
        also: Iterable[Location] = (),
        root_on_base: str | None = None,
    ) -> None:
        super().__init__(report.project.root if root is None else root, (*places(report), *also), root_on_base)

    @classmethod
    def of(cls, report: Report, comparison: Comparison | None) -> PathResolver:
        """Return the one for a report beside its base, with paths from the top of the repository."""
        base = Base.of(comparison, report.project.root)
        return cls(report, also=base_places(comparison), root_on_base=base.root)


class Base(Struct, frozen=True):
    """Where what was removed since was: the commit of the base, and the project's path in it."""

    commit: str = ""
    root: str = ""

    @classmethod
    def of(cls, comparison: Comparison | None, root: str) -> Base:
        """Return that of a comparison; ``root``: the project's path now, which it mostly had there, too."""
        if comparison is None or not comparison.judged:
            return cls(root=root)
        used = comparison.baseline
        return cls(used.commit or "", root if used.root is UNSET else str(used.root))


def places_of_findings(findings: Iterable[Finding]) -> Iterator[Location]:
    """Yield all places that findings name."""
    for finding in findings:
        yield finding.location
        yield from finding.others


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
    if report.validation:
        yield from places_of_findings((*report.validation.findings, *(report.validation.suppressed or ())))
    for component in (report.engine.configured or ()) if report.engine else ():
        yield component.location
    for entry in report.skipped:
        if entry.location is not None:
            yield entry.location


def base_places(comparison: Comparison | None) -> Iterator[Location]:
    """Yield the places of what exists only on the base: tests, and parts of the project."""
    if comparison is not None:
        yield from (part.location for part in comparison.removed_items)
        yield from (finding.location for finding in comparison.gone_findings)
        yield from (Location(file.path) for file in comparison.deleted_files)
        for cases in (comparison.stories, comparison.e2e, comparison.batch):
            yield from (case.base_location for case in cases.gone if case.base_location is not None)
