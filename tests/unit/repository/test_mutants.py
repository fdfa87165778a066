"""`make mutants`: what it breaks, and that it can."""

from __future__ import annotations

import ast

from tools.mutants import drawn, guarded, mutants_of
from tools.reached_tests import SOURCE

CODE = """
def is_allowed(zebra: str, most: int = 3) -> bool:
    if zebra in LIONS and not zebra.startswith("_"):
        return len(zebra) < most
    return False
"""


def test_every_place_is_broken_in_a_way_of_its_own() -> None:
    mutants = list(mutants_of("names.py", CODE))
    assert {(mutant.line, mutant.before, mutant.after) for mutant in mutants if "\n" not in mutant.before} == {
        (2, "3", "4"),
        (3, "zebra in LIONS and (not zebra.startswith('_'))", "zebra in LIONS or not zebra.startswith('_')"),
        (3, "zebra in LIONS", "zebra not in LIONS"),
        (3, "not zebra.startswith('_')", "zebra.startswith('_')"),
        (4, "len(zebra) < most", "len(zebra) <= most"),
        (4, "return len(zebra) < most", "return None"),
        (5, "return False", "return None"),
        (5, "False", "True"),
    }
    whole = {ast.unparse(ast.parse(CODE)), *(mutant.source for mutant in mutants)}
    assert len(whole) == len(mutants) + 1


def test_the_modules_that_guard_are_there_and_each_has_its_turn() -> None:
    modules = guarded()
    assert all((SOURCE / "turncheck" / module).is_file() for module in modules)
    assert {mutant.module for mutant in drawn(modules, len(modules), seed=1)} == set(modules)
