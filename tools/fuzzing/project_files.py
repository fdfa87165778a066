"""Mutated project files: each is read, checked in one of three ways, and some are rendered in all formats."""

from __future__ import annotations

import io
import random
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tools.fuzzing.mutations import mutate
from tools.fuzzing.trial import Trial

from turncheck.commands.validate import FORMATS, Request, run_data_validate
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
ORACLES = (ROOT / "tests" / "oracle", ROOT.parent / "shared" / "oracle")
_INPUTS_OF_A_PROJECT = 20


def projects() -> list[dict[str, bytes]]:
    """The YAML files of every recorded project, by name."""
    found: list[dict[str, bytes]] = []
    for folder in sorted(path for oracle in ORACLES for path in oracle.glob("*/*/project")):
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*.yml"))
            if path.stat().st_size < 20_000
        }
        if files and files not in found:
            found.append(files)
    return found


def check(folder: Path, chance: random.Random) -> str:
    """Read and check the project; raises whatever should not be raised."""
    shown = ""
    request = Request(
        project=folder,
        strict=chance.random() < 0.5,
        stories_only=chance.random() < 0.1,
        max_history=chance.choice((None, None, 1, 3)),
    )
    formats = FORMATS if chance.random() < 0.05 else ("json",)
    for output_format in formats:
        try:
            output = io.StringIO()
            run_data_validate(request, output_format=output_format, output=output)
            shown += output.getvalue()
        except UserError as error:
            shown += str(error)
    return shown


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield a project with one file mutated, again and again; it is below ``place`` during the trial."""
    pool = projects()
    contents = [content for files in pool for content in files.values()]
    folder = place / "project"
    while True:
        files = chance.choice(pool)
        shutil.rmtree(folder, ignore_errors=True)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        for _ in range(_INPUTS_OF_A_PROJECT):
            path = chance.choice(sorted(files))
            (folder / path).write_bytes(mutate(files[path], contents, chance))
            yield Trial(
                partial(check, folder, random.Random(chance.random())),
                lambda kept: shutil.copytree(folder, kept, dirs_exist_ok=True),
            )
            (folder / path).write_bytes(files[path])
