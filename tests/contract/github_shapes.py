"""Documents as GitHub gives them: what its API description requires of each, filled in with what a test is about."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

TIME = "2026-11-21T09:00:00Z"
REPOSITORY = "acme/bots"
REPOSITORY_ID = 1296269
FORK_ID = 4711
_FORMATS = {"date-time": TIME, "uri": "https://example.org/x", "email": "a@example.org"}
_PLAIN = {"string": "x", "integer": 1, "number": 1, "boolean": False}


@cache
def _description() -> Any:
    return json.loads(Path(__file__).with_name("github_openapi.json").read_text("utf-8"))


def shape(kind: str, /, **values: Any) -> dict[str, Any]:
    """Return the smallest document of a kind (a schema of GitHub's description) with these values in it."""
    made = _smallest(_description()["components"]["schemas"][kind])
    assert isinstance(made, dict)
    return {**made, **values}


def _smallest(schema: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _smallest(_description()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if schema.get("nullable"):
        return None
    if "allOf" in schema:
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            merged.update(_smallest(part) or {})
        return merged
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return _smallest(schema[choice][0])
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if kind == "array":
        return []
    if kind == "object":
        return {name: _smallest(schema["properties"][name]) for name in schema.get("required", [])}
    return _FORMATS.get(schema.get("format", ""), _PLAIN[kind])


def user(login: str) -> dict[str, Any]:
    """Somebody."""
    return shape("simple-user", login=login, type="Bot" if login.endswith("[bot]") else "User")


def comment(public: str, number: int, pull: int, body: str, author: str) -> dict[str, Any]:
    """A comment on a pull request."""
    return shape(
        "issue-comment",
        id=number,
        body=body,
        user=user(author),
        author_association="NONE",
        issue_url=f"{public}/repos/{REPOSITORY}/issues/{pull}",
        html_url=f"https://github.com/{REPOSITORY}/pull/{pull}#issuecomment-{number}",
    )


def pull(
    number: int,
    *,
    head: str = "2" * 40,
    head_ref: str = "feature",
    owner: str = "acme",
    base_ref: str = "main",
    base: str = "1" * 40,
    state: str = "open",
) -> dict[str, Any]:
    """A pull request as lists have it, and on its own."""
    fork = owner != "acme"
    repository = shape("repository", full_name=f"{owner}/bots", id=FORK_ID if fork else REPOSITORY_ID, fork=fork)
    own = shape("repository", full_name=REPOSITORY, id=REPOSITORY_ID)
    return {
        **shape("pull-request"),
        **shape("pull-request-simple"),
        "number": number,
        "state": state,
        "user": user(owner),
        "head": {"label": f"{owner}:{head_ref}", "ref": head_ref, "sha": head, "repo": repository, "user": user(owner)},
        "base": {"label": f"acme:{base_ref}", "ref": base_ref, "sha": base, "repo": own, "user": user("acme")},
    }


def workflow_run(
    number: int,
    sha: str,
    *,
    event: str = "push",
    branch: str = "main",
    status: str = "completed",
    conclusion: str = "success",
    path: str = ".github/workflows/turncheck.yml",
    fork: bool = False,
    attempt: int = 1,
) -> dict[str, Any]:
    """A run of a workflow."""
    name = "mallory/bots" if fork else REPOSITORY
    return shape(
        "workflow-run",
        id=number,
        head_sha=sha,
        event=event,
        head_branch=branch,
        status=status,
        conclusion=conclusion,
        path=path,
        run_attempt=attempt,
        repository=shape("minimal-repository", full_name=REPOSITORY, id=REPOSITORY_ID),
        head_repository=shape(
            "minimal-repository",
            full_name=name,
            id=FORK_ID if fork else REPOSITORY_ID,
            owner=user(name.partition("/")[0]),
        ),
        pull_requests=[],
    )


def artifact(public: str, number: int, name: str, run: dict[str, Any], size: int, *, expired: bool) -> dict[str, Any]:
    """An artifact of a run."""
    return shape(
        "artifact",
        id=number,
        name=name,
        size_in_bytes=size,
        expired=expired,
        archive_download_url=f"{public}/repos/{REPOSITORY}/actions/artifacts/{number}/zip",
        workflow_run={
            "id": run["id"],
            "repository_id": REPOSITORY_ID,
            "head_repository_id": run["head_repository"]["id"],
            "head_branch": run["head_branch"],
            "head_sha": run["head_sha"],
        },
    )


def commit(sha: str) -> dict[str, Any]:
    """A commit."""
    return shape("commit", sha=sha)


def comparison(base: str, merge_base: str, *, ahead: int = 1, behind: int = 0) -> dict[str, Any]:
    """Two commits held against each other."""
    status = "identical" if not ahead and not behind else "behind" if not ahead else "diverged" if behind else "ahead"
    return shape(
        "commit-comparison",
        status=status,
        ahead_by=ahead,
        behind_by=behind,
        base_commit=commit(base),
        merge_base_commit=commit(merge_base),
    )


def check_run(public: str, number: int, body: dict[str, Any]) -> dict[str, Any]:
    """A check run as it was asked for; ``kept`` holds all annotations it ever got."""
    output = {"title": None, "summary": None, "text": None, "annotations_count": 0, "annotations_url": f"{public}/a"}
    made = shape("check-run", id=number, name=body["name"], head_sha=body["head_sha"], output=output, pull_requests=[])
    made.update({name: body.get(name) for name in ("status", "conclusion", "external_id", "details_url")})
    made["html_url"] = f"https://github.com/{REPOSITORY}/runs/{number}"
    return made
