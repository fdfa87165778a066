"""Carries the comments of a domain or configuration over to the converted YAML.

A comment is put above what it was above or beside, which is found by the names of the keys and entries around it; if
that is gone, above what was around it, else at the top of the file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BLOCK: Final = re.compile(r"(?:^|[\s:-])[|>][+-]?[0-9]?[+-]?$")
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"")
_NAME: Final = re.compile(r"name\s*:\s*(?=\S)")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with content: where it is, and its comment ("": none)."""

    number: int
    path: Path
    comment: str


def with_yaml_comments(converted: str, original: str, renamed: Callable[[Path], Path] = lambda path: path) -> str:
    """Return the converted file with the comments of the original.

    ``renamed``: maps an old path to the new one.
    """
    lines = converted.splitlines()
    places: dict[Path, int] = {}
    for line in _lines(converted):
        places.setdefault(line.path, line.number)
    above: dict[int, list[str]] = defaultdict(list)
    for path, comments in _comments(original):
        number = _place(renamed(path), places)
        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())] if lines else ""
        above[number] += [f"{indent}{comment}" for comment in comments]
    return "".join(f"{line}\n" for number, one in enumerate(lines) for line in (*above[number], one))


def _place(path: Path, places: dict[Path, int]) -> int:
    while path:
        if path in places:
            return places[path]
        path = path[:-1]
    return 0


def _comments(text: str) -> Iterator[tuple[Path, list[str]]]:
    """Yield comments with the path of what follows or is beside them; before the first key, that of the top."""
    waiting: list[str] = []
    last: Path = ()
    is_first = True
    for line in _lines(text):
        if not line.path:
            waiting.append(line.comment)
            continue
        if waiting:
            yield () if is_first else line.path, waiting
        if line.comment:
            yield line.path, [line.comment]
        waiting, last, is_first = [], line.path, False
    if waiting:
        yield last[:1], waiting


def _lines(text: str) -> Iterator[_Line]:
    """Yield the lines that are neither empty nor within a multi-line string; lines with only a comment have no path."""
    around: list[tuple[int, str]] = []
    block = -1
    for number, line in enumerate(text.splitlines()):
        said, comment = _split(line)
        indent = len(line) - len(line.lstrip())
        if not line.strip() or (block >= 0 and indent > block):
            continue
        block = -1
        if not said:
            yield _Line(number, (), comment)
            continue
        depth = indent + (1 if said.startswith("-") else 0)
        around = [one for one in around if one[0] < depth]
        name = _name_of(said)
        path = (*(one for _, one in around), name)
        around.append((depth, name))
        block = indent if _BLOCK.search(said) else -1
        yield _Line(number, path, comment)


def _split(line: str) -> tuple[str, str]:
    """Split a line into its content and its comment."""
    masked = _QUOTED.sub(lambda found: "x" * len(found[0]), line)
    begin = next(
        (at.start() for at in re.finditer("#", masked) if at.start() == 0 or masked[at.start() - 1].isspace()), -1
    )
    return (line.strip(), "") if begin < 0 else (line[:begin].strip(), line[begin:].strip())


def _name_of(said: str) -> str:
    """Return the key or entry that a line names: ``greet`` for ``- greet:``, the value for ``- name: X``."""
    entry = _NAME.sub("", said.lstrip("- "), count=1) if said.startswith("-") else said
    return entry.partition(":")[0].strip().strip("'\"")
