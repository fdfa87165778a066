"""Findings as alerts of GitHub's code scanning: the SARIF log of a run, uploaded by the API.

Source: GitHub's API description, ``code-scanning/upload-sarif``. What GitHub accepts at most (results, bytes), the log
itself keeps to (:mod:`turncheck.render.sarif`).
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.ci.github.client import GitHubClient

NEEDS: Final = "security-events: write"
MOST_RUNS: Final = 20
"""Runs of a file that GitHub accepts: each is an assistant."""
_REF: Final = re.compile(r"refs/(?:(?:heads|tags)/.+|pull/\d+/(?:merge|head))")


class _Receipt(msgspec.Struct, frozen=True):
    """What GitHub answers: it looks at the log later."""

    id: str = ""


def upload(client: GitHubClient, repository: str, commit: str | None, ref: str | None, sarif: bytes) -> str:
    """Upload a log of the files of a commit; return why that is not possible, "" if it was done.

    Args:
        client: asks the API.
        repository: ``owner/name``.
        commit: the commit whose files were looked at: of a pull request, GitHub's test merge.
        ref: the full name of its branch, tag or pull request.
        sarif: the log.

    Raises:
        RestError: GitHub refuses it, or does not answer.
    """
    if not commit or not _REF.fullmatch(ref or ""):
        return "no code scanning: it is not known which branch or pull request this is"
    for file in _files(sarif):
        body = {
            "commit_sha": commit,
            "ref": ref,
            "sarif": base64.b64encode(gzip.compress(file, mtime=0)).decode(),
            "tool_name": "turncheck",
        }
        client.post(f"/repos/{repository}/code-scanning/sarifs", body, _Receipt, needs=NEEDS)
    return ""


def _files(sarif: bytes) -> Iterator[bytes]:
    """Yield the log as files of as many runs as GitHub accepts."""
    log = json.loads(sarif)
    runs = log["runs"]
    if len(runs) <= MOST_RUNS:
        yield sarif
        return
    for first in range(0, len(runs), MOST_RUNS):
        yield json.dumps({**log, "runs": runs[first : first + MOST_RUNS]}).encode()
