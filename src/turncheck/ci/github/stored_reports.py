"""Which commit a run is to be compared with, and the reports of it that runs of this workflow left."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from turncheck.ci import earlier_reports
from turncheck.ci.github.client import Artifact, BranchTip, Commit, Difference, GitHubClient, Tree, WorkflowRun
from turncheck.ci.github.context import GitHubContext, GitHubPages, target_of_run
from turncheck.ci.host import Base, OtherRun, RunStamp, StoredReport, exact_commit
from turncheck.ci.rest import NotFoundError, RestError
from turncheck.comparison.model import Missing, Unreachable
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


NEEDS: Final = "actions: read"
_QUEUES: Final = "gh-readonly-queue/"
"""The beginning of the branches that GitHub's merge queue makes, and nobody else may."""
MEASURES_THE_COMMIT: Final = frozenset({"push", "merge_group", "schedule"})
"""Events whose runs measure the very commit they are listed under, as the workflow says it. A pull request's run
measures GitHub's test merge, a fork's comes from anybody, and whoever starts a run by hand gives it inputs."""


def base_of(context: GitHubContext) -> Base | Missing:
    """Return the base that the event names, or the reason why there is none.

    Of a branch that was pushed it is the default branch: its pull request, if it has one, is not in the event.

    Sources: the payloads in "Events that trigger workflows".
    """
    event, default = context.event, default_branch(context)
    if pull := context.pull_request:
        return Base(pull.base_ref, head=exact_commit(pull.head_sha) or "HEAD", tip=exact_commit(pull.base_sha))
    if context.event_name.startswith("pull_request"):
        return Unreachable(f"the event '{context.event_name}' describes no pull request")
    if context.event_name == "merge_group":
        group = event.get("merge_group")
        named = group if isinstance(group, dict) else {}
        commit = exact_commit(named.get("base_sha"))
        if commit is None:
            return Unreachable("the event 'merge_group' names no commit to compare with")
        return Base(_branch(str(named.get("base_ref") or "")), commit=commit)
    if not default:
        reason = f"the event '{context.event_name}' names no default branch"
        return Missing(reason) if context.event_name == "schedule" else Unreachable(reason)
    if context.ref != f"refs/heads/{default}":
        return Base(default, head=exact_commit(context.sha) or "HEAD")
    if context.event_name != "push":  # a comment on a pull request, say, whose head the job has checked out
        return Base(default, tip=exact_commit(context.sha))
    return Base(default, commit=exact_commit(event.get("before")), child=exact_commit(context.sha))


def default_branch(context: GitHubContext) -> str:
    """The repository's default branch, as the event has it."""
    repository = context.event.get("repository")
    return str(repository.get("default_branch") or "") if isinstance(repository, dict) else ""


def _branch(ref: str) -> str:
    return ref.removeprefix("refs/heads/")


def merge_base(client: GitHubClient, repository: str, branch: str, head: str) -> str | None:
    """Ask GitHub where a commit left a branch; ``None`` if it does not know them.

    Commits are compared, since the name of a branch may be that of a tag, too.

    Raises:
        RestError: it could not be asked.
    """
    try:
        named = quote(branch, safe="/", errors="replace")
        tip = exact_commit(branch) or _tip_of(client, repository, named)
        difference = _compare(client, repository, tip, head)
    except NotFoundError:
        return None
    return difference.merge_base_commit.sha


def _tip_of(client: GitHubClient, repository: str, branch: str) -> str:
    return client.get(f"/repos/{repository}/branches/{branch}", BranchTip, needs="contents: read").commit.sha


def paths_of(client: GitHubClient, repository: str, commit: str) -> Iterator[str]:
    """List the paths of all files and links of a commit; a tree that is too long for one answer by its folders.

    Args:
        client: asks the API.
        repository: its path in the API.
        commit: its full object id, or that of a tree.

    Raises:
        RestError: they cannot be listed.
    """
    path = f"{repository}/git/trees/{commit}"
    tree = client.get(path, Tree, recursive="1", needs="contents: read")
    if not tree.tree:
        raise RestError("GitHub's list of a folder of the base is empty")
    if not tree.truncated:
        yield from (tree_entry.path for tree_entry in tree.tree if tree_entry.type != "tree")
        return
    shallow = client.get(path, Tree, needs="contents: read")
    if shallow.truncated:
        raise RestError("GitHub lists only a part of a folder of the base")
    for entry in shallow.tree:
        if entry.type == "tree":
            yield from (f"{entry.path}/{path}" for path in paths_of(client, repository, entry.sha))
        else:
            yield entry.path


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
        tip = _tip_of(client, repository, quote(branch, safe="/", errors="replace"))
        return _compare(client, repository, tip, commit).status in {"behind", "identical"}
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

    def of_commit(self, branch: str, commit: str) -> Iterator[earlier_reports.EarlierRun]:
        return self._runs_of(branch, head_sha=commit)

    def of_branch(self, branch: str) -> Iterator[earlier_reports.EarlierRun]:
        return self._runs_of(branch, branch=branch)

    def ancestors(self, commit: str) -> Iterator[str]:
        path = f"/repos/{self.repository}/commits"
        listed = self.client.pages(path, Commit, sha=commit, needs="contents: read")
        return (item.sha for item in islice(listed, earlier_reports.MOST_ANCESTORS))

    def archives(self, run: earlier_reports.EarlierRun) -> Iterator[earlier_reports.Archive]:
        for artifact in artifacts_of_run(self.client, self.repository, run.id):
            if earlier_reports.is_ours(artifact.name, self.artifact_name):
                unusable = (
                    earlier_reports.EXPIRED
                    if artifact.expired
                    else earlier_reports.OF_A_FORK
                    if artifact.foreign
                    else ""
                )
                yield earlier_reports.Archive(str(artifact.id), unusable)

    def _runs_of(self, name: str, /, **wanted: str) -> Iterator[earlier_reports.EarlierRun]:
        path = f"/repos/{self.repository}/actions"
        if self.workflow is not None:
            path += f"/workflows/{PurePosixPath(self.workflow).name}"
        wanted = {"status": "completed", "exclude_pull_requests": "true", **wanted}
        listed = self.client.pages(f"{path}/runs", WorkflowRun, listed="workflow_runs", needs=NEEDS, **wanted)
        for run in islice(listed, earlier_reports.MOST_RUNS):
            of_it = run.event in MEASURES_THE_COMMIT and _is_of_branch(run, name)
            if of_it and (self.own_run is None or run.id < self.own_run):
                own = run.head_repository is not None and run.head_repository.full_name == self.repository
                yield earlier_reports.EarlierRun(run.id, run.head_sha, "" if own else earlier_reports.OF_A_FORK)

    def read(self, archive: earlier_reports.Archive) -> list[StoredReport]:
        return read_artifact(self.client, self.repository, archive.id)


def _is_of_branch(run: WorkflowRun, branch: str) -> bool:
    """Whether a run is one of a branch; a merge queue runs on branches of its own before it merges."""
    if run.event == "merge_group":
        return (run.head_branch or "").startswith(f"{_QUEUES}{branch}/")
    return run.head_branch == branch


def artifacts_of_run(client: GitHubClient, repository: str, run_id: int | str) -> list[Artifact]:
    """List the artifacts of a run, newest first.

    Raises:
        RestError: they cannot be listed.
    """
    path = f"/repos/{repository}/actions/runs/{run_id}/artifacts"
    return sorted(client.pages(path, Artifact, listed="artifacts", needs=NEEDS), key=lambda page: -page.id)


def read_artifact(client: GitHubClient, repository: str, artifact: int | str) -> list[StoredReport]:
    """Download an artifact and return the reports in it.

    Raises:
        UserError: as :func:`turncheck.ci.earlier_reports.download_reports`.
    """
    return earlier_reports.download_reports(
        client, f"/repos/{repository}/actions/artifacts/{artifact}/zip", needs=NEEDS
    )


# The results of another workflow run, for a run that may write in its place.
#
# Nothing in its artifacts says where to post: pull request and commit are the API's.

_NUMBER: Final = re.compile("[0-9]{1,20}")


def read_run(
    client: GitHubClient,
    repository: str,
    pages: GitHubPages,
    run_id: str,
    *,
    artifact_name: str,
    say: Callable[[str], object],
) -> OtherRun:
    """Read one run.

    Raises:
        UserError: there is no such run, or GitHub cannot be asked.
    """
    if not _NUMBER.fullmatch(run_id):
        raise UserError(f"run-id: expected a number, not {run_id[:40]!r}")
    run = client.get(f"/repos/{repository}/actions/runs/{run_id}", WorkflowRun, needs="actions: read")
    owner = run.head_repository.full_name if run.head_repository else "a repository that is gone"

    # A fork's run may give its workflow any name.
    workflow = run.path.partition("@")[0] if owner == repository else None
    trusted = earlier_reports.CachedRuns(WorkflowRuns(client, repository, workflow, artifact_name, own_run=run.id))

    url = pages.run(str(run.id))
    target = target_of_run(client, repository, run)
    stored = tuple(
        (report, f"{url}/artifacts/{artifact_id}")
        for report, artifact_id in _stored(client, repository, run, artifact_name, say)
    )
    return OtherRun(
        commit=run.head_sha,
        url=url,
        stamp=RunStamp(int(run_id), run.run_attempt),
        target=target,
        stored=stored,
        earlier=lambda root: earlier_reports.Reports(trusted, root),
        fork="" if owner == repository else owner,
    )


def _stored(
    client: GitHubClient, repository: str, run: WorkflowRun, artifact_name: str, say: Callable[[str], object]
) -> Iterator[tuple[StoredReport, int]]:
    """Yield the run's reports, of its own commit alone, and the artifacts they are in."""
    for artifact in artifacts_of_run(client, repository, run.id):
        if artifact.expired or not earlier_reports.is_ours(artifact.name, artifact_name):
            continue
        try:
            stored = read_artifact(client, repository, artifact.id)
        except (earlier_reports.BadArchiveError, NotFoundError) as error:
            say(f"an artifact of the run cannot be used: {error.message}")
            continue
        for stored_report in stored:
            if stored_report.report.source.commit == run.head_sha:
                yield stored_report, artifact.id
            else:
                say("a report of the run is of another commit than the run, and is left out")
