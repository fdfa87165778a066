"""Tests that nobody has written yet: each passes on the project as it is, and is tried on faults that go unnoticed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

from turncheck.engines.action_server.server import NoActionServer
from turncheck.evaluation.coverage import reached_by_stories
from turncheck.evaluation.e2e_case import run_case
from turncheck.evaluation.strength.bench import CASE_RUN, CaseTest, StoryTest, labels, outcomes_of_stories
from turncheck.evaluation.strength.story_faults import touched_by
from turncheck.evaluation.strength.suggested_files import cases_text, stories_text
from turncheck.evaluation.strength.walks import Walks, before_story
from turncheck.process.temporary import temporary_folder
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_story_files
from turncheck.report.strength import SuggestedTest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.engines.workshop import Trained
    from turncheck.evaluation.strength.mutant import Mutant
    from turncheck.project.model import Story
    from turncheck.project.nlu_data import Example

_PER_STORY: Final = 2
"""At most this many tests are made along a rule or story."""
_TRIED: Final = 6
"""At most this many tests along rules and stories are tried on one mutant."""
_SAID: Final = 2
"""At most this many sentences that are understood differently are tried on one mutant."""
_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Candidate:
    """A test as it would be written, and as it is run."""

    shown: SuggestedTest
    test: CaseTest | StoryTest


@dataclass
class Candidates:
    """Makes tests for a project on demand, each only once. ``taken``: names that tests already have."""

    trained: Trained
    taken: frozenset[str] = frozenset()
    _along: dict[tuple[int, int], Candidate | None] = field(default_factory=dict)
    _saying: dict[str, Candidate | None] = field(default_factory=dict)

    def for_mutant(self, mutant: Mutant, misread: Iterator[Example]) -> Iterator[Candidate]:
        """Yield tests that may notice a mutant: along what it touches, and with sentences that it misunderstands."""
        yield from islice(self._touching(mutant), _TRIED)
        yield from islice(filter(None, map(self._of_sentence, misread)), _SAID)

    def _touching(self, mutant: Mutant) -> Iterator[Candidate]:
        common = [len(touched & mutant.touched) for touched in self._touched]
        for number in sorted(range(len(common)), key=lambda number: (-common[number], number)):
            if mutant.touched and not common[number]:
                return
            for turn in range(_PER_STORY):
                if (candidate := self._of_story(number, turn)) is not None:
                    yield candidate

    @cached_property
    def _stories(self) -> tuple[Story, ...]:
        return (*self.trained.project.rules, *self.trained.project.stories)

    @cached_property
    def _touched(self) -> list[frozenset[str]]:
        project = self.trained.project
        return [
            self._with_questions(
                frozenset().union(*(touched_by(one) for one in (*(before_story(story, project) or ()), story)))
            )
            for story in self._stories
        ]

    def _with_questions(self, touched: frozenset[str]) -> frozenset[str]:
        """Add what forms ask and fill: a story names only the form, but a test walks through it to its end."""
        domain = self.trained.project.domain
        if domain is None:
            return touched
        asked = {
            name
            for form in domain.forms.values()
            if touched & {f"form {form.name}", f"action {form.name}"}
            for slot in form.required_slots
            for name in (
                f"slot {slot}",
                *(f"action {kind}_ask_{of}" for kind in ("utter", "action") for of in (slot, f"{form.name}_{slot}")),
            )
        }
        return touched | asked

    @cached_property
    def _names(self) -> list[str]:
        names: list[str] = []
        seen = Counter(self.taken)
        for story in self._stories:
            name = f"{story.name} (suggested)"
            seen[name] += 1
            names.append(name if seen[name] == 1 else f"{name} {seen[name]}")
        return names

    @cached_property
    def _walks(self) -> Walks:
        return Walks(self.trained)

    def _of_story(self, number: int, turn: int) -> Candidate | None:
        if (number, turn) not in self._along:
            self._along[number, turn] = self._made(number, turn)
        return self._along[number, turn]

    def _made(self, number: int, turn: int) -> Candidate | None:
        story = self._stories[number]
        name = self._names[number] if not turn else f"{self._names[number]}, {turn + 1}"
        along = f"{story.kind} '{story.name}'"
        kind: Literal["case", "story"] = "case"
        walk = self._walks.as_case(story, turn)
        if walk is None:
            kind, steps = "story", self._walks.as_story(story, turn)
            walk = None if steps is None else (steps, {})
        if walk is None or (turn and (first := self._of_story(number, 0)) and first.shown.steps == walk[0]):
            return None
        shown = SuggestedTest(
            kind=kind, name=name, along=along, location=story.location, steps=walk[0], fixture=walk[1]
        )
        return _passing(shown, self.trained, self._touched[number])

    def _of_sentence(self, example: Example) -> Candidate | None:
        """Return a case with one sentence of the training data."""
        text = example.text
        if text not in self._saying:
            steps = self._walks.recorded([text], {})
            name = f"{text[:_NAME]} (suggested)"
            self._saying[text] = (
                None
                if steps is None or name in self.taken
                else _passing(
                    SuggestedTest(
                        kind="case", name=name, along=f"the sentence '{text}'", location=example.location, steps=steps
                    ),
                    self.trained,
                    frozenset({f"intent {example.base_intent}"}),
                )
            )
        return self._saying[text]


def _passing(shown: SuggestedTest, trained: Trained, touched: frozenset[str]) -> Candidate | None:
    """Write the test, read it again and return it if it passes, else ``None``."""
    with temporary_folder("suggest") as folder:
        path = folder / "test_suggested.yml"
        path.write_text((cases_text if shown.kind == "case" else stories_text)([shown]), encoding="utf-8")
        if shown.kind == "story":
            stories, findings, _ = read_story_files([path], folder)
            outcomes = outcomes_of_stories(trained, stories)
            passing = frozenset((name, place) for name, place, outcome in outcomes if outcome == "passed")
            if len(stories) != 1 or len(passing) != 1 or any(one.severity == "error" for one in findings):
                return None
            return Candidate(shown, StoryTest(stories, labels(reached_by_stories(stories)), passing))
        read = read_cases(folder, [path])
    engine = trained.engine(NoActionServer())
    if engine is None or len(read.cases) != 1 or any(one.severity == "error" for one in read.findings):
        return None
    if run_case(engine, read.cases[0], CASE_RUN, 0).result.outcome != "passed":
        return None
    return Candidate(shown, CaseTest(read.cases[0], touched))
