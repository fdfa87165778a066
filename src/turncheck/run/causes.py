"""Finds out which changed parts make tests end otherwise than on the base, by taking them back and trying.

For an engine that trains the project here, if the files of the base can be had. Nothing is done if no test changed.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from msgspec import structs

from turncheck.causes.contradictions import CODES, Contradictions
from turncheck.causes.folds import FoldTrials, LostIntent, lost_intents
from turncheck.causes.parts import changes_between, words_in
from turncheck.causes.renaming import NewName
from turncheck.causes.search import NOTHING_FOUND, search
from turncheck.causes.sentences import TestSentences
from turncheck.causes.trials import AskedTest, Laboratory
from turncheck.ci.host import exact_commit
from turncheck.comparison.causes import key_of
from turncheck.comparison.training_changes import sentences_of
from turncheck.engines.action_server.server import NoActionServer
from turncheck.engines.base import why_no_dialogue
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.nlu.scores import PRETRAINED_EXTRACTORS
from turncheck.evaluations.nlu.splits import stable_folds
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.project.batch.known import known_names
from turncheck.project.model import UserStep
from turncheck.report.causes import Cause, Causes, CausesOfFinding, CausesOfIntent, CausesOfTest, MutualContradiction
from turncheck.run.assistant import action_server
from turncheck.run.evaluated_project import slot_order_of
from turncheck.run.reading import read_configured

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.causes.parts import Changes, Difference
    from turncheck.causes.search import Found, Trials
    from turncheck.comparison.changes import CaseChange, ChangedCases
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Finding
    from turncheck.project.model import Story
    from turncheck.report.causes import Asked
    from turncheck.report.model import Report
    from turncheck.run.under_way import RunInProgress

LEAST_WORK: Final = 2_500
"""About 5 seconds on two cores: a sentence or a step that is learnt from again takes up to 2 ms."""
MOST_WORK: Final = 5_000


def with_causes(report: Report, base: Report, comparison: Comparison, run: RunInProgress) -> Report:
    """Return the report with the causes of what changed against this base, as far as they can be proved.

    Args:
        report: what was measured.
        base: what it is compared with.
        comparison: the two compared.
        run: the run that measured it; its engine trains the project with parts taken back.
    """
    tried = _can_be_tried(run)
    asked = list(asked_tests(comparison, run.tests.stories, held_out=run.tests.nlu is not None)) if tried else []
    lost = lost_intents(base, report, comparison) if tried else []
    contradictions = _new_contradictions(report, comparison)
    number = len(asked) + len(lost) + len(contradictions)
    commit = exact_commit(base.source.commit)
    if not number or commit is None or run.inputs.at_commit is None:
        return report
    words = f"Looking for the causes of {count(number, 'changed result')}"
    try:
        with run.inputs.at_commit(commit) as there, run.screen.step("causes", words):
            before = read_configured(there.inputs.settings, variables=there.inputs.file_variables)
            if before.unreadable or run.project.unreadable:
                return report
            names = [NewName(one.kind, one.old, one.new, one.location) for one in comparison.renamed]
            changes = changes_between(before, run.project, names)
            if not changes.parts:
                return report
            found = _found(run, changes, asked, lost) if asked or lost else _NOTHING
            found = _with_causes_of_findings(found, changes, contradictions)
            return structs.replace(report, causes=structs.replace(found, base=commit))
    except UserError as error:
        run.screen.note(f"Causes are not looked for: {error.message}")
        return report


def _can_be_tried(run: RunInProgress) -> bool:
    """Whether the engine trains the project here, and did: what could not be trained has no results to explain."""
    trains = run.engines.capabilities.no_mutants is None and not run.engines.capabilities.varies
    return trains and run.settings.model is None


_NOTHING: Final = Causes(base="")


def _new_contradictions(report: Report, comparison: Comparison) -> list[Finding]:
    """Return the contradictions of rules and stories that only this side has, as the report has them."""
    new = {(finding.code, finding.location) for finding in comparison.new_findings if finding.code in CODES}
    findings = report.validation.findings if report.validation else ()
    return [finding for finding in findings if (finding.code, finding.location) in new]


def _with_causes_of_findings(found: Causes, changes: Changes, findings: Sequence[Finding]) -> Causes:
    if not findings or changes.head.native is not None:
        return found
    contradictions = Contradictions(changes, findings)
    tried = search(contradictions.trials(), LEAST_WORK)
    mutual = contradictions.mutual(tried, LEAST_WORK)
    said = {number for one in mutual for number in one.findings}
    return structs.replace(
        found,
        findings=tuple(
            CausesOfFinding(
                code=findings[number].code,
                location=findings[number].location,
                causes=tuple(_cause(changes.parts[part]) for part in parts),
                contradicted=tuple(contradictions.contradicted(number, part) for part in parts),
            )
            for number, parts in sorted(tried.causes.items())
            if number not in said
        ),
        mutual=tuple(
            MutualContradiction(
                causes=tuple(structs.replace(_cause(changes.parts[part]), proved=False) for part in one.parts),
                code=findings[one.findings[0]].code,
                locations=tuple(findings[number].location for number in one.findings),
            )
            for one in mutual
        ),
    )


def _found(run: RunInProgress, changes: Changes, asked: Sequence[AskedTest], lost: Sequence[LostIntent]) -> Causes:
    """Try, and say what was found: first the tests, then, with what is left of the budget, the intents.

    Raises:
        UserError: the action server does not start.
    """
    folds = run.settings.folds if run.tests.nlu is None else 0
    of_tests = _of_tests(run, changes, asked, folds) if asked else NOTHING_FOUND
    left = budget_for(len(run.project.nlu.examples), folds, 0) - of_tests.spent
    first = frozenset(part for parts in of_tests.causes.values() for part in parts)
    of_intents = search(_trials_of_intents(run, changes, lost, first), left) if lost else NOTHING_FOUND
    named = {test: [_cause(changes.parts[part]) for part in parts] for test, parts in of_tests.causes.items()}
    named |= {test: [] for test in of_tests.unexplained}
    looked_for = len(named) + len(of_tests.on_edge) + len(of_intents.causes) + len(of_intents.unexplained)
    return Causes(
        base="",
        tests=tuple(
            CausesOfTest(evaluation=test.evaluation, name=test.name, path=test.path, causes=tuple(named[number]))
            for number, test in enumerate(asked)
            if number in named
        ),
        intents=tuple(
            CausesOfIntent(intent=lost[number].name, causes=tuple(_cause(changes.parts[part]) for part in parts))
            for number, parts in sorted(of_intents.causes.items())
        ),
        trials=of_tests.tried + of_intents.tried,
        work=of_tests.spent + of_intents.spent,
        all_tried=looked_for == len(asked) + len(lost),
    )


def _of_tests(run: RunInProgress, changes: Changes, asked: Sequence[AskedTest], folds: int) -> Found:
    of_cases = any(test.evaluation == "e2e" for test in asked)
    understands = any(test.evaluation != "core" for test in asked) or any(
        isinstance(step, UserStep) and step.text for s in run.tests.stories for step in s.steps
    )
    decides = why_no_dialogue(run.project) is None and any(test.evaluation in {"core", "e2e"} for test in asked)
    with action_server(run.inputs, run.project, run.screen) if of_cases else nullcontext(NoActionServer()) as server:
        laboratory = Laboratory(
            changes,
            run.engines.as_trained(run.settings.seed, understands=understands, decides=decides),
            asked,
            run.tests.stories,
            run.cases.cases if of_cases else (),
            server,
            CaseRun(slot_order=slot_order_of(run.settings)),
            _sentences(run),
        )
        budget = budget_for(len(run.project.nlu.examples), folds, laboratory.trained.size)
        return search(laboratory.trials(), budget)


def _sentences(run: RunInProgress) -> TestSentences:
    return TestSentences(
        run.tests.nlu.examples if run.tests.nlu else (),
        run.suites.read.suites if run.tests.batch else (),
        known_names(run.project),
        run.engines.capabilities,
        PRETRAINED_EXTRACTORS if run.project.major else frozenset(),
    )


def _trials_of_intents(
    run: RunInProgress, changes: Changes, lost: Sequence[LostIntent], first: frozenset[int]
) -> Trials:
    examples = run.project.nlu.examples
    plan = stable_folds(examples, run.settings.folds, run.settings.seed)
    held_out = {
        fold: frozenset((examples[index].text, examples[index].intent or "") for index in plan.judged(fold))
        for fold in range(plan.count)
    }
    return FoldTrials(changes, lost, held_out, run.engines.nlu_trainer, first).trials


def _cause(part: Difference) -> Cause:
    return Cause(
        kind=part.kind,
        name=part.name,
        change=part.change,
        location=part.location,
        base_location=part.base_location,
        old_name=part.old_name,
        proved=True,
    )


def budget_for(sentences: int, folds: int, size: int) -> int:
    """Return how much work may be spent: as much as the run itself took, within bounds that hold everywhere.

    Args:
        sentences: the project's training sentences.
        folds: how many times the run trained on them; 0 if they were not cross-validated.
        size: the work of training the policies.
    """
    return min(max(LEAST_WORK, (folds + 1) * sentences + size), MOST_WORK)


# Which results changed.


def asked_tests(
    comparison: Comparison, test_stories: Sequence[Story], *, held_out: bool = False
) -> Iterator[AskedTest]:
    """Yield the tests that newly fail, then those that newly pass; what changed for a copy changed for all.

    ``held_out``: whether sentences are tests of their own, and not judged in folds.
    """
    stories = {(story.name, story.location.path): story for story in test_stories}
    for changed in (_newly_wrong, _newly_right):
        for case in changed(comparison.stories):
            name, path = key_of(case)
            names = frozenset().union(
                *(words_in(story.steps) for (of, at), story in stories.items() if of in name and at == path)
            )
            yield _asked("core", case, names)
        for case in changed(comparison.e2e):
            name, path = key_of(case)
            yield _asked("e2e", case, frozenset(case.rests_on))
    for changed in (_changed_wrong, _newly_right):
        for case in changed(comparison.batch):
            yield _asked_sentence("batch", case)
        for judged, cases in sentences_of(comparison) if held_out else ():
            for case in changed(cases):
                yield _asked_sentence(judged, case)


def _newly_wrong(cases: ChangedCases) -> tuple[CaseChange, ...]:
    return (*cases.became_wrong, *cases.newly_misunderstood, *cases.added_failing)


def _changed_wrong(cases: ChangedCases) -> tuple[CaseChange, ...]:
    """Sentences that the base understood: of a new one it is not known whether it would."""
    return tuple(case for case in cases.became_wrong if case.base_passed)


def _newly_right(cases: ChangedCases) -> tuple[CaseChange, ...]:
    return tuple(case for case in cases.better if case.passed)


def _asked_sentence(evaluation: Asked, case: CaseChange) -> AskedTest:
    name, path = key_of(case)
    near = tuple(dict.fromkeys(word for said in (case.actual, case.base_actual, case.expected) if (word := said)))
    return AskedTest(
        evaluation, name, path, passes=not case.passed, is_of_sentences=True, near=near, names=frozenset(near)
    )


def _asked(evaluation: Asked, case: CaseChange, names: frozenset[str]) -> AskedTest:
    name, path = key_of(case)
    meant = [
        intent
        for sentence in case.sentences
        for intent in (sentence.predicted.intent, sentence.expected.intent)
        if intent
    ]
    near = (*meant, case.actual, case.expected, case.base_actual, *case.rests_on)
    return AskedTest(
        evaluation,
        name,
        path,
        passes=not case.passed,
        misunderstood=case.base_misunderstood,
        is_of_sentences=bool(case.sentences),
        near=tuple(dict.fromkeys(word for word in near if word)),
        names=names,
    )
