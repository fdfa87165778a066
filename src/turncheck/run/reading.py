"""Reads what the settings name: the project, and its tests."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Finding, Location
from turncheck.process.regular_file import file_and_case
from turncheck.project.batch.reader import find_suites
from turncheck.project.botium.others import suites_without_convos
from turncheck.project.export import export_of
from turncheck.project.folder import YAML_SUFFIXES, ProjectFolder
from turncheck.project.formats.rasa_yaml import unseen_key
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS
from turncheck.project.reader import read_nlu_files, read_project, read_story_files
from turncheck.project.testfiles import (
    E2E_FOLDERS,
    find_e2e_cases,
    find_e2e_cases_not_looked_for,
    find_files_not_looked_for,
    find_files_without_tests,
    find_test_nlu,
    find_test_stories,
    find_unsearched,
)
from turncheck.settings.engines import ENGINES
from turncheck.validation.unreadable_parts import unread_tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.project.model import Project, Story
    from turncheck.project.nlu_data import NluData
    from turncheck.settings.options import Settings


CASES_BELOW: Final = " or ".join(f"{name}/" for name in E2E_FOLDERS)
"""Where end-to-end cases are looked for."""


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests of the project. ``None`` for test sentences: cross-validation."""

    nlu: NluData | None
    stories: tuple[Story, ...]
    e2e: tuple[str, ...]
    batch: tuple[str, ...] = ()
    e2e_elsewhere: tuple[str, ...] = ()
    """Files with end-to-end cases that are not run: they are outside the usual folders, or the settings omit them."""
    nlu_findings: tuple[Finding, ...] = ()
    story_findings: tuple[Finding, ...] = ()
    other_findings: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings from reading the tests."""
        return (*self.nlu_findings, *self.story_findings, *self.other_findings)


def read_given(settings: Settings, *, endpoints: Path | None = None, data: Iterable[str] | None = None) -> Project:
    """Read the project with the paths that the settings name.

    Args:
        settings: these name them.
        endpoints: used instead of the project's own ``endpoints.yml``.
        data: what is read as training data, if that is not just ``settings.data``.

    Raises:
        UserError: a given path is missing.
    """
    for name in ("domain", "config", "nlu"):
        path = getattr(settings, name)
        ensure_there(name, (path,) if path else ())
    for name in ("data", "stories", "e2e", "batch"):
        ensure_there(name, (file_and_case(path)[0] for path in getattr(settings, name)))
    ensure_there("endpoints", () if endpoints is None else (endpoints,))
    root, paths = Path(settings.project), [Path(path) for path in (settings.data if data is None else data)] or None
    is_for_engine = ENGINES[settings.engine].has_languages and export_of(root, paths) is None
    return read_project(
        root,
        domain=Path(settings.domain) if settings.domain else None,
        data=paths,
        config=Path(settings.config) if settings.config else None,
        endpoints=endpoints,
        language=None if is_for_engine else settings.language,
    )


def file_of_all(root: Path, settings_file: Path | None, read: Iterable[str]) -> str | None:
    """Return the file for what concerns the assistant as a whole, relative to its folder; ``None`` if there is none.

    Gates, and what was not run, are shown there: the settings if there are any, else the first file that exists.

    Args:
        root: the assistant's folder.
        settings_file: its ``turncheck.yml``, or another one that names it.
        read: paths of files in the assistant's folder, the best first.
    """
    if settings_file is not None:
        return ProjectFolder(root).name(settings_file)
    return next((path for path in read if (root / path).is_file()), None)


def read_tests(settings: Settings) -> Tests:
    """Read the test sentences and stories that the settings name, else those found in their usual places."""
    root = Path(settings.project)
    nlu_paths = [Path(settings.nlu)] if settings.nlu else find_test_nlu(root)
    nlu, nlu_findings = read_checked_nlu(nlu_paths, root) if nlu_paths else (None, ())
    story_paths = [Path(path) for path in settings.stories] or find_test_stories(root)
    stories, story_findings = read_checked_stories(story_paths, root) if story_paths else ((), ())
    without = {path: _unseen(root, path) for path in find_files_without_tests(root)}
    unseen = [found for found in without.values() if found is not None]
    e2e_elsewhere = tuple(find_e2e_cases_not_looked_for(root, settings.e2e))
    return Tests(
        nlu=nlu,
        stories=without_faulty(stories, story_findings),
        e2e=tuple(settings.e2e) or tuple(str(path) for path in find_e2e_cases(root)),
        batch=tuple(settings.batch) or find_suites(root),
        e2e_elsewhere=e2e_elsewhere,
        nlu_findings=(*nlu_findings, *(finding for key, finding in unseen if key in NLU_KEYS)),
        story_findings=(
            *story_findings,
            *(finding for key, finding in unseen if key not in NLU_KEYS),
            *(() if settings.stories else find_unsearched(root)),
        ),
        other_findings=(
            *(_without_tests(path) for path, found in without.items() if found is None),
            *_not_looked_for(settings, root, (*nlu_paths, *story_paths)),
            *_cases_not_run(e2e_elsewhere, is_named=bool(settings.e2e)),
            *suites_without_convos(root),
        ),
    )


def read_checked_nlu(paths: Iterable[Path], root: Path) -> tuple[NluData, tuple[Finding, ...]]:
    """Read test sentences; anything in their files that is not read is an error among the findings."""
    data, findings, files = read_nlu_files(paths, root)
    return data, unread_tests(findings, files)


def without_faulty(stories: Sequence[Story], findings: Iterable[Finding]) -> tuple[Story, ...]:
    """Leave out stories with an error in them: without the unreadable step, each would be a different story."""
    faulty = [
        finding.location for finding in findings if finding.severity == "error" and finding.location.line is not None
    ]
    starts: dict[str, list[int]] = {}
    for story in stories:
        starts.setdefault(story.location.path, []).append(story.location.line or 0)
    in_order = {path: sorted(lines) for path, lines in starts.items()}
    spoilt = set()
    for location in faulty:
        lines = in_order.get(location.path, [])
        if before := bisect_right(lines, location.line or 0):
            spoilt.add((location.path, lines[before - 1]))
    return tuple(story for story in stories if (story.location.path, story.location.line or 0) not in spoilt)


def read_checked_stories(paths: Iterable[Path], root: Path) -> tuple[tuple[Story, ...], tuple[Finding, ...]]:
    """Read test stories; anything in their files that is not read is an error among the findings."""
    stories, findings, files = read_story_files(paths, root)
    return stories, unread_tests(findings, files)


def _unseen(root: Path, path: str) -> tuple[str, Finding] | None:
    """For a file named like tests, the intended key, if it is misnamed_files: its tests would be lost."""
    source = ProjectFolder(root).read(root / path)
    return unseen_key(source) if source is not None and (root / path).suffix in YAML_SUFFIXES else None


def _without_tests(path: str) -> Finding:
    return Finding(
        "file-without-data",
        "warning",
        f"'{path}' is named like a test file, but contains neither sentences nor stories: nothing is tested with it.",
        Location(path),
        "Its top level needs the key `nlu:` or `stories:`.",
    )


def _not_looked_for(settings: Settings, root: Path, read: Sequence[Path]) -> Iterable[Finding]:
    """Tests under a file name that is never looked for; none if the settings name the files."""
    kinds = (
        ("nlu", "sentences", ("nlu",), settings.nlu, "has `nlu` in it"),
        ("stories", "stories", STORY_KEYS, settings.stories, "begins with `test_`"),
    )
    for setting, what, keys, given, rule in kinds:
        for path in [] if given else find_files_not_looked_for(root, keys, read):
            yield Finding(
                "test-file-not-looked-for",
                "info",
                f"'{path}' holds {what}, but its name is not that of a test file: nothing is tested with it.",
                Location(path),
                f"Give it a name that {rule}, or name it in the setting `{setting}`.",
            )


def _cases_not_run(paths: Iterable[str], *, is_named: bool) -> Iterator[Finding]:
    why = "the setting `e2e` does not name it" if is_named else f"it is not below {CASES_BELOW}"
    for path in paths:
        yield Finding(
            "test-file-not-looked-for",
            "info",
            f"'{path}' holds end-to-end cases, but {why}: they are not run.",
            Location(path),
            "Name it in the setting `e2e`, or move it below one of these folders.",
        )


def ensure_tests_read(what: str, findings: Iterable[Finding]) -> None:
    """Refuse tests if some of them cannot be read.

    Raises:
        UserError: names the first fault.
    """
    if fault := next((finding for finding in findings if finding.severity == "error"), None):
        message = f"{what} cannot be read completely: {fault.message.rstrip('.')}"
        raise UserError(message, location=fault.location, hint=fault.hint or None)


def ensure_there(name: str, paths: Iterable[Path | str]) -> None:
    """Make sure that what a flag or a setting names exists.

    Raises:
        UserError: it does not.
    """
    for path in paths:
        if not Path(path).exists():
            raise UserError(
                f"the path '{path}' of --{name} does not exist",
                hint="Correct the path; it is relative to the current folder.",
            )
