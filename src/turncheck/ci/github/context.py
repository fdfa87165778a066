"""GitHub's description of this run: its event and variables, read once and converted to plain values.

Sources: the list of ``GITHUB_*`` variables and the events' payloads in GitHub's documentation ("Variables reference",
"Events that trigger workflows").
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from turncheck.ci.host import server_address
from turncheck.messages.errors import UserError
from turncheck.process.environment import whole_number
from turncheck.process.regular_file import read_regular
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Mapping


# The addresses of a repository's pages on GitHub.


@dataclass(frozen=True, slots=True)
class GitHubPages:
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


@dataclass(frozen=True, slots=True)
class PullRequest:
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
