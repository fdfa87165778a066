"""The addresses of a repository's pages on Azure DevOps."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode


@dataclass(frozen=True, slots=True)
class AzurePages:
    """Addresses below a repository's page (``https://dev.azure.com/acme/bots/_git/pizza``).

    ``results_url``: the page of a build, without its number.
    """

    repository_url: str
    results_url: str

    def file(self, commit: str, path: str, line: int | None) -> str:
        """Address of a file in a commit, and of a line in it."""
        query = {"path": f"/{path}", "version": f"GC{commit}"}
        if line is not None:
            # A line is marked from its first column to the first of the next.
            query |= {"line": str(line), "lineEnd": str(line + 1), "lineStartColumn": "1", "lineEndColumn": "1"}
        return f"{self.repository_url}?{urlencode(query, errors='replace')}"

    def commit(self, commit: str) -> str:
        """Address of a commit."""
        return f"{self.repository_url}/commit/{commit}"

    def run(self, run_id: str) -> str:
        """Address of a build."""
        return f"{self.results_url}?{urlencode({'buildId': run_id})}"
