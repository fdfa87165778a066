"""The items of YAML files in the layout that Rasa's own bots have: intents, synonyms, rules, stories, responses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ITEM: Final = re.compile(r"^(?P<indent> *)- (?P<kind>intent|rule|story|synonym|lookup|regex): *(?P<name>.+?) *$")
SENTENCE: Final = re.compile(r"^ +- +(?P<text>\S.*?) *$")
_DIALOGUE: Final = frozenset({"rule", "story"})


@dataclass(frozen=True, slots=True)
class Block:
    """An item of a file: an intent, rule or story, from its first line to the one before ``end``."""

    path: Path
    kind: str
    name: str
    start: int
    end: int

    @property
    def lines(self) -> list[str]:
        """Its lines, as they are now."""
        return read(self.path)[self.start : self.end]

    @property
    def sentences(self) -> list[int]:
        """The numbers of the lines that have its sentences, in the file."""
        return [self.start + number for number, line in enumerate(self.lines) if number and SENTENCE.match(line)]

    def replace(self, lines: list[str]) -> None:
        """Put other lines in its place."""
        whole = read(self.path)
        write(self.path, [*whole[: self.start], *lines, *whole[self.end :]])

    def drop(self, numbers: list[int]) -> None:
        """Remove lines, by their number in the file."""
        gone = set(numbers)
        write(self.path, [line for number, line in enumerate(read(self.path)) if number not in gone])

    def add(self, sentences: list[str]) -> None:
        """Add sentences after its last one."""
        lines, last = read(self.path), self.sentences[-1]
        new = [f"{indent_of(lines[last])}- {text}" for text in sentences]
        write(self.path, [*lines[: last + 1], *new, *lines[last + 1 :]])


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a checkout: what it does, what a comment should name, and the function that does it."""

    kind: str
    what: str
    make: Callable[[Path], None]
    names: tuple[str, ...] = ()

    @property
    def harmful(self) -> bool:
        """Whether a comment should name something."""
        return bool(self.names)


def read(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def write(path: Path, lines: list[str]) -> None:
    """Write the lines of a file."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def indent_of(line: str) -> str:
    """Return the spaces that a line begins with."""
    return line[: len(line) - len(line.lstrip(" "))]


def blocks(root: Path, kind: str, folder: str = "data") -> list[Block]:
    """Return the intents, rules or stories of the files below a folder."""
    paths = sorted(path for path in (root / folder).rglob("*.y*ml") if path.stat().st_size)
    return [block for path in paths for block in blocks_of(path) if block.kind == kind]


def blocks_of(path: Path) -> list[Block]:
    """Return the items of a file; each ends where the next item or key of its depth begins."""
    lines = read(path)
    found, section = [], ""
    for number, line in enumerate(lines):
        if re.match(r"\w", line):
            section = line.partition(":")[0]
        head = _ITEM.match(line)
        if head and (section == "nlu") == (head["kind"] not in _DIALOGUE) and head["indent"] in {"", "  "}:
            end = _end(lines, number, head["indent"])
            found.append(Block(path, head["kind"], head["name"].strip("'\""), number, end))
    return [one for one in found if one.kind != "intent" or one.sentences]


def _end(lines: list[str], start: int, indent: str) -> int:
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.strip() and not line.lstrip().startswith("#") and not line.startswith(f"{indent} "):
            return number
    return len(lines)


def same(copy: Path, wanted: Block) -> Block:
    """Find a block of another copy of the bot again."""
    folder = "tests" if "tests" in wanted.path.parts else "data"
    return next(
        one
        for one in blocks(copy, wanted.kind, folder)
        if (one.name, one.start, one.path.name) == (wanted.name, wanted.start, wanted.path.name)
    )


def largest(root: Path) -> list[Block]:
    """Return the intents, those with the most sentences first."""
    return sorted(blocks(root, "intent"), key=lambda one: (-len(one.sentences), one.name))


def responses(root: Path) -> Iterator[str]:
    """Yield the names of the responses of ``domain.yml``."""
    for key, name, _ in domain_items(root):
        if key == "responses" and name.startswith("utter_"):
            yield name


def domain_items(root: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the names below each key of ``domain.yml``, with the key and the number of the line."""
    key = ""
    for number, line in enumerate(read(root / "domain.yml")):
        if re.match(r"\w", line):
            key = line.partition(":")[0]
        elif found := re.match(r" {0,2}(?:- )?([\w/.-]+):?", line):
            yield key, found[1], number


def without_item(root: Path, key: str, name: str) -> None:
    """Remove a name with all that is below it from a key of ``domain.yml``."""
    lines = read(root / "domain.yml")
    start = next(number for of_key, one, number in domain_items(root) if (of_key, one) == (key, name))
    depth = len(indent_of(lines[start]))
    inside = range(start + 1, len(lines))
    own = [n for n in inside if lines[n].strip() and len(indent_of(lines[n])) <= depth]
    end = next((n for n in own if not lines[n].startswith(" " * depth + "- ") or "- " in lines[start]), len(lines))
    write(root / "domain.yml", [*lines[:start], *lines[end:]])
