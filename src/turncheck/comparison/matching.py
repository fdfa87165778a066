"""Matches the cases of both sides by their content, never by their position.

Matching uses ever weaker keys: the same in the same file, the same in another file (``moved``), then what was edited
(a sentence with another expectation, a story whose steps changed) or renamed. What remains was added or removed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from turncheck.comparison.cases import Case
    from turncheck.comparison.changes import Edit

_SIMILAR: Final = 0.6
"""Two sentences of one intent and file count as an edit of each other if they share at least this ratio of letters."""
_MOST_COMPARED: Final = 5
"""This many of the sentences that share the most words are compared letter by letter."""
_LOOKED_AT: Final = 200
"""How many letters of a sentence are compared."""
_MOST_EDITS: Final = 500
"""With more unmatched sentences than this, a file was rewritten: only what is new and what is gone can be said."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The same case on both sides."""

    base: Case
    head: Case
    edits: tuple[Edit, ...] = ()

    @property
    def number(self) -> int:
        """How many cases of both sides this pair represents, copies included: a copy more or less says nothing new."""
        return min(self.base.number, self.head.number)


@dataclass(frozen=True, slots=True)
class Matched:
    """All cases of one kind on both sides.

    Tests may exist without being run: ``not_run`` are those that only the base judged, ``newly_run`` those that only
    this side judged.
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
"""How two cases that are equal by this key differ, and the key; a key of ``None`` equals nothing."""
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
"""For stories and end-to-end cases: identified by their name, then by their steps."""
_SENTENCE_KEYS: Final = _NAMED_KEYS[:6]
"""For sentences: identified by their text. Two texts with the same expectation are not one renamed sentence."""


def match_named(base: Iterable[Case], head: Iterable[Case]) -> Matched:
    """Match stories or end-to-end cases; remaining ones with the same steps are matched by the similarity of texts."""
    matched = _match(base, head, _NAMED_KEYS)
    return _with_pairs(matched, _edited_and_renamed(matched.removed, matched.added))


def match_tests(base: Iterable[Case], head: Iterable[Case]) -> Matched:
    """Match stories or end-to-end cases, including those that exist and were not run: they are not gone."""
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
    """Match test sentences; remaining ones with the same file and expectation are matched by similarity, as edits."""
    matched = _match(base, head, _SENTENCE_KEYS)
    return _with_pairs(matched, _edited_texts(matched.removed, matched.added))


def _with_pairs(matched: Matched, pairs: Sequence[Pair]) -> Matched:
    """Move pairs that were found among the unmatched cases to the matched ones."""
    old, new = {id(pair.base) for pair in pairs}, {id(pair.head) for pair in pairs}
    return Matched(
        (*matched.pairs, *pairs),
        tuple(case for case in matched.added if id(case) not in new),
        tuple(case for case in matched.removed if id(case) not in old),
    )


def apart(base: Iterable[Case], head: Iterable[Case]) -> Matched:
    """Match nothing: cases that were measured in different modes are not the same, even if their words are."""
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
    """Match by each key in turn; equal cases with equal results belong together, whatever their order."""
    removed, added = list(base), list(head)
    pairs: list[Pair] = []
    for edits, key in _equal_results_first(keys):
        waiting: dict[Hashable, list[Case]] = defaultdict(list)
        for case in reversed(removed):  # so that the first one is the last of its list
            waiting[key(case)].append(case)
        taken: set[int] = set()
        still_added = []
        for case in added:
            name = key(case)
            if name is not None and waiting.get(name):
                partner = waiting[name].pop()
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
    """Pair tests with different names of which some sentences are worded differently, the most similar first."""
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
