"""What a run is compared with, if the settings leave that to turncheck (``auto``, ``artifact``, ``git``).

The report of the base is that of an earlier run, or the base is measured right here with this run's settings,
or the report of its nearest ancestor is used instead.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from turncheck.ci.git import GitError
from turncheck.ci.host import Base, HostError, LeftReport
from turncheck.comparison.baseline import Missing, Present, Unreachable, Unreadable
from turncheck.comparison.changes import SettingChange
from turncheck.comparison.gate_rules import read_rules
from turncheck.messages.engine_errors import INTERRUPTED
from turncheck.messages.errors import UserError
from turncheck.messages.location import shown_path
from turncheck.process.screen import Screen
from turncheck.report.model import DEFAULT_EVALUATIONS, Source
from turncheck.run.evaluated_project import report_of_project
from turncheck.run.find_base import BaseSearch
from turncheck.run.inputs import Inputs
from turncheck.run.named_baseline import read_baseline
from turncheck.settings.engines import ENGINES
from turncheck.settings.file import read_settings_file
from turncheck.settings.gates import GATES, chosen_projects, gate_settings
from turncheck.settings.sources import FILE_NAME, combine
from turncheck.web.network import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from turncheck.ci.git import Checkout
    from turncheck.ci.host import EarlierReports, Host
    from turncheck.comparison.baseline import Baseline, Way
    from turncheck.report.model import Report
    from turncheck.run.inputs import Inputs
    from turncheck.settings.options import Settings

_Found = TypeVar("_Found")

SEARCHED = frozenset({"auto", "artifact", "git"})
_EARLIER = "what earlier runs measured"
_PATHS = ("config", "domain", "data", "nlu", "stories", "e2e", "batch")
_TESTS = {"nlu": "nlu", "stories": "core", "e2e": "e2e", "batch": "batch"}
"""Settings that name tests, and the evaluation that needs them."""


@dataclass(slots=True)
class BaselineSearch:
    """Looks for the baseline of one run.

    Args:
        inputs: what the run itself measures.
        given: the settings from flags or inputs; they override those of the base's own ``turncheck.yml``.
        checkout: the working tree that the project is in, if any.
        top: the folder that the repository's files are in.
        host: the CI host that this runs on, or its absence.
        measure: measures a folder; replaced in tests.
    """

    inputs: Inputs
    given: Mapping[str, Any]
    checkout: Checkout | None
    top: Path | None
    host: Host
    measure: Callable[[Inputs, Screen], Report] = report_of_project
    _troubles: list[str] = field(default_factory=list)
    """Why the base cannot be measured here."""
    _out_of_reach: bool = False
    """Whether the base cannot be had at present: another try, a permission or a deeper checkout may help."""
    _asked_in_vain: bool = False
    """Whether the host did not say what earlier runs left: then a missing report is not known to be missing."""
    _warnings: list[str] = field(default_factory=list)
    """What the host could not say, and why; each is reported once."""

    def find(self, report: Report) -> Baseline:
        """Find what the settings ask for.

        A baseline that the project's own file names, or switches off, counts on a pull request only if the base's file
        says the same: a change must not choose what it is compared with.

        Raises:
            UserError: a file that both name is missing, or is not a report.
        """
        asked = self.inputs.settings.baseline
        base = self._base()
        wanted = asked if asked in SEARCHED else self._wanted_on_the_base(base)
        if wanted == asked and asked not in SEARCHED:
            return read_baseline(asked, Network.of(self.inputs.environment))
        found = self._search(report, base, wanted) if isinstance(base, Base) else base
        if isinstance(found, Unreadable):
            return found
        shown = self._in_the_file(asked, self.inputs.settings.project)
        if isinstance(found, Present):
            changes = () if wanted == asked else (SettingChange(name="baseline", base=wanted, value=shown),)
            return replace(
                found,
                report=self._as_given(found.report, report),
                warnings=(*self._warnings, *self._troubles),
                settings_changed=changes,
            )
        if wanted != asked:
            self._warnings.append(f"`baseline: {shown}` of {FILE_NAME} is ignored: this change may have set it")
        return replace(found, warnings=tuple(self._warnings))

    def ensure_base_is_known(self, name: str) -> None:
        """Make sure, before anything is measured, that a base named by the user exists.

        Raises:
            UserError: it is unknown.
        """
        self._states.ensure_known(name)

    @property
    def _states(self) -> BaseSearch:
        return BaseSearch(self.inputs.settings, self.checkout, self.host, self._warn)

    def _base(self) -> Base | Missing:
        """The base that counts: what a change's own file names only counts if the file of its base names the same."""
        search, named = self._states, self.inputs.settings.base
        if named is None:
            return search.find()
        if "base" in self.given or not self.host.run.of_a_change:
            return search.find_named(named)
        base = search.find()
        own = self._setting_on(base, "base")
        if own != named:
            self._warnings.append(f"`base: {named}` of {FILE_NAME} is ignored: this change may have set it")
        return base if own is None else search.find_named(own)

    def _wanted_on_the_base(self, base: Base | Missing) -> str:
        """The setting ``baseline`` of this change's own file if the base has the same, else the base's."""
        asked = self._in_the_file(self.inputs.settings.baseline, self.inputs.settings.project)
        own = self._setting_on(base, "baseline") or "auto"
        if own == asked:
            return self.inputs.settings.baseline
        return own if own in SEARCHED else "auto"

    def _setting_on(self, base: Base | Missing, name: str) -> str | None:
        """A setting as in the base's own file: paths are relative to the project."""
        if not isinstance(base, Base) or base.commit is None:
            return None
        try:
            with self._files_of(base) as (_, tree):
                folder = tree / self.inputs.root
                own = read_settings_file(folder).values.get(name)
                return own if own is None or name == "base" else self._in_the_file(own, str(folder))
        except UserError:  # no such commit here, or a file that this change fixes
            return None

    @staticmethod
    def _in_the_file(setting: str, project: str) -> str:
        """The setting as in its file: paths are relative to the project."""
        if setting in SEARCHED or setting == "none" or "://" in setting:
            return setting
        return shown_path(os.path.relpath(setting, project))

    def _as_given(self, base: Report, head: Report) -> Report:
        """The base's report with the settings from flags or inputs, which no file of this change can have altered.

        A workflow may set other gates on a push than on a pull request.
        """
        fields = head.settings.__struct_fields__
        given = {name: getattr(head.settings, name) for name in self.given if name in fields}
        return msgspec.structs.replace(base, settings=msgspec.structs.replace(base.settings, **given))

    def _search(self, report: Report, base: Base, wanted: str) -> Baseline:
        name, root = self.inputs.settings.artifact_name, self.inputs.root
        reports = self.host.earlier_reports(name, root) if wanted != "git" else None
        if reports is None and wanted == "artifact":
            self._out_of_reach = self._asked_in_vain = True
            self._troubles.append(
                "earlier runs cannot be asked for here: a token is missing, or which workflow this is"
            )
        if reports is not None and (left := self._asked(_EARLIER, lambda: _left_by_a_run(reports, base))):
            return Present(left.report, "artifact", left.commit, left.run_id, reports.in_words())
        commit = base.commit
        if commit and wanted != "artifact" and (found := self._measured_here(base, commit, report)):
            return replace(found, passed_over=reports.in_words() if reports else "")
        if (
            commit
            and reports is not None
            and (left := self._asked(_EARLIER, lambda: reports.of_ancestor(base.branch, commit)))
        ):
            return Present(left.report, "ancestor", left.commit, left.run_id, reports.in_words())
        if reports is not None and (words := reports.in_words()):
            self._troubles.append(f"artifacts skipped: {words}")
        reason = self._why_none(base, wanted)
        if self._out_of_reach:
            return Unreachable(reason)
        if reports is not None and reports.unreadable:
            return Unreadable(reason)
        return Missing(reason)

    def _why_none(self, base: Base, wanted: str) -> str:
        name = f"commit {base.commit[:8]}" if base.commit else f"'{base.branch}'"
        # "None was found" is only reported if one was looked for.
        no_report = f"no report of an earlier run {'could be asked for' if self._asked_in_vain else 'was found'}"
        not_here = "it could not be measured here"
        tried = {"artifact": no_report, "git": not_here, "auto": f"{no_report}, and {not_here}"}
        if wanted == "auto" and base.commit is None:
            wanted = "artifact"
        return "; ".join((f"for the base ({name}) {tried[wanted]}", *self._troubles))

    # --- where its report comes from ---------------------------------------------------------------------------------

    def _measured_here(self, base: Base, commit: str, report: Report) -> Present | None:
        if not ENGINES[self.inputs.settings.engine].from_files:
            self._troubles.append(f"the engine '{self.inputs.settings.engine}' cannot measure another commit here")
            return None
        with ExitStack() as stack:
            try:
                way, folder = stack.enter_context(self._files_of(base))
            except UserError as error:
                self._out_of_reach = True
                self._troubles.append(f"its files cannot be fetched: {error.what}")
                return None
            try:
                own = self._own_settings(folder)
                judged_by = msgspec.structs.replace(gate_settings(own), **self._chosen_in(folder))
                measured = self.measure(self._inputs_for(folder, commit, own), Screen(quiet=True, stream=StringIO()))
            except UserError as error:  # the folder is temporary, named anew each time, and gone when this is read
                self._troubles.append(f"the base cannot be measured: {error.what.replace(f'{folder}/', '')}")
                return None
        if measured.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        # The folder's name is ours, not the project's; and the base is judged by its own settings.
        measured = msgspec.structs.replace(measured, project=report.project, settings=judged_by)
        return Present(measured, way, commit)

    @contextmanager
    def _files_of(self, base: Base) -> Iterator[tuple[Way, Path]]:
        """The base's files: from git where it has them, else from the host."""
        commit = base.commit or ""
        trouble = self._states.missing(base)
        with ExitStack() as stack:
            folder = None
            if self.checkout is not None and self.checkout.commit(commit):
                try:
                    folder = stack.enter_context(self.checkout.files_of(commit))
                except GitError as error:  # a partial clone, say
                    trouble = f"git: {error}"
            if folder is not None:
                yield "git", folder
                return
            files = self.host.files_of(commit)
            if files is None:
                raise UserError(trouble)
            yield "tarball", stack.enter_context(files)

    def _inputs_for(self, tree: Path, commit: str, own: Settings) -> Inputs:
        """This run's settings, with every path in the base's files; gates and tests are the base's, from ``own``."""
        settings = self.inputs.settings
        moved: dict[str, Any] = {"project": own.project}
        for name in ("config", "domain", "data"):
            moved[name] = self._moved(getattr(settings, name), tree)
            if moved[name] and not _existing(moved[name]):
                moved[name] = getattr(own, name)
        if len(there := _existing(moved["data"])) > 0:
            moved["data"] = there  # a file that this change adds does not exist there
        # The base's own tests: those that this change no longer chooses are gone. Those that it lacks are not run.
        left_out = set()
        for name, evaluation in _TESTS.items():
            moved[name] = _existing(getattr(own, name))
            if getattr(own, name) and not moved[name]:
                left_out.add(evaluation)
        moved["evaluations"] = own.evaluations
        if left_out:
            moved["evaluations"] = tuple(
                name for name in own.evaluations or DEFAULT_EVALUATIONS if name not in left_out
            )
        if settings.strength == "changed":
            moved["strength"] = "off"  # the mutants of a change only exist on this side
        source = Source(repository=self.inputs.source.repository, commit=commit)
        gates = {name: getattr(own, name) for name in GATES}
        return replace(self.inputs, settings=replace(settings, **gates, **moved), source=source)

    def _own_settings(self, tree: Path) -> Settings:
        """The base's settings: if a pull request changes what judges it, the comparison says so.

        Raises:
            UserError: the base does not have the project.
        """
        folder = tree / self.inputs.root
        if not folder.is_dir():
            raise UserError("the project does not exist there yet")
        try:
            own = combine(self._in(tree, self.given), read_settings_file(self._folder_of_file(tree)).values)
            read_rules(gate_settings(own))
        except UserError:  # a mistake that this change fixes, say
            settings = self.inputs.settings
            own = replace(settings, **self._in(tree, {name: getattr(settings, name) for name in _PATHS}))
        return replace(own, project=str(folder))

    def _folder_of_file(self, tree: Path) -> Path:
        """The folder of the base's ``turncheck.yml``: the project's, unless that file is what names the project."""
        if self.inputs.chooser is None or "project" in self.given:
            return tree / self.inputs.root
        return Path(self._moved(str(self.inputs.chooser), tree))

    def _chosen_in(self, tree: Path) -> Mapping[str, tuple[str, ...]]:
        """Which assistants the base's file names where this run's names some."""
        if self.inputs.chooser is None:
            return {}
        try:
            return chosen_projects(Path(self._moved(str(self.inputs.chooser), tree)), named="project" in self.given)
        except UserError:  # a mistake that this change fixes, say
            return {}

    def _in(self, tree: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings whose paths are in the base's files."""
        return {name: self._moved(value, tree) if name in _PATHS else value for name, value in settings.items()}

    def _moved(self, value: Any, tree: Path) -> Any:
        if value is None or self.top is None:
            return value
        if not isinstance(value, str):
            return tuple(self._moved(path, tree) for path in value)
        path, separator, case = value.partition("::")
        for absolute in (Path(os.path.abspath(path)), Path(path).resolve()):  # noqa: PTH100 - links are kept if possible
            if absolute.is_relative_to(self.top):
                return f"{tree / absolute.relative_to(self.top)}{separator}{case}"
        return value  # it is outside the repository, and is the same for both

    def _asked(self, what: str, ask: Callable[[], _Found | None]) -> _Found | None:
        """Ask the host; a failure is remembered and reported once, and the search goes on."""
        try:
            return ask()
        except HostError as error:
            self._out_of_reach = True
            self._asked_in_vain |= what == _EARLIER
            self._warn(what, error)
            return None

    def _warn(self, what: str, error: HostError) -> None:
        words = f"{self.host.name} does not say {what}: {error.why}"
        if words not in self._warnings:
            self._warnings.append(words)


def _left_by_a_run(reports: EarlierReports, base: Base) -> LeftReport | None:
    return reports.of_commit(base.commit) if base.commit else reports.of_earlier_run(base.branch)


def _existing(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value if value is not None and Path(value.partition("::")[0]).exists() else None
    return tuple(path for path in value if Path(path.partition("::")[0]).exists())
