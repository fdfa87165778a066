"""Which evaluations run, in which order, and why the others do not."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from turncheck.evaluation.answers import ElsewhereError, answered
from turncheck.messages.engine_errors import INTERRUPTED
from turncheck.messages.errors import UserError
from turncheck.messages.plurals import count
from turncheck.process.secret import redact
from turncheck.project.e2e.cases import read_cases
from turncheck.project.model import Config
from turncheck.report.model import ON_REQUEST, Skipped, Validation
from turncheck.run.cases_again import EngineJudgesAgain
from turncheck.run.cut_short import as_far_as_it_goes, with_one_model
from turncheck.run.head_start import NO_HEAD_START
from turncheck.run.not_run import (
    elsewhere,
    faulty,
    is_asked,
    not_asked,
    not_possible,
    not_understood,
    refused_training,
    unreadable,
    with_tests,
)
from turncheck.run.robustness import measure_robustness
from turncheck.run.suites import SuitesOfRun
from turncheck.run.understood import has_text, is_said, nlu_to_come
from turncheck.validation.findings import found
from turncheck.validation.losses import losses
from turncheck.validation.project_tests import ProjectTests
from turncheck.work.workplace import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from turncheck.engines.base import Engines
    from turncheck.evaluation.nlu import NluMeasurement
    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.process.screen import Screen
    from turncheck.project.e2e.model import E2ECases
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import NluData
    from turncheck.report.model import Batch, Core, EndToEnd, Evaluation, Robustness, Strength
    from turncheck.run.cases_again import JudgesAgain
    from turncheck.run.head_start import HeadStart
    from turncheck.run.inputs import Inputs
    from turncheck.run.reading import Tests
    from turncheck.work.workplace import Workplace


Section = TypeVar("Section")


class Evaluations:
    """One run on its way: each evaluation gives its section, or leaves the reason why there is none."""

    def __init__(
        self,
        inputs: Inputs,
        project: Project,
        tests: Tests,
        engines: Engines,
        screen: Screen,
        *,
        work: Workplace = HERE,
        head_start: HeadStart = NO_HEAD_START,
    ) -> None:
        self.inputs = inputs
        self.settings = inputs.settings
        self.project = project
        self.tests = tests
        self.engines = engines
        self.screen = screen
        self.work = work
        self.head_start = head_start
        self.refused: dict[Evaluation, UserError] = {}
        """Why evaluations could not be trained."""
        engines.recall(head_start.parts)
        self.nlu_measurement: NluMeasurement | None = None
        self.core_section: Core | None = None
        self.e2e_section: EndToEnd | None = None
        self.batch_section: Batch | None = None
        self.strength_section: Strength | None = None
        self.robustness_section: Robustness | None = None
        self.validation_section: Validation | None = None
        self.skipped: dict[str, Skipped] = {}
        self.parts: list[Skipped] = []
        self.stopped: str | None = None
        self.case_findings: tuple[Finding, ...] | None = None
        self.refusals: dict[Location, Finding] = {}

    def evaluate(self) -> None:
        """Run what needs the engine.

        Raises:
            KeyboardInterrupt: somebody interrupted it, so that whoever stops the engine makes haste.
        """
        self.nlu_measurement = self.nlu()
        self.core_section = self.core()
        self.e2e_section = self.e2e()
        self.batch_section = self.batch()
        self.robustness_section = self.robustness()
        self.strength_section = self.strength()
        if self.stopped == INTERRUPTED:
            raise KeyboardInterrupt

    def validate(self) -> None:
        """Run what needs the files alone."""
        self.validation_section = self.validation()

    def interrupt(self) -> None:
        """Mark as not run what has no result yet."""
        self.stopped = INTERRUPTED
        sections: dict[Evaluation, object] = {
            "validate": self.validation_section,
            "nlu": self.nlu_measurement,
            "core": self.core_section,
            "e2e": self.e2e_section,
            "batch": self.batch_section,
            "strength": self.strength_section,
            "robustness": self.robustness_section,
        }
        for name, section in sections.items():
            if (
                section is None
                and name not in self.skipped
                and (name not in ON_REQUEST or is_asked(self.settings, name))
            ):
                self._skip(Skipped(evaluation=name, reason=f"not run: {INTERRUPTED}"))

    def nlu(self) -> NluMeasurement | None:
        """Language understanding: held-out where there are test sentences, else by cross-validation."""
        from turncheck.evaluation.nlu import why_not_testable

        project, tests, folds = self.project, self.tests.nlu, self.settings.folds
        why_not = self._why_not("nlu", in_folds=tests is None)
        if why_not is None and tests is not None and not tests.examples:
            why_not = unreadable("nlu", self.tests.nlu_findings)
        untrainable = self.engines.capabilities.no_training if tests is None else None
        reason = untrainable or why_not_testable(project, tests, folds=folds)
        if why_not is None and reason:
            why_not = Skipped(evaluation="nlu", reason=reason)
        why_not = why_not or not_understood("nlu", self.project, self.engines, has_sentences=tests is not None)
        if why_not is not None:
            self._skip(why_not)
            return None
        self._note_part("nlu", self.tests.nlu_findings)

        how = "Testing language understanding" if tests else f"Cross-validating in {count(folds, 'fold')}"
        with self.screen.step("nlu", how):
            return self._evaluated("nlu", lambda: self._measure_nlu(tests))

    def _measure_nlu(self, tests: NluData | None) -> NluMeasurement:
        from turncheck.run.nlu import measure_by_folds, measure_held_out

        if tests is not None and (engine := nlu_to_come(self.engines)) is not None:
            return measure_held_out(self.engines, engine, self.project, tests, self.head_start.answers)
        whole = any(self._why_not(name) is None for name, there in self._others() if there)
        if note := self.engines.before_folds(self.settings.folds, whole=whole):
            self.screen.note(note)
        return measure_by_folds(
            self.engines,
            self.project,
            self.settings,
            answers=self.head_start.answers,
            cache=self.inputs.cache,
            work=self.work,
        )

    def _others(self) -> tuple[tuple[Evaluation, object], ...]:
        """The evaluations that need the model of the whole project, and what they have to do."""
        return ("core", self.tests.stories), ("e2e", self.tests.e2e), ("batch", self.tests.batch)

    def core(self) -> Core | None:
        """Dialogue: the test stories, step by step."""
        from turncheck.run.core import measure_stories

        stories = self.tests.stories
        listed = [story for story in stories if story.kind == "story"]
        why_not = self._not_now("core") or elsewhere("core", self.project, self.engines)
        if why_not is None and not listed:
            nothing = "the test files hold rules alone, no stories" if stories else "the project has no test stories"
            none = Skipped(evaluation="core", reason=nothing, no_tests=True)
            why_not = unreadable("core", self.tests.story_findings) or none
        why_not = (
            why_not
            or self._not_possible("core")
            or not_understood("core", self.project, self.engines, has_sentences=any(map(has_text, listed)))
        )
        if why_not is not None:
            whole = not any(finding.severity == "error" for finding in self.tests.story_findings)
            self._skip(with_tests(why_not, [story.name for story in listed] if whole else None))
            return None
        self._note_part("core", self.tests.story_findings)

        with self.screen.step("core", f"Testing {count(len(listed), 'story', 'stories')}"):
            return self._evaluated(
                "core",
                lambda: measure_stories(
                    self.engines,
                    self.project,
                    stories,
                    timed=self.screen.timer("core"),
                    answers=self.head_start.answers,
                    work=self.work,
                ),
            )

    def e2e(self) -> EndToEnd | None:
        """The end-to-end test cases, custom actions by the action server that the settings or the project name."""
        from turncheck.dialogue.domain import DialogueDomain
        from turncheck.run.e2e import measure_cases
        from turncheck.validation.e2e_case_names import check_cases

        why_not = self._not_now("e2e") or elsewhere("e2e", self.project, self.engines)
        if why_not is None and not self.tests.e2e:
            why_not = Skipped(evaluation="e2e", reason="the project has no end-to-end cases", no_tests=True)
        why_not = why_not or self._not_possible("e2e")
        if why_not is not None:
            whole = why_not.fault and not any(finding.severity == "error" for finding in self.cases.findings)
            self._skip(with_tests(why_not, [case.name for case in self.cases.cases] if whole else None))
            return None
        read = self.cases
        faults = (*read.findings, *check_cases(read, DialogueDomain.of(self.project), self.project.flows))
        self.case_findings = faults
        if errors := [fault for fault in faults if fault.severity == "error"]:
            self._skip(faulty(errors))
            return None
        if not read.cases:
            nothing = "the files of end-to-end cases hold none"
            self._skip(Skipped(evaluation="e2e", reason=nothing, no_tests=True))
            return None
        if why_not := not_understood(
            "e2e",
            self.project,
            self.engines,
            has_sentences=any(is_said(turn.user) for case in read.cases for turn in case.turns),
        ):
            self._skip(with_tests(why_not, [case.name for case in read.cases]))
            return None
        with self.screen.step("e2e", f"Running {count(len(read.cases), 'end-to-end case')}"):
            return self._evaluated(
                "e2e",
                lambda: measure_cases(
                    self.inputs,
                    self.project,
                    read.cases,
                    self.engines,
                    screen=self.screen,
                    answers=self.head_start.answers,
                    work=self.work,
                ),
            )

    def batch(self) -> Batch | None:
        """The batch suites, an utterance at a time or each as a whole, as the engine knows them."""
        none = Skipped(evaluation="batch", reason="the project has no batch suites", no_tests=True)
        why_not = self._not_now("batch") if self.tests.batch else none
        if why_not is not None:
            self._skip(why_not)
            return None
        suites = self.suites
        by_sentence = not self.engines.capabilities.answers_suites
        why_not = suites.refused() or self._not_possible("batch")
        why_not = why_not or (
            not_understood("batch", self.project, self.engines, has_sentences=True) if by_sentence else None
        )
        if why_not is not None:
            self._skip(with_tests(why_not, None if suites.read.errors else suites.texts))
            return None
        with self.screen.step("batch", f"Running {count(len(suites.texts), 'batch case')}"):
            return self._evaluated("batch", lambda: suites.evaluate(self.screen, self.head_start.answers))

    def robustness(self) -> Robustness | None:
        """Language understanding under the noise of real users; only where somebody asks."""
        if not is_asked(self.settings, "robustness"):
            return None
        from turncheck.evaluation.nlu import why_not_testable

        tests = self.tests.nlu
        untrainable = self.engines.capabilities.no_training if tests is None else None
        reason = untrainable or why_not_testable(self.project, tests, folds=self.settings.folds)
        why_not = self._why_not("robustness", in_folds=tests is None)
        if why_not is None and reason:
            why_not = Skipped(evaluation="robustness", reason=reason, no_tests=True)
        if why_not is not None:
            self._skip(why_not)
            return None
        with self.screen.step("robustness", "Varying the test sentences"):
            return self._in_one_piece(
                "robustness", lambda: measure_robustness(self.engines, self.project, tests, self.settings, self.work)
            )

    def strength(self) -> Strength | None:
        """The tests, tried on the project with one small fault at a time; only where somebody asks."""
        if not is_asked(self.settings, "strength"):
            return None
        from turncheck.run.assistant import running_server, where_actions_are
        from turncheck.run.strength import measure_strength, why_no_mutants

        none = Skipped(evaluation="strength", reason="the project has no tests", no_tests=True)
        tests = self._project_tests
        why_not = None if self.stopped is None else self._not_now("strength")
        why_not = why_not or self._not_possible("strength")
        if why_not is None and not (tests.stories or tests.examples or tests.cases):
            why_not = none
        # What is asked for by name is tried as a whole, unless it is said that only changed lines matter.
        whole = self.settings.strength != "changed"
        changed = None if whole or self.inputs.changed is None else self.inputs.changed()
        if why_not is None and not whole and (reason := why_no_mutants(changed)) is not None:
            why_not = Skipped(evaluation="strength", reason=reason, no_tests=True)
        if why_not is not None:
            self._skip(why_not)
            return None

        def all_mutants() -> Strength:
            inputs = self.inputs
            with running_server(self.settings, self.project, inputs.environment, self.screen, inputs.hosts) as server:
                lines = None if whole or changed is None else changed.by_file
                work = where_actions_are(server, self.work, self.settings, self.screen)
                return measure_strength(
                    self.engines,
                    self.project,
                    tests,
                    self.settings,
                    changed=lines,
                    server=server,
                    work=work,
                    suggest=True,
                )

        with self.screen.step("strength", "Trying the tests on mutants"):
            return self._in_one_piece("strength", all_mutants)

    def _in_one_piece(self, evaluation: Evaluation, measure: Callable[[], Section]) -> Section | None:
        """Measure a section whose answer is one unit."""
        return self._evaluated(
            evaluation, lambda: answered(self.head_start.answers, [f"section:{evaluation}"], lambda _: [measure()])[0]
        )

    def cases_again(self) -> JudgesAgain | None:
        """Return who holds the end-to-end cases once more, where the engine is given what to understand."""
        if self.e2e_section is None or not self.engines.capabilities.hears_as_given:
            return None
        return EngineJudgesAgain(self.cases.cases, self.engines, self.project, self.inputs, self.screen)

    @cached_property
    def cases(self) -> E2ECases:
        """The end-to-end test cases, read once."""
        return read_cases(self.project.root, self.tests.e2e)

    @cached_property
    def suites(self) -> SuitesOfRun:
        """The batch suites, read once."""
        return SuitesOfRun(self.project, self.tests.batch, self.settings, self.engines)

    def validation(self) -> Validation | None:
        """The data: what Rasa checks, and what it passes silently."""
        from turncheck.run.validation import checked_data

        if not is_asked(self.settings, "validate"):
            self._skip(not_asked(self.settings, "validate"))
            return None
        suites = self.suites.findings() if self.tests.batch and is_asked(self.settings, "batch") else ()
        with self.screen.step("validate", "Checking the data"):
            return checked_data(
                self.inputs,
                self.project,
                self._project_tests,
                (*self.tests.findings, *(self.case_findings or ()), *suites),
                self.refusals,
                cases_read=self.case_findings is not None,
            )

    @property
    def _project_tests(self) -> ProjectTests:
        return ProjectTests(self.tests.stories, self.tests.nlu.examples if self.tests.nlu else (), self.cases.cases)

    def _evaluated(self, evaluation: Evaluation, evaluate: Callable[[], Section]) -> Section | None:
        """Return the section; where the engine gave up, what it had done until then: nothing runs after it."""

        def unless_elsewhere() -> Section | None:
            try:
                return evaluate()
            except ElsewhereError:
                return None

        try:
            if evaluation in self.head_start.refused:
                raise self.head_start.refused[evaluation]
            result = as_far_as_it_goes(lambda: with_one_model(self.engines, unless_elsewhere))
        except UserError as error:
            self.refused[evaluation] = error
            # An engine that is trained elsewhere says where by itself.
            config = self.project.config if self.engines.capabilities.trained_by_config else Config()
            refused = refused_training(error, evaluation, config)
            self._skip(refused)
            if refused.location is not None:
                self.refusals.setdefault(
                    refused.location, found("training-refused", f"{error.what}.", refused.location)
                )
            return None
        self.stopped = redact(result.reason) if result.reason is not None else None
        for skipped in result.skipped(evaluation):
            self._skip(skipped)
        return result.finished

    def _why_not(self, evaluation: Evaluation, *, in_folds: bool = False) -> Skipped | None:
        """The reasons that hold for any evaluation with an engine."""
        return self._not_now(evaluation) or self._not_possible(evaluation, in_folds=in_folds)

    def _not_possible(self, evaluation: Evaluation, *, in_folds: bool = False) -> Skipped | None:
        """The engine cannot do it, or a part of the project that it needs cannot be read completely."""
        return not_possible(evaluation, self.engines, self._lost, in_folds=in_folds)

    @cached_property
    def _lost(self) -> Mapping[str, Finding]:
        return losses(self.project)

    def _not_now(self, evaluation: Evaluation) -> Skipped | None:
        """It was not asked for, or the engine has given up."""
        if not is_asked(self.settings, evaluation):
            return not_asked(self.settings, evaluation)
        if self.stopped is not None:
            return Skipped(evaluation=evaluation, reason=f"not run: {self.stopped.partition(chr(10))[0]}")
        return None

    def _note_part(self, evaluation: Evaluation, findings: Iterable[Finding]) -> None:
        """Mark that an evaluation runs without the tests that cannot be read."""
        by_file: dict[str, list[Finding]] = {}
        for finding in findings:
            by_file.setdefault(finding.location.path, []).append(finding)
        for of_one in by_file.values():
            if lost := unreadable(evaluation, of_one):
                self.parts.append(structs.replace(lost, reason=redact(lost.reason), part=True))

    def _skip(self, skipped: Skipped) -> None:
        self.skipped[skipped.evaluation] = structs.replace(skipped, reason=redact(skipped.reason))
