"""Mutated training data in Markdown and JSON, as the readers of Rasa 0.x to 2.x's formats get them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tools.fuzzing.mutations import mutate
from tools.fuzzing.project_files import ORACLES
from tools.fuzzing.trial import Trial

from turncheck.project.folder import ProjectFolder
from turncheck.project.formats.format import FormatInput
from turncheck.project.formats.registry import FORMATS
from turncheck.project.project_file import DATA_KEYS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIXES = (".md", ".json")
_MOST_BYTES = 20_000


def recorded() -> list[tuple[str, bytes]]:
    """The training data of every recorded project, by name."""
    return [
        (path.name, path.read_bytes())
        for oracle in ORACLES
        for path in sorted((oracle / "legacy").glob("*/*/project/**/*.*"))
        if path.suffix in _SUFFIXES and path.stat().st_size < _MOST_BYTES
    ]


def read(place: Path, name: str, content: bytes) -> str:
    """Read a file with every reader that takes it, and say what was found; raises whatever should not be raised."""
    folder = ProjectFolder(place)
    source = folder.decode(name, content)
    if source is None:
        return str(folder.findings)
    opened = FormatInput(source, folder, frozenset(DATA_KEYS))
    formats = [FORMATS["rasa_markdown"]] if name.endswith(".md") else [FORMATS["rasa_json"], FORMATS["other_json"]]
    said = []
    for parts in (one.read(opened) for one in formats if one.read is not None):
        said += [f"{one.location}: {one.message}" for one in parts.findings]
        said += [str(example.location) for example in parts.nlu.examples]
    return "\n".join(said)


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield files with something changed, again and again."""
    pool = recorded()
    contents = [content for _, content in pool]
    while True:
        name, original = chance.choice(pool)
        content = mutate(original, contents, chance)

        def keep(kept: Path, name: str = name, content: bytes = content) -> None:
            kept.mkdir(parents=True, exist_ok=True)
            (kept / name).write_bytes(content)

        yield Trial(partial(read, place, name, content), keep)
