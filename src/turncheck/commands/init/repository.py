"""What a repository has: its assistants, its CI host, its tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.ci.git import find_checkout
from turncheck.commands.init.workflows import PROPOSALS
from turncheck.messages.errors import UserError
from turncheck.messages.location import shown_path
from turncheck.project.assistants_below import assistants_below, is_assistant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turncheck.ci.git import Checkout


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, or a folder without git. ``projects`` are its assistants' folders, relative to ``top``.

    ``known_by`` says what the host was known by; ``branch`` is the default one.
    """

    top: Path
    projects: tuple[str, ...]
    host: str
    known_by: str
    branch: str = "main"


def look_at(folder: Path, host: str | None = None) -> Repository:
    """Look at a folder and the repository that it is in.

    Raises:
        UserError: there is no assistant in it or below it.
    """
    checkout = find_checkout(folder)
    top = checkout.top if checkout is not None else folder.resolve()
    found: Sequence[Path] = [folder] if is_assistant(folder) else assistants_below(folder)
    if not found:
        raise UserError(
            f"no assistant was found in {folder} or below",
            remedy="An assistant has a domain.yml (or a folder domain/) beside its config.yml or its folder data/, "
            "or is an export of Kore.ai.",
        )
    projects = tuple(shown_path(one.resolve().relative_to(top.resolve())) or "." for one in found)
    branch = checkout.main_branch() if checkout is not None else "main"
    name, known_by = (host, "as named") if host is not None else _host_of(top, checkout)
    return Repository(top, projects, name, known_by, branch)


def _host_of(top: Path, checkout: Checkout | None) -> tuple[str, str]:
    """Return the CI host, and what it was known by."""
    for name, proposal in PROPOSALS.items():
        if (top / proposal.file).exists():
            return name, f"there is {proposal.file}"
    address = checkout.address() if checkout is not None else None
    for name, proposal in PROPOSALS.items():
        if address and proposal.address and proposal.address.search(address):
            return name, "from the address of the remote repository"
    return "github", "assumed; --host names another"
