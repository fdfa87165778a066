"""Runs the tests on one mutant, up to the first that notices it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.evaluation.strength.bench import Kill, new_finding, sentence_kill
from turncheck.messages.errors import UserError
from turncheck.project.components import refused
from turncheck.report.strength import MutantResult

if TYPE_CHECKING:
    from turncheck.engines.workshop import Trained
    from turncheck.evaluation.strength.behaviour import Behaviour
    from turncheck.evaluation.strength.bench import Bench, CaseTest, StoryTest
    from turncheck.evaluation.strength.candidates import Candidates
    from turncheck.evaluation.strength.mutant import Mutant
    from turncheck.report.strength import SuggestedTest


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a mutant. ``noticed_by``: tests that nobody has written yet and that would notice it."""

    result: MutantResult
    noticed_by: tuple[SuggestedTest, ...] = ()


def try_mutant(mutant: Mutant, bench: Bench, behaviour: Behaviour, candidates: Candidates | None = None) -> Trial:
    """Run the tests on a mutant.

    Tests that reach what was changed come first. A mutant that no test notices may behave like the original, so that it
    is not a fault at all; otherwise validation may still notice it. ``candidates`` are tried on mutants that no test
    notices.
    """
    # The stand-ins would train a pipeline that Rasa refuses.
    refusals = refused(mutant.project) if mutant.operator.kind == "config" else ()
    for component, _ in refusals:
        return Trial(_result(mutant, Kill("validation", "component-order", component.location)))
    try:
        trained = mutant.trained(behaviour.original)
    except UserError as error:
        return Trial(_result(mutant, Kill("validation", "training-refused", error.location)))
    kill = killing_test(mutant, trained, bench)
    if kill is None and behaviour.is_that_of(trained, mutant):
        return Trial(_result(mutant, None, equivalent=True))
    if kill is None and (finding := new_finding(bench, mutant.project)) is not None:
        kill = Kill("validation", finding.code, finding.location)
    noticed_by: tuple[SuggestedTest, ...] = ()
    if candidates is not None and (kill is None or kill.kind == "validation"):
        misread = behaviour.misread(trained) if mutant.operator.trains == "nlu" else iter(())
        noticed_by = tuple(
            one.shown
            for one in candidates.for_mutant(mutant, misread)
            if one.test.kill(trained, bench.server) is not None
        )
    return Trial(_result(mutant, kill), noticed_by)


def killing_test(mutant: Mutant, trained: Trained, bench: Bench) -> Kill | None:
    """Return the first test that notices a mutant."""
    trains = mutant.operator.trains
    if trains == "nlu" and (kill := sentence_kill(bench, trained, mutant.touched)) is not None:
        return kill
    # Stories do not see the text of a response.
    stories = bench.stories if mutant.operator.kind != "responses" else ()
    tests: list[StoryTest | CaseTest] = [*stories, *bench.cases]
    tests.sort(key=lambda test: -len(test.reach & mutant.touched))
    for test in tests:
        if (kill := test.kill(trained, bench.server)) is not None:
            return kill
    return None


def _result(mutant: Mutant, kill: Kill | None, *, equivalent: bool = False) -> MutantResult:
    return MutantResult(
        operator=mutant.operator.name,
        kind=mutant.operator.kind,
        what=mutant.what,
        location=mutant.location,
        outcome="equivalent" if equivalent else "survived" if kill is None else "killed",
        by=None if kill is None else kill.kind,
        test=None if kill is None else kill.test,
        test_location=None if kill is None else kill.location,
    )
