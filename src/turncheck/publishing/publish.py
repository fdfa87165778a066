"""Which renderings go where, and what became of each; a failing publisher never affects the verdict.

A publisher is a name and a function. When it fails, the reason is a warning in the log and in the job summary, and the
run continues: the verdict holds, and the results are in their folder.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct, field

from turncheck.ci.host import (
    PAGE_SUFFIX,
    PLOTS_SUFFIX,
    Artifacts,
    Check,
    Comment,
    Host,
    HostError,
    RunStamp,
    Target,
    UploadedArtifact,
)
from turncheck.conclude import Outcome, Outcomes
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.process.environment import redact
from turncheck.publishing.files import FilesBelow, warnings_of_size, write_own
from turncheck.render.annotations import LEVELS, Annotation, Level, find_annotations
from turncheck.render.assistants import comment_key
from turncheck.render.page.page import NAME as PAGE
from turncheck.render.sarif import NAME as SARIF
from turncheck.render.sinks.markdown import marker, trusted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from turncheck.comparison.model import Comparison
    from turncheck.render.markdown import Fork
    from turncheck.render.rendered import Rendered
    from turncheck.settings.options import Settings


RESOLVED = trusted("> ✅ **Resolved:** what an earlier run reported here no longer holds.\n\n")


_STILL_TO_COME: Final = 1
"""Warnings that may follow the annotations: the summary, the outputs, the plots."""


class Publisher(Struct, frozen=True):
    """One publisher. ``send`` raises ``UserError``, ``OSError`` or ``ValueError`` if it fails."""

    name: str
    send: Callable[[], None]


def publish_all(publishers: Iterable[Publisher], say: Callable[[str], None]) -> list[str]:
    """Run every publisher, in order; return the names of those that failed, each of which has been reported."""
    failed = []
    for publisher in publishers:
        try:
            publisher.send()
        except (UserError, OSError, ValueError) as error:
            failed.append(publisher.name)
            say(f"{publisher.name}: {error}")
    return failed


class PublishTarget(Struct, frozen=True):
    """Where a result is published: on which host, on which pull request (or why on none), and as which run's.

    ``say`` takes a level (``notice``, ``warning``) and a text, ``annotate`` a line of the log.
    """

    host: Host
    target: Callable[[], Target | str]
    stamp: RunStamp
    say: Callable[[Level, str], object]
    annotate: Callable[[str], object]

    @classmethod
    def of_this_run(cls, host: Host, write: Callable[[str], object]) -> Self:
        """Return the place of this run itself; ``write`` prints to its log."""
        return cls(
            host=host,
            target=host.target,
            stamp=host.run.stamp,
            say=lambda level, text: write(host.log_line(level, text) + "\n"),
            annotate=lambda line: write(f"{line}\n"),
        )


class Publishing(Struct):
    """One result being published.

    Args:
        result: what is published.
        folder: where its files were written; summary and comment come to them.
        settings: what is wanted.
        place: where it is published.
        artifacts: keeps the files, or says what does; ``None`` if there is nothing to upload.
        artifact_url: of an artifact that exists already.
        page_url: of the page by itself.
    """

    result: Result
    folder: Path
    settings: Settings
    place: PublishTarget
    artifacts: Artifacts | str | None = None
    artifact_url: str = ""
    page_url: str = ""
    comment_url: str = ""
    notes: list[str] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    _kept: UploadedArtifact | None = None
    _comment: Comment | None = None
    _said: Counter[Level] = field(default_factory=Counter)
    """How many annotations of each level the log has already: each counts towards the limit."""

    def publish(self) -> list[str]:
        """Set the outputs, upload, comment, annotate, summarize: in this order, since each links to the earlier ones.

        The outputs are set again at the end, with the addresses of all this: a job that ends before has the verdict.

        Returns:
            The names of the steps that failed; each has been reported.

        Raises:
            UserError: summary and comment cannot be written into the folder.
        """
        set_outputs = Publisher("outputs", lambda: self._print(self.place.host.set_outputs(self.outputs())))
        publish_all([set_outputs], lambda _: None)  # what is wrong is said below
        for warning in self.result.warnings:
            self.place.say("warning", f"baseline: {warning}")  # the summary says it next to the baseline
            self._said["warning"] += 1
        try:
            for warning in warnings_of_size(self.result.files):
                self._warn(warning)
            failed = publish_all([Publisher("artifact", self._upload)], self._warn)
            publish_all([Publisher("page", self._upload_page)], self._note)  # the other artifact contains it as well
        finally:  # a job that is cancelled meanwhile also leaves its message
            summary, comment = self.result.texts(self.artifact_url, self.page_url, self.place.host.comment_limit)
            self.written = write_own(self.folder, (summary, comment))
        steps = [Publisher("comment", lambda: self._write_comment(comment))]
        if self.settings.annotations:
            steps.append(Publisher("annotations", lambda: self._annotate(comment)))
        if self.settings.code_scanning:
            steps.append(Publisher("code scanning", self._scan))
        steps += [
            Publisher("job summary", lambda: self._print(self.place.host.summarize(summary, self.notes))),
            set_outputs,
        ]
        return failed + publish_all(steps, self._warn)

    def publish_plots(self, draw: Callable[[], Sequence[Path]]) -> None:
        """Draw the plots, now that everything else is published, and upload them as a separate artifact."""

        def send() -> None:
            plots = draw()
            if self.artifacts is None or isinstance(self.artifacts, str) or self._kept is None or not plots:
                return
            files = FilesBelow(self.folder, plots)
            self.artifacts.keep(f"{self._kept.name}{PLOTS_SUFFIX}", files, self.settings.retention_days)

        publish_all([Publisher("plots", send)], self._warn)

    def confirm(self) -> None:
        """Make sure that the comment is still ours, now that everything else is done: concurrent runs may have
        overwritten it."""
        if self._comment is not None:
            publish_all([Publisher("comment", self._comment.confirm)], self._warn)

    def outputs(self) -> dict[str, str]:
        """Return the action's outputs: those of the result, and where everything is."""
        addresses = {"comment-url": self.comment_url, "artifact-url": self.artifact_url, "page-url": self.page_url}
        return {**self.result.outputs, **addresses}

    # --- the artifact ------------------------------------------------------------------------------------------------

    def _upload(self) -> None:
        if self.artifacts is None:
            return
        if isinstance(self.artifacts, str):
            self._note(self.artifacts)
            return
        days, cut = self.artifacts.retention(self.settings.retention_days)
        if cut:
            self._warn(cut)
        files = FilesBelow(self.folder, self.result.files)
        self._kept = self.artifacts.keep(self.settings.artifact_name, files, days, self.result.key)
        self.artifact_url = self._kept.url

    def _upload_page(self) -> None:
        """Upload the page again, by itself and not zipped: then its address opens it, if the host supports that."""
        if self.artifacts is None or isinstance(self.artifacts, str) or self._kept is None:
            return
        days, _ = self.artifacts.retention(self.settings.retention_days)
        page = self.folder / PAGE
        if page in self.result.files:
            self.page_url = self.artifacts.keep_page(f"{self._kept.name}{PAGE_SUFFIX}", page.read_bytes(), days).url

    # --- the comment -------------------------------------------------------------------------------------------------

    def _write_comment(self, rendered: Rendered) -> None:
        if self.settings.comment == "never":
            return
        target = self.place.target()
        if isinstance(target, str):
            self._note(f"no comment: {target}")
            return
        fork = self.result.fork
        hidden = marker(fork.key, of_fork=True) if fork else marker(self.result.key)
        comment = self.place.host.comment(target, hidden, passed=self.result.passed)
        body = rendered.encoded.decode()
        try:
            if self._speaks():
                posted = comment.write(body, self.place.stamp)
            else:
                head = f"{hidden}\n"
                posted = comment.update(f"{head}{RESOLVED}{body.removeprefix(head)}", self.place.stamp)
        except HostError as error:
            if not (error.forbidden and target.reads_only):
                raise
            self._note(self.place.host.deferred_comment_note(target))  # nothing is wrong here
            return
        self._comment = comment
        self.comment_url = posted.url or ""
        if posted.note and posted.url:
            self._note(posted.note)

    def _reads_only(self) -> bool:
        """Whether the host makes the token read-only, whatever the job's permissions say."""
        try:
            target = self.place.target()
        except UserError:
            return False
        return not isinstance(target, str) and bool(target.reads_only)

    def _speaks(self) -> bool:
        """Whether to write a comment, rather than only update an older one."""
        if self.settings.comment == "on-failure":
            return not self.result.passed
        if self.settings.comment == "on-change":
            return not self.result.passed or self.result.changed
        return True

    # --- annotations -------------------------------------------------------------------------------------------------

    def _annotate(self, comment: Rendered) -> None:
        try:
            host = self.place.host
            in_check = (self.settings.check_run or host.annotates_by_check) and self._check(comment)
        except UserError as error:
            expected = isinstance(error, HostError) and error.forbidden and self._reads_only()
            (self._note if expected else self._warn)(f"check run: {error}")
            in_check = False
        host, failed = self.place.host, self.result.failed_gates
        if failed:  # one for all gates: only a few annotations of a level are shown, and those at a line help more
            self.place.annotate(host.log_line("error", "\n".join(failed)))
        if not in_check:
            self._said.update({"error": int(bool(failed)), "warning": _STILL_TO_COME})
            self._print(host.annotations(self.result.annotations, self._said))

    def _check(self, comment: Rendered) -> bool:
        """Annotate by a check beside the commit; return whether one was made."""
        result = self.result
        check = Check(
            key=result.key,
            commit=result.commit,
            passed=result.passed,
            title=result.summary,
            text=comment.encoded.decode().partition("\n")[2],
            stamp=self.place.stamp,
            details_url=result.run_url,
            annotations=result.annotations,
            by_fork=result.fork is not None,
        )
        checked = self.place.host.check(check)
        if checked.note:
            self._note(checked.note)
        return checked.made

    def _scan(self) -> None:
        """Upload the findings as alerts; what a fork's run measured are none of the repository's own."""
        path = self.folder / SARIF
        if self.result.fork is not None or path not in self.result.files:
            return
        try:
            if note := self.place.host.scan(path.read_bytes()):
                self._note(note)
        except HostError as error:
            if not (error.forbidden and self._reads_only()):
                raise
            self._note("no code scanning: this run's token may only read")

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.place.annotate(line)

    # --- saying ------------------------------------------------------------------------------------------------------

    def _note(self, text: str) -> None:
        self._say("notice", text)

    def _warn(self, text: str) -> None:
        self._say("warning", text)

    def _say(self, level: Level, text: str) -> None:
        text = redact(text)  # notes are published, and a library's message may quote a header
        self.notes.append(text)
        self._said[level] += 1
        self.place.say(level, text)


def publish(result: Result, folder: Path, settings: Settings, host: Host, write: Callable[[str], object]) -> Publishing:
    """Publish a result on the host of this run: artifact, comment, check or annotations, summary, outputs.

    Args:
        result: what was measured.
        folder: where its files were written; summary and comment are now.
        settings: what is wanted.
        host: where this run is.
        write: prints to the log.
    """
    place = PublishTarget.of_this_run(host, write)
    publishing = Publishing(result, folder, settings, place, artifacts=host.artifacts(write))
    publishing.publish()
    return publishing


# A result as publishers get it: rendered files and plain values, nothing about what was measured.


class Result(Struct, frozen=True):
    """What is published of one assistant.

    ``key`` tells it from others of the repository; ``files`` are those that were written; ``texts`` renders summary and
    comment, given the addresses of the artifact that holds the files and of the page ("" for none) and the longest
    comment; ``outputs`` are the action's, by name; ``fork`` is whose run measured it, if it was a fork's.
    """

    key: str
    passed: bool
    changed: bool
    summary: str
    failed_gates: tuple[str, ...]
    warnings: tuple[str, ...]
    annotations: tuple[Annotation, ...]
    files: tuple[Path, ...]
    texts: Callable[[str, str, int], tuple[Rendered, Rendered]]
    outputs: Mapping[str, str]
    commit: str | None = None
    run_url: str | None = None
    fork: Fork | None = None


def result_of_any(outcome: Outcome | Outcomes, folder: Path, written: Sequence[Path]) -> Result:
    """Return what is published of one assistant or of several, whose files were ``written`` into ``folder``."""
    if isinstance(outcome, Outcomes):
        return result_of_several(outcome, folder, written)
    return result_of(outcome, folder, written)


def result_of(outcome: Outcome, folder: Path, written: Sequence[Path]) -> Result:
    """Return what is published of an outcome whose files were ``written`` into ``folder``."""
    verdict, comparison = outcome.verdict, outcome.comparison
    return Result(
        key=comment_key(outcome.report),
        passed=verdict.passed,
        changed=comparison.changed,
        summary=outcome.run.summary(),
        failed_gates=tuple(_failed_gates(outcome)),
        warnings=tuple(comparison.baseline.warnings),
        annotations=find_annotations(outcome.run.report, comparison),
        files=tuple(written),
        texts=outcome.texts,
        outputs={
            "verdict": verdict.outcome,
            "summary": outcome.run.summary(),
            "metrics": json.dumps(_metrics(comparison)),
            "deltas": json.dumps(_deltas(comparison)),
            "results": str(folder),
            "report": str(folder / "report.json"),
            "comparison": str(folder / "comparison.json") if comparison.judged else "",
            "junit": str(folder / "junit.xml"),
        },
        commit=outcome.links.commit,
        run_url=outcome.links.run_url,
        fork=outcome.fork,
    )


def result_of_several(several: Outcomes, folder: Path, written: Sequence[Path]) -> Result:
    """Return what is published of several assistants, whose files were ``written``: one comment, one artifact."""
    assistants, members = several.assistants, several.members
    by_name = {member.outcome.run.name: member.outcome for member in members}
    unmeasured = [f"{broken.name}: not measured: {broken.why}" for broken in assistants.broken]
    failed = [f"{name}: {gate}" for name, outcome in by_name.items() for gate in _failed_gates(outcome)]
    found = [
        annotation
        for outcome in by_name.values()
        for annotation in find_annotations(outcome.run.report, outcome.comparison)
    ]
    compared = [member.folder for member in members if member.outcome.comparison.judged]
    return Result(
        key=several.key,
        passed=several.exit_code == EXIT_OK,
        changed=any(outcome.comparison.changed for outcome in by_name.values()),
        summary=assistants.in_words,
        failed_gates=(*unmeasured, *failed),
        warnings=tuple(
            f"{name}: {warning}"
            for name, outcome in by_name.items()
            for warning in outcome.comparison.baseline.warnings
        ),
        annotations=tuple(sorted(found, key=lambda one: LEVELS.index(one.level))),
        files=tuple(written),
        texts=several.texts,
        outputs={
            "verdict": "passed" if several.exit_code == EXIT_OK else "failed",
            "summary": assistants.in_words,
            "metrics": json.dumps({name: _metrics(outcome.comparison) for name, outcome in by_name.items()}),
            "deltas": json.dumps({name: _deltas(outcome.comparison) for name, outcome in by_name.items()}),
            "results": str(folder),
            "report": "\n".join(str(folder / member.folder / "report.json") for member in members),
            "comparison": "\n".join(str(folder / name / "comparison.json") for name in compared),
            "junit": str(folder / "junit.xml"),
        },
        commit=several.links.commit,
        run_url=several.links.run_url,
        fork=several.fork,
    )


def _failed_gates(outcome: Outcome) -> list[str]:
    return [outcome.run.failing(gate) for gate in outcome.verdict.gates if gate.fails and not gate.follows]


def _metrics(comparison: Comparison) -> dict[str, float]:
    return {metric.name: metric.value for metric in comparison.metrics if metric.value is not None}


def _deltas(comparison: Comparison) -> dict[str, float]:
    return {metric.name: metric.delta for metric in comparison.metrics if metric.delta is not None}
