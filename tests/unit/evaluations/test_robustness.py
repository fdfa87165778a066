"""Robustness: variants mean the same, entities move with the text, and the rates are those of what was right before."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from test_strength import small_bot

from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.evaluations.robustness.families import FAMILIES, Noise, Sentence
from turncheck.evaluations.robustness.robustness import (
    cross_validate_robustness,
    evaluate_robustness,
    make_variants,
    wilson,
)
from turncheck.evaluations.robustness.words import LANGUAGES, words_for
from turncheck.messages.errors import UserError
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData
from turncheck.project.reader import read_project
from turncheck.report.codec import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

TRAINING = (
    Example("I want to order a pizza", "order"),
    Example("a funghi for me", "order", (EntityAnnotation(2, 8, "pizza", "funghi"),)),
    Example("a tonno for me", "order", (EntityAnnotation(2, 7, "pizza", "tonno"),)),
    Example("forget about everything", "cancel"),
)


def noise(language: str = "en", training: Sequence[Example] = TRAINING) -> Noise:
    return Noise(language, words_for(language), tuple(training))


def variants(text: str, family: str, *, language: str = "en", intent: str = "order", entity: str = "") -> set[str]:
    """All variants of a family that some chance makes."""
    start = text.find(entity)
    entities = (EntityAnnotation(start, start + len(entity), "pizza", entity),) if entity else ()
    sentence, maker = Sentence(text, intent, entities), noise(language)
    made = [maker.variant(family, sentence, random.Random(seed)) for seed in range(60)]
    for one in made:
        for moved in one.entities if one else ():
            assert one is not None
            assert one.text[moved.start : moved.end] == (entity if family != "value" else moved.value)
    return {one.text for one in made if one is not None}


@pytest.mark.parametrize(
    ("family", "text", "language", "expected"),
    [
        ("casing", "Hello you", "en", {"hello you", "HELLO YOU"}),
        ("contraction", "I don't know", "en", {"I do not know", "I dont know"}),
        ("contraction", "habe ich Zeit", "de", {"hab ich Zeit"}),
        ("contraction", "je ne sais pas", "fr", {"je sais pas"}),
        ("abbreviation", "thank you", "en", {"ty", "thank u"}),
        ("abbreviation", "por favor ayuda", "es", {"xfa ayuda"}),
        ("abbreviation", "você vem hoje", "pt", {"vc vem hoje", "você vem hj"}),
        ("diacritics", "où est le café", "fr", {"où est le cafe"}),
        ("diacritics", "fünf Öfen", "de", {"fuenf Oefen"}),
        ("diacritics", "el año", "es", set()),
        ("politeness", "hello you", "en", set()),
        ("politeness", "a pizza for me?", "en", {"excuse me, a pizza for me?", "a pizza for me, please?"}),
        ("punctuation", "a pizza?", "en", {"a pizza", "a  pizza?"}),
    ],
)
def test_families_make_what_people_write(family: str, text: str, language: str, expected: set[str]) -> None:
    made = variants(text, family, language=language)

    assert made == expected or (expected and made and made <= expected | {text.upper(), text.lower()})


@pytest.mark.parametrize("family", FAMILIES)
def test_entities_keep_their_text(family: str) -> None:
    variants("Could you please make a funghi for my tall friends, thanks?", family, entity="funghi")


def test_a_typo_leaves_alone_what_would_mean_something_else() -> None:
    made = variants("kindly forget 25 x4pizza ab funghi", "typo", entity="funghi")

    assert made
    for one in made:
        first, *rest = one.split(" ")
        assert first[0] == "k"
        assert first != "kindly"
        # "forget" is a word of another intent alone; the others are short, a number or an entity
        assert rest == ["forget", "25", "x4pizza", "ab", "funghi"]


@pytest.mark.parametrize(
    ("family", "language", "text", "wrong"),
    [
        ("contraction", "de", "Was kostet das", {"Etwas kostet das"}),
        ("contraction", "de", "ne, danke", {"eine, danke"}),
        ("contraction", "pt", "não é aqui", {"né aqui"}),
        ("contraction", "fr", "il y a du pain", {"il il y a du pain"}),
        ("contraction", "en", "let us know", {"let's know"}),
        ("contraction", "en", "I'd better go", {"I would better go"}),
        ("contraction", "en", "can't I pay", {"cannot I pay"}),
        ("abbreviation", "de", "das will ich nicht", {"das will ich nich"}),
        ("typo", "en", "be there", {"be three"}),
        ("typo", "en", "I cannot", None),
        ("typo", "de", "das geht nicht", None),
        ("typo", "es", "a las ocho o nueve", None),
        ("typo", "fr", "jamais", None),
        ("diacritics", "pt", "é aqui", None),
        ("diacritics", "fr", "pâte ou pâté", None),
        ("casing", "en", "Ask the IT team", {"ask the it team"}),
        ("punctuation", "en", "room 1, 2", {"room 1 2"}),
    ],
)
def test_what_would_mean_something_else_is_no_variant(
    family: str, language: str, text: str, wrong: set[str] | None
) -> None:
    made = variants(text, family, language=language)

    assert not made if wrong is None else not made & wrong


def test_words_of_another_intent_are_not_abbreviated() -> None:
    training = (*TRAINING, Example("my address please", "address"))
    made = [noise(training=training).variant("abbreviation", Sentence("the address", "order"), random.Random(1))]

    assert made == [None]


def test_no_typo_makes_a_word_of_the_training_data() -> None:
    training = (*TRAINING, Example("house", "order"), Example("hoose", "cancel"))
    sentence = Sentence("house", "order")
    made = [noise(training=training).variant("typo", sentence, random.Random(seed)) for seed in range(80)]

    assert all(one is None or one.text not in {"hoose", "house"} for one in made)


def test_another_value_is_one_of_the_same_entity_and_intent() -> None:
    assert variants("a funghi for me", "value", entity="funghi") == {"a tonno for me"}
    assert variants("two funghi please", "value", entity="funghi") == {"two tonno please"}
    assert variants("drop the funghi", "value", entity="funghi", intent="cancel") == set()


def test_what_another_intent_says_is_no_variant() -> None:
    maker = noise(training=(*TRAINING, Example("u want it", "cancel")))

    made = [maker.variant("abbreviation", Sentence("you want it", "order"), random.Random(seed)) for seed in range(20)]
    assert set(made) == {None}


def test_the_interval_is_wilsons() -> None:
    low, high = wilson(1, 10)

    assert low == pytest.approx(0.0179, abs=1e-4)
    assert high == pytest.approx(0.4042, abs=1e-4)
    assert wilson(0, 0) == (None, None)


def test_lists_have_both_sides_and_never_the_same() -> None:
    for words in LANGUAGES.values():
        pairs = {**words.contractions, **words.abbreviations}
        assert all(one != other and one and other for one, other in pairs.items())
        assert words.prefixes
        assert words.suffixes


def bot(root: Path) -> Path:
    small_bot(root)
    (root / "tests").mkdir()
    tests = (
        "nlu:\n- intent: greet\n  examples: |\n    - hello everybody\n- intent: bye\n  examples: |\n    - goodbye all\n"
    )
    (root / "tests" / "test_nlu.yml").write_text(tests, encoding="utf-8")
    return root


def test_what_was_right_and_is_wrong_is_counted(tmp_path: Path) -> None:
    project = read_project(bot(tmp_path))
    engine = EmbeddedNluTrainer().fit(project)
    data = NluData((Example("hello everybody", "greet"), Example("goodbye all", "bye"), Example("what", "book")))

    measured = evaluate_robustness(project, engine, data)

    by_family = {one.name: one for one in measured.by_family}
    # The keywords are found with any sign behind them, and in no other case.
    assert (by_family["casing"].failed, by_family["punctuation"].failed) == (2, 0)
    typos = [one for sentence in measured.worst for one in sentence.failed if one.family == "typo"]
    assert by_family["typo"].failed == len(typos)
    assert measured.variants == sum(one.variants for one in measured.by_family)
    assert all(one.name != "book" or one.variants == 0 for one in measured.by_intent)


def test_the_same_files_and_seed_give_the_same_variants(tmp_path: Path) -> None:
    project = read_project(bot(tmp_path))
    examples = (Example("hello everybody in there", "greet"), Example("goodbye all of you", "bye"))

    one = [variant.sentence.text for variant in make_variants(examples, project, 42)]
    assert one == [variant.sentence.text for variant in make_variants(examples, project, 42)]
    assert one != [variant.sentence.text for variant in make_variants(examples, project, 7)]


def test_without_test_sentences_those_of_the_training_data_are_varied(tmp_path: Path) -> None:
    project = read_project(small_bot(tmp_path))

    measured = cross_validate_robustness(project, EmbeddedNluTrainer(), folds=2)

    assert measured.mode == "cross-validation"
    assert measured.sentences > 0


def test_the_command_and_a_projects_own_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    root = bot(tmp_path / "bot")
    (root / "tests" / "noise.yml").write_text('abbreviations: {everybody: "evrbdy"}\n', encoding="utf-8")
    path = tmp_path / "report.json"

    assert run_command_line(["test", "robustness", "--project", str(root), "--json", str(path), "-q"]) == 0
    golden(capsys.readouterr().out, only="Misunderstood")
    report = decode(path.read_bytes())
    assert report.robustness is not None
    assert [one.variants for one in report.robustness.by_family if one.name == "abbreviation"] == [1]


def test_a_limit_without_a_rate_is_not_a_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    root = bot(tmp_path / "bot")
    tests = "nlu:\n- intent: greet\n  examples: |\n    - nobody understands this\n"
    (root / "tests" / "test_nlu.yml").write_text(tests, encoding="utf-8")
    command = ["test", "robustness", "--project", str(root), "-q"]

    assert run_command_line(command) == 0
    assert run_command_line([*command, "--fail-over", "0.1"]) == 2
    golden(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("content", "what", "line"),
    [
        ("prefixes:\n  hi\n", "'prefixes': expected a list of strings", 2),
        ("suffixes: []\ntypos: []\n", "unknown key 'typos': expected contractions, abbreviations, ", 2),
        ("suffixes: []\na: [\n", "not YAML", 3),
        ("contractions: [a]\n", "expected a mapping of strings to strings", 1),
        ("abbreviations:\n  please: 1\n", "'abbreviations': expected a string", 2),
        ("abbreviations:\n  a: b\n  a: c\n", "'a'", 3),
        ("prefixes:\n- hello\n- ''\n", "'prefixes': expected a string", 3),
        ("- please\n", "expected word lists", 1),
        ("prefixes: ['hé']\n", "UTF-8", 0),
    ],
)
def test_words_that_cannot_be_read_are_an_error_with_their_place(
    tmp_path: Path, content: str, what: str, line: int
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "noise.yml").write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match=what) as caught:
        words_for("en", tmp_path)
    assert caught.value.location is not None
    assert (caught.value.location.path, caught.value.location.line or 0) == ("tests/noise.yml", line)


def test_words_may_have_a_byte_order_mark_and_a_file_of_comments_adds_nothing(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "noise.yml").write_text("\ufeffprefixes: ['hey, ']\r\n", encoding="utf-8", newline="")
    assert words_for("xx", tmp_path).prefixes == ("hey, ",)
    (tmp_path / "tests" / "noise.yml").write_text("# none yet\n", encoding="utf-8")
    assert words_for("en", tmp_path) == words_for("en")


def test_the_sample_that_was_judged_by_hand_has_its_rate() -> None:
    rows = [
        json.loads(line)
        for line in (Path(__file__).parents[2] / "data" / "judged_variants.jsonl").read_text("utf-8").splitlines()
    ]

    assert len(rows) == 500
    kept = sum(row["same"] for row in rows)
    page = (Path(__file__).parents[3] / "docs" / "strength.md").read_text("utf-8")
    assert f"{kept} of 500" in page


def test_a_variant_nearly_another_intents_sentence_is_dropped_however_near_its_own_is(tmp_path: Path) -> None:
    said = "please bring the large table to my room tonight"
    training = (Example(said, "bring"), Example(f"{said} now", "order"))
    project = read_project(small_bot(tmp_path))
    project = dataclasses.replace(project, nlu=replace(project.nlu, examples=training))

    kept = make_variants([Example(said, "bring")], project, 42)

    assert not [one for one in kept if one.family in {"casing", "punctuation"}]


def test_the_words_of_a_kore_assistant_are_those_of_its_language() -> None:
    project = read_project(Path(__file__).parents[3] / "examples" / "bike_workshop")

    families = {one.family for one in make_variants(project.nlu.examples, project, 42)}

    assert families >= {"contraction", "abbreviation", "politeness"}
