"""A gate is a row of one table: everything else follows from the row, and a new one says nothing false."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Final, get_args

import pytest
from gate_situations import BAD, COLUMNS, EVERY_GATE, FINE, SITUATIONS, WARNED, Situation, base, sign
from golden_texts import Golden
from msgspec.structs import replace

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing
from turncheck.gates.gate import Gate
from turncheck.gates.judged import Judging
from turncheck.gates.rules import GateRules
from turncheck.gates.table import AUTO, FAIL_ON, GATES, NONE, OF_A_CHANGE, OF_ALL
from turncheck.gates.verdict import judge_gate
from turncheck.render.wording.failing_clauses import failing_clauses
from turncheck.render.wording.reasons.reason import REASONS, reason_in_short, reason_of
from turncheck.report.model import GateSettings

SOURCE: Final = Path(__file__).parents[3] / "src" / "turncheck"
WRITES_SETTINGS: Final = {
    "report/model.py": {"test-failures"},  # what a report counted that does not say it
}
"""Modules that write gates into settings, as a user would."""
NAMES: Final = {gate.name for gate in GATES if "-" in gate.name and gate.name != gate.setting}
NEW_WARNINGS: Final = Gate(
    name="new-warnings", about=("warnings",), rank=10, judged_by="findings.judge_new", new=True, manual="a new warning"
)


def test_nothing_else_names_a_gate() -> None:
    """Names that are words of other things as well (`errors`, `require`) would need eyes to find."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        name = path.relative_to(SOURCE).as_posix()
        if named := {one for one in NAMES if one in constants} - WRITES_SETTINGS.get(name, set()):
            found[name] = named

    assert found == {"gates/table.py": NAMES}


@pytest.mark.parametrize("family", sorted({gate.family for gate in GATES}))
def test_something_is_said_for_every_reason(family: str) -> None:
    assert set(get_args(import_module(f"turncheck.gates.{family}").Why)) == REASONS[family].keys()


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_every_gate_has_all_that_its_row_promises(gate: Gate) -> None:
    family, _, function = gate.judged_by.partition(".")

    assert callable(getattr(import_module(f"turncheck.gates.{family}"), function))
    assert gate.manual
    assert gate.written or gate.setting in {"fail-on", ""}


@pytest.mark.parametrize("column", COLUMNS)
def test_every_gate_has_a_situation_in_which_it_fails(column: str) -> None:
    assert any(sign(situation.verdict(EVERY_GATE).gates, column) in {"❌", "↑"} for situation in SITUATIONS)


def test_the_words_of_the_setting_are_the_gates() -> None:
    assert FAIL_ON[-2:] == (AUTO, NONE)
    assert len({gate.name for gate in GATES}) == len(GATES)
    assert (OF_A_CHANGE, OF_ALL) == (("new-errors", "new-failures"), ("errors", "test-failures"))


@pytest.mark.parametrize(
    ("head", "before"),
    [
        (WARNED, base(FINE)),
        (WARNED, base(WARNED)),
        (WARNED, Missing("it is new")),
        (FINE, Missing("it is new")),
        (WARNED, BAD),
        (FINE, base(FINE)),
    ],
    ids=["new", "old", "no base", "nothing, no base", "an unreadable base", "nothing"],
)
def test_a_gate_about_new_warnings_says_nothing_of_errors(head: object, before: object) -> None:
    """A gate that somebody adds to the table is judged, and worded, by what its row says."""
    situation = Situation("", head, before)  # type: ignore[arg-type]  # one of the above
    report, baseline = situation.sides(GateSettings(fail_on=()))
    comparison = compare(report, baseline)
    rules = GateRules(("new-warnings",), False, (), (), (), ())

    (judged,) = judge_gate(NEW_WARNINGS, Judging(report, comparison, rules, {}))

    said = [reason_of(judged, report, comparison), reason_in_short(judged, report, comparison)]
    said += [clause.words for clause in failing_clauses([replace(judged, fails=True)], report, comparison)]
    assert "error" not in " ".join(said)
    assert "warning" in said[0]
    old = comparison.judged and before == base(WARNED)
    assert (judged.outcome == "passed") == (head is FINE or old)


def test_a_warning_that_the_base_may_have_is_not_called_an_error(golden: Golden) -> None:
    found = compare(WARNED, base(FINE))
    comparison = replace(found, new_findings=(), unknown_findings=found.new_findings)
    rules = GateRules(("new-warnings",), False, (), (), (), ())

    (judged,) = judge_gate(NEW_WARNINGS, Judging(WARNED, comparison, rules, {}))

    assert judged.outcome == "not judged"
    golden(judged.why)
    assert "error" not in reason_of(judged, WARNED, comparison)
