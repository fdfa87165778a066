"""The commit that a run is compared with: one named by the user, else the one that the CI host names, else git's.

It is a full object id. A branch is what the host says, or ``refs/remotes/REMOTE/NAME`` if that remote is the repository
that the change is to be merged into: whoever proposes a change also chooses the names of its branches and tags.

Where a pull request is checked out as a test merge, the base is the merge's first parent, so that what others merged
meanwhile is not charged to this change; else it is where the change left its base branch.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.ci.host import Base, Host, HostError, exact_commit
from turncheck.comparison.model import Missing, Unreachable
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.ci.git import Checkout
    from turncheck.settings.options import Settings

_HEAD: Final = "HEAD"
_WHERE: Final = "where this change left its base branch"
_OF_TAGS: Final = ("refs/tags/", "tags/")
_WAYS_TO_REPOSITORIES: Final = re.compile(r"\A(?:scm|v3)/(?=[^/]+/)")
"""What Bitbucket Data Center (by HTTP) and Azure DevOps (by SSH) put in front of a repository's path."""
_ADDRESS: Final = re.compile(r"(?:[a-z+]+://(?:[^@/]*@)?[^/]+/|(?:[^@/:]+@)?[^/:]+:(?!//))(?P<path>.+)", re.IGNORECASE)
"""An address of git as a URL or as ``user@host:path``; a path of this machine is neither."""


class BaseSearch(Struct, frozen=True):
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
            base = self._on_default_branch()
        return base if isinstance(base, Missing) else self._with_commit(base)

    def find_named(self, name: str) -> Base | Missing:
        """Return where this change left a branch, a tag or a commit that somebody named."""
        own = self.host.base(self.warn)
        if isinstance(own, Base) and name in {own.branch, f"{self._remote()}/{own.branch}"}:
            return self.find()
        head = _HEAD if self.checkout else self.host.run.commit
        return self._with_commit(Base(name, head=head or _HEAD, tip=self._named(name)), merged=False)

    def ensure_known(self, name: str) -> None:
        """Make sure that a name is known here or at the host.

        Raises:
            UserError: it is unknown.
        """
        if self._named(name) is not None or self._asked(name, self.host.run.commit or "") is not None:
            return
        if self.checkout is not None and (why := self.checkout.why_not_asked()):
            raise UserError(f"base: '{name}' cannot be looked up: {why}", hint="Install git.")
        brought = self._brought_by(name)
        raise UserError(
            f"base: '{name}' is not known in this checkout",
            hint=f"If it is spelled right, {brought} first." if brought else "Name a branch, a tag or a commit.",
        )

    def missing(self, base: Base) -> str:
        """Say that the commit of a base, or some of its files, are not here, and how to fetch them; "" if all are."""
        if self.checkout is not None and base.commit is not None and self.checkout.has(base.commit):
            command = self.checkout.refetch_command()
            return f"some of its files are not in this checkout (run `{command}`)" if command else ""
        brought = self._brought_by(base.branch, base.commit)
        return "its commit is not in this checkout" + (f" ({brought})" if brought else "")

    # --- how it is found ---------------------------------------------------------------------------------------------

    def _on_default_branch(self) -> Base | Missing:
        """The base of a host that names none: git's default branch."""
        if self.checkout is None or self.checkout.head() is None:
            if self.checkout is not None and (why := self.checkout.why_not_asked()):
                return Unreachable(f"{why}: install it") if self.host.name else Missing(why)
            reason = "the project is not in a git checkout"
            return Unreachable(f"{reason}: use {self.host.full_history_hint}") if self.host.name else Missing(reason)
        if self.host.name:  # by its name alone it might be anybody's
            branch = self.checkout.named_default_branch() or self.checkout.default_branch_there()
        else:
            branch = self.checkout.default_branch(local=True)
        if branch is not None:
            return Base(branch, head=_HEAD)
        if self._is_changed():
            return Base(_HEAD, self.checkout.head())
        unknown = "the default branch is not known here"
        command = self.checkout.fetch_command("*")
        if command:
            command = f"`{command} && git remote set-head {self.checkout.remote()} --auto`"
            return Unreachable(f"{unknown}: run {command}, or name the base with `--base`")
        if self.host.name or self.checkout.is_shallow():
            return Unreachable(f"{unknown}, in a clone without history")
        return Missing(f"{unknown} (name the base with `--base`)")

    def _with_commit(self, base: Base, *, merged: bool = True) -> Base | Missing:
        """Return the base with its commit; ``merged``: a test merge that is checked out is one into its branch."""
        commit = base.commit
        if commit is None and base.head is None and self._is_elsewhere(base):
            base = replace(base, head=_HEAD, of_a_change=True)
        if commit is None and base.head is not None:
            commit = (self._first_parent_of_test_merge() if merged else None) or self._parted(base, base.head)
            if commit is None:
                return self._unreachable(f"{_WHERE} '{base.branch}' is not known here", base.branch)
        if commit is None and base.child is not None:
            return self._before(base.branch, base.child)
        base = replace(base, commit=commit)
        here = self._here()
        if commit is None or commit != here or self._is_changed():
            return base
        if base.of_a_change or self.host.run.of_a_change:
            return Unreachable(f"the commit of this change is itself said to be its base on '{base.branch}'")
        if self.host.name:  # a push to the default branch, or a branch without a commit of its own
            return self._before(base.branch, here)
        return Missing("this is the base itself")

    def _is_elsewhere(self, base: Base) -> bool:
        """Whether another commit is checked out than that of the branch that the run is about.

        What a job has committed itself, after a push, is still that push.
        """
        said = base.child or base.tip or self.host.run.checked_out
        head = self.checkout.head() if self.checkout is not None else None
        if self.checkout is None or said is None or head == said:
            return False
        return head is None or base.child is None or self.checkout.merge_base(said, head) != said

    def _before(self, branch: str, child: str) -> Base | Missing:
        """Return the commit before one on the same branch."""
        if self.checkout is None or not self.checkout.has(child):
            return self._unreachable(f"what came before commit {child[:8]} is not known here", branch)
        parents = self.checkout.parents(child)
        return Base(branch, parents[0]) if parents else Missing("this is the first commit")

    def _unreachable(self, words: str, branch: str) -> Unreachable:
        if self.checkout is not None and (why := self.checkout.why_not_asked()):
            return Unreachable(f"{words}: {why}")
        brought = self._brought_by(branch)
        return Unreachable(f"{words} ({brought})" if brought else words)

    def _here(self) -> str | None:
        """The commit that is checked out."""
        checked_out = self.checkout.head() if self.checkout else None
        return checked_out or self.host.run.checked_out

    def _is_changed(self) -> bool:
        """Whether somebody works here: the project differs from its last commit, which is then its base."""
        if self.host.name or self.checkout is None:
            return False
        return self.checkout.is_changed(Path(self.settings.project), without=Path(self.settings.out))

    def _first_parent_of_test_merge(self) -> str | None:
        """The base branch as the host merged the change into it; a merge by somebody else may have any first parent."""
        run = self.host.run
        if self.checkout is None or run.merges is None or (head := self.checkout.head()) is None:
            return None
        parents = self.checkout.parents(head)
        if len(parents) != 2 or parents[1] != run.merges:
            return None
        return parents[0] if head == run.checked_out or self._is_on_the_target(parents[0]) else None

    def _is_on_the_target(self, commit: str) -> bool:
        """Whether a commit is part of the history of the branch that the change is to be merged into."""
        base = self.host.base(self.warn)
        if not isinstance(base, Base) or self.checkout is None:
            return False
        tips = (base.tip, self._branch_of_target(base.branch))
        return any(tip is not None and commit in {tip, self.checkout.merge_base(commit, tip)} for tip in tips)

    def _parted(self, base: Base, head: str) -> str | None:
        """Where ``head`` left a branch: by git if it is certain, else by the host."""
        known = None
        if self.checkout is not None:
            known = self.checkout.head() if head == _HEAD else head
            tip = (self.checkout.lengthened(base.tip) if base.tip else None) or self._branch_of_target(base.branch)
            if tip and known and (seen := self.checkout.merge_base(tip, known)):
                return seen
        return self._asked(base.branch, known or head)

    def _branch_of_target(self, name: str, cloned: str | None = None) -> str | None:
        """The commit of a branch of the repository that the change is to be merged into, as it was fetched.

        ``cloned``: the name of the repository that was cloned, where it is known already.
        """
        if self.checkout is None:
            return None
        if not self.host.name:
            return self.checkout.remote_branch(name, cloned) or self.checkout.local_branch(name)
        remote = self._remote_of_target()
        return self.checkout.remote_branch(name, remote) if remote is not None else None

    def _remote_of_target(self) -> str | None:
        """The remote that is the repository that the change is to be merged into, and not a fork of it.

        The host's own word decides. An address that says nothing of a repository, such as a folder, is that of the
        target unless the change comes from a fork.
        """
        target, remotes = self.host.clone_address(), self.checkout.addresses() if self.checkout else {}
        wanted = _repository_in(target.url if target else None)
        paths = {name: _repository_in(url) for name, url in remotes.items()}
        if wanted and (same := [name for name, path in paths.items() if path == wanted]):
            return same[0]
        if self.host.run.of_a_fork or not paths:
            return None
        name, path = next(iter(paths.items()))
        return name if not path or not wanted or path.endswith(f"/{wanted}") else None

    def _named(self, name: str) -> str | None:
        """The commit that somebody's own word for it stands for, in this checkout.

        On a CI host a name that may be a branch of the remote never stands for a tag, nor does a tag of a fork count.
        """
        checkout = self.checkout
        if checkout is None:
            return exact_commit(name)
        if exact_commit(name):
            return name if checkout.has(name) else None
        cloned = checkout.remote()
        short = name.removeprefix(f"{cloned}/")
        if found := self._branch_of_target(short, cloned) or self._branch_of_target(name, cloned):
            return found
        if (tag := checkout.tag(name)) and self._may_be_tag(name):
            return tag
        return checkout.expression(name, self._named) or checkout.lengthened(name)

    def _may_be_tag(self, name: str) -> bool:
        if not self.host.name:
            return True
        remote = self._remote_of_target()
        if self.checkout is None or remote is None:
            return False
        return name.startswith(_OF_TAGS) or self.checkout.is_a_branch_there(name, remote) is False

    def _asked(self, branch: str, head: str) -> str | None:
        try:
            return exact_commit(self.host.merge_base(branch, head))
        except HostError as error:
            self.warn(_WHERE, error)
            return None

    # --- what would help ---------------------------------------------------------------------------------------------

    def _remote(self) -> str:
        return self.checkout.remote() if self.checkout is not None else "origin"

    def _brought_by(self, name: str, commit: str | None = None) -> str:
        """Say how to get a branch and its history into this checkout; "" if no way is known."""
        ways = []
        target = self.host.clone_address()
        if self.host.run.of_a_fork and self.checkout is not None and self._remote_of_target() is None and target:
            whole = " --unshallow" if self.checkout.is_shallow() else ""
            ways.append(f"run `git remote add upstream {target.url} && git fetch{whole} upstream`")
        elif self.checkout is not None and (command := self.checkout.fetch_command(name, commit)):
            ways.append(f"run `{command}`")
        if self.host.name or not ways:
            ways.append(f"use {self.host.full_history_hint}")
        return " or ".join(ways)


def _repository_in(url: str | None) -> str:
    """Return the path of a repository in its address, in lower case; "" for a path of this machine.

    >>> _repository_in("git@github.com:Acme/bots.git"), _repository_in("https://x:y@gitlab.example/acme/bots/")
    ('acme/bots', 'acme/bots')
    >>> _repository_in("/srv/git/bots"), _repository_in("file:///srv/git/bots")
    ('', '')
    """
    match = _ADDRESS.fullmatch(url or "")
    if match is None or (url or "").lower().startswith("file:"):
        return ""
    path = match["path"].strip("/").removesuffix(".git").lower().replace("/_git/", "/")
    return re.sub(_WAYS_TO_REPOSITORIES, "", path)
