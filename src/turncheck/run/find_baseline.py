"""What a run is compared with, if the settings leave that to turncheck (``auto``, ``artifact``, ``git``).

The report of the base is that of an earlier run, or the base is measured right here by its own rules, or the report of
its nearest ancestor is used instead.
"""

from __future__ import annotations

import dataclasses
import os
from contextlib import ExitStack, contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.ci.base import NO_CHECKOUT, BaseSearch
from turncheck.ci.git import Checkout, GitError
from turncheck.ci.host import Base, CommitFiles, EarlierReports, Host, HostError, PreviousReport
from turncheck.comparison.changed_settings import plugins_in_words, rules_changed
from turncheck.comparison.changes import SettingChange
from turncheck.comparison.model import Baseline, Missing, Present, Unreachable, Unreadable
from turncheck.evaluations.kinds import BY_DEFAULT
from turncheck.messages.errors import INTERRUPTED, MachineError, NoAssistantError, UserError
from turncheck.messages.finding import shown_path
from turncheck.messages.phrasing import first_line
from turncheck.process.regular_file import is_there
from turncheck.process.screen import Console
from turncheck.report.evaluations import EVALUATIONS, Evaluation
from turncheck.report.model import Report, Skipped, Source
from turncheck.run.assistant import asked_at_base, is_same_bot
from turncheck.run.base_assistant import BaseAssistant, settings_file_of
from turncheck.run.base_projects import BaseTree, paired
from turncheck.run.base_settings import inputs_of_base, projects_of_base, settings_of_base, with_given
from turncheck.run.evaluated_project import report_of_project
from turncheck.run.inputs import AtCommit, Inputs, differing_files, with_size_of_change
from turncheck.run.named_baseline import read_baseline
from turncheck.run.report_of import report_of
from turncheck.settings.engines import ENGINES, flag_of_base
from turncheck.settings.gates import gate_settings
from turncheck.settings.sources import FILE_NAME
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from turncheck.settings.options import Settings


# Finding the baseline; each answer says how it was found, or why there is none.

_NOT_THERE_YET: Final = "the project does not exist there yet: its base ({}) has no assistant there"
_SAME_BOT: Final = "the base would be asked at the address of this change"

_Found = TypeVar("_Found")

SEARCHED = frozenset({"auto", "artifact", "git"})
_EARLIER = "what earlier runs measured"


class BaselineSearch(Struct):
    """Looks for the baseline of one run.

    Args:
        inputs: what the run itself measures.
        given: the settings from flags or inputs; they override those of the base's own ``turncheck.yml``.
        checkout: the working tree that the project is in, if any.
        top: the folder that the repository's files are in.
        host: the CI host that this runs on, or its absence.
        measure: measures a folder; replaced in tests.
        past: where this assistant is on the base, by its path in the repository, if that is known already.
    """

    inputs: Inputs
    given: Mapping[str, Any]
    checkout: Checkout | None
    top: Path | None
    host: Host
    measure: Callable[[Inputs, Console], Report] = report_of_project
    past: str | None = None
    _troubles: list[str] = field(default_factory=list)
    """Why the base cannot be measured here."""
    _out_of_reach: bool = False
    """Whether the base cannot be had at present: another try, a permission or a deeper checkout may help."""
    _remedy: str = ""
    """Why, and the one thing to do: what kept the host from answering, or git from having a file."""
    _needs_a_run: bool = False
    """Whether nothing but a run of the base could measure it: nobody says where its assistant runs."""
    _asked_in_vain: bool = False
    """Whether the host did not say what earlier runs left: then a missing report is not known to be missing."""
    _warnings: list[str] = field(default_factory=list)
    """What the host could not say, and why; each is reported once."""

    def find(self, report: Report) -> Baseline:
        """Find what the settings ask for.

        A baseline that the project's own file names, or switches off, counts on a pull request only if the base's file
        says the same: a change must not choose what it is compared with.

        Raises:
            UserError: a file that both name is missing, or is not a report; on somebody's own machine, nothing answers
                where the base is said to run.
        """
        with ExitStack() as stack:
            found = self._find(report, stack)
        is_named = "baseline" in self.given or asked_at_base(self.inputs.settings) is not None
        if isinstance(found, Unreachable) and not self.host.name and not is_named:
            # Nothing is merged on somebody's own machine: it is said, and fails nothing.
            found = Missing(found.reason, found.warnings, settings_changed=found.settings_changed)
        if isinstance(found, Missing) and not isinstance(found, Unreachable):
            return replace(found, agreed=not self.host.run.of_a_change, own_branch=self._is_of_own_branch(found))
        return found

    def _is_of_own_branch(self, found: Missing) -> bool:
        """Whether what is measured is on the branch of its base, also where that has nothing before it."""
        if found.own_branch or not self.host.name or self.host.run.of_a_change:
            return found.own_branch
        return self._is_branch_of_the_host()

    def _is_branch_of_the_host(self) -> bool:
        """Whether it is on the branch of the base that the host names, also if that has no commit before this one."""
        base = self.host.base(lambda *_: None)
        return base is not None and self._is_on_its_own_branch(base)

    @contextmanager
    def at_commit(self, commit: str) -> Iterator[AtCommit]:
        """Have the files of a commit, and yield what is measured there, by its own settings.

        Raises:
            UserError: not all of them can be had, or the assistant did not exist there yet.
        """
        with ExitStack() as stack:
            there = self._there(Base(commit, commit), stack)
            if not isinstance(there, BaseAssistant):
                raise UserError(there.reason if there else "; ".join(self._troubles) or NO_CHECKOUT)
            own = self._settings_there(there)
            if lacking := there.lacks(own):
                raise UserError(lacking)
            source = Source(repository=self.inputs.source.repository, commit=commit)
            differing = partial(differing_files, self.checkout, commit, there.tree.tree)
            yield AtCommit(self._inputs_for(there, own, source), differing)

    def ensure_base_is_known(self, name: str) -> None:
        """Make sure, before anything is measured, that a base named by the user exists.

        Raises:
            UserError: it is unknown.
        """
        self._states.ensure_known(name)

    def _find(self, report: Report, stack: ExitStack) -> Baseline:
        known = self._base(stack)
        if isinstance(known, Missing):
            return replace(known, warnings=tuple(self._warnings))
        base, there = known
        asked = self.inputs.settings.baseline
        shown = self._in_the_file(asked, self.inputs.settings.project)
        by_somebody = "baseline" in self.given or not self.host.name or self._is_on_its_own_branch(base)
        wanted = asked if asked in SEARCHED or by_somebody else self._wanted_on_the_base(there)
        of_file = None if there is None or there.is_broken else self._settings_there(there)
        if wanted == asked and asked not in SEARCHED:
            named = self._named_baseline(asked, base, there)
            if not isinstance(named, Present):
                return named
            return replace(named, report=with_given(named.report, report, self.given, of_file))
        found = self._search(report, base, there, wanted)
        if isinstance(found, Unreadable):
            return found
        if isinstance(found, Missing):
            if wanted != asked:
                self._warnings.append(f"`baseline: {shown}` of {FILE_NAME} is ignored: this change may have set it")
            if not self.host.name and base.commit not in {None, report.source.commit} and _has_quarantine(report):
                self._warnings.append(_COUNT_HERE)
            return replace(
                found,
                warnings=tuple(self._warnings),
                own_branch=self._is_on_its_own_branch(base),
                settings_changed=() if there is None else tuple(self._rules_changed(there, report)),
            )
        found = self._with_repairs(found, base, there, report)
        changes = [] if wanted == asked else [SettingChange(name="baseline", base=wanted, value=shown)]
        if there is not None and there.is_moved:
            self._warnings.append(f"the assistant was moved: on the base it is in '{there.project.path or '.'}'")
        elif there is not None and there.project.path != self._named:
            changes.append(SettingChange(name="project", base=there.project.path or ".", value=self._named or "."))
        if there is not None and found.commit == base.commit:  # its files may be in no checkout
            found = with_size_of_change(found, self.inputs.settings, there.tree.tree)
        return replace(
            found,
            report=with_given(found.report, report, self.given, of_file),
            warnings=(*self._warnings, *self._troubles),
            settings_changed=tuple(changes),
            agreed=self._is_on_its_own_branch(base),
            gone=there.gone if there is not None else (),
        )

    def _rules_changed(self, there: BaseAssistant, report: Report) -> Iterator[SettingChange]:
        """Yield what this change alters of the rules, as the base's own file has them."""
        own = msgspec.structs.replace(gate_settings(self._settings_there(there)), projects=report.settings.projects)
        yield from rules_changed(own, report.settings)

    def _named_baseline(self, named: str, base: Base, there: BaseAssistant | None) -> Baseline:
        """Read a named baseline; of a change, one that is a file of the repository as the base has it."""
        if not self.host.name or self._is_on_its_own_branch(base):
            found = read_baseline(named, Network.of(self.inputs.environment))
            return replace(found, agreed=bool(self.host.name)) if isinstance(found, Present) else found
        kept = there.tree.folder_of(named) if there is not None and "://" not in named else None
        if kept is not None and os.path.lexists(kept):
            return read_baseline(str(kept), Network.of(self.inputs.environment))
        if is_tracked(named, self.checkout):
            return Unreachable(f"'{named}' is a file of this change, and its base does not have it")
        return read_baseline(named, Network.of(self.inputs.environment))

    # --- which commit, and which assistant of it ---------------------------------------------------------------------

    @property
    def _states(self) -> BaseSearch:
        return BaseSearch(self.inputs.settings, self.checkout, self.host, self._warn)

    @property
    def _named(self) -> str:
        """This assistant's path in the repository, as the settings name it."""
        return self.inputs.root if self.inputs.named is None else self.inputs.named

    def _base(self, stack: ExitStack) -> tuple[Base, BaseAssistant | None] | Missing:
        """The base that counts: what a change's own file names only counts if the file of its base names the same."""
        search, named = self._states, self.inputs.settings.base
        if named is not None and ("base" in self.given or not self.host.name):
            return self._with_files(search.find_named(named), stack)
        base = search.find()
        if named is not None and self._is_on_its_own_branch(base):
            return self._with_files(search.find_named(named), stack)
        known = self._with_files(base, stack)
        if named is None or isinstance(known, Missing):
            return known
        own = known[1].file.values.get("base") if known[1] is not None else None
        if own != named:
            self._warnings.append(f"`base: {named}` of {FILE_NAME} is ignored: this change may have set it")
        return known if own is None else self._with_files(search.find_named(own), stack)

    def is_of_own_branch(self) -> bool:
        """Whether a host runs this on the branch that changes are compared with."""
        if not self.host.name or self.host.run.of_a_change:
            return False
        base = self._states.find()
        return self._is_branch_of_the_host() if isinstance(base, Missing) else self._is_on_its_own_branch(base)

    def _is_on_its_own_branch(self, base: Base | Missing) -> bool:
        """Whether what is measured is on the branch that its base is on, so that nobody has to agree to it any more."""
        ref = (self.host.run.ref or "").removeprefix("refs/heads/")
        of_a_change = self.host.run.of_a_change or (isinstance(base, Base) and (base.of_a_change or base.head))
        return isinstance(base, Base) and not of_a_change and base.branch == ref

    def _with_files(self, base: Base | Missing, stack: ExitStack) -> tuple[Base, BaseAssistant | None] | Missing:
        if isinstance(base, Missing):
            return base
        there = self._there(base, stack)
        return there if isinstance(there, Missing) else (base, there)

    def _there(self, base: Base, stack: ExitStack) -> BaseAssistant | Missing | None:
        """The base as its files show it; ``None`` if they are out of reach.

        The base's own file says which assistants it measured, unless a flag or an input does.
        """
        if self.top is None or base.commit is None or (files := self._files_of(base, stack)) is None:
            return None
        if files.is_empty:
            return Missing(f"its base ({base.commit[:8]}) has no files")
        from turncheck.run.moved_assistants import moved_here  # only against a base

        tree = BaseTree(files.folder, self.top)
        words = words_of(self.given) if self.past is None else [str(self.top / self.past)]
        given = "project" in self.given or self.past is not None
        chosen = tree.projects(words, given=given, flags=self.given)
        moved = moved_here(tree, self._named, Path(self.inputs.settings.project)) if not chosen else None
        if moved is not None:
            chosen = [moved.project, *moved.gone]
        needed = {path for word in words for path in tree.needed_for(word)} | {
            base_project.path for base_project in chosen
        }
        if lacking := next(filter(None, map(files.lacks, sorted(needed))), None):
            return Unreachable(f"not all files of its base ({base.commit[:8]}) can be had: '{lacking}' is missing")
        if not chosen:
            return Missing(_NOT_THERE_YET.format(base.commit[:8]))
        now = {self._named: Path(self.inputs.settings.project)}
        project = paired(now, chosen, all_of_them=True)[self._named] if moved is None else moved.project
        if not project.folder.resolve().is_relative_to(files.folder.resolve()):
            return Unreachable(f"on its base ({base.commit[:8]}), '{project.path}' is a link that leads out of it")
        gone = tuple(base_project.path or "." for base_project in chosen if base_project is not project)
        return BaseAssistant(
            files, tree, project, gone, *settings_file_of(project.settings), is_moved=moved is not None
        )

    def _files_of(self, base: Base, stack: ExitStack) -> CommitFiles | None:
        """The base's files, if they can be had."""
        from turncheck.ci.base_files import NoFilesError, files_of_commit  # what asks a host takes a while to import

        try:
            return stack.enter_context(files_of_commit(base.commit or "", self.checkout, self.host, self.top))
        except NoFilesError as error:
            trouble = "; ".join(part for part in (self._states.missing(base), str(error)) if part)
        except HostError as error:
            trouble = error.message
        self._out_of_reach = True
        self._remedy = trouble
        self._troubles.append(f"its files cannot be fetched: {trouble}")
        return None

    def _wanted_on_the_base(self, there: BaseAssistant | None) -> str:
        """The setting ``baseline`` of this change's own file if the base has the same, else the base's."""
        asked = self._in_the_file(self.inputs.settings.baseline, self.inputs.settings.project)
        own = there.file.values.get("baseline") if there is not None else None
        own = "auto" if own is None or there is None else self._in_the_file(own, str(there.project.settings))
        if own == asked:
            return self.inputs.settings.baseline
        return own if own in SEARCHED else "auto"

    @staticmethod
    def _in_the_file(setting: str, project: str) -> str:
        """The setting as in its file: paths are relative to the project."""
        if setting in SEARCHED or setting == "none" or "://" in setting:
            return setting
        return shown_path(os.path.relpath(setting, project))

    # --- where its report comes from ---------------------------------------------------------------------------------

    def _search(self, report: Report, base: Base, there: BaseAssistant | None, wanted: str) -> Baseline:
        chosen_by_itself = "project" in self.given or self.past is not None or base.commit is None
        if there is None and self.top is not None and not chosen_by_itself:
            return Unreachable(self._why_none(base, "git"), remedy=self._remedy)  # nobody knows what
        root = there.root if there is not None else self._named
        reports = self.host.earlier_reports(self.inputs.settings.artifact_name, root) if wanted != "git" else None
        if reports is None and wanted == "artifact":
            self._out_of_reach = self._asked_in_vain = True
            self._troubles.append(
                "earlier runs cannot be asked for here: a token is missing, or which workflow this is"
            )
        if wanted == "auto" and there and base.commit and asked_at_base(self._settings_there(there)) is not None:
            reports = None  # somebody named where the base runs, to be measured beside the change
        left = self._asked(_EARLIER, lambda: _left_by_a_run(reports, base)) if reports is not None else None
        if reports is not None and left is not None and self._has_same_plugins(left, report):
            return Present(left.report, "artifact", left.commit, left.run_id, reports.in_words())
        commit = base.commit
        if there and commit and wanted != "artifact":
            words = reports.in_words() if reports else ""
            if measured := self._as_measured(there, commit, report, words):
                return measured
        if (
            commit
            and reports is not None
            and (left := self._asked(_EARLIER, lambda: reports.of_ancestor(base.branch, commit)))
            and self._has_same_plugins(left, report)
        ):
            return Present(left.report, "ancestor", left.commit, left.run_id, reports.in_words())
        if reports is not None and (words := reports.in_words()):
            self._troubles.append(f"artifacts skipped: {words}")
        if commit and wanted == "artifact" and not self._out_of_reach:
            self._out_of_reach = True
            self._troubles.append(f"a run of '{base.branch}' leaves one")
        reason = self._why_none(base, wanted)
        if self._needs_a_run and self.host.name and not self._out_of_reach:
            if reports is not None and not reports.in_words() and self._looks_where_base_does(there):
                return Missing(f"no base yet: no run of '{base.branch}' has left a report ({reason})")
            unusable = (
                f" (what was left cannot be used: {reports.in_words()})" if reports and reports.in_words() else ""
            )
            return Unreachable(reason, remedy=f"run turncheck on '{base.branch}', which leaves its report{unusable}")
        if self._out_of_reach:
            return Unreachable(reason, remedy=self._remedy)
        if reports is not None and reports.unreadable:
            return Unreadable(reason)
        return Missing(reason)

    def _as_measured(self, there: BaseAssistant, commit: str, report: Report, skipped: str) -> Baseline | None:
        try:
            measured = self._measured_here(there, commit, report)
        except NoAssistantError:  # a folder data/ with something else in it, say
            return Missing(_NOT_THERE_YET.format(commit[:8]))
        if measured is None:
            return None
        own = self._settings_there(there)
        if measured.stopped is not None and asked_at_base(own) is not None:
            why, flag = first_line(measured.stopped), flag_of_base(own.engine)
            if not self.host.name:
                raise UserError(f"{flag}: {why}", hint="Start it, name another address, or omit the flag.")
            return Unreachable(f"its run ended before its end: {why}", remedy=f"start what {flag} names: {why}")
        return Present(measured, there.files.way, commit, passed_over=skipped)

    def _looks_where_base_does(self, there: BaseAssistant | None) -> bool:
        """Whether the base leaves its reports where they are looked for: a change must not look elsewhere."""
        return there is not None and self._settings_there(there).artifact_name == self.inputs.settings.artifact_name

    def _with_repairs(self, found: Present, base: Base, there: BaseAssistant | None, report: Report) -> Present:
        """The base as far as it can be read and trained; where only this change makes it so, measured repaired."""
        from turncheck.run.mended_base import needs_repair, repaired  # only against a base

        if there is None or found.commit is None or found.commit != base.commit or not needs_repair(found.report):
            return found
        own = self._settings_there(there)
        if not ENGINES[own.engine].from_files or there.lacks(own):
            return found
        commit, inputs = found.commit, self._inputs_for(there, own, found.report.source)

        def measured(*evaluations: Evaluation) -> Report | None:
            if not evaluations:
                return self._measured_here(there, commit, report)
            asked = dataclasses.replace(inputs.settings, evaluations=evaluations)
            return self.measure(dataclasses.replace(inputs, settings=asked), Console(quiet=True, stream=StringIO()))

        shown, repair = repaired(
            found.report,
            inputs.settings,
            self.inputs.settings,
            there.files.folder,
            measured,
            variables=self.inputs.file_variables,
        )
        return replace(found, report=shown, mended=repair.places, doubtful=repair.doubtful)

    def _has_same_plugins(self, left: PreviousReport, report: Report) -> bool:
        """Whether a report was measured with the same plugins: with others it says nothing of this change."""
        if left.report.plugins == report.plugins:
            return True
        self._troubles.append(
            f"an earlier run had other plugins ({plugins_in_words(left.report)}; now {plugins_in_words(report)})"
        )
        return False

    def _why_none(self, base: Base, wanted: str) -> str:
        name = f"commit {base.commit[:8]}" if base.commit else f"'{base.branch}'"
        # "None was found" is only reported if one was looked for.
        no_report = f"no report of an earlier run {'could be asked for' if self._asked_in_vain else 'was found'}"
        not_here = "it could not be measured here"
        tried = {"artifact": no_report, "git": not_here, "auto": f"{no_report}, and {not_here}"}
        if wanted == "auto" and base.commit is None:
            wanted = "artifact"
        return "; ".join((f"for the base ({name}) {tried[wanted]}", *self._troubles))

    def _measured_here(self, there: BaseAssistant, commit: str, report: Report) -> Report | None:
        """Measure the base by its own rules; ``None`` if its engine cannot.

        What is wrong with the base itself is part of its report: then nothing is known of what it tested.
        """
        own = self._settings_there(there)
        if not ENGINES[own.engine].from_files:
            deployed = asked_at_base(own)
            if deployed is None or is_same_bot(deployed, self.inputs.settings):
                self._needs_a_run = True
                self._troubles.append(
                    _cannot_measure(own.engine, in_ci=bool(self.host.name)) if deployed is None else _SAME_BOT
                )
                return None
            own = deployed
        if lacking := there.lacks(own):
            self._out_of_reach = True
            self._troubles.append(lacking)
            return None
        source = Source(repository=self.inputs.source.repository, commit=commit)
        try:
            inputs = self._inputs_for(there, own, source)
            measured = self.measure(inputs, Console(quiet=True, stream=StringIO()))
        except (MachineError, NoAssistantError):
            raise  # the first says nothing of the base
        except UserError as error:  # the folder is temporary, named anew each time, and gone when this is read
            what = error.message.replace(f"{there.files.folder}/", "").replace(str(there.files.folder), ".")
            why = f"the base cannot be measured: {what}"
            asked = own.evaluations or BY_DEFAULT
            skipped = [
                Skipped(evaluation=evaluation, reason=why, fault=True)
                for evaluation in EVALUATIONS
                if evaluation in asked
            ]
            measured = report_of(report.project, own.seed, source=source, skipped=skipped)
        if measured.stopped == INTERRUPTED:
            raise KeyboardInterrupt
        # The folder's name is ours, not the project's; and the base is judged by its own settings.
        judged_by = msgspec.structs.replace(gate_settings(own), projects=projects_of_base(there, self.inputs.chooser))
        project = msgspec.structs.replace(report.project, root=there.root) if there.is_moved else report.project
        return msgspec.structs.replace(measured, project=project, settings=judged_by)

    def _settings_there(self, there: BaseAssistant) -> Settings:
        return settings_of_base(there, self.given, self.inputs.settings)

    def _inputs_for(self, there: BaseAssistant, own: Settings, source: Source) -> Inputs:
        return inputs_of_base(self.inputs, self.given, there, own, source)

    # --- what could not be had ---------------------------------------------------------------------------------------

    def _asked(self, what: str, ask: Callable[[], _Found | None]) -> _Found | None:
        """Ask the host; a failure is remembered and reported once, and the search goes on."""
        try:
            return ask()
        except HostError as error:
            self._out_of_reach = True
            self._asked_in_vain |= what == _EARLIER
            self._remedy = error.remedy
            self._warn(what, error)
            return None

    def _warn(self, what: str, error: HostError) -> None:
        words = f"{self.host.name} does not say {what}: {error.why}"
        if words not in self._warnings:
            self._warnings.append(words)


_COUNT_HERE: Final = (
    "all entries of turncheck.quarantine.yml count here, as nothing is known of the base; on a pull request only those"
    " do that the base has"
)


def _has_quarantine(report: Report) -> bool:
    """Whether any test is in quarantine."""
    return not isinstance(report.quarantine, msgspec.UnsetType) and bool(report.quarantine.tests)


def _cannot_measure(engine: str, *, in_ci: bool) -> str:
    """Say what takes the place of measuring the base here; reports of earlier runs are looked for in CI alone."""
    flag = flag_of_base(engine)
    without = f" without {flag}" if flag else ""
    of_base = "the report of a run on the base's branch"
    instead = f"run it on the base's branch first, which leaves its report, or name {of_base} with --baseline"
    if not in_ci:
        instead = f"name {of_base} with --baseline"
    return f"the engine '{engine}' cannot measure another commit here{without} ({instead})"


def is_tracked(named: str, checkout: Checkout | None) -> bool:
    """Whether a name is that of a file of the repository; also if git cannot say."""
    if checkout is None or "://" in named or not Path(named).exists():
        return False
    path = Path(named).parent.resolve() / Path(named).name
    try:
        return path.is_relative_to(checkout.top) and checkout.tracks(path)
    except GitError:
        return True


def words_of(overrides: Mapping[str, Any]) -> list[str]:
    """Return the folders and patterns that flags or inputs name as the project."""
    words = str(overrides.get("project", "."))
    if words.strip() and is_there(Path(words)):  # the name of a folder may have line ends
        return [words]
    return [line.strip() for line in words.splitlines() if line.strip()]


def _left_by_a_run(reports: EarlierReports, base: Base) -> PreviousReport | None:
    if base.commit is not None:
        return reports.of_commit(base.branch, base.commit)
    return reports.of_earlier_run(base.branch, base.tip) if base.tip is not None else None
