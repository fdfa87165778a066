"""The lists of every document, worst first, and who gives way when they do not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from turncheck.comparison.because import newly_failing_tests, tests_because_of
from turncheck.comparison.cases import findings_worst_first
from turncheck.comparison.changes import and_copies
from turncheck.comparison.consequences import consequences_of
from turncheck.comparison.gone_tests import gone_from, out_of_sight
from turncheck.comparison.misunderstood import misunderstood_sentences
from turncheck.comparison.tally import how_to_run
from turncheck.comparison.wording import count
from turncheck.render import entries
from turncheck.render.batch_text import batch_remarks
from turncheck.render.case_keys import CaseKeys
from turncheck.render.causes import caused_first, findings_by_cause, in_both, number_of_tests, tests_by_cause
from turncheck.render.not_run import skipped_by_cause
from turncheck.render.overlap_text import overlap_remarks
from turncheck.render.robustness_text import robustness_note
from turncheck.render.sections import BUILT, Section
from turncheck.render.spans import Code, Entry, Prose, line
from turncheck.render.strength_text import judged_mutants, strength_note
from turncheck.render.tables import batch_table, confusion_table, coverage_table, intent_table, metrics_table
from turncheck.render.unjudged_text import unjudged_remark
from turncheck.render.wrong_cases import (
    misunderstood_cases,
    misunderstood_stories,
    new_and_old,
    wrong_sentences,
    wrong_tests,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases, FindingChange, MisunderstoodSentence
    from turncheck.comparison.model import Comparison
    from turncheck.comparison.verdict import GateResult, Verdict
    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.render.causes import Test
    from turncheck.render.overlap_text import OverlapRemark
    from turncheck.render.sections import NeutralSection
    from turncheck.render.spans import Line
    from turncheck.report.model import Report

DEGRADATION: Final = (
    "method", "covered", "confusions", "intents", "suites", "still_found", "still_wrong", "still_misunderstood",
    "still_misunderstood_cases", "still_failing",
    "substituted", "survivors", "noise", "edited", "right", "gone", "names", "notes", "uncovered", "skipped", "remarks",
    "findings", "labels", "relabelled", "wrong", "gone_tests", "collisions", "misunderstood", "misunderstood_cases",
    "failing", "errors", "gates", "metrics",
    "settings",
)  # fmt: skip
"""Who gives up entries first: details, then what was wrong already, what became right, what became wrong, the gates."""
ORDER: Final = (
    "remarks", "errors", "collisions", "relabelled", "failing", "misunderstood", "misunderstood_cases", "gone_tests",
    "wrong", "labels", "findings", "uncovered", "survivors", "noise", "notes", "right", "edited", "gone", "names",
    "still_failing", "still_misunderstood", "still_misunderstood_cases", "still_wrong", "still_found", "suites",
    "intents", "confusions", "covered", "gates", "skipped", "substituted", "method",
)  # fmt: skip
"""How a document shows the sections that are below its figures."""

_RULES_CHANGED: Final = "This change alters the rules it is judged by"
_MISUNDERSTOOD: Final = ("misunderstood", "misunderstood_cases")
_STILL_MISUNDERSTOOD: Final = ("still_misunderstood", "still_misunderstood_cases")

_Item = TypeVar("_Item")
_IN_THE_DATA: Final = (("errors", "error", "errors"), ("findings", "warning", "warnings"), ("notes", "info", "notes"))
"""Sections of findings: their names, severities, and what they are called."""
_MOST_HIDDEN: Final = 3
_MOST_RELABELLED: Final = 3
"""In plain sight; the others unfold."""
_OUTCOMES: Final = ("failed", "not judged", "passed")


def all_sections(
    report: Report, comparison: Comparison | None, verdict: Verdict, unfolded: int
) -> tuple[NeutralSection, ...]:
    """Return every section that has something to show, ``unfolded`` entries of each in plain sight."""
    compared = comparison if comparison and comparison.judged else None
    made = _Sections(unfolded, CaseKeys(report))
    sections = [
        metrics_table(report, comparison),
        made.listed("remarks", "", _remarks(report, compared), lambda remark: remark),
        *(made.changes(report, compared) if compared else made.failures(report)),
        batch_table(report),
        coverage_table(report),
        intent_table(report, compared),
        confusion_table(report),
        made.survivors(report),
        made.noise(report),
        *made.run(report, compared, verdict, no_base=comparison.baseline.reason if comparison else ""),
    ]
    return tuple(section for section in sections if section.total)


def _remarks(report: Report, compared: Comparison | None) -> list[Entry]:
    """What a reader must know before believing the figures."""
    cautions = [line(Prose(warning, names_paths=True)) for warning in (compared.warnings if compared else ())]
    cautions += [line(remark.in_words) for remark in _overlaps(report, compared) if remark.new]
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


def _overlaps(report: Report, compared: Comparison | None) -> list[OverlapRemark]:
    return list(overlap_remarks(report.nlu, compared.base_overlap if compared else None)) if report.nlu else []


def _method(report: Report, compared: Comparison | None) -> list[Entry]:
    """How the figures were made, for who wants to know."""
    parts = [part for part in (report.nlu, report.core, report.e2e) if part]
    known = [remark.in_words for remark in _overlaps(report, compared) if not remark.new]
    return [Entry(line(Prose(remark, 1000))) for remark in (*known, *(one for part in parts for one in part.remarks))]


def _tests(compared: Comparison) -> tuple[tuple[str, ChangedCases], ...]:
    return ("story", compared.stories), ("end-to-end case", compared.e2e), ("batch case", compared.batch)


def _sentences(compared: Comparison) -> tuple[tuple[str, ChangedCases], ...]:
    return ("", compared.examples), ("entities", compared.entities), ("response", compared.responses)


@dataclass(frozen=True, slots=True)
class _Sections:
    """Makes the sections, ``unfolded`` entries of each in plain sight."""

    unfolded: int
    keys: CaseKeys

    def listed(
        self,
        name: str,
        title: str,
        items: Sequence[_Item],
        entry: Callable[[_Item], Entry],
        *,
        unfolded: int | None = None,
    ) -> NeutralSection:
        built = tuple(self.keys.placed(entry(item)) for item in islice(items, BUILT))
        return Section(name, title, built, len(items), self.unfolded if unfolded is None else unfolded)

    def failures(self, report: Report) -> Iterable[NeutralSection]:
        """Without a base: all that is wrong."""
        yield from self._in_the_data(findings_worst_first(report), new=False)
        tests, wrong = wrong_tests(report), wrong_sentences(report)
        yield self._failing("failing", "Failing tests", tests)
        in_stories = misunderstood_sentences(misunderstood_stories(report))
        in_cases = misunderstood_sentences(misunderstood_cases(report))
        yield from self._misunderstood(_MISUNDERSTOOD, "Sentences misunderstood{}", in_stories, in_cases, report)
        title = f"Misclassified sentences ({len(wrong)})"
        yield self.listed("wrong", title, wrong, entries.sentence)

    def _in_the_data(
        self,
        found: Sequence[Finding | FindingChange],
        *,
        new: bool,
        because: Mapping[Location, Sequence[Test]] = MappingProxyType({}),
    ) -> Iterable[NeutralSection]:
        """A section for each severity, findings about one thing as one entry; notes are folded."""
        for name, severity, plural in _IN_THE_DATA:
            listed = [finding for finding in found if finding.severity == severity]
            groups = findings_by_cause(listed)
            title = f"{f'New {plural}' if new else plural.capitalize()} in the data ({len(listed)})"
            unfolded = 0 if severity == "info" else self.unfolded
            section = self.listed(name, title, _hints_once(groups), partial(_findings, because), unfolded=unfolded)
            yield replace(section, total=len(listed), weights=tuple(map(len, groups)))

    def _failing(self, name: str, title: str, tests: Sequence[Test], *, unfolded: int | None = None) -> NeutralSection:
        """Tests that fail, those that fail alike as one entry."""
        groups, number = tests_by_cause(tests), number_of_tests(tests)
        section = self.listed(name, f"{title} ({number})", groups, entries.steps, unfolded=unfolded)
        return replace(section, total=number, weights=tuple(map(number_of_tests, groups)))

    def _misunderstood(
        self,
        names: tuple[str, str],
        text: str,
        stories: Sequence[MisunderstoodSentence],
        cases: Sequence[MisunderstoodSentence],
        report: Report,
        *,
        entry: Callable[[MisunderstoodSentence, MisunderstoodSentence | None], Entry] = entries.misunderstood,
        **how: int,
    ) -> Iterable[NeutralSection]:
        """The sentences that alone keep tests from passing, and what that means for the run.

        One that is understood alike in both kinds of tests is listed once; of the others of end-to-end cases, what was
        understood on the base is what is expected. ``text``: the title, where ``{}`` is followed by the kind of test.
        """
        both, only_in_cases = in_both(stories, cases)
        where = "" if any(other for _, other in both) else " in stories"
        in_stories = self.listed(names[0], f"{text.format(where)} ({len(both)})", both, lambda one: entry(*one), **how)
        yield replace(in_stories, note=_what_it_does(report))
        title = f"{text.format(' in end-to-end cases')} ({len(only_in_cases)})"
        in_cases = self.listed(names[1], title, only_in_cases, entries.misunderstood_in_case, **how)
        yield replace(in_cases, note=_what_it_does(report))

    def changes(self, report: Report, compared: Comparison) -> Iterable[NeutralSection]:
        """Against a base: what changed sides."""
        changed = compared.settings_changed
        yield self.listed("settings", _RULES_CHANGED, changed, entries.setting, unfolded=BUILT)
        because = tests_because_of(compared)
        explained = [test for tests in because.values() for test in tests]
        failing = [test for test in newly_failing_tests(compared) if test not in explained]
        yield self._failing("failing", f"{'Other newly' if because else 'Newly'} failing tests", failing)
        in_stories, in_cases, new = compared.misunderstood, compared.misunderstood_in_cases, entries.newly_misunderstood
        title = "Sentences newly misunderstood{}"
        yield from self._misunderstood(_MISUNDERSTOOD, title, in_stories, in_cases, report, entry=new)
        collisions = compared.collisions
        title = f"Intents that began to collide ({len(collisions)})"
        yield self.listed("collisions", title, collisions, entries.collision)
        reported = {(one.text, one.intent) for collision in collisions for one in collision.sentences}
        both = [one for one in compared.relabelled if (one.text, one.intent) not in reported]
        title = f"Training sentences moved to another intent, or written under two ({len(both)})"
        yield self.listed("relabelled", title, both, entries.training, unfolded=min(self.unfolded, _MOST_RELABELLED))
        others, collided = _parted(compared)
        wrong = [*caused_first(others), *collided]
        unfolded = min(len(others), self.unfolded)
        title = f"Newly misclassified sentences ({len(wrong)})"
        yield self.listed("wrong", title, wrong, entries.sentence, unfolded=unfolded)
        labels = [(what, case) for what, cases in _sentences(compared)[1:] for case in cases.newly_failing]
        wrong_entities, responses = len(compared.entities.newly_failing), len(compared.responses.newly_failing)
        kinds = [kind for kind, number in (("entities", wrong_entities), ("responses", responses)) if number]
        title = f"{' and '.join(kinds).capitalize()} newly wrong ({len(labels)})"
        yield self.listed("labels", title, labels, _sentence, unfolded=self.unfolded // 2)
        yield from self._in_the_data(compared.new_findings, new=True, because=because)
        uncovered = [item for item in compared.changed_items if not item.covered]
        title = f"Changed, and no test reaches it ({len(uncovered)} of {len(compared.changed_items)})"
        yield self.listed("uncovered", title, uncovered, entries.item)
        gone = _gone(compared)
        title = f"Tests that are gone ({number_of_tests(gone)})"
        section = self.listed("gone_tests", title, gone, lambda test: entries.gone(*test), unfolded=self.unfolded // 2)
        yield replace(_weighted(section, gone), note=_how_to_delete(compared))
        yield from self._improvements(compared)
        yield from self._constants(report, compared)

    def _improvements(self, compared: Comparison) -> Iterable[NeutralSection]:
        """What is better or only different, folded."""
        tests = [(kind, case) for kind, cases in _tests(compared) for case in cases.better]
        sentences = [(what, case) for what, cases in _sentences(compared) for case in cases.better]
        right = [entries.step(*test) for test in tests[:BUILT]] + [_sentence(one) for one in sentences[:BUILT]]
        weights = (*(case.number for _, case in tests), *(1 for _ in sentences))
        title = f"Newly right ({sum(weights)})"
        yield Section("right", title, tuple(right[:BUILT]), sum(weights), 0, weights=weights)
        kinds = (*_tests(compared), ("sentence", compared.examples))
        # Those that broke are above already.
        reported = {id(case) for _, cases in kinds for case in (*cases.became_wrong, *cases.newly_misunderstood)}
        edited = [(kind, case) for kind, cases in kinds for case in cases.edited if id(case) not in reported]
        title = f"Edited or renamed ({number_of_tests(edited)})"
        section = self.listed("edited", title, edited, lambda case: entries.edited(*case), unfolded=0)
        yield _weighted(section, edited)
        gone = compared.gone_findings
        yield self.listed("gone", f"No longer in the data ({len(gone)})", gone, entries.finding_gone, unfolded=0)
        names = [
            (what, named, removed)
            for what, changed in (("intent", compared.intents), ("entity", compared.entity_types))
            for removed, things in ((False, changed.added), (True, changed.removed))
            for named in things
        ]
        title = f"New and removed intents and entities ({len(names)})"
        yield self.listed("names", title, names, lambda name: entries.named(*name), unfolded=0)

    def _constants(self, report: Report, compared: Comparison) -> Iterable[NeutralSection]:
        """What was wrong on the base already, folded."""
        _, tests = new_and_old(report, compared)
        yield self._failing("still_failing", "Tests that fail on the base too", tests, unfolded=0)
        new_ones = {(case.name, case.location) for case in compared.stories.newly_misunderstood}
        stories = [case for case in misunderstood_stories(report) if (case.name, case.location) not in new_ones]
        new_ones = {(case.name, case.location) for case in compared.e2e.newly_misunderstood}
        cases = [case for case in misunderstood_cases(report) if (case.name, case.location) not in new_ones]
        words, both = "Sentences misunderstood{} on the base too", (stories, cases)
        in_stories, in_cases = map(misunderstood_sentences, both)
        yield from self._misunderstood(_STILL_MISUNDERSTOOD, words, in_stories, in_cases, report, unfolded=0)
        newly = {(case.name, case.location) for case in compared.examples.newly_failing}
        wrong = [case for case in wrong_sentences(report) if (case.name, case.location) not in newly]
        title = "Misclassified sentences" if compared.other_mode else "Sentences misclassified on the base too"
        title = f"{title} ({len(wrong)})"
        yield self.listed("still_wrong", title, wrong, entries.sentence, unfolded=0)
        found_now = {(one.code, one.message, one.location) for one in compared.new_findings}
        known_or_new = findings_worst_first(report)
        known = [one for one in known_or_new if (one.code, one.message, one.location) not in found_now]
        title = f"In the data of the base too ({len(known)})"
        groups = findings_by_cause(known)
        section = self.listed(
            "still_found", title, [(one, False) for one in groups], partial(_findings, {}), unfolded=0
        )
        yield replace(section, total=len(known), weights=tuple(map(len, groups)))

    def survivors(self, report: Report) -> NeutralSection:
        """The faults that nothing notices, folded."""
        strength = report.strength
        survived = [one for one in (strength.mutants if strength else ()) if one.outcome == "survived"]
        title = f"No test notices if this is lost ({len(survived)} of {count(judged_mutants(report), 'fault')})"
        return replace(
            self.listed("survivors", title, survived, entries.survivor, unfolded=0), note=strength_note(report)
        )

    def noise(self, report: Report) -> NeutralSection:
        """The sentences that noise makes misunderstood, folded."""
        robustness = report.robustness
        worst = robustness.worst if robustness else ()
        title = f"Sentences that noise makes misunderstood ({len(worst)})"
        section = self.listed("noise", title, worst, entries.under_noise, unfolded=0)
        return replace(section, note=robustness_note(robustness)) if robustness else section

    def run(
        self, report: Report, compared: Comparison | None, verdict: Verdict, *, no_base: str
    ) -> Iterable[NeutralSection]:
        """How the run went: gates, what was left out, what was replaced.

        ``no_base``: why there is no baseline, which the document says once, above the gates.
        """
        own = [gate for gate in verdict.gates if not gate.follows]
        gates = sorted(own, key=lambda gate: (not gate.fails, _OUTCOMES.index(gate.outcome)))
        shown = self._in_plain_sight(report, compared)
        unfolded = {id(gate) for gate in gates[: self.unfolded]}
        lines: list[Entry] = []
        for gate in gates[:BUILT]:
            lines.append(entries.gate(_without(no_base, gate), shown, causes=id(gate) in unfolded))
            if follow := consequences_of(gate, verdict.gates):
                lines.append(entries.consequences(follow))
        listed = self.listed("gates", "Gates", lines, lambda line: line, unfolded=BUILT)
        yield listed.cut(2 * self.unfolded)
        found = {finding.location for finding in (report.validation.findings if report.validation else ())}
        reasons = skipped_by_cause(report.skipped_to_report, found)
        yield self.listed("skipped", "Not run", reasons, lambda reason: entries.skipped(*reason), unfolded=BUILT)
        replaced = report.engine.substitutions if report.engine else ()
        title = f"What the engine replaces ({len(replaced)})"
        yield self.listed("substituted", title, replaced, entries.substitution, unfolded=0)
        yield self.listed("method", "How it was measured", _method(report, compared), lambda remark: remark, unfolded=0)

    def _in_plain_sight(self, report: Report, compared: Comparison | None) -> frozenset[Location | str | None]:
        """What the lists above show without a click: tests by name, other things by place."""
        tests = wrong_tests(report) if compared is None else newly_failing_tests(compared)
        wrong = wrong_sentences(report) if compared is None else compared.examples.newly_failing
        found = findings_worst_first(report) if compared is None else compared.new_findings
        stories = misunderstood_stories(report) if compared is None else compared.stories.newly_misunderstood
        e2e = misunderstood_cases(report) if compared is None else compared.e2e.newly_misunderstood
        shown = [test for group in tests_by_cause(tests)[: self.unfolded] for test in group]
        places: list[Location | str | None] = [case.location for _, case in shown]
        places += [f"{kind} {case.name}{and_copies(case)}" for kind, case in shown]
        if compared:
            commit = compared.baseline.commit
            places += [gone_from(*test, commit) for test in _gone(compared)[: self.unfolded // 2]]
        places += [case.location for cases in (stories, e2e, wrong) for case in cases[: self.unfolded]]
        for _, severity, _ in _IN_THE_DATA[:2]:
            groups = findings_by_cause([finding for finding in found if finding.severity == severity])
            places += [finding.location for group in groups[: self.unfolded] for finding in group]
        return frozenset(places)


def _findings(because: Mapping[Location, Sequence[Test]], advised: tuple[_Found, bool]) -> Entry:
    found, advises = advised
    return entries.findings(found, advises=advises, because=because.get(found[0].location, ()))


def _how_to_delete(compared: Comparison) -> Line:
    """What to do where tests are gone on purpose, and where they may be if not."""
    hidden = [line(Prose(one.message), " ", Prose(one.hint), " ") for one in out_of_sight(compared)]
    accept = line("To delete a test on purpose, name it, its file or folder in the setting ", Code("accept-gone"), ".")
    return line(*hidden[:_MOST_HIDDEN], accept)


def _without(text: str, gate: GateResult) -> GateResult:
    """The gate without a reason that the document has said already."""
    if not text:
        return gate
    return msgspec.structs.replace(gate, reason=gate.reason.replace(f": {text}", "").replace(f" ({text})", ""))


def _what_it_does(report: Report) -> Line:
    """What misunderstood tests do to the run."""
    outcome = "this fails the run" if report.settings.misunderstood == "fail" else "this does not fail the run"
    return line(Code(f"misunderstood: {report.settings.misunderstood}"), f": {outcome}.")


_Found = tuple["Finding | FindingChange", ...]


def _hints_once(groups: Sequence[_Found]) -> list[tuple[_Found, bool]]:
    """What to do is said once, at the first of those that ask for the same."""
    first: dict[str, int] = {}
    return [(group, first.setdefault(group[0].hint, place) == place) for place, group in enumerate(groups)]


def _sentence(judged: tuple[str, CaseChange]) -> Entry:
    what, case = judged
    return entries.labelled(what, case) if what else entries.sentence(case)


def _parted(compared: Comparison) -> tuple[list[CaseChange], list[CaseChange]]:
    """Sentences newly wrong: those of no collision, and those that a collision explains already."""
    reported = {frozenset(collision.intents) for collision in compared.collisions if collision.sentences}
    others: list[CaseChange] = []
    collided: list[CaseChange] = []
    for case in compared.examples.newly_failing:
        if {case.expected, case.actual} in reported:
            collided.append(_without_reasons(case))
        else:
            others.append(case)
    return others, collided


def _without_reasons(case: CaseChange) -> CaseChange:
    """A sentence of two colliding intents: the reasons are there, once for all of them."""
    return msgspec.structs.replace(case, because=())


def _gone(compared: Comparison) -> list[Test]:
    return [(kind, case) for kind, cases in _tests(compared) for case in cases.gone]


def _weighted(section: NeutralSection, tests: Sequence[Test]) -> NeutralSection:
    """The section, each entry with the copies that it stands for."""
    weights = tuple(case.number for _, case in tests)
    return replace(section, total=sum(weights), weights=weights)
