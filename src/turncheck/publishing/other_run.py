"""Publishing what another run measured, with a token that the other run did not have.

A pull request of a fork is measured by a run that can write nothing but artifacts. A second one, of the default
branch's own workflow, takes the reports out of them, compares and judges and renders again, and posts. Nothing in them
is run, and nothing in them says where to post: pull request and commit are the API's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from turncheck.ci.github.answers import WorkflowRun
from turncheck.ci.github.artifacts import BadArchiveError, artifacts_of_run, is_ours, read_artifact
from turncheck.ci.github.comment import Stamp
from turncheck.ci.github.errors import GitHubError, NotFoundError
from turncheck.ci.github.pull_request import Target, target_of_run
from turncheck.ci.github.stored_reports import Reports, is_between, merge_base
from turncheck.comparison.baseline import Missing, Present, Unreachable, Unreadable
from turncheck.conclude import Outcome, conclude
from turncheck.messages.errors import UserError
from turncheck.render.links import Links
from turncheck.render.markdown import comment_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.ci.github.artifacts import StoredReport
    from turncheck.ci.github.client import GitHubClient
    from turncheck.comparison.baseline import Baseline
    from turncheck.report.model import Report
    from turncheck.settings.options import JunitFlavour

MOST_COMMENTS: Final = 20
"""Assistants that one run may speak of."""


@dataclass(frozen=True, slots=True)
class FoundResult:
    """A result of the run, and the artifact it came in."""

    outcome: Outcome
    artifact_url: str


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run, the pull request it was for (or why there is none), and what it measured."""

    stamp: Stamp
    target: Target | str
    results: tuple[FoundResult, ...]


@dataclass(slots=True)
class RunReader:
    """Reads what a run left.

    Args:
        client: asks the API.
        repository: ``owner/name``.
        server_url: where people look, ``https://github.com``.
        artifact_name: what the artifacts' names begin with.
        gates: settings of gates that count instead of the reports' own.
        say: is told of what cannot be used.
        flavour: of the junit.xml that is written again.
    """

    client: GitHubClient
    repository: str
    server_url: str
    artifact_name: str
    gates: Mapping[str, Any]
    say: Callable[[str], object]
    flavour: JunitFlavour = "common"

    def read(self, run_id: str) -> FoundRun:
        """Read one run.

        Raises:
            UserError: there is no such run, it has no report, or GitHub cannot be asked.
        """
        run = self._run(run_id)
        target = target_of_run(self.client, self.repository, run)
        stamp = Stamp(int(run_id), run.run_attempt)
        results: dict[str, FoundResult] = {}
        for stored, artifact_id in self._stored(run):
            key = comment_key(stored.report)
            if key in results:
                self.say(f"the run left two reports of '{key}'; the newer one counts")
            elif len(results) >= MOST_COMMENTS:
                self.say(f"the run left reports of more than {MOST_COMMENTS} assistants; the others are left out")
                break
            else:
                results[key] = self._result(stored, artifact_id, run, target)
        if not results:
            raise UserError(
                f"run {run_id} left no report in an artifact '{self.artifact_name}'",
                remedy="Its job must upload one; the input `artifact-name` must be the same in both workflows.",
            )
        return FoundRun(stamp, target, tuple(results.values()))

    def _run(self, run_id: str) -> WorkflowRun:
        if not run_id.isdecimal() or len(run_id) > 20:
            raise UserError(f"run-id: expected a number, not {run_id[:40]!r}")
        path = f"/repos/{self.repository}/actions/runs/{run_id}"
        return self.client.get(path, WorkflowRun, needs="actions: read")

    def _stored(self, run: WorkflowRun) -> list[tuple[StoredReport, int]]:
        """The run's reports, of its own commit alone, and the artifacts they lie in."""
        found = []
        for artifact in artifacts_of_run(self.client, self.repository, run.id):
            if artifact.expired or not is_ours(artifact.name, self.artifact_name):
                continue
            try:
                stored = read_artifact(self.client, self.repository, artifact)
            except (BadArchiveError, NotFoundError) as error:
                self.say(f"an artifact of the run cannot be used: {error.what}")
                continue
            for one in stored:
                if one.report.source.commit == run.head_sha:
                    found.append((one, artifact.id))
                else:
                    self.say("a report of the run is of another commit than the run, and is left out")
        return found

    def _judged_by(self, report: Report) -> Report:
        return msgspec.structs.replace(report, settings=msgspec.structs.replace(report.settings, **self.gates))

    def _result(self, stored: StoredReport, artifact_id: int, run: WorkflowRun, target: Target | str) -> FoundResult:
        report = self._judged_by(stored.report)
        baseline = self._baseline(stored, run, target)
        if isinstance(baseline, Present):  # gates that are given here hold for both: neither side has changed them
            baseline = replace(baseline, report=self._judged_by(baseline.report))
        run_url = f"{self.server_url}/{self.repository}/actions/runs/{run.id}"
        artifact_url = f"{run_url}/artifacts/{artifact_id}"
        links = Links(
            repository_url=f"{self.server_url}/{self.repository}",
            commit=run.head_sha,
            run_url=run_url,
            artifact_url=artifact_url,
        )
        return FoundResult(conclude(report, baseline, links, flavour=self.flavour), artifact_url)

    def _baseline(self, stored: StoredReport, run: WorkflowRun, target: Target | str) -> Baseline:
        """What the run compared with, if that is on the base branch; a trusted run's report of it before all."""
        if isinstance(target, str):
            return Missing("the pull request is not known")
        claimed = stored.baseline.source.commit if stored.baseline else None
        try:
            commit = merge_base(self.client, self.repository, target.base_ref, run.head_sha)
            if claimed is not None:
                if not is_between(self.client, self.repository, commit, claimed, target.base_ref):
                    return Unreadable(
                        f"the run compared with commit {claimed[:8]}, which is no base of this pull request: "
                        f"it is not on '{target.base_ref}' since the pull request left it"
                    )
                commit = claimed
            reports = self._trusted(stored.report, run)
            left = reports.of_commit(commit) if commit else None
        except GitHubError as error:
            return Unreachable(f"GitHub cannot be asked for it: {error.what}")
        if left is not None:
            return Present(left.report, "artifact", left.commit, left.run_id, reports.told())
        if reports.other_projects:
            return Missing("the base has reports of other projects, none of this one")
        if stored.baseline is not None:
            return Present(stored.baseline, "run", claimed)
        if stored.baseline_fault:
            return Unreadable(stored.baseline_fault)
        return Missing("the run brought none, and no run of the base branch left a report")

    def _trusted(self, report: Report, run: WorkflowRun) -> Reports:
        """Where reports of the repository's own runs are; a fork's run may call its workflow whatever it wants."""
        owner = run.head_repository.full_name if run.head_repository else None
        return Reports(
            client=self.client,
            repository=self.repository,
            workflow=run.path.partition("@")[0] if owner == self.repository else None,
            artifact_name=self.artifact_name,
            root=report.project.root,
            own_run=run.id,
        )
