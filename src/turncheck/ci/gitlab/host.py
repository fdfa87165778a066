"""GitLab, in its cloud or self-managed: what the variables of a job say, and its API.

Source: "Predefined CI/CD variables reference" in GitLab's documentation.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from turncheck.ci.comment import StickyComment
from turncheck.ci.earlier_reports import AskedOnce, Reports
from turncheck.ci.gitlab.api import GitLabClient, GitLabProject
from turncheck.ci.host import Base, CloneAddress, HostError, Run, Target, exact_commit, login_with
from turncheck.ci.rest import ASKING, PUBLISHING, RetryBudget
from turncheck.ci.variables import JobHost
from turncheck.comparison.model import Unreachable
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Self

    from turncheck.ci.host import CommitFiles
    from turncheck.comparison.model import Missing
    from turncheck.process.environment import Secret


# The addresses of a project's pages on GitLab.


@dataclass(frozen=True, slots=True)
class GitLabPages:
    """Addresses below a project's page (``https://gitlab.com/group/project``)."""

    project_url: str

    def file(self, commit: str, path: str, line: int | None) -> str:
        """Address of a file in a commit, and of a line in it."""
        # Markdown is shown rendered, without line numbers, unless it is asked for as plain text.
        plain = "?plain=1" if path.lower().endswith((".md", ".markdown")) else ""
        fragment = f"#L{line}" if line is not None else ""
        return f"{self.project_url}/-/blob/{commit}/{quote(path, errors='replace')}{plain}{fragment}"

    def commit(self, commit: str) -> str:
        """Address of a commit."""
        return f"{self.project_url}/-/commit/{commit}"

    def run(self, run_id: str) -> str:
        """Address of a job."""
        return f"{self.project_url}/-/jobs/{run_id}"


_API: Final = "https://gitlab.com/api/v4"
_HOW: Final = "set the CI/CD variable `GITLAB_TOKEN` to a project access token with the scope `api`"
_BY_MERGE_REQUEST: Final = "measure in merge request pipelines, which name theirs"
_FORK: Final = "jobs of a fork do not get the variables of the project: a member of it can run the pipeline there"


class GitLab(JobHost):
    """GitLab, asked from a job of a pipeline or about a project."""

    name = "GitLab"
    mark = "GITLAB_CI"
    full_history_hint = "the variable `GIT_DEPTH: 0`"
    keeps_files_by = "`artifacts: paths`"
    formats = ("codequality", "metrics", "annotations")
    token_variables = ("GITLAB_TOKEN",)
    server_variables = ("CI_API_V4_URL",)
    comment_limit = 900_000
    """GitLab takes a million characters."""

    @classmethod
    def of_repository(cls, repository: str, token: Secret | None, environment: Mapping[str, str]) -> Self:
        """Return GitLab about a project that is named, from anywhere."""
        server = environment.get("GITLAB_URL", "").rstrip("/")
        api = environment.get("CI_API_V4_URL") or (f"{server}/api/v4" if server else _API)
        kept = {name: value for name, value in environment.items() if not name.startswith("CI_")}
        named = {"CI_API_V4_URL": api, "CI_PROJECT_PATH": repository}
        return cls.of({**kept, **named, "CI_PROJECT_URL": f"{api.removesuffix('/api/v4')}/{repository}"}, token)

    @property
    def run(self) -> Run:
        given = self.variables
        return Run(
            repository=given.text("CI_PROJECT_PATH"),
            commit=given.commit("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "CI_COMMIT_SHA"),
            checked_out=given.commit("CI_COMMIT_SHA"),
            ref=given.branch("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME") or None,
            run_id=given.text("CI_JOB_ID") or None,
            url=given.address("CI_JOB_URL", "CI_PIPELINE_URL"),
            workspace=given.folder("CI_PROJECT_DIR"),
            stamp=given.stamp("CI_PIPELINE_ID", "CI_JOB_ID"),
            of_a_change=bool(
                given.text("CI_MERGE_REQUEST_IID", "CI_OPEN_MERGE_REQUESTS", "CI_EXTERNAL_PULL_REQUEST_IID")
            ),
            of_a_fork=self._is_of_a_fork(),
            merges=given.commit("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"),
        )

    def _is_of_a_fork(self) -> bool:
        """Whether the change is to be merged into another project than the one it comes from."""
        given, opened = self.variables, self._open_merge_request
        if opened is not None and opened[0] != given.text("CI_PROJECT_PATH"):
            return True
        return given.text("CI_MERGE_REQUEST_SOURCE_PROJECT_ID") != given.text("CI_MERGE_REQUEST_PROJECT_ID")

    @property
    def pages(self) -> GitLabPages | None:
        url = self.variables.address("CI_PROJECT_URL")
        return GitLabPages(url) if url else None

    def results_url(self, folder: str, file: str = "") -> str | None:
        """Return the page of a job's artifacts in a folder, or of one; it is there once the job has ended."""
        url = self.variables.address("CI_JOB_URL")
        path = posixpath.normpath(folder)
        if url is None or path.startswith(("/", "..")):
            return None
        shown = quote(path, errors="replace")
        return f"{url}/artifacts/file/{shown}/{file}" if file else f"{url}/artifacts/browse/{shown}/"

    @cached_property
    def _project(self) -> GitLabProject | None:
        """The project that the change is to be merged into, which differs from that of a fork's job."""
        opened = self._open_merge_request
        elsewhere = opened is not None and opened[0] != self.variables.text("CI_PROJECT_PATH")
        return self._project_within(ASKING, opened[0] if opened is not None and elsewhere else self._own_project)

    @cached_property
    def _published_in(self) -> GitLabProject | None:
        return self._project_within(PUBLISHING, self._own_project)

    @property
    def _own_project(self) -> str:
        return self.variables.text("CI_MERGE_REQUEST_PROJECT_ID", "CI_PROJECT_ID", "CI_PROJECT_PATH")

    def _project_within(self, seconds: float, project: str) -> GitLabProject | None:
        api = self.variables.address("CI_API_V4_URL") or _API
        if self.token is None or not project:
            return None
        client = GitLabClient(api, self.token, RetryBudget(seconds), Network.of(self.variables.given))
        return GitLabProject(client, project)

    def _told(self) -> GitLabProject:
        if self._published_in is None:
            raise HostError("GitLab cannot be queried without a token", remedy=f"To allow it, {_HOW}.")
        return self._published_in

    # --- what is compared with ---------------------------------------------------------------------------------------

    def base(self, warn: Callable[[str, HostError], None]) -> Base | Missing | None:
        """Return what a merge request is to be merged into; of a branch without one, the default branch.

        A pipeline for merged results has a merge checked out whose first parent is the target branch as it is now; the
        base of the diff is where the change left it.
        """
        given = self.variables
        if target := given.branch("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"):
            named = given.text("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "CI_MERGE_REQUEST_DIFF_BASE_SHA")
            return Base(target, exact_commit(named), head="HEAD")
        if target := given.branch("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME"):  # of GitHub, which GitLab builds
            return Base(target, head="HEAD", tip=exact_commit(given.text("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA")))
        default = given.branch("CI_DEFAULT_BRANCH")
        if self._open_merge_request is not None:
            return self._base_of_open_merge_request(default, warn)
        if not default:
            return None
        if given.text("CI_COMMIT_BRANCH") == default:
            before = exact_commit(given.text("CI_COMMIT_BEFORE_SHA"))
            return Base(default, before, child=exact_commit(given.text("CI_COMMIT_SHA")))
        return Base(default, head="HEAD")

    def _base_of_open_merge_request(self, default: str, warn: Callable[[str, HostError], None]) -> Base | Missing:
        """Return the target of the merge request that is open for the branch of this pipeline, whatever project it is
        in.

        Without an answer, the default branch stands for the target of one in this project, unless that is the branch of
        this pipeline.
        """
        given = self.variables
        project, number = self._open_merge_request or ("", 0)
        several = ", ".join(f"{one}!{other}" for one, other in self._open_merge_requests)
        if len({one for one, _ in self._open_merge_requests}) > 1:
            return Unreachable(f"{several} are open for this branch, in several projects: {_BY_MERGE_REQUEST}")
        trouble: HostError = HostError(f"there is no token ({_HOW})")
        if self._project is not None:
            try:
                head = exact_commit(given.text("CI_COMMIT_SHA"))
                found = {self._project.base_of_merge_request(one, head) for _, one in self._open_merge_requests}
                if len({target for target, _ in found}) > 1:
                    return Unreachable(f"{several} are open, into several branches: {_BY_MERGE_REQUEST}")
                target, commit = min(found, key=lambda one: one[1] is None)
                return Base(target, commit, head="HEAD", of_a_change=True)
            except HostError as error:
                trouble = error
                warn("the merge request of this branch", error)
        if len(self._open_merge_requests) > 1:
            return Unreachable(f"into which branches {several} are to be merged is not known: {trouble.why}")
        if project != given.text("CI_PROJECT_PATH") or not default or given.text("CI_COMMIT_BRANCH") == default:
            return Unreachable(f"the target of merge request {project}!{number} is not known: {trouble.why}")
        return Base(default, head="HEAD", of_a_change=True)

    def clone_address(self) -> CloneAddress | None:
        given, opened = self.variables, self._open_merge_request
        url = given.address("CI_MERGE_REQUEST_PROJECT_URL", "CI_PROJECT_URL")
        if url and opened is not None and opened[0] != given.text("CI_PROJECT_PATH"):
            url = f"{url.removesuffix(given.text('CI_PROJECT_PATH'))}{opened[0]}"
        return CloneAddress(f"{url}.git", login_with("oauth2", self.token)) if url else None

    def merge_base(self, branch: str, head: str) -> str | None:
        return self._project.merge_base(branch, head) if self._project else None

    def files_of(self, commit: str) -> AbstractContextManager[CommitFiles] | None:
        return self._project.files_of(commit) if self._project else None

    @cached_property
    def _earlier_pipelines(self) -> AskedOnce | None:
        given = self.variables
        job = given.text("CI_JOB_NAME")
        return self._project.pipelines(job, given.number("CI_PIPELINE_ID")) if self._project and job else None

    def earlier_reports(self, artifact_name: str, root: str) -> Reports | None:  # noqa: ARG002 - jobs have names there
        return Reports(self._earlier_pipelines, root) if self._earlier_pipelines is not None else None

    # --- where it is said --------------------------------------------------------------------------------------------

    @cached_property
    def _open_merge_requests(self) -> tuple[tuple[str, int], ...]:
        """The project and number of each that is open for the branch of this pipeline: ``group/project!7,group/fork!3``
        names them.

        Those of its own project come last: the author of a fork may open any there, with a token of their own.
        """
        if self.variables.text("CI_MERGE_REQUEST_IID"):
            return ()
        named = (one.strip().rpartition("!") for one in self.variables.text("CI_OPEN_MERGE_REQUESTS").split(","))
        found = [
            (project, int(number))
            for project, _, number in named
            if project and number.isascii() and number.isdecimal() and len(number) < 10
        ]
        own = self.variables.text("CI_PROJECT_PATH")
        return tuple(sorted(dict.fromkeys(found), key=lambda one: one[0] == own))

    @property
    def _open_merge_request(self) -> tuple[str, int] | None:
        return next(iter(self._open_merge_requests), None)

    def target(self) -> Target | str:
        given = self.variables
        own = (number for project, number in self._open_merge_requests if project == given.text("CI_PROJECT_PATH"))
        number = given.number("CI_MERGE_REQUEST_IID") or next(own, None)
        if number is None:
            return "this pipeline belongs to no merge request"
        source = given.text("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
        of_a_fork = bool(source) and source != given.text("CI_MERGE_REQUEST_PROJECT_ID")
        if self._project is None:
            return f"there is no token to write it with: {_HOW}" + (f" ({_FORK})" if of_a_fork else "")
        branch = given.branch("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
        return Target(number, self.run.commit or "", branch, "a fork" if of_a_fork else "")

    @property
    def needs_token(self) -> str:
        return _HOW if self.token is None else ""

    def target_of_number(self, number: int) -> Target:
        return self._told().merge_request(number)

    def comment(self, target: Target, marker: str, *, passed: bool) -> StickyComment:  # noqa: ARG002
        project = self.variables.address("CI_MERGE_REQUEST_PROJECT_URL", "CI_PROJECT_URL")
        page = f"{project}/-/merge_requests/{target.number}" if project else ""
        return StickyComment(self._told().notes(target.number, page), marker)
