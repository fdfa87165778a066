"""The addresses of a project's pages on GitLab."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class GitLabPages:
    """Addresses below a project's page (``https://gitlab.com/group/project``)."""

    project_url: str

    def file(self, commit: str, path: str, line: int | None) -> str:
        """Address of a file in a commit, and of a line in it."""
        # Markdown is shown rendered, without line numbers, unless it is asked for as plain text.
        plain = "?plain=1" if path.lower().endswith((".md", ".markdown")) else ""
        fragment = f"#L{line}" if line is not None else ""
        return f"{self.project_url}/-/blob/{commit}/{quote(path, errors='replace')}{plain}{fragment}"

    def commit(self, commit: str) -> str:
        """Address of a commit."""
        return f"{self.project_url}/-/commit/{commit}"

    def run(self, run_id: str) -> str:
        """Address of a job."""
        return f"{self.project_url}/-/jobs/{run_id}"
