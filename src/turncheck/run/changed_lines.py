"""Which lines of the project a change touches: what differs from the commit where it left its base."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.ci.base import BaseSearch
from turncheck.ci.git import GitError, find_checkout
from turncheck.ci.host import Base
from turncheck.process.regular_file import read_regular
from turncheck.project.folder import MAX_FILE_BYTES, ProjectFolder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.ci.git import LinesOfChange
    from turncheck.ci.host import Host
    from turncheck.settings.options import Settings

_OF_STORY: Final = re.compile(r"- *(story|rule) *:")
_NAME_IN_MARKDOWN: Final = re.compile(r"## *(intent|synonym|lookup|regex) *:")


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Lines by file, as places name them. ``unknown``: why they are not known, "" if they are."""

    by_file: Mapping[str, frozenset[int]] = field(default_factory=dict)
    unknown: str = ""


def changed_lines(settings: Settings, host: Host) -> ChangedLines:
    """Return the lines of a project that its base does not have."""
    folder = Path(settings.project)
    checkout = find_checkout(folder)
    if checkout is None:
        return ChangedLines(unknown="the project is not in a git checkout")
    search = BaseSearch(settings, checkout, host, lambda _, __: None)
    found = search.find() if settings.base is None else search.find_named(settings.base)
    if not isinstance(found, Base) or found.commit is None:
        return ChangedLines(unknown=getattr(found, "reason", "") or "the base is not known")
    try:
        lines = checkout.changed_lines(found.commit, folder)
    except GitError as error:
        return ChangedLines(unknown=f"git: {error}")
    project = ProjectFolder(folder)
    return ChangedLines({project.name(path): touched_lines(changed, path) for path, changed in lines.items()})


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
