"""Gates that fail only because of what another gate already names: one line, not failures of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from turncheck.comparison.faults import COULD_BE_RUN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.verdict import FailedBy, GateResult
    from turncheck.messages.location import Location


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
