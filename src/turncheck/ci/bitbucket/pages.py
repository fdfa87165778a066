"""The addresses of a repository's pages on Bitbucket."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


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
