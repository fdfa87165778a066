"""The lists of every document, worst first, and which of them gives up entries when they do not fit."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from turncheck.comparison.cases import findings_worst_first
from turncheck.comparison.consistent_tests import consistency_of
from turncheck.comparison.failed_tests import newly_failing_tests
from turncheck.comparison.misunderstood import misunderstood_sentences
from turncheck.comparison.tally import lacks_actions
from turncheck.gates.table import counts_old_failures, subject_of
from turncheck.messages.phrasing import count, on_one_line
from turncheck.render import case_keys, entries, phrases
from turncheck.render.batch_notes import batch_remarks
from turncheck.render.changed_sections import altered_rules, changes, likely_noise, tests_gone
from turncheck.render.command_table import command_table
from turncheck.render.figure_tables import (
    batch_table,
    confusion_table,
    coverage_table,
    intent_table,
    metrics_table,
    more_confused,
    worse_figures,
)
from turncheck.render.grouping import findings_by_cause, tests_by_cause
from turncheck.render.lists import MISUNDERSTOOD, SEVERITIES, Lists
from turncheck.render.spans import (
    BUILT,
    Code,
    Entry,
    Line,
    NeutralSection,
    PlaceSpan,
    Prose,
    Row,
    line,
    listed,
)
from turncheck.render.strength_notes import judged_mutants, robustness_note, strength_note
from turncheck.render.wording import tests as test_wording
from turncheck.render.wording.causes import how_proved
from turncheck.render.wording.repeats import few_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Location
    from turncheck.render.wording.verdict import GateResult, Verdict
    from turncheck.report.model import CaseResult, Report


# How the run went: its gates, what was left out, what was replaced, how it was measured.

_OUTCOMES: Final = ("failed", "not judged", "passed")
_MOST_REASONS: Final = 10
_MOST_PLACES: Final = 3


def run_sections(
    lists: Lists, report: Report, compared: Comparison | None, verdict: Verdict
) -> Iterable[NeutralSection]:
    """How the run went: gates, what was left out, what was replaced."""
    own = [gate for gate in verdict.gates if not gate.follows]
    gates = sorted(own, key=lambda gate: (not gate.fails, _OUTCOMES.index(gate.outcome)))
    shown = _in_plain_sight(lists, report, compared)
    unfolded = {id(gate) for gate in gates[: lists.unfolded]}
    lines: list[Entry] = []
    for gate in gates[:BUILT]:
        lines.append(entries.gate(_without_skipped(_brief(gate)), shown, causes=id(gate) in unfolded))
        if follow := [gate_result for gate_result in verdict.gates if gate_result.follows == gate.name]:
            lines.append(entries.consequences(follow))
    listed = lists.listed("gates", "Gates", lines, lambda line: line, unfolded=BUILT)
    yield listed.cut(2 * lists.unfolded)
    locations = {finding.location for finding in (report.validation.findings if report.validation else ())}
    causes = (gate.first_cause for gate in gates if subject_of(gate.name) == "faults")
    locations |= {cause.location for cause in causes if cause is not None and cause.location is not None}
    reasons = phrases.skipped_by_cause(report.skipped_to_report, locations)
    yield lists.listed("skipped", "Not run", reasons, lambda reason: entries.skipped(*reason), unfolded=BUILT)
    replaced = report.engine.substitutions if report.engine else ()
    title = f"What the engine replaces ({len(replaced)})"
    yield lists.listed("substituted", title, replaced, entries.substitution, unfolded=0)
    yield lists.listed("method", "How it was measured", _method(report, compared), lambda remark: remark, unfolded=0)


def _in_plain_sight(lists: Lists, report: Report, compared: Comparison | None) -> frozenset[Location | str | None]:
    """What the lists above show without unfolding: tests by name, everything else by place."""
    tests = case_keys.wrong_tests(report) if compared is None else newly_failing_tests(compared)
    wrong = case_keys.wrong_sentences(report) if compared is None else likely_noise(compared)[1]
    found = findings_worst_first(report) if compared is None else compared.new_findings
    stories = case_keys.misunderstood_stories(report) if compared is None else compared.stories.newly_misunderstood
    e2e = case_keys.misunderstood_cases(report) if compared is None else compared.e2e.newly_misunderstood
    shown = [test for group in tests_by_cause(tests)[: lists.unfolded] for test in group]
    places: list[Location | str | None] = [case.location for _, case in shown]
    places += [f"{kind} {case.name}{test_wording.with_copy_count(case)}" for kind, case in shown]
    if compared:
        commit = compared.baseline.commit
        places += [
            test_wording.removed_test_text(*test, commit) for test in tests_gone(compared)[: lists.unfolded // 2]
        ]
    places += [case.location for cases in (stories, e2e, wrong) for case in cases[: lists.unfolded]]
    for _, severity, _ in SEVERITIES[:2]:
        groups = findings_by_cause([finding for finding in found if finding.severity == severity])
        places += [finding.location for group in groups[: lists.unfolded] for finding in group]
    return frozenset(places)


def overlaps(report: Report, compared: Comparison | None) -> list[phrases.OverlapRemark]:
    return list(phrases.overlap_remarks(report.nlu, compared.base_overlap if compared else None)) if report.nlu else []


def _method(report: Report, compared: Comparison | None) -> list[Entry]:
    """How the figures were computed."""
    parts = [part for part in (report.nlu, report.core, report.e2e, report.robustness) if part]
    known = [remark.in_words for remark in overlaps(report, compared) if not remark.new]
    known += how_proved(report, compared)
    return [Entry(line(Prose(remark, 1000))) for remark in (*known, *(one for part in parts for one in part.remarks))]


def _brief(gate: GateResult) -> GateResult:
    """The gate without why there is no base, which the document has said already."""
    if isinstance(gate.without_base, str):
        return msgspec.structs.replace(gate, reason=gate.without_base)
    return gate


def _without_skipped(gate: GateResult) -> GateResult:
    """The gate without the evaluations and cases that were not run, which the document lists with the reason."""
    return msgspec.structs.replace(
        gate, failed_by=tuple(cause for cause in gate.failed_by if cause.not_run is not True)
    )


DEGRADATION: Final = (
    "method", "covered", "confusions", "intents", "suites", "commands", "still_remarked", "still_found", "still_wrong",
    "still_misunderstood", "still_misunderstood_cases", "still_failing", "substituted", "survivors", "noise",
    "edited_sentences", "flips", "right", "gone", "gone_elsewhere", "names", "notes", "reached", "uncovered",
    "skipped", "remarks", "findings", "unknown_found", "labels", "relabelled", "wrong", "removed", "components",
    "fallback", "stripped", "cut", "gone_tests", "collisions", "dropped", "mostly_wrong", "misunderstood",
    "misunderstood_cases", "failing_if_repaired", "unknown_failing", "losing", "failing", "errors", "gates", "worse",
    "unseen", "deleted", "metrics", "edited", "edited_unrun", "quarantined", "settings", "asked", "suppressions",
)  # fmt: skip
"""The order in which lists give up entries: details, what was wrong already, became right, became wrong, the gates; and
last how the change alters what it is judged by."""
_OLD: Final = {
    "still_failing": ("failing test", "failing tests"),
    "still_misunderstood": ("misunderstood sentence", "misunderstood sentences"),
    "still_misunderstood_cases": ("message misunderstood", "messages misunderstood"),
    "still_wrong": ("misclassified sentence", "misclassified sentences"),
    "still_found": ("finding in the data", "findings in the data"),
    "still_remarked": ("remark on the run", "remarks on the run"),
}
"""Lists of what the base has too, and what they count."""
ORDER: Final = (
    "remarks", "edited", "edited_unrun", "quarantined", "errors", "cut", "stripped", "relabelled", "fallback",
    "components",
    "mostly_wrong", "collisions", "dropped", "failing", "losing", "unknown_failing", "failing_if_repaired",
    "misunderstood",
    "misunderstood_cases", "gone_tests", "wrong", "labels", "removed", "findings", "unknown_found", "uncovered",
    "reached", "survivors", "noise", "notes", "flips", "edited_sentences", "right", "gone", "gone_elsewhere", "names",
    "still_failing", "still_misunderstood", "still_misunderstood_cases", "still_wrong", "still_found", "still_remarked",
    "suites", "commands", "intents", "confusions", "covered", "gates", "skipped", "substituted", "method",
)  # fmt: skip
"""How a document shows the sections that are below its figures."""
_WHOLE: Final = frozenset(
    {"suppressions", "settings", "asked", "edited", "edited_unrun", "quarantined", "metrics", "gates"}
)
"""What alters the judgement, and the judgement: these lists end only where the document is full."""
_NO_NEWS: Final = frozenset(
    {"confusions", "intents", "covered", "suites", "commands", "skipped", "substituted", "method"}
)
"""What there is to know about a run, but not about a change that changed nothing."""


def all_sections(
    report: Report, comparison: Comparison | None, verdict: Verdict, unfolded: int
) -> tuple[NeutralSection, ...]:
    """Return every section that has something to show, ``unfolded`` entries of each in plain sight."""
    compared = comparison if comparison and comparison.judged else None
    lists = Lists(unfolded, case_keys.CaseKeys(report))
    sections = [
        metrics_table(report, comparison),
        *([worse_figures(report, compared, unfolded)] if compared else []),
        lists.listed("remarks", "", _remarks(report, compared), lambda remark: remark),
        _old_remarks(lists, report, compared),
        *(altered_rules(lists, comparison) if comparison and not compared else ()),
        *(changes(lists, report, compared) if compared else _failures(lists, report)),
        _in_quarantine(lists, report),
        batch_table(report),
        command_table(report),
        coverage_table(report),
        intent_table(report, compared),
        confusion_table(report),
        _survivors(lists, report),
        _noise(lists, report),
        *run_sections(lists, report, compared, verdict),
    ]
    return tuple(section for section in sections if section.total)


def shortened(
    sections: Iterable[NeutralSection], report: Report, compared: Comparison | None, most: int, most_below: int
) -> tuple[tuple[NeutralSection, ...], Line]:
    """Return what a short document shows, and what the base has too as one line of numbers.

    Old failures that fail the run stay a list, and so do sentences that the base judged in another mode. If nothing
    changed, the figures are all there is.

    Args:
        sections: all that there is to say.
        report: the report.
        compared: the same beside its base, if there is one.
        most: the most entries of a list.
        most_below: of more entries below an entry, so many are shown.
    """
    kept, old = (sections, ()) if compared is None else _without_old(sections, report, compared)
    if compared is not None and not compared.changed:
        no_news = _NO_NEWS - {"skipped"} if _has_failed(kept) else _NO_NEWS
        kept = [_not_passed(section) for section in kept if section.name not in no_news]
    short = (section if section.name in _WHOLE else section.cut(most) for section in kept if section.total)
    return tuple(replace(section, entries=_briefly(section.entries, most_below)) for section in short), old


def _has_failed(sections: Iterable[NeutralSection]) -> bool:
    """Whether a gate failed: why something was not run may be the cause."""
    entries = (entry for section in sections if section.name == "gates" for entry in section.entries)
    return any(isinstance(entry, Entry) and entry.sign == "failed" for entry in entries)


def _not_passed(section: NeutralSection) -> NeutralSection:
    """The section; of the gates those that did not pass."""
    if section.name != "gates":
        return section
    entries = tuple(entry for entry in section.entries if isinstance(entry, Entry) and entry.sign != "passed")
    return replace(section, entries=entries, total=len(entries))


def _without_old(
    sections: Iterable[NeutralSection], report: Report, compared: Comparison
) -> tuple[tuple[NeutralSection, ...], Line]:
    kept, counts = [], []
    listed = {"still_failing"} if counts_old_failures(report.settings.fail_on) else set()
    listed |= {"still_wrong"} if compared.other_mode else set()
    for section in sections:
        if section.name in _OLD and section.name not in listed:
            counts.append(count(section.total, *_OLD[section.name]))
        elif section.name == "confusions":
            kept += [table for table in [more_confused(report, compared)] if table.total]
        else:
            kept.append(section)
    words = f"On the base too, and not listed here: {', '.join(counts)}."
    return tuple(kept), line(words) if counts else ()


def _briefly(entries: tuple[Entry | Row, ...], most: int) -> tuple[Entry | Row, ...]:
    """Entries with the first of what is below them, if that are many."""
    return tuple(
        replace(entry, below=entry.below[:most], in_sight=None, left_out=entry.left_out + len(entry.below) - most)
        if isinstance(entry, Entry) and entry.in_sight is not None
        else entry
        for entry in entries
    )


def _remarks(report: Report, compared: Comparison | None) -> list[Entry]:
    """What a reader must know before believing the figures, without what the base shares."""
    cautions = [line(Prose(warning, names_paths=True)) for warning in (compared.warnings if compared else ())]
    cautions += _notes(report, compared, old=False)
    cautions += [line(Prose(words, 400)) for words in test_wording.to_release(report)]
    cautions += [line(remark.in_words) for remark in overlaps(report, compared) if remark.new]
    cautions += [line(remark) for remark in (batch_remarks(report.batch) if report.batch else ())]
    cautions += _on_unjudged(report, compared, old=False)
    cautions += [line(Prose(words)) for words in few_runs(report)] if compared is None else []
    remarks = [Entry(caution, sign="caution") for caution in cautions]
    if report.stopped is not None:
        remarks.append(
            Entry(
                line("Stopped before the end: ", Prose(on_one_line(report.stopped), 600, names_paths=True)),
                sign="stopped",
            )
        )
    if report.e2e is not None:
        skipped = [
            (case.reason or "no reason was given", case) for case in report.e2e.cases if case.outcome == "skipped"
        ]
        hint = line(Prose(f"To run them, {test_wording.HOW_TO_RUN_ACTIONS}")) if lacks_actions(report) else ()
        remarks += _by_reason(skipped, "skipped", hint)
        remarks += _by_reason([(case.warning or "", case) for case in report.e2e.warned], "passed with a warning")
        remarks += _unclear([case for case in report.e2e.cases if case.outcome == "unclear"])
    return [*remarks, *_understanding_tests(report)]


def _understanding_tests(report: Report) -> Iterable[Entry]:
    """The dialogue understanding tests that nothing judged, and what does."""
    checked = consistency_of(report)
    listed_cases = {(case.location.path, case.name) for case in report.e2e.cases} if report.e2e is not None else set()
    tests = [one for one in (checked.tests if checked is not None else ()) if one.commands is True]
    places = [one.location for one in tests if (one.location.path, one.name) not in listed_cases]
    if places:
        words = f"{count(len(places), 'dialogue understanding test')} not judged: run "
        how = (Code("rasa test du"), " and read its results with ", Code("turncheck report import"))
        yield Entry(line(words, *how, _where(places)), sign="caution")


def _old_remarks(lists: Lists, report: Report, compared: Comparison | None) -> NeutralSection:
    """What holds for the base as well, folded: nothing that the change did."""
    cautions = [*_notes(report, compared, old=True), *_on_unjudged(report, compared, old=True)]
    remarks = [Entry(caution, sign="caution") for caution in cautions]
    title = f"Holds for the base too ({len(remarks)})"
    return lists.listed("still_remarked", title, remarks, lambda remark: remark, unfolded=0)


def _notes(report: Report, compared: Comparison | None, *, old: bool) -> list[Line]:
    """The engine's notes that the base has too, or the others."""
    known = compared.base_notes if compared else ()
    notes = report.engine.notes if report.engine else ()
    return [line(Prose(note, 1000, names_paths=True)) for note in notes if (note in known) is old]


def _on_unjudged(report: Report, compared: Comparison | None, *, old: bool) -> list[Line]:
    """The remark on intents that were not judged, if it is old: if the base judged none of these either."""
    words = phrases.unjudged_remark(report.nlu) if report.nlu else None
    unjudged = {left_out.intent for left_out in report.nlu.unjudged} if report.nlu else set()
    is_old = compared is not None and unjudged <= {*compared.base_unjudged}
    return [line(Prose(words, 1000, names_paths=True))] if words and is_old is old else []


def _unclear(cases: Sequence[CaseResult]) -> list[Entry]:
    """Return the end-to-end cases whose runs do not say how they fare: those with one reason as a number."""
    numbers = Counter(case.reason for case in cases)
    alike = [(case.reason or "", case) for case in cases if numbers[case.reason] > 1]
    found = _by_reason(alike, "unclear")
    apart = [case for case in cases if numbers[case.reason] == 1]
    if not apart:
        return found
    shown = [
        line(
            Code(case.name), ": ", Prose(case.reason or "", 120, names_paths=True), " (", PlaceSpan(case.location), ")"
        )
        for case in apart[:_MOST_PLACES]
    ]
    more = f" and {len(apart) - _MOST_PLACES:,} more" if len(apart) > _MOST_PLACES else ""
    words = line(f"{count(len(apart), 'end-to-end case')} unclear: ", listed(shown, "; "), more)
    return [Entry(words, sign="caution", trace=apart[0].trace_id if len(apart) == 1 else ""), *found]


def _by_reason(cases: Iterable[tuple[str, CaseResult]], what: str, hint: Line = ()) -> list[Entry]:
    """Return how many end-to-end cases share each reason, and where they are, the most frequent reason first."""
    alike: dict[str, list[CaseResult]] = defaultdict(list)
    for reason, case in cases:
        alike[reason].append(case)
    by_number = sorted(alike.items(), key=lambda one: -len(one[1]))
    found_lines = [
        Entry(
            line(
                f"{count(len(found), 'end-to-end case')} {what}: ",
                Prose(reason, 200, names_paths=True),
                _where([case.location for case in found]),
            ),
            sign="caution",
            trace=found[0].trace_id if len(found) == 1 else "",
        )
        for reason, found in by_number[:_MOST_REASONS]
    ]
    others = sum(len(found) for _, found in by_number[_MOST_REASONS:])
    if others:
        reasons = count(len(by_number) - _MOST_REASONS, "other reason")
        found_lines.append(
            Entry(line(f"{count(others, 'more end-to-end case')} {what}, for {reasons}"), sign="caution")
        )
    if hint and found_lines:
        found_lines.append(Entry(hint, sign="caution"))
    return found_lines


def _where(places: Sequence[Location]) -> Line:
    more = f" and {len(places) - _MOST_PLACES:,} more" if len(places) > _MOST_PLACES else ""
    return line(" (", listed([line(PlaceSpan(place)) for place in places[:_MOST_PLACES]]), f"{more})")


def _failures(lists: Lists, report: Report) -> Iterable[NeutralSection]:
    """Without a base: everything that is wrong."""
    yield from lists.in_the_data(findings_worst_first(report), new=False)
    tests, wrong = case_keys.wrong_tests(report), case_keys.wrong_sentences(report)
    yield lists.failing("failing", "Failing tests", tests)
    in_stories = misunderstood_sentences(case_keys.misunderstood_stories(report))
    in_cases = misunderstood_sentences(case_keys.misunderstood_cases(report))
    yield from lists.misunderstood(MISUNDERSTOOD, "Sentences misunderstood{}", in_stories, in_cases, report)
    title = f"Misclassified sentences ({len(wrong)})"
    yield lists.listed("wrong", title, wrong, entries.sentence)


def _in_quarantine(lists: Lists, report: Report) -> NeutralSection:
    """The tests that fail and do not count, folded."""
    held_tests = test_wording.failing_in_quarantine(report)
    return lists.listed(
        "quarantined", f"In quarantine ({len(held_tests)})", held_tests, entries.quarantined, unfolded=0
    )


def _survivors(lists: Lists, report: Report) -> NeutralSection:
    """The faults that nothing notices, folded."""
    strength = report.strength
    survived = [mutant for mutant in (strength.mutants if strength else ()) if mutant.outcome == "survived"]
    title = f"Faults that no test notices ({len(survived)} of {count(judged_mutants(report), 'fault')})"
    return replace(lists.listed("survivors", title, survived, entries.survivor, unfolded=0), note=strength_note(report))


def _noise(lists: Lists, report: Report) -> NeutralSection:
    """The sentences that noise makes misunderstood, folded."""
    robustness = report.robustness
    worst = robustness.worst if robustness else ()
    title = f"Sentences misunderstood under noise ({len(worst)})"
    section = lists.listed("noise", title, worst, entries.under_noise, unfolded=0)
    return replace(section, note=robustness_note(robustness)) if robustness else section
