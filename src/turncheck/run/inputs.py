"""Everything that determines what a run measures, and the answers that are known before it begins.

It may measure only what a change touches: the lines that differ from the commit where it left its base.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from turncheck.ci.base import NO_CHECKOUT, BaseSearch
from turncheck.ci.git import Checkout, GitError, find_checkout
from turncheck.ci.host import Base, Host, HostError, exact_commit
from turncheck.evaluations.answers import COMPUTE_LOCALLY, Answers
from turncheck.messages.errors import UserError
from turncheck.process.regular_file import file_and_case, read_regular
from turncheck.project.folder import MAX_FILE_BYTES, ProjectFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from turncheck.ci.diff import LinesOfChange
    from turncheck.comparison.model import Present
    from turncheck.engines.base import Engine, Part
    from turncheck.messages.finding import Location
    from turncheck.process.cache import Cache
    from turncheck.process.environment import FileVariables
    from turncheck.project.model import Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import EngineInfo, Source
    from turncheck.run.reading import Tests
    from turncheck.settings.options import Settings


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that determines what is measured.

    ``given`` are the names of the settings that flags or inputs set; ``root`` is the project's path in its repository,
    links followed, ``named`` the same as the settings name it;
    ``name`` is its name if its folder's name means nothing; ``ignored`` the codes to leave out and where they are;
    ``rules`` where each gate is set; ``hosts`` the hosts that addresses in the project's files may name besides
    loopback (``None``: any); ``environment`` what child processes get; ``file_variables`` what ``endpoints.yml`` may
    refer to, if not to that; ``settings_file`` the ``turncheck.yml`` that was read,
    ``settings_folder`` where it is looked for, as is the quarantine; ``chooser`` the folder whose file
    may name several assistants, and ``projects`` those that it names; ``changed`` returns which lines a change
    touches, ``sized`` adds to a baseline how much it changes; ``cache`` is where trained models are kept, if at all;
    ``at_commit`` has the files of another commit, as long as the block lasts, and yields what is measured there.
    """

    settings: Settings
    source: Source
    given: frozenset[str] = frozenset()
    root: str = ""
    named: str | None = None
    name: str | None = None
    ignored: tuple[tuple[str, Location], ...] = ()
    rules: Mapping[str, Location] = field(default_factory=dict)
    hosts: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    file_variables: FileVariables | None = field(default=None, repr=False)
    settings_file: Path | None = None
    settings_folder: Path | None = None
    chooser: Path | None = None
    projects: tuple[str, ...] = ()
    changed: Callable[[], ChangedLines] | None = None
    sized: Callable[[Present], Present] | None = None
    cache: Cache | None = None
    at_commit: Callable[[str], AbstractContextManager[AtCommit]] | None = None


class AtCommit(msgspec.Struct, frozen=True):
    """What is measured at another commit; ``differing`` returns which files of this checkout are others there."""

    inputs: Inputs
    differing: Callable[[], tuple[Path, ...]]


def differing_files(checkout: Checkout | None, commit: str, folder: Path) -> tuple[Path, ...]:
    """Return the paths of the files of a checkout that are not as in a commit, whose files are in a folder, too.

    Raises:
        UserError: nobody can say which they are.
    """
    if checkout is None:
        raise UserError(NO_CHECKOUT)
    try:
        with checkout.state_of(commit, folder) as state:
            return tuple(checkout.top / name for name in checkout.differing(state))
    except GitError as error:
        raise UserError(f"git: {error}") from error


# What is known before a run begins: answers from elsewhere, and descriptions of the engines that gave them.


class PrecomputedAnswers(msgspec.Struct, frozen=True):
    """The head start of a run; an ordinary one has none.

    ``parts``: the substitutions in the parts of the engine that were trained elsewhere. ``refused``: why an
    evaluation could not be trained there. ``engines``: creates those of a project if what the settings name is not
    available here. ``ensure``: called with what was read, raises a ``UserError`` if the answers are about other data.
    ``too_many``: whether there were too many sentences and utterances to ask all of them again; ``None``: see here.
    """

    answers: Answers = COMPUTE_LOCALLY
    parts: Mapping[Part, EngineInfo] = msgspec.field(default_factory=dict)
    refused: Mapping[Evaluation, UserError] = msgspec.field(default_factory=dict)
    engines: Callable[[Project], Engine] | None = None
    ensure: Callable[[Inputs, Project, Tests], None] | None = None
    too_many: bool | None = None


NONE_PRECOMPUTED = PrecomputedAnswers()


_OF_STORY: Final = re.compile(r"- *(story|rule) *:")
_NAME_IN_MARKDOWN: Final = re.compile(r"## *(intent|synonym|lookup|regex) *:")


class ChangedLines(msgspec.Struct, frozen=True):
    """Lines by file, as places name them. ``unknown``: why they are not known, "" if they are."""

    by_file: Mapping[str, frozenset[int]] = msgspec.field(default_factory=dict)
    unknown: str = ""


def changed_lines(settings: Settings, host: Host) -> ChangedLines:
    """Return the lines of a project that its base does not have."""
    folder = Path(settings.project)
    checkout = find_checkout(folder)
    if checkout is None:
        return ChangedLines(unknown=NO_CHECKOUT)
    search = BaseSearch(settings, checkout, host, lambda _, __: None)
    found = search.find() if settings.base is None else search.find_named(settings.base)
    if not isinstance(found, Base) or found.commit is None:
        return ChangedLines(unknown=getattr(found, "reason", "") or "the base is not known")
    from turncheck.ci.base_files import NoFilesError, files_of_commit  # what asks a host takes a while to import

    try:
        with ExitStack() as stack:
            files = None
            if not checkout.has_files_of(found.commit):
                files = stack.enter_context(files_of_commit(found.commit, checkout, host, checkout.top)).folder
            state = stack.enter_context(checkout.state_of(found.commit, files))
            lines = checkout.changed_lines(state, folder)
    except GitError as error:
        return ChangedLines(unknown=f"git: {error}")
    except (NoFilesError, HostError) as error:
        return ChangedLines(unknown=f"{error}" or "its files cannot be had")
    project = ProjectFolder(folder)
    return ChangedLines({project.name(path): touched_lines(changed, path) for path, changed in lines.items()})


def with_size_of_change(found: Present, settings: Settings, files: Path | None = None) -> Present:
    """Return a baseline with how many lines of a project changed since its commit, and which files are gone.

    Files that the settings name belong to the project, wherever they are. Files that were only moved are not gone.

    Args:
        found: the baseline; it is returned as it is if nobody can say.
        settings: of the project as it is now.
        files: a folder with all files of that commit, which need not be in the checkout (a shallow clone, say).
    """
    folder = Path(settings.project)
    checkout, commit = find_checkout(folder), exact_commit(found.commit)
    if checkout is None or commit is None:
        return found
    named = (settings.project, settings.config, settings.domain, settings.nlu)
    tests = (*settings.data, *settings.stories, *settings.e2e, *settings.batch)
    places = [Path(file_and_case(path)[0]) for path in (*named, *tests) if path]
    try:
        with checkout.state_of(commit, files) as state:
            number, deleted = checkout.number_of_changed_lines(state, places), checkout.deleted_files(state, folder)
    except GitError:
        return found
    project = ProjectFolder(folder)
    return msgspec.structs.replace(found, changed_lines=number, deleted=tuple(map(project.name, deleted)))


def touched_lines(change: LinesOfChange, path: Path) -> frozenset[int]:
    """Return the lines of a file that a change touches: its own, those that enclose them, and what is under a new name.

    Changing a threshold changes its component, and changing a line of a response's text changes that response. Renaming
    an intent changes all of its sentences, renaming a form its questions; an assistant does not know the names of
    stories and rules.
    """
    text = _text(path)
    lines = change.written | change.beside
    if path.suffix.lower() == ".md":
        return with_enclosing(lines, text) | _under_headings(change.written, text)
    return with_enclosing(lines, text, names=change.written)


def with_enclosing(lines: frozenset[int], text: str, names: frozenset[int] = frozenset()) -> frozenset[int]:
    """Return lines of a file with those that enclose them by indentation, and those below ``names``.

    >>> domain = "slots:\\n  size:\\n    values:\\n    - small\\n  name:\\n"
    >>> sorted(with_enclosing(frozenset({4}), domain))
    [1, 2, 3, 4]
    >>> sorted(with_enclosing(frozenset({2}), domain, names=frozenset({2})))
    [1, 2, 3, 4]
    """
    found = set(lines)
    holders: list[tuple[int, bool, int]] = []  # indentation, whether it is an entry of a list, number of the line
    naming: set[int] = set()
    for number, line in enumerate(text.split("\n"), start=1):
        said = line.lstrip(" ")
        if not said or said.startswith("#"):
            continue
        depth, is_entry = len(line) - len(said), said.startswith("- ") or said.rstrip() == "-"
        # A list may have the same indentation as its key.
        while holders and holders[-1][0] >= depth and not (holders[-1][0] == depth and is_entry > holders[-1][1]):
            holders.pop()
        if number in lines:
            found |= {holder for _, _, holder in holders}
        if any(holder in naming for _, _, holder in holders):
            found.add(number)
        # A section's name never changes: only what follows it on its line can be new.
        if number in names and (depth or is_entry) and not _OF_STORY.match(said):
            naming.add(number)
        holders.append((depth, is_entry, number))
    return frozenset(found)


def _under_headings(written: frozenset[int], text: str) -> frozenset[int]:
    """Return the lines of a Markdown file that are under a new name of an intent, a synonym, a table or a pattern."""
    found: set[int] = set()
    is_new = False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("##"):
            is_new = number in written and _NAME_IN_MARKDOWN.match(line) is not None
        if is_new:
            found.add(number)
    return frozenset(found)


def _text(path: Path) -> str:
    """Return a file's content; nothing if it is not a regular file, or larger than what is read of a project."""
    try:
        return read_regular(path, most=MAX_FILE_BYTES, follow=False).decode("utf-8", "replace")
    except OSError:
        return ""
