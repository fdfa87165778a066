"""GitLab, in its cloud or self-managed: what the variables of a job say, and its API.

Source: "Predefined CI/CD variables reference" in GitLab's documentation.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

import msgspec
from msgspec import Struct

from turncheck.ci import earlier_reports, host, rest
from turncheck.ci.base_files import files_by_api
from turncheck.ci.comment import StickyComment, Written
from turncheck.comparison.model import Missing, Unreachable
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from turncheck.process.environment import Secret


# GitLab's REST API, version 4: notes of merge requests, where branches part, a commit's files.

# Reports that earlier pipelines of a project left in the artifacts of their jobs.
#
# Trusted are pipelines of the branch that the base is in, started by a push or a schedule: those of merge requests may
# run a fork's code, and whoever starts one by hand or by the API sets variables of its jobs. Sources: "Pipelines",
# "Jobs", "Job artifacts" and "Commits" in GitLab's documentation.

_NEEDS_PIPELINES: Final = "the scope `read_api`"
_OF_BRANCHES: Final = frozenset({"push", "schedule"})
_ENDED: Final = ("success", "failed")
_ONE_OF_SEVERAL: Final = re.compile(r" \d+/\d+\Z|: \[.*\]\Z", re.DOTALL)
"""What GitLab puts after the names of jobs of ``parallel``."""


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all answers; other keys are ignored."""


class _Pipeline(_Answer, frozen=True, kw_only=True):
    id: int
    sha: str
    ref: str | None = None
    source: str | None = None


class _File(_Answer, frozen=True, kw_only=True):
    file_type: str = ""


class _Job(_Answer, frozen=True, kw_only=True):
    id: int
    name: str
    status: str = ""
    tag: bool = False
    """Whether it ran for a tag, which may have the name of a branch."""
    artifacts: list[_File] | None = None
    artifacts_expire_at: str | None = None

    @property
    def has_archive(self) -> bool:
        """Whether its files are still there."""
        return any(artifact.file_type == "archive" for artifact in self.artifacts or ())


class _Commit(_Answer, frozen=True, kw_only=True):
    id: str


@dataclass(eq=False, slots=True)
class BranchPipelines:
    """The pipelines of a project's branches, and what one job of theirs left.

    Args:
        client: asks the API.
        path: of the project.
        job: the name of the job that measures.
        own_pipeline: only those before this one count.
    """

    client: rest.RestClient
    path: str
    job: str
    own_pipeline: int | None = None

    def of_commit(self, branch: str, commit: str) -> Iterator[earlier_reports.EarlierRun]:
        return self._listed(branch, sha=commit)

    def of_branch(self, branch: str) -> Iterator[earlier_reports.EarlierRun]:
        return self._listed(branch)

    def ancestors(self, commit: str) -> Iterator[str]:
        path = f"{self.path}/repository/commits"
        listed = self.client.pages(path, _Commit, needs=_NEEDS_PIPELINES, ref_name=commit, per_page=rest.PER_PAGE)
        return (one.id for one in islice(listed, earlier_reports.MOST_ANCESTORS))

    def archives(self, run: earlier_reports.EarlierRun) -> Iterator[earlier_reports.Archive]:
        path = f"{self.path}/pipelines/{run.id}/jobs"
        wanted: dict[str, Any] = {"scope[]": _ENDED, "per_page": rest.PER_PAGE}
        jobs = self.client.pages(path, _Job, needs=_NEEDS_PIPELINES, **wanted)
        for job in sorted(jobs, key=lambda one: -one.id):
            if _shared_name(job.name) == _shared_name(self.job) and job.status in _ENDED and not job.tag:
                if job.has_archive:
                    yield earlier_reports.Archive(str(job.id), run=str(job.id))
                elif job.artifacts_expire_at:
                    yield earlier_reports.Archive(str(job.id), earlier_reports.EXPIRED)

    def _listed(self, branch: str, **wanted: str) -> Iterator[earlier_reports.EarlierRun]:
        wanted |= {"ref": branch, "order_by": "id", "sort": "desc"}
        listed = self.client.pages(
            f"{self.path}/pipelines", _Pipeline, needs=_NEEDS_PIPELINES, per_page=rest.PER_PAGE, **wanted
        )
        for pipeline in islice(listed, earlier_reports.MOST_RUNS):
            of_the_branch = (
                pipeline.source in _OF_BRANCHES
                and pipeline.ref == branch
                and pipeline.sha == wanted.get("sha", pipeline.sha)
            )
            if of_the_branch and (self.own_pipeline is None or pipeline.id < self.own_pipeline):
                yield earlier_reports.EarlierRun(pipeline.id, pipeline.sha)

    def read(self, archive: earlier_reports.Archive) -> list[host.StoredReport]:
        return earlier_reports.download_reports(
            self.client, f"{self.path}/jobs/{archive.id}/artifacts", needs=_NEEDS_PIPELINES
        )


def _shared_name(job: str) -> str:
    """Return the name that the jobs of ``parallel`` share.

    >>> _shared_name("turncheck 2/8"), _shared_name("turncheck: [bots/pizza]")
    ('turncheck', 'turncheck')
    """
    return _ONE_OF_SEVERAL.sub("", job)


_NEEDS: Final = "the scope `api` and the role Reporter or higher"


class _User(_Answer, frozen=True, kw_only=True):
    username: str


class _Note(_Answer, frozen=True, kw_only=True):
    id: int
    body: str = ""
    author: _User | None = None
    system: bool = False


class _DiffRefs(_Answer, frozen=True, kw_only=True):
    base_sha: str | None = None
    head_sha: str | None = None


class _MergeRequest(_Answer, frozen=True, kw_only=True):
    iid: int
    target_branch: str
    sha: str | None = None
    diff_refs: _DiffRefs | None = None


class _Branch(_Answer, frozen=True, kw_only=True):
    commit: _Commit


class _Entry(_Answer, frozen=True, kw_only=True):
    path: str
    type: str


class GitLabClient(rest.RestClient):
    """Asks the API of one GitLab."""

    host = "GitLab"

    def credentials(self) -> dict[str, str]:
        return {"PRIVATE-TOKEN": self.token.reveal()} if self.token is not None else {}

    def message_of(self, document: Any) -> str:
        if not isinstance(document, dict):
            return ""
        words = document.get("message") or document.get("error_description") or document.get("error") or ""
        return words if isinstance(words, str) else msgspec.json.encode(words).decode()

    def refusal(self, status: int, message: str, trouble: str, request: rest.Request) -> rest.RestError:
        if status in {401, 403} and ("scope" in message or status == 403):
            return rest.RefusedError(trouble, status=status, hint=f"The token needs {request.needs or _NEEDS}.")
        if status == 404:  # a private project that the token may not see
            hint = "On a private project this can also mean that the token belongs to another one."
            return rest.NotFoundError(trouble, status=status, hint=hint)
        return super().refusal(status, message, trouble, request)


class GitLabProject:
    """One project.

    Args:
        client: asks the API.
        project: its number, or its path (``group/project``).
    """

    def __init__(self, client: GitLabClient, project: str) -> None:
        self.client = client
        self._path = f"/projects/{quote(project, safe='', errors='replace')}"

    def merge_request(self, number: int) -> host.Target:
        """Return a merge request.

        Raises:
            RestError: it cannot be had.
        """
        merge_request = self.client.get(f"{self._path}/merge_requests/{number}", _MergeRequest)
        return host.Target(merge_request.iid, merge_request.sha or "", merge_request.target_branch)

    def base_of_merge_request(self, number: int, head: str | None) -> tuple[str, str | None]:
        """Return the target branch of a merge request, and where its head left it, if this is the head.

        Raises:
            RestError: it cannot be had.
        """
        merge_request = self.client.get(f"{self._path}/merge_requests/{number}", _MergeRequest)
        refs = merge_request.diff_refs
        same = refs is not None and head is not None and refs.head_sha == head
        return merge_request.target_branch, host.exact_commit(refs.base_sha) if refs is not None and same else None

    def merge_base(self, branch: str, head: str) -> str | None:
        """Return where a commit left a branch; ``None`` if GitLab does not know them.

        Commits are compared, since the name of a branch may be that of a tag, too.

        Raises:
            RestError: it could not be asked.
        """
        path = f"{self._path}/repository/merge_base"
        try:
            tip = host.exact_commit(branch) or self._tip_of(branch)
            return self.client.get(path, _Commit, needs="the scope `read_api`", **{"refs[]": [tip, head]}).id
        except rest.NotFoundError:
            return None
        except rest.RestError as error:
            if error.status == 400:  # one of the names is unknown
                return None
            raise

    def _tip_of(self, branch: str) -> str:
        name = quote(branch, safe="", errors="replace")
        return self.client.get(
            f"{self._path}/repository/branches/{name}", _Branch, needs="the scope `read_api`"
        ).commit.id

    def files_of(self, commit: str) -> AbstractContextManager[host.CommitFiles]:
        """Return a commit's files in a temporary folder."""
        path = f"{self._path}/repository/archive.tar.gz"
        return files_by_api(self.client, path, self._paths_of(commit), needs="the scope `read_api`", sha=commit)

    def _paths_of(self, commit: str) -> Iterator[str]:
        wanted: dict[str, Any] = {"ref": commit, "recursive": "true", "pagination": "keyset", "per_page": rest.PER_PAGE}
        listed = self.client.pages(f"{self._path}/repository/tree", _Entry, needs="the scope `read_api`", **wanted)
        return (entry.path for entry in listed if entry.type != "tree")

    def pipelines(self, job: str, own_pipeline: int | None) -> earlier_reports.CachedRuns:
        """Return the pipelines of branches before this one, and what their jobs of a name left."""
        return earlier_reports.CachedRuns(BranchPipelines(self.client, self._path, job, own_pipeline))

    def notes(self, number: int, merge_request_url: str) -> MergeRequestNotes:
        """Return the notes of a merge request."""
        return MergeRequestNotes(self.client, f"{self._path}/merge_requests/{number}/notes", merge_request_url)


class MergeRequestNotes:
    """The notes of one merge request, without those that GitLab writes about events."""

    def __init__(self, client: GitLabClient, path: str, page: str) -> None:
        self._client = client
        self._path = path
        self._page = page

    def all(self) -> Iterator[Written]:
        listed = self._client.comments(
            self._path, _Note, needs=_NEEDS, per_page=rest.PER_PAGE, sort="asc", order_by="created_at"
        )
        return (self._written(note) for note in listed if not note.system)

    def post(self, body: str) -> Written:
        return self._written(self._client.post(self._path, {"body": body}, _Note, needs=_NEEDS))

    def change(self, written: Written, body: str, newer: Written | None = None) -> None:  # noqa: ARG002
        self._client.put(f"{self._path}/{written.id}", {"body": body}, needs=_NEEDS)

    def delete(self, written: Written) -> None:
        self._client.delete(f"{self._path}/{written.id}", needs=_NEEDS)

    def author(self) -> str:
        """Who the token speaks for; tokens of projects and groups have a bot of their own."""
        return self._client.get("/user", _User, needs="the scope `api` or `read_user`").username

    def _written(self, note: _Note) -> Written:
        url = f"{self._page}#note_{note.id}" if self._page else ""
        return Written(note.id, note.author.username if note.author else "", note.body, url)


# The addresses of a project's pages on GitLab.


class GitLabPages(Struct, frozen=True):
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


class GitLab(host.JobHost):
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
    def run(self) -> host.Run:
        variables = self.variables
        return host.Run(
            repository=variables.text("CI_PROJECT_PATH"),
            commit=variables.commit("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "CI_COMMIT_SHA"),
            checked_out=variables.commit("CI_COMMIT_SHA"),
            ref=variables.branch("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME") or None,
            run_id=variables.text("CI_JOB_ID") or None,
            url=variables.address("CI_JOB_URL", "CI_PIPELINE_URL"),
            workspace=variables.folder("CI_PROJECT_DIR"),
            stamp=variables.stamp("CI_PIPELINE_ID", "CI_JOB_ID"),
            of_a_change=bool(
                variables.text("CI_MERGE_REQUEST_IID", "CI_OPEN_MERGE_REQUESTS", "CI_EXTERNAL_PULL_REQUEST_IID")
            ),
            of_a_fork=self._is_of_a_fork(),
            merges=variables.commit("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"),
        )

    def _is_of_a_fork(self) -> bool:
        """Whether the change is to be merged into another project than the one it comes from."""
        variables, opened = self.variables, self._open_merge_request
        if opened is not None and opened[0] != variables.text("CI_PROJECT_PATH"):
            return True
        return variables.text("CI_MERGE_REQUEST_SOURCE_PROJECT_ID") != variables.text("CI_MERGE_REQUEST_PROJECT_ID")

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
        return self._project_within(rest.ASKING, opened[0] if opened is not None and elsewhere else self._own_project)

    @cached_property
    def _published_in(self) -> GitLabProject | None:
        return self._project_within(rest.PUBLISHING, self._own_project)

    @property
    def _own_project(self) -> str:
        return self.variables.text("CI_MERGE_REQUEST_PROJECT_ID", "CI_PROJECT_ID", "CI_PROJECT_PATH")

    def _project_within(self, seconds: float, project: str) -> GitLabProject | None:
        api = self.variables.address("CI_API_V4_URL") or _API
        if self.token is None or not project:
            return None
        client = GitLabClient(api, self.token, rest.RetryBudget(seconds), Network.of(self.variables.given))
        return GitLabProject(client, project)

    def _told(self) -> GitLabProject:
        if self._published_in is None:
            raise host.HostError("GitLab cannot be queried without a token", hint=f"To allow it, {_HOW}.")
        return self._published_in

    # --- what is compared with ---------------------------------------------------------------------------------------

    def base(self, warn: Callable[[str, host.HostError], None]) -> host.Base | Missing | None:
        """Return what a merge request is to be merged into; of a branch without one, the default branch.

        A pipeline for merged results has a merge checked out whose first parent is the target branch as it is now; the
        base of the diff is where the change left it.
        """
        variables = self.variables
        if target := variables.branch("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"):
            named = variables.text("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "CI_MERGE_REQUEST_DIFF_BASE_SHA")
            return host.Base(target, host.exact_commit(named), head="HEAD")
        if target := variables.branch("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME"):  # of GitHub, which GitLab builds
            return host.Base(
                target, head="HEAD", tip=host.exact_commit(variables.text("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA"))
            )
        default = variables.branch("CI_DEFAULT_BRANCH")
        if self._open_merge_request is not None:
            return self._base_of_open_merge_request(default, warn)
        if not default:
            return None
        if variables.text("CI_COMMIT_BRANCH") == default:
            before = host.exact_commit(variables.text("CI_COMMIT_BEFORE_SHA"))
            return host.Base(default, before, child=host.exact_commit(variables.text("CI_COMMIT_SHA")))
        return host.Base(default, head="HEAD")

    def _base_of_open_merge_request(
        self, default: str, warn: Callable[[str, host.HostError], None]
    ) -> host.Base | Missing:
        """Return the target of the merge request that is open for the branch of this pipeline, whatever project it is
        in.

        Without an answer, the default branch stands for the target of one in this project, unless that is the branch of
        this pipeline.
        """
        variables = self.variables
        project, number = self._open_merge_request or ("", 0)
        several = ", ".join(f"{one}!{other}" for one, other in self._open_merge_requests)
        if len({one for one, _ in self._open_merge_requests}) > 1:
            return Unreachable(f"{several} are open for this branch, in several projects: {_BY_MERGE_REQUEST}")
        trouble: host.HostError = host.HostError(f"there is no token ({_HOW})")
        if self._project is not None:
            try:
                head = host.exact_commit(variables.text("CI_COMMIT_SHA"))
                found = {self._project.base_of_merge_request(one, head) for _, one in self._open_merge_requests}
                if len({target for target, _ in found}) > 1:
                    return Unreachable(f"{several} are open, into several branches: {_BY_MERGE_REQUEST}")
                target, commit = min(found, key=lambda one: one[1] is None)
                return host.Base(target, commit, head="HEAD", of_a_change=True)
            except host.HostError as error:
                trouble = error
                warn("the merge request of this branch", error)
        if len(self._open_merge_requests) > 1:
            return Unreachable(f"into which branches {several} are to be merged is not known: {trouble.why}")
        if project != variables.text("CI_PROJECT_PATH") or not default or variables.text("CI_COMMIT_BRANCH") == default:
            return Unreachable(f"the target of merge request {project}!{number} is not known: {trouble.why}")
        return host.Base(default, head="HEAD", of_a_change=True)

    def clone_address(self) -> host.CloneAddress | None:
        variables, opened = self.variables, self._open_merge_request
        url = variables.address("CI_MERGE_REQUEST_PROJECT_URL", "CI_PROJECT_URL")
        if url and opened is not None and opened[0] != variables.text("CI_PROJECT_PATH"):
            url = f"{url.removesuffix(variables.text('CI_PROJECT_PATH'))}{opened[0]}"
        return host.CloneAddress(f"{url}.git", host.login_with("oauth2", self.token)) if url else None

    def merge_base(self, branch: str, head: str) -> str | None:
        return self._project.merge_base(branch, head) if self._project else None

    def files_of(self, commit: str) -> AbstractContextManager[host.CommitFiles] | None:
        return self._project.files_of(commit) if self._project else None

    @cached_property
    def _earlier_pipelines(self) -> earlier_reports.CachedRuns | None:
        variables = self.variables
        job = variables.text("CI_JOB_NAME")
        return self._project.pipelines(job, variables.number("CI_PIPELINE_ID")) if self._project and job else None

    def earlier_reports(self, artifact_name: str, root: str) -> earlier_reports.Reports | None:  # noqa: ARG002 - jobs have names there
        return earlier_reports.Reports(self._earlier_pipelines, root) if self._earlier_pipelines is not None else None

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
        return tuple(sorted(dict.fromkeys(found), key=lambda fromkey: fromkey[0] == own))

    @property
    def _open_merge_request(self) -> tuple[str, int] | None:
        return next(iter(self._open_merge_requests), None)

    def target(self) -> host.Target | str:
        variables = self.variables
        own = (number for project, number in self._open_merge_requests if project == variables.text("CI_PROJECT_PATH"))
        number = variables.number("CI_MERGE_REQUEST_IID") or next(own, None)
        if number is None:
            return "this pipeline belongs to no merge request"
        source = variables.text("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
        of_a_fork = bool(source) and source != variables.text("CI_MERGE_REQUEST_PROJECT_ID")
        if self._project is None:
            return f"there is no token to write it with: {_HOW}" + (f" ({_FORK})" if of_a_fork else "")
        branch = variables.branch("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
        return host.Target(number, self.run.commit or "", branch, "a fork" if of_a_fork else "")

    @property
    def needs_token(self) -> str:
        return _HOW if self.token is None else ""

    def target_of_number(self, number: int) -> host.Target:
        return self._told().merge_request(number)

    def comment(self, target: host.Target, marker: str, *, passed: bool) -> StickyComment:  # noqa: ARG002
        project = self.variables.address("CI_MERGE_REQUEST_PROJECT_URL", "CI_PROJECT_URL")
        page = f"{project}/-/merge_requests/{target.number}" if project else ""
        return StickyComment(self._told().notes(target.number, page), marker)
