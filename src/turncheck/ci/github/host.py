"""GitHub as a CI host: its context, its API, its runner and its artifacts, behind the protocol that all hosts share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct

from turncheck.ci import host
from turncheck.ci.base_files import files_by_api
from turncheck.ci.comment import StickyComment
from turncheck.ci.earlier_reports import CachedRuns, Reports
from turncheck.ci.github.cache_service import KeptEntries, find_cache_service
from turncheck.ci.github.client import MOST, CheckAnnotation, CheckRun, GitHubClient, post_check_run
from turncheck.ci.github.code_scanning import upload
from turncheck.ci.github.context import (
    GitHubContext,
    GitHubPages,
    IssueComments,
    find_target,
    read_context,
    target_of_number,
)
from turncheck.ci.github.results_host import NoService
from turncheck.ci.github.results_service import ResultsService, find_service
from turncheck.ci.github.runner import Runner
from turncheck.ci.github.stored_reports import (
    WorkflowRuns,
    base_of,
    default_branch,
    is_between,
    merge_base,
    paths_of,
    read_run,
)
from turncheck.ci.rest import ASKING, PUBLISHING, RestError, RetryBudget
from turncheck.comparison.model import Missing, Unreachable
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.process.environment import Secret, secret_of
from turncheck.render.markdown import MEASURED_BY
from turncheck.render.sinks.commands import command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager


_CHECK_OF_A_FORK: Final = f"turncheck ({MEASURED_BY})"
"""One that is required does not begin so: GitHub counts a neutral check as passed, so nothing in it is the fork's."""
_OF_BRANCHES: Final = frozenset({"push", "schedule", "workflow_dispatch"})
"""Events whose runs measure the branch itself: others may run on the default branch and check out a change."""
_NO_TOKEN: Final = "there is no token to write it with"  # noqa: S105 - a reason


@dataclass(eq=False)
class GitHub(Runner):
    """GitHub, asked from a run of a workflow or about a repository.

    Args:
        context: the run or repository.
        token: for the API; without one only the runner is used.
    """

    context: GitHubContext
    token: Secret | None = None
    name = "GitHub"
    full_history_hint = "a checkout with `fetch-depth: 0`, or a token that may read"

    @classmethod
    def detect(cls, environment: Mapping[str, str], token: Secret | None) -> Self | None:
        """Return GitHub where the variables are those of one of its jobs.

        Raises:
            UserError: as :func:`turncheck.ci.github.context.read_context`.
        """
        context = read_context(environment)
        return cls(context, token, variables=environment) if context is not None else None

    @classmethod
    def of_repository(cls, repository: str, token: Secret | None, environment: Mapping[str, str]) -> Self:
        """Return GitHub about a repository that is named as OWNER/NAME, from anywhere.

        Raises:
            UserError: it is not named so, or a variable holds what it should not.
        """
        context = read_context({**environment, "GITHUB_REPOSITORY": repository})
        if context is None:
            raise UserError(f"'{repository}' is not a repository", hint="Write it as OWNER/NAME.")
        return cls(context, token or secret_of(environment, "GITHUB_TOKEN", "GH_TOKEN"))

    @cached_property
    def run(self) -> host.Run:
        context = self.context
        number, pull = context.run_number, context.pull_request
        return host.Run(
            repository=context.repository,
            commit=context.head_sha or None,
            checked_out=context.sha or None,
            ref=context.ref or None,
            run_id=context.run_id,
            url=context.run_url,
            workspace=context.workspace,
            stamp=host.NO_RUN if number is None else host.RunStamp(number, context.run_attempt),
            of_a_fork=pull is not None and pull.fork,
            of_a_change=pull is not None or context.event_name == "merge_group",
            merges=pull.head_sha if pull is not None else None,
            troubles=context.troubles,
        )

    @property
    def pages(self) -> GitHubPages:
        return self.context.pages

    @cached_property
    def _asking(self) -> GitHubClient | None:
        return self._client(RetryBudget(ASKING))

    @cached_property
    def _earlier_runs(self) -> dict[str, CachedRuns]:
        """By the name of their artifacts: several assistants of one run look into the same ones."""
        return {}

    @cached_property
    def _publishing(self) -> RetryBudget:
        """For the API and the results service together."""
        return RetryBudget(PUBLISHING)

    @cached_property
    def _writing_client(self) -> GitHubClient | None:
        return self._client(self._publishing)

    def _client(self, patience: RetryBudget) -> GitHubClient | None:
        if self.token is None:
            return None
        return GitHubClient(self.context.api_url, self.token, patience, self.context.network)

    def _asker(self) -> GitHubClient:
        return _with_token(self._asking)

    def _writer(self) -> GitHubClient:
        return _with_token(self._writing_client)

    # --- what is compared with ---------------------------------------------------------------------------------------

    def base(self, warn: Callable[[str, host.HostError], None]) -> host.Base | Missing:
        """Return what the event names; of a branch that a pull request is open for, what that is to be merged into."""
        base, context = base_of(self.context), self.context
        if context.pull_request is not None or self._asking is None:
            return base
        try:
            target = self._open_pull_request
        except RestError as error:
            # The default branch seldom has one; publishing asks again, and reports what is wrong.
            if isinstance(base, host.Base) and base.head is not None:
                warn(f"the pull request of this branch, so '{base.branch}' is taken to be its base", error)
            return base
        if not isinstance(target, host.Target):
            return base
        if target.other_base_refs:
            into = ", ".join(f"'{name}'" for name in sorted({target.base_ref, *target.other_base_refs}))
            hint = "measure on the event `pull_request`"
            return Unreachable(f"pull requests of this branch are open into {into}: {hint}")
        return host.Base(target.base_ref, head=host.exact_commit(context.sha) or "HEAD", of_a_change=True)

    @cached_property
    def _open_pull_request(self) -> host.Target | str:
        return find_target(self.context, self._asking)

    def clone_address(self) -> host.CloneAddress:
        url = f"{self.context.repository_url}.git"
        return host.CloneAddress(url, host.login_with("x-access-token", self.token))

    def merge_base(self, branch: str, head: str) -> str | None:
        return merge_base(self._asking, self.context.repository, branch, head) if self._asking else None

    def is_between(self, start: str | None, commit: str, branch: str) -> bool:
        return is_between(self._asker(), self.context.repository, start, commit, branch)

    def files_of(self, commit: str) -> AbstractContextManager[host.CommitFiles] | None:
        if self._asking is None:
            return None
        repository = f"/repos/{self.context.repository}"
        listed = paths_of(self._asking, repository, commit)
        return files_by_api(self._asking, f"{repository}/tarball/{commit}", listed, needs="contents: read")

    def earlier_reports(self, artifact_name: str, root: str) -> Reports | None:
        if self._asking is None or self.context.workflow_path is None:
            return None
        runs = self._earlier_runs.get(artifact_name)
        if runs is None:
            context = self.context
            workflow, own = context.workflow_path, context.run_number
            runs = CachedRuns(WorkflowRuns(self._asking, context.repository, workflow, artifact_name, own_run=own))
            self._earlier_runs[artifact_name] = runs
        return Reports(runs, root)

    def other_run(self, run_id: str, artifact_name: str, say: Callable[[str], object]) -> host.OtherRun:
        client, repository = self._asker(), self.context.repository
        return read_run(client, repository, self.pages, run_id, artifact_name=artifact_name, say=say)

    # --- where it is said --------------------------------------------------------------------------------------------

    def target(self) -> host.Target | str:
        return _NO_TOKEN if self._writing_client is None else find_target(self.context, self._writing_client)

    @property
    def needs_token(self) -> str:
        return "give `--token`, or set `GITHUB_TOKEN` or `GH_TOKEN`" if self.token is None else ""

    def target_of_number(self, number: int) -> host.Target:
        """Return a pull request by its number.

        Raises:
            RestError: GitHub could not be asked, or has no such pull request.
        """
        return target_of_number(self._writer(), self.context.repository, number)

    def comment(self, target: host.Target, marker: str, *, passed: bool) -> StickyComment:  # noqa: ARG002
        return StickyComment(IssueComments(self._writer(), self.context.repository, target.number), marker)

    def deferred_comment_note(self, target: host.Target) -> str:
        return (
            f"this run's token may only read, since the change comes from {target.reads_only}: the comment follows "
            "from the workflow that publishes on `workflow_run`, where the repository has one"
        )

    def artifacts(self, write: Callable[[str], object]) -> _RunArtifacts | str:
        """Return the artifacts of this run; secrets are masked in the log."""
        service = find_service(self.variables, lambda secret: write(command("add-mask", secret) + "\n"))
        if isinstance(service, NoService):
            return service.reason
        service.patience = self._publishing
        return _RunArtifacts(service, self.context.run_url)

    def cache(self, write: Callable[[str], object]) -> KeptEntries | str:
        """Return the cache that the runs of the repository share; secrets are masked in the log."""
        service = find_cache_service(self.variables, lambda secret: write(command("add-mask", secret) + "\n"))
        if isinstance(service, NoService):
            return service.reason
        context = self.context
        branch = default_branch(context)
        ref = f"refs/heads/{branch}" if branch else ""
        measures_it = context.event_name in _OF_BRANCHES and context.ref == ref and not self.run.of_a_change
        return KeptEntries(service, self._client(service.patience), context.repository, ref, measures_it)

    def check(self, check: host.Check) -> host.Checked:
        if self._writing_client is None or check.commit is None:
            return host.Checked(False, f"no check run: {_NO_TOKEN}")
        placed = [
            CheckAnnotation(
                annotation.path,
                annotation.line,
                "failure" if annotation.level == "error" else annotation.level,
                annotation.title,
                annotation.message,
            )
            for annotation in check.annotations
            if annotation.path is not None and annotation.line is not None
        ]
        made = CheckRun(
            name=_CHECK_OF_A_FORK if check.by_fork else f"turncheck: {check.key}",
            commit=check.commit,
            conclusion="neutral" if check.by_fork else "success" if check.passed else "failure",
            title=MEASURED_BY if check.by_fork else check.title,
            summary=check.text,
            identity=f"turncheck/{check.stamp.run_id}.{check.stamp.attempt}/{check.key}",
            details_url=check.details_url,
            annotations=placed,
        )
        post_check_run(self._writing_client, self.context.repository, made)
        more = f"the check run holds {MOST} of {count(len(placed), 'annotation')}" if len(placed) > MOST else ""
        return host.Checked(True, more)

    def scan(self, sarif: bytes) -> str:
        if self._writing_client is None:
            return f"no code scanning: {_NO_TOKEN}"
        return upload(self._writing_client, self.context.repository, self.run.checked_out, self.run.ref, sarif)


def _with_token(client: GitHubClient | None) -> GitHubClient:
    if client is None:
        raise RestError("GitHub cannot be queried without a token", hint="Give the input `token`.")
    return client


class _RunArtifacts(Struct, frozen=True):
    """The artifacts of this run, by the results service."""

    service: ResultsService
    run_url: str | None

    def retention(self, days: int) -> tuple[int, str]:
        return self.service.retention(days)

    def keep(
        self, name: str, files: Sequence[tuple[str, bytes]], days: int, distinction: str | None = None
    ) -> host.UploadedArtifact:
        if distinction is None:
            made = self.service.upload(name, files, days)
        else:
            made = self.service.upload_beside(name, distinction, files, days)
        return host.UploadedArtifact(made.name, self._address(made.id))

    def keep_page(self, name: str, content: bytes, days: int) -> host.UploadedArtifact:
        made = self.service.upload_page(name, content, days)
        return host.UploadedArtifact(made.name, self._address(made.id))

    def _address(self, artifact: str) -> str:
        return f"{self.run_url}/artifacts/{artifact}" if self.run_url else ""
