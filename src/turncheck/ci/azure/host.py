"""Azure DevOps: what the variables of a job say.

Source: "Use predefined variables" in the documentation of Azure Pipelines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from turncheck.ci.azure.api import AzureClient, AzureRepository, BranchBuilds
from turncheck.ci.comment import StickyComment
from turncheck.ci.earlier_reports import AskedOnce, Reports
from turncheck.ci.host import Base, CloneAddress, HostError, Run, Target
from turncheck.ci.rest import ASKING, PUBLISHING, RetryBudget
from turncheck.ci.variables import JobHost
from turncheck.messages.plain_text import log_line
from turncheck.process.environment import Secret, secret_of
from turncheck.render.sinks.commands import logging_command
from turncheck.render.sinks.markdown import ticked
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Self

    from turncheck.ci.host import CommitFiles
    from turncheck.render.annotations import Annotation, Level
    from turncheck.render.rendered import Rendered


# The addresses of a repository's pages on Azure DevOps.


@dataclass(frozen=True, slots=True)
class AzurePages:
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
        return self._repository_of(self._client_within(PUBLISHING))

    def _repository_of(self, client: AzureClient | None) -> AzureRepository | None:
        """The repository of the pull request, where it is here; GitHub's are built here, too."""
        repository = self.variables.text("BUILD_REPOSITORY_ID", "BUILD_REPOSITORY_NAME")
        if client is None or not self._project or not repository or self.pages is None:
            return None
        return AzureRepository(client, self._project, repository, self.pages.repository_url)

    @cached_property
    def _client(self) -> AzureClient | None:
        return self._client_within(ASKING)

    def _client_within(self, seconds: float) -> AzureClient | None:
        collection = self.variables.address(*self.server_variables)
        if self.token is None or not collection:
            return None
        return AzureClient(collection, self.token, RetryBudget(seconds), Network.of(self.variables.given))

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
    def _earlier_builds(self) -> dict[str, AskedOnce]:
        """By the name of their artifacts: several assistants of one run look into the same ones."""
        return {}

    def earlier_reports(self, artifact_name: str, root: str) -> Reports | None:
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
            builds = AskedOnce(BranchBuilds(self._client, place, code, pipeline, artifact_name, own))
            self._earlier_builds[artifact_name] = builds
        return Reports(builds, root)

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
