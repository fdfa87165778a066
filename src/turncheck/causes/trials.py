"""Runs tests on a project of which some changed parts are taken back, and trains only what learns from these."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.causes.search import Taken, Trials
from turncheck.causes.sentences import NO_SENTENCES, Key, TestSentences
from turncheck.engines.action_server.server import NoActionServer
from turncheck.evaluations.core.judging import evaluate_stories
from turncheck.evaluations.e2e.case import CaseRun, run_case
from turncheck.messages.errors import EngineError, UserError
from turncheck.process.one_thread import one_thread
from turncheck.project.config import refused
from turncheck.project.model import CheckpointStep, Story, UserStep
from turncheck.validation.learnable import learnable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.causes.parts import Changes, Difference
    from turncheck.engines.base import Trained
    from turncheck.engines.conversation import ActionServer
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project
    from turncheck.report.causes import Asked

_OF_SYNONYMS: Final = 50
"""Training only what learns from synonyms is so much less work than training all of a pipeline."""
_STEPS_OF_TESTS: Final = 4
"""So many steps of tests are as much work as one of training."""

_WITH_ACTIONS: Final = 25
"""A turn of a conversation is as much work as this many sentences if an action server may be called in it."""
_OF_PIPELINES: Final = frozenset({"pipeline", "config"})
"""Kinds that no single sentence outweighs: a component explains what it does, whatever else tips a test as well."""
_SPARE: Final = frozenset({"responses", "actions", "entities"})
"""Kinds of which a new one rarely matters: something else must name it first."""


class AskedTest(Struct, frozen=True):
    """A test whose result changed.

    ``passes``: what it did on the base. ``misunderstood``: whether it was only misunderstood there, so that this is as
    good. ``near``: names of the step that went wrong, the nearest first; ``names``: all that the test mentions.
    """

    evaluation: Asked
    name: str
    path: str
    passes: bool
    misunderstood: bool = False
    is_of_sentences: bool = False
    near: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def key(self) -> Key:
        """What its outcome is found by."""
        return self.evaluation, self.name, self.path


@dataclass(eq=False)
class Laboratory:
    """The trained project of a change, the tests that changed, and what runs them."""

    changes: Changes
    trained: Trained
    tests: Sequence[AskedTest]
    stories: Sequence[Story]
    cases: Sequence[E2ECase]
    server: ActionServer
    case_run: CaseRun
    sentences: TestSentences = NO_SENTENCES

    def trials(self) -> Trials:
        """Return how the parts are tried."""
        numbers = range(len(self.changes.parts))
        understanding = frozenset(number for number in numbers if "nlu" in self.changes.parts[number].learners)
        return Trials(
            parts=len(self.changes.parts),
            tests=len(self.tests),
            run=self.run,
            cost=self.cost,
            closest=self.closest,
            groups=(frozenset(numbers) - understanding, understanding),
            unsteady=frozenset(one for one in understanding if self.changes.parts[one].kind not in _OF_PIPELINES),
        )

    def cost(self, taken: Taken) -> int:
        """Return the work of a trial: sentences and steps that are learnt from again, and steps of tests."""
        learners = frozenset().union(*(self.changes.parts[number].learners for number in taken))
        project = self.changes.head
        work = 1 + self._size_of_tests
        if "nlu" in learners:
            sentences = 1 + len(project.nlu.examples)
            work += sentences // _OF_SYNONYMS if self._steps(taken) is not None else sentences
        if "core" in learners:
            work += self.trained.size
        return work

    @cached_property
    def _size_of_tests(self) -> int:
        """The work of running the tests once; how long an action server takes is not known."""
        names = {test.name for test in self.tests if test.evaluation == "e2e"}
        turns = sum(len(case.turns) for case in self.cases if case.name in names)
        steps = sum(len(story.steps) for story in self._asked_stories(self.tests))
        steps += sum(test.evaluation not in {"core", "e2e"} for test in self.tests)
        return steps // _STEPS_OF_TESTS + turns * (1 if isinstance(self.server, NoActionServer) else _WITH_ACTIONS)

    def _steps(self, taken: Taken) -> frozenset[str] | None:
        """The only kinds of pipeline steps that learn from these parts; ``None``: all."""
        steps: frozenset[str] = frozenset()
        for number in taken:
            part = self.changes.parts[number]
            if "nlu" in part.learners:
                if part.steps is None:
                    return None
                steps |= part.steps
        return steps

    def closest(self, test: int) -> list[int]:
        """Return the parts by how likely they have to do with a test, the likeliest first.

        Of intents that a test has to do with, the one of which most sentences changed.
        """
        asked = self.tests[test]

        def key(number: int) -> tuple[int, int, int, int, int]:
            part = self.changes.parts[number]
            shared = [place for place, name in enumerate(asked.near) if name in part.names]
            of_its_kind = ("nlu" in part.learners) == asked.is_of_sentences
            is_setting = part.kind in {"pipeline", "policies", "config"}
            tier = -1 if is_setting and self._most_changed else 0 if shared else 1 if is_setting else 2
            tier = 3 if tier == 2 and not part.names & asked.names else tier
            is_spare = part.change == "added" and part.kind in _SPARE
            return (tier + (not of_its_kind) + is_spare, -len(shared), -part.size, min(shared, default=0), number)

        return sorted(range(len(self.changes.parts)), key=key)

    @cached_property
    def _most_changed(self) -> bool:
        """Whether most of all tests changed, as if by a setting."""
        utterances = sum(len(suite.cases) for suite in self.sentences.suites)
        number = len(self.stories) + len(self.cases) + len(self.sentences.examples) + utterances
        return 2 * len(self.tests) > number

    def run(self, taken: Taken, asked: Sequence[int]) -> frozenset[int]:
        """Take parts back, train, and return the tests that then end as on the base; none if it cannot be trained."""
        tests = [self.tests[number] for number in asked]
        try:
            with one_thread():
                trained = self._trained(taken)
                outcomes = None if trained is None else self._outcomes(trained, tests)
        except (UserError, EngineError):
            outcomes = None
        if outcomes is None:
            return frozenset()
        return frozenset(number for number, test in zip(asked, tests, strict=True) if _is_as_before(test, outcomes))

    def _trained(self, taken: Taken) -> Trained | None:
        """Train what learns from these parts.

        Raises:
            UserError: it cannot be trained.
        """
        if not taken:
            return self.trained
        project = self.changes.without(taken)
        parts = [self.changes.parts[number] for number in taken]
        if is_refused(project, parts):
            return None
        learners = frozenset().union(*(part.learners for part in parts))
        trained = self.trained.variant(project, "nothing")
        if "nlu" in learners:
            trained = trained.variant(project, "nlu", self._steps(taken))
        return trained.variant(project, "policies") if "core" in learners else trained

    def _outcomes(self, trained: Trained, tests: Sequence[AskedTest]) -> dict[Key, list[str]]:
        """Return the outcomes of the tests."""
        found: dict[Key, list[str]] = {}
        if trained.nlu is not None:
            for place, outcome in self.sentences.outcomes(trained.nlu, [test.key for test in tests]):
                found.setdefault(place, []).append(outcome)
        stories = self._asked_stories(tests)
        if stories and trained.ensemble is not None:
            ensemble, project = trained.ensemble, trained.project
            generated = "nlg" in project.endpoints
            says = any(isinstance(step, UserStep) and step.text for story in stories for step in story.steps)
            core = evaluate_stories(
                ensemble,
                stories,
                nlu=trained.nlu if says else None,
                end_to_end=True,
                shows=lambda action: ensemble.domain.shows_something(action, generated=generated),
                known=learnable(project),
            )
            for story in core.stories:
                found.setdefault(("core", story.name, story.location.path), []).append(story.outcome)
        wanted = {(test.name, test.path) for test in tests if test.evaluation == "e2e"}
        cases = [case for case in self.cases if (case.name, case.location.path) in wanted]
        engine = trained.engine(self.server) if cases else None
        if engine is None:
            return found
        for case in cases:
            outcome = run_case(engine, case, self.case_run).result.outcome
            found.setdefault(("e2e", case.name, case.location.path), []).append(outcome)
        return found

    def _asked_stories(self, tests: Sequence[AskedTest]) -> list[Story]:
        """The test stories that were asked for; all of them if checkpoints may connect some."""
        wanted = {(test.name, test.path) for test in tests if test.evaluation == "core"}
        if not wanted:
            return []
        listed = [story for story in self.stories if story.kind == "story"]
        if any(isinstance(step, CheckpointStep) for story in listed for step in story.steps):
            return listed
        return [story for story in listed if (story.name, story.location.path) in wanted]


def is_refused(project: Project, parts: Iterable[Difference]) -> bool:
    """Whether a project without these parts has a pipeline that cannot be trained."""
    return any(part.kind == "pipeline" for part in parts) and any(True for _ in refused(project))


def _is_as_before(test: AskedTest, outcomes: dict[Key, list[str]]) -> bool:
    """Whether a test ends as on the base; one that was not run does not."""
    found = outcomes.get(test.key)
    if not found:
        return False
    good = {"passed", "misunderstood"} if test.misunderstood and test.passes else {"passed"}
    passes = all(outcome in good for outcome in found)
    return passes if test.passes else not passes and "skipped" not in found
