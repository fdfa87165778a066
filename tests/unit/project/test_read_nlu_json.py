"""NLU data in Rasa's JSON format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.messages.finding import Finding, Location
from turncheck.project.nlu_data import EntityAnnotation, Lookup, NluData, Regex, Synonym
from turncheck.project.reader import read_nlu, read_project
from turncheck.yaml_tree.json_tree import parse_json
from turncheck.yaml_tree.source import Source
from turncheck.yaml_tree.tree import YamlMapping

WRITTEN = """{
\t"rasa_nlu_data": {
\t\t"common_examples": [
\t\t\t{"text": "hello \\"there\\"", "intent": "greet"},
\t\t\t{"intent":"travel","text":"to LA \\ud83d\\ude00 or NYC","entities":[
\t\t\t\t{"start":3,"end":5,"entity":"city","value":"Los Angeles","role":"to"},
\t\t\t\t{"start":11,"end":14,"entity":"city"}]},
\t\t\t{"text": "when do you open", "intent": "faq/hours", "entities": []}
\t\t],
\t\t"entity_synonyms": [{"value": "New York", "synonyms": ["NYC", "big apple"]}, {"value": "alone"}],
\t\t"regex_features": [{"name": "zip", "pattern": "[0-9]{5}"}],
\t\t"lookup_tables": [{"name": "plate", "elements": ["red", "blue"]}, {"name": "town", "elements": "towns.txt"}]
\t}
}
"""


def read(root: Path, document: object) -> tuple[NluData, tuple[Finding, ...]]:
    path = root / "nlu.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return read_nlu([path], root)


def test_everything_in_the_file_is_read_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "towns.txt").write_text("Rome\nOslo\n", encoding="utf-8")
    nlu, findings = read(tmp_path, WRITTEN)
    assert [(one.code, one.severity) for one in findings] == [("format-deprecated", "warning")]
    assert [(one.text, one.intent, str(one.location)) for one in nlu.examples] == [
        ('hello "there"', "greet", "nlu.json:4:14"),
        ("to LA \N{GRINNING FACE} or NYC", "travel", "nlu.json:5:31"),
        ("when do you open", "faq/hours", "nlu.json:8:14"),
    ]
    assert nlu.examples[1].entities == (
        EntityAnnotation(3, 5, "city", "Los Angeles", role="to"),
        EntityAnnotation(11, 14, "city", "NYC"),
    )
    place = Location("nlu.json", 10, 23)
    assert nlu.synonyms[:2] == (Synonym("New York", "NYC", place), Synonym("New York", "big apple", place))
    assert len(nlu.synonyms) == 2, "the values of entities make synonyms in training, not when they are read"
    assert nlu.regexes == (Regex("zip", "[0-9]{5}", Location("nlu.json", 11, 22)),)
    assert nlu.lookups == (
        Lookup("plate", ("red", "blue"), Location("nlu.json", 12, 21)),
        Lookup("town", ("Rome", "Oslo"), Location("nlu.json", 12, 69), "towns.txt"),
    )


def test_a_project_is_trained_and_checked_on_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.json").write_text(WRITTEN, encoding="utf-8")
    (tmp_path / "data" / "more.yml").write_text("nlu:\n- intent: bye\n  examples: |\n    - bye\n", encoding="utf-8")
    project = read_project(tmp_path)
    assert [one.intent for one in project.nlu.examples] == ["bye", "greet", "travel", "faq/hours"]
    assert not project.unreadable


@pytest.mark.parametrize(
    ("section", "code"),
    [
        ([], "schema-violation"),
        ({"common_examples": {}}, "schema-violation"),
        ({"common_examples": ["hello"]}, "schema-violation"),
        ({"common_examples": [{"text": "", "intent": "a"}]}, "schema-violation"),
        ({"common_examples": [{"text": "x", "intent": 5}]}, "schema-violation"),
        ({"common_examples": [{"text": "x", "entities": [{"start": 0, "end": 1}]}]}, "schema-violation"),
        ({"regex_features": [{"name": "a", "pattern": 5}]}, "schema-violation"),
        ({"lookup_tables": [{"name": "a", "elements": [5]}]}, "schema-violation"),
    ],
)
def test_what_rasa_refuses_is_an_error_with_its_place(tmp_path: Path, section: Any, code: str) -> None:
    _, findings = read(tmp_path, {"rasa_nlu_data": section})
    (fault,) = [one for one in findings if one.severity == "error"]
    assert fault.code == code
    assert fault.location.line == 1
    assert fault.location.column is not None


@pytest.mark.parametrize(("start", "end"), [(0, 9), (1, 1), (-1, 1), (1, 0)])
def test_an_entity_outside_of_its_sentence_is_kept_as_rasa_does_and_warned_of(
    tmp_path: Path, start: int, end: int
) -> None:
    entity = {"start": start, "end": end, "entity": "e", "value": "v"}
    nlu, findings = read(tmp_path, {"rasa_nlu_data": {"common_examples": [{"text": "x", "entities": [entity]}]}})
    assert nlu.examples[0].entities == (EntityAnnotation(start, end, "e", "v"),)
    assert [(one.code, one.severity) for one in findings if one.code != "format-deprecated"] == [
        ("entity-out-of-range", "warning")
    ]


def test_a_key_beside_is_refused(tmp_path: Path) -> None:
    _, findings = read(tmp_path, {"rasa_nlu_data": {}, "note": "mine"})
    assert [(one.code, one.severity, str(one.location)) for one in findings if one.severity == "error"] == [
        ("schema-violation", "error", "nlu.json:1:23")
    ]


@given(st.lists(st.text(min_size=1), max_size=4), st.booleans())
def test_texts_are_those_that_python_reads(texts: list[str], ascii_only: bool) -> None:
    written = json.dumps({"rasa_nlu_data": texts}, ensure_ascii=ascii_only)
    root = parse_json(Source("a.json", written)).root
    assert isinstance(root, YamlMapping)
    assert root.data == json.loads(written)
