"""The verdict in one line: a few short clauses, the most important first, and no number twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.because import newly_failing_tests, tests_because_of
from turncheck.comparison.changes import SINGULAR, number_of
from turncheck.comparison.clauses import (
    NO_BASE,
    TEST_GATES,
    cut,
    failed_of,
    failed_tallies,
    gone_in_words,
    joined,
    newly_failing,
    short_reason,
)
from turncheck.comparison.compare import is_less_understood
from turncheck.comparison.faults import cause_first, faults_of
from turncheck.comparison.gates_on_tests import (
    GONE_TESTS,
    NEW_ERRORS,
    NEW_SUPPRESSIONS,
    STAND_IN,
    failing_of,
    judged_without_tests,
    newly_misunderstood,
    old_in_words,
    suppressed_in_words,
    tests_of,
)
from turncheck.comparison.tally import tallies
from turncheck.comparison.training_changes import (
    broken_intents_in_words,
    dropped_intents,
    is_likely_misheard,
    is_likely_noise,
    removed_in_words,
    sentences_of,
    taken_away_in_words,
)
from turncheck.comparison.unseen_changes import unseen_in_words
from turncheck.comparison.wording import count
from turncheck.messages.location import Location
from turncheck.messages.phrasing import first_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import ChangedCases
    from turncheck.comparison.model import Comparison
    from turncheck.comparison.tally import Tally
    from turncheck.comparison.verdict import FailedBy, GateResult, Reservation
    from turncheck.report.model import GateSettings, Report


# The clauses of a verdict's summary about what passed, what does not count, what is open and what changed.

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
    if tolerated := [tally.tolerated_in_words for tally in tallies(report) if tally.tolerated]:
        passed_line += f", {joined(tolerated)}"
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
        why = STAND_IN if report.tolerates_batch_failures else why
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
    found = [tally for tally in tallies(report) if tally.misunderstood]
    if compared is None:
        return joined(f"{tally.counted(len(tally.misunderstood))} misunderstood" for tally in found)
    return joined(_newly_misunderstood(tally, new.get(tally.evaluation, 0), compared) for tally in found)


def _newly_misunderstood(tally: Tally, new: int, compared: Comparison) -> str:
    """The misunderstood tests of one kind: how many are new, whether that may be noise, and how many are old."""
    old = len(tally.misunderstood) - new
    if not new:
        return f"{tally.misunderstood_in_words} {ON_BASE_TOO}"
    noise = ["within noise"] if is_likely_misheard(compared, tally.evaluation) else []
    details = ", ".join([*noise, *([f"{old:,} more {ON_BASE_TOO}"] if old > 0 else [])])
    return f"{tally.counted(new)} newly misunderstood{f' ({details})' if details else ''}"


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


# The clauses of a verdict's summary that say why it fails.

_ABOUT_ERRORS: Final = frozenset({"errors", NEW_ERRORS})


def failing_clauses(failing: Sequence[GateResult], report: Report, comparison: Comparison | None) -> list[str]:
    """A clause for each failing gate that adds something."""
    clauses: dict[str, None] = {}
    metrics = set()
    tests_named = False
    for gate in failing:
        if gate.follows:
            continue
        if gate.name in TEST_GATES and gate.outcome == "failed":
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


def and_more(clauses: list[str], most: int) -> list[str]:
    more = len(clauses) - most
    if more <= 0:
        return clauses
    return [*clauses[: most - 1], f"{clauses[most - 1]}, and {count(more, 'more gate')} failed"]


def _clause(gate: GateResult, report: Report, comparison: Comparison | None) -> str:
    """A failing gate, without the details that belong in its own line."""
    if gate.outcome == "not judged":
        return f"{gate.name.partition(':')[0]} not judged ({short_reason(gate, comparison)})"
    if gate.name == "completed":
        return cut(f"stopped before the end: {first_line(gate.reason)}")
    if gate.name == "could-be-run":
        return cause_first(faults_of(report))
    if gate.name in _ABOUT_ERRORS and len(gate.failed_by) == 1 and gate.failed_by[0].message:
        return _single_error(gate.failed_by[0], gate.name, report, comparison)
    if gate.name == GONE_TESTS and comparison is not None:
        return gone_in_words(report, comparison) or gate.reason
    if gate.name.startswith("require"):
        return cut(_figure(gate, " ("))
    if gate.name.startswith("max-regression"):
        return cut(_figure(gate, ", more than", " on the examples"))
    return cut(gate.reason)


def _figure(gate: GateResult, *details: str) -> str:
    """The reason up to its details. The metric's name, which may have a label of the project, is never cut."""
    name = gate.metric if gate.metric and gate.reason.startswith(gate.metric) else ""
    rest = gate.reason[len(name) :]
    for detail in details:
        rest = rest.partition(detail)[0]
    return name + rest


def _single_error(error: FailedBy, gate: str, report: Report, comparison: Comparison | None) -> str:
    """The message of the only error, if it is short, its place, and whether it is old."""
    words = error.message.rstrip(".")
    findings = report.validation.findings if report.validation else ()
    errors = [one for one in findings if one.severity == "error"]
    old = old_in_words(errors, comparison, "error") if gate == "errors" else ""
    words = cut(words)
    return f"{words} ({error.location}){old}" if error.location is not None else f"{words}{old}"


def _failed_tests(
    gate: GateResult, report: Report, comparison: Comparison | None, failing: Sequence[GateResult]
) -> str:
    """What failed, separated from what fails on the base too."""
    failed = failed_tallies(report)
    errors = 0 if any(one.name in _ABOUT_ERRORS for one in failing) else _new_errors(report, comparison)
    in_data = f"{count(errors, 'error')} in the data" if errors and gate.name == "new-failures" else ""
    if comparison is None or not comparison.judged:
        why = NO_BASE.get(comparison.baseline.status if comparison else "", "no baseline")
        all_new = f" ({why}, so all count as new)" if gate.name == "new-failures" else ""
        parts = [f"{joined(failed_of(tally) for tally in failed)} failed"] if failed else []
        return f"{', '.join([*parts, *([in_data] if in_data else [])])}{all_new}"
    new = newly_failing(report, comparison)
    old = sum(len(tally.failed) for tally in failed)
    old -= sum(number_of(failing_of(report, cases)) for _, cases in tests_of(comparison))
    data = [f"{in_data} that the base does not have"] if in_data else []
    if not new and not data:
        if not failed:  # the gate failed because of errors in the data, which another clause names
            return ""
        return f"{joined(failed_of(tally) for tally in failed)} failed (on the base too)"
    also = f" ({old:,} {'fails' if old == 1 else 'fail'} on the base too)" if old > 0 else ""
    first = "because of it " if new and not data and _all_because_of_one(failing, comparison) else ""
    return f"{first}{joined([*new, *data])}{also}{_because_of_a_rule(comparison) if new else ''}"


def _because_of_a_rule(comparison: Comparison) -> str:
    """``: rule 'a' was removed (data/rules.yml:3:3)``: what has to do with most of the newly failing tests."""
    tests = [case for _, case in newly_failing_tests(comparison)]
    explained = {part: number_of(case for case in tests if part in case.rules) for one in tests for part in one.rules}
    if not explained:
        return ""
    first = max(explained, key=lambda part: explained[part])
    alike = sum(number == explained[first] for number in explained.values()) - 1
    some = f", for {explained[first]:,} of them" if explained[first] < number_of(tests) else ""
    more = f" and {alike:,} more" if alike and not some else ""
    return f": {SINGULAR[first.kind]} '{first.name}' was {first.change} ({first.location}){more}{some}"


def _all_because_of_one(failing: Sequence[GateResult], comparison: Comparison) -> bool:
    """Whether the single error in the data, which the line names first, explains all newly failing tests."""
    if failing[0].name not in _ABOUT_ERRORS or len(failing[0].failed_by) != 1 or comparison.base_lacks:
        return False
    explained = tests_because_of(comparison).get(failing[0].failed_by[0].location or Location(""), [])
    return len(explained) == len(newly_failing_tests(comparison))


def _new_errors(report: Report, comparison: Comparison | None) -> int:
    if comparison is not None and comparison.judged:
        return sum(finding.severity == "error" for finding in comparison.new_findings)
    return report.validation.counts.error if report.validation else 0


_MANY_ANNOTATIONS: Final = 3
"""One or two annotations that are gone are usually a correction."""
_MOST: Final = 3
"""The largest number of clauses in the line."""
_ORDER: Final = (
    *(
        "completed",
        "could-be-run",
        "errors",
        NEW_ERRORS,
        NEW_SUPPRESSIONS,
        "new-failures",
        "test-failures",
        GONE_TESTS,
        "something-was-tested",
    ),
    "require",
)
"""The order in which failing gates are named: causes before symptoms, gates about figures last."""


def summarize(
    report: Report, comparison: Comparison | None, gates: Sequence[GateResult], settings: GateSettings
) -> str:
    """Say what happened: first what broke, or what passed; then what failed and does not count; then what is open."""
    compared = comparison if comparison and comparison.judged else None
    failing = sorted((gate for gate in gates if gate.fails), key=_rank)
    about = {gate.metric for gate in failing}
    intents = broken_intents_in_words(compared, about) if compared else ""
    misunderstood = misunderstood_in_words(report, compared)
    words = and_more(failing_clauses(failing, report, comparison), _MOST - bool(intents))
    causes, symptoms = (words[:0], words) if failing and failing[0].name in TEST_GATES else (words[:1], words[1:])
    broken = [clause for clause in (*causes, intents, *symptoms, misunderstood) if clause]
    away = taken_away_in_words(compared) if compared else []
    if words or intents or _misunderstood(report, comparison):
        clauses = [[*causes, *away[:1], *broken[len(causes) :], *away[1:]]]
    else:
        removed = removed_in_words(compared) if compared else ""
        first, *others = [*away, removed]
        clauses = [[first, passed_in_words(report, compared), *broken, *others]]
    clauses.append(uncounted_clauses(report, compared, gates, settings))
    clauses.append([unseen_in_words(compared, report.engine.name)] if compared and report.engine else [])
    clauses.append([accepted_in_words(report, compared, gates)])
    clauses.append([left_open(report, comparison, gates, " ".join(clauses[0]))])
    clauses.append([trained_on(report, compared)])
    clauses.append(changes(report, compared, failing) if compared and not broken and not away else [])
    return "; ".join([clause for part in clauses for clause in part if clause][:_MOST])


def reservation(report: Report, comparison: Comparison | None, gates: Sequence[GateResult]) -> Reservation:
    """Return the reason why "passed" alone would be misleading, if there is one."""
    found = tallies(report)
    fails = any(tally.failed for tally in found)
    new = next((gate for gate in gates if gate.name == "new-failures"), None)
    old = new is not None and new.outcome == "passed" and comparison is not None and comparison.judged
    if fails and not old:
        return "although tests fail"
    if taken := _reservation_by_comparison(report, comparison, gates):
        return taken
    if misunderstood := _misunderstood(report, comparison):
        return misunderstood
    if comparison is not None and comparison.unseen_changes:
        return "a change cannot be judged" if len(comparison.unseen_changes) == 1 else "changes cannot be judged"
    if any(tally.none_ran for tally in found):
        return "not all tests were run"
    if not_judged(report, gates):
        return "not all gates were judged"
    return "old failures only" if fails else ""


def _reservation_by_comparison(
    report: Report, comparison: Comparison | None, gates: Sequence[GateResult]
) -> Reservation:
    if comparison is None or not comparison.judged:
        return ""
    if newly_failing(report, comparison):
        return "although tests fail"
    if any(one.unjudged for one in comparison.cut_intents):
        return "less is judged"
    if comparison.cut_intents:
        return "most of an intent is gone"
    if sum(one.annotations for one in comparison.stripped) >= _MANY_ANNOTATIONS:
        return "annotations are gone"
    if gone_unjudged(report, comparison, gates):
        return "although tests are gone"
    if suppressed := _suppressed(comparison):
        return suppressed
    if comparison.collisions:
        return "intents collide"
    if is_less_understood(comparison):
        return "less is understood"
    return "an intent is worse" if dropped_intents(comparison) else ""


def _misunderstood(report: Report, comparison: Comparison | None) -> Reservation:
    """Say that tests passed although a message was misunderstood: where there is a base, newly."""
    newly = newly_misunderstood(report, comparison)
    judged = comparison is not None and comparison.judged
    if comparison is not None and judged:
        newly = [(name, cases) for name, cases in newly if not is_likely_misheard(comparison, name)]
    numbers = {
        tally.evaluation: sum(number_of(cases) for name, cases in newly if name == tally.evaluation)
        if judged
        else len(tally.misunderstood)
        for tally in tallies(report)
    }
    if stories := numbers.get("core", 0):
        return "a story is misunderstood" if stories == 1 else "stories are misunderstood"
    if cases := numbers.get("e2e", 0):
        return "an end-to-end case is misunderstood" if cases == 1 else "end-to-end cases are misunderstood"
    return ""


def _suppressed(comparison: Comparison | None) -> Reservation:
    """Say that the change suppresses something that would have failed the run."""
    if comparison is None or not comparison.judged or not comparison.new_suppressions:
        return ""
    errors = sum(one.severity == "error" for one in comparison.new_suppressions)
    if errors:
        return "an error is newly suppressed" if errors == 1 else "errors are newly suppressed"
    single = len(comparison.new_suppressions) == 1
    return "a warning is newly suppressed" if single else "warnings are newly suppressed"


def _rank(gate: GateResult) -> int:
    name = gate.name.partition(":")[0]
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
