"""A project that is the export of a Kore.ai assistant."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from turncheck.messages.errors import UserError
from turncheck.messages.location import shown_path
from turncheck.process.existing import is_file
from turncheck.project.files import read_data
from turncheck.project.findings import in_order
from turncheck.project.folder import ProjectFolder
from turncheck.project.formats.kore_export import EXPORT_SUFFIXES, find_export, why_no_export
from turncheck.project.formats.kore_export import FORMAT as KORE_EXPORT
from turncheck.project.formats.registry import recognised
from turncheck.project.kore.faults import NOT_AN_EXPORT
from turncheck.project.merging import merged_nlu
from turncheck.project.model import Project
from turncheck.project.project_file import unreadable_parts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def export_of(root: Path, data: Sequence[Path] | None = None) -> Path | None:
    """Return the Kore.ai assistant's export that is the complete project; ``None`` for a Rasa project."""
    if data is None:
        return find_export(root)
    if len(data) != 1 or not is_file(data[0]) or data[0].suffix not in EXPORT_SUFFIXES:
        return None
    if data[0].suffix == ".zip":  # no other data is a zip
        return data[0]
    found = recognised(data[0], partial(ProjectFolder(root).content, data[0]))
    return data[0] if found is KORE_EXPORT else None


def ensure_export(path: Path) -> None:
    """Ensure that a file that is named as a project is the export of a Kore.ai assistant.

    Raises:
        UserError: it is something else.
    """
    if export_of(path.parent, [path]) is None:
        raise UserError(
            f"'{path}' is neither an assistant's folder nor the export of a Kore.ai assistant [{NOT_AN_EXPORT}]",
            remedy="Name the folder of an assistant, a botDefinition.json, or the platform's .zip.",
        )


def refuse_of_rasa(**given: Path | None) -> None:
    """Refuse options for paths that only a Rasa project has.

    Raises:
        UserError: one of them is set.
    """
    for name, path in given.items():
        if path is not None:
            raise UserError(f"--{name} is for a Rasa project; this is a Kore.ai assistant", remedy="Omit it.")


def read_export(folder: ProjectFolder, export: Path, language: str | None) -> Project:
    """Read an export; ``language`` defaults to the export's own default language.

    Raises:
        UserError: it cannot be read.
    """
    data_read = read_data(folder, [export], language=language)
    parts = [one.parts for one in data_read]
    files = [one.file for one in data_read]
    bot = next((one.bot for one in parts if one.bot is not None), None)
    if bot is None:
        fault = next((one for one in folder.findings if one.code != "format-not-read"), None)
        fault = fault or why_no_export(folder.name(export), folder.read_bytes(export) or b"")
        raise UserError(f"{fault.message.rstrip('.')} [{fault.code}]", location=fault.location, remedy=fault.hint)
    return Project(
        root=folder.root,
        name=bot.name or shown_path(folder.root.resolve().name),
        nlu=merged_nlu(parts),
        findings=in_order(folder.findings),
        unreadable=unreadable_parts(files),
        files=tuple(files),
        kore=bot,
    )
