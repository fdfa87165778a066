"""One case, finding, gate … as one entry of a Markdown list, each with its place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from turncheck.comparison.consequences import cause_of
from turncheck.comparison.misunderstood import expected_and_predicted
from turncheck.comparison.model import and_copies
from turncheck.comparison.wording import count
from turncheck.messages.finding import Finding
from turncheck.render.links import repository_path
from turncheck.render.sinks.markdown import Markdown, code, join, link, ticked, trusted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.comparison.model import (
        CaseChange,
        ChangedItem,
        Collision,
        FailedBy,
        FindingChange,
        GateResult,
        MisunderstoodSentence,
        Named,
        SettingChange,
        TrainingChange,
    )
    from turncheck.messages.location import Location
    from turncheck.render.causes import Test
    from turncheck.render.links import Links
    from turncheck.report.model import Misunderstanding, Skipped, Substitution

_MOST_BEHIND: Final = 5
"""A failed gate names so many of the things that failed it; all of them stand in verdict.json."""
_MOST_SHOWN: Final = 4
"""Sentences on each side of a collision, tests that fail alike; all of them stand in comparison.json."""
_MOST_FOLDED: Final = 50
"""Of what stands below an entry, so many are there to unfold."""
_PLURALS: Final = {"story": "stories"}
_VERBS: Final = {
    "unchanged": "like",
    "unknown": "like",
    "relabelled": "now in",
    "copied": "new in",
    "added": "new in",
    "removed": "removed from",
}
_WAS: Final = {"relabelled": "was", "copied": "like one of"}
"""How a sentence stands to its other intent."""
_GATE_MARKS: Final = {"passed": "✅", "failed": "❌", "not judged": "➖"}
_SEVERITY_MARKS: Final = {"error": "❌", "warning": "⚠️", "info": "💡"}
_KINDS: Final = {
    "intents": "intent",
    "entities": "entity",
    "actions": "action",
    "responses": "response",
    "slots": "slot",
    "forms": "form",
    "flows": "flow",
    "stories": "story",
    "rules": "rule",
}


@dataclass(frozen=True, slots=True)
class Entries:
    """Writes entries; knows the project's path in its repository, and how to link."""

    root: str
    links: Links
    base: str = ""
    """The commit of the base, for what is gone from it."""

    def place(self, location: Location | None, *, base: bool = False, bare: bool = False) -> Markdown:
        """``path:line`` from the repository's top, linked where it can be, behind a dot unless ``bare``.

        Nothing where it is not known.
        """
        if location is None:
            return trusted("")
        path = repository_path(self.root, location) or location.path
        shown = path if location.line is None else f"{path}:{location.line}"
        linked = link(code(shown), self.links.file(self.root, location, base=base))
        if base and self.base:  # this line is one of the base
            linked = join([trusted("was at "), linked, trusted(" in "), code(self.base[:8])])
        return linked if bare else join([trusted(" · "), linked])

    def sentence(self, case: CaseChange) -> Markdown:
        """A test sentence that is wrong, or right again."""
        edited = case.edits and case.edits != ("moved",)
        was = trusted(" (edited)" if edited else " (new)" if case.base_passed is None else "")
        place = self.place(case.location)
        if case.passed:
            return join([code(case.name), was, trusted(": "), code(case.expected), trusted(" is right again"), place])
        sure = f" ({case.confidence:.2f})" if case.confidence is not None else ""
        got = code(case.actual) if case.actual else trusted("no intent")
        told = [trusted(": expected "), code(case.expected), trusted(", got "), got, trusted(sure)]
        line = join([code(case.name), was, *told, place])
        return join([line, *(join([trusted("\n  - "), self.training(change)]) for change in case.because)])

    def step(self, kind: str, case: CaseChange) -> Markdown:
        """A story, end-to-end or batch case, with the first step that failed."""
        head = self._test(kind, case)
        if case.misunderstood:
            passes = "it passes with its messages understood as on the base" if case.again else "the dialogue passes"
            told = trusted(f": {passes}, a sentence is misunderstood")
            return join([head, told, self.place(case.location)])
        if case.passed or not (case.expected or case.actual):
            return join([head, self.place(case.location)])
        what = [trusted(": "), *_what_went_wrong(case), self.place(case.location)]
        also = [self._also_misunderstood(one, case=bool(case.again)) for one in case.sentences]
        return join([head, *what, *_below_case(_heard(case)), *also, *_again(case)])

    def _also_misunderstood(self, sentence: Misunderstanding, *, case: bool) -> Markdown:
        """What is wrong with a test that fails anyhow."""
        expected, predicted = map(code, expected_and_predicted(sentence))
        words = (": on the base ", ", now ") if case else (": expected ", ", got ")
        told = [trusted("\n  - also misunderstood: "), code(sentence.text), trusted(words[0]), expected]
        near = [trusted(", like "), code(sentence.neighbours[0].text)] if case and sentence.neighbours else []
        return join([*told, trusted(words[1]), predicted, *near, self.place(sentence.location)])

    def misunderstood_in_case(self, sentence: MisunderstoodSentence) -> Markdown:
        """A sentence that keeps end-to-end cases from passing: what it was and is understood as."""
        return self._keeps_from_passing(sentence, ("end-to-end case", "end-to-end cases"), ("on the base ", ", now "))

    def newly_misunderstood(self, sentence: MisunderstoodSentence) -> Markdown:
        """One that the change brought: what the change did not touch did not do it."""
        return self.misunderstood(sentence, not_new=True)

    def misunderstood(self, sentence: MisunderstoodSentence, *, not_new: bool = False) -> Markdown:
        """A sentence that keeps stories from passing: what was expected and what was understood."""
        return self._keeps_from_passing(sentence, ("story", "stories"), ("expected ", ", got "), not_new=not_new)

    def _keeps_from_passing(
        self, sentence: MisunderstoodSentence, kinds: tuple[str, str], words: tuple[str, str], *, not_new: bool = False
    ) -> Markdown:
        """A sentence that keeps tests from passing, those tests, and what drew it away."""
        names = [code(story.name) for story in sentence.stories[:_MOST_SHOWN]]
        more = sentence.number - len(names)
        stories = join(names, ", ") if not more else join([join(names, ", "), trusted(f" and {more:,} more")])
        number = kinds[0] if sentence.number == 1 else f"{sentence.number:,} {kinds[1]}"
        spoilt, place = join([trusted(f"{number} "), stories]), self.place(sentence.location)
        if not sentence.expected:
            return join([spoilt, trusted(": the imported files do not say which sentence"), place])
        sure = trusted(f" ({sentence.confidence:.2f})" if sentence.confidence is not None else "")
        head = [code(sentence.text), trusted(f": {words[0]}"), code(sentence.expected), trusted(words[1])]
        line = join([*head, code(sentence.predicted), sure, trusted(" in "), spoilt, place])
        reasons = [self.training(change, not_new=not_new) for change in sentence.because]
        return join([line, *(join([trusted("\n  - "), reason]) for reason in reasons)])

    def steps(self, tests: Sequence[Test]) -> Markdown:
        """Tests that fail alike, as one entry: what went wrong, then who fails because of it."""
        if len(tests) == 1:
            return self.step(*tests[0])
        _, first = tests[0]
        kinds = Counter(kind for kind, case in tests for _ in range(case.number))
        counted = " and ".join(count(number, kind, _PLURALS.get(kind)) for kind, number in kinds.items())
        alike = all(case.remark == first.remark for _, case in tests)
        told = _what_went_wrong(first if alike else msgspec.structs.replace(first, remark=""))
        return join([trusted(f"{counted}: "), *told, *_below([self._named_test(*test) for test in tests])])

    def _named_test(self, kind: str, case: CaseChange) -> Markdown:
        heard = join([trusted(": "), _heard(case)]) if case.said and case.understood else trusted("")
        return join([self._test(kind, case), heard, self.place(case.location)])

    def _test(self, kind: str, case: CaseChange) -> Markdown:
        edits = [edit for edit in case.edits if edit != "moved"]
        new = [] if case.base_passed is not None else ["new"] if case.base_location is None else ["not run on the base"]
        remark = f" ({', '.join([*new, *edits])})" if new or edits else ""
        return join([trusted(f"{kind} "), code(case.name), trusted(f"{remark}{and_copies(case)}")])

    def labelled(self, what: str, case: CaseChange) -> Markdown:
        """A sentence with its entities or its response."""
        head = join([trusted(f"{what} of "), code(case.name), trusted(": ")])
        if case.passed:
            return join([head, code(case.expected), trusted(" is right again"), self.place(case.location)])
        told = [trusted("expected "), code(case.expected), trusted(", got "), code(case.actual)]
        return join([head, *told, self.place(case.location)])

    def edited(self, kind: str, case: CaseChange) -> Markdown:
        """A case that is not the one it was, with its result on both sides."""
        was = _side(case.base_passed, case.base_misunderstood)
        sides = f"{was} on the base, {_side(case.passed, case.misunderstood)} now"
        how = " and ".join(case.edits)
        told = trusted(f" ({how}){and_copies(case)}: {sides}")
        return join([trusted(f"{kind} "), code(case.name), told, self.place(case.location)])

    def gone(self, kind: str, case: CaseChange) -> Markdown:
        """A test that only the base has."""
        was = "misunderstood" if case.base_misunderstood else "passed" if case.base_passed else "failed"
        how = trusted(f"{and_copies(case)}, {was} on the base")
        return join([trusted(f"{kind} "), code(case.name), how, self.place(case.base_location, base=True)])

    def training(self, change: TrainingChange, *, not_new: bool = False) -> Markdown:
        """A training sentence that explains something: one of the change, or one that a new sentence looks like.

        Args:
            change: the sentence.
            not_new: say of one that was there before that it was: it is no cause.
        """
        verb = _VERBS[change.change]
        was = [trusted(f", {_WAS[change.change]} "), code(change.was or "")] if change.change in _WAS else []
        told = [trusted(f"{verb} "), code(change.intent), *was, trusted(": "), code(change.text)]
        unchanged = [trusted(" (not changed by this pull request)")] if not_new and change.change == "unchanged" else []
        return join([*told, *unchanged, self.place(change.location, base=change.change == "removed")])

    def collision(self, collision: Collision) -> Markdown:
        """Two intents that began to collide, and which sentences did it."""
        one, other = collision.intents
        wrong = trusted(f" ({count(collision.newly_wrong, 'sentence')} newly misclassified)")
        head = [code(one), trusted(" and "), code(other), trusted(" now collide")]
        if not collision.sentences or not collision.like:
            return join([*head, wrong])
        these = _these(collision.sentences)
        resemble = "resembles" if len(collision.sentences) == 1 else "resemble"
        those = count(len(collision.like), "sentence")
        lines = [self.training(change) for change in collision.sentences[:_MOST_SHOWN]]
        lines += _more(len(collision.sentences))
        lines += [
            join([trusted("like "), code(like.intent), trusted(": "), code(like.text), self.place(like.location)])
            for like in collision.like[:_MOST_SHOWN]
        ]
        lines += _more(len(collision.like))
        below = [join([trusted("\n  - "), line]) for line in lines]
        return join([*head, trusted(f": {these} {resemble} {those} of the other"), wrong, *below])

    def finding(self, finding: Finding | FindingChange, advises: bool = True) -> Markdown:
        """A finding of this state, and what to do about it."""
        mark = trusted(f"{_SEVERITY_MARKS[finding.severity]} ")
        entry = [mark, self._finding(finding), self.place(finding.location)]
        return join([*entry, trusted("<br>"), ticked(finding.hint)] if advises and finding.hint else entry)

    def findings(self, found: Sequence[Finding | FindingChange], advises: bool = True) -> Markdown:
        """Findings about one thing, as one entry: the first with what to do, the others below it."""
        first, *others = found
        below = [] if others else [self.place(place, bare=True) for place in first.others]
        below += [join([ticked(_message(finding)), self.place(finding.location)]) for finding in others]
        return join([self.finding(first, advises), *_below(below)])

    def finding_gone(self, finding: FindingChange) -> Markdown:
        """A finding that the base has and this state has not."""
        return join([self._finding(finding), self.place(finding.location, base=True)])

    def _finding(self, finding: Finding | FindingChange) -> Markdown:
        return join([code(finding.code), trusted(" "), ticked(_message(finding))])

    def item(self, item: ChangedItem) -> Markdown:
        """A thing that is new or changed, and that no test reaches."""
        verb = "new" if item.change == "added" else "changed"
        return join([trusted(f"{verb} {_KINDS.get(item.kind, 'thing')} "), code(item.name), self.place(item.location)])

    def named(self, what: str, named: Named, removed: bool) -> Markdown:
        """A new or removed intent or entity."""
        verb = "removed" if removed else "new"
        return join([trusted(f"{verb} {what} "), code(named.name), self.place(named.location, base=removed)])

    def gate(self, gate: GateResult, shown: AbstractSet[Location | str | None], *, causes: bool) -> Markdown:
        """A gate with its outcome, its reason and the ``causes`` of its failure, but for what is ``shown`` above."""
        first = gate.first_cause
        behind = [cause for cause in (_behind(gate, shown) if causes else []) if cause is not first]
        counted = ", which fails the run" if gate.fails and gate.outcome == "not judged" else ""
        outcome = "" if gate.outcome == "passed" else f"**{gate.outcome}{counted}**: "
        sign = trusted(f"{_GATE_MARKS['failed' if gate.fails else gate.outcome]} ")
        head = join([sign, code(gate.name), trusted(f" {outcome}"), ticked(gate.reason), *self._first(gate)])
        lines = [
            join([trusted("\n  - "), ticked(cause.what, 200), self.place(cause.location)])
            for cause in behind[:_MOST_BEHIND]
        ]
        more = len(behind) - _MOST_BEHIND
        if more > 0:
            lines.append(trusted(f"\n  - … and {more:,} more in verdict.json"))
        return join([head, *lines])

    def _first(self, gate: GateResult) -> list[Markdown]:
        """The first thing that failed a gate, and how many more did."""
        first = gate.first_cause
        if first is None:
            return []
        return [trusted(": "), ticked(first.what, 200), self.place(first.location), trusted(gate.and_more)]

    def consequences(self, gates: Sequence[GateResult]) -> Markdown:
        """Gates that fail only because of what another one names, as one entry."""
        names = join([code(gate.name) for gate in gates], ", ")
        place = cause_of(gates)
        because = (
            join([trusted("because of "), self.place(place, bare=True), trusted(", above")])
            if place is not None
            else trusted("because of what failed above")
        )
        return join([trusted("❌ "), names, trusted(" **failed** "), because])

    def setting(self, change: SettingChange) -> Markdown:
        """A gate setting that this change alters."""
        return join([code(change.name), trusted(" from "), code(change.base), trusted(" to "), code(change.value)])


def _behind(gate: GateResult, shown: AbstractSet[Location | str | None]) -> list[FailedBy]:
    """What failed a gate and is not shown yet; behind a figure the worst come first, and the others add nothing."""
    new = [cause for cause in gate.failed_by if cause.location not in shown and cause.what not in shown]
    return [] if gate.metric and len(new) < len(gate.failed_by) else new


def skipped(told: tuple[str, Skipped, str]) -> Markdown:
    """Evaluations that did not run, for one reason."""
    names, entry, reason = told
    what = f"a part of {names}" if entry.part else names
    return join([trusted(f"{what}: "), ticked(reason)])


def substitution(entry: Substitution) -> Markdown:
    """A component that is not run as it is."""
    used = join([trusted("replaced by "), code(entry.used)]) if entry.used else trusted("left out")
    return join([code(entry.component), trusted(" is "), used, trusted(": "), ticked(entry.reason)])


def bullets(entries: Iterable[Markdown]) -> tuple[Markdown, ...]:
    """Entries as list items."""
    return tuple(join([trusted("- "), entry]) for entry in entries)


def row(cells: Sequence[Markdown]) -> Markdown:
    """Cells as one row of a table; each is already fit for a cell."""
    return join([trusted("| "), join(cells, " | "), trusted(" |")])


def _these(sentences: Sequence[TrainingChange]) -> str:
    kinds = {sentence.change for sentence in sentences}
    word = {"added": "new", "removed": "removed", "relabelled": "moved"}.get(kinds.pop(), "") if len(kinds) == 1 else ""
    word = word or "changed"
    return count(len(sentences), f"{word} training sentence")


def _what_went_wrong(case: CaseChange) -> list[Markdown]:
    if not case.expected:  # no step failed: something kept the case from being run to its end
        return [code(case.actual)]
    expected = [trusted("expected "), code(case.expected)]
    if not case.actual:
        return [*expected, trusted(", but "), ticked(case.remark)]
    how = [trusted(" "), ticked(case.remark)] if case.remark else []
    return [*expected, trusted(", got "), code(case.actual), *how]


def _heard(case: CaseChange) -> Markdown:
    """What the user said before an end-to-end case failed, and what it is and was understood as; may be nothing."""
    if not case.said or not case.understood:
        return trusted("")
    told = [code(case.said), trusted(" is understood as "), code(case.understood)]
    if case.base_understood == case.understood:
        return join([*told, trusted(", as on the base")])
    base = [trusted("; on the base as "), code(case.base_understood)] if case.base_understood else []
    return join([*told, *base])


def _again(case: CaseChange) -> list[Markdown]:
    return [trusted(f"\n  - {case.again}")] if case.again else []


def _below_case(entry: Markdown) -> list[Markdown]:
    return [join([trusted("\n  - "), entry])] if str(entry) else []


def _below(entries: Sequence[Markdown]) -> list[Markdown]:
    """Entries below another one: some in plain sight, the rest to unfold."""
    most = _MOST_SHOWN if len(entries) > _MOST_SHOWN + 1 else len(entries)
    shown, folded, left = entries[:most], entries[most:_MOST_FOLDED], len(entries) - _MOST_FOLDED
    lines = [join([trusted("\n  - "), entry]) for entry in shown]
    if folded:
        lines.append(trusted(f"\n  <details><summary>{len(entries) - most:,} more</summary>\n"))
        lines += [join([trusted("\n  - "), entry]) for entry in folded]
        lines += [trusted(f"\n  - … and {left:,} more in report.json")] if left > 0 else []
        lines.append(trusted("\n\n  </details>"))
    return lines


def _more(number: int) -> list[Markdown]:
    return [trusted(f"… and {number - _MOST_SHOWN:,} more")] if number > _MOST_SHOWN else []


def _side(passed: bool | None, misunderstood: bool) -> str:
    if misunderstood:
        return "misunderstood"
    return {True: "right", False: "wrong", None: "not there"}[passed]


def _message(finding: Finding | FindingChange) -> str:
    """What is wrong, and what a name in it is called now, where the change renamed it."""
    return finding.message if isinstance(finding, Finding) else finding.told or finding.message
