"""What can go wrong with GitHub: each a clear sentence, none of them a reason to lose a report or change a verdict."""

from __future__ import annotations

from typing import Final

from turncheck.ci.host import HostError


class GitHubError(HostError):
    """GitHub could not be asked, or said no. ``status`` is that of its answer, ``None`` where there was none."""

    def __init__(self, what: str, *, status: int | None = None, remedy: str | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.status = status


class MissingPermissionError(GitHubError):
    """The token may not do it. ``needs`` is the line under ``permissions:`` that would allow it."""

    forbidden = True

    def __init__(self, what: str, *, needs: str | None, status: int = 403) -> None:
        remedy = f"Add `{needs}` to the job's `permissions:` (pull requests of forks and Dependabot never get it)."
        super().__init__(what, status=status, remedy=remedy if needs else None)
        self.needs = needs

    @property
    def why(self) -> str:
        """The line that is missing, and where."""
        return f"the token lacks `{self.needs}`, add it to the job's `permissions:`" if self.needs else self.what


class NotFoundError(GitHubError):
    """There is no such thing, there is none any more, or the token may not see it (404, 410)."""


class AnswerLostError(GitHubError):
    """A request that creates something was sent, and whether it did is not known: look before sending it again."""


class TooLargeError(GitHubError):
    """The answer is larger than what was asked to be read at most."""


SEES_PRIVATE: Final = "On a private repository this can also mean that the token lacks a permission."
