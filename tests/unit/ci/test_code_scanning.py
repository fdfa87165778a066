"""The log of a run, as files that GitHub's code scanning accepts."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from turncheck.ci.github.code_scanning import MOST_RUNS, upload


class Client:
    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def post(self, path: str, body: dict[str, Any], kind: object, *, needs: str) -> None:
        assert path == "/repos/acme/bots/code-scanning/sarifs"
        self.sent.append(json.loads(gzip.decompress(base64.b64decode(body["sarif"]))))


@pytest.mark.parametrize(("assistants", "files"), [(1, 1), (MOST_RUNS, 1), (MOST_RUNS + 1, 2), (3 * MOST_RUNS, 3)])
def test_no_file_has_more_runs_than_github_accepts(assistants: int, files: int) -> None:
    log = {"version": "2.1.0", "runs": [{"automationDetails": {"id": f"turncheck/{at}/"}} for at in range(assistants)]}
    client = Client()

    assert upload(client, "acme/bots", "a" * 40, "refs/heads/main", json.dumps(log).encode()) == ""  # type: ignore[arg-type]

    assert len(client.sent) == files
    assert all(len(sent["runs"]) <= MOST_RUNS and sent["version"] == "2.1.0" for sent in client.sent)
    assert [run for sent in client.sent for run in sent["runs"]] == log["runs"]
