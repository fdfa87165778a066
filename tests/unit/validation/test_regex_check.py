"""Which patterns do not compile, and which can take exponential time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import Timing

from turncheck.messages.finding import Location
from turncheck.project.reader import read_project
from turncheck.validation.facts import gather
from turncheck.validation.regexes import backtracks, check_pattern, check_regexes, compile_problem

if TYPE_CHECKING:
    from pathlib import Path

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
UNFAILING = ["(a+)+", "(.*)*", "((?:[0-9]+))*", r"(\w{1,10}){1,10}"]
# The same, under the flags of the component that matches them.
MANY_WAYS = {
    ("(A|aa)+$", re.IGNORECASE): "a" * 60 + "!",
    (r"(?:[A-Z]|[a-z]{2})+\d", re.IGNORECASE): "a" * 60,
    ("(a{1,3}){20}x", 0): "a" * 60,
    ("(a{1,3}){30}", 0): "a" * 29 + "!",
    (r"(\w{1,10}){1,10}x", 0): "a" * 60,
    (r"(\w{0,5}){10}x", 0): "a" * 60,
    ("(a{1,5}){1,9}x", 0): "a" * 100,
    (r"(?:[a-z]{2,8}){2,8}\d", 0): "a" * 60,
    (r"(\d{1,4}){1,11}x", 0): "1" * 60,
    ("(?:(?:ab){1,3}){19}x", 0): "ab" * 30,
}
FEW_WAYS = {
    "(A|aa)+$": "a" * 60 + "!",
    r"(?:[A-Z]|[a-z]{2})+\d": "aA" * 30,
    "(a|aa){1,15}x": "a" * 60,
    "(a{1,3}){10}x": "a" * 60,
    r"(?:\d{1,2}-?){4,12}x": "1" * 60,
    r"(\w{1,3}){1,10}x": "a" * 60,
    r"(\w{0,5}){4}x": "a" * 60,
    "(a{1,3}){20}": "a" * 19 + "!",
    **dict.fromkeys(UNFAILING, "a1" * 30 + "\n!"),
}
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
SEARCH = "import re, sys; re.compile(sys.argv[1], int(sys.argv[3])).search(sys.argv[2])"
SECONDS = 2


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_a_loop_with_several_ways_to_read_a_text_is_found(pattern: str) -> None:
    assert backtracks(pattern)


@pytest.mark.parametrize(("pattern", "flags"), MANY_WAYS)
def test_bounded_repetitions_are_found_from_a_million_ways_on(pattern: str, flags: int) -> None:
    assert backtracks(pattern, flags)


@pytest.mark.parametrize("pattern", UNFAILING)
def test_loops_with_nothing_behind_them_that_could_fail_are_let_pass(pattern: str) -> None:
    assert not backtracks(pattern)


def test_a_loop_of_a_loop_is_found_in_a_pattern_that_is_too_large_for_all_else() -> None:
    words = "|".join(f"w{number}" for number in range(1_000))
    assert backtracks(rf"(?:{words}) (\w+)+x")
    assert not backtracks(rf"(?:{words}) \w+x")


@pytest.mark.parametrize("pattern", FEW_WAYS)
def test_bounded_repetitions_with_fewer_ways_are_let_pass(pattern: str) -> None:
    assert not backtracks(pattern)


@pytest.mark.parametrize("pattern", HARMLESS)
def test_a_loop_that_has_one_way_is_let_pass(pattern: str) -> None:
    assert not backtracks(pattern)


@pytest.mark.slow
def test_what_is_found_really_does_not_end() -> None:
    searches = [subprocess.Popen([sys.executable, "-c", SEARCH, *case, "0"]) for case in EXPONENTIAL.items()]
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


@pytest.mark.bench
def test_what_has_many_ways_really_takes_more_than_a_second() -> None:
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1)); {SEARCH}"
    searches = [
        subprocess.Popen([sys.executable, "-c", limited, pattern, text, str(int(flags))])
        for (pattern, flags), text in MANY_WAYS.items()
    ]
    stopped = [search.wait() < 0 for search in searches]
    assert [pattern for (pattern, _), is_slow in zip(MANY_WAYS, stopped, strict=True) if not is_slow] == []


@pytest.mark.bench
def test_what_has_few_ways_really_ends() -> None:
    program = (
        "import json, re, sys, time\n"
        "for pattern, text in json.loads(sys.argv[1]):\n"
        "    began = time.process_time(); re.search(pattern, text); print(time.process_time() - began)"
    )
    command = [sys.executable, "-c", program, json.dumps(list(FEW_WAYS.items()))]
    printed = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True).stdout
    assert {
        pattern: seconds
        for pattern, seconds in zip(FEW_WAYS, map(float, printed.split()), strict=True)
        if seconds > SECONDS
    } == {}


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern", [r"\w*" * 380 + "x", "".join(f"[{chr(97 + number % 26)}-z]*" for number in range(60)) + "x"]
)
def test_a_pattern_made_to_be_hard_to_judge_is_judged_soon(pattern: str, timing: Timing) -> None:
    with timing.at_most(8):
        list(check_pattern(pattern, "it", Location("x.yml", 1, 1)))


@pytest.mark.slow
def test_a_long_pattern_that_python_takes_is_no_error() -> None:
    words = "|".join(f"w{number}" for number in range(2_500))
    assert len(words) > 10_000
    assert list(check_pattern(words, "it", Location("x.yml", 1, 1))) == []


@pytest.mark.parametrize("tail", ["", "("])
def test_a_pattern_too_long_to_compile_soon_is_told_and_is_no_error(tail: str, timing: Timing) -> None:
    pattern = "a" * 100_000 + "|" + "a" * 100_001 + tail
    with timing.at_most(1):
        (finding,) = check_pattern(pattern, "it", Location("x.yml", 1, 1))
        assert (finding.code, finding.severity) == ("regex-not-checked", "info")
        assert len(finding.message) < 400


def test_a_pattern_of_countless_ranges_is_told_too() -> None:
    (finding,) = check_pattern("(?i)" + "[\\u0000-\\uffff]" * 1_000, "it", Location("x.yml", 1, 1))
    assert finding.code == "regex-not-checked"


@pytest.mark.slow
def test_a_pattern_of_alternatives_in_each_other_is_judged_whatever_their_depth() -> None:
    for depth in (100, 240, 350):
        pattern = "".join(f"({chr(97 + level % 26)}b|" for level in range(depth)) + "x" + ")" * depth
        assert all(finding.code != "regex-backtracks" for finding in check_pattern(pattern, "it", Location("x", 1, 1)))


@pytest.mark.parametrize(
    ("pipeline", "codes"),
    [
        ("[{name: WhitespaceTokenizer}]", []),
        ("[{name: RegexFeaturizer}]", []),
        ("[{name: RegexFeaturizer, case_sensitive: false}]", ["regex-backtracks"]),
        ("[{name: RegexEntityExtractor}]", ["regex-backtracks"]),
        ("[{name: rasa.nlu.extractors.regex_entity_extractor.RegexEntityExtractor}]", ["regex-backtracks"]),
        ("[{name: RegexEntityExtractor, case_sensitive: true}]", []),
        ("[{name: RegexFeaturizer}, {name: RegexEntityExtractor}]", ["regex-backtracks"]),
    ],
)
def test_whether_case_counts_is_taken_from_the_pipeline(tmp_path: Path, pipeline: str, codes: list[str]) -> None:
    (tmp_path / "config.yml").write_text(f"pipeline: {pipeline}\n", encoding="utf-8")
    nlu = "nlu:\n- regex: q\n  examples: |\n    - (A|aa)+$\n"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.yml").write_text(nlu, encoding="utf-8")
    assert [finding.code for finding in check_regexes(gather(read_project(tmp_path)))] == codes
