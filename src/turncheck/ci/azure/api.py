"""The REST API of Azure DevOps: threads of pull requests, where branches part.

Sources: "Pull Request Threads", "Pull Request Thread Comments", "Pull Requests", "Diffs", "Items" and "Connection Data"
in its reference (version 7.1).
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from turncheck.ci.comment import Written
from turncheck.ci.earlier_reports import (
    MOST_ANCESTORS,
    MOST_RUNS,
    Archive,
    EarlierRun,
    download_reports,
    is_ours,
)
from turncheck.ci.host import Target
from turncheck.ci.rest import NotFoundError, RefusedError, Request, RestClient, RestError
from turncheck.ci.tarball import Listed, single_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from turncheck.ci.host import CommitFiles, StoredReport


VERSION: Final = "7.1"
_PREVIEW: Final = "7.1-preview"
_NEEDS: Final = 'the right "Contribute to pull requests" on the repository'
_NEEDS_CODE: Final = 'the right "Read" on the repository'
_JSON_WEB_TOKEN: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*\Z")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}\Z")
_ACTIVE: Final = "active"
_RESOLVED: Final = "fixed"


class _Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all answers; other keys are ignored."""


class _Identity(_Answer, frozen=True, kw_only=True):
    id: str


class _Comment(_Answer, frozen=True, kw_only=True):
    id: int
    content: str | None = None
    author: _Identity | None = None
    is_deleted: bool = False


class _Thread(_Answer, frozen=True, kw_only=True):
    id: int
    comments: list[_Comment] = []
    status: str | None = None
    is_deleted: bool = False


class _Commit(_Answer, frozen=True, kw_only=True):
    commit_id: str


class _Difference(_Answer, frozen=True, kw_only=True):
    common_commit: str | None = None


class _Item(_Answer, frozen=True, kw_only=True):
    path: str
    git_object_type: str = ""
    is_folder: bool = False
    is_sym_link: bool = False

    @property
    def is_folder_of_it(self) -> bool:
        """Whether it is a folder of the repository itself, whose content is listed, too."""
        return self.is_folder and self.git_object_type in {"tree", ""}


class _PullRequest(_Answer, frozen=True, kw_only=True):
    pull_request_id: int
    target_ref_name: str
    last_merge_source_commit: _Commit | None = None


class _Connection(_Answer, frozen=True, kw_only=True):
    authenticated_user: _Identity


class AzureClient(RestClient):
    """Asks the API of one organization or collection."""

    host = "Azure DevOps"
    refuses_with = frozenset({203})
    """The page to sign in at, in place of what was asked for."""

    def credentials(self) -> dict[str, str]:
        """A job's own token and those of Entra are JSON Web Tokens; a person's are passwords without a name."""
        if self.token is None or _JSON_WEB_TOKEN.match(self.token.reveal()):
            return super().credentials()
        login = base64.b64encode(f":{self.token.reveal()}".encode()).decode()
        return {"Authorization": f"Basic {login}"}

    def refusal(self, status: int, message: str, trouble: str, request: Request) -> RestError:
        if status == 403:
            return RefusedError(trouble, status=status, hint=f"The token needs {request.needs or _NEEDS}.")
        if status == 404:
            hint = 'This can also mean that the job may not see it ("Limit job authorization scope").'
            return NotFoundError(trouble, status=status, hint=hint)
        if status in {203, 401}:
            hint = "The token is wrong or has expired; a job's own is `SYSTEM_ACCESSTOKEN: $(System.AccessToken)`."
            return RestError(trouble, status=status, hint=hint)
        return super().refusal(status, message, trouble, request)

    def following(self, page: Any, answer_links: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        return None  # lists of threads come whole


class AzureRepository:
    """One repository.

    Args:
        client: asks the API.
        project: its name or number.
        repository: its name or number.
        page: the address of its page.
    """

    def __init__(self, client: AzureClient, project: str, repository: str, page: str) -> None:
        self.client = client
        self._page = page
        names = (quote(name, safe="", errors="replace") for name in (project, repository))
        self.path = "/{}/_apis/git/repositories/{}".format(*names)

    def pull_request(self, number: int) -> Target:
        """Return a pull request.

        Raises:
            RestError: it cannot be had.
        """
        pull_request = self.client.get(f"{self.path}/pullRequests/{number}", _PullRequest, **{"api-version": VERSION})
        head = pull_request.last_merge_source_commit
        branch = pull_request.target_ref_name.removeprefix("refs/heads/")
        return Target(pull_request.pull_request_id, head.commit_id if head else "", branch)

    def merge_base(self, one: str, other: str) -> str | None:
        """Return where two branches or commits diverged; ``None`` if Azure DevOps does not know them.

        Raises:
            RestError: it could not be asked.
        """
        wanted: dict[str, Any] = {"$top": 1, "api-version": VERSION}
        for side, name in (("base", one), ("target", other)):
            wanted |= {f"{side}Version": name, f"{side}VersionType": "commit" if _COMMIT.match(name) else "branch"}
        try:
            difference = self.client.get(f"{self.path}/diffs/commits", _Difference, needs=_NEEDS_CODE, **wanted)
        except NotFoundError:
            return None
        return difference.common_commit

    def files_of(self, commit: str) -> AbstractContextManager[CommitFiles]:
        """Return a commit's files in a temporary folder; those of submodules are left out.

        Its zip does not say which folder it begins with; source: "Items" in the reference.
        """
        path = f"{self.path}/items"
        state = {"versionDescriptor.version": commit, "versionDescriptor.versionType": "commit"}
        state["api-version"] = VERSION

        def fetch(name: str, file: BinaryIO, limit: int) -> None:
            content = {"path": name, "$format": "octetStream"}
            self.client.download(path, file, limit, needs=_NEEDS_CODE, **content, **state)

        listed = self.client.pages(
            path, _Item, key="value", needs=_NEEDS_CODE, scopePath="/", recursionLevel="full", **state
        )
        files = (
            Listed(item.path, is_link=item.is_sym_link, left_out=item.git_object_type == "commit")
            for item in listed
            if not item.is_folder_of_it
        )
        return single_files(files, fetch)

    def threads(self, number: int, *, resolved: bool) -> PullRequestThreads:
        """Return the threads of a pull request; ours is left resolved, or open."""
        return PullRequestThreads(
            self.client, f"{self.path}/pullRequests/{number}/threads", self._page, number, resolved=resolved
        )


class PullRequestThreads:
    """The first comments of the threads of one pull request: each of ours is a thread of its own, with its status."""

    def __init__(self, client: AzureClient, path: str, page: str, number: int, *, resolved: bool) -> None:
        self._client = client
        self._path = path
        self._page = f"{page}/pullrequest/{number}" if page else ""
        self._status = _RESOLVED if resolved else _ACTIVE

    def all(self) -> Iterator[Written]:
        listed = self._client.comments(self._path, _Thread, key="value", needs=_NEEDS, **{"api-version": VERSION})
        for thread in listed:
            first = thread.comments[0] if thread.comments else None
            if first is not None and not thread.is_deleted and not first.is_deleted:
                yield self._written(thread, first)

    def post(self, body: str) -> Written:
        comment = {"parentCommentId": 0, "content": body, "commentType": "text"}
        made = self._client.post(
            self._versioned(self._path), {"comments": [comment], "status": self._status}, _Thread, needs=_NEEDS
        )
        if not made.comments:
            raise RestError("Azure DevOps made a thread without a comment")
        return self._written(made, made.comments[0])

    def change(self, written: Written, body: str, newer: Written | None = None) -> None:
        """Write another text, and set the status of its thread: that of a newer run with the words of that run."""
        status = newer.status if newer is not None and newer.status else self._status
        self._client.patch(self._versioned(self._comment(written)), {"content": body}, needs=_NEEDS)
        self._client.patch(self._versioned(f"{self._path}/{written.id}"), {"status": status}, needs=_NEEDS)

    def delete(self, written: Written) -> None:
        self._client.delete(self._versioned(self._comment(written)), needs=_NEEDS)

    def author(self) -> str:
        """Who the token speaks for."""
        connection = self._client.get("/_apis/connectionData", _Connection, **{"api-version": _PREVIEW})
        return connection.authenticated_user.id

    def _comment(self, written: Written) -> str:
        return f"{self._path}/{written.id}/comments/{written.first}"

    @staticmethod
    def _versioned(path: str) -> str:
        return f"{path}?api-version={VERSION}"

    def _written(self, thread: _Thread, first: _Comment) -> Written:
        author = first.author.id if first.author else ""
        url = f"{self._page}?discussionId={thread.id}" if self._page else ""
        return Written(thread.id, author, first.content or "", url, first.id, thread.status or "")


# Reports that earlier builds of a pipeline left in its artifacts.
#
# Trusted are builds of the branch that the base is in, started by a push or a schedule: those of pull requests may run
# a fork's code, and measure a merge that is in no branch; whoever starts one by hand sets its variables. Sources:
# "Builds", "Artifacts" and "Commits" in the reference of Azure DevOps (version 7.1).

_Kind = TypeVar("_Kind")

_VERSION: Final = "7.1"
_NEEDS_BUILDS: Final = 'the right "View builds" on the pipeline'
_BRANCHES: Final = "refs/heads/"
_REASONS: Final = frozenset({"individualCI", "batchedCI", "schedule"})


class _Build(_Answer, frozen=True, kw_only=True):
    id: int
    source_version: str | None = None
    source_branch: str | None = None
    reason: str = ""


class _Artifact(_Answer, frozen=True, kw_only=True):
    id: int = 0
    name: str = ""


@dataclass(eq=False, slots=True)
class BranchBuilds:
    """The builds of a pipeline that were of a branch, and their artifacts.

    Args:
        client: asks the API.
        project: the path of the project that the pipeline is in.
        repository: the path of the repository, where it is here.
        pipeline: its number.
        artifact_name: what the artifacts' names begin with.
        own_build: only those before this one count.
    """

    client: RestClient
    project: str
    repository: str | None
    pipeline: int
    artifact_name: str
    own_build: int | None = None

    def of_commit(self, branch: str, commit: str) -> Iterator[EarlierRun]:
        return (run for run in self._listed(branch) if run.commit == commit)

    def of_branch(self, branch: str) -> Iterator[EarlierRun]:
        return self._listed(branch)

    def ancestors(self, commit: str) -> Iterator[str]:
        if self.repository is None:
            return iter(())
        state = {"version": commit, "versionType": "commit"}
        wanted = {f"searchCriteria.itemVersion.{name}": value for name, value in state.items()}
        commits = self._asked(
            f"{self.repository}/commits", _Commit, _NEEDS_CODE, **wanted, **{"searchCriteria.$top": MOST_ANCESTORS}
        )
        return (one.commit_id for one in islice(commits, MOST_ANCESTORS))

    def archives(self, run: EarlierRun) -> Iterator[Archive]:
        listed = self._asked(self._artifacts_of(run.id), _Artifact, _NEEDS_BUILDS)
        for artifact in sorted(listed, key=lambda one: -one.id):
            if is_ours(artifact.name, self.artifact_name):
                yield Archive(f"{run.id}/{artifact.name}")

    def _listed(self, branch: str) -> Iterator[EarlierRun]:
        """Yield the builds of a branch that ended, newest first."""
        ref = f"{_BRANCHES}{branch}"
        wanted: dict[str, Any] = {"branchName": ref}
        wanted |= {"definitions": self.pipeline, "statusFilter": "completed", "queryOrder": "queueTimeDescending"}
        listed = self._asked(
            f"{self.project}/_apis/build/builds", _Build, _NEEDS_BUILDS, **wanted, **{"$top": MOST_RUNS}
        )
        for build in islice(listed, MOST_RUNS):
            of_the_branch = build.reason in _REASONS and build.source_branch == ref
            if of_the_branch and build.source_version and (self.own_build is None or build.id < self.own_build):
                yield EarlierRun(build.id, build.source_version)

    def _artifacts_of(self, build: int | str) -> str:
        return f"{self.project}/_apis/build/builds/{build}/artifacts"

    def read(self, archive: Archive) -> list[StoredReport]:
        build, _, name = archive.id.partition("/")
        wanted = {"artifactName": name, "$format": "zip", "api-version": _VERSION}
        return download_reports(self.client, self._artifacts_of(build), needs=_NEEDS_BUILDS, **wanted)

    def _asked(self, path: str, kind: type[_Kind], needs: str, **wanted: Any) -> Iterator[_Kind]:
        return self.client.pages(path, kind, key="value", needs=needs, **wanted, **{"api-version": _VERSION})
