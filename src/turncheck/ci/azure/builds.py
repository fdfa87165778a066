"""Reports that earlier builds of a pipeline left in its artifacts.

Trusted are builds of the branch that the base is in, started by a push or a schedule: those of pull requests may run a
fork's code, and measure a merge that is in no branch; whoever starts one by hand sets its variables.
Sources: "Builds", "Artifacts" and "Commits" in the reference of Azure DevOps (version 7.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from turncheck.ci.archived_reports import download_reports, is_ours
from turncheck.ci.earlier_reports import MOST_ANCESTORS, MOST_RUNS, Archive, EarlierRun, ReadOnce

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.ci.host import StoredReport
    from turncheck.ci.rest import RestClient

_Kind = TypeVar("_Kind")

_VERSION: Final = "7.1"
_NEEDS: Final = 'the right "View builds" on the pipeline'
_NEEDS_CODE: Final = 'the right "Read" on the repository'
_BRANCHES: Final = "refs/heads/"
_REASONS: Final = frozenset({"individualCI", "batchedCI", "schedule"})


class _Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all answers; other keys are ignored."""


class _Build(_Answer, frozen=True, kw_only=True):
    id: int
    source_version: str | None = None
    source_branch: str | None = None
    reason: str = ""


class _Artifact(_Answer, frozen=True, kw_only=True):
    id: int = 0
    name: str = ""


class _Commit(_Answer, frozen=True, kw_only=True):
    commit_id: str


@dataclass(eq=False, slots=True)
class BranchBuilds:
    """The builds of a pipeline that were of a branch, and their artifacts.

    Args:
        client: asks the API.
        project: the path of the project that the pipeline is in.
        repository: the path of the repository, where it is here.
        pipeline: its number.
        artifact_name: what the artifacts' names begin with.
        own_build: only those before this one count.
    """

    client: RestClient
    project: str
    repository: str | None
    pipeline: int
    artifact_name: str
    own_build: int | None = None
    read: ReadOnce = field(init=False)

    def __post_init__(self) -> None:
        self.read = ReadOnce(self._download)

    def of_commit(self, branch: str, commit: str) -> Iterator[EarlierRun]:
        return (run for run in self._listed(branch) if run.commit == commit)

    def of_branch(self, branch: str) -> Iterator[EarlierRun]:
        return self._listed(branch)

    def ancestors(self, commit: str) -> Iterator[str]:
        if self.repository is None:
            return iter(())
        state = {"version": commit, "versionType": "commit"}
        wanted = {f"searchCriteria.itemVersion.{name}": value for name, value in state.items()}
        found = self._asked(
            f"{self.repository}/commits", _Commit, _NEEDS_CODE, **wanted, **{"searchCriteria.$top": MOST_ANCESTORS}
        )
        return (one.commit_id for one in islice(found, MOST_ANCESTORS))

    def archives(self, run: EarlierRun) -> Iterator[Archive]:
        listed = self._asked(self._artifacts_of(run.id), _Artifact, _NEEDS)
        for one in sorted(listed, key=lambda one: -one.id):
            if is_ours(one.name, self.artifact_name):
                yield Archive(f"{run.id}/{one.name}")

    def _listed(self, branch: str) -> Iterator[EarlierRun]:
        """Yield the builds of a branch that ended, newest first."""
        ref = f"{_BRANCHES}{branch}"
        wanted: dict[str, Any] = {"branchName": ref}
        wanted |= {"definitions": self.pipeline, "statusFilter": "completed", "queryOrder": "queueTimeDescending"}
        listed = self._asked(f"{self.project}/_apis/build/builds", _Build, _NEEDS, **wanted, **{"$top": MOST_RUNS})
        for one in islice(listed, MOST_RUNS):
            of_the_branch = one.reason in _REASONS and one.source_branch == ref
            if of_the_branch and one.source_version and (self.own_build is None or one.id < self.own_build):
                yield EarlierRun(one.id, one.source_version)

    def _artifacts_of(self, build: int | str) -> str:
        return f"{self.project}/_apis/build/builds/{build}/artifacts"

    def _download(self, archive: Archive) -> list[StoredReport]:
        build, _, name = archive.id.partition("/")
        wanted = {"artifactName": name, "$format": "zip", "api-version": _VERSION}
        return download_reports(self.client, self._artifacts_of(build), needs=_NEEDS, **wanted)

    def _asked(self, path: str, kind: type[_Kind], needs: str, **wanted: Any) -> Iterator[_Kind]:
        return self.client.pages(path, kind, key="value", needs=needs, **wanted, **{"api-version": _VERSION})
