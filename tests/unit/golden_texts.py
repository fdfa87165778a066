"""Wordings, compared with the accepted ones: a file below ``golden/`` for each file of tests, a section for each text.

``make accept`` writes what the tests now have, for `git diff` to show. What a text is about is asserted beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Golden:
    """The fixture ``golden``: ``golden(text)`` asserts that the text is the accepted one.

    ``golden(*texts)`` is about several, a line each; ``golden(output, only="nlu.yml")`` is about the lines of a long
    one that have this in them, of which there must be one. The folders that tests make are called TMP,
    the ports of their servers PORT; how long something took is left out.
    """

    file: Path
    test: str
    accept: bool
    folder: Path
    """In which the tests' own folders are."""
    count: int = field(default=0, init=False)
    """How many texts this test has compared: the second has a section of its own."""

    def __call__(self, *texts: object, only: str = "") -> None:
        said = "\n".join(str(text) for text in texts)
        if only:
            said = "\n".join(line.strip() for line in said.splitlines() if only in line)
            assert said, f"no line has {only!r}"
        said = re.sub(rf"{re.escape(str(self.folder))}/[\w-]+", "TMP", said)
        said = re.sub(r" \(\d+\.\d s\)", "", said)
        self.compare(re.sub(r"\b(127\.0\.0\.1|localhost):\d{4,5}\b", r"\1:PORT", said))

    def compare(self, text: str) -> None:
        """Assert that the text is the one of the next section of this test, or accept it."""
        self.count += 1
        name = self.test if self.count == 1 else f"{self.test} ({self.count})"
        texts = read_golden(self.file)
        if self.accept:
            if self.count == 1:
                texts = {section: text for section, text in texts.items() if test_of(section) != self.test}
            texts[name] = text
            write_golden(self.file, texts)
        assert name in texts, f"{self.file.name} has no section '{name}': make accept writes it"
        assert text == texts[name], "the wording has changed: if that is meant, make accept"


def golden_file(tests: Path) -> Path:
    """Return the file that has the texts of a file of tests: of all rooms of a floor in one folder."""
    floor = next((folder for folder in tests.parents if folder.parent.name == "tests"), tests.parent)
    return floor / "golden" / f"{tests.stem.removeprefix('test_')}.txt"


def test_of(section: str) -> str:
    """Return the test that a section is of."""
    return re.sub(r" \(\d+\)$", "", section)


def read_golden(file: Path) -> dict[str, str]:
    """Return the texts of a file by the names of their sections; nothing if there is no file."""
    texts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in file.read_bytes().decode().split("\n") if file.exists() else ():
        if line.startswith("## "):
            lines = texts.setdefault(line.removeprefix("## "), [])
        elif line.startswith("|"):
            lines.append(line[2:])
    return {name: "\n".join(lines) for name, lines in texts.items()}


def write_golden(file: Path, texts: dict[str, str]) -> None:
    """Write the texts, sorted by the names of their sections, each line behind a bar."""
    file.parent.mkdir(exist_ok=True)
    sections = (
        "\n".join((f"## {name}", *(f"| {line}" if line else "|" for line in text.split("\n"))))
        for name, text in sorted(texts.items())
    )
    file.write_text("\n\n".join(sections) + "\n", "utf-8")
