"""The lists of every document, worst first, and which of them gives up entries when they do not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.comparison.cases import findings_worst_first
from turncheck.comparison.misunderstood import misunderstood_sentences
from turncheck.comparison.tally import how_to_run
from turncheck.comparison.wording import count
from turncheck.render import entries
from turncheck.render.batch_text import batch_remarks
from turncheck.render.case_keys import CaseKeys
from turncheck.render.changed_sections import changes
from turncheck.render.lists import MISUNDERSTOOD, Lists
from turncheck.render.robustness_text import robustness_note
from turncheck.render.run_sections import overlaps, run_sections
from turncheck.render.spans import Entry, Prose, line
from turncheck.render.strength_text import judged_mutants, strength_note
from turncheck.render.tables import batch_table, confusion_table, coverage_table, intent_table, metrics_table
from turncheck.render.unjudged_text import unjudged_remark
from turncheck.render.worse_figures import worse_figures
from turncheck.render.wrong_cases import (
    misunderstood_cases,
    misunderstood_stories,
    wrong_sentences,
    wrong_tests,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.model import Comparison
    from turncheck.comparison.verdict import Verdict
    from turncheck.render.sections import NeutralSection
    from turncheck.render.spans import Line
    from turncheck.report.model import Report

DEGRADATION: Final = (
    "method", "covered", "confusions", "intents", "suites", "still_found", "still_wrong", "still_misunderstood",
    "still_misunderstood_cases", "still_failing", "substituted", "survivors", "noise", "flips", "edited", "right",
    "gone", "gone_elsewhere", "names", "notes", "reached", "uncovered", "skipped", "remarks", "findings", "labels",
    "relabelled", "wrong", "removed", "components", "fallback", "stripped", "cut", "gone_tests", "collisions",
    "misunderstood", "misunderstood_cases", "failing", "errors", "gates", "worse", "unseen", "metrics", "settings",
    "suppressions",
)  # fmt: skip
"""The order in which lists give up entries: details, what was wrong already, became right, became wrong, the gates."""
DETAILS: Final = DEGRADATION[: DEGRADATION.index("reached")]
"""The lists that a short document gives up: they do not say what the change broke."""
_OLD: Final = {
    "still_failing": ("failing test", "failing tests"),
    "still_misunderstood": ("misunderstood sentence", "misunderstood sentences"),
    "still_misunderstood_cases": ("message misunderstood", "messages misunderstood"),
    "still_wrong": ("misclassified sentence", "misclassified sentences"),
    "still_found": ("finding in the data", "findings in the data"),
}
"""Lists of what the base has too, and what they count."""
ORDER: Final = (
    "remarks", "errors", "cut", "stripped", "relabelled", "fallback", "components", "collisions", "failing",
    "misunderstood", "misunderstood_cases", "gone_tests", "wrong", "labels", "removed", "findings", "uncovered",
    "reached", "survivors", "noise", "notes", "flips", "right", "edited", "gone", "gone_elsewhere", "names",
    "still_failing", "still_misunderstood", "still_misunderstood_cases", "still_wrong", "still_found", "suites",
    "intents", "confusions", "covered", "gates", "skipped", "substituted", "method",
)  # fmt: skip
"""How a document shows the sections that are below its figures."""


def all_sections(
    report: Report, comparison: Comparison | None, verdict: Verdict, unfolded: int
) -> tuple[NeutralSection, ...]:
    """Return every section that has something to show, ``unfolded`` entries of each in plain sight."""
    compared = comparison if comparison and comparison.judged else None
    lists = Lists(unfolded, CaseKeys(report))
    sections = [
        metrics_table(report, comparison),
        *([worse_figures(report, compared, unfolded)] if compared else []),
        lists.listed("remarks", "", _remarks(report, compared), lambda remark: remark),
        *(changes(lists, report, compared) if compared else _failures(lists, report)),
        batch_table(report),
        coverage_table(report),
        intent_table(report, compared),
        confusion_table(report),
        _survivors(lists, report),
        _noise(lists, report),
        *run_sections(lists, report, compared, verdict, no_base=comparison.baseline.reason if comparison else ""),
    ]
    return tuple(section for section in sections if section.total)


def without_old(
    sections: Iterable[NeutralSection], report: Report, compared: Comparison
) -> tuple[tuple[NeutralSection, ...], Line]:
    """Separate what the base has too, as one line of numbers.

    Old failures that fail the run stay a list, and so do sentences that the base judged in another mode.
    """
    kept, counts = [], []
    listed = {"still_failing"} if "test-failures" in report.settings.fail_on else set()
    listed |= {"still_wrong"} if compared.other_mode else set()
    for section in sections:
        if section.name in _OLD and section.name not in listed:
            counts.append(count(section.total, *_OLD[section.name]))
        else:
            kept.append(section)
    words = f"On the base too, and not listed here: {', '.join(counts)}."
    return tuple(kept), line(words) if counts else ()


def _remarks(report: Report, compared: Comparison | None) -> list[Entry]:
    """What a reader must know before believing the figures."""
    cautions = [line(Prose(warning, names_paths=True)) for warning in (compared.warnings if compared else ())]
    cautions += [line(remark.in_words) for remark in overlaps(report, compared) if remark.new]
    cautions += [line(remark) for remark in (batch_remarks(report.batch) if report.batch else ())]
    if unjudged := unjudged_remark(report.nlu) if report.nlu else None:
        cautions.append(line(Prose(unjudged, 1000, names_paths=True)))
    remarks = [Entry(caution, sign="caution") for caution in cautions]
    if report.stopped is not None:
        remarks.append(
            Entry(line("Stopped before the end: ", Prose(report.stopped, 600, names_paths=True)), sign="stopped")
        )
    skipped_cases = [case for case in (report.e2e.cases if report.e2e else ()) if case.outcome == "skipped"]
    if skipped_cases:
        reason = Prose(skipped_cases[0].reason or "no reason was given", 200, names_paths=True)
        remedy = line(Prose(f". To run them, {how_to_run(report)}")) if how_to_run(report) else ()
        words = f"{count(len(skipped_cases), 'end-to-end case')} skipped: "
        remarks.append(Entry(line(words, reason, remedy), sign="caution"))
    warned = report.e2e.warned if report.e2e else ()
    if warned:
        words = f"{count(len(warned), 'end-to-end case')} passed with a warning: "
        remarks.append(Entry(line(words, Prose(warned[0].warning or "", 300, names_paths=True)), sign="caution"))
    return remarks


def _failures(lists: Lists, report: Report) -> Iterable[NeutralSection]:
    """Without a base: everything that is wrong."""
    yield from lists.in_the_data(findings_worst_first(report), new=False)
    tests, wrong = wrong_tests(report), wrong_sentences(report)
    yield lists.failing("failing", "Failing tests", tests)
    in_stories = misunderstood_sentences(misunderstood_stories(report))
    in_cases = misunderstood_sentences(misunderstood_cases(report))
    yield from lists.misunderstood(MISUNDERSTOOD, "Sentences misunderstood{}", in_stories, in_cases, report)
    title = f"Misclassified sentences ({len(wrong)})"
    yield lists.listed("wrong", title, wrong, entries.sentence)


def _survivors(lists: Lists, report: Report) -> NeutralSection:
    """The faults that nothing notices, folded."""
    strength = report.strength
    survived = [one for one in (strength.mutants if strength else ()) if one.outcome == "survived"]
    title = f"Faults that no test notices ({len(survived)} of {count(judged_mutants(report), 'fault')})"
    return replace(lists.listed("survivors", title, survived, entries.survivor, unfolded=0), note=strength_note(report))


def _noise(lists: Lists, report: Report) -> NeutralSection:
    """The sentences that noise makes misunderstood, folded."""
    robustness = report.robustness
    worst = robustness.worst if robustness else ()
    title = f"Sentences misunderstood under noise ({len(worst)})"
    section = lists.listed("noise", title, worst, entries.under_noise, unfolded=0)
    return replace(section, note=robustness_note(robustness)) if robustness else section
