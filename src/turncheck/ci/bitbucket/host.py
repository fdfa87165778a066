"""Bitbucket's pipelines: what the variables of a step say.

Source: "Variables and secrets" in the documentation of Bitbucket Pipelines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.ci.bitbucket.pages import BitbucketPages
from turncheck.ci.host import Base, Run
from turncheck.ci.job import JobHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.ci.host import HostError


class Bitbucket(JobHost):
    """Bitbucket, asked from a step of a pipeline."""

    name = "Bitbucket"
    mark = "BITBUCKET_BUILD_NUMBER"
    deeper_checkout = "`clone: depth: full`"
    keeps_files_by = "`artifacts`"

    @property
    def run(self) -> Run:
        given = self.variables
        pages, number = self.pages, given.text("BITBUCKET_BUILD_NUMBER")
        return Run(
            repository=given.text("BITBUCKET_REPO_FULL_NAME"),
            commit=given.commit("BITBUCKET_COMMIT"),
            ref=given.branch("BITBUCKET_BRANCH") or None,
            run_id=number or None,
            url=pages.run(number) if pages else None,
            workspace=given.folder("BITBUCKET_CLONE_DIR"),
            stamp=given.stamp("BITBUCKET_BUILD_NUMBER", "BITBUCKET_STEP_RUN_NUMBER"),
            of_a_change=bool(given.text("BITBUCKET_PR_ID")),
        )

    @property
    def pages(self) -> BitbucketPages | None:
        url = self.variables.address("BITBUCKET_GIT_HTTP_ORIGIN")
        if url is None:
            return None
        scheme, _, rest = url.partition("://")  # the variable has http, the pages are under https
        return BitbucketPages(f"https://{rest}" if scheme == "http" and rest.startswith("bitbucket.org/") else url)

    def base(self, warn: Callable[[str, HostError], None]) -> Base | None:  # noqa: ARG002
        """Return the target of the pull request: pipelines of one merge it into the branch before they start."""
        target = self.variables.branch("BITBUCKET_PR_DESTINATION_BRANCH")
        tip = self.variables.commit("BITBUCKET_PR_DESTINATION_COMMIT")
        return Base(target, head="HEAD", tip=tip) if target else None
