"""Evaluations that could not be run because of a fault: never a success, whatever the gate settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.comparison.verdict import FailedBy, GateResult
from turncheck.messages.plurals import count
from turncheck.report.model import EVALUATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.messages.location import Location
    from turncheck.report.model import Report, Skipped


COULD_BE_RUN: Final = "could-be-run"
_LEADS_TO_PLACE: Final = re.compile(r"(?:\s(?:at|in)\s*['\"]?|[\s:(]+)$")
"""The end of a sentence right before the place that it names."""


def faults_of(report: Report, evaluations: Iterable[str] = EVALUATIONS) -> tuple[Skipped, ...]:
    """Return those of these evaluations that did not run because of a fault in the project."""
    asked = frozenset(evaluations)
    return tuple(skipped for skipped in report.skipped if skipped.fault and skipped.evaluation in asked)


def judge_could_be_run(faults: Sequence[Skipped]) -> GateResult:
    """What cannot be read or trained completely is not judged in part, and is not a success either."""
    return GateResult(
        name=COULD_BE_RUN,
        outcome="failed",
        reason=faults_in_words(faults),
        failed_by=tuple(failed_by_fault(one) for one in unlike(faults)),
    )


def unlike(faults: Iterable[Skipped]) -> list[Skipped]:
    """Return one fault per cause: what is broken once is reported once."""
    return list({(one.reason, one.location): one for one in reversed([*faults])}.values())[::-1]


def faults_in_words(faults: Sequence[Skipped]) -> str:
    """``nlu and core could not be run, e2e could not be run completely``."""
    wholly = names_of([skipped.evaluation for skipped in faults if not skipped.part])
    partly = names_of([skipped.evaluation for skipped in faults if skipped.part])
    words = [f"{wholly} could not be run"] if wholly else []
    return ", ".join([*words, *([f"{partly} could not be run completely"] if partly else [])])


def cause_first(faults: Sequence[Skipped]) -> str:
    """``The NLU data cannot be read completely (data/nlu.yml:181:5), so nlu and core could not be run``.

    If there are several causes, it names the first and says how many more there are.
    """
    by_cause: dict[Location | str, list[Skipped]] = {}
    for skipped in faults:
        by_cause.setdefault(skipped.location or _cause(skipped), []).append(skipped)
    because, *others = by_cause.values()
    cause = _cause(because[0])
    wholly = "" if not all(one.part for one in because) else " completely"
    words = (
        f"{cause[:1].upper()}{cause[1:]}, so {names_of([one.evaluation for one in because])} could not be run{wholly}"
    )
    more = len({one.evaluation for group in others for one in group})
    return f"{words} ({count(more, 'other evaluation')} neither)" if more else words


def _cause(skipped: Skipped) -> str:
    """What must be fixed, in short, and where."""
    if skipped.location is None:
        return skipped.reason.rstrip(".")
    place = str(skipped.location)
    reason = skipped.reason.partition(": - ")[0]  # the items of a list are shown on the lines below
    short, found, _ = reason.partition(place)
    return f"{_LEADS_TO_PLACE.sub('', short) if found else reason.rstrip('.')} ({place})"


def names_of(evaluations: Iterable[str]) -> str:
    """``nlu, core and e2e``."""
    *others, last = dict.fromkeys(evaluations) or [""]
    return f"{', '.join(others)} and {last}" if others else last


def failed_by_fault(skipped: Skipped) -> FailedBy:
    """Say why it was not run, and where that can be fixed."""
    return FailedBy(what=without_place(skipped), location=skipped.location)


def without_place(skipped: Skipped) -> str:
    """Return why it was not run without the place, for where that is reported beside it."""
    place = "" if skipped.location is None else str(skipped.location)
    return skipped.reason.replace(f"{place}: ", "", 1).replace(f" ({place})", "", 1) if place else skipped.reason
