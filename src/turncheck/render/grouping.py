"""Failures with one cause are one entry: what is broken once is reported once, what fails because of it below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from turncheck.comparison import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from turncheck.messages.finding import Finding


Test = tuple[str, "changes.CaseChange"]
"""What a test is called (``story``, ``end-to-end case``), and how it fared."""
_Item = TypeVar("_Item")
_BY_FILE: Final = frozenset({"annotation-misaligned", "markdown-read-otherwise", "schema-violation"})
"""Codes whose findings in a file mostly have one reason: how it is written, or what splits its sentences."""


def tests_by_cause(tests: Iterable[Test]) -> list[tuple[Test, ...]]:
    """Gather the tests that expected the same and got the same instead, the largest group first."""
    groups = _grouped(tests, _what_went_wrong)
    return sorted(groups, key=lambda group: -number_of_tests(group))


def _what_went_wrong(test: Test) -> Hashable | None:
    _, case = test
    got = case.actual or case.remark
    return (case.expected, got) if got else None


def caused_first(sentences: Iterable[changes.CaseChange]) -> list[changes.CaseChange]:
    """Sentences that training sentences of this change explain, before others; of each, those that were right on the
    base, before those that are new; the surest error first."""
    return sorted(sentences, key=lambda case: (not is_caused(case), not case.base_passed, -(case.confidence or 0.0)))


def is_caused(case: changes.CaseChange) -> bool:
    """Whether a training sentence of this change explains it."""
    return any(training_change.change not in {"unchanged", "unknown"} for training_change in case.because)


def in_both(
    stories: Iterable[changes.MisunderstoodSentence], cases: Iterable[changes.MisunderstoodSentence]
) -> tuple[
    list[tuple[changes.MisunderstoodSentence, changes.MisunderstoodSentence | None]],
    list[changes.MisunderstoodSentence],
]:
    """Return the sentences of stories, each with the same one of end-to-end cases, and those of such cases only.

    It is the same if it is understood the same way, and was on the base as the stories say.
    """

    def meaning(misunderstood_sentence: changes.MisunderstoodSentence) -> tuple[str, str, str]:
        return misunderstood_sentence.text, misunderstood_sentence.expected, misunderstood_sentence.predicted

    left = {meaning(case): case for case in cases}
    both = [(story, left.pop(meaning(story), None) if story.text else None) for story in stories]
    return both, list(left.values())


def number_of_tests(tests: Iterable[Test]) -> int:
    """Count tests, each with its copies."""
    return changes.number_of([case for _, case in tests])


_OF_ONE_FAULT: Final = {"intent-unused": "intent-without-examples"}
"""Codes of findings that are one fault if they are about the same: a list of names that nobody wrote more about."""


def findings_by_cause(
    findings: Sequence[Finding | changes.FindingChange],
) -> list[tuple[Finding | changes.FindingChange, ...]]:
    """Gather the findings of one code, or one fault, that have one cause, in the order of the first of each.

    Their first name is the same, or a key of the same retrieval intent; or they share places: of thirty rules that
    contradict each other, each names the others.
    """
    groups = _grouped(findings, _subject)
    first: dict[Hashable, int] = {}
    together = list(range(len(groups)))  # of each group, another one with the same cause

    def cause(number: int) -> int:
        while together[number] != number:
            number = together[number]
        return number

    for number, group in enumerate(groups):
        for finding in group:
            for place in (finding.location, *finding.others) if finding.others else ():
                other = cause(first.setdefault((finding.severity, finding.code, place), number))
                together[max(other, cause(number))] = min(other, cause(number))
    joined: dict[int, list[Finding | changes.FindingChange]] = {}
    for number, group in enumerate(groups):
        joined.setdefault(cause(number), []).extend(group)
    return [tuple(group) for group in joined.values()]


def _subject(finding: Finding | changes.FindingChange) -> Hashable:
    is_lost = (finding.severity, finding.code) == ("error", "intent-without-examples")  # whose data are gone
    if finding.code in _BY_FILE or is_lost:
        return finding.severity, finding.code, finding.location.path
    name, code = next(iter(finding.names), None), _OF_ONE_FAULT.get(finding.code, finding.code)
    return finding.severity, code, finding.message if name is None else (name.kind, name.name.partition("/")[0])


def _grouped(items: Iterable[_Item], cause: Callable[[_Item], Hashable | None]) -> list[tuple[_Item, ...]]:
    """Items with equal causes, in the order of the first of them; one without a cause is a group of its own."""
    groups: dict[Hashable, list[_Item]] = {}
    for place, item in enumerate(items):
        key = cause(item)
        groups.setdefault(("alone", place) if key is None else ("with", key), []).append(item)
    return [tuple(group) for group in groups.values()]
