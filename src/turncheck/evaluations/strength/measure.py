"""How the strength of the tests is measured: they are run on mutants of the project."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from turncheck.engines.action_server.server import NoActionServer
from turncheck.evaluations.strength.behaviour import Behaviour
from turncheck.evaluations.strength.bench import (
    CaseTest,
    Kill,
    Lines,
    Mutant,
    MutationRunner,
    StoryTest,
    make_bench,
    new_finding,
    sentence_kill,
)
from turncheck.evaluations.strength.candidates import Candidates
from turncheck.evaluations.strength.faults import mutants_of
from turncheck.messages.errors import EngineError, IncompleteError, MachineError, UserError
from turncheck.process.one_thread import one_thread
from turncheck.project.config import refused
from turncheck.report.model import Skipped
from turncheck.report.strength import KILLERS, Fault, MutantGroup, MutantResult, Strength, SuggestedTest
from turncheck.run.assistant import action_server, where_actions_are
from turncheck.run.skipping import unreadable
from turncheck.run.under_way import KindOptions
from turncheck.work.workplace import INLINE, Executor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from turncheck.engines.base import Engine, Trained, VariantTrainer
    from turncheck.engines.conversation import ActionServer
    from turncheck.messages.finding import Location
    from turncheck.project.model import Project
    from turncheck.run.inputs import ChangedLines
    from turncheck.run.under_way import RunInProgress
    from turncheck.settings.options import Settings
    from turncheck.validation.facts import ProjectTests


class MutantOptions(KindOptions, frozen=True):
    """What ``test strength`` and ``suggest`` ask for besides the settings."""

    most: int = 0
    """At most so many mutants are tried; 0: all."""
    suggest: bool = False
    """Whether tests are suggested that would notice more."""
    progress: Callable[[int, int], None] | None = None
    """Called after each mutant with how many of how many were tried."""


def measure(run: RunInProgress) -> Strength | None:
    """Try the tests on the project with one small fault at a time; only on request.

    If requested by name it covers everything, unless the settings restrict it to changed lines.
    """
    tests, whole = run.project_tests, run.settings.strength != "changed"
    why_not = None if run.stopped is None else run.not_now("strength")
    why_not = why_not or run.not_possible("strength") or _unreadable_tests(run)
    asked = run.options(MutantOptions)
    if why_not is None and asked is None and not (tests.stories or tests.examples or tests.cases):
        why_not = Skipped(evaluation="strength", reason="the project has no tests", no_tests=True)
    changed = None if whole or run.inputs.changed is None else run.inputs.changed()
    if why_not is None and asked is None and not whole and (reason := why_no_mutants(changed)) is not None:
        why_not = Skipped(evaluation="strength", reason=reason, no_tests=True)
    if why_not is not None:
        run.skip(why_not)
        return None

    def all_mutants() -> Strength:
        with action_server(run.inputs, run.project, run.screen) as server:
            return measure_strength(
                run.engines,
                run.project,
                tests,
                run.settings,
                changed=None if whole or changed is None else changed.by_file,
                server=server,
                work=where_actions_are(server, run.work, run.settings, run.screen),
                options=asked or MutantOptions(suggest=True),
            )

    with run.screen.step("strength", "Trying the tests on mutants"):
        return run.as_single_unit("strength", all_mutants)


def _unreadable_tests(run: RunInProgress) -> Skipped | None:
    """If some tests cannot be read, the others would seem to notice too little."""
    return (
        unreadable("strength", run.tests.nlu_findings, of="nlu")
        or unreadable("strength", run.tests.story_findings, of="core")
        or unreadable("strength", run.cases.findings, of="e2e")
    )


def measure_strength(
    engines: Engine,
    project: Project,
    tests: ProjectTests,
    settings: Settings,
    *,
    changed: Lines | None,
    server: ActionServer,
    work: Executor,
    options: MutantOptions,
) -> Strength:
    """Run the tests on the mutants of all lines, or of those that a change touches.

    Raises:
        UserError: the project cannot be trained.
        IncompleteError: the cluster is gone, or it was interrupted; ``finished`` are the figures until then.
    """
    run = StrengthRun(
        seed=settings.seed,
        budget=settings.strength_budget,
        most=options.most,
        changed=changed,
        suggest=options.suggest,
    )
    workshop = engines.workshop(settings.seed)
    return evaluate_strength(project, workshop, tests, run, server=server, work=work, progress=options.progress)


def why_no_mutants(changed: ChangedLines | None) -> str | None:
    """Return why there are no mutants for a change."""
    if changed is None:
        return "which lines changed is not known here"
    if changed.unknown:
        return f"no changed lines to try: {changed.unknown}"
    return None if changed.by_file else "the change touches no line of the project"


# Mutants in, score and survivors out.


# Which of many possible tests to write first: those that notice the most unnoticed faults.


def chosen_tests(trials: Sequence[Trial], unwalked: Collection[Location]) -> tuple[SuggestedTest, ...]:
    """Return tests that together notice every survivor that any of them notices, the most effective first.

    One by one, the test is chosen that notices the most remaining survivors. Then come tests along rules and stories
    that no test walks (``unwalked``, by place), if they notice what only validation does.
    """
    tests: dict[str, SuggestedTest] = {}
    names: dict[str, str] = {}
    survivors: dict[str, dict[int, MutantResult]] = {}
    warned: dict[str, dict[int, MutantResult]] = {}
    for number, trial in enumerate(trials):
        kind = survivors if trial.result.outcome == "survived" else warned
        for test in trial.noticed_by:
            name = names.setdefault(_what_is_done(test), test.name)  # two tests that do the same count as one
            tests.setdefault(name, test)
            kind.setdefault(name, {})[number] = trial.result

    def is_unwalked(name: str) -> bool:
        return tests[name].location in unwalked

    chosen: list[str] = []
    left = {number for noticed in survivors.values() for number in noticed}
    while left:
        best = min(survivors, key=lambda name: (-len(left & survivors[name].keys()), not is_unwalked(name), name))
        chosen.append(best)
        left -= survivors[best].keys()
    locations = {tests[name].location for name in chosen}
    for name in sorted(warned, key=lambda name: (-len(warned[name]), name)):
        if is_unwalked(name) and tests[name].location not in locations:
            chosen.append(name)
            locations.add(tests[name].location)
    order = sorted(chosen, key=lambda name: (-len(survivors.get(name, ())), -len(warned.get(name, ())), name))
    return tuple(
        msgspec.structs.replace(
            tests[name],
            walked=not is_unwalked(name),
            notices=tuple(map(_fault, (*survivors.get(name, {}).values(), *warned.get(name, {}).values()))),
        )
        for name in order
    )


def _what_is_done(test: SuggestedTest) -> str:
    return repr((test.kind, test.steps, test.fixture))


def _fault(result: MutantResult) -> Fault:
    return Fault(operator=result.operator, what=result.what, location=result.location)


# Runs the tests on one mutant, up to the first that notices it.


class Trial(Struct, frozen=True):
    """The outcome of a mutant. ``noticed_by``: tests that nobody has written yet and that would notice it."""

    result: MutantResult
    noticed_by: tuple[SuggestedTest, ...] = ()


def try_mutant(
    mutant: Mutant, bench: MutationRunner, behaviour: Behaviour, candidates: Candidates | None = None
) -> Trial:
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
    except MachineError:
        raise  # it says nothing of the mutant
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
            candidate.shown
            for candidate in candidates.for_mutant(mutant, misread)
            if candidate.test.kill(trained, bench.server) is not None
        )
    return Trial(_result(mutant, kill), noticed_by)


def killing_test(mutant: Mutant, trained: Trained, bench: MutationRunner) -> Kill | None:
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


_WORTH_WORKERS = 8
"""Fewer mutants than this are done before a second process has started."""


class StrengthRun(Struct, frozen=True):
    """How mutants are tried. ``budget`` in seconds and ``most`` mutants: 0 means no limit; ``changed``: lines by file.

    ``suggest``: look for tests that would notice unnoticed faults.
    """

    seed: int = 42
    budget: float = 0.0
    most: int = 0
    changed: Lines | None = None
    suggest: bool = False


@dataclass(eq=False)
class _Trials:
    """All that a worker needs: each worker creates the mutants itself, which takes less time than sending them."""

    project: Project
    bench: MutationRunner
    behaviour: Behaviour
    seed: int
    changed: Lines | None
    candidates: Candidates | None

    @cached_property
    def mutants(self) -> Sequence[Mutant]:
        """All mutants that may be tried, in order."""
        return mutants_of(self.project, self.seed, self.changed)


def evaluate_strength(
    project: Project,
    workshop: VariantTrainer,
    tests: ProjectTests,
    run: StrengthRun,
    *,
    server: ActionServer | None = None,
    work: Executor = INLINE,
    progress: Callable[[int, int], None] | None = None,
) -> Strength:
    """Try the mutants of a project.

    Args:
        project: the project as read.
        workshop: trains it and its mutants.
        tests: the project's own tests; those that already fail are left out.
        run: which mutants to try, and for how long.
        server: runs the custom actions of end-to-end cases; ``None``: they are not run.
        work: where they are tried. The result does not depend on it, except that more are tried within the budget.
        progress: called after each mutant with how many of how many are done.

    Raises:
        UserError: the project itself cannot be trained.
        IncompleteError: the cluster is gone, or the run was interrupted; ``finished`` are the figures until then.
    """
    begin = time.monotonic()
    mutants = mutants_of(project, run.seed, run.changed)
    numbers = range(len(mutants))
    chosen = numbers[: run.most] if run.most else numbers
    if not chosen:
        return _section([], 0, run, len(numbers))
    original = workshop.trained(project)
    bench = make_bench(original, tests, server or NoActionServer())
    taken = frozenset((*(case.name for case in tests.cases), *(story.name for story in tests.stories)))
    candidates = Candidates(original, taken) if run.suggest else None
    trials = _Trials(project, bench, Behaviour(original), run.seed, run.changed, candidates)

    def in_time() -> Iterator[int]:
        """Yield mutants until the time is up; at least one is tried in any case."""
        for place, number in enumerate(chosen):
            if place and run.budget and time.monotonic() - begin > run.budget:
                return
            yield number

    by_number: dict[int, Trial] = {}
    is_long = len(chosen) >= _WORTH_WORKERS
    tried = work.each(_try_number, trials, in_time(), total=len(chosen), kind="mutant", worth_processes=is_long)
    stopped: EngineError | KeyboardInterrupt | None = None
    try:
        for number, trial in tried:
            by_number[number] = trial
            if progress is not None:
                progress(len(by_number), len(chosen))
    except (EngineError, KeyboardInterrupt) as error:
        if not by_number:
            raise
        stopped = error
    results = [by_number[number] for number in sorted(by_number)]
    suggested = chosen_tests(results, bench.unwalked)
    ended = "" if stopped is None else "until it was stopped"
    section = _section([result.result for result in results], len(numbers) - len(results), run, len(numbers), ended)
    section = msgspec.structs.replace(section, suggested=suggested)
    if stopped is not None:
        raise IncompleteError(stopped, section)
    return section


def _try_number(trials: _Trials, number: int) -> Trial:
    return _try_one(trials, trials.mutants[number])


def _try_one(trials: _Trials, mutant: Mutant) -> Trial:
    # More threads add up a sum in a different order, so that its last digit may depend on the machine.
    with one_thread():
        return try_mutant(mutant, trials.bench, trials.behaviour, trials.candidates)


def _section(
    results: Sequence[MutantResult], not_tried: int, run: StrengthRun, total: int, ended: str = ""
) -> Strength:
    ordered = tuple(sorted(results, key=lambda result: (result.location.sort_key, result.operator, result.what)))
    killers = Counter(mutant.by for mutant in ordered if mutant.by is not None)
    return Strength(
        scope="all" if run.changed is None else "changed",
        score=score_of(ordered),
        by_tests=score_of(ordered, by_tests=True),
        killed=sum(mutant.outcome == "killed" for mutant in ordered),
        survived=sum(mutant.outcome == "survived" for mutant in ordered),
        equivalent=sum(mutant.outcome == "equivalent" for mutant in ordered),
        not_tried=not_tried,
        killed_by={name: killers[name] for name in KILLERS},
        by_kind=_groups(ordered, lambda mutant: mutant.kind),
        by_file=_groups(ordered, lambda mutant: mutant.location.path),
        mutants=ordered,
        remarks=_remarks(len(ordered), not_tried, run, total, ended),
    )


def score_of(results: Iterable[MutantResult], *, by_tests: bool = False) -> float | None:
    """Return killed / (all - equivalent); ``None`` if there is nothing to kill.

    ``by_tests``: mutants that only validation noticed count as survived.
    """
    judged = [result for result in results if result.outcome != "equivalent"]
    killed = sum(mutant.outcome == "killed" and not (by_tests and mutant.by == "validation") for mutant in judged)
    return killed / len(judged) if judged else None


def _groups(results: Sequence[MutantResult], name: Callable[[MutantResult], str]) -> tuple[MutantGroup, ...]:
    groups: dict[str, list[MutantResult]] = {}
    for result in results:
        groups.setdefault(name(result), []).append(result)
    return tuple(
        MutantGroup(
            name=key,
            score=score_of(group),
            by_tests=score_of(group, by_tests=True),
            killed=sum(mutant.outcome == "killed" for mutant in group),
            survived=sum(mutant.outcome == "survived" for mutant in group),
            equivalent=sum(mutant.outcome == "equivalent" for mutant in group),
        )
        for key, group in sorted(groups.items())
    )


def _remarks(tried: int, not_tried: int, run: StrengthRun, total: int, ended: str) -> tuple[str, ...]:
    if not not_tried:
        return ()
    seconds = "1 second" if run.budget == 1 else f"{run.budget:g} seconds"
    why = ended or (f"the first {run.most}" if run.most and tried == run.most else f"within {seconds}")
    return (f"{tried:,} of {total:,} mutants were tried ({why}), a sample that the seed chose.",)
