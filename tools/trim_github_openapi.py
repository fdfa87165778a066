#!/usr/bin/env python3
"""Keep only the REST operations that turncheck uses of GitHub's own OpenAPI description.

Usage: trim_github_openapi.py FULL.json TRIMMED.json

FULL.json is ``generated/api.github.com.json`` (or ``ghes-3.NN.json``) of the npm package ``@octokit/openapi``; the
result for 23.0.2 is kept as ``tests/contract/github_openapi.json``, which spares the tests a download of 385 MB.
Everything that the kept operations refer to below ``components`` is kept with them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = "/repos/{owner}/{repo}"
KEPT = {
    f"{REPOSITORY}/issues/{{issue_number}}/comments": {"get", "post"},
    f"{REPOSITORY}/issues/comments/{{comment_id}}": {"get", "patch", "delete"},
    f"{REPOSITORY}/check-runs": {"post"},
    f"{REPOSITORY}/check-runs/{{check_run_id}}": {"get", "patch"},
    f"{REPOSITORY}/commits": {"get"},
    f"{REPOSITORY}/commits/{{ref}}/check-runs": {"get"},
    f"{REPOSITORY}/branches/{{branch}}": {"get"},
    f"{REPOSITORY}/compare/{{basehead}}": {"get"},
    f"{REPOSITORY}/git/trees/{{tree_sha}}": {"get"},
    f"{REPOSITORY}/pulls": {"get"},
    f"{REPOSITORY}/pulls/{{pull_number}}": {"get"},
    f"{REPOSITORY}/actions/workflows/{{workflow_id}}/runs": {"get"},
    f"{REPOSITORY}/actions/runs": {"get"},
    f"{REPOSITORY}/actions/runs/{{run_id}}": {"get"},
    f"{REPOSITORY}/actions/runs/{{run_id}}/artifacts": {"get"},
    f"{REPOSITORY}/actions/artifacts/{{artifact_id}}/{{archive_format}}": {"get"},
    f"{REPOSITORY}/tarball/{{ref}}": {"get"},
    f"{REPOSITORY}/code-scanning/sarifs": {"post"},
    f"{REPOSITORY}/actions/caches": {"get"},
    f"{REPOSITORY}/releases": {"get", "post"},
    f"{REPOSITORY}/releases/{{release_id}}": {"patch"},
    f"{REPOSITORY}/releases/{{release_id}}/assets": {"get", "post"},
    f"{REPOSITORY}/releases/assets/{{asset_id}}": {"delete"},
    "/user": {"get"},
}
SHARED = {"parameters", "servers", "summary", "description"}


def main(arguments: list[str]) -> int:
    """Trim one file into another."""
    full, trimmed = map(Path, arguments)
    description = trim(json.loads(full.read_text("utf-8")))
    trimmed.write_text(json.dumps(description, indent=1, sort_keys=True) + "\n", "utf-8")
    return 0


def trim(description: dict[str, Any]) -> dict[str, Any]:
    """Return the description of only the kept operations.

    Raises:
        KeyError: one of them is not described.
    """
    paths = {
        path: {key: value for key, value in description["paths"][path].items() if key in methods or key in SHARED}
        for path, methods in KEPT.items()
    }
    for path, methods in KEPT.items():
        if missing := methods - set(paths[path]):
            raise KeyError(f"{path}: {', '.join(sorted(missing))}")
    components: dict[str, dict[str, Any]] = {}
    todo = set(references(paths))
    while todo:
        section, name = todo.pop()
        kept = components.setdefault(section, {})
        if name not in kept:
            kept[name] = description["components"][section][name]
            todo.update(references(kept[name]))
    head = {key: description[key] for key in ("openapi", "info", "servers")}
    return {**head, "paths": paths, "components": components}


def references(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the components that a part of the description refers to."""
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/components/"):
            section, _, name = reference.removeprefix("#/components/").partition("/")
            yield section, name
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
