"""Several assistants of one repository, measured one after the other: each as if it were alone."""

from __future__ import annotations

import glob
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.ci.hosts import find_host
from turncheck.conclude import Member, Several, Unmeasured
from turncheck.messages.errors import EXIT_INTERRUPTED, UserError, trouble_of_system
from turncheck.messages.location import shown_path
from turncheck.process.fault import fault_report
from turncheck.process.secret import redact
from turncheck.project.assistants_below import may_be_assistant
from turncheck.render.assistants import key_of
from turncheck.render.page.page import NAME as HTML_NAME
from turncheck.report.model import ProjectInfo
from turncheck.run.find_baseline import SEARCHED
from turncheck.run.gone_assistants import gone_assistants, why_gone
from turncheck.run.prepare import baseline_finder, links_of, prepare, root_in_repository, where_it_stands
from turncheck.run.report_of import report_of
from turncheck.run.run import run_and_conclude
from turncheck.settings.file import read_settings_file
from turncheck.settings.sources import FILE_NAME, combine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.ci.host import Host
    from turncheck.conclude import Outcome
    from turncheck.process.screen import Screen
    from turncheck.settings.options import Settings

_OF_ALL: Final = (
    *("comment", "check_run", "annotations", "artifact_name", "retention_days"),
    *("junit_flavour", "output_format", "accept_gone"),
)
"""Settings about what is said of all, which the file at the top may have beside ``projects``."""
_OF_ONE: Final = ("model", "rasa_url", "kore_bot_id", "kore_bot_name")
"""Settings that name something of one assistant."""
_REPORT: Final = "report.json"
_MOST_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Chosen:
    """The assistants that a run is to measure, by the folders that their results go to; and what was skipped.

    ``settings`` are those of what is said of all.
    """

    folders: Mapping[str, Path]
    settings: Settings
    words: tuple[str, ...]
    """The folders and patterns that name them."""
    top: Path | None = None
    """The folder whose file has these words; ``None``: they are flags or inputs."""
    skipped: tuple[str, ...] = ()


def choose(given: Mapping[str, Any]) -> Chosen | None:
    """Return the assistants that the settings name, where these are several.

    They do so by several folders or a pattern (``bots/*``) as the project, or by ``projects`` in the ``turncheck.yml``
    of the folder that is the project.

    Raises:
        UserError: nothing matches, or a setting is about one assistant alone.
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
                f"--{name.replace('_', '-')} is about one assistant, and several are to be measured",
                remedy="Name one with --project.",
            )
    folders, skipped = _folders(words)
    settings = combine({name: value for name, value in given.items() if name != "project"}, shared)
    return Chosen(folders, settings, tuple(words), top, skipped)


def _folders(words: Sequence[str]) -> tuple[dict[str, Path], tuple[str, ...]]:
    """The folders that these words and patterns name, each once, and what they match that is not an assistant."""
    folders: dict[str, Path] = {}
    skipped: list[str] = []
    seen: set[str] = set()
    found = dict.fromkeys(Path(match) for word in words for match in _matches(word, skipped))
    for path in sorted(found, key=os.path.islink):  # a link to one of them is not another one
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
    """What a path or a pattern names; links out of the folder that it is looked for in are skipped."""
    if os.path.lexists(word) or not glob.has_magic(word):
        return [word]
    found = sorted(glob.glob(word, recursive=True))  # noqa: PTH207 - of an absolute pattern pathlib finds nothing
    if not found:
        raise UserError(f"nothing matches '{word}'", remedy="Correct the pattern; it counts from here.")
    parts = Path(word).parts
    searched = Path(*parts[: next(index for index, part in enumerate(parts) if glob.has_magic(part))])
    fence = os.path.realpath(searched)
    inside = [path for path in found if Path(os.path.realpath(path)).is_relative_to(fence)]
    skipped += [f"{shown_path(path)} (a link that leads out)" for path in found if path not in inside]
    return inside


def _folder_of_results(path: Path, taken: Mapping[str, object]) -> str:
    """The path from here, without what leads up; another one where that is taken."""
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
    """Measures the assistants that were chosen, one after the other.

    Args:
        chosen: which they are.
        given: the settings from flags or inputs, which hold for each.
        environment: the variables of the process.
        screen: where progress is shown.
        tell: called with the name of each and what it made, as soon as that is known.
        in_action: as for :func:`turncheck.run.prepare.prepare`.
    """

    chosen: Chosen
    given: Mapping[str, Any]
    environment: Mapping[str, str]
    screen: Screen
    tell: Callable[[str, Outcome], object]
    in_action: bool = False
    host: Host = field(init=False)
    _members: list[Member] = field(default_factory=list)
    _unmeasured: list[Unmeasured] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host = find_host(self.environment, self.chosen.settings.token)

    def measure(self) -> Several:
        """Measure all of them; one that cannot be measured hides none of the others."""
        settings = self.chosen.settings
        for skipped in self.chosen.skipped:
            self.screen.note(f"Skipped: {skipped}")
        interrupted = False
        for number, (folder, path) in enumerate(self.chosen.folders.items(), 1):
            if interrupted:
                self._give_up(folder, path, "the run was interrupted before")
                continue
            self.screen.note(f"--- {shown_path(path)} ({number} of {len(self.chosen.folders)})")
            interrupted = self._measure_one(folder, path) == EXIT_INTERRUPTED
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
            key=key_of(self._name(folder, path) for folder, path in self.chosen.folders.items()),
            links=links,
            flavour=settings.junit_flavour,
            formats=settings.output_format or self.host.formats,
        )

    def _measure_one(self, folder: str, path: Path) -> int | None:
        """Measure one as if it were alone, and return how that would end; ``None`` where it could not be done."""
        try:
            outcome = self._outcome(folder, path)
        except KeyboardInterrupt:
            self._give_up(folder, path, "the run was interrupted")
            return EXIT_INTERRUPTED
        except UserError as error:
            self._refuse(folder, path, error)
        except Exception as error:  # noqa: BLE001 - the others are measured whatever happens to this one
            if (trouble := trouble_of_system(error)) is None:
                sys.stderr.write(fault_report(error))
                trouble = UserError(f"turncheck itself failed ({type(error).__name__})")
            self._refuse(folder, path, trouble)
        else:
            self._members.append(Member(folder, outcome))
            self.tell(shown_path(path), outcome)
            return outcome.exit_code
        return None

    def _outcome(self, folder: str, path: Path) -> Outcome:
        out = str(Path(self.chosen.settings.out) / folder)
        given = {**self.given, "project": str(path), "out": out}
        baseline = given.get("baseline")
        if baseline is not None and baseline not in {*SEARCHED, "none"}:
            given["baseline"] = self._report_among(str(baseline), folder)
        prepared = prepare(given, self.environment, in_action=self.in_action, host=self.host, among=folder)
        screen = replace(self.screen, timings={})
        return run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen)

    def _find_gone(self) -> None:
        """Say which assistants of the base this run has not."""
        chosen = self.chosen
        folders, base = chosen.folders.values(), self.given.get("base")
        found = gone_assistants(
            folders, chosen.words, top=chosen.top, settings=chosen.settings, base=base, host=self.host
        )
        for gone in found:
            why = why_gone(gone)
            sys.stderr.write(redact(f"turncheck: error: {shown_path(gone)}: {why}\n"))
            self._give_up(_folder_of_results(Path(gone), chosen.folders), Path(gone), why)

    def _report_among(self, baseline: str, folder: str) -> str:
        """The report of one assistant in the folder of results of several."""
        if not Path(baseline).is_dir():
            raise UserError(
                f"baseline: '{baseline}' is not a folder of results, and several assistants are compared",
                remedy="Name the folder that a run of the same assistants wrote, or omit it.",
            )
        return str(Path(baseline) / folder / _REPORT)

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
        """What it is called: its path in the repository, where there is one."""
        return root_in_repository(path, self.host, otherwise=folder) or path.resolve().name
