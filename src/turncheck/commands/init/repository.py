"""What a repository has: its assistants, its CI host, its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.commands.init.workflows import PROPOSALS
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from turncheck.ci.git import Checkout


class Repository(NamedTuple):
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
    from turncheck.ci.git import find_checkout
    from turncheck.commands.init.botium import imported, unreadable
    from turncheck.messages.finding import shown_path
    from turncheck.project.export import export_of
    from turncheck.project.folder import assistants_below, is_assistant

    checkout = find_checkout(folder)
    top = checkout.top if checkout is not None else folder.resolve()

    def is_bot(one: Path) -> bool:
        return export_of(one) is not None or imported(one) is not None

    paths: Sequence[Path] = [folder] if is_assistant(folder) or is_bot(folder) else assistants_below(folder)
    paths = paths or ([folder] if kept_elsewhere(folder) else [])
    paths = paths or assistants_below(folder, is_bot)  # one run cannot test a bot over HTTP and other assistants
    if not paths:
        raise unreadable(folder) or UserError(
            f"no assistant was found in {folder} or below",
            hint="An assistant has a domain.yml (or a folder domain/) beside its config.yml or its folder data/, "
            "or is an export of Kore.ai; or a turncheck.yml with `bot:`, "
            "or a botium.json for HTTP, Direct Line, Lex V2 or Dialogflow CX.",
        )
    projects = tuple(shown_path(path.resolve().relative_to(top.resolve())) or "." for path in paths)
    branch = checkout.main_branch() if checkout is not None else "main"
    name, known_by = (host, "as named") if host is not None else _host_of(top, checkout)
    return Repository(top, projects, name, known_by, branch)


def kept_elsewhere(folder: Path) -> Mapping[str, str | tuple[str, ...]]:
    """Return the settings that name the parts of an assistant which are not where Rasa looks for them."""
    from turncheck.project.candidates import candidates
    from turncheck.project.export import export_of
    from turncheck.project.reader import read_project

    if export_of(folder) is not None:
        return {}
    project = read_project(folder)
    codes = {finding.code for finding in project.findings}
    found: dict[str, str | tuple[str, ...]] = {}
    for part in _PARTS:
        seen = candidates(folder, part) if f"{part}-not-found" in codes and not project.below else ()
        if seen:
            found[part] = seen if part == "data" else seen[0]
    return found


_PARTS: Final = ("domain", "config", "data")


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
