"""Annotations are held against the words of the project's tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import checked, places
from timing import Timing

N, C = "data/nlu.yml", "config.yml"


def _misaligned(folder: Path, sentence: str, *edits: tuple[str, str, str]) -> list[str]:
    edit = (N, "    - see you later", f"    - see you later\n    - {sentence}")
    return places(checked(folder, edit, *edits), "annotation-misaligned")


@pytest.mark.parametrize(
    "sentence",
    [
        "a [large](size)-based pizza",
        "room #[12](size) please",
        "a [large](size)/small pizza",
        "mail to [me](size)@home.com",
        "a [lar](size)ge pizza",
        "a [large ](size)pizza",
    ],
)
@pytest.mark.follows(page="rasa-0", sentence="An entity that begins or ends inside a token is reported.")
@pytest.mark.follows(page="rasa-1", sentence="An entity that begins or ends inside a token is reported.")
@pytest.mark.follows(page="rasa-3", sentence="An entity that begins or ends inside a token is reported.")
def test_part_of_a_token_is_misaligned(sentence: str, tmp_path: Path) -> None:
    assert len(_misaligned(tmp_path, sentence)) == 1


@pytest.mark.parametrize("sentence", ["a [large](size).", "a ([large](size)) one", "eine [größere](size), bitte"])
def test_punctuation_around_a_token_is_no_part_of_it(sentence: str, tmp_path: Path) -> None:
    assert _misaligned(tmp_path, sentence) == []


def test_a_component_of_their_own_beside_the_tokenizer_changes_nothing(tmp_path: Path) -> None:
    own = (C, "- name: WhitespaceTokenizer\n", "- name: WhitespaceTokenizer\n- name: parts.Sentiment\n")
    assert len(_misaligned(tmp_path, "a [lar](size)ge pizza", own)) == 1


@pytest.mark.parametrize("name", ["parts.Tokenizer", "KoreanTokenizer", "tokenizers.mecab.MecabTokenizer"])
def test_a_tokenizer_of_their_own_is_not_judged(name: str, tmp_path: Path) -> None:
    own = (C, "- name: WhitespaceTokenizer\n", f"- name: {name}\n")
    assert _misaligned(tmp_path, "a [lar](size)ge pizza", own) == []


@pytest.mark.parametrize(
    "name", ["SpacyTokenizer", "MitieTokenizer", "rasa.nlu.tokenizers.spacy_tokenizer.SpacyTokenizer"]
)
def test_one_of_rasas_other_tokenizers_is_judged_by_runs_of_letters(name: str, tmp_path: Path) -> None:
    other = (C, "- name: WhitespaceTokenizer\n", f"- name: {name}\n")
    assert len(_misaligned(tmp_path, "a [lar](size)ge pizza", other)) == 1


@pytest.mark.parametrize(
    ("sentence", "is_lost"),
    [
        ("[변재영](size) 교수님", True),
        ("[大动物](size) 在哪里", True),
        ("[변재영](size)A 교수님", True),
        ("a [grö](size)ße pizza", False),
        ("a [lar](size)ge 피자", False),
    ],
)
def test_words_that_rasa_takes_for_emoji_are_not_advised_to_be_bracketed_otherwise(
    sentence: str, is_lost: bool, tmp_path: Path
) -> None:
    edit = (N, "    - see you later", f"    - see you later\n    - {sentence}")
    (finding,) = [one for one in checked(tmp_path, edit).findings if one.code == "annotation-misaligned"]
    assert ("the language" in finding.hint) is is_lost


@pytest.mark.slow
@pytest.mark.parametrize("sentence", ["[a](size) a ", "[a](size)s "])
def test_the_cost_and_the_output_grow_with_the_annotations_of_a_sentence_and_no_faster(
    sentence: str, tmp_path: Path, timing: Timing
) -> None:
    with timing.at_most(10):
        findings = checked(
            tmp_path, (N, "    - see you later", f"    - see you later\n    - {sentence * 10_000}")
        ).findings
    assert len(findings) >= 10_000
    assert max(len(finding.message) for finding in findings) < 600
