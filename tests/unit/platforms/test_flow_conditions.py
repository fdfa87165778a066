"""Conditions of flows: what pypred reads is read, what it refuses is refused, and what can be true is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.platforms.rasa.flows.conditions import (
    ConditionError,
    Parsed,
    Trial,
    parse_condition,
    tried,
    turned,
    written,
)

READ = (
    'slots.a == "x"',
    "slots.a is not null",
    "{'a' 'b'} contains slots.x",
    'context.names contains "add a contact"',
    "not slots.a",
    "slots.{{context.collect}} is not null",
    "{} contains slots.a",
    "slots.a contains slots.b",
    "not undefined",
    "slots.a IS True AND NOT slots.b",
    'not (slots.card matches "^\\d[\\s]?\\d$")',
    "slots.a >= -5 # enough",
    "slots.a-b > 1",
)
"""Conditions that pypred 0.4 reads (asked once; ``{{…}}`` is filled in before)."""
REFUSED = (
    "",
    "slots.a > 5 and",
    "slots.a contains {'x' 'y'}",
    "slots.a contains undefined",
    "slots.a contains (slots.b = 1)",
    "{}",
    "undefined",
    "(empty)",
    "{undefined} contains slots.a",
    "{{'a'} 'b'} contains slots.a",
    "slots.a && slots.b",
    "slots.a in b",
    '{"a","b"} contains slots.x',
    'slots.a matches "(["',
    "slots.names[0]",
    "len(slots.a) > 3",
    "slots.a not slots.b",
    "slots.a + 1 > 2",
    "!slots.a",
    "(slots.a",
    "slots.a = 'it''s'",
)
"""Conditions that it refuses."""


@pytest.mark.parametrize("text", READ)
def test_what_rasa_evaluates_is_read(text: str) -> None:
    assert isinstance(parse_condition(text), Parsed)


@pytest.mark.parametrize("text", REFUSED)
def test_what_rasa_refuses_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        parse_condition(text)


def test_and_before_or_is_grouped_from_the_right() -> None:
    mixed = parse_condition("slots.b and slots.a or slots.yes")
    grouped = parse_condition("slots.b and (slots.a or slots.yes)")
    assert mixed.mixes
    assert mixed.root == grouped.root
    assert not grouped.mixes
    assert not parse_condition("slots.a or slots.b and slots.c").mixes


def _tried(*texts: str, **closed: tuple[object, ...]) -> Trial:
    values = {f"slots.{name}": listed for name, listed in closed.items()}
    trial = tried([parse_condition(text).root for text in texts], values)
    assert trial is not None
    return trial


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("slots.n < 3 and slots.n > 4", {}),
        ('slots.a = "x" and slots.a = "y"', {}),
        ("slots.a and not slots.a", {}),
        ('slots.size = "huge"', {"size": ("small", "large")}),
        ('slots.size matches "^huge$"', {"size": ("small", "large")}),
        ('slots.size contains "u"', {"size": ("small", "large")}),
        ("{'huge' 'tiny'} contains slots.size", {"size": ("small", "large")}),
        ('not (slots.size is null) and slots.size != "small" and slots.size != "large"', {"size": ("small", "large")}),
    ],
)
def test_what_can_never_be_true(text: str, closed: dict[str, tuple[object, ...]]) -> None:
    assert not _tried(text, **closed).ever(0)


@pytest.mark.parametrize(
    "text",
    [
        "slots.n < 3 and slots.n > 2",
        "slots.a = 1",
        "slots.a != null",
        "slots.a > 0",
        "slots.t > 'b' and slots.t < 'c'",
        "slots.t < 'a'",
        "{'x' 'y'} contains slots.t and slots.t != 'x'",
        'slots.t matches "x" and not slots.t = "y"',
        "true",
    ],
)
def test_what_can_be_true(text: str) -> None:
    assert _tried(text, a=(True, False)).ever(0)


def test_words_of_one_type_have_no_other_values() -> None:
    for text, kind in (("slots.n = 'x'", float), ("slots.n > 3", str), ("slots.n = true", str)):
        trial = tried([parse_condition(text).root], {}, {"slots.n": kind})
        assert trial is not None
        assert not trial.ever(0)
    whole = tried([parse_condition("slots.n").root], {}, {"slots.n": float})
    assert whole is not None
    assert (whole.ever(0), whole.always(0)) == (True, False)


def test_alternatives_that_are_covered() -> None:
    trial = _tried("slots.n < 5", "slots.n < 3", "slots.n >= 3")
    assert [trial.reached(number) for number in range(3)] == [True, False, True]
    assert trial.leaves_rest
    assert not _tried("slots.a", "not slots.a").leaves_rest


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("slots.a", "slots.a = false"),
        ("slots.a = true", "not slots.a"),
        ("slots.a > 5", "slots.a < 5"),
        ("slots.a <= 5 and slots.b", "slots.a > 5 and slots.b"),
        ("not (slots.a = 'x' or slots.b)", "not (slots.a != 'x' or slots.b)"),
    ],
)
def test_a_condition_with_a_part_turned_around(text: str, other: str) -> None:
    assert written(parse_condition(other).root) in turned(parse_condition(text).root)


def test_too_many_values_are_not_tried() -> None:
    many = " and ".join(f"slots.a{number} = {number}" for number in range(9))
    assert tried([parse_condition(many).root], {}) is None


@given(st.text(alphabet="slots.ab \"'(){}=<>!andortis0123456789-#\n[", max_size=60) | st.text(max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        parsed = parse_condition(text)
    except ConditionError:
        return
    assert isinstance(parsed, Parsed)
    assert list(parsed.words) == list(parse_condition(text).words)
    tried([parsed.root], {})


def test_deep_nesting_is_an_error_and_not_a_crash() -> None:
    for text in ("(" * 5000 + "a" + ")" * 5000, "not " * 5000 + "a", "{" * 500, "a and " * 5000 + "a"):
        with pytest.raises(ConditionError):
            parse_condition(text)
