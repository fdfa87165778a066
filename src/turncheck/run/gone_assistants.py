"""Assistants that the base measured and this change removes: their tests are gone, too."""

from __future__ import annotations

import glob
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.ci.git import GitError, find_checkout
from turncheck.ci.host import HostError
from turncheck.comparison.gone_tests import GONE_TESTS
from turncheck.messages.errors import UserError
from turncheck.project.assistants_below import may_be_assistant
from turncheck.run.find_base import BaseSearch
from turncheck.run.find_baseline import SEARCHED
from turncheck.settings.file import read_settings_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.ci.host import Host
    from turncheck.settings.options import Settings

_ABOUT_TESTS: Final = frozenset({GONE_TESTS, "test-failures", "new-failures"})


def gone_assistants(
    measured: Iterable[Path],
    words: Sequence[str],
    *,
    top: Path | None,
    settings: Settings,
    base: str | None,
    host: Host,
) -> list[str]:
    """Return the folders, relative to the current one, of assistants that the base has and this run does not measure.

    There are none if the base's files are out of reach (the gates of each assistant say so), if no gate is
    about tests, or for what the setting ``accept-gone`` names.

    Args:
        measured: the folders that this run measures.
        words: the folders and patterns that choose them.
        top: the folder whose ``turncheck.yml`` has these words; the base's file counts then. ``None``: flags or inputs.
        settings: for all assistants.
        base: the state to compare with, if it is named.
        host: where this runs.
    """
    if settings.baseline not in SEARCHED or not _ABOUT_TESTS & set(settings.fail_on):
        return []
    checkout = find_checkout(Path())
    search = BaseSearch(settings, checkout, host, lambda _what, _error: None)
    found = search.find_named(base) if base else search.find()
    commit = getattr(found, "commit", None)
    if commit is None:
        return []
    with ExitStack() as stack:
        try:
            files = checkout.files_of(commit) if checkout and checkout.commit(commit) else host.files_of(commit)
            tree = stack.enter_context(files) if files is not None else None
            if tree is None:
                return []
            above = checkout.top if checkout is not None else Path()
            here = tree / Path.cwd().relative_to(above.resolve()) if checkout is not None else tree
            if top is not None:
                listed = read_settings_file(here / top).values.get("projects", ()) if (here / top).is_dir() else ()
                words = [os.path.relpath(word, here) for word in listed]
        except (GitError, HostError, UserError, ValueError):
            return []
        there = {os.path.normpath(match): _real(here, match) for word in words for match in _assistants(here, word)}
    now = {_real(Path(), path) for path in measured}
    accepted = {os.path.normpath(one) for one in settings.accept_gone}
    return [path for path, real in there.items() if real not in now and not {path, real} & accepted]


def _real(folder: Path, path: Path | str) -> str:
    """Return where an assistant is, from the folder: a symbolic link to one is not another one."""
    return os.path.relpath(os.path.realpath(folder / path), os.path.realpath(folder))


def _assistants(here: Path, word: str) -> list[str]:
    if Path(word).is_absolute() or ".." in Path(word).parts:
        return []
    matches = glob.glob(word, root_dir=here, recursive=True)  # noqa: PTH207 - the rules of those of this run
    found = sorted(matches) if glob.has_magic(word) else [word]
    return [one for one in found if (here / one).exists() and may_be_assistant(here / one)]


def why_gone(path: str) -> str:
    """Say what is wrong, and what to do if it is intended."""
    done = "no longer measures it" if Path(path).exists() else "deletes it"
    return f"the base measures it, and this change {done}, with all its tests (`accept-gone` lists what may be deleted)"
