"""Results that ``rasa test du`` left: cases, and precision, recall and F1 of each kind of command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.commands.import_results import import_results
from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import metrics_of
from turncheck.comparison.model import Present
from turncheck.evaluations.e2e.imported_commands import import_commands, may_be_results
from turncheck.messages.errors import UserError
from turncheck.render.content import all_sections
from turncheck.render.spans import Row
from turncheck.render.wording.gates import judge
from turncheck.report.codec import decode, encode
from turncheck.report.model import GateSettings, Report

EXAMPLE = Path(__file__).parents[3] / "examples" / "appointment"
FILE = "dialogue_understanding_tests/booking.yml"
ONE, OTHER = "service and day in one sentence", "a question in between"
SAID = "oh, rather a shave"

PRINTED = f"""
\x1b[31m======== FAILURES ========\x1b[0m

------------- test_case: bot/{FILE}::{ONE} -------------

Number of failed steps: 1

== failure starting at user message '{SAID}'.

-- COMMAND GENERATOR(s) --
SingleStepLLMCommandGenerator

-- CONVERSATION --
user: a haircut on Friday, please
bot: Shall I book it?
user: {SAID}
-- EXPECTED --          | -- PREDICTED --
SetSlot(service, shave) | StartFlow(book_appointment)
                        | SetSlot(day, a|b)

Passed: '{FILE}::{OTHER}'

start flow (total count: 3):
  tp: 3 fp: 1 fn: 0
  precision: 0.75
  recall   : 1.00
  f1       : 0.86
set slot (total count: 3):
  tp: 2 fp: 0 fn: 1
  precision: 1.00
  recall   : 0.67
  f1       : 0.80
"""
"""In the form that Rasa's documentation shows."""


def structured(*passed: str, failed: str = "") -> str:
    """A report file; its keys are not documented, what it holds is."""
    wrong = {"expected": ["SetSlot(service, shave)"], "predicted": {"Generator": ["StartFlow(book_appointment)"]}}
    return json.dumps(
        {
            "passed_tests": [f"{FILE}::{name}" for name in passed],
            "failed_tests": [f"{FILE}::{failed}"] if failed else [],
            "failed_user_utterances": [SAID] if failed else [],
            "failed_steps": [{"test_case": f"{FILE}::{failed}", "user": SAID, **wrong}] if failed else [],
            "metrics": {
                "start flow": {"total_count": 3, "tp": 3, "fp": 1 if failed else 0, "fn": 0, "precision": 0.75},
                "set slot": {"total_count": 3, "tp": 2 if failed else 3, "fp": 0, "fn": 1 if failed else 0},
            },
        }
    )


def imported(folder: Path, name: str, text: str) -> Report:
    """The report of a folder with one file."""
    folder.mkdir(parents=True)
    (folder / name).write_text(text, encoding="utf-8")
    return import_results(folder, EXAMPLE)


@pytest.mark.parametrize(
    ("name", "text"),
    [("du.txt", PRINTED), ("du_report.yml", structured(OTHER, failed=ONE)), ("x.json", structured(OTHER, failed=ONE))],
)
def test_cases_messages_and_figures_are_those_of_the_files(tmp_path: Path, name: str, text: str) -> None:
    report = imported(tmp_path / "results", name, text)
    assert report.e2e is not None
    by_name = {case.name: case for case in report.e2e.cases}
    assert {one: case.passed for one, case in by_name.items()} == {ONE: False, OTHER: True}
    wrong = next(step for step in by_name[ONE].steps if step.outcome == "failed")
    assert (wrong.expected, wrong.message) == ("SetSlot(service, shave)", 1)
    assert "StartFlow(book_appointment)" in (wrong.actual or "")
    assert str(wrong.location) == f"{FILE}:18:13"
    assert [step.outcome for step in by_name[OTHER].steps] == ["passed", "passed"]
    figures = {one: round(metric.value, 3) for one, metric in metrics_of(report).items() if "commands" in one}
    assert figures["e2e.commands[start flow].precision"] == 0.75
    assert figures["e2e.commands[set slot].recall"] == 0.667
    assert figures["e2e.commands.f1"] == 0.833
    assert decode(encode(report)) == report


def test_a_case_that_newly_fails_is_compared_shown_and_judged(tmp_path: Path) -> None:
    base = imported(tmp_path / "base", "du.yml", structured(ONE, OTHER))
    head = imported(tmp_path / "head", "du.txt", PRINTED)
    compared = compare(head, Present(base, "file"))
    settings = GateSettings(
        fail_on=("new-failures",),
        thresholds=("e2e.commands[set slot].recall >= 0.9",),
        max_regression=("e2e.commands.f1: 5%",),
    )
    verdict = judge(head, compared, settings)
    assert {gate.name.partition(":")[0] for gate in verdict.gates if gate.outcome == "failed"} >= {
        *("new-failures", "threshold", "max-regression"),
    }
    assert [case.edits for case in compared.e2e.worse] == [()]
    table = next(section for section in all_sections(head, compared, verdict, 10) if section.name == "commands")
    kinds = [str(row.cells[0]) for row in table.entries if isinstance(row, Row)]
    assert ["set slot" in one for one in kinds] == [True, False]  # the weakest first


def test_what_was_printed_is_not_counted_beside_what_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "du.log").write_text(PRINTED, encoding="utf-8")
    (folder / "du.yml").write_text(structured(OTHER, failed=ONE), encoding="utf-8")
    results = "test_results:\n- name: when it is open\n  pass_status: true\n  difference: []\n"
    (folder / "e2e_results_passed.yml").write_text(results, encoding="utf-8")
    (folder / "e2e_results_failed.yml").write_text("test_results: []\n", encoding="utf-8")
    report = import_results(folder, EXAMPLE)
    assert report.e2e is not None
    assert (report.e2e.passed, report.e2e.failed, len(report.e2e.remarks)) == (2, 1, 2)


def test_cases_that_the_project_does_not_have_are_named_by_the_files() -> None:
    section = import_commands([("du.txt", PRINTED)], ())
    assert {case.name: str(case.location) for case in section.cases} == {OTHER: "du.txt", ONE: "du.txt"}
    assert next(case.reason for case in section.cases if not case.passed) == (
        f"'{SAID}': expected SetSlot(service, shave), got StartFlow(book_appointment), SetSlot(day, a|b)"
    )


BROKEN = {
    "no cases": ("du.yml", '{"start flow": {"tp": 1, "fp": 0, "fn": 0}}'),
    "not YAML": ("du.yml", "tp: fn: ["),
    "counts": ("du.yml", f'{{"passed": ["{FILE}::a"], "set slot": {{"tp": -1, "fp": 0, "fn": true}}}}'),
    "both": ("du.yml", structured(ONE, failed=ONE)),
    "nothing": ("du.txt", "-- PREDICTED --"),
}


@pytest.mark.parametrize(("name", "text"), BROKEN.values(), ids=BROKEN)
def test_results_without_sense_are_refused(name: str, text: str) -> None:
    with pytest.raises(UserError):
        import_commands([(name, text)], ())


def test_results_of_several_runs_are_refused() -> None:
    with pytest.raises(UserError, match=r"passed.+failed"):
        import_commands([("a.yml", structured(ONE)), ("b.yml", structured(failed=ONE))], ())


@given(st.text(max_size=60) | st.lists(st.sampled_from(PRINTED.splitlines())).map("\n".join), st.booleans())
def test_no_text_breaks_the_readers(text: str, whole: bool) -> None:
    may_be_results("a.yml", text)
    for name in ("a.yml", "a.txt"):
        try:
            import_commands([(name, text if whole else f"{structured(ONE)[:-1]}\n{text}")], ())
        except UserError:
            continue
