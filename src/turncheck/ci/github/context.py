"""GitHub's description of this run: its event and variables, read once and converted to plain values.

Sources: the list of ``GITHUB_*`` variables and the events' payloads in GitHub's documentation ("Variables reference",
"Events that trigger workflows"). Which pull request a run comments on follows from its event if that has one, else from
the API; never from a report.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from turncheck.ci.comment import Written
from turncheck.ci.github.client import Comment, GitHubClient, Pull, User, WorkflowRun
from turncheck.ci.host import Target, server_address
from turncheck.ci.rest import PER_PAGE, NotFoundError, RestError
from turncheck.messages.errors import UserError
from turncheck.process.environment import whole_number
from turncheck.process.regular_file import read_regular
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The addresses of a repository's pages on GitHub.


class GitHubPages(Struct, frozen=True):
    """Addresses below a repository's page (``https://github.com/owner/name``)."""

    repository_url: str

    def file(self, commit: str, path: str, line: int | None) -> str:
        """Address of a file in a commit, and of a line in it."""
        # Markdown is shown rendered, without line numbers, unless it is asked for as plain text.
        plain = "?plain=1" if path.lower().endswith((".md", ".markdown")) else ""
        fragment = f"#L{line}" if line is not None else ""
        return f"{self.repository_url}/blob/{commit}/{quote(path, errors='replace')}{plain}{fragment}"

    def commit(self, commit: str) -> str:
        """Address of a commit."""
        return f"{self.repository_url}/commit/{commit}"

    def run(self, run_id: str) -> str:
        """Address of a workflow run."""
        return f"{self.repository_url}/actions/runs/{run_id}"


_MOST_OF_EVENT: Final = 64 << 20
_REPOSITORY: Final = re.compile(r"(?!\.+/)[\w.-]{1,100}/(?!\.+$)[\w.-]{1,200}", re.ASCII)


class PullRequest(Struct, frozen=True):
    """The pull request of the event. ``fork``: its head is in another repository, so the token can only read."""

    number: int
    head_sha: str
    head_ref: str
    base_ref: str
    base_sha: str
    fork: bool


@dataclass(frozen=True, slots=True)
class GitHubContext:
    """A run of a workflow. Addresses have no slash at the end; what is not known is ``None`` or empty."""

    repository: str
    event_name: str
    sha: str
    ref: str
    server_url: str = "https://github.com"
    api_url: str = "https://api.github.com"
    run_id: str | None = None
    run_attempt: int = 1
    workflow: str | None = None
    workflow_path: str | None = None
    job: str | None = None
    actor: str | None = None
    workspace: Path | None = None
    event: Mapping[str, Any] = field(default_factory=dict, repr=False)
    pull_request: PullRequest | None = None
    troubles: tuple[str, ...] = ()
    """Variables with invalid values, which were skipped."""
    network: Network = field(default=Network(), repr=False)

    @property
    def repository_url(self) -> str:
        """The repository's page."""
        return f"{self.server_url}/{self.repository}"

    @property
    def pages(self) -> GitHubPages:
        """The addresses below it."""
        return GitHubPages(self.repository_url)

    @property
    def run_url(self) -> str | None:
        """The run's page."""
        return self.pages.run(self.run_id) if self.run_id else None

    @property
    def run_number(self) -> int | None:
        """The run's id as a number: later runs have greater numbers."""
        return int(self.run_id) if self.run_id else None

    @property
    def head_sha(self) -> str:
        """The commit that people look at: a pull request's head, not GitHub's test merge of it."""
        if self.pull_request:
            return self.pull_request.head_sha
        group = self.event.get("merge_group")
        if self.event_name == "merge_group" and isinstance(group, dict):
            return str(group.get("head_sha") or self.sha)
        return self.sha


def read_context(environment: Mapping[str, str]) -> GitHubContext | None:
    """Read the context of this run; ``None`` outside GitHub (no ``GITHUB_REPOSITORY``).

    A payload that is missing or not a JSON object counts as empty: whatever needs it then says what is missing. An
    invalid number is skipped, and noted in ``troubles``.

    Raises:
        UserError: it is not known which server or repository this is, since the variable is not an address or a name.
    """
    repository = environment.get("GITHUB_REPOSITORY", "").strip()
    if "/" not in repository:
        return None
    if not _REPOSITORY.fullmatch(repository):
        raise UserError(f"GITHUB_REPOSITORY is not OWNER/NAME: {repository[:100]!r}")
    troubles: list[str] = []
    event = _read_event(environment.get("GITHUB_EVENT_PATH", ""))
    workflow_ref = environment.get("GITHUB_WORKFLOW_REF", "")
    return GitHubContext(
        repository=repository,
        event_name=environment.get("GITHUB_EVENT_NAME", ""),
        sha=environment.get("GITHUB_SHA", ""),
        ref=environment.get("GITHUB_REF", ""),
        server_url=server_address(environment, "GITHUB_SERVER_URL", "https://github.com"),
        api_url=server_address(environment, "GITHUB_API_URL", "https://api.github.com"),
        run_id=_run_id(environment, troubles),
        run_attempt=_number(environment, "GITHUB_RUN_ATTEMPT", troubles) or 1,
        workflow=environment.get("GITHUB_WORKFLOW") or None,
        workflow_path=_workflow_path(workflow_ref, repository),
        job=environment.get("GITHUB_JOB") or None,
        actor=environment.get("GITHUB_ACTOR") or None,
        workspace=_path(environment.get("GITHUB_WORKSPACE")),
        event=event,
        pull_request=_pull_request(event, repository),
        troubles=tuple(troubles),
        network=Network.of(environment),
    )


def _number(environment: Mapping[str, str], name: str, troubles: list[str]) -> int | None:
    text = environment.get(name, "").strip()
    number = whole_number(text)
    if text and number is None:
        troubles.append(f"{name} is not a number and is ignored: {text[:40]!r}")
    return number


def _run_id(environment: Mapping[str, str], troubles: list[str]) -> str | None:
    number = _number(environment, "GITHUB_RUN_ID", troubles)
    return None if number is None else str(number)


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _read_event(path: str) -> Mapping[str, Any]:
    try:
        event = json.loads(read_regular(Path(path), most=_MOST_OF_EVENT)) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _workflow_path(workflow_ref: str, repository: str) -> str | None:
    """``owner/name/.github/workflows/ci.yml@refs/heads/main`` → ``.github/workflows/ci.yml``."""
    path = workflow_ref.partition("@")[0].removeprefix(f"{repository}/")
    return path or None


def _pull_request(event: Mapping[str, Any], repository: str) -> PullRequest | None:
    payload = event.get("pull_request")
    if not isinstance(payload, dict) or type(payload.get("number")) is not int:
        return None
    head, base = _object(payload.get("head")), _object(payload.get("base"))
    head_repository = _object(head.get("repo")).get("full_name")
    return PullRequest(
        number=payload["number"],
        head_sha=str(head.get("sha") or ""),
        head_ref=str(head.get("ref") or ""),
        base_ref=str(base.get("ref") or ""),
        base_sha=str(base.get("sha") or ""),
        fork=head_repository != repository,
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


NEEDS: Final = "pull-requests: read"
_DEPENDABOT: Final = "dependabot[bot]"
_MOST_PULLS: Final = 10
_BY_BRANCH: Final = frozenset({"push", "workflow_dispatch"})


def find_target(context: GitHubContext, client: GitHubClient | None) -> Target | str:
    """Return the pull request of this run, or the reason why there is none to comment on.

    Raises:
        RestError: GitHub had to be asked and could not.
    """
    pull = context.pull_request
    reads_only = "Dependabot" if context.actor == _DEPENDABOT else ""
    if pull is not None:
        return Target(pull.number, pull.head_sha, pull.base_ref, "a fork" if pull.fork else reads_only)
    if context.event_name == "merge_group":
        return "a merge queue reads the exit status, its runs do not comment"
    branch = context.ref.removeprefix("refs/heads/")
    if context.event_name not in _BY_BRANCH or branch == context.ref:
        return f"the event '{context.event_name}' belongs to no pull request"
    if client is None:
        return "without a token it is not known which pull request this is"
    owner = context.repository.partition("/")[0]
    pulls = _open_pulls(client, context.repository, owner, branch)
    if not pulls:
        return f"the branch '{branch}' has no open pull request"
    others = frozenset(pull.base.ref for pull in pulls) - {pulls[0].base.ref}
    return replace(_target(pulls[0]), reads_only=reads_only, other_base_refs=others)


def target_of_run(client: GitHubClient, repository: str, run: WorkflowRun) -> Target | str:
    """Return the pull request that a workflow run was for, checked against the API; or why there is none.

    Args:
        client: asks the API.
        repository: ``owner/name``, where the run was.
        run: the run, as the API gives it.

    Raises:
        RestError: GitHub could not be asked.
    """
    if run.head_repository is None:
        return "the repository that the change came from is gone"
    numbers = [pull.number for pull in run.pull_requests or ()]
    if not numbers:  # as it is for forks
        listed = _open_pulls(client, repository, run.head_repository.owner, run.head_branch or "")
        numbers = [pull.number for pull in listed]
    moved_on = False
    for number in numbers[:_MOST_PULLS]:
        try:
            pull = client.get(f"/repos/{repository}/pulls/{number}", Pull, needs=NEEDS)
        except NotFoundError:
            continue
        from_there = pull.head.repo is not None and pull.head.repo.full_name == run.head_repository.full_name
        if pull.state == "open" and from_there:
            if pull.head.sha == run.head_sha:
                return _target(pull)
            moved_on = True
    if moved_on:
        return f"the pull request has moved on from commit {run.head_sha[:8]}"
    return f"no open pull request has commit {run.head_sha[:8]} at its head"


def target_of_number(client: GitHubClient, repository: str, number: int) -> Target:
    """Return a pull request by its number.

    Raises:
        RestError: GitHub could not be asked, or has no such pull request.
    """
    return _target(client.get(f"/repos/{repository}/pulls/{number}", Pull, needs=NEEDS))


def _open_pulls(client: GitHubClient, repository: str, owner: str, branch: str) -> list[Pull]:
    listed = client.pages(f"/repos/{repository}/pulls", Pull, needs=NEEDS, state="open", head=f"{owner}:{branch}")
    # GitHub ignores a filter that it does not understand, and lists all.
    return [pull for pull in listed if pull.head.ref == branch]


def _target(pull: Pull) -> Target:
    return Target(pull.number, pull.head.sha, pull.base.ref)


# The comments of a pull request on GitHub, which are those of an issue, and the account of the token.

NEEDS_TO_COMMENT: Final = "pull-requests: write"
_ACTIONS_BOT: Final = "github-actions[bot]"
_INSTALLATION_TOKEN: Final = "ghs_"  # noqa: S105  # how GitHub's own tokens for apps begin


class IssueComments:
    """The comments of one pull request.

    Args:
        client: asks the API.
        repository: ``owner/name``.
        number: the pull request's.
    """

    def __init__(self, client: GitHubClient, repository: str, number: int) -> None:
        self._client = client
        self._of_pull_request = f"/repos/{repository}/issues/{number}/comments"
        self._of_repository = f"/repos/{repository}/issues/comments"

    def all(self) -> Iterator[Written]:
        return map(
            _written, self._client.comments(self._of_pull_request, Comment, needs=NEEDS_TO_COMMENT, per_page=PER_PAGE)
        )

    def post(self, body: str) -> Written:
        return _written(self._client.post(self._of_pull_request, {"body": body}, Comment, needs=NEEDS_TO_COMMENT))

    def change(self, written: Written, body: str, newer: Written | None = None) -> None:  # noqa: ARG002
        self._client.patch(f"{self._of_repository}/{written.id}", {"body": body}, needs=NEEDS_TO_COMMENT)

    def delete(self, written: Written) -> None:
        self._client.delete(f"{self._of_repository}/{written.id}", needs=NEEDS_TO_COMMENT)

    def author(self) -> str:
        """Who the token speaks for.

        Tokens of GitHub Apps may not ask; nearly all of them are the workflow's own, which is GitHub's bot. The name of
        another app is known once it has posted.
        """
        token = self._client.token
        if token is not None and token.reveal().startswith(_INSTALLATION_TOKEN):
            return _ACTIONS_BOT
        try:
            return self._client.get("/user", User).login
        except RestError as error:
            if error.status in {403, 404}:
                return _ACTIONS_BOT
            raise


def _written(comment: Comment) -> Written:
    return Written(comment.id, comment.user.login if comment.user else "", comment.body or "", comment.html_url)
