"""Botium's files that are not read: CSV, Excel, Markdown, and YAML and JSON without any of its keys."""

from __future__ import annotations

import re
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Location
from turncheck.project.folder import ProjectFolder, own_folders
from turncheck.project.project_file import (
    BOTIUM_FILES,
    BOTIUM_SETTINGS,
    CONVO,
    SUITE_FOLDERS,
    holds_convos,
    is_in_objects,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_BY_NAME: Final = (".convo.csv", ".pconvo.csv", ".utterances.csv", ".scriptingmemory.xlsx")
_IN_OBJECTS_BY_NAME: Final = tuple(
    f"{Path(name).stem}{suffix}" for name in BOTIUM_FILES for suffix in (".json", ".yml", ".yaml")
)
"""``.convo.json`` and the like: whoever names a file so expects it to be run."""
_WORKBOOKS: Final = (".xlsx", ".xlsm")
_MARKDOWN: Final = re.compile(rb"^# *(?:Convos|PartialConvos|Utterances)\s*$", re.MULTILINE)
_MOST_FOLDERS: Final = 2000


def is_in_another_format(name: str, content: Callable[[], bytes]) -> bool:
    """Whether a file among Botium's is in another of its formats, as far as its name or its keys say."""
    suffix = Path(name).suffix
    if suffix in {".md", ".markdown"}:
        return _MARKDOWN.search(content()) is not None
    if name.endswith(_IN_OBJECTS_BY_NAME):
        return not is_in_objects(name, content)
    return name.endswith(_BY_NAME) or suffix in _WORKBOOKS


def not_read(names: Sequence[str]) -> Finding:
    """Return the finding that names files in other formats."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    message = f"Files in others of Botium's formats are not read: {', '.join(names[:3])}{more}."
    hint = (
        "Text is read, and YAML and JSON with the keys `convos`, `partialConvos`, `utterances` or `scriptingMemory`:"
        " write the conversations as .convo.txt (botium-core's `Decompile` does)."
    )
    return Finding("botium-not-judged", "warning", message, Location(names[0], 1, 1), hint)


def suites_without_convos(root: Path, project: Path | None = None) -> Iterator[Finding]:
    """Yield a finding for each folder of Botium files that has no conversation in a text file.

    Files are named from ``project``, by default ``root``, where they are looked for.

    That is a folder with a ``botium.json`` or utterance lists; a CSV file by its name counts in any.
    """
    folder, folders = ProjectFolder(project or root), list(islice(own_folders(root), _MOST_FOLDERS))
    tops = [root / name for name in SUITE_FOLDERS]

    def top(path: Path) -> Path:
        return next((top for top in tops if path.is_relative_to(top)), path)

    def has_convos(path: Path) -> bool:
        return path.name.endswith(CONVO) or holds_convos(path.name, partial(folder.content, path))

    have_convos = {top(one.path) for one in folders if any(map(has_convos, one.entries))}
    for listed_folder in folders:
        names = {path.name for path in listed_folder.entries}
        if listed_folder.path in have_convos or (
            top(listed_folder.path) in have_convos and BOTIUM_SETTINGS not in names
        ):
            continue  # what is beside conversations is named when they are read
        is_of_botium = BOTIUM_SETTINGS in names or any(name.endswith(BOTIUM_FILES) for name in names)
        found = [
            folder.name(path)
            for path in listed_folder.entries
            if (is_of_botium or path.name.endswith((*_BY_NAME, *_IN_OBJECTS_BY_NAME)))
            and is_in_another_format(path.name, partial(folder.content, path))
        ]
        if found:
            yield not_read(sorted(found))
