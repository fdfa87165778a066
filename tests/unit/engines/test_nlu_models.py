"""The stand-ins' own models: features, support vector machines, calibration, neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_texts import Golden
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union

from turncheck.engines.embedded.nlu import linear
from turncheck.engines.embedded.nlu.calibration import UNCALIBRATED, BestAnswer, fit_factor
from turncheck.engines.embedded.nlu.classifiers import softmax
from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
from turncheck.engines.embedded.nlu.intent_model import IntentModel, SentenceFeatures
from turncheck.engines.embedded.nlu.linear import FeatureRows, LabelSplit, LinearModel, SingleColumns
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.engines.ngrams import NgramFeatures, TrainingSentences
from turncheck.messages.finding import Location
from turncheck.project.model import Component, Config, Project
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData

SENTENCES = (
    ("where is my card", "card"),
    ("my card has not arrived", "card"),
    ("when does the new card come", "card"),
    ("card still not here!", "card"),
    ("send me money", "transfer"),
    ("transfer 20 euro to my mother", "transfer"),
    ("I want to send money abroad", "transfer"),
    ("pay my rent by transfer", "transfer"),
    ("hello", "greet"),
    ("hi there, good morning", "greet"),
    ("good evening", "greet"),
    ("hey hey", "greet"),
)
TEXTS = [text for text, _ in SENTENCES]
LABELS = [label for _, label in SENTENCES]


@pytest.mark.parametrize(
    ("texts", "least"),
    [
        (TEXTS, 1),
        ([*TEXTS[1:] * 63, *TEXTS[:7]], 1),
        ([*TEXTS[1:] * 63, *TEXTS[:8]], 2),
        ([*TEXTS[1:] * 70, TEXTS[0]], 2),
    ],
    ids=["few", "700", "701", "many"],
)
def test_features_are_those_of_scikit_learn(texts: list[str], least: int) -> None:
    theirs = make_union(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+"),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True, min_df=least),
    )
    features, rows = NgramFeatures.fit(texts)
    assert np.allclose(rows.to_scipy().toarray(), theirs.fit_transform(texts).toarray(), atol=1e-6)
    new = ["hello hello card", "unknown wörds", ""]
    assert np.allclose(features.transform(new).to_scipy().toarray(), theirs.transform(new).toarray(), atol=1e-6)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_text_has_the_same_features_in_any_batch(texts: list[str]) -> None:
    features, rows = NgramFeatures.fit(TEXTS + texts)
    weights = np.random.default_rng(0).normal(size=(features.width, 3)).astype(np.float32)
    together = features.transform(texts).times(weights)
    for row, text in enumerate(texts):
        assert (features.transform([text]).times(weights)[0] == together[row]).all()
    assert (rows.times(weights)[len(TEXTS) :] == together).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("下雨吗？", {"下", "雨", "吗", "下 雨", "雨 吗"}),
        ("駅でWiFi", {"駅", "で", "wifi", "駅 で", "で wifi"}),
        ("Grüße aus Köln", {"grüße", "aus", "köln", "grüße aus", "aus köln"}),
        ("오늘 날씨", {"오늘", "날씨", "오늘 날씨"}),
    ],
    ids=["Chinese", "Japanese", "German", "Korean"],
)
def test_a_character_of_a_script_without_spaces_counts_as_a_word(text: str, words: set[str]) -> None:
    features, _ = NgramFeatures.fit([text])
    assert set(features.words) == words


def test_chinese_sentences_are_near_by_words_that_they_share() -> None:
    texts = ["明天北京会下雨吗", "取消我的闹钟", "设一个早上七点的闹钟"]
    features, rows = NgramFeatures.fit(texts)
    near = (features.transform(["上海今天会下雨"]).to_scipy() @ rows.to_scipy().T).toarray()[0]
    assert near.argmax() == 0
    assert near[0] > 0.2


@pytest.mark.slow
def test_columns_of_one_row_are_learnt_together_and_score_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(0)
    words = [f"{chance.integers(10**9):x}" for _ in range(600)]
    labels = [f"label_{number % 300}" for number in range(900)]
    texts = [
        f"{words[number % 300]} {words[300 + chance.integers(300)]} {chance.integers(10**6)}" for number in range(900)
    ]
    rows = SentenceFeatures.fit(texts, None, few=False)[1]
    columns, matrix = SingleColumns.merged(rows.to_scipy())
    assert len(columns.single) > 300
    assert matrix.shape[1] < rows.width
    products = rows.to_scipy() @ rows.to_scipy().T
    assert abs(matrix @ matrix.T - products).max() < 1e-12

    monkeypatch.setattr(linear, "fit_many", lambda *_: None)
    together = LinearModel.fit(rows, labels, 0)
    monkeypatch.setattr(linear, "_MANY_WEIGHTS", 0)
    apart = LinearModel.fit(rows, labels, 0)
    assert apart.weights.shape == together.weights.shape
    assert np.abs(apart.scores(rows) - together.scores(rows)).max() < 1e-5
    assert apart.scores(rows).argmax(axis=1).tolist() == together.scores(rows).argmax(axis=1).tolist()


def test_few_and_many_sentences_of_two_labels_score_both() -> None:
    labels = ["a" if label == "greet" else "b" for label in LABELS]
    rows = FeatureRows(NgramFeatures.fit(TEXTS)[1])
    few = LinearModel.fit(rows, labels, seed=0)
    many = LinearModel.fit(rows.take(np.tile(np.arange(len(TEXTS)), 80)), labels * 80, seed=0)
    for model in (few, many):
        scores = model.scores(rows)
        assert scores.shape == (len(TEXTS), 2)
        assert [model.names[best] for best in scores.argmax(axis=1)] == labels


def test_a_combination_is_scored_by_its_parts() -> None:
    both = [("hello, where is my card", "greet+card"), ("hi, my card is not here", "greet+card")]
    both += [("good morning, send me money", "greet+transfer"), ("hello hello, transfer money", "greet+transfer")]
    texts, labels = TEXTS + [text for text, _ in both], LABELS + [label for _, label in both]
    features, rows = SentenceFeatures.fit(texts, None, few=False)
    model = LinearModel.fit(rows, labels, 0, LabelSplit("+"))
    best = model.scores(features.transform(["good evening, where is the card", "hello, transfer money abroad"])).argmax(
        axis=1
    )
    assert [model.names[index] for index in best] == ["greet+card", "greet+transfer"]
    assert LinearModel.fit(rows, labels, 0).composition is None


@pytest.mark.parametrize(
    ("split", "label", "parts"),
    [
        (LabelSplit("+"), "greet+order", ("greet", "order")),
        (LabelSplit("+"), "greet", ("greet",)),
        (LabelSplit("_", "!"), "faq_a!b_c", ("faq", "a", "b", "c")),
        (LabelSplit("+"), "+", ("+",)),
    ],
)
def test_a_label_falls_into_its_parts(split: LabelSplit, label: str, parts: tuple[str, ...]) -> None:
    assert split.parts(label) == parts


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_the_factor_is_found_that_says_how_often_answers_are_right(factor: float) -> None:
    random = np.random.default_rng(1)
    scores = random.normal(size=(20_000, 5))
    confidence = softmax(scores * factor).max(axis=1)
    assert fit_factor(scores, random.random(20_000) < confidence) == pytest.approx(factor, rel=0.1)


def test_one_held_out_sentence_hardly_moves_the_assumption() -> None:
    assert fit_factor(np.array([[0.1, 0.0]]), np.array([False])) == pytest.approx(UNCALIBRATED, rel=0.2)


def test_of_a_text_without_a_known_term_only_the_shares_of_the_intents_are_said() -> None:
    model = IntentModel.train([*TEXTS, "where is it"], [*LABELS, "card"], seed=0)
    told = dict(zip(model.names, model.confidences(["😀"])[0], strict=True))
    assert told == pytest.approx({"card": 5 / 13, "greet": 4 / 13, "transfer": 4 / 13})


def combinations(count: int) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.bool_]]]:
    """Scores of which the best says by its height, not by its lead, whether it is right."""
    random = np.random.default_rng(1)
    scores = np.sort(random.normal(size=(count, 6)), axis=1)
    return scores, random.random(count) < 1 / (1 + np.exp(-(2 * scores[:, -1] - 3)))


def test_the_best_combination_is_as_sure_as_it_is_often_right() -> None:
    scores, right = combinations(20_000)
    best = BestAnswer.fit(scores, right)
    assert best is not None
    assert (best.of_score, best.intercept, best.of_lead) == pytest.approx((2, -3, 0), abs=0.2)
    stated = best.applied(softmax(scores * 8), scores).max(axis=1)
    assert stated.mean() == pytest.approx(right.mean(), abs=0.01)


def test_confidences_of_combinations_keep_their_order_and_never_exceed_1() -> None:
    scores, right = combinations(500)
    best = BestAnswer.fit(scores, right)
    assert best is not None
    plain = softmax(scores * 8)
    made = best.applied(plain, scores)
    assert (np.argsort(made, axis=1, kind="stable") == np.argsort(plain, axis=1, kind="stable")).all()
    assert (made.sum(axis=1) <= 1 + 1e-9).all()


@pytest.mark.parametrize("right", [np.ones(200, bool), np.zeros(200, bool), np.arange(50) % 2 == 0])
def test_few_or_uniform_judgements_do_not_say_how_sure_a_combination_is(
    right: np.ndarray[Any, np.dtype[np.bool_]],
) -> None:
    assert BestAnswer.fit(np.random.default_rng(0).normal(size=(len(right), 4)), right) is None


def test_the_nearest_sentence_of_a_training_sentence_is_itself(golden: Golden) -> None:
    sentences = TrainingSentences(tuple(TEXTS))
    (nearest,) = sentences.nearest(["where is my card"], 2)
    assert nearest[0].index == 0
    golden(nearest[0].text)
    assert nearest[0].similarity == pytest.approx(1.0)
    assert nearest[1].text in {"my card has not arrived", "card still not here!", "when does the new card come"}
    assert sentences.nearest(["日本"], 2) == [()]
    assert TrainingSentences(()).nearest(["x"], 2) == [()]


def project(pipeline: tuple[tuple[str, dict[str, Any]], ...], *more: Example) -> Project:
    here = Location("config.yml", 1)
    return Project(
        Path("bot"),
        "bot",
        nlu=NluData((*(Example(text, label) for text, label in SENTENCES), *more)),
        config=Config(pipeline=tuple(Component(name, parameters, here) for name, parameters in pipeline)),
    )


DIET: tuple[tuple[str, dict[str, Any]], ...] = (
    ("WhitespaceTokenizer", {}),
    ("DIETClassifier", {}),
    ("FallbackClassifier", {"threshold": 0.5}),
)


def test_the_stand_in_understands_in_any_batch_alike() -> None:
    trip = Example("fly to Rome", "travel", (EntityAnnotation(7, 11, "city", "Rome"),))
    home = Example("fly to Oslo today", "travel", (EntityAnnotation(7, 11, "city", "Oslo"),))
    engine = EmbeddedNluTrainer().fit(project(DIET, trip, home))
    assert engine.extractors == ("DIETClassifier",)
    texts = ["good morning", "fly to Bonn", "", "😀", "my card!"]
    together = engine.parse(texts)
    assert together == [engine.parse([text])[0] for text in texts]
    assert together[0].intent.name == "greet"
    assert [(one.entity, one.value) for one in together[1].entities] == [("city", "Bonn")]
    assert together[2].intent.name == "nlu_fallback"


def test_parts_of_the_stand_in_can_be_switched_off() -> None:
    trip = Example("fly to Rome", "travel", (EntityAnnotation(7, 11, "city", "Rome"),))
    only_intents = (("DIETClassifier", {"entity_recognition": False}),)
    engine = EmbeddedNluTrainer().fit(project(only_intents, trip))
    assert engine.extractors == ()
    assert engine.parse(["fly to Rome"])[0].entities == ()
    only_entities = (("DIETClassifier", {"intent_classification": False, "ranking_length": 3}),)
    assert EmbeddedNluTrainer().fit(project(only_entities, trip)).parse(["fly to Rome"])[0].intent.name is None


def test_the_ranking_is_cut_and_its_rest_renormalized_where_asked() -> None:
    engine = EmbeddedNluTrainer().fit(project((("DIETClassifier", {"ranking_length": 2}),)))
    ranking = engine.parse(["send a card"])[0].ranking
    assert len(ranking) == 2
    assert sum(intent.confidence for intent in ranking) < 1
    normalized = EmbeddedNluTrainer().fit(
        project((("DIETClassifier", {"ranking_length": 2, "renormalize_confidences": True}),))
    )
    assert sum(one.confidence for one in normalized.parse(["send a card"])[0].ranking) == pytest.approx(1)


def test_selectors_answer_for_their_retrieval_intents() -> None:
    faq = [Example(text, "faq/hours") for text in ("when do you open", "opening hours")]
    faq += [Example(text, "faq/price") for text in ("what does it cost", "how much")]
    chat = [Example("tell me a joke", "chat/joke"), Example("how are you", "chat/mood")]
    selectors = tuple(("ResponseSelector", {"retrieval_intent": name}) for name in ("faq", "chat", "absent"))
    engine = EmbeddedNluTrainer().fit(project((("DIETClassifier", {}), *selectors), *faq, *chat))
    responses = engine.parse(["what are your opening hours"])[0].responses
    assert set(responses) == {"faq", "chat"}
    assert responses["faq"].intent_response_key == "faq/hours"
    assert any("absent" in note for note in engine.info.notes)
    assert engine.retrieval_intents == ("chat", "faq")


def test_a_pipeline_without_a_classifier_says_no_intent() -> None:
    parse = EmbeddedNluTrainer().fit(project((("WhitespaceTokenizer", {}),))).parse(["hello you"])[0]
    assert (parse.intent.name, parse.intent.confidence, parse.tokens) == (None, 0.0, ((0, 5), (6, 9)))


@pytest.fixture(scope="module")
def hostile_engine() -> EmbeddedNluEngine:
    odd = ["a\0b", "\x1b[31m", "😀", "\ud800", "=:|\\", "\u202e abc", "w " * 500]
    examples = [Example(text, "odd", (EntityAnnotation(0, 1, "\ud800=:", text[:1], "a:b"),)) for text in odd]
    pipeline = ("CountVectorsFeaturizer", "LogisticRegressionClassifier", "CRFEntityExtractor", "DIETClassifier")
    return EmbeddedNluTrainer().fit(project(tuple((name, {}) for name in pipeline), *examples))


@given(st.text(st.characters(), max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_text_is_understood_without_a_fault(hostile_engine: EmbeddedNluEngine, text: str) -> None:
    (parse,) = hostile_engine.parse([text])
    assert parse.tokens is not None or text.strip().startswith("/")
    assert all(entity.value == text[entity.start : entity.end] for entity in parse.entities)


@pytest.mark.parametrize("texts", [("😀", "😁"), ("x", "y"), ("", "hello")])
def test_sentences_without_any_feature_train_and_parse(texts: tuple[str, str]) -> None:
    nlu = NluData(tuple(Example(text, f"intent{number}") for number, text in enumerate(texts)))
    bot = Project(Path("bot"), "bot", nlu=nlu, config=project(DIET).config)
    assert len(EmbeddedNluTrainer().fit(bot).parse(["z", "😀", ""])) == 3
