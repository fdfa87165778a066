"""The state that a run is compared with: one named by the user, else the one that the CI host names, else git's.

Where a pull request is checked out as a test merge, the base is the merge's first parent, so that what others merged
meanwhile is not charged to this change; else it is where the change left its base branch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.ci.host import Base, HostError
from turncheck.comparison.baseline import Missing, Unreachable
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.ci.git import Checkout
    from turncheck.ci.host import Host
    from turncheck.settings.options import Settings

_HEAD: Final = "HEAD"
_WHERE: Final = "where this change left its base branch"


@dataclass(frozen=True, slots=True)
class BaseSearch:
    """Looks for the base of one run.

    Args:
        settings: of this run.
        checkout: the working tree the project is in, if it is in one.
        host: the CI host that this runs on, or its absence.
        warn: called with what the host could not say, and why.
    """

    settings: Settings
    checkout: Checkout | None
    host: Host
    warn: Callable[[str, HostError], None]

    def find(self) -> Base | Missing:
        """Return the base that the host names, else git's: with its commit, or the reason why there is none."""
        base = self.host.base(self.warn)
        if base is None:
            return self._in_git()
        return Missing(base) if isinstance(base, str) else self._with_commit(base)

    def find_named(self, name: str) -> Base | Missing:
        """Return where this change left a branch, a tag or a commit that somebody named."""
        own = self.host.base(self.warn)
        if isinstance(own, Base) and name in {own.branch, f"{self._remote()}/{own.branch}"}:
            return self.find()
        head = _HEAD if self.checkout else self.host.run.commit
        return self._with_commit(Base(name, head=head or _HEAD), merged=False)

    def ensure_known(self, name: str) -> None:
        """Make sure that a name is known here or at the host.

        Raises:
            UserError: it is unknown.
        """
        if self.checkout is not None and self.checkout.state_of(name) is not None:
            return
        if self._asked(name, self.host.run.commit or "") is not None:
            return
        brought = self._brought_by(name)
        raise UserError(
            f"base: '{name}' is not known in this checkout",
            remedy=f"If it is spelled right, {brought} first." if brought else "Name a branch, a tag or a commit.",
        )

    def missing(self, base: Base) -> str:
        """Say that the commit of a base is not in this checkout, and how to fetch it."""
        brought = self._brought_by(base.branch, base.commit)
        return "its commit is not in this checkout" + (f" ({brought})" if brought else "")

    # --- how it is found ---------------------------------------------------------------------------------------------

    def _in_git(self) -> Base | Missing:
        if self.checkout is None or self.checkout.commit() is None:
            return Missing("the project is not in a git checkout")
        if branch := self.checkout.default_branch():
            return self._with_commit(Base(branch, head=_HEAD))
        if self._is_changed():
            return Base(_HEAD, self.checkout.commit())
        unknown = "the default branch is not known here"
        command = self.checkout.fetch_command("*")
        if command:
            command = f"`{command} && git remote set-head {self.checkout.remote()} --auto`"
            return Unreachable(f"{unknown}: run {command}, or name the base with `--base`")
        if self.checkout.is_shallow():
            return Unreachable(f"{unknown}, in a clone without history")
        return Missing(f"{unknown} (name the base with `--base`)")

    def _with_commit(self, base: Base, *, merged: bool = True) -> Base | Missing:
        """Return the base with its commit; ``merged``: a test merge that is checked out is one into its branch."""
        commit = base.commit
        if commit is not None and self.checkout is not None:
            commit = self.checkout.commit(commit) or commit  # hosts may shorten it
        elif commit is None and base.head is not None:
            commit = (self._first_parent_of_test_merge() if merged else None) or self._parted(base, base.head)
            if commit is None:
                brought = self._brought_by(base.branch)
                words = f"{_WHERE} '{base.branch}' is not known here"
                return Unreachable(f"{words} ({brought})" if brought else words)
        base = replace(base, commit=commit)
        if commit is None or commit != self._here() or self._is_changed():
            return base
        return Missing("this is the base itself")

    def _here(self) -> str | None:
        """The commit that is checked out."""
        checked_out = self.checkout.commit() if self.checkout else None
        return checked_out or self.host.run.checked_out

    def _is_changed(self) -> bool:
        """Whether somebody works here: the project differs from its last commit, which is then its base."""
        if self.host.name or self.checkout is None:
            return False
        return self.checkout.is_changed(Path(self.settings.project), without=Path(self.settings.out))

    def _first_parent_of_test_merge(self) -> str | None:
        merged = self.host.run.merges
        if self.checkout is None or merged is None or (head := self.checkout.commit()) is None:
            return None
        parents = self.checkout.parents(head)
        return parents[0] if len(parents) == 2 and parents[1] == merged else None

    def _parted(self, base: Base, head: str) -> str | None:
        """Where ``head`` left a branch: by git if it is certain, else by the host, else by what git can see."""
        seen = None
        if self.checkout is not None:
            tip = (self.checkout.commit(base.tip) if base.tip else None) or self.checkout.state_of(base.branch)
            seen = self.checkout.merge_base(tip, head) if tip else None
            if seen is not None and (seen == tip or not self.checkout.is_shallow()):
                return seen  # in a shallow history a nearer ancestor may be missing
        known = self.checkout.commit(head) if self.checkout is not None else None
        return self._asked(base.branch, known or head) or seen

    def _asked(self, branch: str, head: str) -> str | None:
        try:
            return self.host.merge_base(branch, head)
        except HostError as error:
            self.warn(_WHERE, error)
            return None

    # --- what would help ---------------------------------------------------------------------------------------------

    def _remote(self) -> str:
        return self.checkout.remote() if self.checkout is not None else "origin"

    def _brought_by(self, name: str, commit: str | None = None) -> str:
        """Say how to get a branch and its history into this checkout; "" if no way is known."""
        ways = []
        if self.checkout is not None and (command := self.checkout.fetch_command(name, commit)):
            ways.append(f"run `{command}`")
        if self.host.name or not ways:
            ways.append(f"use {self.host.deeper_checkout}")
        return " or ".join(ways)
