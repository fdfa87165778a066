"""GitLab's REST API, version 4: notes of merge requests, where branches part, a commit's files.

Sources: "Notes", "Merge requests", "Repositories", "Users" and "REST API" (pagination, rate limits) in its
documentation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from turncheck.ci.comment import Written
from turncheck.ci.earlier_reports import (
    EXPIRED,
    MOST_ANCESTORS,
    MOST_RUNS,
    Archive,
    AskedOnce,
    EarlierRun,
    download_reports,
)
from turncheck.ci.host import Target, exact_commit
from turncheck.ci.rest import PER_PAGE, NotFoundError, RefusedError, Request, RestClient, RestError
from turncheck.ci.tarball import files_by_api

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from turncheck.ci.host import CommitFiles, StoredReport


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
        return any(one.file_type == "archive" for one in self.artifacts or ())


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

    client: RestClient
    path: str
    job: str
    own_pipeline: int | None = None

    def of_commit(self, branch: str, commit: str) -> Iterator[EarlierRun]:
        return self._listed(branch, sha=commit)

    def of_branch(self, branch: str) -> Iterator[EarlierRun]:
        return self._listed(branch)

    def ancestors(self, commit: str) -> Iterator[str]:
        path = f"{self.path}/repository/commits"
        listed = self.client.pages(path, _Commit, needs=_NEEDS_PIPELINES, ref_name=commit, per_page=PER_PAGE)
        return (one.id for one in islice(listed, MOST_ANCESTORS))

    def archives(self, run: EarlierRun) -> Iterator[Archive]:
        path = f"{self.path}/pipelines/{run.id}/jobs"
        wanted: dict[str, Any] = {"scope[]": _ENDED, "per_page": PER_PAGE}
        jobs = self.client.pages(path, _Job, needs=_NEEDS_PIPELINES, **wanted)
        for job in sorted(jobs, key=lambda one: -one.id):
            if _shared_name(job.name) == _shared_name(self.job) and job.status in _ENDED and not job.tag:
                if job.has_archive:
                    yield Archive(str(job.id), run=str(job.id))
                elif job.artifacts_expire_at:
                    yield Archive(str(job.id), EXPIRED)

    def _listed(self, branch: str, **wanted: str) -> Iterator[EarlierRun]:
        wanted |= {"ref": branch, "order_by": "id", "sort": "desc"}
        listed = self.client.pages(
            f"{self.path}/pipelines", _Pipeline, needs=_NEEDS_PIPELINES, per_page=PER_PAGE, **wanted
        )
        for one in islice(listed, MOST_RUNS):
            of_the_branch = one.source in _OF_BRANCHES and one.ref == branch and one.sha == wanted.get("sha", one.sha)
            if of_the_branch and (self.own_pipeline is None or one.id < self.own_pipeline):
                yield EarlierRun(one.id, one.sha)

    def read(self, archive: Archive) -> list[StoredReport]:
        return download_reports(self.client, f"{self.path}/jobs/{archive.id}/artifacts", needs=_NEEDS_PIPELINES)


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


class GitLabClient(RestClient):
    """Asks the API of one GitLab."""

    host = "GitLab"

    def credentials(self) -> dict[str, str]:
        return {"PRIVATE-TOKEN": self.token.reveal()} if self.token is not None else {}

    def message_of(self, document: Any) -> str:
        if not isinstance(document, dict):
            return ""
        words = document.get("message") or document.get("error_description") or document.get("error") or ""
        return words if isinstance(words, str) else msgspec.json.encode(words).decode()

    def refusal(self, status: int, message: str, trouble: str, request: Request) -> RestError:
        if status in {401, 403} and ("scope" in message or status == 403):
            return RefusedError(trouble, status=status, remedy=f"The token needs {request.needs or _NEEDS}.")
        if status == 404:  # a private project that the token may not see
            remedy = "On a private project this can also mean that the token belongs to another one."
            return NotFoundError(trouble, status=status, remedy=remedy)
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

    def merge_request(self, number: int) -> Target:
        """Return a merge request.

        Raises:
            RestError: it cannot be had.
        """
        found = self.client.get(f"{self._path}/merge_requests/{number}", _MergeRequest)
        return Target(found.iid, found.sha or "", found.target_branch)

    def base_of_merge_request(self, number: int, head: str | None) -> tuple[str, str | None]:
        """Return the target branch of a merge request, and where its head left it, if this is the head.

        Raises:
            RestError: it cannot be had.
        """
        found = self.client.get(f"{self._path}/merge_requests/{number}", _MergeRequest)
        refs = found.diff_refs
        same = refs is not None and head is not None and refs.head_sha == head
        return found.target_branch, exact_commit(refs.base_sha) if refs is not None and same else None

    def merge_base(self, branch: str, head: str) -> str | None:
        """Return where a commit left a branch; ``None`` if GitLab does not know them.

        Commits are compared, since the name of a branch may be that of a tag, too.

        Raises:
            RestError: it could not be asked.
        """
        path = f"{self._path}/repository/merge_base"
        try:
            tip = exact_commit(branch) or self._tip_of(branch)
            return self.client.get(path, _Commit, needs="the scope `read_api`", **{"refs[]": [tip, head]}).id
        except NotFoundError:
            return None
        except RestError as error:
            if error.status == 400:  # one of the names is unknown
                return None
            raise

    def _tip_of(self, branch: str) -> str:
        name = quote(branch, safe="", errors="replace")
        return self.client.get(
            f"{self._path}/repository/branches/{name}", _Branch, needs="the scope `read_api`"
        ).commit.id

    def files_of(self, commit: str) -> AbstractContextManager[CommitFiles]:
        """Return a commit's files in a temporary folder."""
        path = f"{self._path}/repository/archive.tar.gz"
        return files_by_api(self.client, path, self._paths_of(commit), needs="the scope `read_api`", sha=commit)

    def _paths_of(self, commit: str) -> Iterator[str]:
        wanted: dict[str, Any] = {"ref": commit, "recursive": "true", "pagination": "keyset", "per_page": PER_PAGE}
        listed = self.client.pages(f"{self._path}/repository/tree", _Entry, needs="the scope `read_api`", **wanted)
        return (one.path for one in listed if one.type != "tree")

    def pipelines(self, job: str, own_pipeline: int | None) -> AskedOnce:
        """Return the pipelines of branches before this one, and what their jobs of a name left."""
        return AskedOnce(BranchPipelines(self.client, self._path, job, own_pipeline))

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
            self._path, _Note, needs=_NEEDS, per_page=PER_PAGE, sort="asc", order_by="created_at"
        )
        return (self._written(note) for note in listed if not note.system)

    def post(self, body: str) -> Written:
        return self._written(self._client.post(self._path, {"body": body}, _Note, needs=_NEEDS))

    def change(self, one: Written, body: str, newer: Written | None = None) -> None:  # noqa: ARG002
        self._client.put(f"{self._path}/{one.id}", {"body": body}, needs=_NEEDS)

    def delete(self, one: Written) -> None:
        self._client.delete(f"{self._path}/{one.id}", needs=_NEEDS)

    def author(self) -> str:
        """Who the token speaks for; tokens of projects and groups have a bot of their own."""
        return self._client.get("/user", _User, needs="the scope `api` or `read_user`").username

    def _written(self, note: _Note) -> Written:
        url = f"{self._page}#note_{note.id}" if self._page else ""
        return Written(note.id, note.author.username if note.author else "", note.body, url)
