"""Why a gate ended as it did, in full and in short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.render.wording.reasons import consistency, figures, findings, required, tests
from turncheck.render.wording.reasons.context import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.comparison.model import Comparison
    from turncheck.gates.judged import JudgedGate
    from turncheck.render.wording.reasons.context import Reasons
    from turncheck.report.model import Report

REASONS: Final[Mapping[str, Reasons]] = {
    "consistency": consistency.REASONS,
    "figures": figures.REASONS,
    "findings": findings.REASONS,
    "required": required.REASONS,
    "tests": tests.REASONS,
}
"""What is said for each reason, by the family of gates."""
_SHORT: Final[Mapping[str, Callable[[JudgedGate, Context], str | None]]] = {
    "figures": figures.in_short,
    "required": required.in_short,
    "tests": tests.in_short,
}


def reason_of(gate: JudgedGate, report: Report, comparison: Comparison | None, *, brief: bool = False) -> str:
    """Say why a gate ended as it did; ``brief``: without what a document says once."""
    words = REASONS[gate.gate.family][gate.why]
    return words if isinstance(words, str) else words(gate, Context(report, comparison, brief))


def reason_in_short(gate: JudgedGate, report: Report, comparison: Comparison | None) -> str:
    """Say the same without the details that belong in the gate's own line."""
    in_short = _SHORT.get(gate.gate.family)
    short = in_short(gate, Context(report, comparison)) if in_short else None
    return reason_of(gate, report, comparison) if short is None else short
