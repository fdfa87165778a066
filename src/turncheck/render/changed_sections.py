"""What changed sides compared with a base, worst first, and what was already wrong on the base."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from turncheck.comparison.cases import findings_worst_first
from turncheck.comparison.changes import (
    SINGULAR,
    CaseChange,
    ChangedCases,
    ChangedPart,
    CutIntent,
    FallbackChange,
    LessUnderstood,
    StrippedIntent,
    listed_in,
)
from turncheck.comparison.failed_tests import newly_failing_tests, no_longer_checked, tests_because_of
from turncheck.comparison.losses import losing_tests
from turncheck.comparison.misunderstood import misunderstood_sentences
from turncheck.comparison.renames import broken_references
from turncheck.comparison.tally import faults_of
from turncheck.comparison.training_changes import dropped_intents, is_likely_misparsed, noise_of, sentences_of
from turncheck.messages.phrasing import count
from turncheck.render import entries
from turncheck.render.case_keys import misunderstood_cases, misunderstood_stories, new_and_old, wrong_sentences
from turncheck.render.cause_entries import dropped_intent
from turncheck.render.entries import changed_part, item
from turncheck.render.figure_tables import lacks_sentences
from turncheck.render.grouping import Test, caused_first, findings_by_cause, is_caused, number_of_tests
from turncheck.render.lists import MISUNDERSTOOD, Lists
from turncheck.render.spans import (
    BUILT,
    Code,
    Entry,
    Line,
    NeutralSection,
    PlaceSpan,
    Prose,
    Said,
    Section,
    line,
    listed,
)
from turncheck.render.wording.changes import threshold_in_words
from turncheck.render.wording.newly_judged import WHAT, mostly_wrong

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from turncheck.comparison.changes import NewlyJudged
    from turncheck.comparison.model import ChangedItem, Comparison
    from turncheck.report.model import Report


# Sections about what a change took away: sentences of an intent, annotations, parts of the project, understanding.

_MOST_QUOTED: Final = 3
_MOST_NAMED: Final = 8
_STRIPPED: Final = ("removed", "given another entity")


def taken_away(lists: Lists, compared: Comparison) -> Iterable[NeutralSection]:
    """Return what leads a document: what is no longer judged, annotated, understood, or there."""
    cut = compared.cut_intents
    yield lists.listed("cut", f"Intents that lost training sentences ({len(cut)})", cut, _cut)
    numbers = (
        sum(stripped.annotations for stripped in compared.stripped),
        sum(stripped.changed for stripped in compared.stripped),
    )
    words = [f"{what} ({number:,})" for what, number in zip(_STRIPPED, numbers, strict=True) if number]
    yield lists.listed("stripped", f"Annotations {', '.join(words)}", compared.stripped, _stripped)
    less = compared.fallback
    lost = [*map(_lost, less.lost), *_newly_wrong(less)] if less else []
    title = f"No longer understood ({less.number:,})" if less and less.number else "Understood differently"
    because = threshold_in_words(less) if less else ""
    yield lists.listed("fallback", f"{title}: {because}" if because else title, lost, lambda entry: entry)
    components = compared.changed_components
    title = f"Components and policies that run otherwise ({len(components)})"
    yield lists.listed("components", title, components, changed_part)
    removed = compared.removed_items
    yield lists.listed("removed", f"Removed in this change ({len(removed)})", removed, _removed)


def _cut(intent: CutIntent) -> Entry:
    unjudged = ", too few to be judged" if intent.unjudged else ""
    spans = line(
        Code(intent.intent), f": {count(intent.now, 'training sentence')}, {intent.base:,} on the base{unjudged}"
    )
    return Entry(spans, PlaceSpan(intent.location, not intent.now) if intent.location else None)


def _stripped(intent: StrippedIntent) -> Entry:
    types, now = (
        listed([line(Code(name)) for name in names[:_MOST_NAMED]]) for names in (intent.entities, intent.new_entities)
    )
    lost, *others = [
        f"{number:,}{{of}} {what}"
        for what, number in zip(_STRIPPED, (intent.annotations, intent.changed), strict=True)
        if number
    ]
    parts = [lost.format(of=f" of {count(intent.base, 'annotation')}"), *(other.format(of="") for other in others)]
    words = f": {', '.join(parts)}, in {count(intent.sentences, 'sentence')}: "
    return Entry(
        line(Code(intent.intent), words, types, line("; now ", now) if now else ()), PlaceSpan(intent.location)
    )


def _lost(intent: LessUnderstood) -> Entry:
    quoted = listed([line(Said(sentence.text)) for sentence in intent.sentences[:_MOST_QUOTED]])
    more = len(intent.sentences) - _MOST_QUOTED
    words = f": {count(len(intent.sentences), 'sentence')} not understood now: "
    return Entry(line(Code(intent.intent), words, quoted, f" and {more:,} more" if more > 0 else ""))


def _newly_wrong(change: FallbackChange) -> list[Entry]:
    if not change.newly_wrong:
        return []
    quoted = listed([line(Said(similar_sentences.text)) for similar_sentences in change.newly_wrong[:_MOST_QUOTED]])
    more = len(change.newly_wrong) - _MOST_QUOTED
    words = f"{count(len(change.newly_wrong), 'sentence')} taken for a wrong intent instead of asking again: "
    return [Entry(line(words, quoted, f" and {more:,} more" if more > 0 else ""))]


def _removed(part: ChangedPart) -> Entry:
    what = "expression" if part.kind == "regexes" else "word"
    lost = (
        f", {count(part.lost, what)} of it"
        if part.lost
        else f", some of its {what}s"
        if part.change == "changed"
        else ""
    )
    spans = line(f"{SINGULAR.get(part.kind, 'part')} ", Code(part.name), lost)
    return Entry(spans, PlaceSpan(part.location, on_base=part.change == "removed"))


def reached(lists: Lists, report: Report, compared: Comparison) -> Iterable[NeutralSection]:
    """Return what was changed and is reached by tests, what leads a dialogue first, so that it is named.

    Tests that are there and were not run, since there is nothing to learn from, reach nothing yet.
    """
    changed = [item for item in compared.changed_items if item.covered and item.change == "changed"]
    changed.sort(key=lambda changed_item: changed_item.kind not in {"rules", "stories"})
    new = sum(one.covered for one in compared.changed_items) - len(changed)
    more = f", and {new:,} new" if new else ""
    ran = any(one is not None for one in (report.nlu, report.core, report.e2e, report.batch))
    words = "reached by tests" if ran else "only in tests that were not run"
    title = f"Changed, and {words} ({len(changed)}{more})"
    yield lists.listed("reached", title, changed, item, unfolded=min(lists.unfolded, _MOST_QUOTED))


_RULES_CHANGED: Final = "This change alters the rules it is judged by"
_STILL_MISUNDERSTOOD: Final = ("still_misunderstood", "still_misunderstood_cases")
_MOST_HIDDEN: Final = 3
_MOST_RELABELLED: Final = 3
"""In plain sight; the others unfold."""


def _tests(compared: Comparison) -> tuple[tuple[str, ChangedCases], ...]:
    return ("story", compared.stories), ("end-to-end case", compared.e2e), ("batch case", compared.batch)


def _sentences(compared: Comparison) -> tuple[tuple[str, ChangedCases], ...]:
    return ("", compared.examples), ("entities", compared.entities), ("response", compared.responses)


def _of_intents(lists: Lists, compared: Comparison) -> Iterable[NeutralSection]:
    """What is new and mostly wrong, intents that collide, and why intents are really worse."""
    wrong_news = mostly_wrong(compared)
    title = f"New, and mostly wrong ({len(wrong_news)})"
    yield lists.listed("mostly_wrong", title, wrong_news, entries.newly_judged)
    title = f"Intents that began to collide ({len(compared.collisions)})"
    yield lists.listed("collisions", title, compared.collisions, entries.collision)
    dropped = [metric for metric in dropped_intents(compared) if metric.known_causes]
    title = f"Intents that are really worse ({len(dropped)})"
    yield lists.listed("dropped", title, dropped, dropped_intent)


def altered_rules(lists: Lists, comparison: Comparison) -> Iterable[NeutralSection]:
    """What a bot is asked otherwise, and the rules that judge it: also without a report of the base, by its file."""
    asked = [change for change in comparison.settings_changed if change.is_asked]
    yield lists.listed("asked", f"What is asked changed ({len(asked)})", asked, entries.asked, unfolded=BUILT)
    changed = [change for change in comparison.settings_changed if not change.is_asked]
    yield lists.listed("settings", _RULES_CHANGED, changed, entries.setting, unfolded=BUILT)


def changes(lists: Lists, report: Report, compared: Comparison) -> Iterable[NeutralSection]:
    """With a base: what changed sides."""
    suppressed = compared.new_suppressions
    severities = sorted({f"{change.severity}s" for change in suppressed})
    title = f"This change suppresses {' and '.join(severities)} that the base does not ({len(suppressed)})"
    yield lists.listed("suppressions", title, suppressed, entries.suppression, unfolded=BUILT)
    yield from altered_rules(lists, compared)
    engine = report.engine.name if report.engine else ""
    yield lists.listed("deleted", "", compared.deleted_files, entries.deleted_file)
    yield lists.listed("unseen", "", compared.unseen_changes, partial(entries.unseen, engine))
    because = tests_because_of(compared)
    explained = [test for tests in because.values() for test in tests]
    failing = [test for test in newly_failing_tests(compared) if test not in explained]
    yield lists.failing("failing", f"{'Other newly' if because else 'Newly'} failing tests", failing)
    losing = losing_tests(report, compared.many_losses)
    title = f"Together, these fail more often than on the base ({len(losing)})"
    yield lists.listed("losing", title, losing, entries.losing)
    yield from taken_away(lists, compared)
    in_stories, in_cases, new = compared.misunderstood, compared.misunderstood_in_cases, entries.newly_misunderstood
    title = "Sentences newly misunderstood{}"
    for section in lists.misunderstood(MISUNDERSTOOD, title, in_stories, in_cases, report, entry=new):
        misparsed = is_likely_misparsed(compared, "core" if section.name == MISUNDERSTOOD[0] else "e2e")
        yield replace(section, title=f"Likely noise: {section.title}", unfolded=0) if misparsed else section
    yield from _of_intents(lists, compared)
    collided_by = [sentence for collision in compared.collisions for sentence in collision.sentences]
    reported = {(sentence.text, sentence.intent) for sentence in collided_by}
    both = [
        change
        for change in compared.relabelled
        if change.change == "relabelled" or (change.text, change.intent) not in reported
    ]
    title = f"Training sentences moved to another intent, or listed under two ({len(both)})"
    yield lists.listed("relabelled", title, both, entries.training, unfolded=min(lists.unfolded, _MOST_RELABELLED))
    flips, _ = likely_noise(compared)
    others, collided = _parted(compared, {id(case) for _, case in flips})
    caused = [case for case in others if is_caused(case)]
    unexplained = [case for case in others if not is_caused(case)]
    wrong = [case for listed in (caused, collided, unexplained) for case in caused_first(listed)]
    words = "Misclassified sentences" if lacks_sentences(compared) else "Newly misclassified sentences"
    title = f"{words} ({len(wrong)})"
    yield lists.listed("wrong", title, wrong, entries.sentence)
    noisy = {id(case) for _, case in flips}
    labels = [
        (what, case)
        for what, cases in _sentences(compared)[1:]
        for case in cases.newly_failing
        if id(case) not in noisy
    ]
    kinds = dict.fromkeys({"response": "responses"}.get(what, what) for what, _ in labels)
    title = f"{' and '.join(kinds).capitalize()} newly wrong ({len(labels)})"
    yield lists.listed("labels", title, labels, _sentence, unfolded=lists.unfolded // 2)
    title = f"Likely noise, since the figures are: sentences newly wrong ({len(flips)})"
    yield lists.listed("flips", title, flips, _sentence, unfolded=0)
    yield from lists.in_the_data(compared.new_findings, new=True, because=because)
    yield from _not_known(lists, compared)
    uncovered = _not_reached(report, compared)
    title = f"Changed, but not reached by any test ({len(uncovered)} of {len(compared.changed_items)})"
    yield lists.listed("uncovered", title, uncovered, entries.item)
    if not faults_of(report):
        yield from reached(lists, report, compared)
    gone = tests_gone(compared)
    title = f"Tests that are gone ({number_of_tests(gone)})"
    section = lists.listed("gone_tests", title, gone, lambda test: entries.gone(*test), unfolded=lists.unfolded // 2)
    yield replace(_weighted(section, gone), note=_how_to_delete(compared))
    yield from _improvements(lists, report, compared)
    yield from _constants(lists, report, compared)


def _not_known(lists: Lists, compared: Comparison) -> Iterable[NeutralSection]:
    """What may be new or old, since the base could not show it."""
    repaired = [(kind, case) for kind, cases in _tests(compared) for case in cases.failing_if_repaired]
    unknown = [(kind, case) for kind, cases in _tests(compared) for case in cases.unknown_cases]
    # None of these is known to be new: the base, which could not run them, may have them.
    not_run = [
        (kind, replace(case, base_location=case.base_location or case.location))
        for kind, case in unknown
        if (kind, case) not in repaired
    ]
    yield lists.failing("unknown_failing", "Failing tests, which the base could not run", not_run)
    yield lists.failing("failing_if_repaired", "Tests that fail on the repaired base too", repaired)
    found = compared.unknown_findings
    title = f"In the data, and perhaps of the base, which does not show it ({len(found)})"
    yield lists.listed("unknown_found", title, findings_by_cause(found), partial(entries.findings, advises=True))


def _not_reached(report: Report, compared: Comparison) -> list[ChangedItem]:
    """What no test reaches; where a fault kept tests from running, nobody knows."""
    return [] if faults_of(report) else [item for item in compared.changed_items if not item.covered]


def _improvements(lists: Lists, report: Report, compared: Comparison) -> Iterable[NeutralSection]:
    """What is better or only different, folded."""
    tests = [(kind, case) for kind, cases in _tests(compared) for case in cases.better]
    sentences = [(what, case) for what, cases in _sentences(compared) for case in cases.better]
    right = [entries.step(*test) for test in tests[:BUILT]] + [_sentence(sentence) for sentence in sentences[:BUILT]]
    weights = (*(case.number for _, case in tests), *(1 for _ in sentences))
    title = f"{'Newly right' if all(case.passed for _, case in tests) else 'Better now'} ({sum(weights)})"
    yield Section("right", title, tuple(right[:BUILT]), sum(weights), 0, weights=weights)
    kinds = (*_tests(compared), ("sentence", compared.examples))
    # Those that broke are listed above.
    reported = {id(case) for _, cases in kinds for case in (*cases.became_wrong, *cases.newly_misunderstood)}
    edited = [(kind, case) for kind, cases in kinds for case in cases.edited if id(case) not in reported]
    # Sentences of the training data test nothing by themselves: the change may edit any number of them.
    no_tests = {"sentence"} if report.nlu is not None and report.nlu.mode == "cross-validation" else set()
    for name, title, cases in (
        ("edited", "Edited or renamed", [one for one in edited if one[0] not in no_tests]),
        ("edited_sentences", "Training sentences that were edited", [one for one in edited if one[0] in no_tests]),
    ):
        with_number = f"{title} ({number_of_tests(cases)})"
        section = lists.listed(name, with_number, cases, lambda case: entries.edited(*case), unfolded=0)
        yield _weighted(section, cases)
    checked = () if isinstance(compared.consistency, msgspec.UnsetType) else compared.consistency.edited
    title = f"Edited ({len(checked)})"
    yield lists.listed("edited_unrun", title, checked, entries.edited_unrun, unfolded=0)
    gone = [finding for finding in compared.gone_findings if finding.location.line]
    yield lists.listed("gone", f"No longer in the data ({len(gone)})", gone, entries.finding_gone, unfolded=0)
    elsewhere = [finding for finding in compared.gone_findings if not finding.location.line]
    title = f"No longer reported ({len(elsewhere)})"
    yield lists.listed("gone_elsewhere", title, elsewhere, entries.finding_gone, unfolded=0)
    yield _names(lists, report, compared)


def _names(lists: Lists, report: Report, compared: Comparison) -> NeutralSection:
    """New, renamed and removed names that no other list has; of new ones how they do.

    What is mostly wrong is listed above.
    """
    judged = {(WHAT[one.kind], one.name): one for one in compared.newly_judged}
    parts = [(part.kind, part.name) for part in _not_reached(report, compared)]
    parts += [(part.kind, part.name) for part in compared.removed_items]
    listed = {(SINGULAR.get(kind, ""), name) for kind, name in parts}
    listed |= {("intent", cut.intent) for cut in compared.cut_intents}
    names = [
        (what, named, removed)
        for what, changed in (("intent", compared.intents), ("entity", compared.entity_types))
        for removed, things in ((False, changed.added), (True, changed.removed))
        for named in things
        if not _is_told(judged.get((what, named.name)), is_listed=(what, named.name) in listed)
    ]
    found = [entries.named(*name, judged.get((name[0], name[1].name))) for name in names]
    told = [frozenset(broken_references(finding)) for finding in compared.new_findings]
    renamed = [one for one in compared.renamed if not any({one.old, one.new} <= names for names in told)]
    found += map(entries.renamed, renamed)
    listed_there = {(what, named.name) for what, named, removed in names if not removed}
    others = [one for key, one in judged.items() if key not in listed_there and not one.mostly_wrong]
    found += map(entries.newly_judged, others)
    what = "intents, entities, responses and suites" if others else "intents and entities"
    what = what if all(one.kind in {"intents", "entities"} for one in renamed) else "names"
    how = "New, renamed and removed" if renamed else "New and removed"
    return lists.listed("names", f"{how} {what} ({len(found)})", found, lambda entry: entry, unfolded=0)


def _is_told(new: NewlyJudged | None, *, is_listed: bool) -> bool:
    """Whether another list has a name, with how it does if it is judged."""
    return is_listed if new is None else new.mostly_wrong


def _constants(lists: Lists, report: Report, compared: Comparison) -> Iterable[NeutralSection]:
    """What was already wrong on the base, folded."""
    old = new_and_old(report, compared).old
    yield lists.failing("still_failing", "Tests that fail on the base too", old, unfolded=0)
    stories = misunderstood_stories(report, _not_misunderstood_there(compared.stories))
    cases = misunderstood_cases(report, _not_misunderstood_there(compared.e2e))
    words, both = "Sentences misunderstood{} on the base too", (stories, cases)
    in_stories, in_cases = map(misunderstood_sentences, both)
    yield from lists.misunderstood(_STILL_MISUNDERSTOOD, words, in_stories, in_cases, report, unfolded=0)
    newly = {(case.name, case.location) for case in compared.examples.newly_failing}
    wrong = [case for case in wrong_sentences(report) if (case.name, case.location) not in newly]
    title = "Misclassified sentences" if compared.other_mode else "Sentences misclassified on the base too"
    title = f"{title} ({len(wrong)})"
    yield lists.listed("still_wrong", title, wrong, entries.sentence, unfolded=0)
    is_apart = listed_in((*compared.new_findings, *compared.unknown_findings))
    known = [finding for finding in findings_worst_first(report) if not is_apart(finding)]
    title = f"In the data of the base too ({len(known)})"
    groups = findings_by_cause(known)
    section = lists.listed(
        "still_found", title, groups, lambda group: entries.findings(group, advises=False), unfolded=0
    )
    yield replace(section, total=len(known), weights=tuple(map(len, groups)))


def _not_misunderstood_there(cases: ChangedCases) -> list[CaseChange]:
    """The tests that are misunderstood now and were not on the base: they passed, failed, or were not there."""
    changed = (*cases.better, *cases.edited)
    return [*cases.newly_misunderstood, *(case for case in changed if case.misunderstood and case.base_failed)]


def _how_to_delete(compared: Comparison) -> Line:
    """What to do if tests were removed on purpose, and where they may be if not."""
    hidden = [
        line(Prose(change.message, names_paths=True), " ", Prose(change.hint), " ")
        for change in no_longer_checked(compared)
    ]
    accept = line("To delete a test on purpose, name it, its file or folder in the setting ", Code("accept-gone"), ".")
    return line(*hidden[:_MOST_HIDDEN], accept)


def _sentence(judged: tuple[str, CaseChange]) -> Entry:
    what, case = judged
    return entries.labelled(what, case) if what else entries.sentence(case)


def likely_noise(compared: Comparison) -> tuple[list[tuple[str, CaseChange]], list[CaseChange]]:
    """Newly wrong sentences under figures that are within noise; and the sentences with a wrong intent that are not."""
    named = {"intents": "", "entities": "entities", "responses": "response"}
    flips = [(named[judged], case) for judged, _ in sentences_of(compared) for case in noise_of(compared, judged)]
    noisy = {id(case) for _, case in flips}
    return flips, [case for case in compared.examples.newly_failing if id(case) not in noisy]


def _parted(compared: Comparison, noisy: Container[int]) -> tuple[list[CaseChange], list[CaseChange]]:
    """Newly wrong sentences: those without a collision, and those that a collision already explains."""
    reported = {frozenset(collision.intents) for collision in compared.collisions if collision.sentences}
    others: list[CaseChange] = []
    collided: list[CaseChange] = []
    for case in compared.examples.newly_failing:
        if id(case) in noisy:
            continue
        if {case.expected, case.actual} in reported:
            collided.append(_without_reasons(case))
        else:
            others.append(case)
    return others, collided


def _without_reasons(case: CaseChange) -> CaseChange:
    """A sentence of two colliding intents: the reasons are given there, once for all of them."""
    return msgspec.structs.replace(case, because=())


def tests_gone(compared: Comparison) -> list[Test]:
    return [(kind, case) for kind, cases in _tests(compared) for case in cases.gone]


def _weighted(section: NeutralSection, tests: Sequence[Test]) -> NeutralSection:
    """The section, each entry with the copies that it represents."""
    weights = tuple(case.number for _, case in tests)
    return replace(section, total=sum(weights), weights=weights)
