"""The support vector machine: scikit-learn's solution, without what importing scikit-learn costs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from turncheck.engines.embedded.nlu import liblinear
from turncheck.engines.embedded.nlu.few_sentences import in_words
from turncheck.engines.embedded.nlu.intent_model import IntentModel
from turncheck.engines.embedded.nlu.liblinear import Matrix, fit_machine
from turncheck.engines.embedded.nlu.trainer import unique_examples
from turncheck.engines.ngrams import NgramFeatures, SparseRows
from turncheck.project.nlu_data import Example

TEXTS = (
    *("where is my card", "my card has not arrived", "when does the new card come", "card still not here!", "2 cards"),
    *("send me money", "transfer 20 euro to my mother", "I want to send money abroad", "pay my rent by transfer"),
    *("hello", "hi", "good evening", "hey hey"),
)
TRUTH = np.array([0] * 5 + [1] * 4 + [2] * 4)
WORDS = ("pizza", "order", "cancel", "my", "the", "bill", "please", "address", "open", "when", "change", "large")


def solved(rows: SparseRows, truth: Any, labels: int, tolerance: float) -> tuple[Any, Any]:
    return fit_machine(Matrix.of(rows), truth, labels, penalty=0.5, tolerance=tolerance, seed=0)


@pytest.mark.parametrize("labels", [2, 3])
def test_it_finds_what_scikit_learn_finds(labels: int) -> None:
    features, rows = NgramFeatures.fit(TEXTS)
    truth = np.minimum(TRUTH, labels - 1)
    weights, intercepts = solved(rows, truth, labels, 1e-6)
    theirs = LinearSVC(multi_class="crammer_singer", C=0.5, tol=1e-6, random_state=1).fit(rows.to_scipy(), truth)

    queries = features.transform(["my new card", "good money", "zzz"]).to_scipy()

    ours = queries @ weights + intercepts
    expected = theirs.decision_function(queries)
    assert (ours[:, 1] - ours[:, 0] if labels == 2 else ours) == pytest.approx(expected, abs=1e-4)


def test_its_solver_is_loaded_without_scikit_learn_which_can_be_imported_later() -> None:
    code = (
        "import sys\n"
        "from turncheck.engines.embedded.nlu import liblinear\n"
        "solver = liblinear._solver()\n"
        "assert solver is not None\n"
        "print(sorted({'sklearn', 'scipy', 'joblib'} & sys.modules.keys()))\n"
        "from sklearn.svm import LinearSVC, _liblinear\n"
        "print(_liblinear is solver, LinearSVC().fit([[0.0], [1.0]], [0, 1]).predict([[0.9]]))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\nTrue [1]\n"


@pytest.mark.parametrize("labels", [2, 3])
def test_where_it_cannot_be_loaded_scikit_learn_is_imported(monkeypatch: pytest.MonkeyPatch, labels: int) -> None:
    rows = NgramFeatures.fit(TEXTS)[1]
    truth = np.minimum(TRUTH, labels - 1)
    weights, intercepts = solved(rows, truth, labels, 1e-6)
    monkeypatch.setattr(liblinear, "_MODULE", "sklearn.svm._elsewhere")
    monkeypatch.setattr(liblinear, "_LINKED", ())
    liblinear._solver.cache_clear()
    try:
        assert liblinear._solver() is None
        imported = solved(rows, truth, labels, 1e-6)
    finally:
        liblinear._solver.cache_clear()

    assert imported[0] == pytest.approx(weights, abs=1e-4)
    assert imported[1] == pytest.approx(intercepts, abs=1e-4)


def test_sentences_without_any_term_are_learnt_by_how_many_there_are() -> None:
    empty = SparseRows(np.zeros(6, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 4)
    weights, intercepts = solved(empty, np.array([0, 1, 1, 1, 1]), 2, 1e-4)
    assert not weights.any()
    assert intercepts[1] > intercepts[0]


sentences = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
        st.sampled_from(["order", "cancel", "ask"]),
    ),
    min_size=6,
    max_size=40,
    unique_by=lambda pair: pair[0],
).filter(lambda pairs: len({label for _, label in pairs}) == 3)


@settings(max_examples=40, deadline=None)
@given(sentences, st.randoms(use_true_random=False))
def test_whoever_solves_it_in_whatever_order_finds_the_same(pairs: list[tuple[str, str]], chance: Any) -> None:
    """The optimum is unique: from one end or the other, scores differ by less than what is printed."""
    labels = sorted({label for _, label in pairs})
    texts = [*(text for text, _ in pairs), *map(in_words, labels)]
    truth = np.array([labels.index(label) for label in [*(label for _, label in pairs), *labels]])
    rows = NgramFeatures.fit(texts, unknown_count=True)[1]
    order = np.array(chance.sample(range(len(texts)), len(texts)))

    weights, intercepts = solved(rows, truth, len(labels), 1e-3)
    again = solved(rows.take(order), truth[order], len(labels), 1e-3)

    first, second = rows.times(weights) + intercepts, rows.times(again[0]) + again[1]
    assert np.abs(first - second).max() < 5e-3
    ranked = np.sort(first, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-2
    assert (first.argmax(axis=1) == second.argmax(axis=1))[clear].all()


@settings(max_examples=15, deadline=None)
@given(sentences, st.randoms(use_true_random=False))
def test_the_order_of_sentences_in_files_changes_no_digit(pairs: list[tuple[str, str]], chance: Any) -> None:
    def learnt(given_pairs: list[tuple[str, str]]) -> Any:
        examples = unique_examples(Example(text, label) for text, label in given_pairs)
        labels = [str(one.intent) for one in examples]
        return IntentModel.train([one.text for one in examples], labels, seed=0).confidences([*WORDS, "my large bill"])

    assert np.array_equal(learnt(pairs), learnt(chance.sample(pairs, len(pairs))))
