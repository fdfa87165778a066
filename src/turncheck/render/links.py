"""Links to a file and line of a commit, to a commit, a run, an artifact; plain text outside a CI host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from turncheck.messages.location import Location

LONGEST_PATH: Final = 4096
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_NUMBER: Final = re.compile(r"[0-9]{1,20}")


class Pages(Protocol):
    """How a host writes the addresses of one repository's pages; arguments are validated before."""

    def file(self, commit: str, path: str, line: int | None) -> str:
        """Address of a file in a commit, and of a line in it; the path is not quoted."""

    def commit(self, commit: str) -> str:
        """Address of a commit."""

    def run(self, run_id: str) -> str:
        """Address of a run."""


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses of everything that can be linked. All are optional: what is not known is not linked.

    ``pages`` writes the addresses of the repository, ``commit`` is the measured state (on a pull request its head
    commit), ``base_commit`` the baseline's. All of them come from the context of the run, never from a report.
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
