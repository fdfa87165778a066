"""A run in progress: what it has read, its results so far, and why the rest is missing."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct, structs

from turncheck.evaluations.answers import COMPUTE_LOCALLY, Answers, DelegatedError, answered
from turncheck.evaluations.kinds import KINDS
from turncheck.evaluations.varying.plan import RepeatPlan
from turncheck.messages.errors import INTERRUPTED, BeyondLimitError, IncompleteError, UserError
from turncheck.messages.phrasing import at_paths, first_line
from turncheck.process.environment import redact
from turncheck.project.batch.known import known_names, setting_of
from turncheck.project.batch.reader import HowToRead, read_suites
from turncheck.project.e2e.cases import read_cases
from turncheck.project.model import Config, Project
from turncheck.report.model import Batch, EngineInfo, Report, Skipped
from turncheck.run.inputs import NONE_PRECOMPUTED, Inputs, PrecomputedAnswers
from turncheck.run.partial import require_same_model, run_until_failure
from turncheck.run.quarantined import names_and_files, quarantine_of
from turncheck.run.report_of import now
from turncheck.run.skipping import (
    beyond_limit,
    is_asked,
    not_asked,
    refused_training,
    skipped_by_fault,
    skipped_unsupported,
    unreadable,
)
from turncheck.validation.before_training import unreadable_parts
from turncheck.validation.facts import ProjectTests
from turncheck.validation.findings import found
from turncheck.work.workplace import INLINE, Executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.engines.base import Engine
    from turncheck.evaluations.batch.suites import SuiteRun
    from turncheck.evaluations.kind import EvaluationKind
    from turncheck.evaluations.varying.base_runner import BaseRunner
    from turncheck.evaluations.varying.repeating import Repeating
    from turncheck.messages.finding import Finding, Location
    from turncheck.process.screen import Console
    from turncheck.project.batch.model import KnownNames, Suites
    from turncheck.project.e2e.model import E2ECases
    from turncheck.project.quarantine import QuarantineFile
    from turncheck.report.evaluations import Evaluation
    from turncheck.run.reading import Tests
    from turncheck.settings.bot import Bot
    from turncheck.settings.options import Settings


Section = TypeVar("Section")


class KindOptions(Struct, frozen=True):
    """What a command asks of a kind of evaluation besides the settings."""

    def make_ready(self, run: RunInProgress) -> None:
        """Load or train what is measured, and refuse what cannot be measured."""


Options = TypeVar("Options", bound=KindOptions)


class RunInProgress:
    """A run in progress: each evaluation hands over its section, or the reason why there is none."""

    def __init__(
        self,
        inputs: Inputs,
        project: Project,
        tests: Tests,
        engines: Engine,
        screen: Console,
        *,
        work: Executor = INLINE,
        precomputed: PrecomputedAnswers = NONE_PRECOMPUTED,
        base_report: Callable[[], Report | None] = lambda: None,
        base_bot: Callable[[str | None], Bot | None] = lambda _: None,
        until_its_end: ExitStack | None = None,
        options: KindOptions | None = None,
    ) -> None:
        self.inputs = inputs
        self.settings = inputs.settings
        self.project = project
        self.tests = tests
        self.engines = engines
        self.screen = screen
        self.work = work
        self.precomputed = precomputed
        self.base_report = base_report
        """Returns what the run is compared with, if there is anything: searched for when it is first asked for."""
        self.base_bot = base_bot
        """Returns the ``bot:`` of a commit, if it is at hand."""
        self.base_to_start: BaseRunner[Engine] | None = None
        """The assistant of the base, trained and started here when it is first asked: one for all evaluations."""
        self.until_its_end = until_its_end or ExitStack()
        """What is closed at the end of the run."""
        self._options = options
        self.refused: dict[Evaluation, UserError] = {}
        """Why evaluations could not be trained."""
        engines.recall(precomputed.parts)
        self.sections: dict[str, Any] = {}
        """What was measured, by the names of the evaluations; ``None`` where there is a reason why nothing was."""
        self.measured_engine: EngineInfo | None = None
        """What understood sentences, in folds the engine of the first one."""
        self.skipped: dict[str, Skipped] = {}
        self.parts: list[Skipped] = []
        self.stopped: str | None = None
        self.cut_short: IncompleteError | None = None
        """What ended it before its end."""
        self.case_findings: tuple[Finding, ...] | None = None
        self.repeats = RepeatPlan()
        """Which tests are repeated, and what is left of their budget: planned before anything is asked."""
        self.refusals: dict[Location, Finding] = {}

    def options(self, kind: type[Options]) -> Options | None:
        """Return what a command asks of this kind of evaluation besides the settings; ``None``: it is one of a run."""
        return self._options if isinstance(self._options, kind) else None

    def evaluate(self, *, needs_engine: bool) -> None:
        """Run those evaluations that need the engine, or those that only need the files, in their order.

        Raises:
            KeyboardInterrupt: somebody interrupted it, so that the engine is stopped quickly.
        """
        for kind in KINDS.values():
            if kind.needs_engine == needs_engine and (not kind.on_request or is_asked(self.settings, kind.name)):
                self.sections[kind.name] = measured_by(kind)(self)
        if needs_engine and self.stopped == INTERRUPTED:
            raise KeyboardInterrupt

    def run_or_skip(self, evaluation: Evaluation, evaluate: Callable[[], Section]) -> Section | None:
        """Return the section; if the engine failed, the part until then: nothing runs after it."""

        def unless_elsewhere() -> Section | None:
            try:
                return evaluate()
            except DelegatedError:
                return None

        try:
            if evaluation in self.precomputed.refused:
                raise self.precomputed.refused[evaluation]
            result = run_until_failure(lambda: require_same_model(self.engines, unless_elsewhere))
        except BeyondLimitError as error:
            self.refused[evaluation] = error
            self.skip(beyond_limit(error, evaluation))
            return None
        except UserError as error:
            self.refused[evaluation] = error
            # An engine that is trained elsewhere says so itself.
            config = self.project.config if self.engines.capabilities.trained_by_config else Config()
            refused = refused_training(error, evaluation, config)
            self.skip(refused)
            if refused.location is not None:
                self.refusals.setdefault(
                    refused.location, found("training-refused", f"{error.message}.", refused.location)
                )
            return None
        self.cut_short = result.stopped
        self.stopped = redact(result.reason) if result.reason is not None else None
        for skipped in result.skipped(evaluation):
            self.skip(skipped)
        return result.finished

    def as_single_unit(self, evaluation: Evaluation, measure: Callable[[], Section]) -> Section | None:
        """Measure a section whose answer is one unit; a part of it is reported, but kept as nobody's answer."""
        part: Section | None = None

        def whole(_: Sequence[int]) -> list[Section]:
            nonlocal part
            try:
                return [measure()]
            except IncompleteError as error:
                part, error.finished = error.finished, None
                raise

        def measured() -> Section:
            try:
                return answered(self.precomputed.answers, [f"section:{evaluation}"], whole)[0]
            except IncompleteError as error:
                error.finished = part
                raise

        return self.run_or_skip(evaluation, measured)

    def why_not(self, evaluation: Evaluation, *, in_folds: bool = False) -> Skipped | None:
        """The reasons that apply to any evaluation with an engine."""
        return self.not_now(evaluation) or self.not_possible(evaluation, in_folds=in_folds)

    def not_possible(self, evaluation: Evaluation, *, in_folds: bool = False) -> Skipped | None:
        """The engine cannot do it, or a part of the project that it needs cannot be read completely."""
        return skipped_unsupported(evaluation, self.engines, self.lost, self.project, in_folds=in_folds)

    @cached_property
    def lost(self) -> Mapping[str, Finding]:
        """The parts of the project that cannot be read completely, and what shows it."""
        return unreadable_parts(self.project)

    def not_now(self, evaluation: Evaluation) -> Skipped | None:
        """It was not requested, or the engine has failed."""
        if why_not := self.not_requested(evaluation):
            return why_not
        if self.stopped is not None:
            return Skipped(evaluation=evaluation, reason=first_line(self.stopped))
        return None

    def not_requested(self, evaluation: Evaluation) -> Skipped | None:
        """Other evaluations were requested."""
        return None if is_asked(self.settings, evaluation) else not_asked(self.settings, evaluation)

    def record_partial(self, evaluation: Evaluation, findings: Iterable[Finding]) -> None:
        """Record that an evaluation runs without the tests that cannot be read."""
        by_file: dict[str, list[Finding]] = {}
        for finding in findings:
            by_file.setdefault(finding.location.path, []).append(finding)
        for of_one in by_file.values():
            if lost := unreadable(evaluation, of_one):
                self.parts.append(structs.replace(_redacted(lost), part=True))

    def skip(self, skipped: Skipped) -> None:
        """Record the reason why an evaluation has no section."""
        self.skipped[skipped.evaluation] = _redacted(skipped)

    def interrupt(self) -> None:
        """Mark evaluations without a result as not run."""
        self.stopped = INTERRUPTED
        for name, kind in KINDS.items():
            is_missing = self.sections.get(name) is None and name not in self.skipped
            if is_missing and (not kind.on_request or is_asked(self.settings, kind.name)):
                self.skip(Skipped(evaluation=kind.name, reason=INTERRUPTED))

    @cached_property
    def cases(self) -> E2ECases:
        """The end-to-end test cases, read once."""
        return read_cases(self.project.root, self.tests.e2e)

    @cached_property
    def quarantine(self) -> QuarantineFile | None:
        """The quarantine file as it is on the day of the run, read once."""
        folder = self.inputs.settings_folder
        today = date.fromisoformat((self.inputs.source.measured or now())[:10])
        return None if folder is None else quarantine_of(folder, self.project.root, today, self.screen.alarm)

    @property
    def named_tests(self) -> Iterator[tuple[str, str]]:
        """The names of all tests, and of the sentences that are judged, with their files."""
        tests = self.project_tests
        sentences = tests.examples if self.tests.nlu else self.project.nlu.examples
        return names_and_files(
            tests.stories, tests.cases, sentences, self.suites.read.suites if self.tests.batch else ()
        )

    @cached_property
    def suites(self) -> SuitesOfRun:
        """The batch suites, read once."""
        return SuitesOfRun(self.project, self.tests.batch, self.settings, self.engines)

    @property
    def project_tests(self) -> ProjectTests:
        """The tests that were read, of every kind that the data are checked against."""
        return ProjectTests(self.tests.stories, self.tests.nlu.examples if self.tests.nlu else (), self.cases.cases)


def measured_by(kind: EvaluationKind) -> Callable[[RunInProgress], Any]:
    """Return what measures a kind of evaluation: ``measure`` of the module of that name in its folder."""
    return cast("Callable[[RunInProgress], Any]", import_module(f"turncheck.evaluations.{kind.name}.measure").measure)


def _redacted(skipped: Skipped) -> Skipped:
    words = {name: redact(getattr(skipped, name)) for name in ("reason", "cause", "without_place")}
    return structs.replace(skipped, **words)


# The batch suites of a run: read once, refused if they are faulty, judged by the run's engine.


@dataclass(eq=False)
class SuitesOfRun:
    """The suites at ``paths``, which the settings name or which are in the project."""

    project: Project
    paths: tuple[str, ...]
    settings: Settings
    engines: Engine

    @cached_property
    def read(self) -> Suites:
        """The suites, and what is wrong with their files."""
        how = HowToRead(strict=self.settings.strict, upload=self.engines.capabilities.uploads_suites)
        return read_suites(self.project.root, self.paths, how)

    @cached_property
    def _known(self) -> KnownNames:
        return known_names(self.project)

    @property
    def texts(self) -> list[str]:
        """The utterances of all cases."""
        return [case.text for suite in self.read.suites for case in suite.cases]

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings on the files, and on names that the project lacks."""
        from turncheck.validation.case_names import unknown_names  # few projects have suites

        return (*self.read.findings, *unknown_names(self.read, self._known))

    def refused(self) -> Skipped | None:
        """Return why suites are not run: one has an error, which is reported here too, or there are no cases."""
        if errors := self.read.errors:
            return skipped_by_fault("batch", "the batch suites are faulty", errors)
        if not self.texts:
            return Skipped(evaluation="batch", reason=f"there are no batch suites{at_paths(self.paths)}", no_tests=True)
        return None

    def evaluate(
        self, screen: Console, answers: Answers = COMPUTE_LOCALLY, repeating: Repeating[Batch] | None = None
    ) -> Batch:
        """Judge them; see :func:`turncheck.evaluations.batch.suites.evaluate_suites`."""
        from turncheck.evaluations.batch.suites import evaluate_suites  # as above

        return evaluate_suites(self.engines, self.read.suites, self._how, screen, answers, repeating=repeating)

    def evaluate_times(self, screen: Console, times: int) -> Batch:
        """Judge them so many times; see :func:`turncheck.evaluations.batch.suites.evaluate_suites_times`."""
        from turncheck.evaluations.batch.suites import evaluate_suites, evaluate_suites_times  # as above

        if times == 1:
            return evaluate_suites(self.engines, self.read.suites, self._how, screen)
        return evaluate_suites_times(self.engines, self.read.suites, self._how, screen, times)

    @property
    def _how(self) -> SuiteRun:
        from turncheck.evaluations.batch.suites import SuiteRun  # as above

        training = {example.text for example in self.project.nlu.examples}
        stands_in = self.engines.capabilities.stands_in
        setting = setting_of(self.project)
        return SuiteRun(self._known, training, self.settings.notes, by_stand_in=stands_in, setting=setting)
