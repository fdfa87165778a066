"""Patterns are read as Python's `re` reads them, though another package searches for them."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from turncheck.yaml_tree.shapes import is_found, pattern_problem

PARTS = (
    "{",
    "}",
    "e",
    "s",
    "2",
    ",",
    "<",
    "[",
    "]",
    "[:alpha:]",
    ":",
    "^",
    "\\",
    "a",
    "b",
    ".",
    "*",
    "|",
    "-",
    "é",
    "+",
    "?",
)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("(?:We are closed){e}", "All fine", False),
        ("(?:We are closed){e}", "We are closed{e}", True),
        ("Hello {s}", "Hello7", False),
        ("Use {date} or .time.", "Use {date} or {time}", True),
        ("^{e<=3}$", "abc", False),
        (r"^\{e}$", "{e}", True),
        ("^a{2,3}$", "aaa", True),
        ("^a{,2}$", "aa", True),
        ("^[{e}]+$", "e{}", True),
        ("^[[:alpha:]]$", "b", False),
        ("^[[:alpha:]]$", "p]", True),
        (r"^\N{LEFT CURLY BRACKET}e}$", "{e}", True),
    ],
)
def test_a_brace_that_repeats_nothing_is_a_brace(pattern: str, text: str, found: bool) -> None:
    assert pattern_problem(pattern) is None
    assert is_found(pattern, text) is found


def test_what_re_need_not_search_for_may_look_behind_but_not_be_larger() -> None:
    assert pattern_problem("(?<=a+)b") is not None
    assert pattern_problem("(?<=a+)b", for_re=False) is None
    assert pattern_problem("(?<=a+)(?:b{1000}){1000}", for_re=False) is not None
    assert pattern_problem("(?<=a+)(b", for_re=False) is not None


@given(
    st.lists(st.sampled_from(PARTS), max_size=8).map("".join), st.lists(st.sampled_from(PARTS), max_size=6).map("".join)
)
def test_what_is_found_is_what_re_finds(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiled = re.compile(pattern)
        except re.error:
            assume(False)
            return
    assume(pattern_problem(pattern) is None)
    assert is_found(pattern, text) == (pattern in text or compiled.search(text) is not None)
