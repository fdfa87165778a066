"""Which commit a run is to be compared with, and the reports of it that runs of this workflow left."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from turncheck.ci.archived_reports import download_reports, is_ours
from turncheck.ci.earlier_reports import EXPIRED, MOST_ANCESTORS, MOST_RUNS, OF_A_FORK, Archive, EarlierRun, ReadOnce
from turncheck.ci.github.answers import Artifact, Commit, Difference, WorkflowRun
from turncheck.ci.github.context import NO_COMMIT
from turncheck.ci.host import Base
from turncheck.ci.rest import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.ci.github.client import GitHubClient
    from turncheck.ci.github.context import GitHubContext
    from turncheck.ci.host import StoredReport

NEEDS: Final = "actions: read"
MEASURES_THE_COMMIT: Final = frozenset({"push", "merge_group", "schedule", "workflow_dispatch", "repository_dispatch"})
"""Events whose runs measure the very commit they are listed under. A pull request's run measures GitHub's test merge,
and a fork's comes from anybody."""


def base_of(context: GitHubContext) -> Base | str:
    """Return the base that the event names, or the reason why there is none.

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
    """Ask GitHub where two commits diverged; ``None`` if it does not know them.

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
    branch; an older one would attribute less to it than it changes.

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


@dataclass(eq=False, slots=True)
class WorkflowRuns:
    """The completed runs of a workflow that measured a commit of this repository, and their artifacts."""

    client: GitHubClient
    repository: str
    workflow: str | None
    """The workflow file, ``.github/workflows/ci.yml``; ``None`` for all, if no name can be trusted."""
    artifact_name: str
    own_run: int | None = None
    """Only runs before this one count."""
    read: ReadOnce = field(init=False)

    def __post_init__(self) -> None:
        self.read = ReadOnce(self._download)

    def of_commit(self, commit: str) -> Iterator[EarlierRun]:
        return self._runs(head_sha=commit)

    def of_branch(self, branch: str) -> Iterator[EarlierRun]:
        return self._runs(branch=branch)

    def ancestors(self, commit: str) -> Iterator[str]:
        path = f"/repos/{self.repository}/commits"
        listed = self.client.pages(path, Commit, sha=commit, needs="contents: read")
        return (item.sha for item in islice(listed, MOST_ANCESTORS))

    def archives(self, run: EarlierRun) -> Iterator[Archive]:
        for artifact in artifacts_of_run(self.client, self.repository, run.id):
            if is_ours(artifact.name, self.artifact_name):
                unusable = EXPIRED if artifact.expired else OF_A_FORK if artifact.foreign else ""
                yield Archive(str(artifact.id), unusable)

    def _runs(self, **wanted: str) -> Iterator[EarlierRun]:
        path = f"/repos/{self.repository}/actions"
        if self.workflow is not None:
            path += f"/workflows/{PurePosixPath(self.workflow).name}"
        wanted = {"status": "completed", "exclude_pull_requests": "true", **wanted}
        listed = self.client.pages(f"{path}/runs", WorkflowRun, key="workflow_runs", needs=NEEDS, **wanted)
        for run in islice(listed, MOST_RUNS):
            if run.event in MEASURES_THE_COMMIT and (self.own_run is None or run.id < self.own_run):
                own = run.head_repository is not None and run.head_repository.full_name == self.repository
                yield EarlierRun(run.id, run.head_sha, "" if own else OF_A_FORK)

    def _download(self, archive: Archive) -> list[StoredReport]:
        return read_artifact(self.client, self.repository, archive.id)


def artifacts_of_run(client: GitHubClient, repository: str, run_id: int | str) -> list[Artifact]:
    """List the artifacts of a run, newest first.

    Raises:
        RestError: they cannot be listed.
    """
    path = f"/repos/{repository}/actions/runs/{run_id}/artifacts"
    return sorted(client.pages(path, Artifact, key="artifacts", needs=NEEDS), key=lambda one: -one.id)


def read_artifact(client: GitHubClient, repository: str, artifact: int | str) -> list[StoredReport]:
    """Download an artifact and return the reports in it.

    Raises:
        UserError: as :func:`turncheck.ci.archived_reports.download_reports`.
    """
    return download_reports(client, f"/repos/{repository}/actions/artifacts/{artifact}/zip", needs=NEEDS)
