"""Which evaluations run, in which order, and why the others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.messages.errors import INTERRUPTED
from turncheck.messages.phrasing import at_paths, count
from turncheck.report.model import Skipped, Validation
from turncheck.run.cases_again import EngineRejudge
from turncheck.run.core import has_text, is_said, lazy_nlu
from turncheck.run.reading import CASES_BELOW
from turncheck.run.robustness import measure_robustness
from turncheck.run.trainable import elsewhere, fault_of, is_asked, not_asked, not_understood, unreadable, with_tests
from turncheck.run.under_way import RunInProgress

if TYPE_CHECKING:
    from turncheck.evaluation.nlu import NluMeasurement
    from turncheck.project.nlu_data import NluData
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Batch, Core, EndToEnd, Robustness, Strength
    from turncheck.run.cases_again import Rejudge


class Evaluations(RunInProgress):
    """The evaluations of a run, each by the module of its name."""

    def evaluate(self) -> None:
        """Run the evaluations that need the engine.

        Raises:
            KeyboardInterrupt: somebody interrupted it, so that the engine is stopped quickly.
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
        """Run the evaluations that only need the files."""
        self.validation_section = self.validation()

    def nlu(self) -> NluMeasurement | None:
        """Language understanding: on held-out test sentences if there are any, else by cross-validation."""
        from turncheck.evaluation.nlu import why_not_testable

        project, tests, folds = self.project, self.tests.nlu, self.settings.folds
        why_not = self.why_not("nlu", in_folds=tests is None)
        if why_not is None and tests is not None and not tests.examples:
            why_not = unreadable("nlu", self.tests.nlu_findings)
        untrainable = self.engines.capabilities.no_training if tests is None else None
        reason = untrainable or why_not_testable(project, tests, folds=folds)
        if reason and tests is not None and self.settings.nlu:
            reason += at_paths((self.settings.nlu,))
        if why_not is None and reason:
            why_not = Skipped(evaluation="nlu", reason=reason)
        why_not = why_not or not_understood("nlu", self.project, self.engines, has_sentences=tests is not None)
        if why_not is not None:
            self.skip(why_not)
            return None
        self.note_part("nlu", self.tests.nlu_findings)

        how = "Testing language understanding" if tests else f"Cross-validating in {count(folds, 'fold')}"
        with self.screen.step("nlu", how):
            return self.evaluated("nlu", lambda: self._measure_nlu(tests))

    def _measure_nlu(self, tests: NluData | None) -> NluMeasurement:
        from turncheck.run.nlu import measure_by_folds, measure_held_out

        if tests is not None and (engine := lazy_nlu(self.engines)) is not None:
            return measure_held_out(self.engines, engine, self.project, tests, answers=self.precomputed.answers)
        whole = any(self.why_not(name) is None for name, there in self._others() if there)
        if note := self.engines.before_folds(self.settings.folds, whole=whole):
            self.screen.note(note)
        return measure_by_folds(
            self.engines,
            self.project,
            self.settings,
            self.screen,
            answers=self.precomputed.answers,
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
        why_not = self.not_now("core") or elsewhere("core", self.project, self.engines)
        if why_not is None and not listed:
            nothing = (
                "the test files hold rules alone, no stories"
                if stories
                else f"the project has no test stories{at_paths(self.settings.stories)}"
            )
            none = Skipped(evaluation="core", reason=nothing, no_tests=True)
            why_not = unreadable("core", self.tests.story_findings) or none
        why_not = (
            why_not
            or self.not_possible("core")
            or not_understood("core", self.project, self.engines, has_sentences=any(map(has_text, listed)))
        )
        if why_not is not None:
            whole = not any(finding.severity == "error" for finding in self.tests.story_findings)
            self.skip(with_tests(why_not, [story.name for story in listed] if whole else None))
            return None
        self.note_part("core", self.tests.story_findings)

        with self.screen.step("core", f"Testing {count(len(listed), 'story', 'stories')}"):
            return self.evaluated(
                "core",
                lambda: measure_stories(
                    self.engines,
                    self.project,
                    stories,
                    timed=self.screen.timer("core"),
                    answers=self.precomputed.answers,
                    work=self.work,
                ),
            )

    def e2e(self) -> EndToEnd | None:
        """The end-to-end test cases, custom actions by the action server that the settings or the project name."""
        from turncheck.dialogue.domain import DialogueDomain
        from turncheck.run.e2e import measure_cases
        from turncheck.validation.case_names import check_cases

        why_not = self.not_now("e2e") or elsewhere("e2e", self.project, self.engines)
        if why_not is None and not self.tests.e2e:
            nothing = "the project has no end-to-end cases"
            if others := self.tests.e2e_elsewhere:
                nothing += f" below {CASES_BELOW}, but some{at_paths(others[:3])}: name them in the setting `e2e`"
            why_not = Skipped(evaluation="e2e", reason=nothing, no_tests=True)
        why_not = why_not or self.not_possible("e2e")
        if why_not is not None:
            whole = why_not.fault and not any(finding.severity == "error" for finding in self.cases.findings)
            self.skip(with_tests(why_not, [case.name for case in self.cases.cases] if whole else None))
            return None
        read = self.cases
        faults = (*read.findings, *check_cases(read, DialogueDomain.of(self.project), self.project.flows))
        self.case_findings = faults
        if errors := [fault for fault in faults if fault.severity == "error"]:
            self.skip(fault_of("e2e", "the end-to-end cases are faulty", errors))
            return None
        if not read.cases:
            nothing = f"there are no end-to-end cases{at_paths(self.settings.e2e)}"
            self.skip(Skipped(evaluation="e2e", reason=nothing, no_tests=True))
            return None
        if why_not := not_understood(
            "e2e",
            self.project,
            self.engines,
            has_sentences=any(is_said(turn.user) for case in read.cases for turn in case.turns),
        ):
            self.skip(with_tests(why_not, [case.name for case in read.cases]))
            return None
        with self.screen.step("e2e", f"Running {count(len(read.cases), 'end-to-end case')}"):
            return self.evaluated(
                "e2e",
                lambda: measure_cases(
                    self.inputs,
                    self.project,
                    read.cases,
                    self.engines,
                    screen=self.screen,
                    answers=self.precomputed.answers,
                    work=self.work,
                ),
            )

    def batch(self) -> Batch | None:
        """The batch suites, utterance by utterance or each as a whole, depending on the engine."""
        none = Skipped(evaluation="batch", reason="the project has no batch suites", no_tests=True)
        why_not = self.not_now("batch") if self.tests.batch else none
        if why_not is not None:
            self.skip(why_not)
            return None
        suites = self.suites
        by_sentence = not self.engines.capabilities.answers_suites
        why_not = suites.refused() or self.not_possible("batch")
        why_not = why_not or (
            not_understood("batch", self.project, self.engines, has_sentences=True) if by_sentence else None
        )
        if why_not is not None:
            self.skip(with_tests(why_not, None if suites.read.errors else suites.texts))
            return None
        with self.screen.step("batch", f"Running {count(len(suites.texts), 'batch case')}"):
            return self.evaluated("batch", lambda: suites.evaluate(self.screen, self.precomputed.answers))

    def robustness(self) -> Robustness | None:
        """Language understanding under the noise of real users; only on request."""
        if not is_asked(self.settings, "robustness"):
            return None
        from turncheck.evaluation.nlu import why_not_testable

        tests = self.tests.nlu
        untrainable = self.engines.capabilities.no_training if tests is None else None
        reason = untrainable or why_not_testable(self.project, tests, folds=self.settings.folds)
        why_not = self.why_not("robustness", in_folds=tests is None)
        if why_not is None and reason:
            why_not = Skipped(evaluation="robustness", reason=reason, no_tests=True)
        why_not = unreadable("robustness", self.tests.nlu_findings, of="nlu") or why_not
        if why_not is not None:
            self.skip(why_not)
            return None
        with self.screen.step("robustness", "Varying the test sentences"):
            return self.in_one_piece(
                "robustness",
                lambda: measure_robustness(
                    self.engines, self.project, tests, self.settings, work=self.work, cache=self.inputs.cache
                ),
            )

    def strength(self) -> Strength | None:
        """The tests, tried on the project with one small fault at a time; only on request."""
        if not is_asked(self.settings, "strength"):
            return None
        from turncheck.run.assistant import running_server, where_actions_are
        from turncheck.run.strength import measure_strength, why_no_mutants

        none = Skipped(evaluation="strength", reason="the project has no tests", no_tests=True)
        tests = self.project_tests
        why_not = None if self.stopped is None else self.not_now("strength")
        why_not = why_not or self.not_possible("strength") or self._unreadable_tests()
        if why_not is None and not (tests.stories or tests.examples or tests.cases):
            why_not = none
        # If requested by name it covers everything, unless the settings restrict it to changed lines.
        whole = self.settings.strength != "changed"
        changed = None if whole or self.inputs.changed is None else self.inputs.changed()
        if why_not is None and not whole and (reason := why_no_mutants(changed)) is not None:
            why_not = Skipped(evaluation="strength", reason=reason, no_tests=True)
        if why_not is not None:
            self.skip(why_not)
            return None

        def all_mutants() -> Strength:
            inputs = self.inputs
            with running_server(
                self.settings,
                self.project,
                inputs.environment,
                self.screen,
                inputs.hosts,
                variables=inputs.file_variables,
            ) as server:
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
            return self.in_one_piece("strength", all_mutants)

    def _unreadable_tests(self) -> Skipped | None:
        """If some tests cannot be read, the others would seem to notice too little."""
        tests = self.tests
        return (
            unreadable("strength", tests.nlu_findings, of="nlu")
            or unreadable("strength", tests.story_findings, of="core")
            or unreadable("strength", self.cases.findings, of="e2e")
        )

    def cases_again(self) -> Rejudge | None:
        """Return what runs the end-to-end cases again, if the engine accepts given results of understanding."""
        if self.e2e_section is None or not self.engines.capabilities.accepts_parses:
            return None
        return EngineRejudge(self.cases.cases, self.engines, self.project, self.inputs, self.screen)

    def validation(self) -> Validation | None:
        """The data: what Rasa checks, and what it accepts silently."""
        from turncheck.run.validation import checked_data

        if not is_asked(self.settings, "validate"):
            self.skip(not_asked(self.settings, "validate"))
            return None
        suites = self.suites.findings() if self.tests.batch and is_asked(self.settings, "batch") else ()
        with self.screen.step("validate", "Checking the data"):
            return checked_data(
                self.inputs,
                self.project,
                self.project_tests,
                (*self.tests.findings, *(self.case_findings or ()), *suites),
                self.refusals,
                cases_read=self.case_findings is not None,
            )
