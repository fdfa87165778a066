"""Azure DevOps: what the variables of a job say.

Source: "Use predefined variables" in the documentation of Azure Pipelines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.ci.azure.pages import AzurePages
from turncheck.ci.host import Base, Run
from turncheck.ci.job import JobHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.ci.host import HostError


class Azure(JobHost):
    """Azure DevOps, asked from a job of a pipeline."""

    name = "Azure DevOps"
    mark = "TF_BUILD"
    deeper_checkout = "a `checkout` step with `fetchDepth: 0`"
    keeps_files_by = "`PublishPipelineArtifact@1`"

    @property
    def run(self) -> Run:
        given = self.variables
        head = given.commit("SYSTEM_PULLREQUEST_SOURCECOMMITID")
        return Run(
            repository=given.text("BUILD_REPOSITORY_NAME"),
            commit=head or given.commit("BUILD_SOURCEVERSION"),
            checked_out=given.commit("BUILD_SOURCEVERSION"),
            ref=given.branch("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH") or None,
            run_id=given.text("BUILD_BUILDID") or None,
            url=self._run_url(),
            workspace=given.folder("BUILD_SOURCESDIRECTORY"),
            stamp=given.stamp("BUILD_BUILDID", "SYSTEM_JOBATTEMPT"),
            of_a_change=bool(given.branch("SYSTEM_PULLREQUEST_TARGETBRANCH")),
            merges=head,
        )

    def _run_url(self) -> str | None:
        collection = self.variables.address("SYSTEM_COLLECTIONURI", "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI")
        project, number = self.variables.text("SYSTEM_TEAMPROJECTID"), self.variables.number("BUILD_BUILDID")
        return f"{collection}/{project}/_build/results?buildId={number}" if collection and project and number else None

    @property
    def pages(self) -> AzurePages | None:
        """Only of its own repositories: those of GitHub and others are built here, too."""
        url = self.variables.address("BUILD_REPOSITORY_URI")
        if url is None or self.variables.text("BUILD_REPOSITORY_PROVIDER") != "TfsGit":
            return None
        return AzurePages(url, (self._run_url() or "").partition("?")[0])

    def base(self, warn: Callable[[str, HostError], None]) -> Base | None:  # noqa: ARG002
        target = self.variables.branch("SYSTEM_PULLREQUEST_TARGETBRANCH")
        return Base(target, head="HEAD") if target else None
