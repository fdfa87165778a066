"""The files of a domain: a single one, or those of a folder that Rasa would read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.process.existing import is_folder
from turncheck.project.files import parse_file
from turncheck.project.project_file import ProjectFile
from turncheck.project.versions import version_too_high
from turncheck.yaml_tree.unquoted import unreadable_values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turncheck.project.folder import ProjectFolder


_SKIPPED: Final = frozenset({"yaml-syntax", "yaml-duplicate-key", "file-not-utf8"})
"""What keeps a file from being read: Rasa ends if it is the only domain file, and skips it if it is one of several."""


def files_of_domain(folder: ProjectFolder, path: Path, *, as_listed: bool) -> list[ProjectFile]:
    """Return the domain's file, or those in its folder, except the ones that Rasa skips there with a warning."""
    if not is_folder(path):
        single = parse_file(folder, path, "domain")
        version = version_too_high(single.mapping)
        folder.findings += () if version is None else (version,)
        return [single] if version is None else []
    already_closed = len(folder.closed)
    files = []
    for file, fence in folder.yaml_files([path], as_listed=as_listed):
        already_found = len(folder.findings)
        parsed = parse_file(folder, file, "domain", fence=fence)
        skipped_for = _SKIPPED | {"file-unreadable"} if _leads_nowhere(file) else _SKIPPED
        faults = [finding for finding in folder.findings[already_found:] if finding.code in skipped_for]
        faults += _unreadable_values(parsed)
        if faults:
            what = f"'{parsed.path}' is left out of the domain. {faults[0].message}"
            skipped = replace(faults[0], code="domain-file-unread", severity="warning", message=what)
            folder.findings[already_found:] = [skipped]
            continue
        files.append(parsed)
        version = version_too_high(parsed.mapping)
        if version is not None:
            what = version.message.replace("the file is skipped", "it is read all the same")
            folder.findings.append(replace(version, message=what))
    return [*files, *(ProjectFile(name, "domain") for name in folder.closed[already_closed:])]


def _leads_nowhere(path: Path) -> bool:
    """Whether a file in a folder is a symbolic link to nowhere. Rasa ends at one that links to itself."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _unreadable_values(file: ProjectFile) -> Iterator[Finding]:
    """Values that keep a file in a domain's folder from being read; Rasa fails on invalid dates and numbers."""
    root = file.document.root if file.document else None
    for node, reason, reading in unreadable_values(root) if root is not None else ():
        if reading in {"variable", "sign"}:
            message = f"'{str(node.value)[:60]}' cannot be read: {reason}."
            yield Finding("domain-file-unread", "warning", message, node.location, "Put strings in quotes.")
