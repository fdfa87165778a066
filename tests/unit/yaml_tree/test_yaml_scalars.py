"""YAML 1.2 scalars, against ruamel.yaml in the way Rasa uses it (``typ="safe"``, version 1.2)."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from turncheck.yaml_tree.source import YamlSource
from turncheck.yaml_tree.tree import parse_yaml, resolve_plain


def ruamel(text: str) -> Any:
    reader = YAML(typ="safe")
    reader.version = (1, 2)
    return reader.load(f"- {text}\n")[0]


def ours(text: str) -> Any:
    document = parse_yaml(YamlSource("x.yml", f"- {text}\n"))
    assert document.root is not None, document.findings
    return document.root.data[0]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and one == other


TABLE = """
    yes no on off y n Yes NO On OFF true True TRUE tRUE false False FALSE null Null NULL nUll ~ 12:30 190:20:30 1:2.5
    0 00 7 017 08 -1 +1 0x1F 0X1F 0xfg 0o17 0o18 0b11 0b12 0x 0o 0b 1e3 1E3 1e+3 1e-3 1.e3 1.5e3 .5 -.5 +.5 .5e3 .5e+3
    5. 1. . .. ... -- +- 1.2.3 3.10 1-2 1+2 .inf -.inf +.inf .Inf .INF .iNF .nan .NaN .NAN .nAN inf nan e3 1e 1e3e
    1,000 1'000 $5 5% v1 1a a1 -a 1.0.0 99999999999999999999999 1e400 -0 -0.0 +0 0.0 0e0 0x-1 0x1.5
"""


@pytest.mark.parametrize("text", TABLE.split())
def test_a_plain_scalar_means_what_it_means_to_rasa(text: str) -> None:
    assert same(ours(text), ruamel(text))


@pytest.mark.parametrize(
    "text", ["1_000", "1_0.5", "0x_1F", "1_", "2024-01-01", "2024-01-01T10:00:00", "2001-12-14 21:59:43"]
)
def test_dates_and_numbers_with_underscores_stay_text_as_yaml_1_2_has_it(text: str) -> None:
    assert ours(text) == text
    assert isinstance(ruamel(text), int | float | date | datetime), "ruamel.yaml keeps these from YAML 1.1"


@pytest.mark.parametrize("text", ["yes", "12:30", "on", "No", "0777_", "1_000"])
def test_a_word_is_a_text_whether_quoted_or_not(text: str) -> None:
    assert ours(text) == ours(f"'{text}'") == ours(f'"{text}"') == text


@pytest.mark.parametrize(
    ("text", "value"), [('"5"', "5"), ("'true'", "true"), ('""', ""), ("!!str 5", "5"), ("!!int 5", 5)]
)
def test_quotes_and_tags_decide_over_the_looks(text: str, value: Any) -> None:
    assert same(ours(text), value)
    assert same(ruamel(text), value)


def without_habits_of_yaml_1_1(text: str, value: Any) -> Any:
    """What ruamel.yaml makes of a text, but for dates and for numbers with underscores, which stay text."""
    if isinstance(value, dict) and len(value) == 1:
        (pair,) = value.items()
        parts = re.split(r":(?:\s|$)", text, maxsplit=1)
        return dict([tuple(map(without_habits_of_yaml_1_1, parts, pair))])
    if isinstance(value, list) and len(value) == 1:
        return [without_habits_of_yaml_1_1(text.strip()[1:], value[0])]
    is_number = "_" in text and isinstance(value, int | float) and not isinstance(value, bool)
    return text.strip() if isinstance(value, date) or is_number else value


@given(st.text(alphabet="0123456789abcdefxoABEFX.+-:_,nulNtrueyso~ ", min_size=1, max_size=12))
@example("0x1F")
@example("=")
@example("+_")
@example("<<")
@example("0_:")
@example("1_0: 0_")
@example("- 0_")
def test_any_plain_scalar_means_what_it_means_to_rasa(text: str) -> None:
    try:
        expected = ruamel(text)
    except (
        YAMLError,
        ValueError,
        AttributeError,
        IndexError,
    ):  # ruamel.yaml stumbles over "=" or "+_": no value to compare
        return
    document = parse_yaml(YamlSource("x.yml", f"- {text}\n"))
    assume(document.root is not None)  # what is YAML at all is the parsers' affair: libyaml refuses "- :"
    assert document.root is not None
    value = document.root.data[0]
    assert repr(value) == repr(without_habits_of_yaml_1_1(text, expected))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
def test_resolving_never_fails_and_leaves_words_as_they_are(text: str) -> None:
    value = resolve_plain(text)
    if not isinstance(value, str):
        assert text[0] in "-+.0123456789~nNtTfF"
    else:
        assert value == text


def test_an_endless_number_stays_text() -> None:
    digits = "9" * 5000
    assert ours(digits) == digits
