"""The verdict in one line: a few short clauses, the most important first, and no number twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.because import newly_failing_tests, tests_because_of
from turncheck.comparison.broken_intents import broken_intents_in_words, dropped_intents
from turncheck.comparison.changes import number_of
from turncheck.comparison.faults import cause_first, faults_of
from turncheck.comparison.gates_on_tests import failing_of, newly_misunderstood, tests_of
from turncheck.comparison.gone_tests import GONE_TESTS, LOST, out_of_sight
from turncheck.comparison.tally import NAMES, tallies
from turncheck.comparison.wording import count
from turncheck.messages.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.changes import ChangedCases
    from turncheck.comparison.model import Comparison
    from turncheck.comparison.tally import Tally
    from turncheck.comparison.verdict import GateResult, Reservation
    from turncheck.report.model import GateSettings, Report

_MOST: Final = 3
"""Clauses of the line."""
_LONGEST: Final = 120
_LONGEST_MESSAGE: Final = 100
"""An only error in the data is shown in its own words up to this length."""
_ORDER: Final = (
    *("completed", "could-be-run", "errors", "new-failures", "test-failures", GONE_TESTS, "something-was-tested"),
    "require",
)
"""Which of the failing gates is named first: causes before symptoms, those about figures last."""
ON_BASE_TOO: Final = "on the base too"
_TEST_GATES: Final = frozenset({"test-failures", "new-failures"})
_SAYS_NOT_RUN: Final = (" not run", "no longer run", "could not be run")
_NO_BASE: Final = {
    "unreachable": "the baseline could not be reached",
    "unreadable": "the baseline could not be read",
}


def summarize(
    report: Report, comparison: Comparison | None, gates: Sequence[GateResult], settings: GateSettings
) -> str:
    """Say what happened: what broke first, or what passed; what else failed and does not count; what was left open."""
    compared = comparison if comparison and comparison.judged else None
    failing = sorted((gate for gate in gates if gate.fails), key=_rank)
    about = {gate.metric for gate in failing}
    intents = broken_intents_in_words(compared, about) if compared else ""
    misunderstood = _misunderstood(report, compared)
    words = _and_more(_failing_clauses(failing, report, comparison), _MOST - bool(intents))
    causes, symptoms = (words[:0], words) if failing and failing[0].name in _TEST_GATES else (words[:1], words[1:])
    broken = [clause for clause in (*causes, intents, *symptoms, misunderstood) if clause]
    newly_broken = words or intents or (misunderstood and not misunderstood.endswith(ON_BASE_TOO))
    clauses = [broken if newly_broken else [_passed(report, compared), *broken]]
    clauses.append(_uncounted(report, compared, gates, settings))
    clauses.append([_accepted(report, compared, gates)])
    clauses.append([_left_open(report, comparison, gates, " ".join(clauses[0]))])
    clauses.append([_trained_on(report, compared)])
    clauses.append(_changed(report, compared, failing) if compared and not broken else [])
    return "; ".join([clause for part in clauses for clause in part if clause][:_MOST])


def reservation(report: Report, comparison: Comparison | None, gates: Sequence[GateResult]) -> Reservation:
    """Say why "passed" is not all there is to say."""
    found = tallies(report)
    if any(tally.failed for tally in found):
        new = next((gate for gate in gates if gate.name == "new-failures"), None)
        old = new is not None and new.outcome == "passed" and comparison is not None and comparison.judged
        return "old failures only" if old else "although tests fail"
    judged = comparison is not None and comparison.judged
    if comparison is not None and judged and _gone_unjudged(report, comparison, gates):
        return "although tests are gone"
    if comparison is not None and judged and comparison.collisions:
        return "intents collide"
    if comparison is not None and judged and dropped_intents(comparison):
        return "an intent is worse"
    newly = newly_misunderstood(report, comparison)
    numbers = {
        tally.evaluation: sum(number_of(cases) for name, cases in newly if name == tally.evaluation)
        if judged
        else len(tally.misunderstood)
        for tally in found
    }
    if stories := numbers.get("core", 0):
        return "a story is misunderstood" if stories == 1 else "stories are misunderstood"
    if cases := numbers.get("e2e", 0):
        return "an end-to-end case is misunderstood" if cases == 1 else "end-to-end cases are misunderstood"
    if any(tally.none_ran for tally in found):
        return "not all tests were run"
    return "not all gates were judged" if _not_judged(report, gates) else ""


def _rank(gate: GateResult) -> int:
    name = gate.name.partition(":")[0]
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


# --- why it fails ----------------------------------------------------------------------------------------------------


def _failing_clauses(failing: Sequence[GateResult], report: Report, comparison: Comparison | None) -> list[str]:
    """A clause for each failing gate that says something of its own."""
    clauses: dict[str, None] = {}
    metrics = set()
    tests_named = False
    for gate in failing:
        if gate.follows:
            continue
        if gate.name in _TEST_GATES and gate.outcome == "failed":
            if not tests_named and (words := _failed_tests(gate, report, comparison, failing)):
                clauses[words] = None
            tests_named = True
        elif gate.metric is not None and gate.metric in metrics:
            continue
        else:
            known = " ".join(clauses)
            parts = _clause(gate, report, comparison).split("; ")
            if said := "; ".join(part for part in parts if part not in known):
                clauses[said] = None
        metrics.add(gate.metric)
    return list(clauses)


def _and_more(clauses: list[str], most: int) -> list[str]:
    more = len(clauses) - most
    if more <= 0:
        return clauses
    return [*clauses[: most - 1], f"{clauses[most - 1]}, and {count(more, 'more gate')} failed"]


def _clause(gate: GateResult, report: Report, comparison: Comparison | None) -> str:
    """A failing gate, without what only its own line needs to say."""
    if gate.outcome == "not judged":
        return f"{gate.name.partition(':')[0]} not judged ({_short_reason(gate, comparison)})"
    if gate.name == "completed":
        return _cut(f"stopped before the end: {gate.reason.partition(chr(10))[0]}")
    if gate.name == "could-be-run":
        return cause_first(faults_of(report))
    if (
        gate.name == "errors"
        and gate.reason.startswith("1 ")
        and len(gate.failed_by) == 1
        and gate.failed_by[0].location is not None
    ):
        (error,) = gate.failed_by
        message = error.what.partition(": ")[2].partition(". ")[0].rstrip(".")
        words = message if 0 < len(message) <= _LONGEST_MESSAGE else gate.reason
        return f"{words} ({error.location})"
    if gate.name == GONE_TESTS and comparison is not None:
        return _gone(report, comparison) or gate.reason
    if gate.name.startswith("require"):
        return _cut(gate.reason.partition(" (")[0])
    if gate.name.startswith("max-regression"):
        return _cut(gate.reason.partition(", more than")[0].partition(" on the examples")[0])
    return _cut(gate.reason)


def _gone(report: Report, comparison: Comparison) -> str:
    """``7 stories gone, the end-to-end cases are no longer run``."""
    faulty = {fault.evaluation for fault in faults_of(report)}
    parts = [
        one.reason if one.files else LOST[one.evaluation] for one in comparison.lost if one.evaluation not in faulty
    ]
    whole = {one.evaluation for one in comparison.lost}
    for evaluation, cases in tests_of(comparison):
        if cases.gone:
            parts.append(f"{count(number_of(cases.gone), *NAMES[evaluation])} gone")
        if cases.not_run and evaluation not in whole:
            parts.append(f"{count(number_of(cases.not_run), *NAMES[evaluation])} of the base not run")
    hidden = [f"'{one.location.path}'" for one in out_of_sight(comparison)]
    where = f" ({_join(hidden[:2])} {'is' if len(hidden) == 1 else 'are'} not looked for)" if parts and hidden else ""
    return f"{', '.join(parts)}{where}"


def _accepted(report: Report, compared: Comparison | None, gates: Sequence[GateResult]) -> str:
    """What is gone and may go."""
    passed = any(gate.name == GONE_TESTS and gate.outcome == "passed" for gate in gates)
    gone = _gone(report, compared) if compared is not None and passed else ""
    return f"{gone} (accepted)" if gone else ""


def _failed_tests(
    gate: GateResult, report: Report, comparison: Comparison | None, failing: Sequence[GateResult]
) -> str:
    """What failed, apart by what fails on the base too."""
    failed = _failed(report)
    errors = 0 if any(one.name == "errors" for one in failing) else _new_errors(report, comparison)
    in_data = f"{count(errors, 'error')} in the data" if errors and gate.name == "new-failures" else ""
    if comparison is None or not comparison.judged:
        why = _NO_BASE.get(comparison.baseline.status if comparison else "", "no baseline")
        all_new = f" ({why}, so all count as new)" if gate.name == "new-failures" else ""
        parts = [f"{_join(_of(tally) for tally in failed)} failed"] if failed else []
        return f"{', '.join([*parts, *([in_data] if in_data else [])])}{all_new}"
    new = _newly_failing(report, comparison)
    old = sum(len(tally.failed) for tally in failed)
    old -= sum(number_of(failing_of(report, cases)) for _, cases in tests_of(comparison))
    data = [f"{in_data} that the base does not have"] if in_data else []
    if not new and not data:
        if not failed:  # the gate failed by what another clause tells: errors in the data
            return ""
        return f"{_join(_of(tally) for tally in failed)} failed (on the base too)"
    also = f" ({old:,} {'fails' if old == 1 else 'fail'} on the base too)" if old > 0 else ""
    first = "because of it " if new and not data and _all_because_of_one(failing, comparison) else ""
    return f"{first}{_join([*new, *data])}{also}"


def _all_because_of_one(failing: Sequence[GateResult], comparison: Comparison) -> bool:
    """Whether the one error in the data, of which the line tells first, explains all tests that newly fail."""
    if failing[0].name != "errors" or len(failing[0].failed_by) != 1 or comparison.base_lacks:
        return False
    explained = tests_because_of(comparison).get(failing[0].failed_by[0].location or Location(""), [])
    return len(explained) == len(newly_failing_tests(comparison))


def _of(tally: Tally) -> str:
    return f"{len(tally.failed):,} of {tally.counted(tally.ran)}"


def _newly_failing(report: Report, comparison: Comparison) -> list[str]:
    """``2 stories newly fail``, ``1 new end-to-end case fails``, ``1 of 2 stories failed (the base ran none)``."""
    parts = []
    not_on_base = {one.evaluation for one in comparison.base_lacks if one.cases is None}
    parts += [f"{_of(t)} failed (the base ran none)" for t in _failed(report) if t.evaluation in not_on_base]
    for name, cases in tests_of(comparison):
        one, many = NAMES[name]
        if name in not_on_base:
            continue
        failing = failing_of(report, cases)
        new = number_of(case for case in failing if case.base_location is None)
        known = [case for case in failing if case.base_location is not None]
        misunderstood = number_of(case for case in known if case.misunderstood)
        if broken := number_of(known) - misunderstood:
            parts.append(f"{count(broken, one, many)} newly {'fails' if broken == 1 else 'fail'}")
        if misunderstood:
            parts.append(f"{count(misunderstood, one, many)} newly misunderstood")
        if new:
            parts.append(f"{new:,} new {one if new == 1 else many} {'fails' if new == 1 else 'fail'}")
    return parts


def _failed(report: Report) -> list[Tally]:
    return [tally for tally in tallies(report) if tally.failed]


def _new_errors(report: Report, comparison: Comparison | None) -> int:
    if comparison is not None and comparison.judged:
        return sum(finding.severity == "error" for finding in comparison.new_findings)
    return report.validation.counts.error if report.validation else 0


def _join(parts: Iterable[str]) -> str:
    return " and ".join(parts)


# --- what passed, what does not count, what is open ------------------------------------------------------------------


def _passed(report: Report, compared: Comparison | None) -> str:
    """What was tested; not how much passed where something failed, which the next clause says."""
    found = tallies(report)
    if none_ran := [tally for tally in found if tally.none_ran]:
        others = [tally for tally in found if tally.ran and not tally.failed]
        passed = [f"{_join(tally.counted(tally.ran) for tally in others)} passed"] if others else []
        return ", ".join([*(tally.not_run_in_words for tally in none_ran), *passed])
    if any(tally.failed for tally in found):
        nothing_new = compared is not None and not _newly_failing(report, compared)
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
    if not passed_line and report.validation and report.settings.evaluations == ("validate",):
        return f"{count(len(report.validation.findings), 'finding')} in the data, nothing else was asked for"
    return passed_line or "nothing was tested"


def _right_intents(report: Report) -> str:
    nlu = report.nlu
    if nlu is None or not nlu.examples or not (nlu.intents or nlu.predictions):
        return ""
    listed = sum(example.correct for example in nlu.predictions)
    right = round(nlu.intents.accuracy * nlu.examples) if nlu.intents and nlu.unlisted else listed
    return f"the right intent for {right:,} of {count(nlu.examples, 'sentence')}"


def _uncounted(
    report: Report, compared: Comparison | None, gates: Sequence[GateResult], settings: GateSettings
) -> list[str]:
    """Failures that fail no gate, and why they do not."""
    judged_by = {gate.name for gate in gates}
    fails = {gate.name for gate in gates if gate.fails}
    why = f"fail-on: {', '.join(settings.fail_on)}"
    parts = []
    failed = _failed(report)
    if failed and not fails & _TEST_GATES:
        kinds = _join(tally.counted(len(tally.failed)) for tally in failed)
        number = sum(len(tally.failed) for tally in failed)
        if "new-failures" in judged_by and compared is not None:
            parts.append(f"{kinds} {'fails' if number == 1 else 'fail'} on the base too")
        else:
            parts.append(f"{_join(map(_of, failed))} failed and {'does' if number == 1 else 'do'} not count ({why})")
    errors = report.validation.counts.error if report.validation else 0
    if errors and "errors" not in judged_by and "new-failures" not in fails:
        does = "does" if errors == 1 else "do"
        old = "new-failures" in judged_by and compared is not None
        counted = "on the base too" if old else f"that {does} not count{'' if parts else f' ({why})'}"
        parts.append(f"{count(errors, 'error')} in the data {counted}")
    if compared is not None and (gone := _gone_unjudged(report, compared, gates)):
        parts.append(f"{gone} and not counted ({why})")
    return [", ".join(parts)]


def _gone_unjudged(report: Report, compared: Comparison, gates: Sequence[GateResult]) -> str:
    """What is gone where no gate asks for it."""
    return "" if any(gate.name == GONE_TESTS for gate in gates) else _gone(report, compared)


def _misunderstood(report: Report, compared: Comparison | None) -> str:
    """Tests that only a sentence keeps from passing, where they do not count as failed."""
    new = {name: number_of(cases) for name, cases in newly_misunderstood(report, compared)}
    parts = (
        _misunderstood_of(tally, new.get(tally.evaluation, 0) if compared else None)
        for tally in tallies(report)
        if tally.misunderstood
    )
    return _join(parts)


def _misunderstood_of(tally: Tally, newly: int | None) -> str:
    """Those of one kind, and how many are newly so, where that is known."""
    number = len(tally.misunderstood)
    if newly == 0:
        return f"{tally.misunderstood_in_words} {ON_BASE_TOO}"
    new = number if newly is None else newly
    known = f" ({number - new:,} more {ON_BASE_TOO})" if number > new else ""
    return f"{tally.counted(new)} {'' if newly is None else 'newly '}misunderstood{known}"


def _left_open(report: Report, comparison: Comparison | None, gates: Sequence[GateResult], text: str) -> str:
    """Tests that were not run, gates that could not be judged; those that fail the run are in ``text`` already."""
    open_ends = [
        tally.not_run_in_words
        for tally in tallies(report)
        if tally.reason and not any(said in text for said in _SAYS_NOT_RUN)
    ]
    named = "could not be run completely" in text
    parts = {one.evaluation for one in report.skipped if one.part and not (one.fault and named)}
    open_ends += [f"a test file of {evaluation} cannot be read" for evaluation in sorted(parts)]
    if waiting := _not_judged(report, gates):
        names = {gate.name.partition(":")[0] for gate in waiting}
        what = names.pop() if len(names) == 1 else count(len(waiting), "gate")
        why = _short_reason(waiting[0], comparison)
        open_ends.append(f"{what} not judged" if why in text else f"{what} not judged ({why})")
    return ", ".join(open_ends)


def _not_judged(report: Report, gates: Sequence[GateResult]) -> list[GateResult]:
    """Gates that were not judged and fail nothing.

    Those about tests were not for want of tests, which is said elsewhere; those about the data of a report that was
    imported have none to judge.
    """
    without_data = any(one.evaluation == "validate" and one.no_tests for one in report.skipped)
    said_elsewhere = _TEST_GATES | ({GONE_TESTS} if report.stopped is not None else frozenset())
    left_out = said_elsewhere | ({"errors", "fail-on-warnings"} if without_data else frozenset())
    open_gates = (gate for gate in gates if gate.outcome == "not judged" and not gate.fails)
    return [gate for gate in open_gates if gate.name not in left_out]


def _short_reason(gate: GateResult, comparison: Comparison | None) -> str:
    if gate.needs_base or gate.name == GONE_TESTS:
        if comparison is None or comparison.judged:
            return _cut(gate.reason)
        return _NO_BASE.get(comparison.baseline.status, _cut(f"no baseline: {comparison.baseline.reason}"))
    return _cut(gate.reason)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"


def _trained_on(report: Report, compared: Comparison | None) -> str:
    """Judged sentences that were trained on; of a change those alone that it brought."""
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


# --- what changed ----------------------------------------------------------------------------------------------------


def _changed(report: Report, compared: Comparison, failing: Sequence[GateResult]) -> list[str]:
    """The most telling difference where nothing broke: a real change of the intents, sentences that changed sides."""
    parts = []
    f1 = compared.metric("nlu.intents.f1")
    about = {gate.metric for gate in failing}
    if f1 and f1.delta is not None and f1.judgement in {"better", "worse"} and f1.name not in about:
        parts.append(f"the intents are really {f1.judgement}")
    if worse := len(compared.examples.newly_failing):
        parts.append(f"{count(worse, 'sentence')} newly misclassified")
    elif better := len(compared.examples.better):
        parts.append(f"{count(better, 'sentence')} newly right")
    if not failing and (repaired := sum(number_of(cases.better) for _, cases in tests_of(compared))):
        parts.append(f"{count(repaired, 'test')} newly right")
    if edited := sum(_edited(cases) for _, cases in tests_of(compared)):
        copies = sum(bool(case.copy_of) for _, cases in tests_of(compared) for case in cases.edited)
        alike = f" ({copies:,} {'says' if copies == 1 else 'say'} the same as another one now)" if copies else ""
        parts.append(f"{count(edited, 'test')} edited{alike}")
    if parts:
        return [", ".join(parts[:3])]
    misunderstood = compared.misunderstood or compared.misunderstood_in_cases
    if failing or compared.new_findings or misunderstood or _failed(report):
        return []
    return ["no case changed sides against the base" if compared.changed else "nothing changed against the base"]


def _edited(cases: ChangedCases) -> int:
    """How many tests say something else than before."""
    return number_of(case for case in cases.edited if "edited" in case.edits)
