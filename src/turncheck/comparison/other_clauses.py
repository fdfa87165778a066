"""The clauses of a verdict's summary about what passed, what does not count, what is open and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import number_of
from turncheck.comparison.clauses import (
    TEST_GATES,
    failed_of,
    failed_tallies,
    gone_in_words,
    joined,
    newly_failing,
    short_reason,
)
from turncheck.comparison.gates_on_tests import STAND_IN, judged_without_tests, newly_misunderstood, tests_of
from turncheck.comparison.gone_tests import GONE_TESTS
from turncheck.comparison.new_errors import NEW_ERRORS
from turncheck.comparison.noise import is_likely_noise, sentences_of
from turncheck.comparison.suppression_gate import NEW_SUPPRESSIONS, suppressed_in_words
from turncheck.comparison.tally import tallies
from turncheck.comparison.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import ChangedCases
    from turncheck.comparison.model import Comparison
    from turncheck.comparison.tally import Tally
    from turncheck.comparison.verdict import GateResult
    from turncheck.report.model import GateSettings, Report

ON_BASE_TOO: Final = "on the base too"
_SAYS_NOT_RUN: Final = (" not run", "no longer run", "could not be run")


def accepted_in_words(report: Report, compared: Comparison | None, gates: Sequence[GateResult]) -> str:
    """Tests that are gone and were allowed to go."""
    passed = any(gate.name == GONE_TESTS and gate.outcome == "passed" for gate in gates)
    gone = gone_in_words(report, compared) if compared is not None and passed else ""
    return f"{gone} (accepted)" if gone else ""


def passed_in_words(report: Report, compared: Comparison | None) -> str:
    """What was tested; if something failed, without how much passed, which the next clause says."""
    found = tallies(report)
    if none_ran := [tally for tally in found if tally.none_ran]:
        others = [tally for tally in found if tally.ran and not tally.failed]
        passed = [f"{joined(tally.counted(tally.ran) for tally in others)} passed"] if others else []
        return ", ".join([*(tally.not_run_in_words for tally in none_ran), *passed])
    if any(tally.failed for tally in found):
        nothing_new = compared is not None and not newly_failing(report, compared)
        return "nothing fails that passed on the base" if nothing_new else _right_intents(report)
    return _tested(report)


def _tested(report: Report) -> str:
    tested = []
    if report.core and report.core.stories:
        outcomes = [story.outcome for story in report.core.stories]
        tested.append(f"{outcomes.count('passed')} of {count(len(outcomes), 'story', 'stories')}")
    if report.e2e and (ran := sum(case.outcome != "skipped" for case in report.e2e.cases)):
        tested.append(f"{report.e2e.passed} of {count(ran, 'end-to-end case')}")
    if cases := [case for suite in (report.batch.suites if report.batch else ()) for case in suite.cases]:
        tested.append(f"{sum(case.passed for case in cases)} of {count(len(cases), 'batch case')}")
    passed_line = f"{' and '.join(tested)} passed" if tested else ""
    if intents := _right_intents(report):
        return f"{passed_line}, {intents}" if passed_line else intents
    if not passed_line and (judged := judged_without_tests(report)):
        findings = [f"{count(len(report.validation.findings), 'finding')} in the data"] if report.validation else []
        others = [f"{what} measured" for what in judged[len(findings) :]]
        return f"{', '.join([*findings, *others])}, nothing else was asked for"
    return passed_line or "nothing was tested"


def _right_intents(report: Report) -> str:
    nlu = report.nlu
    if nlu is None or not nlu.examples or not (nlu.intents or nlu.predictions):
        return ""
    listed = sum(example.correct for example in nlu.predictions)
    right = round(nlu.intents.accuracy * nlu.examples) if nlu.intents and nlu.unlisted else listed
    return f"the right intent for {right:,} of {count(nlu.examples, 'sentence')}"


def uncounted_clauses(
    report: Report, compared: Comparison | None, gates: Sequence[GateResult], settings: GateSettings
) -> list[str]:
    """Failures that do not fail any gate, and why not."""
    judged_by = {gate.name for gate in gates}
    fails = {gate.name for gate in gates if gate.fails}
    why = f"fail-on: {', '.join(settings.fail_on)}"
    parts = []
    failed = failed_tallies(report)
    if failed and not fails & TEST_GATES:
        kinds = joined(tally.counted(len(tally.failed)) for tally in failed)
        number = sum(len(tally.failed) for tally in failed)
        if "new-failures" in judged_by and compared is not None:
            parts.append(f"{kinds} {'fails' if number == 1 else 'fail'} on the base too")
        else:
            parts.append(
                f"{joined(map(failed_of, failed))} failed and {'does' if number == 1 else 'do'} not count ({why})"
            )
    elif compared is not None and not fails & TEST_GATES and (newly := newly_failing(report, compared)):
        why = STAND_IN if report.batch is not None and report.batch.by_stand_in else why
        parts.append(f"{joined(newly)}, which does not count ({why})")
    errors = report.validation.counts.error if report.validation else 0
    if errors and "errors" not in judged_by and not {"new-failures", NEW_ERRORS} & fails:
        does = "does" if errors == 1 else "do"
        old = bool({"new-failures", NEW_ERRORS} & judged_by) and compared is not None
        counted = "on the base too" if old else f"that {does} not count{'' if parts else f' ({why})'}"
        parts.append(f"{count(errors, 'error')} in the data {counted}")
    if compared is not None and compared.new_suppressions and NEW_SUPPRESSIONS not in fails:
        parts.append(suppressed_in_words(compared.new_suppressions))
    if compared is not None and (gone := gone_unjudged(report, compared, gates)):
        parts.append(f"{gone} and not counted ({why})")
    return [", ".join(parts)]


def gone_unjudged(report: Report, compared: Comparison, gates: Sequence[GateResult]) -> str:
    """Tests that are gone, if no gate is about that."""
    return "" if any(gate.name == GONE_TESTS for gate in gates) else gone_in_words(report, compared)


def misunderstood_in_words(report: Report, compared: Comparison | None) -> str:
    """Tests that only a sentence keeps from passing, if they do not count as failed."""
    new = {name: number_of(cases) for name, cases in newly_misunderstood(report, compared)}
    parts = (
        _misunderstood_of(tally, new.get(tally.evaluation, 0) if compared else None)
        for tally in tallies(report)
        if tally.misunderstood
    )
    return joined(parts)


def _misunderstood_of(tally: Tally, newly: int | None) -> str:
    """The misunderstood tests of one kind, and how many of them are new, if that is known."""
    number = len(tally.misunderstood)
    if newly == 0:
        return f"{tally.misunderstood_in_words} {ON_BASE_TOO}"
    new = number if newly is None else newly
    known = f" ({number - new:,} more {ON_BASE_TOO})" if number > new else ""
    return f"{tally.counted(new)} {'' if newly is None else 'newly '}misunderstood{known}"


def left_open(report: Report, comparison: Comparison | None, gates: Sequence[GateResult], text: str) -> str:
    """Tests that were not run and gates that could not be judged; those that fail the run are in ``text`` already."""
    open_ends = [
        tally.not_run_in_words
        for tally in tallies(report)
        if tally.reason and not any(said in text for said in _SAYS_NOT_RUN)
    ]
    named = "could not be run completely" in text
    parts = {one.evaluation for one in report.skipped if one.part and not (one.fault and named)}
    open_ends += [f"a test file of {evaluation} cannot be read" for evaluation in sorted(parts)]
    if waiting := not_judged(report, gates):
        names = {gate.name.partition(":")[0] for gate in waiting}
        what = names.pop() if len(names) == 1 else count(len(waiting), "gate")
        why = short_reason(waiting[0], comparison)
        open_ends.append(f"{what} not judged" if why in text else f"{what} not judged ({why})")
    return ", ".join(open_ends)


def not_judged(report: Report, gates: Sequence[GateResult]) -> list[GateResult]:
    """Gates that were not judged and do not fail the run.

    Gates about tests that were not judged because there are no tests are left out, since that is said elsewhere; so
    are gates about the data of an imported report, which has none to judge.
    """
    without_data = any(one.evaluation == "validate" and one.no_tests for one in report.skipped)
    said_elsewhere = TEST_GATES | ({GONE_TESTS} if report.stopped is not None else frozenset())
    left_out = said_elsewhere | ({"errors", NEW_ERRORS, "fail-on-warnings"} if without_data else frozenset())
    open_gates = (gate for gate in gates if gate.outcome == "not judged" and not gate.fails)
    return [gate for gate in open_gates if gate.name not in left_out]


def trained_on(report: Report, compared: Comparison | None) -> str:
    """Judged sentences that were also trained on; for a change, only those that it added."""
    nlu = report.nlu
    before = compared.base_overlap.on_training_sentences if compared and compared.base_overlap else 0
    if nlu is None or nlu.on_training_sentences <= before:
        return ""
    copies, folded = nlu.on_training_sentences, nlu.mode == "cross-validation"
    of = f"{copies:,} of {count(nlu.examples, 'sentence' if folded else 'test sentence')}"
    more = f", {copies - before:,} more than on the base" if before else ""
    if folded:
        return f"{of} {'has a copy' if copies == 1 else 'have copies'} in other folds{more}"
    return f"{of} also {'appears' if copies == 1 else 'appear'} in the training data{more}"


def changes(report: Report, compared: Comparison, failing: Sequence[GateResult]) -> list[str]:
    """The most informative difference if nothing broke: a real change of the intents, sentences that changed sides."""
    parts = []
    f1 = compared.metric("nlu.intents.f1")
    about = {gate.metric for gate in failing}
    if f1 and f1.delta is not None and f1.judgement in {"better", "worse"} and f1.name not in about:
        parts.append(f"the intents are really {f1.judgement}")
    parts += _sentences_that_changed_sides(compared)
    if not failing and (repaired := sum(number_of(cases.better) for _, cases in tests_of(compared))):
        parts.append(f"{count(repaired, 'test')} newly right")
    if edited := sum(_edited(cases) for _, cases in tests_of(compared)):
        copies = sum(bool(case.copy_of) for _, cases in tests_of(compared) for case in cases.edited)
        alike = f" ({copies:,} {'says' if copies == 1 else 'say'} the same as another one now)" if copies else ""
        parts.append(f"{count(edited, 'test')} edited{alike}")
    if parts:
        return [", ".join(parts[:3])]
    misunderstood = compared.misunderstood or compared.misunderstood_in_cases
    if failing or compared.new_findings or misunderstood or failed_tallies(report):
        return []
    taken = compared.cut_intents or compared.stripped or compared.relabelled or newly_failing(report, compared)
    if taken or any(cases.newly_failing or cases.better for _, cases in sentences_of(compared)):
        return []
    if worse := sum(metric.judgement == "worse" for metric in compared.metrics):
        return [f"{count(worse, 'figure')} worse than on the base"]
    return ["no case changed sides against the base" if compared.changed else "nothing changed against the base"]


def _sentences_that_changed_sides(compared: Comparison) -> list[str]:
    """``3 sentences newly misclassified (within noise), entities of 2 newly wrong``; else what is right now."""
    words = {
        "intents": "{} newly misclassified",
        "entities": "entities of {} newly wrong",
        "responses": "responses to {} newly wrong",
    }
    parts = []
    for judged, cases in sentences_of(compared):
        if number := len(cases.newly_failing):
            noise = " (within noise)" if is_likely_noise(compared, judged) else ""
            parts.append(f"{words[judged].format(count(number, 'sentence'))}{noise}")
    if not compared.examples.newly_failing and (better := len(compared.examples.better)):
        parts.insert(0, f"{count(better, 'sentence')} newly right")
    elif not parts and (better := sum(len(cases.better) for _, cases in sentences_of(compared))):
        parts.append(f"entities or responses of {count(better, 'sentence')} newly right")
    return parts


def _edited(cases: ChangedCases) -> int:
    """How many tests have different content than before."""
    return number_of(case for case in cases.edited if "edited" in case.edits)
