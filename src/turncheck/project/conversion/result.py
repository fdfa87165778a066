"""What a conversion gives: files, and what could not be carried over, each with its place and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from turncheck.project.formats.rasa_nlu_writer import yaml_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.messages.location import Location
    from turncheck.project.project_file import ProjectFile

_COMMENT: Final = re.compile(r"<!--(.*?)-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Left:
    """Something that is not in the converted files as it was: what, where, and what to do."""

    what: str
    location: Location
    remedy: str


@dataclass(slots=True)
class Converted:
    """Converted files by name, relative to the output folder, and what is left to do by hand."""

    files: dict[str, str] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)

    def add(self, path: str, content: str, *, prefix: str = "") -> None:
        """Add the file that a file becomes: under its own name in YAML, behind that of its folder where that is taken.

        ``prefix``: what the name must begin with.
        """
        parts = PurePath(path).with_suffix("").parts
        for count in range(1, len(parts) + 1):
            stem = "_".join(part for part in parts[-count:] if part not in {"..", "/"})
            name = f"{stem if stem.startswith(prefix) else prefix + stem}.yml"
            if name not in self.files:
                break
        else:
            name = f"{prefix}{len(self.files)}_{parts[-1]}.yml"
        self.files[name] = content

    def note(self, what: str, location: Location, remedy: str) -> None:
        """Note what could not be carried over."""
        self.left.append(Left(what, location, remedy))


def document(content: Mapping[str, Any], comments: str = "") -> str:
    """Return a file of Rasa 3 with these top-level keys, below the comments of the file that it was."""
    return "\n".join([*comments.splitlines(), *yaml_lines(content), ""])


def comments_of(markdown: str) -> str:
    """Return the comments of a Markdown file as those of YAML, a line each."""
    lines = (line.strip() for found in _COMMENT.finditer(markdown) for line in found[1].splitlines())
    return "".join(f"# {line}\n" for line in lines if line)


def comments_at_top(file: ProjectFile) -> str:
    """Return the comments before the first key; the others have lost what they stood at."""
    text = file.source.file_text if file.source is not None else ""
    lines = []
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            break
        lines += [line.strip()] if line.strip() else []
    return "".join(f"{line}\n" for line in lines)
