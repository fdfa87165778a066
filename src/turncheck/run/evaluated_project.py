"""Project and engine in, Report out: the project is read, every evaluation runs, and their sections become a report."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from msgspec import UnsetType, structs

from turncheck.comparison.gate_rules import read_rules
from turncheck.comparison.quarantine import with_results
from turncheck.evaluations.kinds import KINDS
from turncheck.report.evaluations import EVALUATIONS
from turncheck.report.model import TrainingSentence, WordList
from turncheck.run.assistant import cache_in_use, opened_engine
from turncheck.run.base_bot import bot_of_base
from turncheck.run.cases_again import EngineRejudge
from turncheck.run.inputs import NONE_PRECOMPUTED
from turncheck.run.plugin_figures import Subject, evaluate_by_plugins, with_metrics_of_plugins
from turncheck.run.reading import file_of_all, read_given, read_tests
from turncheck.run.repeats import ensure_repeats_are_possible
from turncheck.run.report_of import project_info, report_of
from turncheck.run.trainable import ensure_assistant_here
from turncheck.run.under_way import RunInProgress
from turncheck.settings.bounds import capped_workers
from turncheck.settings.gates import gate_settings
from turncheck.work.workplace import workplace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from turncheck.engines.base import Engine
    from turncheck.messages.finding import Location
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import NluData
    from turncheck.project.project_file import Role
    from turncheck.report.batch import Batch
    from turncheck.report.model import Core, EndToEnd, KindCoverage, Nlu, PluginFigure, ProjectInfo, Report
    from turncheck.run.cases_again import Rejudge
    from turncheck.run.inputs import Inputs, PrecomputedAnswers
    from turncheck.run.reading import Tests


# What the tests of a run reach.


def coverage_by_tests(  # noqa: PLR0917 - all that reaches something
    project: Project,
    tests: Tests,
    nlu: Nlu | None,
    core: Core | None,
    e2e: EndToEnd | None,
    batch: Batch | None,
) -> dict[str, KindCoverage]:
    """Which parts of the project its tests reach: stories and sentences as written, conversations as they ran.

    The training sentences of an assistant whose files name all that users may mean are tests as well, as they are on
    its platform.
    """
    if (own := project.platform.part("coverage")) is not None:
        sentences = (tests.nlu or project.nlu).examples if nlu else ()
        found: dict[str, KindCoverage] = own.coverage(project, sentences, nlu, batch) if nlu or batch else {}
        return found
    from turncheck.evaluation.coverage import (
        Reached,
        coverage,
        reached_by_conversations,
        reached_by_examples,
        reached_by_stories,
    )
    from turncheck.project.testfiles import code_of_actions

    reached = reached_by_stories(tests.stories, core.stories if core else ())
    if tests.nlu:
        reached |= reached_by_examples(tests.nlu.examples)
    if e2e:
        reached |= reached_by_conversations(e2e.exercised)
    found = coverage(project, reached, code_of_actions(project.root))
    if reached != Reached():
        return found
    # What a change removes or edits is known without any test; how much is reached then says nothing.
    return {kind: structs.replace(kind_coverage, share=None) for kind, kind_coverage in found.items()}


@dataclass(frozen=True, slots=True)
class EvaluatedProject:
    """The report of a project, and what it takes to compare it with a base."""

    report: Report
    project: Project
    cases_again: Rejudge | None = None
    """Runs end-to-end cases again; ``None`` if the engine cannot."""


def report_of_project(inputs: Inputs, screen: Console) -> Report:
    """Return only the report of :func:`evaluate_project`."""
    return evaluate_project(inputs, screen).report


def evaluate_project(
    inputs: Inputs,
    screen: Console,
    precomputed: PrecomputedAnswers = NONE_PRECOMPUTED,
    *,
    in_folds: bool = False,
    find_base: Callable[[Report], Report | None] = lambda _: None,
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
    of_plugins: dict[str, PluginFigure] = {}
    try:
        with (
            engine_of_run(inputs, project, precomputed, screen) as engines,
            workplace_of(inputs.settings, screen) as work,
        ):
            run = RunInProgress(
                inputs,
                project,
                tests,
                engines,
                screen,
                work=work,
                precomputed=precomputed,
                base_report=lambda: find_base(report_without_results(inputs, project)),
                base_bot=partial(bot_of_base, inputs),
            )
            ensure_repeats_are_possible(run)
            run.evaluate(needs_engine=True)
            of_plugins = evaluate_by_plugins(Subject(project, tests, engines, inputs.settings))
        run.evaluate(needs_engine=False)
    except KeyboardInterrupt:
        if run is None:
            raise
        run.interrupt()
    report = with_metrics_of_plugins(_report(inputs, project, tests, run, screen), of_plugins)
    if run.quarantine is not None:
        report = with_results(report, run.quarantine.quarantine)
    judge = None
    once = report.e2e is not None and isinstance(report.e2e.repeats, UnsetType)
    if once and run.engines.capabilities.accepts_parses:
        judge = EngineRejudge(run.cases.cases, run.engines, project, inputs, screen)
    return EvaluatedProject(report, project, judge)


def read_all(inputs: Inputs, screen: Console) -> tuple[Inputs, Project, Tests]:
    """Read the project and its tests; no more workers are started than make sense.

    Raises:
        UserError: a given path is missing, or nothing can be read at all, or a gate is invalid.
    """
    settings = replace(inputs.settings, workers=capped_workers(inputs.settings.workers, screen))
    inputs = replace(inputs, settings=settings)
    read_rules(gate_settings(settings), inputs.rules)  # an invalid gate is reported before anything is trained
    with screen.step("reading", "Reading the project"):
        project = read_given(settings)
        ensure_assistant_here(project, as_argument="turncheck run ", all_too=True)
        return inputs, project, read_tests(settings)


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


def _project_of(inputs: Inputs, project: Project) -> ProjectInfo:
    file = file_of_all(project.root, inputs.settings_file, _by_role(project))
    return project_info(project, name=inputs.name, root=inputs.root, file=file)


def report_without_results(inputs: Inputs, project: Project) -> Report:
    """Return the report that only says what is measured: all that looking for its base takes."""
    settings = structs.replace(gate_settings(inputs.settings), projects=inputs.projects)
    return report_of(_project_of(inputs, project), inputs.settings.seed, source=inputs.source, settings=settings)


def _report(inputs: Inputs, project: Project, tests: Tests, run: RunInProgress, screen: Console) -> Report:
    settings = inputs.settings
    sections = {KINDS[name].begins: section for name, section in run.sections.items()}
    nlu, core, e2e, batch = (sections.get(name) for name in ("nlu", "core", "e2e", "batch"))
    return report_of(
        _project_of(inputs, project),
        settings.seed,
        source=inputs.source,
        engine=run.engines.info(measured=run.measured_engine),
        **sections,
        coverage=coverage_by_tests(project, tests, nlu, core, e2e, batch),
        training=() if nlu or not (core or e2e) else training_sentences(project),
        word_lists=word_lists(project.nlu),
        settings=structs.replace(gate_settings(settings), projects=inputs.projects),
        trust=run.engines.trust,
        skipped=(*(run.skipped[name] for name in EVALUATIONS if name in run.skipped), *run.parts),
        stopped=run.stopped,
        timings=dict(screen.timings),
    )


def training_sentences(project: Project) -> Iterable[TrainingSentence]:
    """Yield the training sentences as a report lists them, so that it shows what a change did to them."""
    for example in project.nlu.examples:
        yield TrainingSentence(
            text=example.text,
            intent=example.intent or "",
            location=example.location,
            entities=tuple(entity.entity for entity in example.entities),
        )


def word_lists(data: NluData) -> Iterable[WordList]:
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
        yield WordList(kind=kind, name=name, location=location, entries=len(entries), digest=digest)


def _by_role(project: Project) -> list[str]:
    """The project's files, starting with those that exist once."""
    roles: tuple[Role, ...] = ("config", "domain", "data", "endpoints")
    return [file.path for role in roles for file in project.files if file.role == role]
