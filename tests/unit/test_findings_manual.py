"""Every code has its section, and the page in docs/ is the one made from the registry."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from turncheck.errors import UserError
from turncheck.validation.registry import CHECKS, OWN_CHECKS, explain, manual

ROOT = Path(__file__).parents[2]
ORDER = {"never": 0, "on-warnings": 1, "always": 2}


def test_the_page_is_the_one_made_from_the_registry() -> None:
    written = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert written == manual(), "run: .venv/bin/python tools/make_findings_page.py"


def test_codes_levels_and_effects_are_those_recorded_of_rasa() -> None:
    rows = json.loads((ROOT / "tests" / "oracle" / "validate" / "checks.json").read_text(encoding="utf-8"))
    for row in rows:
        if row["code"] is not None:
            check = CHECKS[row["code"]]
            assert not check.own
            assert check.severity == row["severity"]
            assert ORDER[check.fails] >= ORDER[row["fails"]]


def test_every_code_that_the_reader_gives_is_registered() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "turncheck" / "project").glob("*.py")]
    given = {
        code
        for source in sources
        for code in re.findall(r'(?:note|Finding|_error|_schema)\(\s*(?:\w+,\s*)?"([a-z0-9]+(?:-[a-z0-9]+)+)"', source)
    }
    assert {"schema-violation", "yaml-syntax", "file-not-utf8"} <= given
    of_end_to_end_cases = {code for code in given if code.startswith("e2e-")}  # these end their own evaluation
    assert given - of_end_to_end_cases <= CHECKS.keys()


def test_checks_of_our_own_show_wrong_and_right() -> None:
    assert all(check.wrong and check.right and check.wrong != check.right for check in OWN_CHECKS)


def test_explain_prints_the_section_of_a_code() -> None:
    section = explain("rule-contradiction")
    assert section.startswith("### rule-contradiction\n")
    assert section in manual()


def test_explain_of_an_unknown_code_suggests_a_near_one() -> None:
    with pytest.raises(UserError, match="Did you mean rule-contradiction"):
        explain("rule-contradicton")
