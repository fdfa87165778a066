"""The classifier of few sentences: its problem, what varies within intents, and names of intents as sentences."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
from turncheck.engines.embedded.nlu.calibration import HeldOutScores, Reliability, fit_factors
from turncheck.engines.embedded.nlu.classifiers import softmax
from turncheck.engines.embedded.nlu.few_sentences import (
    MOST_SENTENCES,
    Machine,
    _pieces,
    fit_small_logistic,
    in_words,
    regression_of_counts,
    regression_of_varied,
    seen_by_regressions,
    suits,
)
from turncheck.engines.embedded.nlu.intent_model import IntentModel, SentenceFeatures
from turncheck.engines.embedded.nlu.linear import LabelSplit
from turncheck.engines.ngrams import NgramFeatures

TEXTS = (
    *("where is my card", "my card has not arrived", "when does the new card come", "card still not here!", "2 cards"),
    *("send me money", "transfer 20 euro to my mother", "I want to send money abroad", "pay my rent by transfer"),
    *("hello", "hi", "good evening", "hey hey"),
)
LABELS = (*["card"] * 5, *["transfer"] * 4, *["greet"] * 4)
NAMES = sorted(set(LABELS))
TRUTH = np.array([NAMES.index(label) for label in LABELS])


def test_it_is_the_logistic_regression_of_scikit_learn() -> None:
    vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=(1, 4))
    learnt = vectorizer.fit_transform(TEXTS).toarray().astype(float)
    model = LogisticRegression(class_weight="balanced", tol=1e-6, max_iter=1000).fit(learnt, LABELS)
    weights, intercepts = fit_small_logistic(learnt @ learnt.T, TRUTH, len(NAMES), tolerance=1e-4)
    new = vectorizer.transform(["my new card", "hello mother", "send it"]).toarray()
    assert np.allclose(softmax(new @ learnt.T @ weights + intercepts), model.predict_proba(new), atol=1e-3)


def test_what_varies_within_intents_counts_less() -> None:
    # both intents have "now" in equal shares; the other word tells them apart
    texts = ["now red", "now now red", "red", "now blue", "blue", "now now blue"]
    labels = ["red", "red", "red", "blue", "blue", "blue"]
    features, rows = SentenceFeatures.fit(texts, None, few=True)
    truth = np.array([1, 1, 1, 0, 0, 0])
    model, _ = regression_of_varied(rows).learnt(truth, ("blue", "red"), [np.array([0])])
    of = features.ngrams.words
    apart = model.weights[:, 0] - model.weights[:, 1]
    assert abs(apart[of["now"]]) < 0.05 * abs(apart[of["red"]])
    assert [model.names[best] for best in model.scores(rows).argmax(axis=1)] == labels


def test_who_knows_more_has_more_to_say() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(4, size=400)
    knowing = HeldOutScores(np.eye(4)[truth] * 2 + random.normal(size=(400, 4)), truth)
    guessing = HeldOutScores(random.normal(size=(400, 4)), truth)
    of_knowing, of_guessing = fit_factors([knowing, guessing], (1.0, 1.0))
    assert of_knowing > 5 * of_guessing >= 0
    assert fit_factors([guessing, knowing], (1.0, 1.0)) == pytest.approx([of_guessing, of_knowing], rel=1e-3)


def test_the_sum_gets_as_sure_as_it_was_right() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=(3000, 4)) * 3
    always, by_chance = (
        HeldOutScores(scores, scores.argmax(axis=1)),
        HeldOutScores(scores, random.integers(4, size=3000)),
    )
    assert sum(fit_factors([always, always], (1.0, 1.0))) > 1.5
    assert sum(fit_factors([by_chance, by_chance], (1.0, 1.0))) < 0.2


def test_even_the_surest_answers_are_wrong_now_and_then() -> None:
    random = np.random.default_rng(0)
    stated = random.uniform(0.2, 0.99, size=2000)
    right = random.random(2000) < 0.8 * stated
    reliability = Reliability.fit(stated, right)
    applied = reliability.applied(np.column_stack([stated, 1 - stated]))
    high = stated > 0.9
    assert applied[high, 0].mean() == pytest.approx(right[high].mean(), abs=0.04)
    assert (applied.sum(axis=1) <= 1 + 1e-9).all()


def test_a_reliability_of_few_sentences_changes_little_and_no_rank() -> None:
    few = Reliability.fit(np.array([0.9, 0.8, 0.7]), np.array([False, False, True]))
    confidences = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]])
    applied = few.applied(confidences)
    assert applied == pytest.approx(confidences, abs=0.1)
    assert (np.argsort(applied, axis=1, kind="stable") == np.argsort(confidences, axis=1, kind="stable")).all()
    assert Reliability().applied(confidences) == pytest.approx(confidences, abs=1e-6)


def test_never_is_a_surer_answer_less_reliable() -> None:
    stated = np.repeat([0.2, 0.95], 500)
    assert Reliability.fit(stated, np.repeat([True, False], 500)).slope == 0


def test_a_message_is_as_far_from_what_was_learnt_as_a_sentence_that_was_held_out() -> None:
    sentence = "could I perhaps pay my rent abroad tomorrow"
    _, learnt = NgramFeatures.fit([*TEXTS, sentence], unknown_count=True)
    near = learnt.products()[-1, :-1]
    features, rows = NgramFeatures.fit(TEXTS, unknown_count=True)
    of_message = features.transform([sentence])
    message = (rows.to_scipy() @ of_message.to_scipy().T).toarray()[:, 0]
    assert message == pytest.approx(near, rel=0.25, abs=0.01)
    surer = (rows.to_scipy() @ NgramFeatures.fit(TEXTS)[0].transform([sentence]).to_scipy().T).toarray()[:, 0]
    assert surer.max() > 1.5 * near.max()


def test_words_that_nobody_taught_make_an_answer_less_sure() -> None:
    model = IntentModel.train(TEXTS, LABELS, seed=0)
    card, strange = model.confidences(["where is my card", "quizzical xylophones fumble zucchini card"])
    assert card.argmax() == strange.argmax()
    assert strange.max() < card.max() - 0.05


def test_factors_are_fitted_to_what_the_machine_had_not_seen() -> None:
    _, rows = SentenceFeatures.fit([*TEXTS, *NAMES], None, few=True)
    truth = np.append(TRUTH, np.arange(len(NAMES)))
    piece = np.array([0, 5, 9])
    _, judged = Machine(rows, 0).learnt(truth, tuple(NAMES), [piece])
    kept = np.setdiff1d(np.arange(len(truth)), piece)
    features, of_kept = SentenceFeatures.fit([*TEXTS, *NAMES], None, few=True)
    model, _ = Machine(of_kept.take(kept), 0).learnt(truth[kept], tuple(NAMES), [np.array([0])])
    assert judged.scores == pytest.approx(model.scores(features.transform([TEXTS[row] for row in piece])), abs=1e-4)


def test_each_sentence_of_few_is_judged_once_and_of_many_some() -> None:
    assert sorted(np.concatenate(_pieces(numbered(100), 0)).tolist()) == list(range(100))
    assert sum(map(len, _pieces(numbered(400), 0))) >= 150
    assert [len(piece) for piece in _pieces(numbered(1500), 0)] == [300]
    assert all(len(piece) for piece in _pieces(numbered(2), 0))


def numbered(count: int) -> list[str]:
    return [f"sentence {number}" for number in range(count)]


def test_a_sentence_more_moves_hardly_any_other_to_another_piece() -> None:
    texts = numbered(120)
    before = [{texts[row] for row in piece} for piece in _pieces(texts, 0)]
    more = [*texts[:50], "one more", *texts[50:]]
    after = [{more[row] for row in piece} for piece in _pieces(more, 0)]
    assert all(len(left ^ right) <= 4 for left, right in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("intent", "words"),
    [
        ("order_pizza", "order pizza"),
        ("OrderPizza", "order pizza"),
        ("faq/opening-hours", "faq opening hours"),
        ("ask+price2", "ask price2"),
        ("größe", "größe"),
        ("___", ""),
    ],
)
def test_names_become_sentences(intent: str, words: str) -> None:
    assert in_words(intent) == words


def test_a_name_says_what_its_sentences_do_not() -> None:
    texts = ["is it open", "are you there", "what do I pay", "how much is it", "by car or bus", "which way"]
    labels = ["opening_hours", "opening_hours", "price", "price", "directions", "directions"]
    model = IntentModel.train(texts, labels, seed=0)
    asked = ["hours?", "the price", "directions please"]
    best = [model.names[column] for column in model.confidences(asked).argmax(axis=1)]
    assert best == ["opening_hours", "price", "directions"]


@pytest.mark.parametrize(
    ("labels", "few"),
    [
        (["a", "b"] * 2, True),
        (["a", "b"] * (MOST_SENTENCES // 2), True),
        (["a", "b"] * (MOST_SENTENCES // 2 + 1), False),
        (["a"] * 9, False),
        (["a", "b", "b", "c"], False),
    ],
)
def test_it_is_for_few_sentences_and_several_of_each_intent(labels: list[str], few: bool) -> None:
    assert suits(labels) == few


@pytest.mark.parametrize(("times", "asked"), [(1, True), (MOST_SENTENCES // len(TEXTS) + 1, False)])
def test_only_few_sentences_are_shown_to_a_second_classifier(times: int, asked: bool) -> None:
    model = IntentModel.train(TEXTS * times, LABELS * times, seed=0)
    assert (model.second is not None) == asked


def test_up_to_half_regressions_see_all_sentences_and_the_names() -> None:
    labels = ["a", "b"] * (MOST_SENTENCES // 4)
    seen = seen_by_regressions(numbered(len(labels)), labels, 0)
    assert seen.tolist() == list(range(MOST_SENTENCES // 2 + 2))


@pytest.mark.parametrize("missing", [700, 300, 20])
def test_then_as_many_as_are_missing_to_the_most_of_each_intent_as_far_as_it_has_them(missing: int) -> None:
    labels = (["rare"] * 5 + ["often"] * MOST_SENTENCES)[: MOST_SENTENCES - missing]
    texts = numbered(len(labels))
    seen = seen_by_regressions(texts, labels, 0)
    assert len(seen) == len(set(seen.tolist())) == missing + 2
    chosen = [labels[row] for row in seen[:-2]]
    assert chosen.count("rare") == 5
    assert seen[-2:].tolist() == [len(labels), len(labels) + 1]
    assert (seen == seen_by_regressions(texts, labels, 0)).all()


def test_a_view_learns_from_what_it_sees() -> None:
    _, rows = SentenceFeatures.fit([*TEXTS, *NAMES], None, few=True)
    truth = np.append(TRUTH, np.arange(len(NAMES)))
    seen = np.array([0, 1, 2, 5, 6, 9, 10, 13, 14, 15])
    _, alone = SentenceFeatures.fit([*TEXTS, *NAMES], None, few=True)
    of_part, _ = regression_of_counts(alone.take(seen), np.arange(len(seen))).learnt(
        truth[seen], tuple(NAMES), [np.array([0])]
    )
    of_seen, _ = regression_of_counts(rows, seen).learnt(truth, tuple(NAMES), [np.array([0])])
    assert of_seen.weights == pytest.approx(of_part.weights, abs=1e-5)
    assert of_seen.intercepts == pytest.approx(of_part.intercepts, abs=1e-5)


def test_labels_that_are_combinations_are_not() -> None:
    labels = ["ask+card", "ask"] * 6
    assert IntentModel.train(TEXTS[:12], labels, seed=0, split=LabelSplit("+")).linear.composition is not None


def test_it_is_kept_in_a_model() -> None:
    model = IntentModel.train(TEXTS, LABELS, seed=0)
    writer = MemberWriter()
    model.save(writer)
    again = IntentModel.load(MemberReader(writer.members))
    assert (again.confidences(["my card", "hi"]) == model.confidences(["my card", "hi"])).all()
    assert (model.confidences(["my card", "hi"]).sum(axis=1) <= 1 + 1e-9).all()


def test_sentences_whose_intents_names_say_nothing_train_too() -> None:
    model = IntentModel.train([*TEXTS, "!!", "??"], [*LABELS, "___", "___"], seed=0)
    assert np.isfinite(model.confidences(["hello", "", "!!"])).all()
