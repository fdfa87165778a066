"""Evaluations that could not be run because of a fault, never a success, and what followed from that fault."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.comparison.judged import Cause, FaultOf, Judged
from turncheck.report.part import EVALUATIONS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from turncheck.report.model import Report, Skipped


COULD_BE_RUN: Final = "could-be-run"


def faults_of(report: Report, evaluations: Iterable[str] = EVALUATIONS) -> tuple[Skipped, ...]:
    """Return those of these evaluations that did not run because of a fault in the project."""
    asked = frozenset(evaluations)
    return tuple(skipped for skipped in report.skipped if skipped.fault and skipped.evaluation in asked)


def judge_could_be_run(faults: Sequence[Skipped]) -> Judged:
    """What cannot be read or trained completely is not judged in part, and is not a success either."""
    return Judged(COULD_BE_RUN, "failed", "faults", causes=causes_of(faults))


def causes_of(faults: Iterable[Skipped]) -> tuple[FaultOf, ...]:
    """Return one cause for each fault: what is broken once is reported once."""
    unlike = {(fault.reason, fault.location): fault for fault in reversed([*faults])}
    return tuple(map(cause_of, unlike.values()))[::-1]


def cause_of(fault: Skipped, *, named: bool = False) -> FaultOf:
    """Return a fault as the cause of a gate's failure; ``named``: the reason of the gate is this cause."""
    return FaultOf(fault.without_place or fault.reason, location=fault.location, named=named)


# Gates that fail only because of what another gate already names: one line, not failures of their own.


def with_consequences(gates: Iterable[Judged]) -> tuple[Judged, ...]:
    """Mark each failing gate whose causes are all named by an earlier gate.

    A figure that is out of bounds is a failure of its own, unless it could not be measured at all.
    """
    named: dict[Hashable, str] = {}
    marked = []
    for gate in gates:
        causes = [_keys(cause) for cause in gate.causes] if gate.fails else []
        before = [next((named[key] for key in keys if key in named), "") for keys in causes]
        if before and all(before) and (gate.metric is None or set(before) == {COULD_BE_RUN}):
            marked.append(replace(gate, follows=before[0]))
        else:
            own = tuple(
                cause for cause, by in zip(gate.causes, before, strict=False) if by != COULD_BE_RUN
            )  # an evaluation that could not be run is reported only once
            marked.append(replace(gate, causes=own) if own else gate)
            for keys in causes:
                named |= {key: gate.name for key in keys if key not in named}
    return tuple(marked)


def _keys(cause: Cause) -> tuple[Hashable, ...]:
    """What identifies a cause: for a test, one gate may name the place where it begins, another where it fails."""
    return (cause,) if cause.location is None else (cause.location, cause)
