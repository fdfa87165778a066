"""Bitbucket's pipelines: what the variables of a step say.

Source: "Variables and secrets" in the documentation of Bitbucket Pipelines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from turncheck.ci.bitbucket.api import MOST, BitbucketClient, BitbucketRepository
from turncheck.ci.comment import StickyComment
from turncheck.ci.host import Base, Checked, CloneAddress, HostError, Run, Target, login_with
from turncheck.ci.rest import ASKING, PUBLISHING, RetryBudget
from turncheck.ci.variables import JobHost
from turncheck.messages.phrasing import count
from turncheck.web.addresses import Network, is_same_server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Self

    from turncheck.ci.host import Check, CommitFiles
    from turncheck.process.environment import Secret


# The addresses of a repository's pages on Bitbucket.


@dataclass(frozen=True, slots=True)
class BitbucketPages:
    """Addresses below a repository's page (``https://bitbucket.org/acme/bots``)."""

    repository_url: str

    def file(self, commit: str, path: str, line: int | None) -> str:
        """Address of a file in a commit, and of a line in it."""
        fragment = f"#lines-{line}" if line is not None else ""
        return f"{self.repository_url}/src/{commit}/{quote(path, errors='replace')}{fragment}"

    def commit(self, commit: str) -> str:
        """Address of a commit."""
        return f"{self.repository_url}/commits/{commit}"

    def run(self, run_id: str) -> str:
        """Address of a run of a pipeline."""
        return f"{self.repository_url}/pipelines/results/{run_id}"


_API: Final = "https://api.bitbucket.org/2.0"
_PROXIED_API: Final = "http://api.bitbucket.org/2.0"
_PROXY: Final = "http://localhost:29418"
"""Of a pipeline's step: it signs requests for Code Insights, which go to it as plain http."""
_PATIENCE_WITH_PROXY: Final = 10.0
"""It runs beside the step; if nothing answers, there is none."""
_HOW: Final = "set the secured variable `BITBUCKET_TOKEN` to an access token with the scope `pullrequest:write`"


class _PipelineProxy(Network):
    """Reaches the API through the proxy of the step, and nothing else."""

    def proxies(self, url: str) -> dict[str, str]:
        return {"http": _PROXY} if is_same_server(url, _PROXIED_API) else {}


class Bitbucket(JobHost):
    """Bitbucket, asked from a step of a pipeline."""

    name = "Bitbucket"
    mark = "BITBUCKET_BUILD_NUMBER"
    server_variables = ("BITBUCKET_API_URL",)
    full_history_hint = "`clone: depth: full`"
    keeps_files_by = "`artifacts`"
    token_variables = ("BITBUCKET_TOKEN",)
    annotates_by_check = True
    comment_limit = 30_000
    """Bitbucket takes 32,768 characters."""

    @classmethod
    def of_repository(cls, repository: str, token: Secret | None, environment: Mapping[str, str]) -> Self:
        """Return Bitbucket about a repository that is named as WORKSPACE/REPOSITORY, from anywhere."""
        kept = {
            name: value
            for name, value in environment.items()
            if not name.startswith("BITBUCKET_") or name in {"BITBUCKET_TOKEN", "BITBUCKET_API_URL"}
        }
        origin = f"https://bitbucket.org/{repository}"
        return cls.of({**kept, "BITBUCKET_REPO_FULL_NAME": repository, "BITBUCKET_GIT_HTTP_ORIGIN": origin}, token)

    @property
    def run(self) -> Run:
        given = self.variables
        pages, number = self.pages, given.text("BITBUCKET_BUILD_NUMBER")
        return Run(
            repository=given.text("BITBUCKET_REPO_FULL_NAME"),
            commit=given.commit("BITBUCKET_COMMIT"),
            ref=given.branch("BITBUCKET_BRANCH") or None,
            run_id=number or None,
            url=pages.run(number) if pages else None,
            workspace=given.folder("BITBUCKET_CLONE_DIR"),
            stamp=given.stamp("BITBUCKET_BUILD_NUMBER", "BITBUCKET_STEP_RUN_NUMBER"),
            of_a_change=bool(given.text("BITBUCKET_PR_ID")),
        )

    @property
    def pages(self) -> BitbucketPages | None:
        url = self.variables.address("BITBUCKET_GIT_HTTP_ORIGIN")
        if url is None:
            return None
        scheme, _, rest = url.partition("://")  # the variable has http, the pages are under https
        return BitbucketPages(f"https://{rest}" if scheme == "http" and rest.startswith("bitbucket.org/") else url)

    @cached_property
    def _repository(self) -> BitbucketRepository | None:
        return self._repository_within(ASKING)

    @cached_property
    def _published_in(self) -> BitbucketRepository | None:
        return self._repository_within(PUBLISHING)

    def _repository_within(self, seconds: float) -> BitbucketRepository | None:
        given = self.variables
        repository = given.text("BITBUCKET_REPO_FULL_NAME")
        if self.token is None or not repository:
            return None
        api = given.address("BITBUCKET_API_URL") or _API
        return BitbucketRepository(
            BitbucketClient(api, self.token, RetryBudget(seconds), Network.of(given.given)), repository
        )

    def _told(self) -> BitbucketRepository:
        if self._published_in is None:
            raise HostError("Bitbucket cannot be queried without a token", remedy=f"To allow it, {_HOW}.")
        return self._published_in

    # --- what is compared with ---------------------------------------------------------------------------------------

    def base(self, warn: Callable[[str, HostError], None]) -> Base | None:  # noqa: ARG002
        """Return the target of the pull request: pipelines of one merge it into the branch before they start."""
        target = self.variables.branch("BITBUCKET_PR_DESTINATION_BRANCH")
        tip = self.variables.commit("BITBUCKET_PR_DESTINATION_COMMIT")
        return Base(target, head="HEAD", tip=tip) if target else None

    def merge_base(self, branch: str, head: str) -> str | None:
        """Return where ``head`` left ``branch``; a merge that only this step has made stands for the pull request."""
        heads = dict.fromkeys(one for one in (head, self.run.commit) if one)
        asked = self._repository
        found = (asked.merge_base(branch, one) for one in heads) if asked is not None else ()
        return next((commit for commit in found if commit is not None), None)

    def clone_address(self) -> CloneAddress | None:
        url = self.pages.repository_url if self.pages else None
        return CloneAddress(f"{url}.git", login_with("x-token-auth", self.token)) if url else None

    def files_of(self, commit: str) -> AbstractContextManager[CommitFiles] | None:
        return self._repository.files_of(commit) if self._repository else None

    # --- where it is said --------------------------------------------------------------------------------------------

    def target(self) -> Target | str:
        number = self.variables.number("BITBUCKET_PR_ID")
        if number is None:
            return "this pipeline belongs to no pull request"
        if self._repository is None:
            return f"there is no token to write it with: {_HOW}"
        return Target(number, self.run.commit or "", self.variables.branch("BITBUCKET_PR_DESTINATION_BRANCH"))

    @property
    def needs_token(self) -> str:
        return _HOW if self.token is None else ""

    def target_of_number(self, number: int) -> Target:
        return self._told().pull_request(number)

    def comment(self, target: Target, marker: str, *, passed: bool) -> StickyComment:  # noqa: ARG002
        return StickyComment(self._told().comments(target.number), marker)

    def check(self, check: Check) -> Checked:
        """Publish a Code Insights report on the commit, with its annotations: with a token, else through the step's
        proxy."""
        repository, name = self._published_in, self.variables.text("BITBUCKET_REPO_FULL_NAME")
        if check.commit is None or not name:
            return Checked(False, "no Code Insights report: its commit is not known")
        if repository is None:
            client = BitbucketClient(_PROXIED_API, None, RetryBudget(_PATIENCE_WITH_PROXY), _PipelineProxy())
            repository = BitbucketRepository(client, name)
        kept, found = repository.report(check), len(check.annotations)
        return Checked(True, f"the report holds {MOST} of {count(found, 'annotation')}" if kept < found else "")
