"""Reports that earlier pipelines of a project left in the artifacts of their jobs.

Trusted are pipelines of the branch that the base is in, started by a push or a schedule: those of merge requests may
run a fork's code, and whoever starts one by hand or by the API sets variables of its jobs. Sources: "Pipelines",
"Jobs", "Job artifacts" and "Commits" in GitLab's documentation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from turncheck.ci.archived_reports import download_reports
from turncheck.ci.earlier_reports import EXPIRED, MOST_ANCESTORS, MOST_RUNS, Archive, EarlierRun, ReadOnce
from turncheck.ci.rest import PER_PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.ci.host import StoredReport
    from turncheck.ci.rest import RestClient

_NEEDS: Final = "the scope `read_api`"
_OF_BRANCHES: Final = frozenset({"push", "schedule"})
_ENDED: Final = ("success", "failed")
_ONE_OF_SEVERAL: Final = re.compile(r" \d+/\d+\Z|: \[.*\]\Z", re.DOTALL)
"""What GitLab puts after the names of jobs of ``parallel``."""


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all answers; other keys are ignored."""


class _Pipeline(_Answer, frozen=True, kw_only=True):
    id: int
    sha: str
    ref: str | None = None
    source: str | None = None


class _File(_Answer, frozen=True, kw_only=True):
    file_type: str = ""


class _Job(_Answer, frozen=True, kw_only=True):
    id: int
    name: str
    status: str = ""
    tag: bool = False
    """Whether it ran for a tag, which may have the name of a branch."""
    artifacts: list[_File] | None = None
    artifacts_expire_at: str | None = None

    @property
    def has_archive(self) -> bool:
        """Whether its files are still there."""
        return any(one.file_type == "archive" for one in self.artifacts or ())


class _Commit(_Answer, frozen=True, kw_only=True):
    id: str


@dataclass(eq=False, slots=True)
class BranchPipelines:
    """The pipelines of a project's branches, and what one job of theirs left.

    Args:
        client: asks the API.
        path: of the project.
        job: the name of the job that measures.
        own_pipeline: only those before this one count.
    """

    client: RestClient
    path: str
    job: str
    own_pipeline: int | None = None
    read: ReadOnce = field(init=False)

    def __post_init__(self) -> None:
        self.read = ReadOnce(self._download)

    def of_commit(self, branch: str, commit: str) -> Iterator[EarlierRun]:
        return self._listed(branch, sha=commit)

    def of_branch(self, branch: str) -> Iterator[EarlierRun]:
        return self._listed(branch)

    def ancestors(self, commit: str) -> Iterator[str]:
        path = f"{self.path}/repository/commits"
        listed = self.client.pages(path, _Commit, needs=_NEEDS, ref_name=commit, per_page=PER_PAGE)
        return (one.id for one in islice(listed, MOST_ANCESTORS))

    def archives(self, run: EarlierRun) -> Iterator[Archive]:
        path = f"{self.path}/pipelines/{run.id}/jobs"
        wanted: dict[str, Any] = {"scope[]": _ENDED, "per_page": PER_PAGE}
        jobs = self.client.pages(path, _Job, needs=_NEEDS, **wanted)
        for job in sorted(jobs, key=lambda one: -one.id):
            if _shared_name(job.name) == _shared_name(self.job) and job.status in _ENDED and not job.tag:
                if job.has_archive:
                    yield Archive(str(job.id), run=str(job.id))
                elif job.artifacts_expire_at:
                    yield Archive(str(job.id), EXPIRED)

    def _listed(self, branch: str, **wanted: str) -> Iterator[EarlierRun]:
        wanted |= {"ref": branch, "order_by": "id", "sort": "desc"}
        listed = self.client.pages(f"{self.path}/pipelines", _Pipeline, needs=_NEEDS, per_page=PER_PAGE, **wanted)
        for one in islice(listed, MOST_RUNS):
            of_the_branch = one.source in _OF_BRANCHES and one.ref == branch and one.sha == wanted.get("sha", one.sha)
            if of_the_branch and (self.own_pipeline is None or one.id < self.own_pipeline):
                yield EarlierRun(one.id, one.sha)

    def _download(self, archive: Archive) -> list[StoredReport]:
        return download_reports(self.client, f"{self.path}/jobs/{archive.id}/artifacts", needs=_NEEDS)


def _shared_name(job: str) -> str:
    """Return the name that the jobs of ``parallel`` share.

    >>> _shared_name("turncheck 2/8"), _shared_name("turncheck: [bots/pizza]")
    ('turncheck', 'turncheck')
    """
    return _ONE_OF_SEVERAL.sub("", job)
