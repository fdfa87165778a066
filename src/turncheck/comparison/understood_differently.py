"""End-to-end cases that passed on the base and fail here, and their messages that are now understood differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from turncheck.comparison.cases import end_to_end_cases
from turncheck.comparison.matching import match_tests
from turncheck.report.conversations import FALLBACK

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from turncheck.report.model import CaseMessage, CaseResult, Report, StoryParse

Suspects = dict[int, tuple["CaseMessage", ...]]
"""The messages of a case, by its index; those understood differently have what they were understood as before."""


def understood_differently(report: Report, base: Report) -> Suspects:
    """Return the failed cases with a message that is understood differently than when the case passed on the base.

    An edited case (other messages or expectations) is not among them: its own steps may be wrong.
    """
    if report.e2e is None or base.e2e is None:
        return {}
    mine, others = end_to_end_cases(report, all_there=True), end_to_end_cases(base, all_there=True)
    numbers = {id(case): number for number, case in enumerate(mine)}
    results = {id(case): result for case, result in zip(others, base.e2e.cases, strict=True)}
    found: Suspects = {}
    for pair in match_tests(others, mine).pairs:
        number, was = numbers[id(pair.head)], results[id(pair.base)]
        now = report.e2e.cases[number]
        may_be_noise = now.outcome == "failed" and was.outcome in {"passed", "misunderstood"}
        if not may_be_noise or "edited" in pair.edits or _texts(now) != _texts(was):
            continue
        both = zip(now.messages, was.messages, strict=True)
        messages = tuple(_with_before(message, other.before or other.understood) for message, other in both)
        if any(message.before is not None for message in messages):
            found[number] = messages
    return dict(sorted(found.items()))


def with_messages(report: Report, suspects: Mapping[int, tuple[CaseMessage, ...]]) -> Report:
    """Return the report with these messages in its cases."""
    if report.e2e is None or not suspects:
        return report
    cases = tuple(
        replace(case, messages=suspects[number]) if number in suspects else case
        for number, case in enumerate(report.e2e.cases)
    )
    return replace(report, e2e=replace(report.e2e, cases=cases))


def not_yet_recorded(report: Report, base: Report) -> Suspects:
    """Return what is understood differently than on the base, unless that is already recorded."""
    cases = report.e2e.cases if report.e2e else ()
    found = understood_differently(report, base)
    return {n: found[n] for n in found if not cases[n].misunderstood and found[n] != cases[n].messages}


def same_understanding(story_parse: StoryParse, other: StoryParse) -> bool:
    """Whether two understandings are the same to a dialogue: only confidences may differ."""
    return _meaning(story_parse) == _meaning(other)


def _meaning(understood: StoryParse) -> Hashable:
    intent = FALLBACK if understood.fallback else understood.intent
    entities = sorted(
        (span.start, span.end, span.entity, span.role or "", span.group or "", repr(span.value))
        for span in understood.entities
    )
    return intent, None if understood.fallback else understood.response, tuple(entities)


def _texts(case: CaseResult) -> list[str]:
    return [message.text for message in case.messages]


def _with_before(message: CaseMessage, before: StoryParse | None) -> CaseMessage:
    now = message.understood
    differs = now is not None and before is not None and not same_understanding(now, before)
    return replace(message, before=before if differs else None)
