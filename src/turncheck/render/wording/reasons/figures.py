"""Why a gate about a figure ended as it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.gates.figures import shared_examples
from turncheck.gates.judged import Drop, NoFigure, Value
from turncheck.render.wording.figures import change, figure, no_verdict
from turncheck.render.wording.reasons.context import Context, hidden_on_base, no_base, unclear
from turncheck.report.repeats import OTHER_BOT, SAME_BOT, not_in_turn
from turncheck.settings.engines import flag_of_base

if TYPE_CHECKING:
    from turncheck.gates.judged import Fact, GateOutcome, JudgedGate
    from turncheck.render.wording.reasons.context import Reasons


def _of_figure(gate: JudgedGate, _: Context) -> str:
    (fact,) = gate.facts
    rule = fact.rule if isinstance(fact, Value | Drop) else None
    renamed = f" (`{rule.former}` is called `{rule.name}` now)" if rule is not None and rule.former else ""
    return f"{_of_fact(gate, fact)}{renamed}"


def _of_fact(gate: JudgedGate, fact: Fact) -> str:
    if isinstance(fact, Value):
        return _value(fact)
    if isinstance(fact, Drop):
        return no_verdict(fact.delta.agreement) if fact.delta.agreement is not None else _drop(fact, gate.outcome)
    if not isinstance(fact, NoFigure) or fact.base is None:
        return fact.why if isinstance(fact, NoFigure) else ""
    base = figure(fact.base.base or 0.0, fact.base.kind)
    return f"{gate.metric}: {base} on the base, no longer measured: {fact.why}"


def _value(value: Value) -> str:
    rule, measured = value.rule, value.measured
    shown = f"{rule.name} is {figure(measured.value, measured.kind, apart_from=rule.limit)}"
    if value.interval is not None:
        low, high = value.interval
        if measured.kind == "amount":
            between = f"{figure(low, measured.kind)} to {figure(high, measured.kind)}"
            return f"{shown} (with 95 % certainty from {between}), the limit is {rule.limit:g}"
        return f"{shown} (95 % interval {low:.3f} to {high:.3f}), the limit is {rule.limit:g}"
    return shown if rule.holds(measured.value) else f"{shown}, not {rule.operator} {rule.limit:g}"


def _drop(drop: Drop, outcome: GateOutcome) -> str:
    """``core.passed: 3 to 2 (−1), more than 0``."""
    is_amount = drop.delta.kind == "amount"
    where = f" on the {'turns' if is_amount else 'examples'} both sides judged" if shared_examples(drop.delta) else ""
    limit = f", more than {drop.rule.limit_in_words}" if outcome == "failed" else ""
    return f"{_difference(drop)}{where}{limit}"


def _difference(drop: Drop) -> str:
    """``core.passed: 3 to 2 (−1)``."""
    delta = drop.delta
    shared = shared_examples(delta)
    base, value = (shared.base, shared.value) if shared else (delta.base or 0.0, delta.value or 0.0)
    too_few = delta.significance is not None and delta.significance.too_few
    noise = ("", f", {'too few sentences to tell' if too_few else 'within noise'}")[delta.judgement == "noise"]
    words = f"{figure(base, delta.kind)} to {figure(value, delta.kind)} ({change(base, value, delta.kind)}{noise})"
    return f"{drop.rule.name}: {words}"


def in_short(gate: JudgedGate, _: Context) -> str | None:
    """Say the same without the details that belong in the gate's own line; ``None``: there is nothing shorter."""
    match gate.facts:
        case (Drop() as drop,) if drop.delta.agreement is None:
            return _difference(drop)
        case _:
            return None


def _no_pairs(_: JudgedGate, context: Context) -> str:
    """Say why the base was not asked in turn; if nothing else is known, nobody said where it runs."""
    report = context.report
    remarks = report.e2e.remarks if report.e2e is not None else ()
    flag = flag_of_base(report.engine.name) if report.engine else None
    say_where = f"say where that runs (`{flag}`)" if flag else ""
    why = next((one for one in (OTHER_BOT, SAME_BOT) if not_in_turn(one) in remarks), say_where)
    return "it was not measured in turn with the base" + (f": {why}" if why else "")


REASONS: Final[Reasons] = {
    "": _of_figure,
    "agreement": _of_figure,
    "no base": no_base,
    "unclear": unclear,
    "hidden on base": hidden_on_base,
    "base has no such metric": "the base has no such metric",
    "only on base": "it is measured on the base only",
    "files unread": "not all files can be read, so what is in them is not counted",
    "no shared example": "no example was judged on both sides",
    "no turns": "no turn has it on both sides, at the same prices",
    "no pairs": _no_pairs,
}
