"""The second classifier of few sentences: its features, its solution, and what it says beside the first."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_union

from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
from turncheck.engines.embedded.nlu.calibration import Judged
from turncheck.engines.embedded.nlu.classifiers import softmax
from turncheck.engines.embedded.nlu.intent_model import IntentModel
from turncheck.engines.embedded.nlu.linear import LabelSplit, LinearModel
from turncheck.engines.embedded.nlu.second_opinion import MOST_SENTENCES, SecondOpinion, count, fit_linear
from turncheck.engines.embedded.nlu.small_logistic import fit_small_logistic

TEXTS = (
    *("where is my card", "my card has not arrived", "when does the new card come", "card still not here!", "2 cards"),
    *("send me money", "transfer 20 euro to my mother", "I want to send money abroad", "pay my rent by transfer"),
    *("hello", "hi", "good evening", "hey hey"),
)
LABELS = (*["card"] * 5, *["transfer"] * 4, *["greet"] * 4)


def test_it_is_the_logistic_regression_of_scikit_learn_over_plain_counts() -> None:
    theirs = make_union(
        CountVectorizer(token_pattern=r"(?u)\b\w+\b"), CountVectorizer(analyzer="char_wb", ngram_range=(1, 4))
    )
    learnt = theirs.fit_transform(TEXTS)
    model = LogisticRegression(class_weight="balanced", tol=1e-6, max_iter=1000).fit(learnt, LABELS)
    columns, rows = count(TEXTS)
    assert sorted(rows.values) == sorted(learnt.data)
    names = sorted(set(LABELS))
    truth = np.array([names.index(label) for label in LABELS])
    linear = LinearModel(tuple(names), *fit_small_logistic(rows, truth, len(names), tolerance=1e-4))
    new = ["my new card", "hello mother", "send it"]
    stated = model.predict_proba(theirs.transform(new))
    assert np.allclose(SecondOpinion(columns, linear).blended(stated, new), stated, atol=1e-3)


def test_the_blend_gets_as_sure_as_it_was_right() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=(3000, 4)) * 3
    columns, rows = count(TEXTS)
    opinion = SecondOpinion(columns, fit_linear(rows, LABELS))
    always = Judged(scores, scores.argmax(axis=1))
    by_chance = Judged(scores, random.integers(4, size=3000))
    assert opinion.calibrated(softmax(scores), always).factor > 1.5
    assert opinion.calibrated(softmax(scores), by_chance).factor < 0.2


@pytest.mark.parametrize(("times", "asked"), [(1, True), (MOST_SENTENCES // len(TEXTS) + 1, False)])
def test_only_few_sentences_are_shown_to_it(times: int, asked: bool) -> None:
    model = IntentModel.train(TEXTS * times, LABELS * times, seed=0)
    assert (model.second is not None) == asked


def test_labels_that_are_combinations_are_not() -> None:
    labels = ["ask+card", "ask"] * 6
    assert IntentModel.train(TEXTS[:12], labels, seed=0, split=LabelSplit("+")).second is None


def test_it_is_kept_in_a_model() -> None:
    model = IntentModel.train(TEXTS, LABELS, seed=0)
    writer = MemberWriter()
    model.save(writer)
    again = IntentModel.load(MemberReader(writer.members))
    assert (again.confidences(["my card", "hi"]) == model.confidences(["my card", "hi"])).all()
    assert model.confidences(["my card", "hi"]).sum(axis=1) == pytest.approx([1, 1])
