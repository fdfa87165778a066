"""Files that look like a missing part of a project: kept under another name, or in another folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from turncheck.messages.finding import shown_path
from turncheck.project.folder import YAML_SUFFIXES, ProjectFolder, own_folders
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Part = Literal["domain", "config", "data"]
DEFAULT_DATA: Final = "data"
DEFAULT_DOMAIN_FOLDER: Final = "domain"
_DEEPEST: Final = 4
_MOST_FILES: Final = 500
_MOST_CANDIDATES: Final = 3
_LARGEST: Final = 1_000_000
_KEY: Final = re.compile(rb"^(?:\xef\xbb\xbf)?['\"]?(\w+)['\"]?[ \t]*:", re.MULTILINE)
_IN_MARKDOWN: Final = re.compile(rb"^## *(?:intent|story|synonym|regex|lookup) *:", re.MULTILINE)
_STORY: Final = re.compile(
    rb"^##(?!#)[^\n]*\n(?:>[^\n]*\n|[ \t]*\n)*"
    rb"\*[ \t]*[\w/+-]+(?:\{[^\n]*\})?[ \t]*\n[ \t]*-[ \t]*\w+(?:\{[^\n]*\})?[ \t]*$",
    re.MULTILINE,
)
"""A story of Rasa 0 or 1: below a heading an intent and an action, a word each; lists of other texts have sentences."""
_IN_JSON: Final = re.compile(rb'"rasa_nlu_data"\s*:')
_OF_DOMAIN: Final = frozenset({"intents", "entities", "slots", "actions", "forms", "responses", "templates"})
_ENOUGH: Final = 2
"""Keys of a domain: files of other tools may have one of them."""
_OF_CONFIG: Final = frozenset({"pipeline", "policies"})
_OF_DATA: Final = frozenset((*NLU_KEYS[:1], *STORY_KEYS))
_OF_TESTS: Final = frozenset({"tests", "test", "e2e_tests"})


def candidates(root: Path, part: Part) -> tuple[str, ...]:
    """Return the files that look like a part of the project (of data: their folders), relative to it; three at most.

    Several files of a folder `domain` are one domain. The folder is searched four levels deep.
    """
    looked_at = (_candidate(root, name, path, part) for name, path in _files(root))
    found = dict.fromkeys(name for name in looked_at if name is not None)
    if part == "domain":
        found = dict.fromkeys(_whole_domain(name, found) for name in found)
    above = [name for name in found if part != "data" or not any(_is_below(name, other) for other in found)]
    return tuple(sorted(above, key=lambda name: (name.count("/"), name))[:_MOST_CANDIDATES])


def folder_with_data_above(root: Path) -> Path | None:
    """Return the nearest folder above in the same repository that has training data in its folder `data`."""
    above = root.resolve().parents[:_DEEPEST]
    top = next((index for index, folder in enumerate((root, *above)) if (folder / ".git").exists()), 0)
    return next((folder for folder in above[:top] if candidates(folder / DEFAULT_DATA, "data")), None)


def _candidate(root: Path, name: str, path: Path, part: Part) -> str | None:
    content = ProjectFolder(root).content(path)
    content = content if len(content) <= _LARGEST else b""
    keys = {key.decode("ascii", "replace") for key in _KEY.findall(content)}
    folder = name.rpartition("/")[0]
    if part == "data":
        is_data = bool(keys & _OF_DATA) if path.suffix in YAML_SUFFIXES else _is_older_data(path.suffix, content)
        return (folder or name) if is_data and _OF_TESTS.isdisjoint(name.split("/")) else None
    if path.suffix not in YAML_SUFFIXES:
        return None
    is_one = bool(keys & _OF_CONFIG) if part == "config" else len(keys & _OF_DOMAIN) >= _ENOUGH and not keys & _OF_DATA
    return name if is_one else None


def _whole_domain(name: str, found: Iterable[str]) -> str:
    """The folder, if the file is one of several of a folder `domain`, which Rasa reads as one."""
    folder = name.rpartition("/")[0]
    beside = [other for other in found if other.rpartition("/")[0] == folder]
    return folder if len(beside) > 1 and folder.rpartition("/")[2] == DEFAULT_DOMAIN_FOLDER else name


def _is_older_data(suffix: str, content: bytes) -> bool:
    """Whether a file holds training data as Rasa 0 and 1 wrote it."""
    text = content.replace(b"\r\n", b"\n")
    patterns = (_IN_JSON,) if suffix == ".json" else (_IN_MARKDOWN, _STORY)
    return any(pattern.search(text) for pattern in patterns)


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    left = _MOST_FILES
    for folder in own_folders(root):
        if len(folder.path.relative_to(root).parts) > _DEEPEST:
            continue
        for path in folder.entries:
            if path.suffix in {*YAML_SUFFIXES, ".md", ".json"} and path.is_file():
                if left == 0:
                    return
                left -= 1
                yield shown_path(path.relative_to(root)), path


def _is_below(name: str, other: str) -> bool:
    return name.startswith(f"{other}/")
