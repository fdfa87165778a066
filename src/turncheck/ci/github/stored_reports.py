"""Which state a run is to be compared with, and the reports that runs of this workflow left of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from turncheck.ci.github.answers import Commit, Difference, WorkflowRun
from turncheck.ci.github.artifacts import BadArchiveError, artifacts_of_run, is_ours, read_artifact
from turncheck.ci.github.context import NO_COMMIT
from turncheck.ci.host import Base, LeftReport
from turncheck.ci.rest import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.ci.github.client import GitHubClient
    from turncheck.ci.github.context import GitHubContext
    from turncheck.report.model import Report

NEEDS: Final = "actions: read"
MEASURES_THE_COMMIT: Final = frozenset({"push", "merge_group", "schedule", "workflow_dispatch", "repository_dispatch"})
"""Events whose runs measure the very commit they are listed under. A pull request's run measures GitHub's test merge,
and a fork's comes from anybody."""
_NOT_READABLE: Final = "not readable"
"""What is counted of artifacts that hold no report."""
_MOST_RUNS: Final = 300
_MOST_ANCESTORS: Final = 300
_MOST_DOWNLOADS: Final = 10


def base_of(context: GitHubContext) -> Base | str:
    """Return the base that the event gives, or the reason why there is none.

    Of a branch that was pushed it is the default branch: its pull request, if it has one, is not in the event.

    Sources: the payloads in "Events that trigger workflows".
    """
    event, default = context.event, default_branch(context)
    if context.pull_request:
        return Base(context.pull_request.base_ref, head=context.pull_request.head_sha)
    group = event.get("merge_group")
    if context.event_name == "merge_group" and isinstance(group, dict):
        return Base(_branch(str(group.get("base_ref") or "")), commit=str(group.get("base_sha") or "") or None)
    if not default:
        return f"the event '{context.event_name}' names no default branch"
    if context.ref != f"refs/heads/{default}":
        return Base(default, head=context.sha)
    before = str(event.get("before") or NO_COMMIT)
    if context.event_name == "push" and before != NO_COMMIT:
        return Base(default, commit=before)
    return Base(default)


def default_branch(context: GitHubContext) -> str:
    """The repository's default branch, as the event has it."""
    repository = context.event.get("repository")
    return str(repository.get("default_branch") or "") if isinstance(repository, dict) else ""


def _branch(ref: str) -> str:
    return ref.removeprefix("refs/heads/")


def merge_base(client: GitHubClient, repository: str, base: str, head: str) -> str | None:
    """Ask GitHub where two states parted; ``None`` where it does not know them.

    Raises:
        RestError: it could not be asked.
    """
    try:
        found = _compare(client, repository, base, head)
    except NotFoundError:
        return None
    return found.merge_base_commit.sha


def is_between(client: GitHubClient, repository: str, start: str | None, commit: str, branch: str) -> bool:
    """Whether a commit is part of a branch's history, and no older than ``start``.

    The base of a pull request is where it left its base branch, or, for GitHub's test merge, a later state of that
    branch; an older one would charge it with less than it does.

    Raises:
        RestError: GitHub could not be asked.
    """
    if start is None:
        return False
    try:
        if start != commit and _compare(client, repository, start, commit).status != "ahead":
            return False
        return _compare(client, repository, branch, commit).status in {"behind", "identical"}
    except NotFoundError:
        return False


def _compare(client: GitHubClient, repository: str, base: str, head: str) -> Difference:
    names = "...".join(quote(name, safe="", errors="replace") for name in (base, head))
    return client.get(f"/repos/{repository}/compare/{names}", Difference, per_page=1, needs="contents: read")


@dataclass(slots=True)
class Reports:
    """The reports that runs of a workflow left in their artifacts, for one project.

    What is looked at and cannot be used is counted, for one line in the comment.
    """

    client: GitHubClient
    repository: str
    workflow: str | None
    """The workflow file, ``.github/workflows/ci.yml``; ``None`` for all, where nobody is trusted to name it."""
    artifact_name: str
    root: str
    """The project's path in the repository: several assistants may be measured in one run."""
    own_run: int | None = None
    """Only runs before this one count."""
    passed_over: Counter[str] = field(default_factory=Counter)
    other_projects: bool = False
    """Whether there were reports, but of other projects of the repository only."""
    _downloads: int = 0

    def of_commit(self, commit: str) -> LeftReport | None:
        """Return the newest report of a commit.

        Raises:
            RestError: GitHub could not be asked.
        """
        return self._first(self._runs(head_sha=commit))

    def of_ancestor(self, branch: str, commit: str) -> LeftReport | None:
        """Return the report of the nearest ancestor of a commit that has one.

        Raises:
            RestError: GitHub could not be asked.
        """
        by_commit: dict[str, list[WorkflowRun]] = {}
        for run in self._runs(branch=branch):
            by_commit.setdefault(run.head_sha, []).append(run)
        by_commit.pop(commit, None)  # that one was asked for first
        for ancestor in self._ancestors(commit) if by_commit else ():
            if found := self._first(by_commit.get(ancestor, ())):
                return found
        return None

    def of_earlier_run(self, branch: str) -> LeftReport | None:
        """Return the newest report of a branch that an earlier run left.

        Raises:
            RestError: GitHub could not be asked.
        """
        return self._first(self._runs(branch=branch))

    @property
    def unreadable(self) -> bool:
        """Whether an artifact held no report."""
        return self.passed_over[_NOT_READABLE] > 0

    def in_words(self) -> str:
        """What was skipped, in a line: "2 expired, 1 of a fork"."""
        return ", ".join(f"{number} {what}" for what, number in sorted(self.passed_over.items()))

    def _runs(self, **wanted: str) -> Iterator[WorkflowRun]:
        """Yield the completed runs of this workflow that measured a commit of this repository, newest first."""
        path = f"/repos/{self.repository}/actions"
        if self.workflow is not None:
            path += f"/workflows/{PurePosixPath(self.workflow).name}"
        wanted = {"status": "completed", "exclude_pull_requests": "true", **wanted}
        listed = self.client.pages(f"{path}/runs", WorkflowRun, key="workflow_runs", needs=NEEDS, **wanted)
        for number, run in enumerate(listed):
            if number >= _MOST_RUNS:
                return
            if run.event in MEASURES_THE_COMMIT and (self.own_run is None or run.id < self.own_run):
                yield run

    def _ancestors(self, commit: str) -> Iterator[str]:
        path = f"/repos/{self.repository}/commits"
        for number, item in enumerate(self.client.pages(path, Commit, sha=commit, needs="contents: read")):
            if number >= _MOST_ANCESTORS:
                return
            yield item.sha

    def _first(self, runs: Iterable[WorkflowRun]) -> LeftReport | None:
        for run in runs:
            if run.head_repository is None or run.head_repository.full_name != self.repository:
                self.passed_over["of a fork"] += 1
                continue
            if report := self._of_run(run):
                return LeftReport(report, run.head_sha, str(run.id))
            if self._downloads >= _MOST_DOWNLOADS:
                return None
        return None

    def _of_run(self, run: WorkflowRun) -> Report | None:
        listed = artifacts_of_run(self.client, self.repository, run.id)
        for artifact in [one for one in listed if is_ours(one.name, self.artifact_name)]:
            if artifact.expired:
                self.passed_over["expired"] += 1
                continue
            if artifact.foreign:
                self.passed_over["of a fork"] += 1
                continue
            if self._downloads >= _MOST_DOWNLOADS:
                return None
            self._downloads += 1
            try:
                found = read_artifact(self.client, self.repository, artifact)
            except NotFoundError:
                self.passed_over["expired"] += 1
                continue
            except BadArchiveError:
                self.passed_over[_NOT_READABLE] += 1
                continue
            for stored in found:
                if stored.report.project.root != self.root:
                    self.other_projects = True
                    continue  # another assistant's, no fault of anybody
                if stored.report.stopped is not None:
                    self.passed_over["cut short"] += 1
                    continue
                if stored.report.source.commit == run.head_sha:
                    return stored.report
                self.passed_over["of another commit"] += 1
        return None
