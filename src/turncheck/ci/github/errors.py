"""What GitHub refuses in its own way."""

from __future__ import annotations

from typing import Final

from turncheck.ci.rest import RefusedError


class MissingPermissionError(RefusedError):
    """The token may not do it. ``needs`` is the line under ``permissions:`` that would allow it."""

    def __init__(self, what: str, *, needs: str | None, status: int = 403) -> None:
        remedy = f"Add `{needs}` to the job's `permissions:` (pull requests of forks and Dependabot never get it)."
        super().__init__(what, status=status, remedy=remedy if needs else None)
        self.needs = needs

    @property
    def why(self) -> str:
        """The line that is missing, and where."""
        return f"the token lacks `{self.needs}`, add it to the job's `permissions:`" if self.needs else self.what


SEES_PRIVATE: Final = "On a private repository this can also mean that the token lacks a permission."
