"""Several assistants of one repository: each measured as if it were alone, one after the other or in parallel."""

from __future__ import annotations

import glob
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from turncheck.ci.hosts import find_host
from turncheck.conclude import Member, Several, Unmeasured
from turncheck.messages.errors import EXIT_INTERRUPTED, UserError
from turncheck.messages.location import shown_path
from turncheck.messages.plurals import count
from turncheck.process.own_files import ensure_replaceable
from turncheck.process.screen import Screen
from turncheck.process.secret import redact
from turncheck.project.assistants_below import may_be_assistant
from turncheck.render.assistants import key_of
from turncheck.render.page.page import NAME as HTML_NAME
from turncheck.report.model import ProjectInfo
from turncheck.run.gone_assistants import UNKNOWN, assistants_of_base, why_gone
from turncheck.run.one_of_several import ItsOwnProcess, OneOfSeveral, measured_beside_others
from turncheck.run.output_folder import ensure_apart_from_project
from turncheck.run.prepare import links_of, root_in_repository, where_it_stands
from turncheck.run.report_of import report_of
from turncheck.settings.file import read_settings_file
from turncheck.settings.sources import FILE_NAME, combine
from turncheck.work.choice import workplace_of
from turncheck.work.workplace import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.ci.host import Host
    from turncheck.conclude import Outcome
    from turncheck.run.gone_assistants import AssistantsOfBase
    from turncheck.settings.options import Settings

_OF_ALL: Final = (
    *("comment", "check_run", "annotations", "artifact_name", "retention_days"),
    *("junit_flavour", "output_format", "accept_gone"),
)
"""Settings about the common output, which the file at the top may have besides ``projects``."""
_OF_ONE: Final = ("model", "rasa_url", "kore_bot_id", "kore_bot_name")
"""Settings that name something in one assistant."""
_MOST_SHOWN: Final = 5
_AT_ONCE_PER_PROCESSOR: Final = 2
"""Each of them spends most of its time waiting for the cluster."""
_INTERRUPTED: Final = "the run was interrupted"
_INTERRUPTED_BEFORE: Final = "the run was interrupted before this"
_Measured: TypeAlias = "Outcome | UserError | str"
"""The outcome of one: a string says why it has neither a result nor a fault."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The assistants that a run measures, by the folders for their results; and what was skipped.

    ``settings`` are those for the common output.
    """

    folders: Mapping[str, Path]
    settings: Settings
    words: tuple[str, ...]
    """The folders and patterns that name them."""
    top: Path | None = None
    """The folder whose file has these patterns; ``None``: they are flags or inputs."""
    skipped: tuple[str, ...] = ()


def choose(given: Mapping[str, Any]) -> Chosen | None:
    """Return the assistants that the settings name, if they name several.

    They do so by several folders or a pattern (``bots/*``) as the project, or by ``projects`` in the ``turncheck.yml``
    of the folder that is the project.

    Raises:
        UserError: nothing matches, or a setting only makes sense for one assistant.
    """
    words = [line.strip() for line in str(given.get("project", ".")).splitlines() if line.strip()]
    if not words:
        return None
    shared: dict[str, Any] = {}
    top: Path | None = None
    if len(words) == 1 and (Path(words[0]).exists() or not glob.has_magic(words[0])):
        top = Path(words[0])
        file = read_settings_file(top) if top.is_dir() else None
        if file is None or "projects" not in file.values:
            return None
        shared = dict(file.values)
        words = list(shared.pop("projects"))
        if foreign := [name.replace("_", "-") for name in shared if name not in _OF_ALL]:
            raise UserError(
                f"{top / FILE_NAME}: `{foreign[0]}` beside `projects`",
                remedy=f"It belongs in the {FILE_NAME} of each assistant.",
            )
    for name in _OF_ONE:
        if given.get(name) is not None:
            raise UserError(
                f"--{name.replace('_', '-')} is about one assistant, but several are named",
                remedy="Name one with --project.",
            )
    folders, skipped = _folders(words)
    settings = combine({name: value for name, value in given.items() if name != "project"}, shared)
    for folder in folders.values():  # before anything is measured
        ensure_apart_from_project(Path(settings.out), replace(settings, project=str(folder)))
    ensure_replaceable(Path(settings.out))
    return Chosen(folders, settings, tuple(words), top, skipped)


def _folders(words: Sequence[str]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """The folders that these patterns name, each once, and what they match that is not an assistant."""
    folders: dict[str, Path] = {}
    skipped: list[str] = []
    seen: set[str] = set()
    found = dict.fromkeys(Path(match) for word in words for match in _matches(word, skipped))
    for path in sorted(found, key=os.path.islink):  # a symbolic link to one of them is not another one
        real = os.path.realpath(path)
        if path.exists() and not may_be_assistant(path):
            skipped.append(f"{shown_path(path)} (not an assistant)")
        elif real not in seen:
            seen.add(real)
            folders[_folder_of_results(path, folders)] = path
    if not folders:
        text = ", ".join(skipped[:_MOST_SHOWN]) or "nothing is named"
        raise UserError(
            f"there is no assistant here: {text}",
            remedy="An assistant has a domain.yml beside its config.yml or its folder data/, or an export of Kore.ai.",
        )
    return folders, tuple(skipped)


def _matches(word: str, skipped: list[str]) -> list[str]:
    """What a path or a pattern names; symbolic links out of the searched folder are skipped."""
    if os.path.lexists(word) or not glob.has_magic(word):
        return [word]
    found = sorted(glob.glob(word, recursive=True))  # noqa: PTH207 - pathlib finds nothing for an absolute pattern
    if not found:
        raise UserError(
            f"nothing matches '{word}'", remedy="Correct the pattern; it is relative to the current folder."
        )
    parts = Path(word).parts
    searched = Path(*parts[: next(index for index, part in enumerate(parts) if glob.has_magic(part))])
    fence = os.path.realpath(searched)
    inside = [path for path in found if Path(os.path.realpath(path)).is_relative_to(fence)]
    skipped += [f"{shown_path(path)} (a link that leads out)" for path in found if path not in inside]
    return inside


def _folder_of_results(path: Path, taken: Mapping[str, object]) -> str:
    """The path from here, without leading ``..``; another one if that is taken."""
    parts = [part for part in Path(os.path.relpath(path)).parts if part not in {".", ".."}]
    name = shown_path("/".join(parts) or path.resolve().name)
    number = 2
    distinct = name
    while distinct in taken:
        distinct = f"{name}-{number}"
        number += 1
    return distinct


@dataclass(slots=True)
class SeveralRuns:
    """Measures the chosen assistants: one after the other, or in parallel on a cluster.

    Args:
        chosen: the assistants.
        given: the settings from flags or inputs, which apply to each.
        environment: the variables of the process.
        screen: where progress is shown.
        finished: called with the name of each and its result, in order, as soon as it is known.
        in_action: as for :func:`turncheck.run.prepare.prepare`.
    """

    chosen: Chosen
    given: Mapping[str, Any]
    environment: Mapping[str, str]
    screen: Screen
    finished: Callable[[str, Outcome], object]
    in_action: bool = False
    host: Host = field(init=False)
    _members: list[Member] = field(default_factory=list)
    _unmeasured: list[Unmeasured] = field(default_factory=list)
    _past: AssistantsOfBase = UNKNOWN

    def __post_init__(self) -> None:
        self.host = find_host(self.environment, self.chosen.settings.token)

    def measure(self) -> Several:
        """Measure all of them; one that cannot be measured does not affect the others.

        Raises:
            UserError: the cluster that is to measure them cannot be used.
        """
        settings = self.chosen.settings
        for skipped in self.chosen.skipped:
            self.screen.note(f"Skipped: {skipped}")
        self._past = assistants_of_base(
            self.chosen.folders.values(), given=self.given, settings=settings, host=self.host
        )
        ones = [self._one(folder, path) for folder, path in self.chosen.folders.items()]
        interrupted = self._side_by_side(ones) if self._is_spread() else self._one_by_one(ones)
        if not interrupted:
            self._find_gone()
        links = replace(
            links_of(self.host),
            artifact_url=self.host.results_url(settings.out),
            html_url=self.host.results_url(settings.out, HTML_NAME),
        )
        return Several(
            members=tuple(self._members),
            unmeasured=tuple(self._unmeasured),
            key=key_of(self._name(one.folder, one.path) for one in ones),
            links=links,
            flavour=settings.junit_flavour,
            formats=settings.output_format or self.host.formats,
        )

    def _one(self, folder: str, path: Path) -> OneOfSeveral:
        out, variables = self.chosen.settings.out, dict(self.environment)
        top, past = self.chosen.top, self._past.of(path)
        return OneOfSeveral(path, folder, out, self.given, variables, self.in_action, top, past)

    def _one_by_one(self, ones: Sequence[OneOfSeveral]) -> bool:
        """Measure them in this process, and return whether somebody interrupted it."""
        interrupted = False
        for number, one in enumerate(ones, 1):
            if interrupted:
                self._take(one, _INTERRUPTED_BEFORE)
                continue
            self.screen.note(f"--- {one.shown} ({number} of {len(ones)})")
            try:
                measured: _Measured = one.measured(self.screen, self.host)
            except KeyboardInterrupt:
                measured = _INTERRUPTED
            self._take(one, measured)
            interrupted = measured is _INTERRUPTED or _is_interrupted(measured)
        return interrupted

    def _is_spread(self) -> bool:
        """Whether a cluster does most of the work, so that several are measured at the same time."""
        if self.chosen.settings.cluster is None or len(self.chosen.folders) == 1:
            return False
        if self.chosen.settings.action_server is None:
            return True
        self.screen.note(
            "--action-server starts one server at a time: the assistants are measured one after the other."
        )
        return False

    def _side_by_side(self, ones: Sequence[OneOfSeveral]) -> bool:
        """Measure them in processes of their own, all on one cluster; return whether somebody interrupted it."""
        from turncheck.process.side_by_side import Ended, side_by_side  # few runs use one

        with workplace_of(self.chosen.settings, Screen(quiet=True)):
            pass  # its faults are reported once, before anything is measured
        at_once = min(len(ones), _AT_ONCE_PER_PROCESSOR * processors())
        self.screen.note(f"{count(len(ones), 'assistant')}, {at_once} at a time")
        measured: dict[str, _Measured] = {}
        done = 0
        told = iter(ones)
        next_one = next(told, None)

        def take(task: ItsOwnProcess, result: _Measured | Ended) -> None:
            nonlocal next_one, done
            done += 1
            if isinstance(result, Ended):
                result = _INTERRUPTED if result.why is None else UserError(result.why)
            measured[task.one.folder] = result
            self.screen.note(f"{task.one.shown}: done ({done} of {len(ones)})")
            while next_one is not None and next_one.folder in measured:
                self._take(next_one, measured.pop(next_one.folder))
                next_one = next(told, None)

        screen = self.screen
        tasks = [ItsOwnProcess(one, screen.quiet, screen.verbose) for one in ones]
        interrupted = side_by_side(measured_beside_others, tasks, at_once=at_once, done=take)
        while next_one is not None:
            self._take(next_one, measured.get(next_one.folder, _INTERRUPTED_BEFORE))
            next_one = next(told, None)
        return interrupted

    def _take(self, one: OneOfSeveral, measured: _Measured) -> None:
        """Record the outcome of one."""
        if isinstance(measured, str):
            self._give_up(one.folder, one.path, measured)
        elif isinstance(measured, UserError):
            self._refuse(one.folder, one.path, measured)
        else:
            self._members.append(Member(one.folder, measured))
            self.finished(one.shown, measured)

    def _find_gone(self) -> None:
        """Report the assistants of the base that this run does not have, or that it is not known which there are."""
        if why := self._past.out_of_reach:
            words = " ".join(self.chosen.words)
            sys.stderr.write(redact(f"turncheck: error: {shown_path(words)}: {why}\n"))
            self._give_up(_folder_of_results(Path(words), self.chosen.folders), Path(words), why)
        for gone in self._past.gone:
            why = why_gone(gone)
            sys.stderr.write(redact(f"turncheck: error: {shown_path(gone)}: {why}\n"))
            self._give_up(_folder_of_results(Path(gone), self.chosen.folders), Path(gone), why)

    def _refuse(self, folder: str, path: Path, error: UserError) -> None:
        sys.stderr.write(redact(f"turncheck: error: {error.seen_from_above(str(path))}\n"))
        name = self._name(folder, path)
        why = ". ".join(part.rstrip(".") for part in (error.what, error.remedy) if part)
        place = f"{error.location.below(name)}: " if error.location else ""
        self._give_up(folder, path, redact(f"{place}{why}"))

    def _give_up(self, folder: str, path: Path, why: str) -> None:
        source, root = where_it_stands(path, self.host, otherwise=folder)
        info = ProjectInfo(name=path.resolve().name, root=root)
        report = report_of(info, self.chosen.settings.seed, source=source, stopped=why)
        self._unmeasured.append(Unmeasured(folder, report))

    def _name(self, folder: str, path: Path) -> str:
        """Its name: its path in the repository, if there is one."""
        return root_in_repository(path, self.host, otherwise=folder) or path.resolve().name


def _is_interrupted(measured: _Measured) -> bool:
    return not isinstance(measured, str | UserError) and measured.exit_code == EXIT_INTERRUPTED
