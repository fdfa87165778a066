"""The Rasa version that a project is written for, and what shows it: the first line on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.render.sinks import terminal

if TYPE_CHECKING:
    from turncheck.report.model import ProjectInfo, VersionSign

_SHOWN: Final = 1
_WIDTH: Final = 300


def version_line(project: ProjectInfo, folder: str = "") -> str:
    """Return the line with a line break, "" if nothing is known. ``folder`` is put before the paths: then they open."""
    if project.rasa_version is None:
        return ""
    shown = f" ({_listed(project.rasa_signs, folder)})" if project.rasa_signs else ""
    others = project.rasa_others
    mixed = f", mixed with another version ({_listed(others, folder)})" if others else ""
    return f"Rasa {project.rasa_version} project{shown}{mixed}\n"


def noted_version_line(project: ProjectInfo, folder: str = "") -> str:
    """Return the line if it is unexpected: for an older Rasa, or for several versions."""
    is_newest = project.rasa_version is None or project.rasa_version.startswith("3")
    return "" if is_newest and not project.rasa_others else version_line(project, folder)


def _listed(signs: tuple[VersionSign, ...], folder: str) -> str:
    words = "; ".join(
        f"{terminal.place(one.location, folder)}: {terminal.text(one.what, _WIDTH)}" for one in signs[:_SHOWN]
    )
    return f"{words}; and {len(signs) - _SHOWN} more" if len(signs) > _SHOWN else words
