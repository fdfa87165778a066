"""JSON with positions: data as Python has them, places as an editor shows them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import Timing

from turncheck.yaml_tree.json_tree import JsonError, JsonFile
from turncheck.yaml_tree.source import Source

JSON_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def document(text: str) -> JsonFile:
    return JsonFile(Source("bot.json", text))


def paths(data: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    members: Any = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(one for step, value in members for one in paths(value, (*path, step)))]


def at(data: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def test_places_are_those_of_values_and_keys() -> None:
    made = document('{\n  "a": [1, {"b": "x\\"y"}],\n\t"c" : null }')
    assert made.data == {"a": [1, {"b": 'x"y'}], "c": None}
    assert str(made.location("a", 1, "b")) == "bot.json:2:19"
    assert str(made.key_location("a", 1, "b")) == "bot.json:2:14"
    assert str(made.location("a", 0)) == "bot.json:2:9"
    assert str(made.location("c")) == "bot.json:3:8"
    assert str(made.location("a", 9, "z")) == "bot.json:2:8"  # what is missing: the last part on the way
    assert str(made.location()) == "bot.json:1:1"


def test_of_a_key_that_appears_twice_the_last_counts() -> None:
    made = document('{"a": 1,\n "a": 2}')
    assert made.data == {"a": 2}
    assert str(made.location("a")) == "bot.json:2:7"


def test_half_a_character_is_written_as_one_that_any_output_can_hold() -> None:
    made = document('["\\ud83d", "\\\\ud83d", "\\ud83d\\ude00", 1]')
    assert made.data == ["\N{REPLACEMENT CHARACTER}", "\\ud83d", "\N{GRINNING FACE}", 1]
    assert str(made.location(3)) == "bot.json:1:39"


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ('{"a": 1,\n "b": “x”}', 15),
        ("", 0),
        ('{"a" 1}', 5),
        ("[" * 100_000, 0),
        ("[" + "1" * 10_000 + "]", 0),
        ("[] x", 3),
    ],
)
def test_what_is_not_json_says_where(text: str, offset: int) -> None:
    with pytest.raises(JsonError) as caught:
        document(text)
    assert caught.value.offset == offset


@given(JSON_DATA, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_every_value_begins_where_it_is_said_to(data: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only)
    made = document(text)
    lines = text.split("\n")
    for path in paths(made.data):
        place = made.location(*path)
        assert place.line is not None
        assert place.column is not None
        rest = "\n".join([lines[place.line - 1][place.column - 1 :], *lines[place.line :]])
        value = at(made.data, path)
        written = f'"{rest}' if isinstance(value, str) else rest
        assert json.JSONDecoder().raw_decode(written)[0] == value


def test_places_of_a_large_file_are_found_in_linear_time(timing: Timing) -> None:
    made = document(
        json.dumps({"rest": ["x" * 50] * 20_000, "all": [{"text": f"sentence {n}"} for n in range(20_000)]})
    )
    with timing.at_most(3):
        assert len({made.location("all", index, "text") for index in range(20_000)}) == 20_000
