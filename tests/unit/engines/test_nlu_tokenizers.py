from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from turncheck.engines.embedded.nlu.batch import CharacterTokenizer, Tokens, WhitespaceTokenizer, split_further
from turncheck.engines.embedded.nlu.plan import Step
from turncheck.engines.embedded.nlu.spacy_model import TokenizerShape, load_tokenizer, make_tokenizer
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.model import Component


@given(st.text())
def test_every_token_is_the_text_between_its_borders_and_they_do_not_overlap(text: str) -> None:
    tokens = WhitespaceTokenizer().tokenize(text)
    assert tokens.words
    assert [text[start:end] for start, end in tokens.spans] == list(tokens.words)
    assert all(end <= start for (_, end), (start, _) in zip(tokens.spans, tokens.spans[1:], strict=False))


@given(st.text(st.characters(max_codepoint=126, min_codepoint=32)))
def test_plain_ascii_is_split_alike_by_both_regular_expression_engines(text: str) -> None:
    # a trailing no-break space sends the text to the Unicode engine and adds no token
    assert WhitespaceTokenizer().tokenize(text + " x").words == WhitespaceTokenizer().tokenize(text + "\u00a0x").words


def test_combining_marks_belong_to_their_word() -> None:
    assert WhitespaceTokenizer().tokenize("नमस्ते दुनिया").words == ("नमस्ते", "दुनिया")


def test_a_token_pattern_splits_further_and_keeps_what_it_does_not_match() -> None:
    tokens = split_further(Tokens(("a-b", "!!"), ((0, 3), (4, 6))), re.compile(r"\w+"))
    assert tokens == Tokens(("a", "b", "!!"), ((0, 1), (2, 3), (4, 6)))


def test_a_bad_token_pattern_is_an_error_with_its_place(tmp_path: Path) -> None:
    component = Component("WhitespaceTokenizer", {}, Location("config.yml", 3, 3))
    with pytest.raises(UserError, match="token_pattern") as error:
        make_tokenizer(Step(component.name, component, {"token_pattern": "("}), tmp_path)
    assert error.value.location == component.location


@pytest.mark.parametrize("name", ["SpacyTokenizer", "MitieTokenizer", "LanguageModelTokenizer"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我想听 jazz", ("我", "想", "听", "jazz")),
        ("東京へ行きたい", ("東", "京", "へ", "行", "き", "た", "い")),
        ("ein kurzer Satz", ("ein", "kurzer", "Satz")),
    ],
)
def test_what_stands_in_for_a_tokenizer_that_needs_no_blanks_splits_characters(
    name: str, text: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    component = Component(name, {}, Location("config.yml", 3, 3))
    tokenizer = make_tokenizer(Step("WhitespaceTokenizer", component, {}), tmp_path)
    assert tokenizer.tokenize(text).words == words
    assert load_tokenizer(convert(tokenizer.to_json(), TokenizerShape)) == tokenizer


@given(st.text(st.characters(max_codepoint=0x2FFF)))
def test_without_chinese_characters_the_stand_in_splits_as_whitespace_does(text: str) -> None:
    words = WhitespaceTokenizer().tokenize(text).words
    assert CharacterTokenizer().tokenize(text).words == (words if any(map(str.isalnum, text)) else (text,))


@pytest.mark.slow
def test_jieba_splits_chinese(tmp_path: Path) -> None:
    component = Component("JiebaTokenizer", {}, Location("config.yml"))
    tokens = make_tokenizer(Step(component.name, component, {"dictionary_path": None}), tmp_path).tokenize(
        "我来到北京清华大学"
    )
    assert tokens.words == ("我", "来到", "北京", "清华大学")
    assert tokens.spans[-1] == (5, 9)


@pytest.mark.slow
def test_jieba_takes_the_dictionaries_of_the_project_alone(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "own.txt").write_text("到北京清华 100000 n\n", encoding="utf-8")
    component = Component("JiebaTokenizer", {}, Location("config.yml"))
    tokens = make_tokenizer(Step(component.name, component, {"dictionary_path": "words"}), tmp_path).tokenize(
        "我来到北京清华大学"
    )
    assert "到北京清华" in tokens.words
    with pytest.raises(UserError) as refused:
        make_tokenizer(Step(component.name, component, {"dictionary_path": "../elsewhere"}), tmp_path)
    golden(refused.value)
