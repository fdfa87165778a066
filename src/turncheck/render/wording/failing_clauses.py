"""The clauses of a verdict's summary that say why it fails: one for each failing gate that adds something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from turncheck.comparison import failed_tests
from turncheck.comparison.changes import number_of
from turncheck.comparison.failures import BadFinding
from turncheck.comparison.tally import faults_of, tallies
from turncheck.evaluations.kinds import TESTS
from turncheck.gates.judged import Findings, JudgedGate, LossesOverall
from turncheck.messages.finding import LEGACY_PROJECT
from turncheck.messages.phrasing import count, first_line, shortened
from turncheck.render.wording import tests as wording
from turncheck.render.wording.causes import because_in_words, beside, is_proved
from turncheck.render.wording.changes import old_in_words
from turncheck.render.wording.figures import NO_BASE
from turncheck.render.wording.reasons.consistency import nothing_tested_in_words
from turncheck.render.wording.reasons.context import Context
from turncheck.render.wording.reasons.findings import errors_in_words, new_errors_in_words
from turncheck.render.wording.reasons.reason import reason_in_short, reason_of
from turncheck.render.wording.repeats import losses_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import FindingChange
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Finding
    from turncheck.report.model import Report, Skipped


_LONGEST: Final = 120
_LONGEST_REASON: Final = 200
_NO_DATA: Final = "data-not-found"

Topic = Literal["not run", "partly", "faults", "explained"]
"""What a clause says that no later one has to repeat: that tests were not run, or not completely, because of faults; or
that the errors before it explain why tests newly fail."""


class Clause(Struct, frozen=True):
    """A part of the line, and what it says: topics, and reasons why something is not judged."""

    words: str
    says: frozenset[str] = frozenset()


def cut(text: str) -> str:
    """Shorten what a clause quotes."""
    return shortened(text, _LONGEST)


def short_reason(gate: JudgedGate, report: Report, comparison: Comparison | None) -> str:
    """Say in short why a gate was not judged."""
    if gate.needs_base and comparison is not None and not comparison.judged:
        if comparison.baseline.remedy:
            return out_of_reach(comparison)
        return NO_BASE.get(comparison.baseline.status, cut(f"no baseline: {comparison.baseline.reason}"))
    return cut(reason_in_short(gate, report, comparison))


def out_of_reach(comparison: Comparison) -> str:
    """Say that the base is out of reach, why, and the one thing to do."""
    remedy = comparison.baseline.remedy
    return f"{NO_BASE['unreachable']}{f': {cut(remedy)}' if remedy else ''}"


def failing_clauses(failing: Sequence[JudgedGate], report: Report, comparison: Comparison | None) -> list[Clause]:
    """A clause for each failing gate that adds something."""
    clauses: dict[str, Clause] = {}
    metrics = set()
    tests_named = False
    for gate in failing:
        if gate.follows:
            continue
        if gate.gate.subject == "tests" and gate.outcome == "failed":
            clause = None if tests_named else _failed_tests(gate, report, comparison, failing)
            tests_named = True
        elif gate.metric is not None and gate.metric in metrics:
            continue
        else:
            said = {topic for known in clauses.values() for topic in known.says}
            parts = [part for part in _clauses(gate, report, comparison) if "faults" not in part.says & said]
            words = "; ".join(part.words for part in parts if part.words not in clauses)
            clause = Clause(words, frozenset(topic for part in parts for topic in part.says))
        metrics.add(gate.metric)
        if clause is not None and clause.words:
            clauses[clause.words] = clause
    return list(clauses.values())


def and_more(clauses: list[Clause], most: int) -> list[Clause]:
    """Keep so many clauses; the last one counts the others."""
    more = len(clauses) - most
    if more <= 0:
        return clauses
    last = clauses[most - 1]
    return [*clauses[: most - 1], Clause(f"{last.words}, and {count(more, 'more gate')} failed", last.says)]


def _clauses(gate: JudgedGate, report: Report, comparison: Comparison | None) -> list[Clause]:
    """A failing gate, without the details that belong in its own line, in its parts."""
    faults = faults_of(report)
    if gate.outcome == "not judged":
        why = short_reason(gate, report, comparison)
        not_run = {"not run"} if gate.why == "not run" else set()
        return [Clause(f"{gate.gate.name} not judged ({why})", frozenset({why} | not_run))]
    subject = gate.gate.subject
    if subject == "the run":
        return [Clause(cut(f"stopped before the end: {first_line(report.stopped or '')}"))]
    if subject == "faults":
        partly = {"partly"} if all(skipped.part for skipped in wording.by_cause(faults)[0]) else set()
        as_there = _as_on_the_base(faults, comparison)
        old = {"old"} if as_there else set()
        return [Clause(f"{wording.cause_first(faults)}{as_there}", frozenset({"faults", "not run"} | partly | old))]
    if subject == "errors":
        return _about_errors(gate, report, comparison)
    if gate.why == "nothing tested":
        one_by_one = any(tally.not_run for tally in tallies(report))
        return [Clause(_nothing_tested(report), frozenset() if one_by_one else frozenset({"not run"}))]
    if subject == "gone tests" and comparison is not None and (words := wording.gone_in_words(report, comparison)):
        return [Clause(words, _says_gone(comparison))]
    says = frozenset({"not run"} if gate.requires else ())
    return [Clause(cut(reason_in_short(gate, report, comparison)), says)]


def _as_on_the_base(faults: Sequence[Skipped], comparison: Comparison | None) -> str:
    """``, as on the base``, if that could not run any of it either; for another reason: ``, nor on the base``."""
    there = comparison.base_faults if comparison is not None else ()
    of_base = {one.evaluation: one.fault or one.reason for one in there if not one.files}
    if not {fault.evaluation for fault in faults} <= of_base.keys():
        return ""
    same = all((fault.without_place or fault.reason) == of_base[fault.evaluation] for fault in faults)
    return ", as on the base" if same else ", nor on the base"


def _nothing_tested(report: Report) -> str:
    """``nothing was tested``, and why, if all that there is was not run for one reason; what ran is unclear.

    A folder without data is behind whatever there is nothing to learn from; its finding has the setting that helps.
    """
    words = nothing_tested_in_words(report)
    if any(section is not None for section in (report.nlu, report.core, report.e2e, report.batch)):
        return words
    asked = [skipped for skipped in report.skipped_to_report if skipped.cause != "not requested"]
    reasons = {skipped.reason for skipped in asked if not skipped.no_tests}
    if len(reasons) == 1:
        return f"{words}: {cut(reasons.pop().partition(' (')[0])}"
    findings = report.validation.findings if report.validation is not None else ()
    behind = next((finding.message.rstrip(".") for finding in findings if finding.code == _NO_DATA), "")
    return f"{words}: {shortened(behind, _LONGEST_REASON)}" if behind else words


def _says_gone(comparison: Comparison) -> frozenset[str]:
    not_run = any(cases.not_run for _, cases in failed_tests.tests_of(comparison))
    lost = any(one.evaluation in TESTS for one in comparison.lost if not one.files)
    return frozenset({"not run"} if not_run or lost else ())


def quoted_error(gate: JudgedGate, comparison: Comparison | None) -> Finding | FindingChange | None:
    """The error that the line quotes: the one because of which most tests newly fail; else the first new one.

    That the project is of an older Rasa is said in other words, if there is more.
    """
    found = [cause.finding for cause in gate.causes if isinstance(cause, BadFinding)]
    errors = [one for one in found if one.message and (one.code != LEGACY_PROJECT or len(found) == 1)]
    explained = failed_tests.tests_because_of(comparison) if comparison is not None else {}
    new = {(one.code, one.location) for one in comparison.new_findings} if comparison is not None else set()
    return max(
        errors,
        key=lambda error: (len(explained.get(error.location, ())), (error.code, error.location) in new),
        default=None,
    )


def _about_errors(gate: JudgedGate, report: Report, comparison: Comparison | None) -> list[Clause]:
    """The errors in the data: a single one in its own words; several by their number and the one to read first."""
    quoted = quoted_error(gate, comparison)
    if quoted is not None and len(gate.causes) == 1:
        return [Clause(_single_error(quoted, gate, report, comparison))]
    findings = next((fact for fact in gate.facts if isinstance(fact, Findings)), None)
    faults = findings.faults if findings else ()
    says = frozenset(
        {"faults", "not run", *(["partly"] if any(fault.part for fault in faults) else [])} if faults else ()
    )
    if findings is None:
        return [Clause(cut(reason_of(gate, report, comparison)), says)]
    number = len(findings.found)
    first = f": {_quoted(quoted)} and {number - 1:,} more" if quoted is not None and number > 1 else ""
    if gate.gate.new:
        return [Clause(new_errors_in_words(gate, Context(report, comparison), first), says)]
    *others, last = errors_in_words(findings, comparison, first)
    return [*map(Clause, others), Clause(last, says)]


def _single_error(
    finding: Finding | FindingChange, gate: JudgedGate, report: Report, comparison: Comparison | None
) -> str:
    """The message of the only error, if it is short, its place, and whether it is old."""
    findings = report.validation.findings if report.validation else ()
    errors = [one for one in findings if one.severity == "error"]
    old = old_in_words(errors, comparison, "error") if not gate.gate.new else ""
    return f"{_quoted(finding)}{old}{_why_explained(finding, comparison)}"


def _why_explained(finding: Finding | FindingChange, comparison: Comparison | None) -> str:
    """What is proved to make tests fail that all fail because of one error, unless the error itself says that."""
    if comparison is None:
        return ""
    explained = failed_tests.tests_because_of(comparison).get(finding.location, [])
    if len(explained) < len(failed_tests.newly_failing_tests(comparison)):
        return ""  # the clause about the tests says it
    proved = [replace(case, causes=beside(finding, case.causes)) for _, case in explained if is_proved(case)]
    return because_in_words([case for case in proved if case.causes])


def _quoted(finding: Finding | FindingChange) -> str:
    return f"{cut(finding.message.rstrip('.'))} ({finding.location})"


def _failed_tests(
    gate: JudgedGate, report: Report, comparison: Comparison | None, failing: Sequence[JudgedGate]
) -> Clause | None:
    """What failed, separated from what fails on the base too."""
    failed = wording.failed_tallies(report)
    unexpected = wording.unexpected_in_words(tallies(report))
    errors = 0 if any(one.gate.subject == "errors" for one in failing) else _new_errors(report, comparison)
    in_data = f"{count(errors, 'error')} in the data" if errors and gate.gate.new else ""
    losses = [losses_in_words(fact.losses) for fact in gate.facts if isinstance(fact, LossesOverall)]
    whole = "".join(f"{words}; " for words in losses)
    if comparison is None or not comparison.judged:
        status = comparison.baseline.status if comparison else ""
        why = out_of_reach(comparison) if comparison and status == "unreachable" else NO_BASE.get(status, "no baseline")
        all_new = f" ({why}, so all count as new)" if gate.gate.new else ""
        if gate.gate.new:
            failed = [tally for tally in tallies(report) if tally.failed or tally.tolerated]
        words = wording.all_failed_of if all_new else wording.failed_of
        parts = [f"{wording.joined(map(words, failed))} failed"] if failed else []
        parts += [*wording.unanswered_in_words(report), *unexpected]
        says = frozenset({why} if all_new and comparison is not None and comparison.baseline.status in NO_BASE else ())
        found = [*parts, *([in_data] if in_data else [])]
        if not found and losses:
            return Clause(wording.joined(losses), says)
        return Clause(f"{whole}{', '.join(found)}{all_new}", says)
    new = wording.newly_failing(report, comparison)
    old = sum(len(tally.failed) + len(tally.tolerated) for tally in tallies(report))
    old -= sum(1 + test.copies for test in failed_tests.unknown_tests(report, comparison))
    old -= sum(number_of(failed_tests.failing_of(report, cases)) for _, cases in failed_tests.tests_of(comparison))
    data = [f"{in_data} that the base does not have"] if in_data else []
    if not new and not data:
        old_failures = [f"{wording.joined(map(wording.failed_of, failed))} failed (on the base too)"] if failed else []
        # Without any, the gate failed because of errors in the data, which another clause names.
        said = [*losses, *wording.unanswered_in_words(report), *unexpected, *old_failures]
        return Clause(wording.joined(said)) if said else None
    more = f"{old:,} more" if new else count(old, "test")
    first = _because_of_errors(failing, comparison) if new and not data else ""
    cause = _why_newly_failing(comparison) if new and not first else ""
    others = f"{more} {'fails' if old == 1 else 'fail'} on the base too" if old > 0 else ""
    also = f" ({others})" if others and cause else f", {others}" if others else ""  # the cause is not theirs
    says = frozenset({"explained"} if first else ())
    return Clause(f"{whole}{first}{wording.joined([*new, *data, *unexpected])}{also}{cause}", says)


def _why_newly_failing(comparison: Comparison) -> str:
    """Why tests newly fail; nothing is guessed about those that an error in the data explains."""
    by_error = failed_tests.tests_because_of(comparison).values()
    explained = {id(case) for tests in by_error for _, case in tests}
    cases = [case for _, case in failed_tests.newly_failing_tests(comparison)]
    return because_in_words(cases, {place for place, case in enumerate(cases) if id(case) in explained})


def _because_of_errors(failing: Sequence[JudgedGate], comparison: Comparison) -> str:
    """``because of it ``, if the errors in the data, which the line names first, explain all newly failing tests."""
    if failing[0].gate.subject != "errors" or comparison.base_lacks:
        return ""
    explained = failed_tests.tests_because_of(comparison)
    places = {cause.location for cause in failing[0].causes}
    if sum(len(tests) for place, tests in explained.items() if place in places) < len(
        failed_tests.newly_failing_tests(comparison)
    ):
        return ""
    return "because of it " if len(failing[0].causes) == 1 else "because of them "


def _new_errors(report: Report, comparison: Comparison | None) -> int:
    if comparison is not None and comparison.judged:
        return sum(finding.severity == "error" for finding in comparison.new_findings)
    return report.validation.counts.error if report.validation else 0
