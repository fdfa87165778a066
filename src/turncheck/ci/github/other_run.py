"""The results of another workflow run, for a run that may write in its place.

Nothing in its artifacts says where to post: pull request and commit are the API's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.ci.archived_reports import BadArchiveError, is_ours
from turncheck.ci.earlier_reports import Reports
from turncheck.ci.github.answers import WorkflowRun
from turncheck.ci.github.pull_request import target_of_run
from turncheck.ci.github.stored_reports import WorkflowRuns, artifacts_of_run, read_artifact
from turncheck.ci.host import OtherRun, Stamp, StoredReport
from turncheck.ci.rest import NotFoundError
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from turncheck.ci.github.client import GitHubClient
    from turncheck.ci.github.pages import GitHubPages

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
    trusted = WorkflowRuns(client, repository, workflow, artifact_name, own_run=run.id)

    url = pages.run(str(run.id))
    target = target_of_run(client, repository, run)
    stored = tuple(
        (report, f"{url}/artifacts/{artifact_id}")
        for report, artifact_id in _stored(client, repository, run, artifact_name, say)
    )
    return OtherRun(
        commit=run.head_sha,
        url=url,
        stamp=Stamp(int(run_id), run.run_attempt),
        target=target,
        stored=stored,
        earlier=lambda root: Reports(trusted, root),
        fork="" if owner == repository else owner,
    )


def _stored(
    client: GitHubClient, repository: str, run: WorkflowRun, artifact_name: str, say: Callable[[str], object]
) -> Iterator[tuple[StoredReport, int]]:
    """Yield the run's reports, of its own commit alone, and the artifacts they are in."""
    for artifact in artifacts_of_run(client, repository, run.id):
        if artifact.expired or not is_ours(artifact.name, artifact_name):
            continue
        try:
            stored = read_artifact(client, repository, artifact.id)
        except (BadArchiveError, NotFoundError) as error:
            say(f"an artifact of the run cannot be used: {error.what}")
            continue
        for one in stored:
            if one.report.source.commit == run.head_sha:
                yield one, artifact.id
            else:
                say("a report of the run is of another commit than the run, and is left out")
