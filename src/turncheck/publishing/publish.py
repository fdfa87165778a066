"""Which renderings go where; one that fails hurts no other and never the verdict.

A publisher is a name and a function. What it says when it fails is a warning in the log and in the job summary, and the
run goes on: the verdict stands, whoever hears of it, and the results lie in their folder.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from turncheck.ci.github.artifacts import PLOTS_SUFFIX
from turncheck.ci.github.checks import MOST, CheckAnnotation, CheckRun, post_check_run
from turncheck.ci.github.comment import Stamp, StickyComment
from turncheck.ci.github.errors import MissingPermissionError
from turncheck.ci.github.file_commands import SUMMARY_LIMIT, write_outputs, write_summary
from turncheck.ci.github.results_service import NoService
from turncheck.messages.errors import UserError
from turncheck.messages.plurals import count
from turncheck.process.secret import redact
from turncheck.publishing.files import write_all
from turncheck.render.annotations import find_annotations, within_limit, workflow_commands
from turncheck.render.markdown import comment_key, render_comment, render_summary
from turncheck.render.sinks.markdown import marker, ticked, trusted
from turncheck.render.sinks.workflow_command import command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from turncheck.ci.github.client import GitHubClient
    from turncheck.ci.github.pull_request import Target
    from turncheck.ci.github.results_service import ResultsService, Uploaded
    from turncheck.conclude import Outcome
    from turncheck.render.annotations import Annotation, Level
    from turncheck.render.rendered import Rendered
    from turncheck.settings.options import Settings

RESOLVED = trusted("> ✅ **Resolved:** what an earlier run reported here no longer holds.\n\n")


_STILL_TO_COME: Final = 1
"""Warnings that may follow the annotations: the summary, the outputs, the plots."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """One way out. ``send`` raises ``UserError``, ``OSError`` or ``ValueError`` where it cannot."""

    name: str
    send: Callable[[], None]


def publish_all(publishers: Iterable[Publisher], say: Callable[[str], None]) -> list[str]:
    """Send by every publisher, in order; return the names of those that failed, each having been said."""
    failed = []
    for publisher in publishers:
        try:
            publisher.send()
        except (UserError, OSError, ValueError) as error:
            failed.append(publisher.name)
            say(f"{publisher.name}: {error}")
    return failed


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run speaks: its repository, what asks GitHub for it, and which run it is.

    ``target`` is asked for the pull request, or for the reason why there is none. ``say`` takes a level (``notice``,
    ``warning``) and a text, ``annotate`` a workflow command. ``summary_file`` and ``output_file`` are the runner's.
    """

    repository: str
    client: GitHubClient | None
    target: Callable[[], Target | str]
    stamp: Stamp
    say: Callable[[str, str], object]
    annotate: Callable[[str], object]
    summary_file: Path | None = None
    output_file: Path | None = None


@dataclass(slots=True)
class Publishing:
    """One result on its way out.

    Args:
        outcome: what is published.
        folder: where its files were written.
        settings: what is wanted.
        place: where it is said.
        service: takes the artifact; ``None`` where there is nothing to upload.
        artifact_url: of an artifact that is there already.
    """

    outcome: Outcome
    folder: Path
    settings: Settings
    place: Place
    service: ResultsService | NoService | None = None
    artifact_url: str = ""
    comment_url: str = ""
    notes: list[str] = field(default_factory=list)
    _uploaded: Uploaded | None = None
    _sticky: StickyComment | None = None
    _said: Counter[Level] = field(default_factory=Counter)
    """What the log has been told already: each takes the place of an annotation of its level."""

    def publish(self) -> list[str]:
        """Upload, comment, annotate, summarize, set the outputs: in this order, since each links to those before.

        Returns:
            The names of the steps that failed; each has been said.
        """
        for warning in self.outcome.comparison.baseline.warnings:
            self.place.say("warning", f"baseline: {warning}")  # the summary has it where it names the baseline
            self._said["warning"] += 1
        steps = [Publisher("artifact", self._upload), Publisher("comment", self._comment)]
        if self.settings.annotations:
            steps.append(Publisher("annotations", self._annotate))
        if self.place.summary_file is not None:
            steps.append(Publisher("job summary", self._summarize))
        if self.place.output_file is not None:
            steps.append(Publisher("outputs", self._set_outputs))
        return publish_all(steps, self._warn)

    def publish_plots(self, draw: Callable[[], Sequence[Path]]) -> None:
        """Draw the pictures, now that everything else has been said, and upload them as an artifact of their own."""

        def send() -> None:
            plots = draw()
            if isinstance(self.service, NoService) or self.service is None or self._uploaded is None or not plots:
                return
            files = [(str(path.relative_to(self.folder)), path.read_bytes()) for path in plots]
            self.service.upload(f"{self._uploaded.name}{PLOTS_SUFFIX}", files, self.settings.retention_days)

        publish_all([Publisher("plots", send)], self._warn)

    def confirm(self) -> None:
        """Make sure that the comment is still ours, now that everything else is done: runs may have raced."""
        if self._sticky is not None:
            publish_all([Publisher("comment", self._sticky.confirm)], self._warn)

    # --- the artifact ------------------------------------------------------------------------------------------------

    def _upload(self) -> None:
        if self.service is None:
            return
        if isinstance(self.service, NoService):
            self._note(self.service.reason)
            return
        outcome = self.outcome
        files = [(rendering.name, rendering.encoded) for rendering in outcome.renderings]
        days, cut = self.service.retention(self.settings.retention_days)
        if cut:
            self._warn(cut)
        distinction = outcome.report.project.root or outcome.report.project.name
        self._uploaded = self.service.upload_beside(self.settings.artifact_name, distinction, files, days)
        if outcome.links.run_url:
            self.artifact_url = f"{outcome.links.run_url}/artifacts/{self._uploaded.id}"
            self._link_artifact()

    def _link_artifact(self) -> None:
        """Render what links to the artifact once more, now that it has an address."""
        links = replace(self.outcome.links, artifact_url=self.artifact_url)
        what = (self.outcome.report, self.outcome.comparison, self.outcome.verdict, links)
        again = {rendering.name: rendering for rendering in (render_comment(*what), render_summary(*what))}
        renderings = tuple(again.get(rendering.name, rendering) for rendering in self.outcome.renderings)
        self.outcome = replace(self.outcome, links=links, renderings=renderings)
        write_all(self.folder, again.values())

    # --- the comment -------------------------------------------------------------------------------------------------

    def _comment(self) -> None:
        if self.settings.comment == "never":
            return
        if self.place.client is None:
            self._note("no comment: there is no token to write it with")
            return
        target = self.place.target()
        if isinstance(target, str):
            self._note(f"no comment: {target}")
            return
        hidden = marker(comment_key(self.outcome.report))
        comment = StickyComment(self.place.client, self.place.repository, target.number, hidden)
        body = self._rendered("comment.md").encoded.decode()
        try:
            if self._speaks():
                posted = comment.write(body, self.place.stamp)
            else:
                head = f"{hidden}\n"
                resolved = f"{head}{RESOLVED}{body.removeprefix(head)}"
                posted = comment.update(resolved, self.place.stamp)
        except MissingPermissionError:
            if not target.reads_only:
                raise
            # Nothing is wrong here: it is how GitHub protects the repository.
            self._note(
                f"this run's token may only read, since the change comes from {target.reads_only}: the comment follows "
                "from the workflow that publishes on `workflow_run`, where the repository has one"
            )
            return
        self._sticky = comment
        self.comment_url = posted.url or ""
        if posted.note and posted.url:
            self._note(posted.note)

    def _reads_only(self) -> bool:
        """Whether the token is one that GitHub lets only read, whatever the workflow says."""
        try:
            target = self.place.target()
        except UserError:
            return False
        return not isinstance(target, str) and bool(target.reads_only)

    def _speaks(self) -> bool:
        """Whether this result is one to comment on, rather than one that at most outdates an older comment."""
        if self.settings.comment == "on-failure":
            return not self.outcome.verdict.passed
        if self.settings.comment == "on-change":
            return not self.outcome.verdict.passed or self.outcome.comparison.changed
        return True

    # --- annotations -------------------------------------------------------------------------------------------------

    def _annotate(self) -> None:
        found = find_annotations(self.outcome.report, self.outcome.comparison)
        try:
            in_check_run = self.settings.check_run and self._check(found)
        except UserError as error:
            expected = isinstance(error, MissingPermissionError) and self._reads_only()
            (self._note if expected else self._warn)(f"check run: {error}")
            in_check_run = False
        # One for all gates: GitHub shows ten of a level, and what stands at a line helps more.
        own = [gate for gate in self.outcome.verdict.gates if gate.fails and not gate.follows]
        failed = [f"{gate.name}: {gate.told}" for gate in own]
        if failed:
            self.place.annotate(command("error", "\n".join(failed), title="turncheck"))
        if not in_check_run:
            self._said.update({"error": int(bool(failed)), "warning": _STILL_TO_COME})
            for line in workflow_commands(within_limit(found, self._said)[0]):
                self.place.annotate(line)

    def _check(self, found: Sequence[Annotation]) -> bool:
        """Annotate by a check run; return False where there is nobody to make it."""
        client, commit = self.place.client, self.outcome.links.commit
        if client is None or commit is None:
            self._note("no check run: there is no token to write it with")
            return False
        placed = [one for one in found if one.path is not None and one.line is not None]
        report, stamp = self.outcome.report, self.place.stamp
        check = CheckRun(
            name=f"turncheck: {comment_key(report)}",
            commit=commit,
            passed=self.outcome.verdict.passed,
            title=self.outcome.verdict.summary,
            summary=self._rendered("comment.md").encoded.decode().partition("\n")[2],
            identity=f"turncheck/{stamp.run_id}.{stamp.attempt}/{comment_key(report)}",
            details_url=self.outcome.links.run_url,
            annotations=[
                CheckAnnotation(
                    str(one.path),
                    one.line or 1,
                    "failure" if one.level == "error" else one.level,
                    one.title,
                    one.message,
                )
                for one in placed
            ],
        )
        post_check_run(client, self.place.repository, check)
        if len(placed) > MOST:
            self._note(f"the check run holds {MOST} of {count(len(placed), 'annotation')}")
        return True

    # --- summary and outputs -----------------------------------------------------------------------------------------

    def _summarize(self) -> None:
        assert self.place.summary_file is not None  # noqa: S101 - the step is only there with a file
        content = self._rendered("summary.md").encoded
        for note in self.notes:
            line = f"\n- {ticked(note)}\n".encode()
            if len(content) + len(line) <= SUMMARY_LIMIT:
                content += line
        write_summary(self.place.summary_file, content)

    def _set_outputs(self) -> None:
        assert self.place.output_file is not None  # noqa: S101 - the step is only there with a file
        write_outputs(self.place.output_file, self.outputs())

    def outputs(self) -> dict[str, str]:
        """Return the action's outputs: the verdict, figures by name, and where everything is."""
        outcome, folder = self.outcome, self.folder
        metrics = outcome.comparison.metrics
        return {
            "verdict": outcome.verdict.outcome,
            "summary": outcome.verdict.summary,
            "metrics": json.dumps({metric.name: metric.value for metric in metrics if metric.value is not None}),
            "deltas": json.dumps({metric.name: metric.delta for metric in metrics if metric.delta is not None}),
            "results": str(folder),
            "report": str(folder / "report.json"),
            "comparison": str(folder / "comparison.json") if outcome.comparison.judged else "",
            "junit": str(folder / "junit.xml"),
            "comment-url": self.comment_url,
            "artifact-url": self.artifact_url,
        }

    # --- saying ------------------------------------------------------------------------------------------------------

    def _rendered(self, name: str) -> Rendered:
        return next(rendering for rendering in self.outcome.renderings if rendering.name == name)

    def _note(self, text: str) -> None:
        self._say("notice", text)

    def _warn(self, text: str) -> None:
        self._say("warning", text)

    def _say(self, level: Level, text: str) -> None:
        text = redact(text)  # notes are published, and a library's words may quote a header
        self.notes.append(text)
        self._said[level] += 1
        self.place.say(level, text)
