"""Failures with one cause are one entry: what is broken once is reported once, what fails because of it below."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from turncheck.comparison.changes import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from turncheck.comparison.changes import CaseChange, FindingChange, MisunderstoodSentence
    from turncheck.messages.finding import Finding

Test = tuple[str, "CaseChange"]
"""What a test is called (``story``, ``end-to-end case``), and how it fared."""

_Item = TypeVar("_Item")
_NAME: Final = re.compile(r"'[^']+'")


def tests_by_cause(tests: Iterable[Test]) -> list[tuple[Test, ...]]:
    """Gather the tests that expected the same and got the same instead, the largest group first."""
    groups = _grouped(tests, _what_went_wrong)
    return sorted(groups, key=lambda group: -number_of_tests(group))


def _what_went_wrong(test: Test) -> Hashable | None:
    _, case = test
    got = case.actual or case.remark
    return (case.expected, got) if got else None


def caused_first(sentences: Iterable[CaseChange]) -> list[CaseChange]:
    """Sentences that training sentences of this change explain, before those that nothing explains."""
    return sorted(
        sentences, key=lambda case: not any(one.change not in {"unchanged", "unknown"} for one in case.because)
    )


def in_both(
    stories: Iterable[MisunderstoodSentence], cases: Iterable[MisunderstoodSentence]
) -> tuple[list[tuple[MisunderstoodSentence, MisunderstoodSentence | None]], list[MisunderstoodSentence]]:
    """Return the sentences of stories, each with the same one of end-to-end cases, and those of such cases only.

    It is the same if it is understood the same way, and was on the base as the stories say.
    """

    def meaning(one: MisunderstoodSentence) -> tuple[str, str, str]:
        return one.text, one.expected, one.predicted

    left = {meaning(one): one for one in cases}
    both = [(one, left.pop(meaning(one), None) if one.text else None) for one in stories]
    return both, list(left.values())


def number_of_tests(tests: Iterable[Test]) -> int:
    """Count tests, each with its copies."""
    return number_of(case for _, case in tests)


def findings_by_cause(findings: Sequence[Finding | FindingChange]) -> list[tuple[Finding | FindingChange, ...]]:
    """Gather the findings of one code whose first subject is the same, in the order of the first of each."""
    return _grouped(findings, _subject)


def _subject(finding: Finding | FindingChange) -> Hashable:
    name = _NAME.search(finding.message)
    return finding.severity, finding.code, name[0] if name else finding.message


def _grouped(items: Iterable[_Item], cause: Callable[[_Item], Hashable | None]) -> list[tuple[_Item, ...]]:
    """Items with equal causes, in the order of the first of them; one without a cause is a group of its own."""
    groups: dict[Hashable, list[_Item]] = {}
    for place, item in enumerate(items):
        key = cause(item)
        groups.setdefault(("alone", place) if key is None else ("with", key), []).append(item)
    return [tuple(group) for group in groups.values()]
