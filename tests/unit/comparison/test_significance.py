"""Differences that chance explains are told from those it does not."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from timing import Timing

from turncheck.comparison import resampling
from turncheck.comparison.paired import PairedLabel, mcnemar_exact
from turncheck.comparison.resampling import paired_calibration, paired_scores
from turncheck.evaluations.nlu.scores import expected_calibration_error
from turncheck.report.understanding import calibration_bin


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_exact_test_is_the_binomial_test(wrong: int, right: int) -> None:
    expected = binomtest(wrong, wrong + right).pvalue if wrong + right else 1.0

    assert mcnemar_exact(wrong, right) == pytest.approx(expected, rel=1e-9)


def test_the_exact_test_takes_any_number_of_changes() -> None:
    assert mcnemar_exact(0, 20_000) == 0.0
    assert mcnemar_exact(10_000, 10_001) == pytest.approx(1.0, abs=0.01)


def one_each(triples: list[tuple[str, str, str]]) -> list[tuple[PairedLabel]]:
    return [(PairedLabel(*triple),) for triple in triples]


def some_triples(number: int, seed: int = 3) -> list[tuple[str, str, str]]:
    chance = random.Random(seed)
    labels = [f"intent {i}" for i in range(12)]
    triples = []
    for _ in range(number):
        expected = chance.choice(labels)
        before = expected if chance.random() < 0.8 else chance.choice(labels)
        after = before if chance.random() < 0.9 else chance.choice(labels)
        triples.append((expected, before, after))
    return triples


def test_scores_of_both_sides_are_scikit_learns() -> None:
    triples = some_triples(500)

    scores = paired_scores(one_each(triples), seed=1)

    assert scores is not None
    expected, before, after = zip(*triples, strict=True)
    for side, attribute in ((before, "before"), (after, "after")):
        weighted = precision_recall_fscore_support(expected, side, average="weighted", zero_division=0)
        each = precision_recall_fscore_support(expected, side, labels=["intent 3"], average=None, zero_division=0)
        for i, name in enumerate(("precision", "recall", "f1")):
            assert getattr(scores.overall[name], attribute) == pytest.approx(weighted[i])
            assert getattr(scores.labels["intent 3"][name], attribute) == pytest.approx(each[i][0])
    assert scores.overall["recall"].after == pytest.approx(accuracy_score(expected, after))


@pytest.mark.slow
def test_the_interval_is_that_of_resampling_sentence_by_sentence() -> None:
    triples = some_triples(300)
    scores = paired_scores(one_each(triples), seed=1)
    assert scores is not None

    chance = np.random.default_rng(5)
    table = np.array(triples)
    differences = []
    for _ in range(300):
        expected, before, after = table[chance.integers(0, len(table), len(table))].T
        one, other = (
            precision_recall_fscore_support(expected, side, average="weighted", zero_division=0)[2]
            for side in (before, after)
        )
        differences.append(other - one)
    low, high = np.quantile(differences, [0.025, 0.975])

    f1 = scores.overall["f1"]
    assert f1.low == pytest.approx(low, abs=0.006)
    assert f1.high == pytest.approx(high, abs=0.006)


def test_order_does_not_matter_and_the_seed_decides() -> None:
    triples = some_triples(200)
    mixed = triples[::-1]

    assert paired_scores(one_each(triples), seed=1) == paired_scores(one_each(mixed), seed=1)
    assert paired_scores(one_each(triples), seed=1) != paired_scores(one_each(triples), seed=2)


def changed_sides(wrong: int, right: int, of: int = 1000) -> list[tuple[PairedLabel]]:
    triples = []
    for i in range(of):
        label, other = f"intent {i % 10}", f"intent {(i + 1) % 10}"
        before = other if wrong <= i < wrong + right else label
        triples.append((label, before, other if i < wrong else label))
    return one_each(triples)


@pytest.mark.parametrize(
    ("wrong", "right", "real"),
    [
        *[(12, 12, False), (40, 5, True), (5, 40, True), (0, 0, False), (3, 0, False), (5, 0, False), (6, 0, True)],
        *[(9, 2, False), (14, 5, False), (15, 5, True)],
    ],
)
def test_which_changes_of_sides_are_real(wrong: int, right: int, *, real: bool) -> None:
    scores = paired_scores(changed_sides(wrong, right), seed=42)

    assert scores is not None
    assert scores.overall["f1"].real is real
    assert scores.overall["f1"].changed == wrong + right
    assert (mcnemar_exact(wrong, right) < 0.05) is real


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_the_level_says() -> None:
    alarms = 0
    for seed in range(200):
        chance = random.Random(seed)
        triples = []
        for i in range(300):
            label, other = f"intent {i % 5}", f"intent {(i + 1) % 5}"
            triples.append(
                (label, other if chance.random() < 0.1 else label, other if chance.random() < 0.1 else label)
            )
        scores = paired_scores(one_each(triples), seed=42)
        assert scores is not None
        alarms += scores.overall["f1"].real

    assert alarms <= 20


def test_nothing_expected_is_nothing_to_score() -> None:
    assert paired_scores([], seed=1) is None
    assert paired_scores([(PairedLabel(None, "city", None),)], seed=1) is None


def test_words_of_a_sentence_are_drawn_together() -> None:
    sentence = (PairedLabel("city", "city", None), PairedLabel(None, None, "date"))

    scores = paired_scores([sentence] * 30 + [(PairedLabel("city", "city", "city"),)] * 30, seed=1)

    assert scores is not None
    city = scores.labels["city"]["recall"]
    assert (city.before, city.after, city.changed) == (1.0, 0.5, 30)
    assert "date" not in scores.labels


@pytest.mark.parametrize("total", [1, 8, 60])
@pytest.mark.parametrize("at_once", [1, 200, 10**6])
def test_sentences_are_drawn_as_one_resample_after_the_other(
    total: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many resamples are in memory together, the interval is the same to the last bit."""
    monkeypatch.setattr(resampling, "_AT_ONCE", at_once)
    chance = random.Random(total)
    before, after = ([(chance.random(), chance.random() < 0.7) for _ in range(total)] for _ in range(2))
    drawn, differences = np.random.RandomState(5), []
    for _ in range(resampling.RESAMPLES):
        weights = np.bincount(drawn.randint(total, size=total), minlength=total)
        old, new = (
            np.abs(np.bincount([calibration_bin(sure) for sure, _ in side], [r - sure for sure, r in side] * weights))
            for side in (before, after)
        )
        differences.append(new.sum() / total - old.sum() / total)

    compared = paired_calibration(before, after, seed=5)

    assert [compared.low, compared.high] == np.quantile(differences, [0.025, 0.975]).tolist()


def test_the_calibration_error_of_both_sides_is_the_one_of_the_report() -> None:
    chance = random.Random(4)
    before = [(sure, chance.random() < sure) for sure in [chance.random() for _ in range(300)]]
    after = [(chance.random() ** 3, right) for _, right in before]

    compared = paired_calibration(before, after, seed=1)

    for side, error in ((before, compared.before), (after, compared.after)):
        assert error == pytest.approx(expected_calibration_error(side))
    assert compared.low < compared.after - compared.before < compared.high
    assert compared.real
    assert paired_calibration(before, before, seed=1).real is False


@pytest.mark.bench
def test_ten_thousand_examples_of_77_intents_take_little_time(timing: Timing) -> None:
    chance = random.Random(1)
    labels = [f"intent {i}" for i in range(77)]
    triples = []
    for _ in range(10_000):
        expected = chance.choice(labels)
        triples.append(
            (expected, chance.choice([expected] * 8 + labels[:2]), chance.choice([expected] * 8 + labels[:2]))
        )

    with timing.at_most(3):
        paired_scores(one_each(triples), seed=1)


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=60),
    st.sampled_from([0.0, 0.025, 0.5, 0.975, 1.0]) | st.floats(0.0, 1.0),
)
def test_a_quantile_is_numpys(numbers: list[float], share: float) -> None:
    ordered = np.sort(np.array(numbers))
    assert resampling.quantile(ordered, share) == np.quantile(ordered, share)


def test_the_same_sentences_are_resampled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    sums = resampling._resampled_sums

    def counted(cells: object, counts: object, labels: object, seed: int) -> object:
        drawn.append(seed)
        return sums(cells, counts, labels, seed)  # type: ignore[arg-type]  # whatever it takes

    monkeypatch.setattr(resampling, "_resampled_sums", counted)
    resampling._scored.cache_clear()
    triples = some_triples(40)
    first = paired_scores(one_each(triples), seed=5)

    assert paired_scores(one_each(triples[::-1]), seed=5) == first
    assert drawn == [5]
    paired_scores(one_each(triples), seed=6)
    paired_scores(one_each(triples[1:]), seed=5)
    assert drawn == [5, 6, 5]
