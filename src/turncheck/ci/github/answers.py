"""The parts of GitHub's responses that are used, typed: a response of another shape is a readable error, not a crash.

Names and types are those of GitHub's API description; what is not named here is skipped.
"""

from __future__ import annotations

import msgspec


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all answers."""


class User(_Answer, frozen=True, kw_only=True):
    """A user, or an app."""

    login: str


class Repository(_Answer, frozen=True, kw_only=True):
    """A repository. ``full_name`` is ``owner/name``."""

    full_name: str

    @property
    def owner(self) -> str:
        """Its owner."""
        return self.full_name.partition("/")[0]


class Comment(_Answer, frozen=True, kw_only=True):
    """A comment on a pull request; ``user`` is ``None`` where the account is gone."""

    id: int
    html_url: str = ""
    body: str | None = None
    user: User | None = None


class Side(_Answer, frozen=True, kw_only=True):
    """Head or base of a pull request; ``repo`` is ``None`` where the fork is gone."""

    sha: str
    ref: str
    repo: Repository | None = None


class Pull(_Answer, frozen=True, kw_only=True):
    """A pull request."""

    number: int
    state: str
    head: Side
    base: Side


class TreeEntry(_Answer, frozen=True, kw_only=True):
    """A file, a link (``blob``), a folder (``tree``) or another repository (``commit``) in a tree."""

    path: str
    type: str
    sha: str


class Tree(_Answer, frozen=True, kw_only=True):
    """What a commit has; ``truncated`` if that is too much for one answer."""

    tree: list[TreeEntry]
    truncated: bool = False


class PullNumber(_Answer, frozen=True, kw_only=True):
    """A pull request as a run names it."""

    number: int


class WorkflowRun(_Answer, frozen=True, kw_only=True):
    """A run of a workflow."""

    id: int
    head_sha: str
    event: str
    path: str = ""
    run_attempt: int = 1
    head_branch: str | None = None
    head_repository: Repository | None = None
    pull_requests: list[PullNumber] | None = None


class ArtifactRun(_Answer, frozen=True, kw_only=True):
    """The run that made an artifact."""

    repository_id: int | None = None
    head_repository_id: int | None = None


class Artifact(_Answer, frozen=True, kw_only=True):
    """An artifact as it is listed."""

    id: int
    name: str
    expired: bool = False
    workflow_run: ArtifactRun | None = None

    @property
    def foreign(self) -> bool:
        """Whether a fork's code made it, or the origin is unknown."""
        run = self.workflow_run
        return run is None or run.repository_id is None or run.repository_id != run.head_repository_id


class Commit(_Answer, frozen=True, kw_only=True):
    """A commit."""

    sha: str


class BranchTip(_Answer, frozen=True, kw_only=True):
    """A branch and its newest commit."""

    commit: Commit


class Difference(_Answer, frozen=True, kw_only=True):
    """The comparison of two commits."""

    status: str
    merge_base_commit: Commit


class Check(_Answer, frozen=True, kw_only=True):
    """A check run."""

    id: int
    html_url: str | None = None
    external_id: str | None = None
