"""The result of a conversion: files, and what could not be converted, with its place and what to do about it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from turncheck.project.formats.rasa_nlu_writer import yaml_lines, yaml_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.messages.location import Location

_COMMENT: Final = re.compile(r"<!--(.*?)-->", re.DOTALL)
_HEADING: Final = re.compile(r"^[ \t]*#+[ \t]*([^#\s].*?)[ \t]*$", re.MULTILINE)
_SECTIONS: Final = frozenset({"intent", "synonym", "regex", "lookup"})


@dataclass(frozen=True, slots=True)
class Left:
    """Something that is not in the converted files as it was: what it is, where, and what to do."""

    what: str
    location: Location
    remedy: str


@dataclass(slots=True)
class Converted:
    """Converted files by name, relative to the output folder, and what is left to do by hand."""

    files: dict[str, str] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)

    def add(self, path: str, content: str, *, prefix: str = "") -> None:
        """Add a converted file under its own name as YAML, preceded by its folder's name if that is taken.

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
        """Note what could not be converted."""
        self.left.append(Left(what, location, remedy))


def document(content: Mapping[str, Any], comments: str = "") -> str:
    """Return a Rasa 3 file with these top-level keys, below the comments of the original file."""
    return "\n".join([*comments.splitlines(), *yaml_lines(content), ""])


def with_comments(converted: str, markdown: str) -> str:
    """Return a converted file with the comments of the original Markdown file, each above what it belongs to.

    That is the section or story that follows directly, else the one around it. Comments before the first one, or of one
    that was left out, are at the top of the file.
    """
    lines = converted.splitlines()
    places: dict[str, int] = {}
    for number, line in enumerate(lines):
        places.setdefault(line.strip(), number)
    above: dict[int, list[str]] = defaultdict(list)
    for comment, heading in _comments(markdown):
        number = next((places[one] for one in _converted_headings(heading) if one in places), 0)
        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())] if lines else ""
        above[number] += [f"{indent}# {line}" for line in comment]
    return "".join(f"{line}\n" for number, one in enumerate(lines) for line in (*above[number], one))


def _comments(markdown: str) -> Iterator[tuple[list[str], str]]:
    """Yield each comment, line by line, with the heading that it belongs to ("": none)."""
    headings = [(found.start(), found[1]) for found in _HEADING.finditer(_COMMENT.sub(_blanked, markdown))]
    for found in _COMMENT.finditer(markdown):
        lines = [line.strip() for line in found[1].splitlines() if line.strip()]
        before = [text for start, text in headings if start < found.start()]
        follows = next((text for start, text in headings if start >= found.end()), "")
        beside = _COMMENT.sub("", markdown[: found.start()]).rpartition("\n")[2].strip()
        between = _COMMENT.sub("", markdown[found.end() :]).lstrip()
        is_above = bool(before) and not beside and between.startswith("#")
        yield lines, follows if is_above else (before[-1] if before else "")


def _blanked(found: re.Match[str]) -> str:
    return "".join(letter if letter == "\n" else " " for letter in found[0])


def _converted_headings(heading: str) -> list[str]:
    """Return the lines that a heading may have become."""
    section, colon, title = heading.partition(":")
    words = [f"- {section.strip()}: {yaml_scalar(title.strip())}"] if colon and section.strip() in _SECTIONS else []
    return [*words, f"- story: {yaml_scalar(heading.strip())}"] if heading else []
