"""Publishing what another run measured, with a token that the other run did not have.

A pull request of a fork is measured by a run that can write nothing but artifacts. A second one, of the default
branch's own workflow, reads the reports in them, compares, judges and renders again, and posts. Nothing in them is run,
and nothing in them decides where to post: pull request and commit come from the API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turncheck.ci.host import EarlierReports, Host, HostError, OtherRun, RunStamp, StoredReport, Target
from turncheck.comparison.model import Baseline, Missing, Present, Unreachable, Unreadable
from turncheck.conclude import NamedOutcome, Outcome, Outcomes, conclude
from turncheck.messages.errors import UserError
from turncheck.render.assistants import comment_key, key_of
from turncheck.render.links import Links
from turncheck.render.markdown import Fork
from turncheck.settings.gates import GATES, gate_settings
from turncheck.settings.options import JunitFlavour, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import GateSettings, Report

MOST_REPORTS: Final = 50
"""Maximum number of assistants of one run."""
MOST_COMMENTS: Final = 20
"""Maximum number of comments that are written."""


class FoundResult(Struct, frozen=True):
    """A result of the run, of one assistant or of several together, and the artifact that held it."""

    outcome: Outcome | Outcomes
    artifact_url: str


class FoundRun(Struct, frozen=True):
    """A run, the pull request it was for (or why there is none), and what it measured."""

    stamp: RunStamp
    target: Target | str
    results: tuple[FoundResult, ...]


class RunReader(Struct):
    """Reads what a run left.

    Args:
        host: where the run was.
        artifact_name: what the artifacts' names begin with.
        gates: the settings of gates of this job. The others take their defaults: a report's own never count.
        say: called with a message about each artifact that cannot be used.
        flavour: of the junit.xml that is written again.
        trace_url: where traces are; a run's own never counts.
    """

    host: Host
    artifact_name: str
    gates: Mapping[str, Any]
    say: Callable[[str], object]
    flavour: JunitFlavour = "common"
    trace_url: str = ""

    def read(self, run_id: str) -> FoundRun:
        """Read one run.

        Raises:
            UserError: there is no such run, it has no report, or the host cannot be asked.
        """
        run = self.host.other_run(run_id, self.artifact_name, self.say)
        results: dict[str, tuple[Outcome, str]] = {}
        for stored, artifact_url in run.stored:
            key = comment_key(stored.report)
            if key in results:
                self.say(f"the run left two reports of '{key}'; the newer one counts")
            elif len(results) >= MOST_REPORTS:
                self.say(f"the run left reports of more than {MOST_REPORTS} assistants; the others are left out")
                break
            else:
                results[key] = self._outcome(stored, run), artifact_url
        if not results:
            raise UserError(
                f"run {run_id} left no report in an artifact '{self.artifact_name}'",
                hint="Its job must upload one; the input `artifact-name` must be the same in both workflows.",
            )
        return FoundRun(run.stamp, run.target, tuple(self._together(results.values(), run)))

    def _together(self, results: Iterable[tuple[Outcome, str]], run: OtherRun) -> Iterator[FoundResult]:
        """Combine the reports of one artifact: one run measured these assistants, and has one comment for them.

        A fork decides how many artifacts its run leaves: all of them together have one comment.
        """
        by_artifact: dict[str, list[Outcome]] = {}
        for outcome, artifact_url in results:
            by_artifact.setdefault(artifact_url, []).append(outcome)
        if run.fork and len(by_artifact) > 1:
            by_artifact = {run.url: [outcome for outcomes in by_artifact.values() for outcome in outcomes]}
        for number, (artifact_url, outcomes) in enumerate(by_artifact.items()):
            if number >= MOST_COMMENTS:
                self.say(f"the run left more than {MOST_COMMENTS} results; the others are left out")
                break
            if len(outcomes) == 1:
                yield FoundResult(outcomes[0], artifact_url)
                continue
            names = [comment_key(outcome.report) for outcome in outcomes]
            members = tuple(NamedOutcome(f"{at}", outcome) for at, outcome in enumerate(outcomes, 1))
            several = Outcomes(members, (), key_of(names), self._links(run), flavour=self.flavour, fork=self._fork(run))
            yield FoundResult(several, artifact_url)

    def _links(self, run: OtherRun) -> Links:
        return Links(pages=self.host.pages, commit=run.commit, run_url=run.url, trace_url=self.trace_url)

    def _fork(self, run: OtherRun) -> Fork | None:
        return Fork(run.fork, self.artifact_name) if run.fork else None

    def _outcome(self, stored: StoredReport, run: OtherRun) -> Outcome:
        report = self._with_given(stored.report)
        baseline = self._baseline(stored, run)
        if isinstance(baseline, Present):  # gates that are set here apply to both: neither side has changed them
            baseline = replace(baseline, report=self._with_given(baseline.report))
        defaults = gate_settings(Settings())
        gates = _with(report.settings, {name: getattr(defaults, name) for name in GATES} | dict(self.gates))
        outcome = conclude(report, baseline, self._links(run), flavour=self.flavour, gates=gates)
        return replace(outcome, fork=self._fork(run), verdict=_never_plain(outcome))

    def _with_given(self, report: Report) -> Report:
        return msgspec.structs.replace(report, settings=_with(report.settings, self.gates))

    def _baseline(self, stored: StoredReport, run: OtherRun) -> Baseline:
        """What the run compared with, if that is on the base branch: the report of a run that can be trusted.

        A fork's own word about the base counts for nothing; other runs may bring the report themselves. Where the pull
        request has a base, not to have its report is an outage, not a first run.
        """
        if isinstance(run.target, str):
            return Missing("the pull request is not known")
        claimed = stored.baseline.source.commit if stored.baseline else None
        branch = run.target.base_ref
        try:
            commit = self.host.merge_base(branch, run.commit)
            if claimed is not None:
                if not self.host.is_between(commit, claimed, branch):
                    return Unreadable(
                        f"the run compared with commit {claimed[:8]}, which is not a base of this pull request: "
                        f"it is not on '{branch}' since the pull request left it"
                    )
                commit = claimed
            reports = run.earlier(stored.report.project.root)
            left = reports.of_commit(branch, commit) if commit else None
        except HostError as error:
            return Unreachable(f"{self.host.name} cannot be asked for it: {error.message}")
        if left is not None:
            return Present(left.report, "artifact", left.commit, left.run_id, reports.in_words())
        if not run.fork and stored.baseline is not None:
            return Present(stored.baseline, "run", claimed)
        if not run.fork and stored.baseline_fault:
            return Unreadable(stored.baseline_fault)
        return Unreachable(_no_report(commit, branch, reports))


def _no_report(commit: str | None, branch: str, reports: EarlierReports) -> str:
    if commit is None:
        return f"where the pull request left '{branch}' is not known"
    if reports.other_projects:
        return "the base has reports of other projects, none of this one"
    unusable = f" that can be used ({words})" if (words := reports.in_words()) else ""
    return f"no run of '{branch}' left a report of commit {commit[:8]}{unusable}"


def _never_plain(outcome: Outcome) -> Verdict:
    """A pull request has a base: "passed" alone would say that the two were compared."""
    verdict = outcome.verdict
    if not verdict.passed or verdict.reservation or isinstance(outcome.baseline, Present):
        return verdict
    return msgspec.structs.replace(verdict, reservation="not compared with the base")


def _with(settings: GateSettings, values: Mapping[str, Any]) -> GateSettings:
    return msgspec.structs.replace(settings, **values)
