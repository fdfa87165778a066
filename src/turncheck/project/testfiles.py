"""Where a project keeps its tests."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.messages.location import Location, shown_path
from turncheck.process.existing import is_file, is_folder
from turncheck.project.folder import YAML_SUFFIXES, ProjectFolder, absolute_name
from turncheck.project.formats.registry import recognised
from turncheck.project.own_folders import is_foreign, own_folders
from turncheck.project.project_file import NLU_KEYS, SHARED_FILE, STORY_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from turncheck.project.formats.format import Format

TESTS_FOLDER: Final = "tests"
TEST_STORY_PREFIX: Final = "test_"
MARKDOWN: Final = ".md"
TEST_NLU_FILE: Final = "test_data.yml"
E2E_KEYS: Final = ("test_cases", "fixtures", "metadata")
DOMAIN_KEYS: Final = ("intents", "slots", "responses", "actions", "forms", "entities")
E2E_CASES_FILE: Final = "tests/e2e_test_cases.yml"
E2E_FOLDERS: Final = (TESTS_FOLDER, "e2e_tests")
"""Folders with end-to-end cases; the second one is named as Rasa Pro's templates name it."""
_TO_BE_REVIEWED: Final = re.compile(r"e2e_suggested_[0-9]+\.yml")
_CASES_LINE: Final = re.compile(r"^['\"]?test_cases['\"]?[ \t]*:", re.MULTILINE)
"""The key of end-to-end cases at the top level of a file, which need not be YAML: reading it says what is wrong."""


def find_test_stories(root: Path) -> list[Path]:
    """Return the files ``test_*.yml`` with stories or rules below ``tests/``, or below the project without that folder.

    Below ``tests/``, stories in Markdown count under any name, such as Rasa 1's ``conversation_tests.md``.

    Sorted by path. Hidden folders and virtual environments are not searched.
    """
    folder = root / TESTS_FOLDER
    candidates = _files(root, folder if is_folder(folder) else root, lambda name: name.startswith(TEST_STORY_PREFIX))
    found = _with_keys(root, candidates, STORY_KEYS)
    in_markdown = _files(root, folder, lambda name: name.endswith(MARKDOWN)) if is_folder(folder) else []
    return [*found, *(path for path in _with_keys(root, in_markdown, STORY_KEYS) if _holds_stories(root, path))]


def _holds_stories(root: Path, path: Path) -> bool:
    """Whether a Markdown file is meant as stories rather than for people to read."""
    from turncheck.project.formats.markdown_files import is_training_data  # few projects have any

    source = ProjectFolder(root).read(path)
    return source is not None and is_training_data(source.file_text)


def find_test_nlu(root: Path) -> list[Path]:
    """Return the NLU files ``tests/*nlu*`` (or everything in a folder of such a name), else ``test_data.yml``.

    ``test_data.yml`` is looked for in the project's folder, where users of ``rasa data split`` put it, and in
    ``tests/``.
    """
    folder = root / TESTS_FOLDER
    named = sorted(path for path in _listed(folder) if "nlu" in path.name.lower())
    files = (file for path in named for file in (_files(root, path) if is_folder(path) else [path]))
    found = _with_keys(root, files, NLU_KEYS)
    return found or _with_keys(root, (root / TEST_NLU_FILE, folder / TEST_NLU_FILE), NLU_KEYS)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # there is none; or :func:`find_unsearched` says why it cannot be read
        return []


def find_unsearched(root: Path) -> Iterator[Finding]:
    """Yield an error for each folder of the project that cannot be searched for tests."""
    folder = ProjectFolder(root)
    for one in own_folders(root):
        if one.refusal:
            name = folder.name(one.path)
            yield Finding(
                "file-unreadable",
                "error",
                f"'{name}' cannot be read ({one.refusal}): it is not searched for tests.",
                Location(name),
                "Let this user read the folder, or move it out of the project.",
            )


def find_files_without_tests(root: Path) -> list[str]:
    """Return files below ``tests/`` that are named like tests but have none of the keys of tests.

    The paths are relative to the project, sorted.
    """
    folder = root / TESTS_FOLDER
    if not is_folder(folder):
        return []
    named = [
        path
        for path in _files(root, folder, lambda name: name.startswith(TEST_STORY_PREFIX) or "nlu" in name.lower())
        if _format(root, path)
    ]
    known = {*_with_keys(root, named, (*NLU_KEYS, *STORY_KEYS, *E2E_KEYS, *DOMAIN_KEYS))}
    return sorted(shown_path(path.relative_to(root)) for path in named if path not in known)


def find_files_not_looked_for(root: Path, keys: tuple[str, ...], read: Iterable[Path]) -> list[str]:
    """Return files below ``tests/`` that hold one of these kinds but have a name that no search for tests matches.

    The paths are relative to the project, sorted.

    Args:
        root: the project's folder.
        keys: the kinds.
        read: the files that are read.
    """
    folder = root / TESTS_FOLDER
    if not is_folder(folder):
        return []
    known = {absolute_name(path) for path in read}
    others = (path for path in _files(root, folder) if absolute_name(path) not in known and path.suffix != MARKDOWN)
    return sorted(shown_path(path.relative_to(root)) for path in _with_keys(root, others, keys))


def find_e2e_cases(root: Path) -> list[Path]:
    """Return the files with end-to-end cases below ``tests/`` and ``e2e_tests/``, whatever their names.

    ``tests/e2e_test_cases.yml``, the default of ``rasa test e2e``, counts even without cases. Sorted by path.
    """
    default = root / E2E_CASES_FILE
    folders = [folder for name in E2E_FOLDERS if is_folder(folder := root / name)]
    below = (path for folder in folders for path in _files(root, folder, _may_have_cases))
    found = {*_with_cases(root, below), *([default] if is_file(default) else [])}
    return sorted(found, key=absolute_name)


def find_e2e_cases_not_looked_for(root: Path, named: Iterable[str]) -> list[str]:
    """Return files with end-to-end cases that are not run, relative to the project, sorted.

    Args:
        root: the project's folder.
        named: what the setting names (files, folders, ``file::case``). If it is empty, these are files elsewhere with
            ``e2e`` in their path.
    """
    places = [absolute_name(Path(path.partition("::")[0])) for path in named]
    if places:
        found = [path for path in find_e2e_cases(root) if not any(_is_at(path, place) for place in places)]
    else:
        looked_for = [absolute_name(root / name) for name in E2E_FOLDERS]
        candidates = [
            path for path in _files(root, root, _may_have_cases) if "e2e" in str(path.relative_to(root)).lower()
        ]
        others = [path for path in candidates if not any(_is_at(path, place) for place in looked_for)]
        found = _with_cases(root, others)
    return sorted(shown_path(path.relative_to(root)) for path in found)


def _is_at(path: Path, place: str) -> bool:
    return Path(absolute_name(path)).is_relative_to(place)


def _may_have_cases(name: str) -> bool:
    """Whether a file name may be that of end-to-end cases: YAML, and neither the fixtures that files share nor what
    `turncheck suggest` proposes, which nobody has reviewed yet."""
    if name == SHARED_FILE or _TO_BE_REVIEWED.fullmatch(name):
        return False
    return not name.startswith(".") and Path(name).suffix in YAML_SUFFIXES


def _with_cases(root: Path, paths: Iterable[Path]) -> list[Path]:
    """Return the files with end-to-end cases. In ``e2e_tests/``, one that cannot be read counts: reading says why."""
    found = []
    for path in paths:
        source = ProjectFolder(root).read(path) if is_file(path) else None
        unread = source is None and path.is_relative_to(root / E2E_FOLDERS[-1])
        if unread or (source is not None and _CASES_LINE.search(source.text)):
            found.append(path)
    return found


def _files(root: Path, start: Path, is_wanted: Callable[[str], bool] = bool) -> list[Path]:
    found = (path for path, *_ in ProjectFolder(root).files([start], skip=is_foreign) if is_wanted(path.name))
    return sorted(found, key=absolute_name)


def _format(root: Path, path: Path) -> Format | None:
    found = recognised(path, partial(ProjectFolder(root).content, path))
    return None if found is None or found.read is None else found


def _with_keys(root: Path, paths: Iterable[Path], keys: tuple[str, ...]) -> list[Path]:
    """Return the files that seem to hold one of these kinds. One that cannot be read counts: reading it says why."""
    found = []
    for path in paths:
        file_format = _format(root, path) if is_file(path) else None
        if file_format is not None:
            source = ProjectFolder(root).read(path)
            if source is None or not file_format.kinds(source).isdisjoint(keys):
                found.append(path)
    return found
