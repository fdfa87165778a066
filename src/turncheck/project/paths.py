"""Where the parts of a project are, and the findings if one is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Location
from turncheck.process.regular_file import is_folder, is_link, is_there
from turncheck.project.files import parse_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from turncheck.project.folder import ProjectFolder
    from turncheck.project.project_file import ProjectFile

DEFAULT_DOMAIN: Final = "domain.yml"
DEFAULT_DOMAIN_FOLDER: Final = "domain"
DEFAULT_CONFIG: Final = "config.yml"
DEFAULT_DATA: Final = "data"
DEFAULT_ENDPOINTS: Final = "endpoints.yml"

PATH_WITHOUT_DATA: Final = "path-without-data"


def domain_path(folder: ProjectFolder, given: Path | None) -> Path | None:
    """Return where the domain is: a file, or a folder of several."""
    default = folder.root / DEFAULT_DOMAIN
    if given is None:
        candidates = (default, folder.root / DEFAULT_DOMAIN_FOLDER)
        given = next((path for path in candidates if is_there(path)), default)
    return existing_or_default(folder, given, default, "domain")


def endpoints_file(folder: ProjectFolder, given: Path | None) -> ProjectFile | None:
    """Read the endpoints from the named file, or else from the default one."""
    path = given or folder.root / DEFAULT_ENDPOINTS
    return parse_file(folder, path, "endpoints") if given or _is_there(path) else None


def existing_or_default(folder: ProjectFolder, given: Path | None, default: Path, option: str) -> Path | None:
    """Return the given path if it exists, else the default one (with a finding), else ``None``."""
    path = given or default
    if _is_there(path):
        return path
    if not _is_there(default):
        return None
    name = folder.name(path)
    message = f"The path '{name}' of --{option} does not exist; the default '{folder.name(default)}' is read instead."
    folder.findings.append(Finding("path-not-found", "warning", message, Location(name), "Correct the path."))
    return default


def note_absent(folder: ProjectFolder, path: Path, default: Path, option: str) -> None:
    """Note that a domain or configuration is missing, and how to name one."""
    name = folder.name(path)
    what = "domain" if option == "domain" else "configuration"
    hint = _how_to_name(folder, default, option)
    message = f"There is no {what} at '{name}'."
    folder.findings.append(Finding(f"{option}-not-found", "error", message, Location(name), hint))


def _how_to_name(folder: ProjectFolder, default: Path, option: str) -> str:
    if option == "domain" and is_folder(folder.root / DEFAULT_DOMAIN_FOLDER):
        return f"Name the folder: --domain {folder.name(folder.root / DEFAULT_DOMAIN_FOLDER)}."
    return f"Put it at '{folder.name(default)}', or name its path with --{option}."


def data_paths(folder: ProjectFolder, paths: Sequence[Path] | None) -> list[Path]:
    """Return where the training data is."""
    if paths is not None:
        return existing(folder, paths)
    default = folder.root / DEFAULT_DATA
    return [default] if _is_there(default) else []


def existing(folder: ProjectFolder, paths: Iterable[Path]) -> list[Path]:
    """Return the paths that exist, and note for the others that nothing is read from them."""
    there = []
    for path in paths:
        if _is_there(path):
            there.append(path)
        else:
            name = folder.name(path)
            message = f"The path '{name}' does not exist; nothing is read from it."
            folder.findings.append(Finding("data-not-found", "warning", message, Location(name), "Correct the path."))
    return there


def path_without_data(name: str, what: str) -> Finding:
    """Return the finding for a path that was named and holds nothing of the kind."""
    message = f"'{name}' holds no {what}."
    return Finding(PATH_WITHOUT_DATA, "warning", message, Location(name), "Correct the path, or leave it out.")


def _is_there(path: Path) -> bool:
    """Whether a path exists; a symbolic link to nowhere counts, so that reading it reports the fault."""
    return is_there(path) or is_link(path)
