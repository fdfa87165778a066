"""Annotated sentences; the recorded table of real Rasa is in tests/contract/test_reading_against_rasa.py."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import Timing

from turncheck.project.formats.annotations import AnnotationError, WrittenSentence, parse_annotations
from turncheck.project.nlu_data import EntityAnnotation


def test_offsets_count_characters_of_the_plain_text() -> None:
    text, entities = parse_annotations("😀 from [Zoë](name) to [NYC](city:New York) [x](y)")
    assert text == "😀 from Zoë to NYC x"
    assert entities == (
        EntityAnnotation(7, 10, "name", "Zoë"),
        EntityAnnotation(14, 17, "city", "New York"),
        EntityAnnotation(18, 19, "y", "x"),
    )


def test_roles_groups_values_and_several_entities_on_one_text() -> None:
    text, entities = parse_annotations(
        'a [LA]{"entity": "city", "role": "to", "group": "1", "value": 5, "other": true} '
        '[b][{"entity": "x", "role": "r"}, {"entity": "y"}]'
    )
    assert text == "a LA b"
    assert entities == (
        EntityAnnotation(2, 4, "city", 5, "to", "1"),
        EntityAnnotation(5, 6, "x", "b", "r"),
        EntityAnnotation(5, 6, "y", "b"),
    )


@pytest.mark.parametrize(
    "text", ["[x]", "(y)", "[x] (y)", "[](y)", "[x]()", "[x]{}", "[x](y:)", r"[a\]b](c)", "a ] b [ c"]
)
def test_what_is_no_annotation_stays_as_it_is(text: str) -> None:
    assert parse_annotations(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "code", "words", "offset"),
    [
        ("to [x]{'entity': 'e'}", "annotation-not-json", "{'entity': 'e'}", 3),
        ('[x]{"entity": {"a": 1}}', "annotation-not-json", "not JSON", 0),
        ('[x]{"value": "v"}', "annotation-invalid", "'entity'", 0),
        ('[x]{"entity": 5}', "annotation-invalid", "5 as 'entity'", 0),
        ('[x]{"entity": "e", "role": null}', "annotation-invalid", "null as 'role'", 0),
        ('[x]{"entity": "e", "value": true}', "annotation-invalid", "true as 'value'", 0),
        ('[a](b) [x][{"entity": "e"}, {"role": "r"}]', "annotation-invalid", "'entity'", 7),
    ],
)
def test_what_rasa_refuses_is_an_error_with_its_place(text: str, code: str, words: str, offset: int) -> None:
    with pytest.raises(AnnotationError) as raised:
        parse_annotations(text)
    assert (raised.value.code, raised.value.offset) == (code, offset)
    assert words in str(raised.value)


plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]"), max_size=10)
entity_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]"), min_size=1, max_size=10)
names = st.text(alphabet="abc_ é", min_size=1, max_size=6)


@given(st.lists(st.tuples(plain, entity_text, names, st.none() | names)), plain)
def test_what_is_annotated_is_found_again(pieces: list[tuple[str, str, str, str | None]], tail: str) -> None:
    written = expected = ""
    entities = []
    for before, text, name, role in pieces:
        mark = f"({name})" if role is None else json.dumps({"entity": name, "role": role})
        written += f"{before}[{text}]{mark}"
        expected += before
        entities.append(EntityAnnotation(len(expected), len(expected) + len(text), name, text, role))
        expected += text
    assert parse_annotations(written + tail) == (expected + tail, tuple(entities))


@given(st.text(alphabet='[](){}":,ae \n\\', max_size=40))
def test_entities_lie_in_the_text_whatever_is_written(written: str) -> None:
    try:
        text, entities = parse_annotations(written)
    except AnnotationError as refused:
        text, entities = written[refused.offset :], ()  # its place lies in the text, too
        assert text.startswith("[")
    for entity in entities:
        assert 0 <= entity.start < entity.end <= len(text)


PATTERN = re.compile(r"\[([^\]]+)\](?:\(([^:)]+)(?::([^)]+))?\)|\{([^}]+)\}|\[(.*?)\])")
"""The grammar as one regular expression: simple to check by eye, but slow on hostile texts."""


@given(st.text(alphabet="[](){}:a\n", max_size=60))
def test_annotations_are_found_where_a_plain_regular_expression_finds_them(written: str) -> None:
    try:
        text, _ = parse_annotations(written)
    except AnnotationError:
        assert PATTERN.search(written)
    else:
        assert text == PATTERN.sub(lambda match: match[1], written)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["[", "[a](", "[a](b[", "[a]{", "[a][", "[a][{", "[]", "[a", "(", "[a]((", "[a](b:", "[a]{[a]("]
)
def test_no_text_takes_more_than_a_moment(piece: str, timing: Timing) -> None:
    text = piece * 100_000
    with timing.at_most(10, time.monotonic):
        for hostile in (text, text + ")", text + "}", text + "]", text + "}]"):
            try:
                parse_annotations(hostile)
            except AnnotationError as refused:
                assert refused.code  # noqa: PT017 - only the time counts


@given(
    st.text(alphabet='[](){}":,ae b', max_size=40)
    | st.lists(st.sampled_from(["a ", "[b](c)", "[de](f:g)", "]"])).map("".join)
)
def test_each_character_of_the_plain_text_is_found_in_the_written_one(written: str) -> None:
    try:
        text, _ = parse_annotations(written)
    except AnnotationError:
        return
    offsets = [WrittenSentence(written).offset(offset) for offset in range(len(text))]
    assert "".join(written[offset] for offset in offsets) == text
    assert offsets == sorted(set(offsets))


def test_places_in_a_long_sentence_are_found_without_reading_it_again(timing: Timing) -> None:
    written = " ".join(f"[word{number}](city)" for number in range(20_000))
    plain, entities = parse_annotations(written)
    with timing.at_most(1.0):
        sentence = WrittenSentence(written)
        assert all(written[sentence.offset(entity.start)] == plain[entity.start] for entity in entities)
