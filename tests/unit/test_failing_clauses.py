"""The clauses of a failure keep the names of a project whole, whatever punctuation these have."""

from __future__ import annotations

import pytest
from report_builder import report

from turncheck.comparison.summary import failing_clauses
from turncheck.comparison.verdict import GateResult

LABELS = ["ask (price)", "a, more than b", "x on the examples y", "see you. bye", "a: b", 'q "x"']


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("gate", ["require", "max-regression"])
def test_a_metrics_label_is_not_cut_by_its_punctuation(gate: str, label: str) -> None:
    metric = f"nlu.intents.f1[{label}]"
    details = {"require": " is 0.5, not >= 0.9 (of 12 sentences)", "max-regression": " fell by 0.2, more than 0.1"}
    failed = GateResult(
        name=f"{gate}: {metric}", outcome="failed", fails=True, metric=metric, reason=metric + details[gate]
    )
    (clause,) = failing_clauses([failed], report(), None)
    assert clause in {f"{metric} is 0.5, not >= 0.9", f"{metric} fell by 0.2"}
