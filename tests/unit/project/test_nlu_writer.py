"""What is written is read again as it was."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.formats.rasa_nlu_writer import annotated, write_nlu_yaml, write_responses_yaml
from turncheck.project.model import Response, ResponseVariation
from turncheck.project.nlu_data import EntityAnnotation, Example, Lookup, NluData, Regex, Synonym
from turncheck.project.reader import read_nlu, read_nlu_responses

HERE = Location("")
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00[]"), max_size=12)
WORD = st.text(st.sampled_from("abcxyz éß日😀-:'\"#&*!|>%@`{}"), min_size=1, max_size=8).filter(str.strip)
NAME = WORD.map(str.strip).filter(lambda name: "/" not in name)
VALUE = st.one_of(WORD.map(str.strip), st.integers(0, 99), st.sampled_from(["a}b", "a]b", 'say "x"', "back\\slash"]))
METADATA = st.recursive(
    st.one_of(st.booleans(), st.integers(-5, 5), TEXT, st.sampled_from(["yes", "1e3", "12:30", "null", ""])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXT, inner, max_size=2)),
    max_leaves=4,
)


@st.composite
def annotated_examples(draw: st.DrawFn) -> Example:
    before, inside, after = draw(TEXT), draw(WORD.map(str.strip)), draw(TEXT)
    before = before.lstrip("\n\r ")
    after = after.rstrip("\n\r ")
    role, group = draw(st.sampled_from([None, "from", "to"])), draw(st.sampled_from([None, "1"]))
    entity = draw(st.sampled_from(["city", "a b", "x-y"]))
    value = draw(st.one_of(st.just(inside), VALUE))
    metadata: dict[str, Any] | None = draw(st.sampled_from([None, {"intent": {"a": 1}}]))
    if draw(st.booleans()):
        metadata = {**(metadata or {}), "example": draw(METADATA.filter(lambda data: data is not None))}
    text = before + inside + after
    place = EntityAnnotation(len(before), len(before) + len(inside), entity, value, role, group)
    return Example(text, "inform", (place,), metadata)


def read_back(content: str) -> NluData:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "nlu.yml"
        path.write_bytes(content.encode())
        data, findings = read_nlu([path], Path(folder))
    assert [finding for finding in findings if finding.severity == "error"] == []
    return data


@pytest.mark.slow
@given(st.lists(annotated_examples(), min_size=1, max_size=3, unique_by=lambda example: example.text))
def test_examples_survive_with_their_entities_and_metadata(examples: list[Example]) -> None:
    again = read_back(write_nlu_yaml(NluData(tuple(examples)))).examples
    key = attrgetter("text")
    assert [content(one) for one in sorted(again, key=key)] == [content(one) for one in sorted(examples, key=key)]


def content(example: Example) -> tuple[Any, ...]:
    return example.text, example.intent, example.entities, example.metadata


@pytest.mark.slow
@given(st.lists(NAME, min_size=1, max_size=4, unique=True))
def test_names_that_look_like_something_else_in_yaml_survive(names: list[str]) -> None:
    odd = ["yes", "null", "1e3", "12:30", "0x1F", "~", "- a", "a: b", "a #b", *names]
    data = NluData(tuple(Example(f"sentence {place}", name) for place, name in enumerate(odd)))
    assert [one.intent for one in read_back(write_nlu_yaml(data)).examples] == odd


def test_synonyms_regexes_and_lookups_survive() -> None:
    data = NluData(
        (Example("hi", "greet"),),
        (Synonym("large", "big", HERE), Synonym("large", "huge", HERE), Synonym("42", "answer", HERE)),
        (Regex("zip", r"\b\d{5}\b", HERE), Regex("zip", "[A-Z]+ # x", HERE)),
        (Lookup("topping", ("ham", "extra: cheese", "日本"), HERE),),
    )
    again = read_back(write_nlu_yaml(data))
    assert [(one.value, one.synonym) for one in again.synonyms] == [
        ("large", "big"),
        ("large", "huge"),
        ("42", "answer"),
    ]
    assert [(one.name, one.pattern) for one in again.regexes] == [("zip", r"\b\d{5}\b"), ("zip", "[A-Z]+ # x")]
    assert [(one.name, one.elements) for one in again.lookups] == [("topping", ("ham", "extra: cheese", "日本"))]


def test_several_entities_with_the_same_borders_are_written_as_a_list() -> None:
    example = Example("LA", "inform", (EntityAnnotation(0, 2, "city", "LA"), EntityAnnotation(0, 2, "state", "LA")))
    assert annotated(example) == '[LA][{"entity": "city"}, {"entity": "state"}]'
    assert read_back(write_nlu_yaml(NluData((example,)))).examples[0].entities == example.entities


def test_a_value_that_is_a_number_stays_one_and_its_synonym_is_readable() -> None:
    example = Example("seven", "inform", (EntityAnnotation(0, 5, "count", 7),))
    data = NluData((example,), (Synonym(7, "seven", HERE),))  # type: ignore[arg-type]  # as annotations imply them
    assert '- synonym: "7"' in write_nlu_yaml(data)
    assert read_back(write_nlu_yaml(data)).examples[0].entities == example.entities


def test_entities_that_overlap_in_part_are_refused_with_the_sentence() -> None:
    example = Example("New York City", "inform", (EntityAnnotation(0, 8, "a", "x"), EntityAnnotation(4, 13, "b", "y")))
    with pytest.raises(UserError, match="New York City"):
        annotated(example)


@pytest.mark.parametrize("text", [r"a\u0041b", "bell \x07 and \x1f", "break \x85 \u2028", r"\U0001F600 and \n"])
def test_what_rasa_would_decode_before_parsing_stays_as_it_is(text: str) -> None:
    value = r"a}b ]c \u0041"
    example = Example(f"{text} x", "inform", (EntityAnnotation(len(text) + 1, len(text) + 2, "thing", value),))
    assert content(read_back(write_nlu_yaml(NluData((example,)))).examples[0]) == content(example)


def test_nothing_is_an_empty_file() -> None:
    assert write_nlu_yaml(NluData()) == ""
    assert write_responses_yaml([]) == ""


CONTENT: Any = st.dictionaries(
    st.sampled_from(["text", "buttons", "custom", "image"]),
    st.recursive(
        st.one_of(TEXT, st.booleans(), st.integers(-9, 9), st.none(), st.sampled_from(["yes", "1e3", "30 minutes."])),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
        max_leaves=6,
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.slow
@given(st.lists(CONTENT, min_size=1, max_size=3))
def test_responses_are_yaml_of_the_same_content(contents: list[dict[str, Any]]) -> None:
    response = Response("utter_faq/hours", tuple(ResponseVariation(content, HERE) for content in contents), HERE)
    assert yaml.safe_load(write_responses_yaml([response]))["responses"] == {"utter_faq/hours": contents}


def test_responses_are_read_again_by_the_reader(tmp_path: Path) -> None:
    content = {"text": "Monday: 9-5, else closed", "buttons": [{"title": "ok", "payload": "/affirm"}]}
    response = Response("utter_faq/hours", (ResponseVariation(content, HERE),), HERE)
    path = tmp_path / "nlg.yml"
    path.write_text(write_responses_yaml([response]), encoding="utf-8")
    again = read_nlu_responses([path], tmp_path)
    assert dict(again["utter_faq/hours"].variations[0].content) == content
