"""Which patterns do not compile, and which can take exponential time."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.location import Location
from turncheck.validation.regexes import backtracks, check_pattern, compile_problem

# Each with the text that takes it long.
EXPONENTIAL = {
    "([0-9]+)*x": "1" * 60,
    r"(\w+\s?)*x": "a" * 60,
    "(ab|a.)*c": "ab" * 30,
    "(.*,)*x": "," * 60,
    "(a*b?)*c": "ab" * 30,
    "(x+x+)+y": "x" * 60,
    "(a|aa)+$": "a" * 60 + "!",
    r"(\d{1,5})+$": "1" * 60 + "!",
    "(a{1,10}){1,30}$": "a" * 60 + "!",
    r"^(\w+\s?)+$": "a" * 60 + "!",
    r"(\w+[.-]?)*\w+@": "a" * 60,
    "((a+)+b)*": "a" * 60,
    "(a|b|ab)*c": "ab" * 60,
    "((a?)?b)+c": "b" * 60,
    r"(?i)(sch|s|c|h|sc)+\b": "SCH" * 20 + "_",
    r"(?!(a+)+$)b?": "a" * 60 + "!",
    r"(/\S*)*$": "/" * 60 + " ",
    "([a-z]+ [a-z]+)+$": "aaa " * 30 + "!",
}
NESTED = ["(a+)+", "(.*)*", "((?:[0-9]+))*"]
HARMLESS = [
    r"\d+\s\d+",
    r"(\w+\s)*x",
    "(a|b)*",
    "(a|b)*c",
    "(?:ab+c)*",
    "[a-z]+@[a-z]+",
    r"[a-z]+@[a-z]+\.com",
    r"(\d{2,3}-?)+",
    "(foo|bar)+",
    r"(foo|bar)+\b",
    r"\b\d{5}\b",
    r"\d{5}",
    r"(\d{12})+$",
    r"(\d{1,3}\.){3}\d{1,3}",
    r"(\d{1,3},)*\d{1,3}$",
    r"\b(mon|tue)s?\b",
    "([a-z]+ [a-z]+)+",
    "([a-z]+-)+[a-z]",
    r"(\b\w+\b\s?)+$",
    r"([\w-]+\.)+[a-z]{2,}$",
    r"^([\w.-]+)@([\w.-]+)\.([a-z]{2,5})$",
    r"[A-Z]{2}\d{2}( ?\d{4}){3,7}( ?\d{1,2})?$",
    r"\+?\d{1,3}?[-. ]?\(?\d{3}\)?[-. ]?\d{3}[-. ]?\d{4}",
    r"((25[0-5]|2[0-4]\d|1?\d?\d)(\.|$)){4}",
    r"(\d+\s?(euro|dollar)s?\s*)+$",
    "(a{1,10}){1,3}$",
    "((?!foo).)*bar",
    "(?i)(a|A)+$",
    "(?m)(a+$)+b",
]
SEARCH = "import re, sys; re.compile(sys.argv[1]).search(sys.argv[2])"
SECONDS = 2


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_a_loop_with_several_ways_to_read_a_text_is_found(pattern: str) -> None:
    assert backtracks(pattern)


@pytest.mark.parametrize("pattern", NESTED)
def test_a_loop_of_nothing_but_a_loop_is_found_whatever_follows(pattern: str) -> None:
    assert backtracks(pattern)


@pytest.mark.parametrize("pattern", HARMLESS)
def test_a_loop_that_has_one_way_is_let_pass(pattern: str) -> None:
    assert not backtracks(pattern)


def test_what_is_found_really_does_not_end() -> None:
    searches = [subprocess.Popen([sys.executable, "-c", SEARCH, *case]) for case in EXPONENTIAL.items()]
    end = time.monotonic() + SECONDS
    ended = []
    for search, pattern in zip(searches, EXPONENTIAL, strict=True):
        try:
            search.wait(max(0.0, end - time.monotonic()))
            ended.append(pattern)
        except subprocess.TimeoutExpired:
            search.kill()
            search.wait()
    assert ended == []


def test_what_is_let_pass_really_ends() -> None:
    words = ("a", "1", "1.", "ab", "foo", "a ", "a-", "1 euro", "a.b@", "aaa aaa ", "1234 ", ",", "foo bar ", "AaA")
    program = (
        "import json, re, sys; patterns, texts = json.loads(sys.argv[1])\n"
        "for pattern in patterns: [re.search(pattern, text) for text in texts]"
    )
    texts = [word * 60 + tail for word in words for tail in ("!", "_", "", "\n")]
    subprocess.run([sys.executable, "-c", program, json.dumps([HARMLESS, texts])], check=True, timeout=30 * SECONDS)


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


@pytest.mark.parametrize("pattern", [r"(\w+){1,5}x", r"\w*\w*\w*\w*x", r"(\w+\s?){1,4}x", r"(?:a?){30}a{30}"])
def test_many_loops_in_a_row_and_rounds_that_may_be_empty_are_found(pattern: str) -> None:
    assert [finding.code for finding in check_pattern(pattern, "it", Location("x.yml", 1, 1))] == ["regex-backtracks"]


@pytest.mark.parametrize(
    "pattern", [r"\w*\w*\w*\w*", r"\w+\s\w+\s\w+\s\w+x", r"(?:a?){30}", r"(?:a?){0,30}a{30}", r"(\d[ -]?){10,15}x"]
)
def test_loops_that_cannot_fail_or_share_nothing_are_harmless(pattern: str) -> None:
    assert list(check_pattern(pattern, "it", Location("x.yml", 1, 1))) == []


@pytest.mark.parametrize(
    "pattern", [r"\w*" * 380 + "x", "".join(f"[{chr(97 + number % 26)}-z]*" for number in range(60)) + "x"]
)
def test_a_pattern_made_to_be_hard_to_judge_is_judged_soon(pattern: str) -> None:
    began = time.process_time()
    list(check_pattern(pattern, "it", Location("x.yml", 1, 1)))
    assert time.process_time() - began < 8
