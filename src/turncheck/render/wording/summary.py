"""The verdict in one line: a few short clauses, the most important first, and no number twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UnsetType

from turncheck.comparison import failed_tests
from turncheck.comparison.changes import CaseChange, ChangedCases, number_of
from turncheck.comparison.consistent_tests import consistency_of
from turncheck.comparison.fallbacks import is_less_understood
from turncheck.comparison.tally import Tally, faults_of, tallies
from turncheck.comparison.training_changes import dropped_intents, is_likely_misparsed, noise_of, sentences_of
from turncheck.evaluations.kind import OF_ONE, REPEATED, repeats_of
from turncheck.evaluations.kinds import TESTS, WITHOUT_TESTS
from turncheck.messages.phrasing import count
from turncheck.render.wording import tests as wording
from turncheck.render.wording.causes import because_in_words, is_proved, only_proved
from turncheck.render.wording.changes import (
    all_stories_gone,
    broken_entities_in_words,
    broken_intents_in_words,
    deleted_in_words,
    is_unread,
    read_as_something_else,
    removed_in_words,
    suppressed_in_words,
    taken_away_in_words,
    unreadable_in_words,
    unseen_in_words,
)
from turncheck.render.wording.failing_clauses import (
    Clause,
    and_more,
    failing_clauses,
    quoted_error,
    short_reason,
)
from turncheck.render.wording.newly_judged import mostly_wrong, mostly_wrong_in_words
from turncheck.render.wording.reasons.consistency import consistent_in_words
from turncheck.render.wording.reasons.tests import STAND_IN
from turncheck.render.wording.repeats import repeats_in_words, short_base_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.gates.judged import JudgedGate
    from turncheck.render.wording.verdict import Reservation
    from turncheck.report.model import GateSettings, Report


# The clauses of a verdict's summary about what passed, what does not count, what is open and what changed.

ON_BASE_TOO: Final = "on the base too"


def accepted_in_words(report: Report, compared: Comparison | None, gates: Sequence[JudgedGate]) -> str:
    """Tests that are gone and were allowed to go."""
    passed = any(gate.gate.subject == "gone tests" and gate.outcome == "passed" for gate in gates)
    gone = wording.gone_in_words(report, compared) if compared is not None and passed else ""
    return f"{gone} (accepted)" if gone else ""


def _passed(report: Report, compared: Comparison | None) -> Clause:
    """What was tested; if something failed, without how much passed, which the next clause says."""
    found = tallies(report)
    if consistency_of(report) is not None and failed_tests.is_nothing_run(report):
        return Clause(_tested(report, compared))
    if none_ran := [tally for tally in found if tally.none_ran]:
        others = [tally for tally in found if tally.ran and not tally.failed]
        passed = [f"{wording.joined(map(wording.passed_in_words, others))} passed"] if others else []
        held = [wording.quarantined_in_words(tally) for tally in others if tally.quarantined]
        words = ", ".join([*map(wording.not_run_in_words, none_ran), *passed, *held])
        return Clause(words, frozenset({"not run"}))
    if any(tally.failed for tally in found):
        unknown = compared is not None and failed_tests.unknown_tests(report, compared)
        nothing_new = compared is not None and not unknown and not wording.newly_failing(report, compared)
        return Clause("nothing fails that passed on the base" if nothing_new else _right_intents(report))
    return Clause(_tested(report, compared))


def results_in_words(report: Report) -> str:
    """Say how the tests fared, beside no base; empty if none was run."""
    none = not any(tally.ran for tally in tallies(report)) and not _right_intents(report)
    return "" if none else _tested(report, None)


def _tested(report: Report, compared: Comparison | None) -> str:
    tested = []
    if report.core and report.core.stories:
        outcomes = [story.outcome for story in report.core.stories]
        tested.append(f"{outcomes.count('passed')} of {count(len(outcomes), 'story', 'stories')}")
    if report.e2e and (ran := sum(case.outcome != "skipped" for case in report.e2e.cases)):
        tested.append(f"{report.e2e.passed} of {count(ran, 'end-to-end case')}")
    if cases := [case for suite in (report.batch.suites if report.batch else ()) for case in suite.cases]:
        tested.append(f"{sum(case.passed for case in cases)} of {count(len(cases), 'batch case')}")
    passed_line = f"{' and '.join(tested)} passed" if tested else ""
    said_below = compared is not None and wording.newly_failing(report, compared)
    tolerated = [wording.tolerated_in_words(tally) for tally in tallies(report) if tally.tolerated]
    if tolerated and not said_below:
        passed_line += f", {wording.joined(tolerated)}"
    held = [wording.quarantined_in_words(tally) for tally in tallies(report) if tally.quarantined]
    if held and passed_line:
        passed_line += f", {wording.joined(held)}"
    if intents := _right_intents(report):
        return f"{passed_line}, {intents}" if passed_line else intents
    if not passed_line and (judged := failed_tests.judged_without_tests(report)):
        findings = [f"{count(len(report.validation.findings), 'finding')} in the data"] if report.validation else []
        others = [f"{WITHOUT_TESTS[one]} measured" for one in judged if one != "validate"]
        return f"{', '.join([*findings, *others])}, nothing else was asked for"
    if not passed_line and consistency_of(report) is not None:
        return consistent_in_words(report)
    return passed_line or "nothing was tested"


def _right_intents(report: Report) -> str:
    nlu = report.nlu
    if nlu is None or not nlu.examples or not (nlu.intents or nlu.predictions):
        return ""
    listed = sum(example.correct and not example.unclear for example in nlu.predictions)
    judged = nlu.examples - sum(example.unclear for example in nlu.predictions)
    right = round(nlu.intents.accuracy * judged) if nlu.intents and nlu.unlisted else listed
    return f"the right intent for {right:,} of {count(judged, 'sentence')}" if judged else ""


def uncounted_clauses(
    report: Report, compared: Comparison | None, gates: Sequence[JudgedGate], settings: GateSettings
) -> list[str]:
    """Failures that do not fail any gate, and why not."""
    tests = [gate for gate in gates if gate.gate.subject == "tests"]
    tests_fail = any(gate.fails for gate in tests)
    why = f"fail-on: {', '.join(settings.fail_on) or 'none'}"
    parts = []
    if wording.failed_tallies(report) and not tests_fail:
        failed = [tally for tally in tallies(report) if tally.failed or tally.tolerated]
        kinds = wording.joined(wording.counted(tally, len(tally.failed) + len(tally.tolerated)) for tally in failed)
        number = sum(len(tally.failed) + len(tally.tolerated) for tally in failed)
        if compared is not None and (unknown := failed_tests.unknown_tests(report, compared)):
            old = number - sum(1 + test.copies for test in unknown)
            more = f", {old:,} of them on the base too" if old > 0 else ""
            more = " on the repaired base too" if failed_tests.only_failing_if_repaired(compared) else more
            parts.append(f"{kinds} {'fails' if number == 1 else 'fail'}{more}")
        elif any(gate.gate.new for gate in tests) and compared is not None:
            parts.append(f"{kinds} {'fails' if number == 1 else 'fail'} on the base too")
        else:
            parts.append(
                f"{wording.joined(map(wording.all_failed_of, failed))} failed and "
                f"{'does' if number == 1 else 'do'} not count ({why})"
            )
    elif compared is not None and not tests_fail and (newly := wording.newly_failing(report, compared)):
        why = STAND_IN if report.tolerates_batch_failures else why
        parts.append(f"{wording.joined(newly)}, which does not count ({why})")
    errors = _errors_besides_faults(report)
    about_errors = [gate for gate in gates if "errors" in gate.gate.about]
    if errors and not any(gate.fails or not gate.gate.new for gate in about_errors):
        does = "does" if errors == 1 else "do"
        old = bool(about_errors) and compared is not None
        hidden = compared.unknown_findings if compared is not None else ()
        may_be_old = any(finding.severity == "error" for finding in hidden)
        also = (
            "that the base may have"
            if may_be_old and old
            else "on the base too"
            if old
            else f"that {does} not count{'' if parts else f' ({why})'}"
        )
        parts.append(f"{count(errors, 'error')} in the data {also}")
    if (
        compared is not None
        and compared.new_suppressions
        and not any(gate.fails and gate.gate.subject == "suppressions" for gate in gates)
    ):
        parts.append(suppressed_in_words(compared.new_suppressions))
    if compared is not None and (gone := gone_unjudged(report, compared, gates)):
        parts.append(f"{gone} and not counted ({why})")
    return [", ".join(parts)]


def _errors_besides_faults(report: Report) -> int:
    """How many errors are in the data, without those that keep tests from running: these are named first."""
    places = {fault.location for fault in faults_of(report)}
    findings = report.validation.findings if report.validation else ()
    named = sum(finding.severity == "error" and finding.location in places for finding in findings)
    return report.validation.counts.error - named if report.validation else 0


def gone_unjudged(report: Report, compared: Comparison, gates: Sequence[JudgedGate]) -> str:
    """Tests that are gone, if no gate is about that."""
    return "" if any(gate.gate.subject == "gone tests" for gate in gates) else wording.gone_in_words(report, compared)


def _all_misunderstood(report: Report, compared: Comparison | None) -> str:
    """Tests that only a sentence keeps from passing, if they do not count as failed."""
    new = dict(failed_tests.newly_misunderstood(report, compared))
    found = [tally for tally in tallies(report) if tally.misunderstood]
    if compared is None:
        return wording.joined(wording.misunderstood_in_words(tally) for tally in found)
    words = wording.joined(_newly_misunderstood(tally, new.get(tally.evaluation, ()), compared) for tally in found)
    cases = [case for cases in new.values() for case in cases]
    noise = any(is_likely_misparsed(compared, name) for name in new)
    return f"{words}{because_in_words(cases)}" if not noise and any(map(is_proved, cases)) else words


def _newly_misunderstood(tally: Tally, cases: Sequence[CaseChange], compared: Comparison) -> str:
    """The misunderstood tests of one kind: how many are new, whether that may be noise, and how many are old."""
    new, added = number_of(cases), number_of([case for case in cases if case.base_location is None])
    better = number_of(_only_misunderstood_now(dict(failed_tests.tests_of(compared))[tally.evaluation]))
    old = len(tally.misunderstood) - new - better
    if not new:
        parts = [f"{wording.counted(tally, old)} misunderstood {ON_BASE_TOO}"] if old > 0 else []
        are = "is" if better == 1 else "are"
        failed = f"{wording.counted(tally, better)}, which failed on the base, {are} only misunderstood now"
        return ", ".join([*([failed] if better else []), *parts])
    noise = ["within noise"] if is_likely_misparsed(compared, tally.evaluation) else []
    some = [f"{added:,} of them new"] if 0 < added < new else []
    details = ", ".join([*some, *noise, *([f"{old:,} more {ON_BASE_TOO}"] if old > 0 else [])])
    one, many = TESTS[tally.evaluation]
    tests = count(new, f"new {one}", f"new {many}") if added == new else f"{count(new, one, many)} newly"
    return f"{tests} misunderstood{f' ({details})' if details else ''}"


def _only_misunderstood_now(cases: ChangedCases) -> Iterable[CaseChange]:
    """The tests that failed on the base and that only a sentence keeps from passing now."""
    return (case for case in (*cases.better, *cases.edited) if case.misunderstood and case.base_failed)


def left_open(
    report: Report, comparison: Comparison | None, gates: Sequence[JudgedGate], said: Iterable[Clause]
) -> str:
    """Tests that were not run and gates that could not be judged; those that fail the run are ``said`` already."""
    says = frozenset(topic for clause in said for topic in clause.says)
    open_ends = [wording.not_run_in_words(tally) for tally in tallies(report) if tally.reason and "not run" not in says]
    parts = {
        skipped.evaluation for skipped in report.skipped if skipped.part and not (skipped.fault and "partly" in says)
    }
    open_ends += [f"a test file of {evaluation} cannot be read" for evaluation in sorted(parts)]
    waiting = not_judged(report, gates)
    if "faults" in says:
        waiting = [gate for gate in waiting if gate.why != "base faults"]
    if waiting:
        names = {gate.gate.name for gate in waiting}
        what = names.pop() if len(names) == 1 else count(len(waiting), "gate")
        why = short_reason(waiting[0], report, comparison)
        open_ends.append(f"{what} not judged" if why in says else f"{what} not judged ({why})")
    return ", ".join(open_ends)


def not_judged(report: Report, gates: Sequence[JudgedGate]) -> list[JudgedGate]:
    """Gates that were not judged and do not fail the run.

    Gates about tests that were not judged because there are no tests are left out, since that is said elsewhere; so
    are gates about the data of an imported report, which has none to judge.
    """
    without_data = any(skipped.evaluation == "validate" and skipped.no_tests for skipped in report.skipped)
    said_elsewhere = {"tests"} | ({"gone tests", "anything tested"} if report.stopped is not None else set())

    def is_left_out(gate: JudgedGate) -> bool:
        if gate.gate.subject in {"errors", "warnings"}:
            return without_data
        return gate.gate.subject in said_elsewhere and gate.why != "hidden on base"

    open_gates = (gate for gate in gates if gate.outcome == "not judged" and not gate.fails)
    return [gate for gate in open_gates if not is_left_out(gate)]


def trained_on(report: Report, compared: Comparison | None) -> str:
    """Test sentences that were also trained on; for a change, only those that it added.

    Cross-validation has no test sentences: copies among its training sentences belong to how it measures.
    """
    nlu = report.nlu
    before = compared.base_overlap.on_training_sentences if compared and compared.base_overlap else 0
    if nlu is None or nlu.mode == "cross-validation" or nlu.on_training_sentences <= before:
        return ""
    copies = nlu.on_training_sentences
    more = f", {copies - before:,} more than on the base" if before else ""
    verb = "appears" if copies == 1 else "appear"
    return f"{copies:,} of {count(nlu.examples, 'test sentence')} also {verb} in the training data{more}"


def changes(report: Report, compared: Comparison, failing: Sequence[JudgedGate]) -> list[str]:
    """The most informative difference if nothing broke: a real change of the intents, sentences that changed sides."""
    parts = []
    f1 = compared.metric("nlu.intents.f1")
    about = {gate.metric for gate in failing}
    if f1 and f1.delta is not None and f1.judgement in {"better", "worse"} and f1.name not in about:
        parts.append(f"the intents are really {f1.judgement}")
    parts += _sentences_that_changed_sides(compared)
    better = [case for _, cases in failed_tests.tests_of(compared) for case in cases.better]
    repaired = [case for case in better if case.passed]
    if not failing and repaired:
        parts.append(
            f"{count(number_of(repaired), 'test')} newly right{because_in_words([*map(only_proved, repaired)])}"
        )
    if edited := edited_tests(compared):
        copies = sum(bool(case.copy_of) for _, cases in failed_tests.tests_of(compared) for case in cases.edited)
        alike = f" ({copies:,} {'says' if copies == 1 else 'say'} the same as another one now)" if copies else ""
        parts.append(f"{count(edited, 'test')} edited{alike}")
    if parts:
        return [", ".join(parts[:3])]
    misunderstood = compared.misunderstood or compared.misunderstood_in_cases
    if failing or compared.new_findings or misunderstood or wording.failed_tallies(report):
        return []
    taken = compared.cut_intents or compared.stripped or compared.relabelled or wording.newly_failing(report, compared)
    if taken or better or any(cases.newly_failing or cases.better for _, cases in sentences_of(compared)):
        return []
    if worse := sum(metric.judgement == "worse" and not metric.by_cases for metric in compared.metrics):
        return [f"{count(worse, 'figure')} worse than on the base"]
    repeated = [runs for name in REPEATED for runs in repeats_of(report, name)]
    if errors := sum(runs.errors for runs in repeated):
        return [f"{count(errors, 'run')} ended in an error, not compared with the base"]
    is_untold = any(runs.is_untold for runs in repeated)
    if _unread_data(report) or is_untold or failed_tests.unclear_tests(report):  # nobody knows
        return []
    return ["no case changed sides against the base" if compared.changed else "nothing changed against the base"]


def _sentences_that_changed_sides(compared: Comparison) -> list[str]:
    """``3 sentences newly misclassified (within noise), entities of 2 newly wrong``; else what is right now."""
    words = {
        "intents": "{} {}misclassified",
        "entities": "entities of {} {}wrong",
        "responses": "responses to {} {}wrong",
    }
    parts = []
    for judged, cases in sentences_of(compared):
        number, new = len(cases.newly_failing), sum(case.base_location is None for case in cases.added_failing)
        if number and number == new:
            parts.append(words[judged].format(count(number, "new sentence"), ""))
        elif number:
            which = _some_of(number, len(noise_of(compared, judged)), new)
            parts.append(f"{words[judged].format(count(number, 'sentence'), 'newly ')}{which}")
    if not compared.examples.newly_failing and (better := len(compared.examples.better)):
        parts.insert(0, f"{count(better, 'sentence')} newly right")
    elif not parts and (better := sum(len(cases.better) for _, cases in sentences_of(compared))):
        parts.append(f"entities or responses of {count(better, 'sentence')} newly right")
    return parts


def _some_of(number: int, noisy: int, new: int) -> str:
    """`` (3 of them new, 2 within noise)``; `` (within noise)`` if all are."""
    said = [f"{some:,} of them {words}" for some, words in ((new, "new"), (noisy, "within noise")) if some]
    if noisy == number:
        return " (within noise)"
    return f" ({', '.join([*said[:1], *(part.replace(' of them', '') for part in said[1:])])})" if said else ""


def edited_tests(comparison: Comparison) -> int:
    """How many tests a change edits, whether they were run or only checked against the files."""
    checked = () if isinstance(comparison.consistency, UnsetType) else comparison.consistency.edited
    return sum(_edited(cases) for _, cases in failed_tests.tests_of(comparison)) + len(checked)


def _edited(cases: ChangedCases) -> int:
    """How many tests have different content than before."""
    return number_of([case for case in cases.edited if "edited" in case.edits])


_MANY_ANNOTATIONS: Final = 3
"""One or two annotations that are gone are usually a correction."""
_MOST: Final = 3
"""The largest number of clauses in the line."""


def summarize(
    report: Report, comparison: Comparison | None, gates: Sequence[JudgedGate], settings: GateSettings
) -> str:
    """Say what happened: first what broke, or what passed; then what failed and does not count; then what is open."""
    compared = comparison if comparison and comparison.judged else None
    failing = sorted((gate for gate in gates if gate.fails), key=lambda gate: gate.gate.rank)
    about = {gate.metric for gate in failing}
    intents = broken_intents_in_words(compared, about) if compared else ""
    entities = broken_entities_in_words(compared, about) if compared else ""
    new = mostly_wrong_in_words(compared) if compared else ""
    misunderstood = _all_misunderstood(report, compared)
    tests_fail = any(gate.gate.subject == "tests" for gate in failing)
    clauses = and_more(failing_clauses(failing, report, comparison), max(1, _MOST - bool(intents)))
    if compared and (deleted := deleted_in_words(compared)):
        clauses = _after_deleted(clauses, deleted)
    cut = 0 if failing and failing[0].gate.subject == "tests" else 1
    newly = bool(failed_tests.newly_misunderstood(report, comparison))
    named = _named(failing, compared)
    away = [Clause(words) for words in taken_away_in_words(report, compared, named)] if compared else []
    is_news = bool(clauses or intents or entities or new or _misunderstood(report, comparison))
    if is_news:
        lead = clauses[: cut + any("explained" in clause.says for clause in clauses[cut : cut + 1])]
        broken = [Clause(intents), Clause(entities), *clauses[len(lead) :], Clause(misunderstood if newly else "")]
        first = [clause for clause in (*lead, *away[:1], *broken, *away[1:]) if clause.words]
        if new:  # after what fails; if nothing does, always among what is said
            first.insert(len(clauses) + len(away[:1]) if clauses else min(len(first), _MOST - 1), Clause(new))
        first += [] if newly else [Clause(misunderstood)]
    else:
        taken, *others = [*away, Clause(removed_in_words(report, compared) if compared else "")]
        first = [taken, _passed(report, compared), Clause(misunderstood), *others]
    more = changes(report, compared, failing) if compared and not is_news and not away else []
    said = [
        *(clause.words for clause in first),
        repeats_in_words(
            report,
            compared,
            failures_said=tests_fail or not wording.failed_tallies(report),
            newly_said=any(gate.gate.subject == "tests" and gate.gate.new for gate in failing),
        ),
        short_base_in_words(report, compared),
        *uncounted_clauses(report, compared, gates, settings),
        unseen_in_words(compared, report.engine.name) if compared and report.engine else "",
        accepted_in_words(report, compared, gates),
        _unread_in_words(report, failing),
        left_open(report, comparison, gates, first),
        trained_on(report, compared),
        *more,
    ]
    found = [words for words in said if words]
    if len(found) > _MOST and more and not newly:  # what the change did comes before what the base has too
        found = [words for words in found if words != misunderstood]
    return "; ".join(found[:_MOST])


def _after_deleted(clauses: Sequence[Clause], deleted: str) -> list[Clause]:
    """Put which file was deleted before the first clause about something that the base does not have."""
    first = next((index for index, clause in enumerate(clauses) if "old" not in clause.says), None)
    return [
        Clause(f"{deleted}: {clause.words}", clause.says) if index == first else clause
        for index, clause in enumerate(clauses)
    ]


def _named(failing: Sequence[JudgedGate], compared: Comparison | None) -> frozenset[str]:
    """The names that the line says already: of the error that it quotes, and of components that make tests fail."""
    newly = failed_tests.newly_failing_tests(compared) if compared is not None else []
    causes = (cause for _, case in newly for cause in case.causes if cause.proved)
    components = frozenset(cause.name for cause in causes if cause.kind in {"pipeline", "policies"})
    about_errors = (gate for gate in failing if gate.gate.subject == "errors" and gate.gate.new)
    quoted = (quoted_error(gate, compared) for gate in about_errors)
    return components.union(name.name for error in quoted if error is not None for name in error.names)


def reservation(report: Report, comparison: Comparison | None, gates: Sequence[JudgedGate]) -> Reservation:
    """Return the reason why "passed" alone would be misleading, if there is one."""
    found = tallies(report)
    fails = any(tally.failed for tally in found)
    new = next((gate for gate in gates if gate.gate.subject == "tests" and gate.gate.new), None)
    old = new is not None and new.outcome == "passed" and comparison is not None and comparison.judged
    if fails and not old:
        return "although tests fail"
    if taken := _reservation_by_comparison(report, comparison, gates):
        return taken
    if misunderstood := _misunderstood(report, comparison):
        return misunderstood
    if comparison is not None and comparison.unseen_changes:
        return "a change cannot be judged" if len(comparison.unseen_changes) == 1 else "changes cannot be judged"
    if of_runs := _reservation_by_runs(report, comparison):
        return of_runs
    if any(gate.why == "files checked" for gate in gates):
        return "only files were checked"
    if any(tally.none_ran for tally in found):
        return "not all tests were run"
    if any(tally.unclear for tally in found):
        return "not all tests are clear"
    if not_judged(report, gates):
        return "not all gates were judged"
    return _unread(report, comparison) or ("old failures only" if fails else "")


def _reservation_by_runs(report: Report, comparison: Comparison | None) -> Reservation:
    compared = comparison if comparison is not None and comparison.judged else None
    shares = [compared.metric(f"{name}.{OF_ONE}") for name in REPEATED] if compared is not None else []
    if any(share is not None and share.judgement == "worse" for share in shares):
        return "more runs fail than on the base"
    return "the base has too few runs to tell" if short_base_in_words(report, compared) else ""


def _unread_data(report: Report) -> bool:
    """Whether something of what is compared cannot be read; where the servers are is no part of that."""
    return any(one.part != "endpoints" for one in report.unread)


def _unread_in_words(report: Report, failing: Sequence[JudgedGate]) -> str:
    """Where the data cannot be read, if nothing that fails says so."""
    where = "" if failing else unreadable_in_words([one for one in report.unread if one.part != "endpoints"])
    return f"the project {where}" if where else ""


def _unread(report: Report, comparison: Comparison | None) -> Reservation:
    if _unread_data(report):
        return "not all data could be read"
    hidden = comparison is not None and comparison.baseline.hidden
    return "not all of the base could be read" if hidden else ""


def _many_annotations(comparison: Comparison) -> Reservation:
    """What became of many annotations; empty if there are few."""
    if sum(stripped.annotations for stripped in comparison.stripped) >= _MANY_ANNOTATIONS:
        return "annotations are gone"
    changed = sum(stripped.annotations + stripped.changed for stripped in comparison.stripped)
    return "annotations have another entity" if changed >= _MANY_ANNOTATIONS else ""


def _lost_data(report: Report, comparison: Comparison) -> Reservation:
    """Say that stories or most of an intent's sentences are gone."""
    if all_stories_gone(report, comparison):
        return "all stories are gone"
    if lost := read_as_something_else(report, comparison):
        return "a file is no longer read" if is_unread(lost) else "a file is read as something else"
    if any(intent.unjudged for intent in comparison.cut_intents):
        return "less is judged"
    return "most of an intent is gone" if comparison.cut_intents else ""


def _reservation_by_comparison(
    report: Report, comparison: Comparison | None, gates: Sequence[JudgedGate]
) -> Reservation:
    if comparison is None or not comparison.judged:
        return ""
    if wording.newly_failing(report, comparison):
        return "although tests fail"
    suppressed = _suppressed(comparison)
    if suppressed in {"an error is newly suppressed", "errors are newly suppressed"}:
        return suppressed
    if lost := _lost_data(report, comparison) or _many_annotations(comparison):
        return lost
    if gone_unjudged(report, comparison, gates):
        return "although tests are gone"
    return suppressed or _badly_understood(comparison)


def _badly_understood(comparison: Comparison) -> Reservation:
    if new := mostly_wrong(comparison):
        is_one = len(new) == 1 and new[0].kind == "intents"
        return "a new intent is mostly misunderstood" if is_one else "what is new is mostly wrong"
    if comparison.collisions:
        return "intents collide"
    if is_less_understood(comparison):
        return "less is understood"
    worse = len(dropped_intents(comparison))
    overall = worse != 1 and broken_intents_in_words(comparison)
    if worse == 1 or overall:
        return "an intent is worse" if worse == 1 else "intents are worse"
    return "entities are worse" if broken_entities_in_words(comparison) else ""


def _misunderstood(report: Report, comparison: Comparison | None) -> Reservation:
    """Say that tests passed although a message was misunderstood: where there is a base, newly."""
    newly = failed_tests.newly_misunderstood(report, comparison)
    judged = comparison is not None and comparison.judged
    if comparison is not None and judged:
        newly = [(name, cases) for name, cases in newly if not is_likely_misparsed(comparison, name)]
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
    errors = sum(suppression.severity == "error" for suppression in comparison.new_suppressions)
    if errors:
        return "an error is newly suppressed" if errors == 1 else "errors are newly suppressed"
    single = len(comparison.new_suppressions) == 1
    return "a warning is newly suppressed" if single else "warnings are newly suppressed"
