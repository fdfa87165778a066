"""Several assistants of one repository: each measured as if it were alone, one after the other or in parallel."""

from __future__ import annotations

import dataclasses
import glob
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from turncheck.ci.base import BaseSearch
from turncheck.ci.git import find_checkout
from turncheck.ci.host import Base, Host, HostError
from turncheck.ci.hosts import find_host
from turncheck.conclude import NamedOutcome, Outcome, Outcomes, UnmeasuredAssistant
from turncheck.gates.table import is_about_tests
from turncheck.messages.errors import EXIT_INTERRUPTED, UserError, user_error_from_os
from turncheck.messages.finding import shown_path
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import plain
from turncheck.process.environment import redact
from turncheck.process.fault import fault_report
from turncheck.process.output_files import ensure_replaceable
from turncheck.process.screen import Console
from turncheck.project.folder import may_be_assistant
from turncheck.render.assistants import key_of
from turncheck.render.page.page import NAME as HTML_NAME
from turncheck.report.model import ProjectInfo
from turncheck.run.base_projects import BaseTree, paired, path_in_repository
from turncheck.run.find_baseline import SEARCHED, words_of
from turncheck.run.folders import ensure_apart_from_project
from turncheck.run.prepare import baseline_finder, links_of, locate_in_repository, prepare, root_in_repository
from turncheck.run.report_of import report_of
from turncheck.run.run import run_and_conclude
from turncheck.settings.declared import of_scope, options
from turncheck.settings.file import read_settings_file
from turncheck.settings.options import formats_of
from turncheck.settings.sources import FILE_NAME, combine
from turncheck.work.workplace import processors, workplace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.settings.options import Settings


# Several assistants of the base: which of this run each is compared with, and which are gone with all their tests.


class AssistantsOfBase(msgspec.Struct, frozen=True):
    """``past``: where each assistant of this run was, by its folder; ``gone``: those that it does not measure any
    more, by their paths from the current folder."""

    past: Mapping[str, str] = msgspec.field(default_factory=dict)
    gone: tuple[str, ...] = ()
    out_of_reach: str = ""
    """Why it is not known which there are, if only a part of the base's files can be had."""

    def of(self, folder: Path) -> str | None:
        """Return where an assistant was, by its path in the repository, if that is known."""
        return self.past.get(str(folder))


UNKNOWN: Final = AssistantsOfBase()


def assistants_of_base(
    measured: Iterable[Path], *, overrides: Mapping[str, Any], settings: Settings, host: Host
) -> AssistantsOfBase:
    """Return what becomes of the assistants that the base has.

    Nothing is known if the base's files are out of reach (the gates of each assistant say so). None counts as gone if
    no gate is about tests, nor one that the setting ``accept-gone`` names.

    Args:
        measured: the folders that this run measures.
        overrides: the settings from flags or inputs, which choose them together with the base's own file.
        settings: for all assistants.
        host: where this runs.
    """
    around = next(iter(measured := list(measured)), Path())
    checkout = find_checkout(around, outer=bool(host.name))
    top = checkout.top if checkout is not None else host.run.workspace
    if settings.baseline not in SEARCHED or top is None:
        return UNKNOWN
    search = BaseSearch(settings, checkout, host, lambda _what, _error: None)
    found = search.find_named(overrides["base"]) if overrides.get("base") else search.find()
    if not isinstance(found, Base) or found.commit is None:
        return UNKNOWN
    from turncheck.ci.base_files import NoFilesError, files_of_commit  # only against a base
    from turncheck.run.moved_assistants import moved_here

    with ExitStack() as stack:
        try:
            files = stack.enter_context(files_of_commit(found.commit, checkout, host, top))
        except (NoFilesError, HostError):
            return UNKNOWN
        tree = BaseTree(files.folder, top)
        words = words_of(overrides)
        if lacking := [one for word in words for path in tree.needed_for(word) if (one := files.lacks(path))]:
            return AssistantsOfBase(out_of_reach=f"not all files of the base can be had: '{lacking[0]}' is missing")
        then = tree.projects(words, given="project" in overrides, flags=overrides)
        now = {path: folder for folder in measured if (path := path_in_repository(folder, top)) is not None}
        pairs = paired(now, then, all_of_them=False)
        for path, folder in now.items() if "project" in overrides and not any(map(tree.is_pattern, words)) else ():
            moved = moved_here(tree, path, folder) if path not in pairs else None
            if moved is not None and moved.project.path not in {pair.path for pair in pairs.values()}:
                pairs[path] = moved.project
    past = {str(folder): pairs[path].path for path, folder in now.items() if path in pairs}
    if not is_about_tests(settings.fail_on):
        return AssistantsOfBase(past)
    accepted = {os.path.normpath(one) for one in settings.accept_gone}
    kept = {pair.path for pair in pairs.values()}
    gone = (os.path.relpath(top / base_project.path) for base_project in then if base_project.path not in kept)
    return AssistantsOfBase(past, tuple(one for one in gone if one not in accepted))


def why_gone(path: str) -> str:
    """Say what is wrong, and what to do if it is intended."""
    done = "no longer measures it" if Path(path).exists() else "deletes it"
    return f"the base measures it, and this change {done}, with all its tests (`accept-gone` lists what may be deleted)"


# One assistant among several, measured as if it were alone: in this process, or in one of its own.

_REPORT: Final = "report.json"


class AssistantTask(msgspec.Struct, frozen=True):
    """What is needed to measure one of them; it is sent to other processes.

    ``folder`` is that of its results below ``out``; ``given`` are the settings from flags or inputs, for each of them;
    ``chooser`` is the folder whose file names them, if they are not named by flags or inputs.
    """

    path: Path
    folder: str
    out: str
    given: Mapping[str, Any]
    environment: Mapping[str, str]
    in_action: bool = False
    chooser: Path | None = None
    past: str | None = None
    """Where it is on the base, by its path in the repository, if that is known."""

    @property
    def shown(self) -> str:
        """Its name for people."""
        return shown_path(self.path)

    def measured(self, screen: Console, host: Host | None = None) -> Outcome | UserError:
        """Return its result, or why it could not be measured, which does not affect the others.

        Raises:
            KeyboardInterrupt: somebody interrupted it before there was anything to report.
        """
        try:
            return self._outcome(screen, host)
        except UserError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the others are measured whatever happens to this one
            if (trouble := user_error_from_os(error)) is None:
                sys.stderr.write(fault_report(error))
                trouble = UserError(f"turncheck itself failed ({type(error).__name__})")
            return trouble

    def _outcome(self, screen: Console, host: Host | None) -> Outcome:
        given = {**self.given, "project": str(self.path), "out": str(Path(self.out) / self.folder)}
        baseline = given.get("baseline")
        if baseline is not None and baseline not in {*SEARCHED, "none"}:
            given["baseline"] = _report_among(str(baseline), self.folder)
        prepared = prepare(
            given,
            self.environment,
            in_action=self.in_action,
            host=host,
            among=self.folder,
            chooser=self.chooser,
            past=self.past,
        )
        screen = dataclasses.replace(screen, timings={})
        return run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen)


class SubprocessTask(msgspec.Struct, frozen=True):
    """One assistant to measure in a process of its own, and how much to show of it."""

    one: AssistantTask
    quiet: bool
    verbose: bool


def measure_in_subprocess(task: SubprocessTask) -> Outcome | UserError:
    """Measure one in a process of its own; each of its lines names the assistant."""
    return task.one.measured(Console(quiet=task.quiet, verbose=task.verbose, about=task.one.shown))


def _report_among(baseline: str, folder: str) -> str:
    """The report of one assistant in the folder of results of several."""
    if not Path(baseline).is_dir():
        raise UserError(
            f"baseline: '{baseline}' is not a folder of results, and several assistants are compared",
            hint="Name the folder that a run of the same assistants wrote, or omit it.",
        )
    return str(Path(baseline) / folder / _REPORT)


_MOST_SHOWN: Final = 5
_AT_ONCE_PER_PROCESSOR: Final = 2
"""Each of them spends most of its time waiting for the cluster."""
_INTERRUPTED: Final = "the run was interrupted"
_INTERRUPTED_BEFORE: Final = "the run was interrupted before this"
_Measured: TypeAlias = "Outcome | UserError | str"
"""The outcome of one: a string says why it has neither a result nor a fault."""


class Chosen(msgspec.Struct, frozen=True):
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


def choose(overrides: Mapping[str, Any]) -> Chosen | None:
    """Return the assistants that the settings name, if they name several.

    They do so by several folders or a pattern (``bots/*``) as the project, or by ``projects`` in the ``turncheck.yml``
    of the folder that is the project.

    Raises:
        UserError: nothing matches, or a setting only makes sense for one assistant.
    """
    words = words_of(overrides)
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
        known = options()
        names = [name.replace("_", "-") for name in shared]
        if foreign := [name for name in names if not known[name].beside_projects]:
            raise UserError(
                f"{top / FILE_NAME}: `{foreign[0]}` beside `projects`",
                hint=f"It belongs in the {FILE_NAME} of each assistant.",
            )
    for name in of_scope("one assistant"):
        if overrides.get(name.replace("-", "_")) is not None:
            raise UserError(
                f"--{name} is about one assistant, but several are named",
                hint="Name one with --project.",
            )
    folders, skipped = _folders(words)
    settings = combine({name: value for name, value in overrides.items() if name != "project"}, shared)
    for folder in folders.values():  # before anything is measured
        ensure_apart_from_project(Path(settings.out), dataclasses.replace(settings, project=str(folder)))
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
            hint="An assistant has a domain.yml beside its config.yml or its folder data/, or an export of Kore.ai.",
        )
    return folders, tuple(skipped)


def _matches(word: str, skipped: list[str]) -> list[str]:
    """What a path or a pattern names; symbolic links out of the searched folder are skipped."""
    if os.path.lexists(word) or not glob.has_magic(word):
        return [word]
    found = sorted(glob.glob(word, recursive=True))  # noqa: PTH207 - pathlib finds nothing for an absolute pattern
    if not found:
        raise UserError(f"nothing matches '{word}'", hint="Correct the pattern; it is relative to the current folder.")
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
    screen: Console
    finished: Callable[[str, Outcome], object]
    in_action: bool = False
    host: Host = field(init=False)
    _members: list[NamedOutcome] = field(default_factory=list)
    _unmeasured: list[UnmeasuredAssistant] = field(default_factory=list)
    _past: AssistantsOfBase = UNKNOWN

    def __post_init__(self) -> None:
        self.host = find_host(self.environment, self.chosen.settings.token)

    def measure(self) -> Outcomes:
        """Measure all of them; one that cannot be measured does not affect the others.

        Raises:
            UserError: the cluster that is to measure them cannot be used.
        """
        settings = self.chosen.settings
        for skipped in self.chosen.skipped:
            self.screen.note(f"Skipped: {skipped}")
        self._past = assistants_of_base(
            self.chosen.folders.values(), overrides=self.given, settings=settings, host=self.host
        )
        ones = [self._one(folder, path) for folder, path in self.chosen.folders.items()]
        interrupted = self._side_by_side(ones) if self._is_spread() else self._one_by_one(ones)
        if not interrupted:
            self._find_gone()
        links = replace(
            links_of(self.host),
            trace_url=settings.trace_url or "",
            artifact_url=self.host.results_url(settings.out),
            html_url=self.host.results_url(settings.out, HTML_NAME),
        )
        return Outcomes(
            members=tuple(self._members),
            unmeasured=tuple(self._unmeasured),
            key=key_of(self._name(assistant_task.folder, assistant_task.path) for assistant_task in ones),
            links=links,
            flavour=settings.junit_flavour,
            formats=formats_of(settings, self.host.formats),
        )

    def _one(self, folder: str, path: Path) -> AssistantTask:
        out, variables = self.chosen.settings.out, dict(self.environment)
        top, past = self.chosen.top, self._past.of(path)
        return AssistantTask(path, folder, out, self.given, variables, self.in_action, top, past)

    def _one_by_one(self, ones: Sequence[AssistantTask]) -> bool:
        """Measure them in this process, and return whether somebody interrupted it."""
        interrupted = False
        for number, assistant_task in enumerate(ones, 1):
            if interrupted:
                self._take(assistant_task, _INTERRUPTED_BEFORE)
                continue
            self.screen.note(f"--- {assistant_task.shown} ({number} of {len(ones)})")
            try:
                measured: _Measured = assistant_task.measured(self.screen, self.host)
            except KeyboardInterrupt:
                measured = _INTERRUPTED
            self._take(assistant_task, measured)
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

    def _side_by_side(self, ones: Sequence[AssistantTask]) -> bool:
        """Measure them in processes of their own, all on one cluster; return whether somebody interrupted it."""
        from turncheck.process.side_by_side import Ended, side_by_side  # few runs use one

        with workplace_of(self.chosen.settings, Console(quiet=True)):
            pass  # its faults are reported once, before anything is measured
        at_once = min(len(ones), _AT_ONCE_PER_PROCESSOR * processors())
        self.screen.note(f"{count(len(ones), 'assistant')}, {at_once} at a time")
        measured: dict[str, _Measured] = {}
        done = 0
        assistant_tasks = iter(ones)
        next_one = next(assistant_tasks, None)

        def take(task: SubprocessTask, result: _Measured | Ended) -> None:
            nonlocal next_one, done
            done += 1
            if isinstance(result, Ended):
                result = _INTERRUPTED if result.why is None else UserError(result.why)
            measured[task.one.folder] = result
            self.screen.note(f"{task.one.shown}: done ({done} of {len(ones)})")
            while next_one is not None and next_one.folder in measured:
                self._take(next_one, measured.pop(next_one.folder))
                next_one = next(assistant_tasks, None)

        screen = self.screen
        tasks = [SubprocessTask(assistant_task, screen.quiet, screen.verbose) for assistant_task in ones]
        interrupted = side_by_side(measure_in_subprocess, tasks, at_once=at_once, done=take)
        while next_one is not None:
            self._take(next_one, measured.get(next_one.folder, _INTERRUPTED_BEFORE))
            next_one = next(assistant_tasks, None)
        return interrupted

    def _take(self, assistant_task: AssistantTask, measured: _Measured) -> None:
        """Record the outcome of one."""
        if isinstance(measured, str):
            self._give_up(assistant_task.folder, assistant_task.path, measured)
        elif isinstance(measured, UserError):
            self._refuse(assistant_task.folder, assistant_task.path, measured)
        else:
            self._members.append(NamedOutcome(assistant_task.folder, measured))
            self.finished(assistant_task.shown, measured)

    def _find_gone(self) -> None:
        """Report the assistants of the base that this run does not have, or that it is not known which there are."""
        if why := self._past.out_of_reach:
            words = " ".join(self.chosen.words)
            _report_error(f"{shown_path(words)}: {why}")
            self._give_up(_folder_of_results(Path(words), self.chosen.folders), Path(words), why)
        for gone in self._past.gone:
            why = why_gone(gone)
            _report_error(f"{shown_path(gone)}: {why}")
            self._give_up(_folder_of_results(Path(gone), self.chosen.folders), Path(gone), why)

    def _refuse(self, folder: str, path: Path, error: UserError) -> None:
        _report_error(error.for_repository(str(path)))
        name = self._name(folder, path)
        why = ". ".join(part.rstrip(".") for part in (error.message, error.hint) if part)
        place = f"{error.location.below(name)}: " if error.location else ""
        self._give_up(folder, path, redact(f"{place}{why}"))

    def _give_up(self, folder: str, path: Path, why: str) -> None:
        source, root = locate_in_repository(path, self.host, otherwise=folder)
        info = ProjectInfo(name=path.resolve().name, root=root)
        report = report_of(info, self.chosen.settings.seed, source=source, stopped=why)
        self._unmeasured.append(UnmeasuredAssistant(folder, report))

    def _name(self, folder: str, path: Path) -> str:
        """Its name: its path in the repository, if there is one."""
        return root_in_repository(path, self.host, otherwise=folder) or path.resolve().name


def _is_interrupted(measured: _Measured) -> bool:
    return not isinstance(measured, str | UserError) and measured.exit_code == EXIT_INTERRUPTED


def _report_error(text: str) -> None:
    sys.stderr.write(redact(plain(f"turncheck: error: {text}\n")))
