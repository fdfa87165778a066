"""Where a project keeps its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.location import shown_path
from turncheck.project.files import has_key_line
from turncheck.project.folder import YAML_SUFFIXES, ProjectFolder
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TESTS_FOLDER: Final = "tests"
TEST_STORY_PREFIX: Final = "test_"
TEST_NLU_FILE: Final = "test_data.yml"
E2E_KEYS: Final = ("test_cases", "fixtures", "metadata")
DOMAIN_KEYS: Final = ("intents", "slots", "responses", "actions", "forms", "entities")
E2E_CASES_FILE: Final = "tests/e2e_test_cases.yml"


def find_test_stories(root: Path) -> list[Path]:
    """Return the files ``test_*.yml`` with stories or rules below ``tests/``, or of the project without that folder.

    In the order of their paths. Hidden folders and virtual environments are not searched.
    """
    folder = root / TESTS_FOLDER
    candidates = _yaml_files(root, folder if folder.is_dir() else root)
    return _with_keys(root, (path for path in candidates if path.name.startswith(TEST_STORY_PREFIX)), STORY_KEYS)


def find_test_nlu(root: Path) -> list[Path]:
    """Return the NLU files ``tests/*nlu*`` (a folder of that name counts with all it holds), else ``test_data.yml``.

    ``test_data.yml`` is looked for in the project's folder, where ``rasa data split`` has people put it, and in
    ``tests/``.
    """
    folder = root / TESTS_FOLDER
    named = sorted(path for path in folder.iterdir() if "nlu" in path.name.lower()) if folder.is_dir() else []
    files = (file for path in named for file in (_yaml_files(root, path) if path.is_dir() else [path]))
    found = _with_keys(root, files, NLU_KEYS)
    return found or _with_keys(root, (root / TEST_NLU_FILE, folder / TEST_NLU_FILE), NLU_KEYS)


def find_files_without_tests(root: Path) -> list[str]:
    """Return files below ``tests/`` that are named like tests and have no key that would make them so.

    Their paths relative to the project, sorted.
    """
    folder = root / TESTS_FOLDER
    if not folder.is_dir():
        return []
    named = [
        path
        for path in _yaml_files(root, folder)
        if path.name.startswith(TEST_STORY_PREFIX) or "nlu" in path.name.lower()
    ]
    known = {*_with_keys(root, named, (*NLU_KEYS, *STORY_KEYS, *E2E_KEYS, *DOMAIN_KEYS))}
    return sorted(shown_path(path.relative_to(root)) for path in named if path not in known)


def find_e2e_cases(root: Path) -> list[Path]:
    """Return ``tests/e2e_test_cases.yml``, the default of ``rasa test e2e``, if it is there."""
    path = root / E2E_CASES_FILE
    return [path] if path.is_file() else []


def _yaml_files(root: Path, start: Path) -> list[Path]:
    return [path for path, _ in ProjectFolder(root).yaml_files([start], skip=_is_foreign)]


def _is_foreign(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name == "node_modules" or (folder / "pyvenv.cfg").exists()


def _with_keys(root: Path, paths: Iterable[Path], keys: tuple[str, ...]) -> list[Path]:
    """Return the YAML files in which Rasa would see such a key. One that cannot be read counts: reading says why."""
    found = []
    for path in paths:
        if path.suffix in YAML_SUFFIXES and path.is_file():
            source = ProjectFolder(root).read(path)
            if source is None or has_key_line(source, keys):
                found.append(path)
    return found
