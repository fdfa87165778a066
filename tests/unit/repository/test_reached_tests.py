"""`make check CHANGED=1`: the tests that a change reaches, by the imports of tests and modules."""

from __future__ import annotations

import pytest
from tools.reached_tests import ROOT, TESTS, reached_tests

UNIT = TESTS / "unit"


def names(*changed: str) -> set[str]:
    return {test.stem for test in reached_tests([ROOT / path for path in changed], [UNIT])}


@pytest.mark.parametrize(
    ("changed", "test", "other"),
    [
        ("src/turncheck/evaluations/nlu/scores.py", "test_scores", "test_json_tree"),
        ("tests/unit/report_builder.py", "test_causes", "test_json_tree"),
        ("tests/unit/render/test_annotations.py", "test_annotations", "test_json_tree"),
        ("docs/findings.md", "test_findings_manual", "test_json_tree"),
        ("tools/new.py", "test_new", "test_json_tree"),
    ],
)
def test_a_change_reaches_whoever_leads_to_it(changed: str, test: str, other: str) -> None:
    reached = names(changed)
    assert test in reached
    assert other not in reached


@pytest.mark.parametrize("changed", ["pyproject.toml", "tests/conftest.py", "tests/data/some.json"])
def test_what_no_import_leads_to_reaches_everything(changed: str) -> None:
    assert names(changed) == {path.stem for path in UNIT.rglob("test_*.py")}


def test_a_command_line_reaches_every_command() -> None:
    assert "test_start" in names("src/turncheck/commands/quarantine.py")


def test_an_unchanged_checkout_reaches_nothing() -> None:
    assert not names()
