"""The addresses of a repository's pages on GitHub."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


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
