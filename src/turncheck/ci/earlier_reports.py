"""Reports that earlier runs left in archives, searched for a baseline.

The host says which runs there are, and which of them can be trusted; what is used of them is the same everywhere: a
complete report of this project, for exactly the commit that its run measured.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from turncheck.ci.archived_reports import BadArchiveError
from turncheck.ci.host import LeftReport
from turncheck.ci.rest import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from turncheck.ci.host import StoredReport
    from turncheck.report.model import Report

OF_A_FORK: Final = "of a fork"
EXPIRED: Final = "expired"
MOST_RUNS: Final = 300
MOST_ANCESTORS: Final = 300
_NOT_READABLE: Final = "not readable"
_MOST_DOWNLOADS: Final = 10


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run that measured a commit; ``unusable`` says why it is ignored: "of a fork"."""

    id: int
    commit: str
    unusable: str = ""


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip file that a run left, by the host's own identifier; ``unusable`` as for a run.

    ``run`` is what the page of its run is addressed by, where that is not the run's own number.
    """

    id: str
    unusable: str = ""
    run: str = ""


class EarlierRuns(Protocol):
    """The runs before this one that measured a commit of the repository itself, newest first.

    Each method raises :class:`turncheck.ci.rest.RestError` if the host cannot be asked.
    """

    def of_commit(self, branch: str, commit: str) -> Iterable[EarlierRun]:
        """Those of a commit, on the branch that it is in: only who may write to that can have started them."""

    def of_branch(self, branch: str) -> Iterable[EarlierRun]:
        """Those of a branch."""

    def ancestors(self, commit: str) -> Iterable[str]:
        """A commit and what came before it, nearest first."""

    def archives(self, run: EarlierRun) -> Iterable[Archive]:
        """The archives of a run that may hold reports, newest first."""

    def read(self, archive: Archive) -> Sequence[StoredReport]:
        """Download an archive, and return its content; raises :class:`BadArchiveError` if it cannot be read."""


@dataclass(slots=True)
class ReadOnce:
    """The content of archives, each downloaded once: several assistants of one run look into the same ones."""

    download: Callable[[Archive], Sequence[StoredReport]]
    _known: dict[str, Sequence[StoredReport] | BadArchiveError | NotFoundError] = field(default_factory=dict)

    def __call__(self, archive: Archive) -> Sequence[StoredReport]:
        """Return what is in an archive.

        Raises:
            RestError: it cannot be had; :class:`NotFoundError` where it is gone.
            BadArchiveError: there is nothing to read in it.
        """
        if archive.id not in self._known:
            try:
                self._known[archive.id] = self.download(archive)
            except (BadArchiveError, NotFoundError) as error:
                self._known[archive.id] = error
        found = self._known[archive.id]
        if isinstance(found, Exception):
            raise found
        return found


@dataclass(slots=True)
class Reports:
    """The reports that earlier runs left of one project.

    Args:
        runs: the runs that can be trusted.
        root: the project's path in the repository: several assistants may be measured in one run.

    Reports that cannot be used are counted, for one line in the comment.
    """

    runs: EarlierRuns
    root: str
    other_projects: bool = False
    """Whether there were reports, but of other projects of the repository only."""
    _unusable: Counter[str] = field(default_factory=Counter)
    _downloads: int = 0

    def of_commit(self, branch: str, commit: str) -> LeftReport | None:
        """Return the newest report of a commit, from a run on the branch that it is in.

        Raises:
            RestError: the host could not be asked.
        """
        return self._first(self.runs.of_commit(branch, commit))

    def of_ancestor(self, branch: str, commit: str) -> LeftReport | None:
        """Return the report of the nearest ancestor of a commit that has one.

        Raises:
            RestError: the host could not be asked.
        """
        by_commit: dict[str, list[EarlierRun]] = {}
        for run in self.runs.of_branch(branch):
            by_commit.setdefault(run.commit, []).append(run)
        by_commit.pop(commit, None)  # that one was already looked up
        for ancestor in self.runs.ancestors(commit) if by_commit else ():
            if found := self._first(by_commit.get(ancestor, ())):
                return found
        return None

    def of_earlier_run(self, branch: str) -> LeftReport | None:
        """Return the newest report of a branch that an earlier run left.

        Raises:
            RestError: the host could not be asked.
        """
        return self._first(self.runs.of_branch(branch))

    @property
    def unreadable(self) -> bool:
        """Whether an archive held no report."""
        return self._unusable[_NOT_READABLE] > 0

    def in_words(self) -> str:
        """What was skipped, in a line: "2 expired, 1 of a fork"."""
        return ", ".join(f"{number} {what}" for what, number in sorted(self._unusable.items()))

    def _first(self, runs: Iterable[EarlierRun]) -> LeftReport | None:
        for run in runs:
            if run.unusable:
                self._unusable[run.unusable] += 1
                continue
            if left := self._of_run(run):
                return left
            if self._downloads >= _MOST_DOWNLOADS:
                return None
        return None

    def _of_run(self, run: EarlierRun) -> LeftReport | None:
        for archive in self.runs.archives(run):
            if archive.unusable:
                self._unusable[archive.unusable] += 1
                continue
            if self._downloads >= _MOST_DOWNLOADS:
                return None
            self._downloads += 1
            try:
                found = self.runs.read(archive)
            except NotFoundError:
                self._unusable[EXPIRED] += 1
                continue
            except BadArchiveError:
                self._unusable[_NOT_READABLE] += 1
                continue
            if report := self._of_this_project(found, run.commit):
                return LeftReport(report, run.commit, archive.run or str(run.id))
        return None

    def _of_this_project(self, found: Iterable[StoredReport], commit: str) -> Report | None:
        for stored in found:
            if stored.report.project.root != self.root:
                self.other_projects = True
                continue  # another assistant's, which is no problem
            if stored.report.stopped is not None:
                self._unusable["cut short"] += 1
                continue
            if stored.report.source.commit == commit:
                return stored.report
            self._unusable["of another commit"] += 1
        return None
