"""The batch suites of a run: read once, refused if they are faulty, judged by the run's engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from turncheck.evaluation.answers import ASKED_HERE
from turncheck.messages.phrasing import at_paths
from turncheck.project.batch.known import known_names, setting_of
from turncheck.project.batch.reader import HowToRead, read_suites
from turncheck.report.model import Skipped
from turncheck.run.trainable import fault_of

if TYPE_CHECKING:
    from turncheck.engines.base import Engine
    from turncheck.evaluation.answers import Answers
    from turncheck.messages.finding import Finding
    from turncheck.process.screen import Console
    from turncheck.project.batch.model import KnownNames, Suites
    from turncheck.project.model import Project
    from turncheck.report.model import Batch
    from turncheck.settings.options import Settings


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
            return fault_of("batch", "the batch suites are faulty", errors)
        if not self.texts:
            return Skipped(evaluation="batch", reason=f"there are no batch suites{at_paths(self.paths)}", no_tests=True)
        return None

    def evaluate(self, screen: Console, answers: Answers = ASKED_HERE) -> Batch:
        """Judge them; see :func:`turncheck.evaluation.batch.suites.evaluate_suites`."""
        from turncheck.evaluation.batch.suites import SuiteRun, evaluate_suites  # as above

        training = {example.text for example in self.project.nlu.examples}
        stands_in = self.engines.capabilities.stands_in
        setting = setting_of(self.project)
        how = SuiteRun(self._known, training, self.settings.notes, by_stand_in=stands_in, setting=setting)
        return evaluate_suites(self.engines, self.read.suites, how, screen, answers)
