"""Every code has its section, and the page in docs/ is the one made from the registry."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.messages.errors import UserError
from turncheck.render.spans import PROSE_LIMIT
from turncheck.validation.catalogue import CHECKS, OWN_CHECKS
from turncheck.validation.catalogue_suites import CASE_CHECKS, SUITE_CHECKS
from turncheck.validation.manual import explain, manual

ROOT = Path(__file__).parents[3]
ORDER = {"never": 0, "on-warnings": 1, "always": 2}


def test_the_page_is_the_one_made_from_the_registry() -> None:
    written = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert written == manual(), "run: .venv/bin/python tools/make_findings_page.py"


def test_codes_levels_and_effects_are_those_recorded_of_rasa() -> None:
    rows = json.loads((ROOT / "tests" / "oracle" / "validate" / "checks.json").read_text(encoding="utf-8"))
    recorded = [row for row in rows if row["code"] is not None]
    assert len(recorded) > 20
    for row in recorded:
        check = CHECKS[row["code"]]
        assert not check.own
        assert check.severity == row["severity"]
        assert ORDER[check.fails] >= ORDER[row["fails"]]


CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
NO_CODES = {"utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "site-packages", "on-warnings"}
NO_CODES |= {"amount-of-money", "credit-card-number", "phone-number", "time-grain"}  # what Duckling finds
NO_CODES |= {"not-evaluated"}  # an outcome of a suite
NO_CODES |= {"typographic-quote", "duplicate-key"}  # faults of JSON, which each format names its own way
"""What looks like a code in the modules that make findings, and is none."""


def _texts(node: ast.AST) -> set[str]:
    """The texts in a piece of source, parts of f-strings included."""
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _is_rows(node: ast.stmt) -> bool:
    """Whether a statement holds the rows of checks, which stand in the module of their functions."""
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "CHECKS"


@cache
def _given_codes() -> tuple[set[str], set[str]]:
    """The codes that the source gives, and the endings of those that it puts together."""
    texts: set[str] = set()
    source = ROOT / "src" / "turncheck"
    for path in sorted(source.rglob("*.py")):
        if path.name.startswith("catalogue"):
            continue
        text = path.read_text(encoding="utf-8")
        room = path.relative_to(source).parts[0]
        of_platform = room == "platforms" and path.name in {"checks.py", "faults.py", "knowledge.py", "reader.py"}
        if of_platform or room in {"project", "validation", "yaml_tree"}:
            tree = ast.parse(text)
            tree.body = [node for node in tree.body if not _is_rows(node)]
            texts |= _texts(tree)
            continue
        if "Finding(" not in text and "found(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"Finding", "found"}:
                texts |= _texts(node.args[0]) if node.args else set()
    endings = {text for text in texts if re.fullmatch(r"(?:-[a-z]+)+", text)}
    return {text for text in texts if CODE.fullmatch(text)} - NO_CODES, endings


@pytest.mark.slow
def test_every_code_that_any_command_gives_is_in_the_manual() -> None:
    given, _ = _given_codes()
    assert {"schema-violation", "yaml-syntax", "e2e-syntax", "file-without-data", "max-history-invalid"} <= given
    assert given - CHECKS.keys() == set()


@pytest.mark.slow
def test_every_code_of_the_manual_is_given_somewhere() -> None:
    given, endings = _given_codes()
    assert {code for code in CHECKS.keys() - given if not code.endswith(tuple(endings))} == set()


def test_checks_of_our_own_show_wrong_and_right() -> None:
    assert all(
        check.wrong and check.right and check.wrong != check.right
        for check in (*OWN_CHECKS, *CASE_CHECKS, *SUITE_CHECKS)
    )


def test_explain_prints_the_section_of_a_code() -> None:
    section = explain("rule-contradiction")
    assert section.startswith("### rule-contradiction\n")
    assert section in manual()


def test_explain_of_an_unknown_code_suggests_a_near_one(golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        explain("rule-contradicton")
    golden(refused.value)


def test_what_is_said_beside_each_finding_is_never_cut() -> None:
    """The comment shows the advice whole; what is long stands in the manual alone."""
    assert [check.code for check in CHECKS.values() if len(check.text) > PROSE_LIMIT] == []
    assert "difflib" in explain("example-nearly-in-several-intents")
