"""GitLab, in its cloud or self-managed: what the variables of a job say.

Source: "Predefined CI/CD variables reference" in GitLab's documentation.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING
from urllib.parse import quote

from turncheck.ci.gitlab.pages import GitLabPages
from turncheck.ci.host import Base, Run
from turncheck.ci.job import JobHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.ci.host import HostError


class GitLab(JobHost):
    """GitLab, asked from a job of a pipeline."""

    name = "GitLab"
    mark = "GITLAB_CI"
    deeper_checkout = "the variable `GIT_DEPTH: 0`"
    keeps_files_by = "`artifacts: paths`"
    formats = ("codequality", "metrics", "annotations")

    @property
    def run(self) -> Run:
        given = self.variables
        return Run(
            repository=given.text("CI_PROJECT_PATH"),
            commit=given.commit("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "CI_COMMIT_SHA"),
            checked_out=given.commit("CI_COMMIT_SHA"),
            ref=given.branch("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME") or None,
            run_id=given.text("CI_JOB_ID") or None,
            url=given.address("CI_JOB_URL", "CI_PIPELINE_URL"),
            workspace=given.folder("CI_PROJECT_DIR"),
            stamp=given.stamp("CI_PIPELINE_ID", "CI_JOB_ID"),
            of_a_change=bool(given.text("CI_MERGE_REQUEST_IID")),
            merges=given.commit("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"),
        )

    @property
    def pages(self) -> GitLabPages | None:
        url = self.variables.address("CI_PROJECT_URL")
        return GitLabPages(url) if url else None

    def results_url(self, folder: str) -> str | None:
        """Return the page of a job's artifacts below its folder; it is there once the job has ended."""
        url = self.variables.address("CI_JOB_URL")
        path = posixpath.normpath(folder)
        if url is None or path.startswith(("/", "..")):
            return None
        return f"{url}/artifacts/browse/{quote(path, errors='replace')}/"

    def base(self, warn: Callable[[str, HostError], None]) -> Base | None:  # noqa: ARG002
        """Return what a merge request is to be merged into; of a branch, the default branch.

        A pipeline for merged results has a merge checked out whose first parent is the target branch as it is now; the
        base of the diff is where the change left it.
        """
        given = self.variables
        if target := given.branch("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"):
            commit = given.commit("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "CI_MERGE_REQUEST_DIFF_BASE_SHA")
            return Base(target, commit, head="HEAD")
        default = given.branch("CI_DEFAULT_BRANCH")
        if not default:
            return None
        if given.text("CI_COMMIT_BRANCH") == default:
            return Base(default, given.commit("CI_COMMIT_BEFORE_SHA"))
        return Base(default, head="HEAD")
