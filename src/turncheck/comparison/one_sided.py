"""What only one side has judged: evaluations and tests that did not run on the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.comparison.faults import faults_of
from turncheck.comparison.matching import Pair
from turncheck.comparison.metrics import FEW_INTENTS
from turncheck.comparison.model import OneSided
from turncheck.comparison.tally import is_asked_for, skipped_entry
from turncheck.report.model import EVALUATIONS, ON_REQUEST, Evaluation

if TYPE_CHECKING:
    from turncheck.comparison.cases import Case
    from turncheck.comparison.matching import Matched
    from turncheck.report.model import Report

_WITH_TESTS: Final[tuple[Evaluation, ...]] = ("nlu", "core", "e2e", "batch")
_NOT_SAID: Final = "its report does not say why"


def has_results(report: Report, evaluation: Evaluation) -> bool:
    """Whether an evaluation judged anything."""
    match evaluation:
        case "validate":
            return report.validation is not None
        case "nlu":
            return report.nlu is not None and report.nlu.examples > 0
        case "core":
            return report.core is not None and bool(report.core.stories)
        case "e2e":
            return report.e2e is not None and any(case.outcome != "skipped" for case in report.e2e.cases)
        case "batch":
            return report.batch is not None and any(suite.cases for suite in report.batch.suites)
        case "strength":
            return report.strength is not None and bool(report.strength.mutants)
        case "robustness":
            return report.robustness is not None and report.robustness.variants > 0


def why_not_run(report: Report, evaluation: Evaluation) -> str:
    """Return why an evaluation has no results."""
    if entry := skipped_entry(report, evaluation):
        return entry.reason
    cases = report.e2e.cases if evaluation == "e2e" and report.e2e else ()
    return next((case.reason for case in cases if case.reason), _NOT_SAID)


def still_there(matched: Matched, head: Report, evaluation: Evaluation) -> Matched:
    """Tests that could not be run, or have no name, are not gone: all are gone only if there is none left to run."""
    entry = skipped_entry(head, evaluation)
    ran = {"core": head.core, "e2e": head.e2e, "batch": head.batch}.get(evaluation) is not None
    if evaluation == "core" and head.core is not None and not all(story.named for story in head.core.stories):
        return replace(matched, removed=())
    part = next((one.reason for one in head.skipped if one.part and one.evaluation == evaluation), "")
    if head.stopped is None and not part and (ran or (entry is not None and entry.no_tests)):
        return matched
    # The evaluation did not get to them: the test files, as far as they could be read, show what is gone.
    gone = _gone_from_files(matched, head, evaluation)
    unseen = tuple(Pair(one, replace(one, actual=part, judged=False)) for one in matched.removed if one not in gone)
    return replace(matched, removed=tuple(gone), not_run=(*matched.not_run, *unseen))


def _gone_from_files(matched: Matched, head: Report, evaluation: Evaluation) -> list[Case]:
    """Tests of the base that no test file has any more, if that is known without running them.

    A test whose name is gone may have been renamed, if there is a name that the base does not know. What a test file
    holds that cannot be read is not known.
    """
    entry = skipped_entry(head, evaluation)
    if entry is not None and entry.tests is not None:
        there = set(entry.tests)
        if there - {case.name for case in matched.removed}:
            return []
        return [case for case in matched.removed if case.name not in there]
    parts = [one for one in head.skipped if one.part and one.evaluation == evaluation]
    if parts and head.stopped is None and all(one.location is not None for one in parts):
        unread = {one.location.path for one in parts if one.location is not None}
        return [case for case in matched.removed if case.location.path not in unread]
    return []


def base_lacks(base: Report, head: Report, tests: dict[Evaluation, Matched]) -> tuple[OneSided, ...]:
    """Return what this side judged and the base did not: complete evaluations, or a number of tests of one."""
    found = []
    for evaluation in EVALUATIONS:
        if not has_results(head, evaluation) or evaluation in ON_REQUEST:
            continue
        if not has_results(base, evaluation):
            found.append(OneSided(evaluation=evaluation, reason=why_not_run(base, evaluation)))
        elif evaluation in tests and (newly := tests[evaluation].newly_run):
            reason = newly[0].base.actual or _NOT_SAID
            found.append(OneSided(evaluation=evaluation, reason=reason, cases=len(newly)))
        elif base.stopped is not None and evaluation in tests and tests[evaluation].added:
            reason = f"its run ended before its end: {base.stopped.partition(chr(10))[0]}"
            found.append(OneSided(evaluation=evaluation, reason=reason, cases=len(tests[evaluation].added)))
    return tuple(found)


def base_faults(base: Report) -> tuple[OneSided, ...]:
    """Return the evaluations that the base could not run completely because of a fault."""
    return tuple(OneSided(evaluation=fault.evaluation, reason=fault.reason) for fault in faults_of(base, _WITH_TESTS))


def lost(base: Report, head: Report) -> tuple[OneSided, ...]:
    """Return the evaluations that only the base has results for, and held-out sentences if all are gone.

    A test suite that is completely gone is not lost in this sense: its tests are gone, one by one.
    """
    found = []
    for evaluation in EVALUATIONS:
        entry = skipped_entry(head, evaluation)
        listed = entry is not None and entry.no_tests
        listed = listed or evaluation in ON_REQUEST
        if has_results(base, evaluation) and not has_results(head, evaluation) and not listed:
            asked = is_asked_for(head, evaluation)
            reason = why_not_run(head, evaluation) if asked or entry else "not requested"
            found.append(OneSided(evaluation=evaluation, reason=reason))
    if base.nlu and base.nlu.intents and head.nlu and head.nlu.examples and not head.nlu.intents:
        found.append(OneSided(evaluation="nlu", reason=FEW_INTENTS))
    if base.nlu and base.nlu.mode == "held-out" and head.nlu and head.nlu.mode != "held-out":
        reason = f"all {base.nlu.examples:,} held-out sentences of the base are gone"
        files = tuple(sorted({example.location.path for example in base.nlu.predictions}))
        found.append(OneSided(evaluation="nlu", reason=reason, cases=base.nlu.examples, files=files))
    return tuple(found)
