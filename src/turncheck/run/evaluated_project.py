"""Project and engine in, Report out: the project is read, every evaluation runs, and their sections become a report.

End-to-end cases that passed on the base and fail here are judged again, understood as there: is it because their
messages are understood differently?
"""

from __future__ import annotations

import dataclasses
import hashlib
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from msgspec import UNSET, Struct, UnsetType, structs
from msgspec.structs import replace

from turncheck.comparison.quarantine import with_results
from turncheck.comparison.understood_differently import Suspects, understood_differently, with_messages
from turncheck.evaluations.core.misunderstood import as_parse, missing_labels, with_neighbours
from turncheck.evaluations.coverage import PLATFORM_COVERAGE
from turncheck.evaluations.kinds import KINDS
from turncheck.gates.rules import read_rules
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.platforms.base import Part
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report import model
from turncheck.report.evaluations import EVALUATIONS
from turncheck.run.assistant import action_server, cache_in_use, opened_engine
from turncheck.run.bot_of_base import bot_of_base
from turncheck.run.inputs import NONE_PRECOMPUTED, Inputs, PrecomputedAnswers
from turncheck.run.masking import masked, values_in
from turncheck.run.plugin_figures import Subject, evaluate_by_plugins, with_metrics_of_plugins
from turncheck.run.reading import (
    Tests,
    ensure_assistant_here,
    ensure_something_here,
    file_of_all,
    read_configured,
    read_tests,
)
from turncheck.run.repeats import ensure_repeats_are_possible
from turncheck.run.report_of import project_info, report_of
from turncheck.run.under_way import RunInProgress
from turncheck.run.unread import unchecked_of, unread_of
from turncheck.settings.bounds import capped_workers
from turncheck.settings.gates import gate_settings
from turncheck.validation.learnable import learnable
from turncheck.work.workplace import workplace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.engines.base import Engine
    from turncheck.evaluations.e2e.steps import SlotOrder
    from turncheck.messages.finding import Location
    from turncheck.process.screen import Console
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import NluData
    from turncheck.project.project_file import Role
    from turncheck.report.batch import Batch
    from turncheck.report.consistency import Consistency
    from turncheck.settings.options import Settings


def slot_order_of(settings: Settings) -> SlotOrder:
    """Return how consecutive ``slot_was_set`` steps are judged."""
    return "any" if settings.slot_order == "any" else "strict"


class Rejudge(Protocol):
    """Runs cases again, with their messages understood as specified."""

    def passing(self, cases: Mapping[int, Sequence[model.CaseMessage]]) -> dict[int, bool]:
        """Judge the cases with these indices, each message understood as ``before`` says.

        Returns:
            Whether each passes; those that cannot be judged this way are omitted.
        """


@dataclass(frozen=True)
class EngineRejudge:
    """The cases of a finished measurement, run again by the same engine."""

    cases: Sequence[E2ECase]
    engines: Engine
    project: Project
    inputs: Inputs
    screen: Console

    def passing(self, cases: Mapping[int, Sequence[model.CaseMessage]]) -> dict[int, bool]:
        """See :class:`Rejudge`. Nothing is judged if the action server does not start a second time."""
        words = f"Judging {count(len(cases), 'end-to-end case')} again, understood as on the base"
        try:
            with self.screen.step("e2e-again", words):
                return self._passing(cases)
        except UserError as error:
            self.screen.note(f"Not judged again: {error.message}")
            return {}

    def _passing(self, cases: Mapping[int, Sequence[model.CaseMessage]]) -> dict[int, bool]:
        from turncheck.evaluations.e2e.case import CaseRun, run_case

        found = {}
        run = CaseRun(slot_order=slot_order_of(self.inputs.settings))
        with action_server(self.inputs, self.project, self.screen) as server:
            engine = self.engines.with_preset_parses(server)
            domain, known = engine.domain, learnable(self.project)
            for number, messages in cases.items():
                intents, entities = _needed(messages)
                in_domain = intents <= domain.used_entities.keys() and entities <= domain.domain.entities.keys()
                if in_domain and (known is None or all(known.holds(intent, entities) for intent in intents or {None})):
                    as_before = {
                        text: as_parse(text, message.before)
                        for message in messages
                        if message.before is not None and (text := message.text.strip())
                    }
                    outcome = run_case(engine.hearing(as_before), self.cases[number], run).result.outcome
                    if outcome != "error":
                        found[number] = outcome == "passed"
        return found


def rejudged_against_base(
    report: model.Report, base: model.Report, project: Project, judge: Rejudge | None
) -> model.Report:
    """Mark the end-to-end cases whose messages are understood differently than on the base, if they passed there.

    A case that passes with its messages understood as they were there is ``misunderstood``: nothing else is wrong with
    it. An edited case does not count as one, nor does a case with an intent or entity that the domain no longer has.

    Args:
        report: the report of this run.
        base: the report that it is compared with.
        project: has the training sentences that drew messages away.
        judge: runs cases again; ``None`` if the engine cannot: then the cases stay failures.
    """
    suspects = understood_differently(report, base)
    if report.e2e is None or not suspects:
        return report
    passing = judge.passing(suspects) if judge is not None else {}
    explained = with_messages(report, _with_neighbours(suspects, project)).e2e or report.e2e
    cases = tuple(_held(case, passing.get(number)) for number, case in enumerate(explained.cases))
    outcomes = [case.outcome for case in cases]
    failed = outcomes.count("failed") + outcomes.count("error")
    section = structs.replace(explained, cases=cases, failed=failed, misunderstood=outcomes.count("misunderstood"))
    return structs.replace(report, e2e=section)


def _held(case: model.CaseResult, passes: bool | None) -> model.CaseResult:
    return (
        case
        if passes is None
        else structs.replace(case, as_before=passes, outcome="misunderstood" if passes else "failed")
    )


def _needed(messages: Sequence[model.CaseMessage]) -> tuple[frozenset[str], frozenset[str]]:
    """The intents and entities that were understood before and are not now."""
    parts = [
        missing_labels(message.before, message.understood)
        for message in messages
        if message.before and message.understood
    ]
    return frozenset().union(*(intents for intents, _ in parts)), frozenset().union(*(names for _, names in parts))


def _with_neighbours(suspects: Suspects, project: Project) -> Suspects:
    """The messages; those understood differently come with the training sentences that drew them away."""
    examples = with_story_sentences(project).nlu.examples
    sentences = [[one for m in case if (one := m.misunderstanding) is not None] for case in suspects.values()]
    judged = (misunderstanding for case in with_neighbours(sentences, examples) for misunderstanding in case)
    near = {
        (misunderstanding.text, misunderstanding.location): misunderstanding.neighbours for misunderstanding in judged
    }
    return {
        number: tuple(
            structs.replace(message, neighbours=near[message.text, message.location])
            if message.misunderstanding
            else message
            for message in case
        )
        for number, case in suspects.items()
    }


# What the tests of a run reach.


def coverage_by_tests(  # noqa: PLR0917 - all that reaches something
    project: Project,
    tests: Tests,
    nlu: model.Nlu | None,
    core: model.Core | None,
    e2e: model.EndToEnd | None,
    batch: Batch | None,
    checked: CheckedTests | None = None,
) -> dict[str, model.KindCoverage]:
    """Which parts of the project its tests reach: stories and sentences as written, conversations as they ran.

    ``checked``: what is known of cases that did not run, if anything.

    The training sentences of an assistant whose files name all that users may mean are tests as well, as they are on
    its platform.
    """
    if (own := project.platform.part(PLATFORM_COVERAGE)) is not None:
        sentences = (tests.nlu or project.nlu).examples if nlu else ()
        return own.coverage(project, sentences, nlu, batch) if nlu or batch else {}
    from turncheck.evaluations import coverage
    from turncheck.project.testfiles import code_of_actions

    reached = coverage.reached_by_stories(tests.stories, core.stories if core else ())
    if tests.nlu:
        reached |= coverage.reached_by_examples(tests.nlu.examples)
    if e2e:
        reached |= coverage.reached_by_conversations(e2e.exercised)
    elif checked is not None:
        reached |= coverage.reached_by_conversations(checked.exercised)
    found = coverage.coverage(project, reached, code_of_actions(project.root))
    if checked is not None:
        steps = checked.steps(e2e.exercised if e2e else None)
        items = [coverage.coverage_item(*step, is_telling=False) for step in steps]
        found["flow_steps"] = coverage.kind_coverage(items)
        found = {kind: found[kind] for kind in model.COVERAGE_KINDS if kind in found}
    if reached != coverage.Reached():
        return found
    # What a change removes or edits is known without any test; how much is reached then says nothing.
    return {kind: structs.replace(kind_coverage, share=None) for kind, kind_coverage in found.items()}


class CheckedTests(Protocol):
    """What is known of tests that were checked against an assistant's files."""

    @property
    def consistency(self) -> Consistency:
        """How much was checked against each other, and the tests that cannot pass."""

    @property
    def exercised(self) -> Mapping[str, Sequence[str]]:
        """What the tests name, by kind."""

    def steps(self, walked: Mapping[str, Sequence[str]] | None) -> Iterable[tuple[str, Location, Any, bool]]:
        """Return the steps of dialogues with name, place and content, and whether conversations walked each.

        Without conversations: whether a test names it.
        """


class ConsistencyModule(Protocol):
    """What a report says of files and tests without running them, in the module ``consistency`` of a platform."""

    def checked(self, project: Project, cases: Sequence[E2ECase]) -> CheckedTests | None:
        """Return what was checked; ``None`` if there is nothing of this kind."""


CONSISTENCY: Final = Part[ConsistencyModule]("consistency")


class EvaluatedProject(Struct, frozen=True):
    """The report of a project, and what it takes to compare it with a base."""

    report: model.Report
    project: Project
    cases_again: Rejudge | None = None
    """Runs end-to-end cases again; ``None`` if the engine cannot."""
    run: RunInProgress | None = None
    """What measured it."""


def report_of_project(inputs: Inputs, screen: Console) -> model.Report:
    """Return only the report of :func:`evaluate_project`."""
    return evaluate_project(inputs, screen).report


def evaluate_project(
    inputs: Inputs,
    screen: Console,
    precomputed: PrecomputedAnswers = NONE_PRECOMPUTED,
    *,
    in_folds: bool = False,
    find_base: Callable[[model.Report], model.Report | None] = lambda _: None,
) -> EvaluatedProject:
    """Read the project and run every requested evaluation for which it has files.

    With ``in_folds``, language understanding is cross-validated even if there are test sentences. ``find_base`` returns
    the report of the base, given one that only says what is measured: tests of an assistant whose answers vary are run
    until they are judged against it.

    An engine that can no longer answer ends the run, as an interrupt does: the report has what was finished,
    and ``stopped`` says why.

    Raises:
        UserError: a given path is missing, or nothing can be read at all.
    """
    inputs, project, tests = read_all(inputs, screen)
    if in_folds:
        tests = replace(tests, nlu=None, nlu_findings=())
    if precomputed.ensure is not None:
        precomputed.ensure(inputs, project, tests)
    run: RunInProgress | None = None
    of_plugins: dict[str, model.PluginFigure] = {}
    try:
        with (
            engine_of_run(inputs, project, precomputed, screen) as engines,
            workplace_of(inputs.settings, screen) as work,
            ExitStack() as until_its_end,
        ):
            run = RunInProgress(
                inputs,
                project,
                tests,
                engines,
                screen,
                work=work,
                precomputed=precomputed,
                base_report=lambda: find_base(_known_before(run, inputs, project)),
                base_bot=partial(bot_of_base, inputs.settings_file),
                until_its_end=until_its_end,
            )
            ensure_repeats_are_possible(run)
            run.evaluate(needs_engine=True)
            of_plugins = evaluate_by_plugins(Subject(project, tests, engines, inputs.settings))
        run.evaluate(needs_engine=False)
    except KeyboardInterrupt:
        if run is None:
            raise
        run.interrupt()
    report = masked(_report(inputs, project, tests, run, screen), values_in(project))
    report = with_metrics_of_plugins(report, of_plugins)
    if run.quarantine is not None:
        report = with_results(report, run.quarantine.quarantine)
    judge = None
    once = report.e2e is not None and isinstance(report.e2e.repeats, UnsetType)
    if once and run.engines.capabilities.accepts_parses:
        judge = EngineRejudge(run.cases.cases, run.engines, project, inputs, screen)
    return EvaluatedProject(report, project, judge, run)


def read_all(inputs: Inputs, screen: Console) -> tuple[Inputs, Project, Tests]:
    """Read the project and its tests; no more workers are started than make sense.

    Raises:
        UserError: a given path is missing, or nothing can be read at all, or a gate is invalid.
    """
    settings = dataclasses.replace(inputs.settings, workers=capped_workers(inputs.settings.workers, screen))
    inputs = dataclasses.replace(inputs, settings=settings)
    read_rules(gate_settings(settings), inputs.rules)  # an invalid gate is reported before anything is trained
    with screen.step("reading", "Reading the project"):
        project = read_configured(settings, variables=inputs.file_variables)
        ensure_assistant_here(project, as_argument="turncheck run ", all_too=True)
        tests = read_tests(settings, inputs.file_variables)
        ensure_something_here(settings, project, tests)
        return inputs, project, tests


@contextmanager
def engine_of_run(
    inputs: Inputs, project: Project, precomputed: PrecomputedAnswers, screen: Console
) -> Iterator[Engine]:
    """Open the engine that the settings name, or take the one that the run is given."""
    if precomputed.engines is not None:
        engine = precomputed.engines(project)
        with cache_in_use(engine, inputs.cache, screen):
            engine.show_progress(screen)
            yield engine
        return
    with opened_engine(
        inputs.settings,
        project,
        inputs.environment,
        screen,
        cache=inputs.cache,
        hosts=inputs.hosts,
        variables=inputs.file_variables,
    ) as engine:
        yield engine


def _project_of(inputs: Inputs, project: Project) -> model.ProjectInfo:
    file = file_of_all(project.root, inputs.settings_file, _by_role(project))
    return project_info(project, name=inputs.name, root=inputs.root, file=file)


def report_without_results(inputs: Inputs, project: Project) -> model.Report:
    """Return the report that only says what is measured: all that looking for its base takes."""
    settings = _settings_of(inputs)
    return report_of(_project_of(inputs, project), inputs.settings.seed, source=inputs.source, settings=settings)


def _known_before(run: RunInProgress | None, inputs: Inputs, project: Project) -> model.Report:
    """Return the same with the tests in quarantine: it depends on the base which of them count."""
    report = report_without_results(inputs, project)
    if run is None or run.quarantine is None:
        return report
    return structs.replace(report, quarantine=run.quarantine.quarantine)


def _settings_of(inputs: Inputs) -> model.GateSettings:
    given = True if "repeats" in inputs.given else UNSET
    return structs.replace(gate_settings(inputs.settings), projects=inputs.projects, repeats_given=given)


def _report(inputs: Inputs, project: Project, tests: Tests, run: RunInProgress, screen: Console) -> model.Report:
    settings = inputs.settings
    sections = {KINDS[name].metric_prefix: section for name, section in run.sections.items()}
    nlu, core, e2e, batch = (sections.get(name) for name in ("nlu", "core", "e2e", "batch"))
    consistency = project.platform.part(CONSISTENCY) if project.flows else None
    checked = None if consistency is None else consistency.checked(project, run.cases.cases)
    return report_of(
        _project_of(inputs, project),
        settings.seed,
        source=inputs.source,
        engine=run.engines.info(measured=run.measured_engine),
        **sections,
        coverage=coverage_by_tests(project, tests, nlu, core, e2e, batch, checked),
        consistency=UNSET if checked is None else checked.consistency,
        training=() if nlu else training_sentences(project),
        word_lists=word_lists(project.nlu),
        settings=_settings_of(inputs),
        trust=run.engines.trust,
        skipped=(*(run.skipped[name] for name in EVALUATIONS if name in run.skipped), *run.parts),
        unread=unread_of(project, tests, run.cases.findings),
        unchecked=unchecked_of(project),
        stopped=run.stopped,
        timings=dict(screen.timings),
    )


def training_sentences(project: Project) -> Iterable[model.TrainingSentence]:
    """Yield the training sentences as a report lists them, so that it shows what a change did to them."""
    for example in project.nlu.examples:
        yield model.TrainingSentence(
            text=example.text,
            intent=example.intent or "",
            location=example.location,
            entities=tuple(entity.entity for entity in example.entities),
        )


def word_lists(data: NluData) -> Iterable[model.WordList]:
    """Yield the synonyms, lookup tables and patterns, each name once, in the order of their names."""
    found: dict[tuple[Literal["synonyms", "lookups", "regexes"], str], list[tuple[Location, tuple[str, ...]]]] = {}
    for synonym in data.synonyms:
        found.setdefault(("synonyms", synonym.value), []).append((synonym.location, (synonym.synonym,)))
    for table in data.lookups:
        found.setdefault(("lookups", table.name), []).append((table.location, table.elements))
    for pattern in data.regexes:
        found.setdefault(("regexes", pattern.name), []).append((pattern.location, (pattern.pattern,)))
    for (kind, name), parts in sorted(found.items()):
        entries = sorted({entry for _, some in parts for entry in some})
        digest = hashlib.sha256("\0".join(entries).encode("utf-8", "replace")).hexdigest()[:16]
        location = min((place for place, _ in parts), key=lambda one: one.sort_key)
        yield model.WordList(kind=kind, name=name, location=location, entries=len(entries), digest=digest)


def _by_role(project: Project) -> list[str]:
    """The project's files, starting with those that exist once."""
    roles: tuple[Role, ...] = ("config", "domain", "data", "endpoints")
    return [file.path for role in roles for file in project.files if file.role == role]
