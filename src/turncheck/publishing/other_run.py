"""Publishing what another run measured, with a token that the other run did not have.

A pull request of a fork is measured by a run that can write nothing but artifacts. A second one, of the default
branch's own workflow, reads the reports in them, compares, judges and renders again, and posts. Nothing in them is run,
and nothing in them decides where to post: pull request and commit come from the API.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from turncheck.ci.host import HostError, OtherRun, Stamp, Target
from turncheck.comparison.baseline import Missing, Present, Unreachable, Unreadable
from turncheck.conclude import Member, Outcome, Several, conclude
from turncheck.messages.errors import UserError
from turncheck.render.assistants import comment_key, key_of
from turncheck.render.links import Links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from turncheck.ci.host import Host, StoredReport
    from turncheck.comparison.baseline import Baseline
    from turncheck.report.model import Report
    from turncheck.settings.options import JunitFlavour

MOST_REPORTS: Final = 50
"""Maximum number of assistants of one run."""
MOST_COMMENTS: Final = 20
"""Maximum number of comments that are written."""


@dataclass(frozen=True, slots=True)
class FoundResult:
    """A result of the run, of one assistant or of several together, and the artifact that held it."""

    outcome: Outcome | Several
    artifact_url: str


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run, the pull request it was for (or why there is none), and what it measured."""

    stamp: Stamp
    target: Target | str
    results: tuple[FoundResult, ...]


@dataclass(slots=True)
class RunReader:
    """Reads what a run left.

    Args:
        host: where the run was.
        artifact_name: what the artifacts' names begin with.
        gates: settings of gates that count instead of the reports' own.
        say: called with a message about each artifact that cannot be used.
        flavour: of the junit.xml that is written again.
    """

    host: Host
    artifact_name: str
    gates: Mapping[str, Any]
    say: Callable[[str], object]
    flavour: JunitFlavour = "common"

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
                remedy="Its job must upload one; the input `artifact-name` must be the same in both workflows.",
            )
        return FoundRun(run.stamp, run.target, tuple(self._together(results.values(), run)))

    def _together(self, results: Iterable[tuple[Outcome, str]], run: OtherRun) -> Iterator[FoundResult]:
        """Combine the reports of one artifact: one run measured these assistants, and has one comment for them."""
        by_artifact: dict[str, list[Outcome]] = {}
        for outcome, artifact_url in results:
            by_artifact.setdefault(artifact_url, []).append(outcome)
        for number, (artifact_url, outcomes) in enumerate(by_artifact.items()):
            if number >= MOST_COMMENTS:
                self.say(f"the run left more than {MOST_COMMENTS} results; the others are left out")
                break
            if len(outcomes) == 1:
                yield FoundResult(outcomes[0], artifact_url)
                continue
            names = [comment_key(outcome.report) for outcome in outcomes]
            members = tuple(Member(f"{at}", outcome) for at, outcome in enumerate(outcomes, 1))
            yield FoundResult(Several(members, (), key_of(names), self._links(run), flavour=self.flavour), artifact_url)

    def _links(self, run: OtherRun) -> Links:
        return Links(pages=self.host.pages, commit=run.commit, run_url=run.url)

    def _judged_by(self, report: Report) -> Report:
        return msgspec.structs.replace(report, settings=msgspec.structs.replace(report.settings, **self.gates))

    def _outcome(self, stored: StoredReport, run: OtherRun) -> Outcome:
        report = self._judged_by(stored.report)
        baseline = self._baseline(stored, run)
        if isinstance(baseline, Present):  # gates that are set here apply to both: neither side has changed them
            baseline = replace(baseline, report=self._judged_by(baseline.report))
        return conclude(report, baseline, self._links(run), flavour=self.flavour)

    def _baseline(self, stored: StoredReport, run: OtherRun) -> Baseline:
        """What the run compared with, if that is on the base branch; preferably the report of a trusted run."""
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
            return Unreachable(f"{self.host.name} cannot be asked for it: {error.what}")
        if left is not None:
            return Present(left.report, "artifact", left.commit, left.run_id, reports.in_words())
        if reports.other_projects:
            return Missing("the base has reports of other projects, none of this one")
        if stored.baseline is not None:
            return Present(stored.baseline, "run", claimed)
        if stored.baseline_fault:
            return Unreadable(stored.baseline_fault)
        return Missing("the run brought none, and no run of the base branch left a report")
