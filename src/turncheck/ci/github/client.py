"""GitHub's REST API, and check runs: annotations without the limits of workflow commands, where the token may write.

Rules for retries and limits: GitHub's "Rate limits for the REST API" and "Best practices for using the REST API".
GitHub shows a check run under a workflow of its own choosing (there is no parameter for it), so its name must say which
run it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from turncheck.ci import rest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import requests

# What GitHub refuses in its own way.


class MissingPermissionError(rest.RefusedError):
    """The token may not do it. ``needs`` is the line under ``permissions:`` that would allow it."""

    def __init__(self, what: str, *, needs: str | None, status: int = 403) -> None:
        hint = f"Add `{needs}` to the job's `permissions:` (pull requests of forks and Dependabot never get it)."
        super().__init__(what, status=status, hint=hint if needs else None)
        self.needs = needs

    @property
    def why(self) -> str:
        """The line that is missing, and where."""
        return f"the token lacks `{self.needs}`, add it to the job's `permissions:`" if self.needs else self.message


class HiddenError(rest.NotFoundError):
    """There is no such thing, or the token may not see it: of a private repository GitHub does not say which."""

    def __init__(self, what: str, *, needs: str | None) -> None:
        lacks = f"`{needs}` in the job's `permissions:`" if needs else "a permission"
        super().__init__(
            what, status=404, hint=f"On a private repository this can also mean that the token lacks {lacks}."
        )
        self.needs = needs

    @property
    def remedy(self) -> str:
        """The line that may be missing, and where."""
        return f"GitHub answers 404, as if the token lacked `{self.needs}`" if self.needs else self.why


_Kind = TypeVar("_Kind")


class GitHubClient(rest.RestClient):
    """Asks the API of one GitHub; ``needs`` is the line under ``permissions:`` that a request takes."""

    host = "GitHub"
    accepts = "application/vnd.github+json"

    def credentials(self) -> dict[str, str]:
        return {"X-GitHub-Api-Version": "2022-11-28", **super().credentials()}

    def pages(
        self, path: str, kind: type[_Kind], *, listed: str | None = None, needs: str | None = None, **parameters: Any
    ) -> Iterator[_Kind]:
        """Return every item of a list, page after page as ``Link`` names them; ``listed`` where it is in an object.

        Raises:
            RestError: as :meth:`get`; also for an answer that is not a list.
        """
        return super().pages(path, kind, listed=listed, needs=needs, per_page=rest.PER_PAGE, **parameters)

    def message_of(self, document: Any) -> str:
        if not isinstance(document, dict):
            return ""
        errors = document.get("errors")
        listed = [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
        details = [str(error.get("message") or error.get("code") or "") for error in listed]
        return "; ".join(part for part in (str(document.get("message") or ""), *details[:3]) if part)

    def advised_wait(self, answer: requests.Response, message: str, attempt: int) -> float | None:
        after = answer.headers.get("retry-after", "")
        if after.isdecimal():
            return float(after)
        reset = answer.headers.get("x-ratelimit-reset", "")
        if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
            return max(1.0, float(reset) - self.patience.clock() + 1.0)
        if answer.status_code == 429 or "secondary rate limit" in message.lower():
            return float(rest.SECONDARY_WAIT * 2**attempt)
        return None

    def refusal(self, status: int, message: str, trouble: str, request: rest.Request) -> rest.RestError:
        if status in {404, 410}:
            hidden = HiddenError(trouble, needs=request.needs)
            return hidden if status == 404 else rest.NotFoundError(trouble, status=status)
        if status == 401:
            return rest.RestError(trouble, status=status, hint="The token is wrong or has expired.")
        if status == 403 and "resource not accessible" in message.lower():
            return MissingPermissionError(trouble, needs=request.needs)
        return rest.RestError(trouble, status=status)


# The parts of GitHub's responses that are used, typed: a response of another shape is a readable error, not a crash.
#
# Names and types are those of GitHub's API description; what is not named here is skipped.


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all answers."""


class User(_Answer, frozen=True, kw_only=True):
    """A user, or an app."""

    login: str


class Repository(_Answer, frozen=True, kw_only=True):
    """A repository. ``full_name`` is ``owner/name``."""

    full_name: str

    @property
    def owner(self) -> str:
        """Its owner."""
        return self.full_name.partition("/")[0]


class Comment(_Answer, frozen=True, kw_only=True):
    """A comment on a pull request; ``user`` is ``None`` where the account is gone."""

    id: int
    html_url: str = ""
    body: str | None = None
    user: User | None = None


class Side(_Answer, frozen=True, kw_only=True):
    """Head or base of a pull request; ``repo`` is ``None`` where the fork is gone."""

    sha: str
    ref: str
    repo: Repository | None = None


class Pull(_Answer, frozen=True, kw_only=True):
    """A pull request."""

    number: int
    state: str
    head: Side
    base: Side


class TreeEntry(_Answer, frozen=True, kw_only=True):
    """A file, a link (``blob``), a folder (``tree``) or another repository (``commit``) in a tree."""

    path: str
    type: str
    sha: str


class Tree(_Answer, frozen=True, kw_only=True):
    """What a commit has; ``truncated`` if that is too much for one answer."""

    tree: list[TreeEntry]
    truncated: bool = False


class PullNumber(_Answer, frozen=True, kw_only=True):
    """A pull request as a run names it."""

    number: int


class WorkflowRun(_Answer, frozen=True, kw_only=True):
    """A run of a workflow."""

    id: int
    head_sha: str
    event: str
    path: str = ""
    run_attempt: int = 1
    head_branch: str | None = None
    head_repository: Repository | None = None
    pull_requests: list[PullNumber] | None = None


class ArtifactRun(_Answer, frozen=True, kw_only=True):
    """The run that made an artifact."""

    repository_id: int | None = None
    head_repository_id: int | None = None


class Artifact(_Answer, frozen=True, kw_only=True):
    """An artifact as it is listed."""

    id: int
    name: str
    expired: bool = False
    workflow_run: ArtifactRun | None = None

    @property
    def foreign(self) -> bool:
        """Whether a fork's code made it, or the origin is unknown."""
        run = self.workflow_run
        return run is None or run.repository_id is None or run.repository_id != run.head_repository_id


class Commit(_Answer, frozen=True, kw_only=True):
    """A commit."""

    sha: str


class BranchTip(_Answer, frozen=True, kw_only=True):
    """A branch and its newest commit."""

    commit: Commit


class Difference(_Answer, frozen=True, kw_only=True):
    """The comparison of two commits."""

    status: str
    merge_base_commit: Commit


class Check(_Answer, frozen=True, kw_only=True):
    """A check run."""

    id: int
    html_url: str | None = None
    external_id: str | None = None


NEEDS: Final = "checks: write"
BATCH: Final = 50
"""GitHub takes this many annotations per request; each further request appends."""
MOST: Final = 1000
_LONGEST_TEXT: Final = 65_000
_LONGEST_MESSAGE: Final = 60_000
"""Bytes; GitHub takes 64 KB."""
_LONGEST_TITLE: Final = 250


class CheckAnnotation(Struct, frozen=True):
    """A remark at a line of a file of the repository."""

    path: str
    line: int
    level: Literal["failure", "warning", "notice"]
    title: str
    message: str


class CheckRun(Struct, frozen=True):
    """A check run to be created. ``summary`` is Markdown; ``identity`` distinguishes it from others of its name on the
    commit."""

    name: str
    commit: str
    conclusion: Literal["success", "failure", "neutral"]
    title: str
    summary: str
    identity: str
    details_url: str | None = None
    annotations: Sequence[CheckAnnotation] = ()


def post_check_run(client: GitHubClient, repository: str, check: CheckRun) -> str | None:
    """Make a check run with its annotations, batch by batch, and return its page.

    Raises:
        RestError: it could not be created, or not all annotations arrived.
    """
    kept = check.annotations[:MOST]
    batches = [kept[start : start + BATCH] for start in range(0, len(kept), BATCH)] or [()]
    body = {
        "name": check.name[:_LONGEST_TITLE],
        "head_sha": check.commit,
        "external_id": check.identity,
        "status": "completed",
        "conclusion": check.conclusion,
        "output": _output(check, batches[0]),
        **({"details_url": check.details_url} if check.details_url else {}),
    }
    made = _create(client, repository, check, body)
    for batch in batches[1:]:
        client.patch(f"/repos/{repository}/check-runs/{made.id}", {"output": _output(check, batch)}, needs=NEEDS)
    return made.html_url


def _create(client: GitHubClient, repository: str, check: CheckRun, body: dict[str, Any]) -> Check:
    path = f"/repos/{repository}/check-runs"
    try:
        return client.post(path, body, Check, needs=NEEDS)
    except rest.AnswerLostError:
        return _find(client, repository, check) or client.post(path, body, Check, needs=NEEDS)


def _find(client: GitHubClient, repository: str, check: CheckRun) -> Check | None:
    path = f"/repos/{repository}/commits/{check.commit}/check-runs"
    listed = client.pages(path, Check, listed="check_runs", needs=NEEDS, check_name=check.name, filter="all")
    return next((one for one in listed if one.external_id == check.identity), None)


def _cut(message: str) -> str:
    return message.encode()[:_LONGEST_MESSAGE].decode(errors="ignore")


def _output(check: CheckRun, annotations: Sequence[CheckAnnotation]) -> dict[str, Any]:
    return {
        "title": check.title[:_LONGEST_TITLE],
        "summary": check.summary[:_LONGEST_TEXT],
        "annotations": [
            {
                "path": annotation.path,
                "start_line": max(1, annotation.line),
                "end_line": max(1, annotation.line),
                "annotation_level": annotation.level,
                "title": annotation.title[:_LONGEST_TITLE],
                "message": _cut(annotation.message) or annotation.title,
            }
            for annotation in annotations
        ],
    }
