"""Why a gate ended as it did, in words."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, Struct, UnsetType

from turncheck.comparison import gates_on_tests, judged
from turncheck.comparison.changes import number_of
from turncheck.comparison.consistent_tests import consistency_of
from turncheck.comparison.gates import shared_examples
from turncheck.comparison.matching import has_results
from turncheck.comparison.tally import COULD_BE_RUN, Tally, faults_of, lacks_actions, tallies
from turncheck.evaluations.kinds import CASES, KINDS, TESTS, WITHOUT_TESTS
from turncheck.messages.finding import LEGACY_PROJECT
from turncheck.messages.phrasing import count, first_line, on_one_line
from turncheck.render.wording import tests as wording
from turncheck.render.wording.changes import old_in_words, suppressed_in_words, unreadable_in_words
from turncheck.render.wording.figures import change, few, figure, no_verdict, why_no_baseline
from turncheck.render.wording.repeats import losses_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.comparison.model import Comparison, OneSided
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report

STAND_IN: Final = "by the embedded engine, which stands in for the assistant's own"
"""Why failed batch cases do not fail the run by themselves."""
WARN: Final = "misunderstood: warn"
"""Why misunderstood tests do not fail the run."""


class _Run(Struct, frozen=True):
    """What the reasons of a run's gates are said of; ``brief``: without what a document says once."""

    report: Report
    comparison: Comparison | None
    brief: bool

    @property
    def compared(self) -> Comparison | None:
        """The comparison, if there was a base."""
        return self.comparison if self.comparison is not None and self.comparison.judged else None

    @property
    def none(self) -> str:
        """Why there is no base."""
        return why_no_baseline(self.comparison, brief=self.brief)

    @property
    def found(self) -> Sequence[Tally]:
        """The tests by kind."""
        return tallies(self.report)


def reason_of(gate: judged.Judged, report: Report, comparison: Comparison | None, *, brief: bool = False) -> str:
    """Say why a gate ended as it did; ``brief``: without what a document says once."""
    return _FIXED.get(gate.why) or _REASONS[gate.why](gate, _Run(report, comparison, brief))


def reason_in_short(gate: judged.Judged, report: Report, comparison: Comparison | None) -> str:
    """Say the same without the details that belong in the gate's own line."""
    match gate.facts:
        case (judged.Drop() as drop,) if drop.delta.agreement is None:
            return _difference(drop)
        case (judged.NoFigure(short=short),) if short and gate.requires:
            return f"{gate.requires} was not run: {short}"
        case _ if gate.why == "base faults":
            return _base_faults_in_short(gate, report)
        case _ if gate.why == "left out":
            return next(short for _, short in _left_out(report, gate.requires))
        case _:
            return reason_of(gate, report, comparison)


_FIXED: Final[Mapping[judged.Why, str]] = {
    "no tests": "no stories and no end-to-end cases were run",
    "ancestor": "the base itself was not measured, but an ancestor: which tests came after that is not known",
    "accepted": "what is gone was accepted by `accept-gone`",
    "all there": "all tests of the base are there",
    "nothing tested": "nothing was tested",
    "files checked": "flows and tests were checked against each other; no conversation was run",
    "all in quarantine": "every test that ran is in quarantine, so nothing was tested",
    "suppressions not known": "the baseline's report is of an older version, which does not say what is suppressed",
    "none suppressed": "no error is newly suppressed",
    "base has no such metric": "the base has no such metric",
    "only on base": "it is measured on the base only",
    "files unread": "not all files can be read, so what is in them is not counted",
    "no shared example": "no example was judged on both sides",
    "no pairs": "it was not measured in turn with the base: say where that runs (`--bot-url-base`)",
}


def _of_figure(gate: judged.Judged, _: _Run) -> str:
    (fact,) = gate.facts
    if isinstance(fact, judged.Value):
        return _value(fact)
    if isinstance(fact, judged.Drop):
        return no_verdict(fact.delta.agreement) if fact.delta.agreement is not None else _drop(fact, gate.outcome)
    if not isinstance(fact, judged.NoFigure) or fact.base is None:
        return fact.why if isinstance(fact, judged.NoFigure) else ""
    base = figure(fact.base.base or 0.0, fact.base.kind)
    return f"{gate.metric}: {base} on the base, no longer measured: {fact.why}"


def _nothing_to_judge(gate: judged.Judged, _: _Run) -> str:
    why = next((fact.why for fact in gate.facts if isinstance(fact, judged.NoFigure)), "there was nothing to judge")
    return f"{gate.requires} was not run: {why}" if gate.requires else why


def _failed_tests(gate: judged.Judged, run: _Run) -> str:
    """What failed in tests or in the data."""
    match gate.facts:
        case (judged.Findings() as findings,):
            return "; ".join(errors_in_words(findings, run.compared))
        case _:
            faults = faults_of(run.report, TESTS)
            failed = [_failed(run.found)] if any(tally.failed for tally in run.found) else []
            failed += [
                *wording.unanswered_in_words(run.report),
                *wording.unexpected_in_words(run.found),
                *_losses(gate),
            ]
            return "; ".join([*failed, *([wording.faults_in_words(faults)] if faults else [])])


def _newly_failed(gate: judged.Judged, run: _Run) -> str:
    """What failed in tests or in the data and did not on the base; or more runs of all cases."""
    losses = _losses(gate)
    words = [_new_failures(gate, run)] if gate.causes or not losses else []
    return "; ".join([*words, *losses])


def _losses(gate: judged.Judged) -> list[str]:
    return [losses_in_words(fact.losses) for fact in gate.facts if isinstance(fact, judged.LossesOverall)]


def _new_failures(gate: judged.Judged, run: _Run) -> str:
    compared = run.compared
    match gate.facts:
        case (judged.Findings() as findings,):
            new = " that the base does not have" if compared else f"; {run.none}, so every error counts as new"
            return f"{'; '.join(errors_in_words(findings, None))}{new}"
        case _:
            pass
    if compared is not None:
        half = "".join(f"; {_half(lacking)}" for lacking in compared.base_lacks)
        copies = sum(
            case.copies
            for _, cases in gates_on_tests.tests_of(compared)
            for case in gates_on_tests.failing_of(run.report, cases)
        )
        return f"{count(len(gate.causes) + copies, 'failure')} that the base does not have{half}"
    errors = sum(isinstance(cause, judged.BadFinding) for cause in gate.causes)
    unexpected = [*wording.unanswered_in_words(run.report), *wording.unexpected_in_words(run.found)]
    parts = [_all_failed(run.found)] if any(tally.failed or tally.tolerated for tally in run.found) else []
    parts += unexpected
    parts += [f"{count(errors, 'error')} in the data"] if errors else []
    none = why_no_baseline(run.comparison, brief=run.brief, brackets=True)
    return f"{none}, so every failure counts as new: {', '.join(parts)}"


def _no_findings(gate: judged.Judged, run: _Run) -> str:
    (fact,) = gate.facts
    severity = fact.severity if isinstance(fact, judged.Findings) else "error"
    new = " that the base does not have" if run.compared else f"; {run.none}"
    return f"no {severity}s in the data{new if gate.name == gates_on_tests.NEW_ERRORS else ''}"


def _new_not_known(gate: judged.Judged, run: _Run) -> str:
    words = (errors_in_words(fact, None) for fact in gate.facts if isinstance(fact, judged.Findings))
    return f"{'; '.join(chain(*words))}; {run.none}, so it is not known which are new"


def _tests_not_run(_: judged.Judged, run: _Run) -> str:
    """Which tests were not run and why, unless another gate says that."""
    faulty = {fault.evaluation for fault in faults_of(run.report)}
    reasons: dict[str, list[str]] = {}
    for tally in run.found:
        if tally.none_ran:
            nothing = gates_on_tests.is_nothing_run(run.report) and not tally.not_run and not consistency_of(run.report)
            by = COULD_BE_RUN if tally.evaluation in faulty else gates_on_tests.TESTED if nothing else ""
            is_told = run.brief and tally.evaluation == "e2e" and bool(tally.not_run)
            why = f"see `{by}`" if by else "" if is_told else wording.why_not_run(tally)
            reasons.setdefault(why, []).append(wording.not_run_in_words(tally))
    not_run = "; ".join(f"{', '.join(tests)}{': ' if why else ''}{why}" for why, tests in reasons.items())
    others = [tally for tally in run.found if tally.ran]
    return f"{not_run}; {_passed(others)}" if others else not_run


def _nothing_new(_: judged.Judged, run: _Run) -> str:
    words = ["nothing fails that passed on the base" if run.compared else f"nothing fails; {run.none}"]
    words += [wording.quarantined_in_words(tally) for tally in run.found if tally.quarantined]
    for evaluation, cases in gates_on_tests.newly_misunderstood(run.report, run.comparison):
        words.append(f"{count(number_of(cases), *TESTS[evaluation])} newly misunderstood ({WARN})")
    return "; ".join(words)


def _unclear(gate: judged.Judged, _: _Run) -> str:
    cases = [cause for cause in gate.causes if isinstance(cause, judged.NotRunTest)]
    numbers = Counter(case.evaluation for case in cases)
    unclear = wording.joined(count(number, *CASES[name]) for name, number in numbers.items())
    is_one_reason = len(cases) > 1 and len({case.reason for case in cases}) == 1
    return f"{unclear} unclear: {cases[0].reason if is_one_reason else f'{cases[0].name}: {cases[0].reason}'}"


def _base_faults(gate: judged.Judged, run: _Run) -> str:
    unknown = [fact.lost for fact in gate.facts if isinstance(fact, judged.LostEvaluation)]
    short = _base_faults_in_short(gate, run.report)
    if not (whole := [one for one in unknown if not one.files]):
        its = "its tests" if len({file for one in unknown for file in one.files}) == 1 else "their tests"
        return f"{short}, so it is not known which of {its} are gone"
    why = "" if _has_same_faults(whole, run.report) else f": {whole[0].reason}"
    return f"{short}, so it is not known which tests are gone{why}"


def _base_faults_in_short(gate: judged.Judged, report: Report) -> str:
    """``the base could not run core``, or which of its files cannot be read."""
    unknown = [fact.lost for fact in gate.facts if isinstance(fact, judged.LostEvaluation)]
    if whole := [one for one in unknown if not one.files]:
        either = " either" if _has_same_faults(whole, report) else ""
        return f"the base could not run {wording.names_of(one.evaluation for one in whole)}{either}"
    return f"the base cannot read {few(sorted({file for one in unknown for file in one.files}))}"


def _has_same_faults(whole: Sequence[OneSided], report: Report) -> bool:
    """Whether this side cannot run either what the base could not."""
    return {one.evaluation for one in whole} <= {fault.evaluation for fault in faults_of(report)}


def _hidden_on_base(gate: judged.Judged, run: _Run) -> str:
    tests = sum(isinstance(cause, judged.FailedTest) for cause in gate.causes)
    errors = len(gate.causes) - tests
    if not gate.causes:
        return f"{hidden_in_words(run.compared)}, so what it has there is not counted"
    words = [count(tests, "test that fails", "tests that fail")] if tests else []
    words += [count(errors, "error in the data", "errors in the data")] if errors else []
    if gates_on_tests.only_failing_if_repaired(run.compared):
        return f"{wording.joined(words)} may be new: the repaired base fails the same, another repair might not"
    return f"{wording.joined(words)} may be old: {hidden_in_words(run.compared)}"


def hidden_in_words(compared: Comparison | None) -> str:
    """Say where the base cannot be read."""
    used = compared.baseline if compared is not None else None
    unread = (used.hidden or used.mended) if used is not None else ()
    if where := unreadable_in_words(unread):
        return f"the base {where}"
    faults = compared.base_faults if compared is not None else ()
    return next((f"the base could not be run: {fault.reason}" for fault in faults), "the base cannot be read")


def _without_tests(_: judged.Judged, run: _Run) -> str:
    untested = [WITHOUT_TESTS[test] for test in gates_on_tests.judged_without_tests(run.report)]
    return f"tested: {wording.joined(untested)}, as requested"


def _gone_or_inconsistent(gate: judged.Judged, run: _Run) -> str:
    """``1 test case of the base is gone``; which other tests expect what is not there."""
    change = run.compared.consistency if run.compared is not None else UNSET
    gone = len(gate.causes) - (0 if isinstance(change, UnsetType) else len(change.newly))
    words = f"{count(gone, 'test case')} of the base {'is' if gone == 1 else 'are'} gone"
    return f"{words}; {inconsistent_in_words(run.report)}" if len(gate.causes) > gone else words


_REASONS: Final[Mapping[judged.Why, Callable[[judged.Judged, _Run], str]]] = {
    "": _of_figure,
    "agreement": _of_figure,
    "no base": lambda _, run: run.none,
    "nothing to judge": _nothing_to_judge,
    "stopped": lambda gate, run: (
        on_one_line(run.report.stopped or "") if gate.name == "completed" else "the run ended before its end"
    ),
    "faults": lambda _, run: wording.faults_in_words(faults_of(run.report)),
    "failed": _failed_tests,
    "newly failed": _newly_failed,
    "tests not run": _tests_not_run,
    "nothing new": _nothing_new,
    "passed": lambda _, run: _passed(run.found),
    "gone": lambda gate, run: _gone(gate.facts, run.compared),
    "base faults": _base_faults,
    "hidden on base": _hidden_on_base,
    "not asked for tests": _without_tests,
    "left out": lambda gate, run: "; ".join(words for words, _ in _left_out(run.report, gate.requires)),
    "not run": lambda gate, _: f"{gate.requires} was not run",
    "ran": lambda gate, run: f"{gate.requires} was run" if gate.requires else _tested(run.report),
    "suppressed": lambda _, run: suppressed_in_words(run.compared.new_suppressions if run.compared else ()),
    "unclear": _unclear,
    "no findings": _no_findings,
    "consistent": lambda _, run: consistent_in_words(run.report),
    "inconsistent": lambda _, run: inconsistent_in_words(run.report),
    "tests gone": _gone_or_inconsistent,
    "new not known": _new_not_known,
}


def _value(value: judged.Value) -> str:
    rule, measured = value.rule, value.measured
    shown = f"{rule.name} is {figure(measured.value, measured.kind, apart_from=rule.limit)}"
    if value.interval is not None:
        low, high = value.interval
        if measured.kind == "amount":
            between = f"{figure(low, measured.kind)} to {figure(high, measured.kind)}"
            return f"{shown} (with 95 % certainty from {between}), the limit is {rule.limit:g}"
        return f"{shown} (95 % interval {low:.3f} to {high:.3f}), the limit is {rule.limit:g}"
    return shown if rule.holds(measured.value) else f"{shown}, not {rule.operator} {rule.limit:g}"


def _drop(drop: judged.Drop, outcome: judged.GateOutcome) -> str:
    """``core.passed: 3 to 2 (−1), more than 0``."""
    is_amount = drop.delta.kind == "amount"
    where = f" on the {'turns' if is_amount else 'examples'} both sides judged" if shared_examples(drop.delta) else ""
    limit = f", more than {drop.rule.limit_in_words}" if outcome == "failed" else ""
    return f"{_difference(drop)}{where}{limit}"


def _difference(drop: judged.Drop) -> str:
    """``core.passed: 3 to 2 (−1)``."""
    delta = drop.delta
    shared = shared_examples(delta)
    base, value = (shared.base, shared.value) if shared else (delta.base or 0.0, delta.value or 0.0)
    too_few = delta.significance is not None and delta.significance.too_few
    noise = ("", f", {'too few sentences to tell' if too_few else 'within noise'}")[delta.judgement == "noise"]
    words = f"{figure(base, delta.kind)} to {figure(value, delta.kind)} ({change(base, value, delta.kind)}{noise})"
    return f"{drop.rule.name}: {words}"


def errors_in_words(findings: judged.Findings, compared: Comparison | None) -> list[str]:
    """What the data of a severity are at fault with; of a project of an older Rasa that comes first."""
    found = findings.found
    older = [f"This is a Rasa {one.names[0].name} project" for one in found if one.code == LEGACY_PROJECT and one.names]
    old = old_in_words(found, compared, findings.severity)
    counts = [f"{count(len(found), findings.severity)} in the data{old}"] if found else []
    return [*older, *counts, *([wording.faults_in_words(findings.faults)] if findings.faults else [])]


def _failed(found: Sequence[Tally]) -> str:
    """``1 of 2 stories and 3 of 4 end-to-end cases failed``."""
    return ", ".join(
        [
            f"{wording.joined(wording.failed_of(tally) for tally in found if tally.failed)} failed",
            *_misunderstood(found),
        ]
    )


def _all_failed(found: Sequence[Tally]) -> str:
    """The same, including the failures that are tolerated elsewhere."""
    return (
        f"{wording.joined(wording.all_failed_of(tally) for tally in found if tally.failed or tally.tolerated)} failed"
    )


def _passed(found: Sequence[Tally]) -> str:
    """``2 stories and 3 end-to-end cases passed, 1 end-to-end case not run``."""
    words = f"{wording.joined(wording.passed_in_words(tally) for tally in found if tally.ran)} passed"
    return ", ".join(
        [words, *_misunderstood(found), *(wording.not_run_in_words(tally) for tally in found if tally.reason)]
    )


def _misunderstood(found: Sequence[Tally]) -> list[str]:
    parts = [f"{wording.misunderstood_in_words(tally)} ({WARN})" for tally in found if tally.misunderstood]
    parts += [wording.quarantined_in_words(tally) for tally in found if tally.quarantined]
    return [*parts, *(f"{wording.tolerated_in_words(tally)} ({STAND_IN})" for tally in found if tally.tolerated)]


def _tested(report: Report) -> str:
    found = [(wording.counted(tally, tally.ran), len(tally.unclear)) for tally in tallies(report) if tally.ran]
    if report.nlu and report.nlu.examples:
        unclear = sum(one.unclear for one in report.nlu.predictions)
        found.insert(0, (count(report.nlu.examples, "sentence"), unclear))
    return f"tested: {', '.join(f'{words} ({number:,} unclear)' if number else words for words, number in found)}"


def consistent_in_words(report: Report) -> str:
    """Say what was checked against each other, and how many of the steps the tests name."""
    checked = consistency_of(report)
    if checked is None:
        return ""
    flows = f"{count(len(checked.flows), 'flow')} with {count(checked.steps, 'step')}"
    if not checked.tests:
        return f"{flows} checked; there are no tests"
    tests = f"{count(len(checked.tests), 'test case')} ({checked.named:,} of the steps are named)"
    return f"{flows} and {tests} checked against each other"


def inconsistent_in_words(report: Report) -> str:
    """``7 of 8 test cases expect what is not there``."""
    checked = consistency_of(report)
    if checked is None:
        return ""
    expect = "expects" if len(checked.inconsistent) == 1 else "expect"
    return f"{len(checked.inconsistent):,} of {count(len(checked.tests), 'test case')} {expect} what is not there"


def _half(lacking: OneSided) -> str:
    """What the base lacks, and the consequence."""
    name = lacking.evaluation
    if lacking.cases is not None:
        return f"the base did not run {count(lacking.cases, *TESTS[name])} ({lacking.reason})"
    then = f", so all {TESTS[name][1]} that fail count as new" if name in TESTS else KINDS[name].follows_unknown
    return f"the base has no results of {name} ({lacking.reason}){then}"


def _left_out(report: Report, evaluation: Evaluation | None) -> list[tuple[str, str]]:
    """Return which tests of an evaluation were not run, why, and how to get them run; each also in short."""
    found = []
    for tally in tallies(report):
        if tally.evaluation == evaluation and tally.not_run:
            number = len(tally.not_run)
            short = f"{number:,} of {wording.counted(tally, tally.ran + number)} not run"
            words = (
                f"{short} ({few([not_run_test.name for not_run_test in tally.not_run])}): {wording.why_not_run(tally)}"
            )
            found.append(
                (f"{words}. To run them, {wording.HOW_TO_RUN_ACTIONS}" if lacks_actions(report) else words, short)
            )
    if evaluation == "nlu" and report.nlu and report.nlu.unjudged:
        intents = few([unjudged.intent for unjudged in report.nlu.unjudged])
        short = f"{count(len(report.nlu.unjudged), 'intent')} not judged"
        found.append((f"{short} ({intents}): fewer examples than there are folds", short))
    parts = [skipped for skipped in report.skipped if skipped.part and skipped.evaluation == evaluation]
    found += [(part.without_place or part.reason, part.without_place or part.reason) for part in parts]
    if report.stopped is not None and evaluation is not None and has_results(report, evaluation):
        found.append((f"the run ended before its end: {first_line(report.stopped)}",) * 2)
    return found


def _gone(facts: Sequence[judged.Fact], compared: Comparison | None) -> str:
    """What is gone; where a fault keeps all of it from running, that."""
    lines: list[str] = []
    kept_from: list[str] = []
    for fact in facts:
        match fact:
            case judged.LostAssistant(path):
                lines.append(lost_assistant(path))
            case judged.LostEvaluation(lost, faulty):
                (kept_from if faulty else lines).append(lost_evaluation(lost, faulty=faulty))
            case judged.GoneTests(evaluation, cases, run, because, faulty):
                number = number_of(cases)
                tests, one = count(number, *TESTS[evaluation]), number == 1
                if not run:
                    lines.append(f"{tests} of the base {'is' if one else 'are'} gone")
                    continue
                words = f"{tests} that ran on the base {'was' if one else 'were'} not run"
                (kept_from if faulty else lines).append(f"{words}: {because}" if because else words)
            case _:
                pass
    unseen = "".join(
        f"; {change.message.rstrip('.')}"
        for change in (gates_on_tests.no_longer_checked(compared) if lines and compared else ())
    )
    only_not_run = all(isinstance(fact, judged.GoneTests) and fact.run for fact in facts)
    remedy = "" if only_not_run else " (`accept-gone` lists what may be deleted)"
    return f"{'; '.join(lines or kept_from)}{remedy}{unseen}"


def lost_assistant(path: str) -> str:
    """Say that an assistant is no longer measured."""
    return f"the assistant '{path}', which the base measures, is no longer measured"


def lost_evaluation(one_sided: OneSided, *, faulty: bool) -> str:
    """Say what of the base is no longer judged, and why; of what a fault keeps from running another gate says why."""
    if one_sided.files:
        return one_sided.reason
    lost = KINDS[one_sided.evaluation].lost
    return lost if faulty else f"{lost}: {one_sided.reason}"
