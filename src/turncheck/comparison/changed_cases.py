"""Which cases changed sides. Cases are matched by what they are, never by their position.

Matching goes by ever weaker keys: the same in the same file, the same in another file (``moved``), then what was edited
(a sentence with another expectation, a story whose steps changed) or renamed. What is left was added or removed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

import msgspec

from turncheck.comparison.cases import Case, findings_worst_first, is_read_in_part
from turncheck.comparison.changes import CaseChange, ChangedCases, ChangedNames, FindingChange, Named

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from turncheck.comparison.changes import Edit
    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.report.model import Report

_SIMILAR: Final = 0.6
"""Two sentences of one intent and file count as an edit of each other from this ratio of shared letters on."""
_MOST_COMPARED: Final = 5
"""Of the sentences that share most words, so many are looked at letter by letter."""
_LOOKED_AT: Final = 200
"""Letters of a sentence that are compared."""
_MOST_EDITS: Final = 500
"""With more sentences left over than these a file was rewritten: what is new and what is gone is all one can say."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The same case on both sides."""

    base: Case
    head: Case
    edits: tuple[Edit, ...] = ()

    @property
    def number(self) -> int:
        """How many cases of both sides this is, copies included: one more or less of these says nothing new."""
        return min(self.base.number, self.head.number)


@dataclass(frozen=True, slots=True)
class Matched:
    """All cases of one kind on both sides.

    Of tests, which may be there and not be run: ``not_run`` are those that only the base judged, ``newly_run`` those
    that only this side judged.
    """

    pairs: tuple[Pair, ...]
    added: tuple[Case, ...]
    removed: tuple[Case, ...]
    not_run: tuple[Pair, ...] = ()
    newly_run: tuple[Pair, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether both sides judged the same cases."""
        others = self.added or self.removed or self.not_run or self.newly_run
        return not others and all(pair.base.copies == pair.head.copies for pair in self.pairs)


_Key = tuple[tuple["Edit", ...], "Callable[[Case], Hashable | None]"]
"""How two cases differ that are the same by this key, and the key; ``None`` is the same as nothing."""

_NAMED_KEYS: Final[tuple[_Key, ...]] = (
    ((), lambda case: (case.location.path, case.suite, case.name, case.expectation)),
    ((), lambda case: (case.location.path, case.name, case.expectation) if case.suite else None),
    (("moved",), lambda case: (case.suite, case.name, case.expectation)),
    (("moved",), lambda case: (case.name, case.expectation) if case.suite else None),
    (("edited",), lambda case: (case.location.path, case.name)),
    (("edited", "moved"), lambda case: case.name),
    (("renamed",), lambda case: (case.location.path, case.expectation) if case.expectation != () else None),
    (("renamed", "moved"), lambda case: case.expectation if case.expectation != () else None),
)
"""Stories, end-to-end cases: known by their name, then by their steps."""

_SENTENCE_KEYS: Final = _NAMED_KEYS[:6]
"""Sentences: known by their text. Two different texts with one expectation are not the same sentence renamed."""


def match_named(base: Iterable[Case], head: Iterable[Case]) -> Matched:
    """Match stories or end-to-end cases; what is left of the same steps is matched by the likeness of its texts."""
    matched = _match(base, head, _NAMED_KEYS)
    return _with_pairs(matched, _edited_and_renamed(matched.removed, matched.added))


def match_tests(base: Iterable[Case], head: Iterable[Case]) -> Matched:
    """Match stories or end-to-end cases, also by those that are there and were not run: these have not gone away."""
    matched = match_named(base, head)
    both = [pair for pair in matched.pairs if pair.base.judged and pair.head.judged]
    return Matched(
        tuple(both),
        tuple(case for case in matched.added if case.judged),
        tuple(case for case in matched.removed if case.judged),
        not_run=tuple(pair for pair in matched.pairs if pair.base.judged and not pair.head.judged),
        newly_run=tuple(pair for pair in matched.pairs if pair.head.judged and not pair.base.judged),
    )


def match_sentences(base: Iterable[Case], head: Iterable[Case]) -> Matched:
    """Match test sentences; what is left in one file with one expectation is matched by likeness, as an edit."""
    matched = _match(base, head, _SENTENCE_KEYS)
    return _with_pairs(matched, _edited_texts(matched.removed, matched.added))


def _with_pairs(matched: Matched, pairs: Sequence[Pair]) -> Matched:
    """Move pairs that were found among what was left over to the others."""
    old, new = {id(pair.base) for pair in pairs}, {id(pair.head) for pair in pairs}
    return Matched(
        (*matched.pairs, *pairs),
        tuple(case for case in matched.added if id(case) not in new),
        tuple(case for case in matched.removed if id(case) not in old),
    )


def apart(base: Iterable[Case], head: Iterable[Case]) -> Matched:
    """Match nothing: of cases that were measured otherwise, those of the same words are not the same."""
    return Matched((), tuple(head), tuple(base))


def _equal_results_first(keys: Sequence[_Key]) -> Sequence[_Key]:
    edits, key = keys[0]

    def with_result(case: Case) -> Hashable:
        return key(case), case.passed, case.actual

    return ((edits, with_result), *keys)


def _match(
    base: Iterable[Case],
    head: Iterable[Case],
    keys: Sequence[_Key],
) -> Matched:
    """Match by each key in turn; of equal cases, those with equal results belong together, whatever their order."""
    removed, added = list(base), list(head)
    pairs: list[Pair] = []
    for edits, key in _equal_results_first(keys):
        waiting: dict[Hashable, deque[Case]] = defaultdict(deque)
        for case in removed:
            waiting[key(case)].append(case)
        taken: set[int] = set()
        still_added = []
        for case in added:
            name = key(case)
            if name is not None and waiting.get(name):
                partner = waiting[name].popleft()
                taken.add(id(partner))
                pairs.append(Pair(partner, case, edits))
            else:
                still_added.append(case)
        removed = [case for case in removed if id(case) not in taken]
        added = still_added
    return Matched(tuple(pairs), tuple(added), tuple(removed))


def _edited_texts(removed: Sequence[Case], added: Sequence[Case]) -> list[Pair]:
    if max(len(removed), len(added)) > _MOST_EDITS:
        return []
    words = {case.name: frozenset(case.name[:_LOOKED_AT].lower().split()) for case in (*removed, *added)}
    waiting: dict[Hashable, list[Case]] = defaultdict(list)
    for case in removed:
        waiting[case.location.path, case.expectation].append(case)
    pairs = []
    for case in added:
        candidates = waiting[case.location.path, case.expectation]
        shared = {other.name: len(words[case.name] & words[other.name]) for other in candidates}
        nearest = sorted(candidates, key=lambda other: -shared[other.name])[:_MOST_COMPARED]
        likeness = {other.name: _likeness(case.name, other.name) for other in nearest}
        best = max(nearest, key=lambda other: likeness[other.name], default=None)
        if best and likeness[best.name] >= _SIMILAR:
            candidates.remove(best)
            pairs.append(Pair(best, case, ("edited",)))
    return pairs


def _edited_and_renamed(removed: Sequence[Case], added: Sequence[Case]) -> list[Pair]:
    """Pair tests that have another name and of whose sentences some are worded differently, the likest first."""
    if max(len(removed), len(added)) > _MOST_EDITS:
        return []
    waiting: dict[Hashable, list[Case]] = defaultdict(list)
    for case in removed:
        waiting[case.skeleton].append(case)
    likest = sorted(
        (
            (likeness, place, case, old)
            for place, case in enumerate(added)
            if case.skeleton is not None
            for old in waiting.get(case.skeleton, ())[:_MOST_COMPARED]
            if (likeness := _likeness(" / ".join(case.texts), " / ".join(old.texts))) >= _SIMILAR
        ),
        key=lambda found: (-found[0], found[1]),
    )
    taken: set[int] = set()
    pairs = []
    for _, _, case, old in likest:
        if not {id(case), id(old)} & taken:
            taken |= {id(case), id(old)}
            moved: tuple[Edit, ...] = ("moved",) if case.location.path != old.location.path else ()
            pairs.append(Pair(old, case, ("edited", "renamed", *moved)))
    return pairs


def _likeness(text: str, other: str) -> float:
    return SequenceMatcher(None, text[:_LOOKED_AT], other[:_LOOKED_AT], autojunk=False).ratio()


# --- from matched cases to what changed ------------------------------------------------------------------------------


def changed_cases(matched: Matched) -> ChangedCases:
    """Sort matched cases into those that became worse, better, were edited, or are new and fail; worst first."""
    same = [pair for pair in matched.pairs if not {"edited", "renamed"} & set(pair.edits)]
    return ChangedCases(
        worse=_worst_first(_change(pair) for pair in same if pair.head.failed and not pair.base.failed),
        better=_worst_first(_change(pair) for pair in same if _is_better(pair)),
        edited=_worst_first(_change(pair) for pair in matched.pairs if {"edited", "renamed"} & set(pair.edits)),
        added_failing=_worst_first(
            [
                *(_added(case) for case in matched.added if case.failed),
                *(_newly_run(pair) for pair in matched.newly_run if pair.head.failed),
            ]
        ),
        misunderstood=_worst_first(
            [
                *(_change(pair) for pair in same if pair.head.misunderstood and pair.base.passed),
                *(_added(case) for case in matched.added if case.misunderstood),
                *(_newly_run(pair) for pair in matched.newly_run if pair.head.misunderstood),
            ]
        ),
        moved=sum(pair.number for pair in matched.pairs if "moved" in pair.edits),
        shared=sum(pair.number for pair in matched.pairs),
        added=sum(case.number for case in matched.added),
        removed=sum(case.number for case in matched.removed),
    )


def _is_better(pair: Pair) -> bool:
    """Whether it passes and did not, or is only misunderstood and failed by itself."""
    return not pair.base.passed and (pair.head.passed or (pair.base.failed and pair.head.misunderstood))


def changed_tests(matched: Matched) -> ChangedCases:
    """As :func:`changed_cases`, and those that are gone by name: a test that is deleted checks nothing any more."""
    gone = _worst_first(_removed(case) for case in matched.removed)
    not_run = _worst_first(_not_run(pair) for pair in matched.not_run)
    return msgspec.structs.replace(changed_cases(matched), gone=gone, not_run=not_run)


def _removed(case: Case) -> CaseChange:
    return CaseChange(
        name=case.name,
        location=None,
        base_location=case.location,
        passed=None,
        base_passed=case.passed,
        copies=case.copies,
        base_misunderstood=case.misunderstood,
    )


def _not_run(pair: Pair) -> CaseChange:
    return msgspec.structs.replace(_removed(pair.base), location=pair.head.location, actual=pair.head.actual)


def _newly_run(pair: Pair) -> CaseChange:
    """A case that the base has, and did not run: how it fared there is not known."""
    return msgspec.structs.replace(_change(pair), base_passed=None, base_actual="", edits=())


def _change(pair: Pair) -> CaseChange:
    return CaseChange(
        name=pair.head.name,
        location=pair.head.location,
        base_location=pair.base.location,
        passed=pair.head.passed,
        base_passed=pair.base.passed,
        expected=pair.head.expected,
        actual=pair.head.actual,
        base_actual=pair.base.actual,
        confidence=pair.head.confidence,
        remark=pair.head.remark,
        edits=pair.edits,
        copies=pair.head.copies,
        misunderstood=pair.head.misunderstood,
        base_misunderstood=pair.base.misunderstood,
        sentences=pair.head.sentences,
        again=pair.head.again,
        said=pair.head.said,
        understood=pair.head.heard.get(pair.head.said, ""),
        base_understood=pair.base.heard.get(pair.head.said, ""),
        copy_of=pair.head.copy_of,
        rests_on=_rests_on(pair.head, pair.base),
    )


def _added(case: Case) -> CaseChange:
    return CaseChange(
        name=case.name,
        location=case.location,
        base_location=None,
        passed=case.passed,
        base_passed=None,
        expected=case.expected,
        actual=case.actual,
        confidence=case.confidence,
        remark=case.remark,
        copies=case.copies,
        misunderstood=case.misunderstood,
        sentences=case.sentences,
        again=case.again,
        said=case.said,
        understood=case.heard.get(case.said, ""),
        rests_on=_rests_on(case),
    )


def _rests_on(case: Case, base: Case | None = None) -> tuple[str, ...]:
    """The names that its wrong steps rest on; where the step was met on the base, what met it there first."""
    sides = [side.rests_on for side in (base, case) if side is not None]
    return tuple(dict.fromkeys(name for step in case.wrong_steps for names in sides for name in names.get(step, ())))


def _worst_first(cases: Iterable[CaseChange]) -> tuple[CaseChange, ...]:
    """Newly failing first, then by confidence (the surer an engine errs, the worse), then by place."""

    def badness(case: CaseChange) -> tuple[bool, bool, float, tuple[str, int, int], str]:
        location = case.location or case.base_location
        place = location.sort_key if location else ("", 0, 0)
        return bool(case.passed), not case.base_passed, -(case.confidence or 0.0), place, case.name

    return tuple(sorted(cases, key=badness))


# --- findings, names -------------------------------------------------------------------------------------------------


_PLACE: Final = re.compile(r":\d+(?::\d+)?")
"""A message may name another place; one line more above it does not make another finding of it."""


def changed_findings(base: Report, head: Report) -> tuple[tuple[FindingChange, ...], tuple[FindingChange, ...]]:
    """Return the findings that are new and those that are gone, worst first.

    A finding is known by its code, its message and its file; one that moved to another file is neither new nor gone.
    Beside a file that cannot be read none is known to be gone.
    """
    before, after = findings_worst_first(base), findings_worst_first(head)
    for parts in (("code", "severity", "message", "path"), ("code", "severity", "message")):
        before, after = _left_over(before, after, parts), _left_over(after, before, parts)
    gone = () if is_read_in_part(head) else before
    return tuple(map(_finding_change, after)), tuple(map(_finding_change, gone))


def _left_over(findings: list[Finding], others: list[Finding], parts: tuple[str, ...]) -> list[Finding]:
    """The findings that have no partner among the others, counting equal ones."""

    def key(finding: Finding) -> tuple[str, ...]:
        written = {"path": finding.location.path, "message": _without_places(finding.message, files="path" in parts)}
        return tuple(written[part] if part in written else getattr(finding, part) for part in parts)

    partners = Counter(map(key, others))
    left = []
    for finding in findings:
        if partners[key(finding)] > 0:
            partners[key(finding)] -= 1
        else:
            left.append(finding)
    return left


def _without_places(message: str, *, files: bool) -> str:
    """The message with the lines it names blanked, and the ``files`` as well unless they say which one is meant."""
    if files:
        return _PLACE.sub("@", message)
    return " ".join("@" if _PLACE.search(word) else word for word in message.split(" "))


def _finding_change(finding: Finding) -> FindingChange:
    return FindingChange(
        code=finding.code,
        severity=finding.severity,
        message=finding.message,
        location=finding.location,
        hint=finding.hint,
        others=finding.others,
    )


def changed_names(base: Report, head: Report, kind: str) -> ChangedNames:
    """Return the intents or entities (``kind``) that are new and those that are removed."""
    before, after = _names(base, kind), _names(head, kind)
    if not before or not after:
        return ChangedNames()
    return ChangedNames(
        added=tuple(Named(name=name, location=place) for name, place in after.items() if name not in before),
        removed=tuple(Named(name=name, location=place) for name, place in before.items() if name not in after),
    )


def _names(report: Report, kind: str) -> dict[str, Location]:
    """Names with their first place, sorted: from the list of all things of the project, else from the training data."""
    names: dict[str, Location] = {}
    if kind in report.coverage:
        for item in report.coverage[kind].items:
            names.setdefault(item.name, item.location)
    elif kind == "intents" and report.nlu:
        for sentence in report.nlu.training:
            names.setdefault(sentence.intent, sentence.location)
    return dict(sorted(names.items()))
