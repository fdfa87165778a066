"""Check runs: annotations without the limits of workflow commands, where the token may write checks.

GitHub shows a check run under a workflow of its own choosing (there is no parameter for it), so its name must say which
run it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from turncheck.ci.github.client import Check
from turncheck.ci.rest import AnswerLostError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.ci.github.client import GitHubClient

NEEDS: Final = "checks: write"
BATCH: Final = 50
"""GitHub takes this many annotations per request; each further request appends."""
MOST: Final = 1000
_LONGEST_TEXT: Final = 65_000
_LONGEST_MESSAGE: Final = 60_000
"""Bytes; GitHub takes 64 KB."""
_LONGEST_TITLE: Final = 250


@dataclass(frozen=True, slots=True)
class CheckAnnotation:
    """A remark at a line of a file of the repository."""

    path: str
    line: int
    level: Literal["failure", "warning", "notice"]
    title: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckRun:
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
    except AnswerLostError:
        return _find(client, repository, check) or client.post(path, body, Check, needs=NEEDS)


def _find(client: GitHubClient, repository: str, check: CheckRun) -> Check | None:
    path = f"/repos/{repository}/commits/{check.commit}/check-runs"
    listed = client.pages(path, Check, key="check_runs", needs=NEEDS, check_name=check.name, filter="all")
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
