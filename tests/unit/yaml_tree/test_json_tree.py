"""JSON with the position of every key and value, and with every fault named."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.yaml_tree.json_tree import MAX_FAULTS, JsonDocument, parse_json
from turncheck.yaml_tree.source import Source, text_location
from turncheck.yaml_tree.tree import MAX_DEPTH, YamlMapping, YamlScalar

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def parse(text: str) -> JsonDocument:
    return parse_json(Source("a.json", text))


def faults(text: str) -> list[tuple[str, int | None, int | None]]:
    return [(one.kind, one.location.line, one.location.column) for one in parse(text).faults]


@pytest.mark.slow
@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_what_python_writes_is_read(value: Any, ascii_only: bool, indent: int | None) -> None:
    document = parse(json.dumps(value, ensure_ascii=ascii_only, indent=indent))
    assert not document.faults
    assert document.root is not None
    assert document.root.data == value


@given(st.text(alphabet="{}[],:\"\\”“ \n\tau1-.0e'", max_size=40) | st.text(max_size=20))
def test_what_python_refuses_is_refused_with_a_place_and_nothing_else_is(text: str) -> None:
    document = parse(text)
    syntax = [one for one in document.faults if one.kind != "duplicate-key"]
    try:
        value = json.loads(text)
    except ValueError:
        assert syntax
        assert all(one.hint and one.location.line and one.location.column for one in syntax)
    else:
        assert not syntax
        assert document.root is not None
        if not document.faults and not (isinstance(value, float) and math.isnan(value)):
            assert document.root.data == value


def test_every_key_and_value_says_its_line_and_column() -> None:
    root = parse('{\n\t"a": [1,\n  {"b": "\\ud83d\\ude00x"}]}').root
    assert isinstance(root, YamlMapping)
    assert str(root.key_location("a")) == "a.json:2:2"
    inner = root.at("a", 1)
    assert isinstance(inner, YamlMapping)
    assert str(inner.location) == "a.json:3:3"
    text = inner.at("b")
    assert isinstance(text, YamlScalar)
    assert text.value == "\N{GRINNING FACE}x"
    assert str(text_location(text)) == "a.json:3:10"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("syntax", 1, 1)]),
        ('{"a": 1,}', [("syntax", 1, 8)]),
        ("[1,,2]", [("syntax", 1, 4)]),
        ('{"a": [1}', [("syntax", 1, 9)]),
        ('{"a": [1', [("syntax", 1, 9)]),
        ('{"a": 1} 2', [("syntax", 1, 10)]),
        ('{"a": 1 "b": 2}', [("syntax", 1, 9)]),
        ("{a: 1}", [("syntax", 1, 2)]),
        ("{'a': True}", [("syntax", 1, 2), ("syntax", 1, 7)]),
        ('{"a" 1}', [("syntax", 1, 6)]),
        ('["a\tb"]', [("syntax", 1, 4)]),
        ('["a\nb"]', [("syntax", 1, 2)]),
        ('["\\q"]', [("syntax", 1, 3)]),
        ('["\\ud800"]', [("syntax", 1, 2)]),
        (f"[{'9' * 5000}]", [("syntax", 1, 2)]),
        ('{"a": 1, "a": 2}', [("duplicate-key", 1, 10)]),
        ("{“a”: “b”}", [("typographic-quote", 1, 2), ("typographic-quote", 1, 7)]),
        ('{"a”: "b"}', [("typographic-quote", 1, 4)]),
        ('{"a": "b”,\n"c": “d"}', [("typographic-quote", 1, 9), ("typographic-quote", 2, 6)]),
        ('{"a": "it is “so” here", "b": 1}', []),
    ],
)
def test_each_fault_is_named_where_it_is(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert faults(text) == expected


def test_what_people_mistype_is_read_over_so_that_all_of_it_is_named_at_once() -> None:
    text = '{\n"cases": [\n{“name”: "x",\n"value": "y",}\n}\n'
    assert faults(text) == [("typographic-quote", 3, 2), ("syntax", 4, 13), ("syntax", 5, 1)]
    root = parse(text).root
    assert root is not None
    assert root.data == {"cases": [{"name": "x", "value": "y"}]}


def test_neither_depth_nor_a_file_full_of_faults_ends_in_a_traceback() -> None:
    assert not faults("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert faults("[" * 100_000) == [("syntax", 1, MAX_DEPTH + 1)]
    assert len(faults("[" + "“x”," * 1000 + "]")) == MAX_FAULTS
