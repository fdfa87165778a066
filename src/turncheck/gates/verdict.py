"""All gates together: which of them fail the run, and which only because of what another one names.

A gate that cannot be judged (no baseline, an evaluation that did not run) is a third outcome, and the setting
``not-judged`` says how it counts.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from msgspec import structs
from msgspec.structs import replace

from turncheck.comparison.failures import BadFinding
from turncheck.gates.judged import Judging
from turncheck.gates.rules import read_rules
from turncheck.gates.table import GATES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from turncheck.comparison.failures import Cause
    from turncheck.comparison.model import Comparison
    from turncheck.comparison.rules import Places
    from turncheck.gates.gate import Gate
    from turncheck.gates.judged import JudgedGate
    from turncheck.messages.finding import Location
    from turncheck.report.model import GateSettings, Report

_CAN_BE_HAD = frozenset({"unreachable", "unreadable"})
"""There is a baseline, but this run could not get it; another try may succeed, so the run should not go on without."""


def judge_gates(
    report: Report, comparison: Comparison | None, settings: GateSettings, places: Places = MappingProxyType({})
) -> tuple[JudgedGate, ...]:
    """Judge all gates; ``places`` says where they are set.

    Raises:
        UserError: a rule that cannot be parsed, or that is about an unknown metric.
    """
    judging = Judging(report, comparison, read_rules(settings, places), places)
    return with_consequences(
        replace(result, fails=_fails(result, comparison, settings), location=_place_of(result, places))
        for gate in GATES
        for result in judge_gate(gate, judging)
    )


def judge_gate(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge a gate: no result if it is not switched on, one for each of its rules if it has any.

    Raises:
        UserError: a rule that is about an unknown metric.
    """
    module, _, name = gate.judged_by.partition(".")
    judge = getattr(import_module(f"turncheck.gates.{module}"), name)
    for result in cast("Callable[[Gate, Judging], Iterable[JudgedGate]]", judge)(gate, judging):
        yield replace(result, needs_base=True) if gate.needs_base else result


def _place_of(result: JudgedGate, places: Places) -> Location | None:
    """Return where a gate is set; ``None`` if the file does not set it."""
    return places.get(result.rule) or places.get(result.gate.setting)


def counted_by(report: Report, settings: GateSettings) -> Report:
    """Return the report; the settings decide which tests count as failed, wherever they are counted."""
    counted = {"misunderstood": settings.misunderstood, "batch_failures": settings.batch_failures}
    return structs.replace(report, settings=structs.replace(report.settings, **counted))


def _fails(result: JudgedGate, comparison: Comparison | None, settings: GateSettings) -> bool:
    """Whether a gate fails the run.

    By default a gate that could not be judged does not, since a first run has nothing to compare with. If there is a
    baseline that could not be fetched, an outage must not waive a rule that somebody set: the gate fails.
    """
    if result.outcome != "not judged" or settings.not_judged != "auto":
        return result.outcome == "failed" or (result.outcome == "not judged" and settings.not_judged == "fail")
    if not result.needs_base or comparison is None:
        return False
    return comparison.baseline.status in _CAN_BE_HAD or comparison.baseline.way == "ancestor"


# Gates that fail only because of what another gate already names: one line, not failures of their own.


def with_consequences(results: Iterable[JudgedGate]) -> tuple[JudgedGate, ...]:
    """Mark each failing gate whose causes are all named by an earlier gate.

    A figure that is out of bounds is a failure of its own, unless it could not be measured at all.
    """
    named: dict[Hashable, JudgedGate] = {}
    marked = []
    for result in results:
        causes = [_keys(cause) for cause in result.causes] if result.fails else []
        before = [next((named[key] for key in keys if key in named), None) for keys in causes]
        first = before[0] if before else None
        counts = result.gate.subject == "consistency"  # how many of the tests, which no other gate says
        if (
            first
            and all(before)
            and not counts
            and (result.metric is None or all(by and _is_about_faults(by) for by in before))
        ):
            marked.append(replace(result, follows=first.name))
        else:
            own = tuple(
                cause for cause, by in zip(result.causes, before, strict=False) if not _is_told(result, cause, by)
            )
            marked.append(replace(result, causes=own) if own else result)
            for keys in causes:
                named |= {key: result for key in keys if key not in named}
    return tuple(marked)


def _is_about_faults(result: JudgedGate) -> bool:
    return result.gate.subject == "faults"


def _is_told(result: JudgedGate, cause: Cause, by: JudgedGate | None) -> bool:
    """Whether an earlier gate tells a cause: what could not be run, or an error in the data.

    A test that fails at the place of an error is another thing, and a figure has examples of its own.
    """
    if by is None:
        return False
    return _is_about_faults(by) or (result.metric is None and isinstance(cause, BadFinding))


def _keys(cause: Cause) -> tuple[Hashable, ...]:
    """What identifies a cause: for a test, one gate may name the place where it begins, another where it fails."""
    return (cause,) if cause.location is None else (cause.location, cause)
