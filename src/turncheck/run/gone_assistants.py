"""Several assistants of the base: which of this run each is compared with, and which are gone with all their tests."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.ci.base import BaseSearch
from turncheck.ci.base_files import NoFilesError, files_of_commit
from turncheck.ci.git import find_checkout
from turncheck.ci.host import Base, HostError
from turncheck.comparison.gone_tests import GONE_TESTS
from turncheck.run.base_projects import BaseTree, paired, path_in_repository
from turncheck.run.find_baseline import SEARCHED, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from turncheck.ci.host import Host
    from turncheck.settings.options import Settings

_ABOUT_TESTS: Final = frozenset({GONE_TESTS, "test-failures", "new-failures"})


@dataclass(frozen=True, slots=True)
class AssistantsOfBase:
    """``past``: where each assistant of this run was, by its folder; ``gone``: those that it does not measure any
    more, by their paths from the current folder."""

    past: Mapping[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    out_of_reach: str = ""
    """Why it is not known which there are, if only a part of the base's files can be had."""

    def of(self, folder: Path) -> str | None:
        """Return where an assistant was, by its path in the repository, if that is known."""
        return self.past.get(str(folder))


UNKNOWN: Final = AssistantsOfBase()


def assistants_of_base(
    measured: Iterable[Path], *, given: Mapping[str, Any], settings: Settings, host: Host
) -> AssistantsOfBase:
    """Return what becomes of the assistants that the base has.

    Nothing is known if the base's files are out of reach (the gates of each assistant say so). None counts as gone if
    no gate is about tests, nor one that the setting ``accept-gone`` names.

    Args:
        measured: the folders that this run measures.
        given: the settings from flags or inputs, which choose them together with the base's own file.
        settings: for all assistants.
        host: where this runs.
    """
    around = next(iter(measured := list(measured)), Path())
    checkout = find_checkout(around, outer=bool(host.name))
    top = checkout.top if checkout is not None else host.run.workspace
    if settings.baseline not in SEARCHED or top is None:
        return UNKNOWN
    search = BaseSearch(settings, checkout, host, lambda _what, _error: None)
    found = search.find_named(given["base"]) if given.get("base") else search.find()
    if not isinstance(found, Base) or found.commit is None:
        return UNKNOWN
    with ExitStack() as stack:
        try:
            files = stack.enter_context(files_of_commit(found.commit, checkout, host, top))
        except (NoFilesError, HostError):
            return UNKNOWN
        tree = BaseTree(files.folder, top, checkout.links() if checkout is not None else {})
        words = words_of(given)
        if lacking := [one for word in words for path in tree.needed_for(word) if (one := files.lacks(path))]:
            return AssistantsOfBase(out_of_reach=f"not all files of the base can be had: '{lacking[0]}' is missing")
        then = tree.projects(words, given="project" in given, flags=given)
        now = {path: folder for folder in measured if (path := path_in_repository(folder, top)) is not None}
        pairs = paired(now, then, all_of_them=False)
    past = {str(folder): pairs[path].path for path, folder in now.items() if path in pairs}
    if not _ABOUT_TESTS & set(settings.fail_on):
        return AssistantsOfBase(past)
    accepted = {os.path.normpath(one) for one in settings.accept_gone}
    kept = {one.path for one in pairs.values()}
    gone = (os.path.relpath(top / one.path) for one in then if one.path not in kept)
    return AssistantsOfBase(past, tuple(one for one in gone if one not in accepted))


def why_gone(path: str) -> str:
    """Say what is wrong, and what to do if it is intended."""
    done = "no longer measures it" if Path(path).exists() else "deletes it"
    return f"the base measures it, and this change {done}, with all its tests (`accept-gone` lists what may be deleted)"
