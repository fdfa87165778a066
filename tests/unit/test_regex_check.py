"""Which patterns do not compile, and which can take exponential time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.validation.regexes import backtracks, compile_problem

EXPONENTIAL = ["(a+)+", "([0-9]+)*x", r"(\w+\s?)*x", "(ab|a.)*c", "(.*)*", "(.*,)*x", "(a*b?)*c", "(x+x+)+y"]
HARMLESS = [
    r"\d+\s\d+",
    r"(\w+\s)*x",
    "(a|b)*",
    "(?:ab+c)*",
    "[a-z]+@[a-z]+",
    r"(\d{2,3}-?)+",
    "(foo|bar)+",
    r"\b\d{5}\b",
    "([a-z]+ [a-z]+)+",
    "([a-z]+-)+[a-z]",
]


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_repetition_within_repetition_is_found(pattern: str) -> None:
    assert backtracks(pattern)


@pytest.mark.parametrize("pattern", HARMLESS)
def test_repetition_that_has_one_way_is_let_pass(pattern: str) -> None:
    assert not backtracks(pattern)


def test_what_is_found_really_takes_exponential_time() -> None:
    times = []
    for length in (16, 20):
        begin = time.process_time()
        assert re.fullmatch("(a+)+", "a" * length + "!") is None
        times.append(time.process_time() - begin)
    assert times[1] > 4 * times[0]


@given(st.text(alphabet="ab()[]{}*+?|^$.\\d,0123-", max_size=30))
def test_any_pattern_is_judged_without_an_exception(pattern: str) -> None:
    if compile_problem(pattern) is None:
        assert backtracks(pattern) in {True, False}


@pytest.mark.parametrize("pattern", ["foo(?i)", "foo(?i)bar(?m)", "(?i)foo"])
def test_global_flags_may_stand_anywhere_as_in_python_3_10(pattern: str) -> None:
    assert compile_problem(pattern) is None
    assert not backtracks(pattern)


@pytest.mark.parametrize("pattern", ["[a-z]++", "(?>ab)c", "(x|(?>ab))*"])
def test_what_python_3_10_does_not_know_does_not_compile(pattern: str) -> None:
    assert compile_problem(pattern) is not None
