"""The clauses of a failure keep the names of a project whole, whatever punctuation these have."""

from __future__ import annotations

import pytest
from report_builder import report

from turncheck.comparison.metrics import Measured, MetricDelta
from turncheck.comparison.rules import Regression, Threshold
from turncheck.gates.judged import Drop, JudgedGate, Value
from turncheck.gates.table import GATES
from turncheck.render.wording.failing_clauses import failing_clauses

LABELS = ["ask (price)", "a, more than b", "x on the examples y", "see you. bye", "a: b", 'q "x"', "a; b"]


@pytest.mark.parametrize("label", LABELS)
def test_a_metrics_label_is_not_cut_by_its_punctuation(label: str) -> None:
    metric = f"nlu.intents[{label}].f1"
    delta = MetricDelta(name=metric, better="higher", kind="score", value=0.7, base=0.9, delta=-0.2)
    drop = Drop(Regression("", metric, 0.1, significant=False), delta)
    value = Value(Threshold("", metric, ">=", 0.9), Measured(metric, 0.7, "higher", "score", "bootstrap"))
    by_name = {gate.name: gate for gate in GATES}
    gates = [JudgedGate(by_name["max-regression"], "failed", "", (drop,), rule="x", metric=metric, fails=True)]
    gates += [JudgedGate(by_name["threshold"], "failed", "", (value,), rule="x", metric="other", fails=True)]

    clauses = [clause.words for clause in failing_clauses(gates, report(), None)]

    assert clauses == [f"{metric}: 0.900 to 0.700 (−0.200)", f"{metric} is 0.700, not >= 0.9"]
