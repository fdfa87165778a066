"""The assistant of the base: its files, its folder, its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from turncheck.messages.errors import UserError
from turncheck.settings.file import SettingsFile, read_settings_file

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.ci.host import CommitFiles
    from turncheck.run.base_projects import BaseProject, BaseTree
    from turncheck.settings.options import Settings


class BaseAssistant(Struct, frozen=True):
    """The base: its files, the assistant to compare with, those that nobody measures any more, and its settings file.

    ``is_broken``: that file cannot be read. ``is_moved``: the assistant is in another folder now, whatever names it.
    """

    files: CommitFiles
    tree: BaseTree
    project: BaseProject
    gone: tuple[str, ...]
    file: SettingsFile
    is_broken: bool
    is_moved: bool = False

    @property
    def root(self) -> str:
        """The assistant's path as the base's report has it: links are followed."""
        return self.tree.path_of(self.tree.tree / self.project.folder.resolve().relative_to(self.tree.tree.resolve()))

    def lacks(self, own: Settings) -> str:
        """Say that a file which its settings name cannot be had; "" if all can."""
        lacking = next(filter(None, map(self.files.lacks, self.tree.paths_of(own))), None)
        return f"not all of its files can be had: '{lacking}' is missing" if lacking else ""


def settings_file_of(folder: Path) -> tuple[SettingsFile, bool]:
    """Return the settings file of a folder of the base, and whether it cannot be read."""
    try:
        return read_settings_file(folder), False
    except UserError:  # a mistake that this change corrects, say
        pass
    try:
        return read_settings_file(folder, faulty=True), True
    except UserError:
        return SettingsFile(), True
