"""Evaluations that could not be run because of a fault, never a success, and what followed from that fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from turncheck.comparison.verdict import FailedBy, GateResult
from turncheck.messages.phrasing import count
from turncheck.report.evaluations import EVALUATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.messages.location import Location
    from turncheck.report.model import Report, Skipped


COULD_BE_RUN: Final = "could-be-run"


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
    cause = skipped.cause or skipped.reason.rstrip(".")
    if skipped.location is None or not (skipped.cause or skipped.without_place):
        return cause  # a report of an earlier version names the place in the reason
    return f"{cause} ({skipped.location})"


def names_of(evaluations: Iterable[str]) -> str:
    """``nlu, core and e2e``."""
    *others, last = dict.fromkeys(evaluations) or [""]
    return f"{', '.join(others)} and {last}" if others else last


def failed_by_fault(skipped: Skipped) -> FailedBy:
    """Say why it was not run, and where that can be fixed."""
    return FailedBy(what=skipped.without_place or skipped.reason, location=skipped.location)


# Gates that fail only because of what another gate already names: one line, not failures of their own.


def with_consequences(gates: Iterable[GateResult]) -> tuple[GateResult, ...]:
    """Mark each failing gate whose causes are all named by an earlier gate.

    A figure that is out of bounds is a failure of its own, unless it could not be measured at all.
    """
    named: dict[Location | str, str] = {}
    marked = []
    for gate in gates:
        causes = [_keys(cause) for cause in gate.failed_by] if gate.fails else []
        before = [next((named[key] for key in keys if key in named), "") for keys in causes]
        if before and all(before) and (gate.metric is None or set(before) == {COULD_BE_RUN}):
            marked.append(replace(gate, follows=before[0]))
        else:
            own = tuple(
                cause for cause, by in zip(gate.failed_by, before, strict=False) if by != COULD_BE_RUN
            )  # an evaluation that could not be run is reported only once
            marked.append(replace(gate, failed_by=own) if own else gate)
            for keys in causes:
                named |= {key: gate.name for key in keys if key not in named}
    return tuple(marked)


def _keys(cause: FailedBy) -> tuple[Location | str, ...]:
    """What identifies a cause: for a test, one gate may name the place where it begins, another where it fails."""
    return (cause.what,) if cause.location is None else (cause.location, cause.what)


def consequences_of(gate: GateResult, gates: Sequence[GateResult]) -> list[GateResult]:
    """Return the gates that fail only because of what this one names."""
    return [one for one in gates if one.follows == gate.name]


def cause_of(gates: Sequence[GateResult]) -> Location | None:
    """Return the one place that made all of these gates fail; ``None`` if there are several, or it has no place."""
    places = {cause.location for gate in gates for cause in gate.failed_by}
    return places.pop() if len(places) == 1 else None
