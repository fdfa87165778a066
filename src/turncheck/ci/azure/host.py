"""Azure DevOps: what the variables of a job say, and its REST API: threads of pull requests, where branches part.

Sources: "Use predefined variables" in the documentation of Azure Pipelines; "Pull Request Threads", "Pull Request
Thread Comments", "Pull Requests", "Diffs", "Items" and "Connection Data" in the reference of the API (version 7.1).
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from turncheck.ci import earlier_reports, rest
from turncheck.ci.base_files import Listed, single_files
from turncheck.ci.comment import StickyComment, Written
from turncheck.ci.host import Base, CloneAddress, CommitFiles, HostError, JobHost, Run, StoredReport, Target
from turncheck.messages.plain_text import log_line
from turncheck.process.environment import Secret, secret_of
from turncheck.render.sinks.commands import logging_command
from turncheck.render.sinks.markdown import ticked
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from turncheck.render.annotations import Annotation, Level
    from turncheck.render.rendered import Rendered

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


class AzureClient(rest.RestClient):
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

    def refusal(self, status: int, message: str, trouble: str, request: rest.Request) -> rest.RestError:
        if status == 403:
            return rest.RefusedError(trouble, status=status, hint=f"The token needs {request.needs or _NEEDS}.")
        if status == 404:
            hint = 'This can also mean that the job may not see it ("Limit job authorization scope").'
            return rest.NotFoundError(trouble, status=status, hint=hint)
        if status in {203, 401}:
            hint = "The token is wrong or has expired; a job's own is `SYSTEM_ACCESSTOKEN: $(System.AccessToken)`."
            return rest.RestError(trouble, status=status, hint=hint)
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
        except rest.NotFoundError:
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
            path, _Item, listed="value", needs=_NEEDS_CODE, scopePath="/", recursionLevel="full", **state
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
        listed = self._client.comments(self._path, _Thread, listed="value", needs=_NEEDS, **{"api-version": VERSION})
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
            raise rest.RestError("Azure DevOps made a thread without a comment")
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

    client: rest.RestClient
    project: str
    repository: str | None
    pipeline: int
    artifact_name: str
    own_build: int | None = None

    def of_commit(self, branch: str, commit: str) -> Iterator[earlier_reports.EarlierRun]:
        return (run for run in self._listed(branch) if run.commit == commit)

    def of_branch(self, branch: str) -> Iterator[earlier_reports.EarlierRun]:
        return self._listed(branch)

    def ancestors(self, commit: str) -> Iterator[str]:
        if self.repository is None:
            return iter(())
        state = {"version": commit, "versionType": "commit"}
        wanted = {f"searchCriteria.itemVersion.{name}": value for name, value in state.items()}
        commits = self._asked(
            f"{self.repository}/commits",
            _Commit,
            _NEEDS_CODE,
            **wanted,
            **{"searchCriteria.$top": earlier_reports.MOST_ANCESTORS},
        )
        return (one.commit_id for one in islice(commits, earlier_reports.MOST_ANCESTORS))

    def archives(self, run: earlier_reports.EarlierRun) -> Iterator[earlier_reports.Archive]:
        listed = self._asked(self._artifacts_of(run.id), _Artifact, _NEEDS_BUILDS)
        for artifact in sorted(listed, key=lambda one: -one.id):
            if earlier_reports.is_ours(artifact.name, self.artifact_name):
                yield earlier_reports.Archive(f"{run.id}/{artifact.name}")

    def _listed(self, branch: str) -> Iterator[earlier_reports.EarlierRun]:
        """Yield the builds of a branch that ended, newest first."""
        ref = f"{_BRANCHES}{branch}"
        wanted: dict[str, Any] = {"branchName": ref}
        wanted |= {"definitions": self.pipeline, "statusFilter": "completed", "queryOrder": "queueTimeDescending"}
        listed = self._asked(
            f"{self.project}/_apis/build/builds", _Build, _NEEDS_BUILDS, **wanted, **{"$top": earlier_reports.MOST_RUNS}
        )
        for build in islice(listed, earlier_reports.MOST_RUNS):
            of_the_branch = build.reason in _REASONS and build.source_branch == ref
            if of_the_branch and build.source_version and (self.own_build is None or build.id < self.own_build):
                yield earlier_reports.EarlierRun(build.id, build.source_version)

    def _artifacts_of(self, build: int | str) -> str:
        return f"{self.project}/_apis/build/builds/{build}/artifacts"

    def read(self, archive: earlier_reports.Archive) -> list[StoredReport]:
        build, _, name = archive.id.partition("/")
        wanted = {"artifactName": name, "$format": "zip", "api-version": _VERSION}
        return earlier_reports.download_reports(self.client, self._artifacts_of(build), needs=_NEEDS_BUILDS, **wanted)

    def _asked(self, path: str, kind: type[_Kind], needs: str, **wanted: Any) -> Iterator[_Kind]:
        return self.client.pages(path, kind, listed="value", needs=needs, **wanted, **{"api-version": _VERSION})


# The addresses of a repository's pages on Azure DevOps.


class AzurePages(Struct, frozen=True):
    """Addresses below a repository's page (``https://dev.azure.com/acme/bots/_git/pizza``).

    ``results_url``: the page of a build, without its number.
    """

    repository_url: str
    results_url: str

    def file(self, commit: str, path: str, line: int | None) -> str:
        """Address of a file in a commit, and of a line in it."""
        query = {"path": f"/{path}", "version": f"GC{commit}"}
        if line is not None:
            # A line is marked from its first column to the first of the next.
            query |= {"line": str(line), "lineEnd": str(line + 1), "lineStartColumn": "1", "lineEndColumn": "1"}
        return f"{self.repository_url}?{urlencode(query, errors='replace')}"

    def commit(self, commit: str) -> str:
        """Address of a commit."""
        return f"{self.repository_url}/commit/{commit}"

    def run(self, run_id: str) -> str:
        """Address of a build."""
        return f"{self.results_url}?{urlencode({'buildId': run_id})}"


_LONGEST_VARIABLE: Final = 30_000
"""Later steps get each in their environment, where Windows takes 32,767 characters and Linux 128 KiB: with a longer one
none of them would start."""
_HOW: Final = "set `SYSTEM_ACCESSTOKEN: $(System.AccessToken)` under `env:` of the step"


class Azure(JobHost):
    """Azure DevOps, asked from a job of a pipeline or about a repository."""

    name = "Azure DevOps"
    mark = "TF_BUILD"
    full_history_hint = "a `checkout` step with `fetchDepth: 0`"
    keeps_files_by = "`PublishPipelineArtifact@1`"
    token_variables = ("SYSTEM_ACCESSTOKEN",)
    server_variables = ("SYSTEM_COLLECTIONURI", "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI")
    comment_limit = 140_000
    """Azure DevOps takes 150,000 characters."""

    @classmethod
    def of_repository(cls, repository: str, token: Secret | None, environment: Mapping[str, str]) -> Self:
        """Return Azure DevOps about a repository that is named as ORGANIZATION/PROJECT/REPOSITORY, from anywhere.

        Raises:
            HostError: it is not named so.
        """
        parts = repository.split("/")
        if len(parts) != 3 or not all(parts):
            raise HostError(f"'{repository}' is not a repository", hint="Write it as ORGANIZATION/PROJECT/REPOSITORY.")
        organization, project, name = (quote(part, safe="", errors="replace") for part in parts)
        server = environment.get("AZURE_DEVOPS_URL", "https://dev.azure.com").rstrip("/")
        named = {
            "SYSTEM_COLLECTIONURI": f"{server}/{organization}",
            "SYSTEM_TEAMPROJECT": parts[1],
            "BUILD_REPOSITORY_NAME": name,
            "BUILD_REPOSITORY_PROVIDER": "TfsGit",
            "BUILD_REPOSITORY_URI": f"{server}/{organization}/{project}/_git/{name}",
        }
        listed = ("SYSTEM_", "BUILD_")
        kept = {name: value for name, value in environment.items() if not name.startswith(listed)}
        token_given = token or secret_of(environment, *cls.token_variables)
        return cls.of({**kept, **named}, token_given)

    @property
    def run(self) -> Run:
        variables = self.variables
        head = variables.commit("SYSTEM_PULLREQUEST_SOURCECOMMITID")
        return Run(
            repository=variables.text("BUILD_REPOSITORY_NAME"),
            commit=head or variables.commit("BUILD_SOURCEVERSION"),
            checked_out=variables.commit("BUILD_SOURCEVERSION"),
            ref=variables.branch("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH") or None,
            run_id=variables.text("BUILD_BUILDID") or None,
            url=self._run_url(),
            workspace=variables.folder("BUILD_SOURCESDIRECTORY"),
            stamp=variables.stamp("BUILD_BUILDID", "SYSTEM_JOBATTEMPT"),
            of_a_change=bool(variables.branch("SYSTEM_PULLREQUEST_TARGETBRANCH")),
            of_a_fork=variables.text("SYSTEM_PULLREQUEST_ISFORK").lower() == "true",
            merges=head,
        )

    def _run_url(self) -> str | None:
        collection = self.variables.address(*self.server_variables)
        project, number = self.variables.text("SYSTEM_TEAMPROJECTID"), self.variables.number("BUILD_BUILDID")
        return f"{collection}/{project}/_build/results?buildId={number}" if collection and project and number else None

    @property
    def pages(self) -> AzurePages | None:
        """Only of its own repositories: those of GitHub and others are built here, too."""
        url = self.variables.address("BUILD_REPOSITORY_URI")
        if url is None or self.variables.text("BUILD_REPOSITORY_PROVIDER") != "TfsGit":
            return None
        return AzurePages(url, (self._run_url() or "").partition("?")[0])

    @cached_property
    def _repository(self) -> AzureRepository | None:
        return self._repository_of(self._client)

    @cached_property
    def _published_in(self) -> AzureRepository | None:
        return self._repository_of(self._client_within(rest.PUBLISHING))

    def _repository_of(self, client: AzureClient | None) -> AzureRepository | None:
        """The repository of the pull request, where it is here; GitHub's are built here, too."""
        repository = self.variables.text("BUILD_REPOSITORY_ID", "BUILD_REPOSITORY_NAME")
        if client is None or not self._project or not repository or self.pages is None:
            return None
        return AzureRepository(client, self._project, repository, self.pages.repository_url)

    @cached_property
    def _client(self) -> AzureClient | None:
        return self._client_within(rest.ASKING)

    def _client_within(self, seconds: float) -> AzureClient | None:
        collection = self.variables.address(*self.server_variables)
        if self.token is None or not collection:
            return None
        return AzureClient(collection, self.token, rest.RetryBudget(seconds), Network.of(self.variables.given))

    @property
    def _project(self) -> str:
        return self.variables.text("SYSTEM_TEAMPROJECTID", "SYSTEM_TEAMPROJECT")

    def _told(self) -> AzureRepository:
        if self._published_in is None:
            raise HostError("Azure DevOps cannot be queried without a token", hint=f"To allow it, {_HOW}.")
        return self._published_in

    # --- what is compared with ---------------------------------------------------------------------------------------

    def base(self, warn: Callable[[str, HostError], None]) -> Base | None:  # noqa: ARG002
        target = self.variables.branch("SYSTEM_PULLREQUEST_TARGETBRANCH")
        return Base(target, head="HEAD") if target else None

    def merge_base(self, branch: str, head: str) -> str | None:
        return self._repository.merge_base(branch, head) if self._repository else None

    def clone_address(self) -> CloneAddress | None:
        url, client = self.variables.address("BUILD_REPOSITORY_URI"), self._client
        if url is None:
            return None
        login = client.credentials().get("Authorization") if client is not None and self.pages is not None else None
        return CloneAddress(url, Secret(login) if login else None)

    def files_of(self, commit: str) -> AbstractContextManager[CommitFiles] | None:
        return self._repository.files_of(commit) if self._repository else None

    @cached_property
    def _earlier_builds(self) -> dict[str, earlier_reports.CachedRuns]:
        """By the name of their artifacts: several assistants of one run look into the same ones."""
        return {}

    def earlier_reports(self, artifact_name: str, root: str) -> earlier_reports.Reports | None:
        """Return what builds of this pipeline left, whose repository may be elsewhere."""
        variables = self.variables
        pipeline = variables.number("SYSTEM_DEFINITIONID")
        if self._client is None or not self._project or pipeline is None:
            return None
        builds = self._earlier_builds.get(artifact_name)
        if builds is None:
            code = self._repository.path if self._repository else None
            place = f"/{quote(self._project, safe='', errors='replace')}"
            own = variables.number("BUILD_BUILDID")
            builds = earlier_reports.CachedRuns(BranchBuilds(self._client, place, code, pipeline, artifact_name, own))
            self._earlier_builds[artifact_name] = builds
        return earlier_reports.Reports(builds, root)

    # --- where it is said --------------------------------------------------------------------------------------------

    def target(self) -> Target | str:
        variables = self.variables
        number = variables.number("SYSTEM_PULLREQUEST_PULLREQUESTID")
        if number is None:
            return "this build belongs to no pull request"
        if self.pages is None:
            provider = variables.text("BUILD_REPOSITORY_PROVIDER") or "elsewhere"
            return f"the repository is not one of Azure DevOps ({provider}); publish there from a later step"
        if self._repository is None:
            return f"there is no token to write it with: {_HOW}"
        of_a_fork = variables.text("SYSTEM_PULLREQUEST_ISFORK").lower() == "true"
        branch = variables.branch("SYSTEM_PULLREQUEST_TARGETBRANCH")
        return Target(number, self.run.commit or "", branch, "a fork" if of_a_fork else "")

    @property
    def needs_token(self) -> str:
        return _HOW if self.token is None else ""

    def target_of_number(self, number: int) -> Target:
        return self._told().pull_request(number)

    def comment(self, target: Target, marker: str, *, passed: bool) -> StickyComment:
        return StickyComment(self._told().threads(target.number, resolved=passed), marker)

    def log_line(self, level: Level, text: str) -> str:
        if level == "notice":
            return f"turncheck: {log_line(text)}"
        return logging_command("task.logissue", text, type=level)

    def annotations(self, found: Sequence[Annotation], said: Mapping[Level, int]) -> Iterable[str]:  # noqa: ARG002
        """Return an issue each; Azure has only errors and warnings."""
        for annotation in found:
            yield logging_command(
                "task.logissue",
                f"{annotation.title}: {annotation.message}",
                type="warning" if annotation.level == "notice" else annotation.level,
                sourcepath=annotation.path,
                linenumber=annotation.line,
            )

    def summarize(self, summary: Rendered, notes: Sequence[str]) -> Iterable[str]:
        """Write the summary where the agent finds it once this step has ended, and say where."""
        folder = self.variables.folder("AGENT_TEMPDIRECTORY")
        if folder is None:
            return ()
        below = "".join(f"\n- {ticked(note)}\n" for note in notes).encode("utf-8", "replace")
        with NamedTemporaryFile("wb", prefix="turncheck-", suffix=".md", dir=folder, delete=False) as file:
            file.write(summary.encoded + below)
        return (logging_command("task.uploadsummary", file.name),)

    def set_outputs(self, outputs: Mapping[str, str]) -> Iterable[str]:
        """Return a variable each, for later steps and jobs: ``$(turncheck.verdict)`` where the step is so called."""
        for name, value in outputs.items():
            if len(value.encode(errors="replace")) > _LONGEST_VARIABLE:
                yield f"turncheck: no variable '{name}': longer than {_LONGEST_VARIABLE:,} bytes; see comparison.json"
            else:
                yield logging_command("task.setvariable", value, variable=name, isOutput="true")
