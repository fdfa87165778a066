"""The support vector machine for hundreds of labels, beside LIBLINEAR's and beside the conditions of its optimum."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from sklearn.svm import LinearSVC

from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
from turncheck.engines.embedded.nlu import linear
from turncheck.engines.embedded.nlu.classifiers import rank, settled, softmax
from turncheck.engines.embedded.nlu.intent_model import SentenceFeatures
from turncheck.engines.embedded.nlu.linear import PENALTY, LinearModel
from turncheck.engines.embedded.nlu.many_intents import FEWEST_LABELS, fit_many
from turncheck.engines.ngrams import NgramFeatures

TOLERANCE = 0.003


def made(labels: int, sentences: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Sentences of so many labels, with words of their label and of all, and some that say nothing."""
    chance = np.random.default_rng(seed)
    words = ["".join(chance.choice(list("aeioubdfgklmnprst"), chance.integers(2, 7))) for _ in range(6 * labels)]
    texts, names = [], []
    for label in range(labels):
        for _ in range(int(chance.integers(1, 2 * sentences))):
            own = chance.choice(words[3 * label : 3 * label + 3], chance.integers(1, 3))
            texts.append(" ".join([*own, *chance.choice(words, chance.integers(0, 4))]))
            names.append(f"label_{label:04}")
    return [*texts, "", "", texts[0]], [*names, names[3], names[-1], names[5]]


def solved(texts: list[str], names: list[str], tolerance: float) -> tuple[Any, np.ndarray[Any, Any], Any]:
    matrix = NgramFeatures.fit(texts)[1].to_scipy()
    truth = np.unique(names, return_inverse=True)[1]
    return matrix, truth, fit_many(matrix, truth, int(truth.max()) + 1, PENALTY, tolerance)


@cache
def solved_of(labels: int, sentences: int) -> tuple[Any, np.ndarray[Any, Any], Any]:
    """The same for several tests; none changes it."""
    return solved(*made(labels, sentences), TOLERANCE)


def violation(matrix: Any, truth: np.ndarray[Any, Any], duals: np.ndarray[Any, Any]) -> float:
    """How much the conditions of the optimum are violated at most, from the definition of the dual problem."""
    wrong = np.ones_like(duals)
    wrong[np.arange(len(truth)), truth] = 0
    gradients = (matrix @ matrix.T).toarray() @ duals + duals.sum(axis=0) + wrong
    free = np.where(duals < PENALTY * (1 - wrong), gradients, np.inf)
    return float((gradients.max(axis=1) - free.min(axis=1)).max())


@pytest.mark.parametrize(("labels", "sentences"), [(40, 3), (120, 5), (30, 40)], ids=["few", "some", "large"])
def test_the_weights_meet_the_conditions_of_the_optimum(labels: int, sentences: int) -> None:
    matrix, truth, found = solved_of(labels, sentences)
    duals = found.toarray()
    assert np.abs(duals.sum(axis=1)).max() < 1e-9
    at_most = np.where(np.arange(duals.shape[1]) == truth[:, None], PENALTY, 0.0)
    assert (duals <= at_most + 1e-12).all()
    assert violation(matrix, truth, duals) < 1.01 * TOLERANCE
    assert violation(matrix, truth, duals * 0.9) > 10 * TOLERANCE


@pytest.mark.parametrize(("labels", "sentences"), [(40, 3), (120, 5)])
def test_the_scores_are_those_of_scikit_learn(labels: int, sentences: int) -> None:
    matrix, truth, found = solved_of(labels, sentences)
    theirs = LinearSVC(multi_class="crammer_singer", C=PENALTY, tol=1e-6, max_iter=100_000).fit(matrix, truth)
    scores = matrix @ (matrix.T @ found.toarray()) + np.asarray(found.sum(axis=0))
    expected = theirs.decision_function(matrix)
    assert np.abs(scores - expected).max() < TOLERANCE
    first, second = np.sort(expected, axis=1)[:, :-3:-1].T
    clear = first - second > 2 * TOLERANCE
    assert clear.mean() > 0.9
    assert (scores.argmax(axis=1) == expected.argmax(axis=1))[clear].all()


def test_the_order_of_sentences_has_no_part_in_it() -> None:
    texts, names = made(60, 4)
    matrix, truth, found = solved(texts, names, 0.03)
    order = np.random.default_rng(1).permutation(len(truth))
    again = fit_many(matrix[order], truth[order], found.shape[1], PENALTY, 0.03)
    assert again is not None
    weights = matrix.T @ found  # equal sentences of a label may change places
    assert abs(matrix[order].T @ again - weights).max() < 1e-12


def test_both_solvers_answer_alike_where_one_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, names = made(FEWEST_LABELS, 5)
    features, rows = SentenceFeatures.fit(texts, None, few=False)
    new = [f"{one.split(' ')[0]} {other}" for one, other in zip(texts[:600], texts[300:900], strict=True)]
    ours = LinearModel.fit(rows, names, 0).scores(features.transform(new))
    monkeypatch.setattr(linear, "fit_many", lambda *_: None)
    theirs = LinearModel.fit(rows, names, 0).scores(features.transform(new))
    assert np.abs(ours - theirs).max() < 0.03
    assert 0 < np.abs(ours - theirs).mean() < 0.003
    assert (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean() > 0.98


def test_sentences_that_are_all_alike_are_learnt_too() -> None:
    names = [f"label_{number:03}" for number in range(350) for _ in range(3)]
    texts = ["the same"] * len(names)
    features, rows = SentenceFeatures.fit(texts, None, few=False)
    scores = LinearModel.fit(rows, names, 0).scores(features.transform(texts[:1]))
    assert np.ptp(scores) < 0.1


def test_weights_are_kept_sparse_and_read_as_they_were() -> None:
    """Filling an array for thousands of intents takes longer than training them."""
    texts, names = made(350, 4)
    features, rows = SentenceFeatures.fit(texts, None, few=False)
    model = LinearModel.fit(rows, names, 0)
    assert model.weights.nnz * 5 < model.weights.shape[0] * model.weights.shape[1]
    writer = MemberWriter()
    model.save(writer)

    again = LinearModel.load(MemberReader(writer.members), rows.width)

    queries = features.transform(texts[::3])
    assert np.array_equal(again.scores(queries), model.scores(queries))
    dense = replace(model, weights=model.weights.toarray())
    assert np.abs(dense.scores(queries) - model.scores(queries)).max() < 1e-5
    assert np.array_equal(features.transform([""]).times(model.weights), np.zeros((1, 350)))


def test_the_head_of_a_long_ranking_is_that_of_the_whole() -> None:
    chance = np.random.default_rng(0)
    for number in range(600):
        labels = int(chance.integers(2, 300))
        names = [f"label_{one:03}" for one in range(labels)]
        scores = chance.normal(size=(1, labels)) * chance.choice([1e-6, 1e-3, 0.1, 1, 20])
        confidences: Any = softmax(scores)[0] if number % 3 else chance.integers(0, 12, size=labels) * 8e-7
        whole = settled(confidences)
        for length in (1, 10, 63, 64):
            first = np.argsort(-whole, kind="stable")[:length]
            expected = [(names[column], whole[column]) for column in first]
            assert [(one.name, one.confidence) for one in rank(names, confidences, length)[1]] == expected
