"""Matches the cases of both sides by their content, never by their position, and lists what only one side has.

Matching uses ever weaker keys: the same in the same file, the same in another file (``moved``), then what was edited
(a sentence with another expectation, a story whose steps changed) or renamed. What remains was added or removed.
"""

from __future__ import annotations

from collections import defaultdict
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turncheck.comparison.cases import Case, newly_wrong_first
from turncheck.comparison.changes import CaseChange, ChangedCases, Edit
from turncheck.comparison.model import BaseTests, OneSided
from turncheck.comparison.tally import faults_of, is_asked_for, skipped_entry
from turncheck.evaluations.kinds import KINDS, WITHOUT_TESTS
from turncheck.evaluations.nlu import FEW_INTENTS
from turncheck.messages.phrasing import first_line
from turncheck.report.evaluations import EVALUATIONS, Evaluation
from turncheck.report.model import BatchCase, CaseResult, Nlu, Report, StoryResult

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from turncheck.comparison.hidden import Hidden
    from turncheck.messages.finding import Location


_SIMILAR: Final = 0.6
"""Two sentences of one intent and file count as an edit of each other if they share at least this ratio of letters."""
_MOST_COMPARED: Final = 5
"""This many of the sentences that share the most words are compared letter by letter."""
_LOOKED_AT: Final = 200
"""How many letters of a sentence are compared."""
_MOST_EDITS: Final = 500
"""With more unmatched sentences than this, a file was rewritten: only what is new and what is gone can be said."""


class Pair(Struct, frozen=True):
    """The same case on both sides."""

    base: Case
    head: Case
    edits: tuple[Edit, ...] = ()

    @property
    def number(self) -> int:
        """How many cases of both sides this pair represents, copies included: a copy more or less says nothing new."""
        return min(self.base.number, self.head.number)


class Matched(Struct, frozen=True):
    """All cases of one kind on both sides.

    Tests may exist without being run: ``not_run`` are those that only the base judged, ``newly_run`` those that only
    this side judged.
    """

    pairs: tuple[Pair, ...]
    added: tuple[Case, ...]
    removed: tuple[Case, ...]
    not_run: tuple[Pair, ...] = ()
    newly_run: tuple[Pair, ...] = ()
    unclear: tuple[Pair, ...] = ()
    """Tests that this side ran several times without knowing how they fare."""

    @property
    def is_whole(self) -> bool:
        """Whether both sides judged the same cases."""
        others = self.added or self.removed or self.not_run or self.newly_run or self.unclear
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
    return _as_known(match_named(base, head))


def _as_known(matched: Matched) -> Matched:
    """Return the cases with those apart that a side did not run, or without knowing how they fare."""
    known = [pair for pair in matched.pairs if not pair.head.unclear]
    return Matched(
        tuple(pair for pair in known if _is_known_on_base(pair) and pair.head.judged),
        tuple(case for case in matched.added if case.is_known),
        tuple(case for case in matched.removed if case.judged),
        not_run=tuple(pair for pair in known if pair.base.judged and not pair.head.judged),
        newly_run=tuple(pair for pair in known if pair.head.judged and not _is_known_on_base(pair)),
        unclear=tuple(pair for pair in matched.pairs if pair.head.unclear),
    )


def _is_known_on_base(pair: Pair) -> bool:
    """Whether the base knows how a case fares; one that regressed is compared with earlier runs, if it failed there.

    An error there says nothing of it: it must not excuse what is wrong here.
    """
    return pair.base.is_known and (pair.head.erred or not pair.base.erred) and not _failed_before(pair)


def _failed_before(pair: Pair) -> bool:
    return pair.head.has_regressed and pair.base.is_known and not pair.base.passed and not pair.base.erred


def match_sentences(base: Iterable[Case], head: Iterable[Case]) -> Matched:
    """Match test sentences; remaining ones with the same file and expectation are matched by similarity, as edits."""
    matched = _match(base, head, _SENTENCE_KEYS)
    return _as_known(_with_pairs(matched, _edited_texts(matched.removed, matched.added)))


def _with_pairs(matched: Matched, pairs: Sequence[Pair]) -> Matched:
    """Move pairs that were found among the unmatched cases to the matched ones."""
    old, new = {id(pair.base) for pair in pairs}, {id(pair.head) for pair in pairs}
    return Matched(
        (*matched.pairs, *pairs),
        tuple(case for case in matched.added if id(case) not in new),
        tuple(case for case in matched.removed if id(case) not in old),
    )


def match_nothing(base: Iterable[Case], head: Iterable[Case]) -> Matched:
    """Match nothing: cases that were measured in different modes are not the same, even if their words are."""
    return Matched((), tuple(head), tuple(base))


def _equal_results_first(keys: Sequence[_Key]) -> Sequence[_Key]:
    edits, key = keys[0]

    def with_result(case: Case) -> Hashable:
        return key(case), case.passed, case.actual

    return ((edits, with_result), *keys)


def _with_resolved(key: Callable[[Case], Hashable | None], cases: Iterable[Case]) -> Callable[[Case], Hashable | None]:
    """Return a key by which only tests are equal that resolve to the same, where both reports say what that is."""
    unknown = {key(case) for case in cases if not case.resolved}

    def whole(case: Case) -> Hashable | None:
        name = key(case)
        return None if name is None else (name, "" if name in unknown else case.resolved)

    return whole


def _match(
    base: Iterable[Case],
    head: Iterable[Case],
    keys: Sequence[_Key],
) -> Matched:
    """Match by each key in turn; equal cases with equal results belong together, whatever their order."""
    removed, added = list(base), list(head)
    pairs: list[Pair] = []
    for edits, by in _equal_results_first(keys):
        key = by if "edited" in edits else _with_resolved(by, (*removed, *added))
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


# Which cases changed sides, and how.


def changed_cases(matched: Matched) -> ChangedCases:
    """Sort matched cases into those that became worse, better, were edited, or are new and fail; worst first."""
    same = [pair for pair in matched.pairs if not {"edited", "renamed"} & set(pair.edits)]
    return ChangedCases(
        worse=_worst_first(_change(pair) for pair in same if pair.head.failed and not pair.base.failed),
        better=_worst_first(_change(pair) for pair in same if _is_better(pair)),
        edited=_worst_first(_change(pair) for pair in matched.pairs if {"edited", "renamed"} & set(pair.edits)),
        added_failing=_worst_first(
            [
                *(unpaired_case(case) for case in matched.added if case.failed),
                *(_newly_run(pair) for pair in matched.newly_run if pair.head.failed),
            ]
        ),
        misunderstood=_worst_first(
            [
                *(_change(pair) for pair in same if pair.head.misunderstood and pair.base.passed),
                *(unpaired_case(case) for case in matched.added if case.misunderstood),
                *(_newly_run(pair) for pair in matched.newly_run if pair.head.misunderstood),
            ]
        ),
        moved=sum(pair.number for pair in matched.pairs if "moved" in pair.edits),
        shared=sum(pair.number for pair in matched.pairs),
        added=sum(case.number for case in matched.added),
        removed=sum(case.number for case in matched.removed),
    )


def _is_better(pair: Pair) -> bool:
    """Whether it passes now and did not before, or is only misunderstood now and failed by itself before."""
    return not pair.base.passed and (pair.head.passed or (pair.base.failed and pair.head.misunderstood))


def changed_tests(matched: Matched) -> ChangedCases:
    """As :func:`changed_cases`, and list by name the tests that are gone: a deleted test checks nothing any more."""
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
    """A case that the base has but did not run: its result there is not known."""
    return msgspec.structs.replace(_change(pair), base_passed=None, base_actual="", edits=())


def _change(pair: Pair) -> CaseChange:
    return msgspec.structs.replace(
        unpaired_case(newly_wrong_first(pair.head, pair.base)),
        base_location=pair.base.location,
        base_passed=pair.base.passed,
        base_actual=pair.base.actual,
        edits=pair.edits,
        edited_in=_edited_in(pair),
        base_misunderstood=pair.base.misunderstood,
        base_understood=pair.base.heard(pair.head.said),
        copy_of=pair.head.copy_of,
        rests_on=_rests_on(pair.head, pair.base),
    )


def _edited_in(pair: Pair) -> tuple[str, ...]:
    """The files in which a test was edited that are not its own."""
    if "edited" not in pair.edits or not pair.base.resolved or not pair.head.resolved:
        return ()
    return other_files_of(pair.base.shared, pair.head.shared, same_own=pair.base.own == pair.head.own)


def other_files_of(base: Mapping[str, str], head: Mapping[str, str], *, same_own: bool) -> tuple[str, ...]:
    """Return the files that edited a test, of those that add something to it beside its own.

    Args:
        base: digests of what each file adds on the base.
        head: digests of what each file adds now.
        same_own: whether its own file adds the same.
    """
    differ = [path for path in base if path in head and base[path] != head[path]]
    if not differ and same_own:  # then another file begins to count, or does not count any more
        differ = [path for path in head if path not in base] or [path for path in base if path not in head]
    return tuple(differ)


def unpaired_case(case: Case) -> CaseChange:
    """Return a case that the base does not have, or that is not compared with it."""
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
        scores=case.scores,
        copies=case.copies,
        misunderstood=case.misunderstood,
        sentences=case.sentences,
        again=case.again,
        said=case.said,
        understood=case.heard(case.said),
        rests_on=_rests_on(case),
        repeats=case.repeats,
        trace=case.trace_id or msgspec.UNSET,
    )


def _rests_on(case: Case, base: Case | None = None) -> tuple[str, ...]:
    """The names that its wrong steps rest on; if the step was met on the base, what met it there comes first."""
    wrong = case.wrong_steps
    sides = [side.rests_on for side in (base, case) if side is not None] if wrong else []
    return tuple(dict.fromkeys(name for step in wrong for names in sides for name in names.get(step, ())))


def _worst_first(cases: Iterable[CaseChange]) -> tuple[CaseChange, ...]:
    """Newly failing first, then by confidence (the surer an engine errs, the worse), then by place."""

    def badness(case: CaseChange) -> tuple[bool, bool, float, tuple[str, int, int], str]:
        location = case.location or case.base_location
        place = location.sort_key if location else ("", 0, 0)
        return bool(case.passed), not case.base_passed, -(case.confidence or 0.0), place, case.name

    return tuple(sorted(cases, key=badness))


# What only one side has judged: evaluations and tests that did not run on the other.

_NOT_SAID: Final = "its report does not say why"


def has_results(report: Report, evaluation: Evaluation) -> bool:
    """Return whether an evaluation judged anything."""
    return KINDS[evaluation].has_results(report)


def why_not_run(report: Report, evaluation: Evaluation) -> str:
    """Return why an evaluation has no results."""
    if entry := skipped_entry(report, evaluation):
        return entry.reason
    cases = report.e2e.cases if evaluation == "e2e" and report.e2e else ()
    return next((case.reason for case in cases if case.reason), _NOT_SAID)


def still_there(matched: Matched, head: Report, evaluation: Evaluation) -> Matched:
    """Tests that could not be run, or have no name, are not gone: all are gone only if there is none left to run."""
    entry = skipped_entry(head, evaluation)
    ran = {"core": head.core, "e2e": head.e2e, "batch": head.batch}.get(evaluation) is not None
    if evaluation == "core" and head.core is not None and not all(story.named for story in head.core.stories):
        return replace(matched, removed=())
    part = next((skipped.reason for skipped in head.skipped if skipped.part and skipped.evaluation == evaluation), "")
    if head.stopped is None and not part and (ran or (entry is not None and entry.no_tests)):
        return matched
    # The evaluation did not get to them: the test files, as far as they could be read, show what is gone.
    gone = _gone_from_files(matched, head, evaluation)
    unseen = tuple(Pair(case, replace(case, actual=part, judged=False)) for case in matched.removed if case not in gone)
    return replace(matched, removed=tuple(gone), not_run=(*matched.not_run, *unseen))


def _gone_from_files(matched: Matched, head: Report, evaluation: Evaluation) -> list[Case]:
    """Tests of the base that no test file has any more, if that is known without running them.

    A test whose name is gone may have been renamed, if there is a name that the base does not know. What a test file
    holds that cannot be read is not known.
    """
    entry = skipped_entry(head, evaluation)
    if entry is not None and entry.tests is not None:
        there = set(entry.tests)
        if there - {case.name for case in matched.removed}:
            return []
        return [case for case in matched.removed if case.name not in there]
    parts = [skipped for skipped in head.skipped if skipped.part and skipped.evaluation == evaluation]
    if parts and head.stopped is None and all(part.location is not None for part in parts):
        unread = {part.location.path for part in parts if part.location is not None}
        return [case for case in matched.removed if case.location.path not in unread]
    return []


def missing_on_base(base: Report, head: Report, tests: dict[Evaluation, Matched]) -> tuple[OneSided, ...]:
    """Return what this side judged and the base did not: complete evaluations, or a number of tests of one."""
    found = []
    for evaluation in EVALUATIONS:
        if not has_results(head, evaluation) or KINDS[evaluation].on_request:
            continue
        if not has_results(base, evaluation):
            found.append(OneSided(evaluation=evaluation, reason=why_not_run(base, evaluation)))
        elif evaluation in tests and (newly := [one for one in tests[evaluation].newly_run if _lacked_by_base(one)]):
            reason = newly[0].base.actual or _NOT_SAID
            found.append(OneSided(evaluation=evaluation, reason=reason, cases=len(newly)))
        elif base.stopped is not None and evaluation in tests and tests[evaluation].added:
            reason = f"its run ended before its end: {first_line(base.stopped)}"
            found.append(OneSided(evaluation=evaluation, reason=reason, cases=len(tests[evaluation].added)))
    return tuple(found)


def _lacked_by_base(pair: Pair) -> bool:
    """Whether the base did not run a test: one that is unclear there was run."""
    return not pair.base.unclear and not _failed_before(pair)


def base_faults(base: Report) -> tuple[OneSided, ...]:
    """Return the evaluations that the base could not run because of a fault, or not those tests in these files."""
    judged = [name for name in EVALUATIONS if name not in WITHOUT_TESTS]
    return tuple(
        OneSided(
            evaluation=fault.evaluation,
            reason=fault.reason,
            files=(fault.location.path,) if fault.part and fault.location is not None else (),
            fault=fault.without_place,
        )
        for fault in faults_of(base, judged)
    )


def without_unknown(
    matched: Matched, evaluation: Evaluation, faults: Iterable[OneSided], hidden: Hidden, *, doubtful: bool
) -> ChangedCases:
    """Return what changed for tests, those apart that fail and may have failed on the base or not.

    Args:
        matched: the tests of an evaluation.
        evaluation: which it is.
        faults: what kept the base from running tests.
        hidden: what the base cannot show.
        doubtful: whether what fails on the base says nothing.
    """
    cases = changed_tests(matched)
    of_this = [fault for fault in faults if fault.evaluation == evaluation]
    files = {file for fault in of_this for file in fault.files} & hidden.paths
    whole = any(not fault.files for fault in of_this)

    def is_unknown(case: CaseChange) -> bool:
        return case.base_passed is None and (whole or (case.location is not None and case.location.path in files))

    found = [case for case in (*cases.added_failing, *cases.misunderstood) if is_unknown(case)]
    if doubtful:
        found += [_change(pair) for pair in matched.pairs if pair.base.failed and pair.head.failed]
    if not found:
        return cases
    return replace(
        cases,
        added_failing=tuple(case for case in cases.added_failing if not is_unknown(case)),
        misunderstood=tuple(case for case in cases.misunderstood if not is_unknown(case)),
        unknown=tuple(found),
    )


def removed_evaluations(base: Report, head: Report) -> tuple[OneSided, ...]:
    """Return the evaluations that only the base has results for, and held-out sentences if all are gone.

    A test suite that is completely gone is not lost in this sense: its tests are gone, one by one.
    """
    found = []
    for evaluation in EVALUATIONS:
        entry = skipped_entry(head, evaluation)
        listed = entry is not None and entry.no_tests
        listed = listed or KINDS[evaluation].on_request
        if has_results(base, evaluation) and not has_results(head, evaluation) and not listed:
            asked = is_asked_for(head, evaluation)
            reason = why_not_run(head, evaluation) if asked or entry else "not requested"
            found.append(OneSided(evaluation=evaluation, reason=reason))
    if base.nlu and base.nlu.intents and head.nlu and _has_few_intents(head.nlu):
        found.append(OneSided(evaluation="nlu", reason=FEW_INTENTS))
    if base.nlu and base.nlu.mode == "held-out" and head.nlu and head.nlu.mode != "held-out":
        reason = f"all {base.nlu.examples:,} held-out sentences of the base are gone"
        files = tuple(sorted({example.location.path for example in base.nlu.predictions}))
        found.append(OneSided(evaluation="nlu", reason=reason, cases=base.nlu.examples, files=files))
    return tuple(found)


def _has_few_intents(nlu: Nlu) -> bool:
    """Whether there are sentences, and their intents are not judged, for another reason than that they are unclear."""
    if not nlu.examples or nlu.intents:
        return False
    expected = {prediction.expected.intent for prediction in nlu.predictions if prediction.expected.intent}
    return len(expected) < 2 or not any(prediction.unclear for prediction in nlu.predictions)


# The base's results of the tests that changed, which are shown beside this side's results.

Result = TypeVar("Result", bound="StoryResult | CaseResult | BatchCase")


class ResultsByPlace(Generic[Result]):
    """Test results, looked up by what a comparison knows about them: a name, and the place of the test or of a step.

    Only results at the place of a change in ``changes`` are found.
    """

    def __init__(self, results: Iterable[Result], changes: Iterable[CaseChange]) -> None:
        wanted = {change.base_location for change in changes}
        self._found: dict[Location, list[Result]] = {}
        for result in results:
            for location in dict.fromkeys(places_of(result)):
                if location in wanted:
                    self._found.setdefault(location, []).append(result)

    def base_of(self, change: CaseChange) -> Result | None:
        """Return the base's result of a changed test; if several share its place, the one with its name."""
        if change.base_location is None:
            return None
        found = self._found.get(change.base_location, [])
        return next((result for result in found if _name(result) == change.name), next(iter(found), None))


def places_of(result: Result) -> Sequence[Location]:
    """Return the places of a test and of its steps."""
    if isinstance(result, BatchCase):
        return (result.location,)
    return (result.location, *(step.location for step in result.steps if step.location is not None))


def base_tests(base: Report, stories: ChangedCases, e2e: ChangedCases, batch: ChangedCases) -> BaseTests:
    """Return the base's results of the tests that changed sides or were edited, in the order of the base's report."""
    suites = base.batch.suites if base.batch else ()
    return BaseTests(
        stories=_of_changed(base.core.stories if base.core else (), stories),
        e2e=_of_changed(base.e2e.cases if base.e2e else (), e2e),
        batch=_of_changed([case for suite in suites for case in suite.cases], batch),
    )


def _of_changed(results: Sequence[Result], changed: ChangedCases) -> tuple[Result, ...]:
    listed = (*changed.worse, *changed.better, *changed.edited, *changed.misunderstood)
    by_place = ResultsByPlace(results, listed)
    wanted = {id(by_place.base_of(change)) for change in listed}
    return tuple(result for result in results if id(result) in wanted)


def _name(result: Result) -> str:
    return result.text if isinstance(result, BatchCase) else result.name
