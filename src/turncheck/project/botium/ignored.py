"""What Botium leaves out of a folder of conversations because a ``.gitignore`` in it or below says so.

The rules are those of git's manual (gitignore): the last pattern that matches counts, and nothing below an ignored
folder is read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.process.regular_file import is_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turncheck.project.folder import ProjectFolder

NAME: Final = ".gitignore"
_MOST_LINES: Final = 1_000
_LONGEST: Final = 1_000
_PARTS: Final = re.compile(r"\*\*/|/\*\*$|\*+|\?|\[!?\]?[^\]/]*\]|\\.|.", re.DOTALL)


class _Pattern(NamedTuple):
    matches: re.Pattern[str]
    is_negated: bool
    only_folders: bool


def is_ignored(folder: ProjectFolder, top: Path, path: Path) -> bool:
    """Whether a file below ``top`` is left out."""
    steps = path.relative_to(top).parts
    return any(
        _is_left_out(folder, top, steps[:number], is_folder=number < len(steps)) for number in range(1, len(steps) + 1)
    )


def _is_left_out(folder: ProjectFolder, top: Path, steps: tuple[str, ...], *, is_folder: bool) -> bool:
    ignored = False
    for depth in range(len(steps)):
        name = "/".join(steps[depth:])
        for pattern in _patterns(folder, top.joinpath(*steps[:depth], NAME)):
            if (is_folder or not pattern.only_folders) and pattern.matches.fullmatch(name):
                ignored = not pattern.is_negated
    return ignored


def _patterns(folder: ProjectFolder, path: Path) -> Iterator[_Pattern]:
    content = folder.content(path) if is_file(path) else b""
    for line in content.decode("utf-8-sig", "replace").splitlines()[:_MOST_LINES]:
        text = re.sub(r"(?<!\\)[ \t]+$", "", line)
        if not text or text.startswith("#") or len(text) > _LONGEST:
            continue
        is_negated = text.startswith("!")
        text = text[1:] if is_negated else text
        body = text.rstrip("/")
        if body:
            anywhere = "" if "/" in body else "(?:.*/)?"
            yield _Pattern(re.compile(anywhere + _as_regex(body.lstrip("/")), re.DOTALL), is_negated, body != text)


def _as_regex(pattern: str) -> str:
    found = []
    for part in _PARTS.findall(pattern):
        if part == "**/":
            found.append("(?:.*/)?")
        elif part == "/**":
            found.append("/.*")
        elif part.startswith("*"):
            found.append("[^/]*")
        elif part == "?":
            found.append("[^/]")
        elif part.startswith("[") and len(part) > 2:
            inner = part[1:-1]
            negated = inner.startswith("!")
            found.append(f"[{'^/' if negated else ''}{_of_class(inner[1:] if negated else inner)}]")
        else:
            found.append(re.escape(part[1:] if part.startswith("\\") and len(part) > 1 else part))
    return "".join(found)


def _of_class(inner: str) -> str:
    """Escape what is special in a class of characters but for ranges."""
    ranges = re.findall(r"(.)-(.)|(.)", inner, re.DOTALL)
    return "".join(
        f"{re.escape(first)}-{re.escape(last)}" if first and first <= last else re.escape(one or first or "-")
        for first, last, one in ranges
    )
