"""The metrics against scikit-learn, and where they are undefined."""

from __future__ import annotations

import doctest
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, classification_report

from turncheck.evaluations.nlu import predictions as understood
from turncheck.evaluations.nlu import scores
from turncheck.evaluations.nlu.predictions import Judgement, score_understood
from turncheck.evaluations.nlu.scores import (
    EntityCase,
    expected_calibration_error,
    score_extractors,
    score_pairs,
    score_spans,
    spread,
)
from turncheck.report import understanding as tags
from turncheck.report.entities import overlapping
from turncheck.report.model import EntitySpan

LABELS = st.sampled_from(["a", "b", "c", "no_entity", "z"])
PAIRS = st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40)


@pytest.mark.parametrize("module", [scores, understood, tags], ids=lambda module: module.__name__)
def test_the_examples_in_the_docstrings_hold(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.slow
@given(PAIRS, st.sampled_from([None, "no_entity"]))
def test_a_report_equals_that_of_scikit_learn(pairs: list[tuple[str, str]], excluded: str | None) -> None:
    ours = score_pairs(Counter(pairs), excluded=excluded)
    expected = [target for target, _ in pairs]
    predicted = [label for _, label in pairs]
    labels = sorted(set(expected) - {excluded})
    if not labels:
        assert ours.report == {}
        return
    theirs = classification_report(expected, predicted, labels=labels, output_dict=True, zero_division=0.0)
    for name, row in theirs.items():
        if name == "accuracy":
            continue
        for figure, value in row.items():
            assert ours.report[name][figure] == pytest.approx(value, abs=1e-12)
    assert ours.report["accuracy"] == pytest.approx(accuracy_score(expected, predicted))
    micro_comes_last = list(ours.report)[-1] == "micro avg"
    assert micro_comes_last == ("accuracy" in theirs)


@given(PAIRS)
def test_confused_with_names_only_wrong_labels_with_their_counts(pairs: list[tuple[str, str]]) -> None:
    report = score_pairs(Counter(pairs)).report
    for label, row in report.items():
        if isinstance(row, dict) and "confused_with" in row:
            assert len(row["confused_with"]) <= 3
            for other, count in row["confused_with"].items():
                assert other != label
                assert count == pairs.count((label, other))


def test_a_label_with_a_large_diagonal_shows_the_two_largest_confusions() -> None:
    pairs = Counter({("a", "a"): 9, ("a", "b"): 3, ("a", "c"): 2, ("a", "d"): 1, ("b", "b"): 1})
    assert score_pairs(pairs).report["a"]["confused_with"] == {"b": 3, "c": 2}


def test_no_label_at_all_is_an_empty_report_and_zeros() -> None:
    nothing = score_pairs(Counter())
    assert (nothing.report, nothing.f1, nothing.accuracy) == ({}, 0.0, 0.0)


def test_the_spread_is_the_population_deviation_that_rasa_prints() -> None:
    assert spread([1.0, 0.5]).deviation == 0.25


def span(start: int, end: int, entity: str, *, value: str = "x", extractor: str | None = None) -> EntitySpan:
    return EntitySpan(start=start, end=end, entity=entity, value=value, extractor=extractor)


def test_a_span_counts_only_with_its_exact_borders_and_type() -> None:
    wanted = (span(0, 4, "city"), span(5, 9, "city"))
    found = (span(0, 4, "city"), span(5, 8, "city"), span(5, 9, "state"))
    figures = score_spans([EntityCase((), wanted, found)])
    assert (figures.precision, figures.recall) == (1 / 3, 1 / 2)


def test_two_extractors_that_find_the_same_are_one_finding() -> None:
    wanted = (span(0, 4, "city"),)
    found = (span(0, 4, "city", extractor="A"), span(0, 4, "city", extractor="B"))
    assert score_spans([EntityCase((), wanted, found)]).precision == 1.0
    assert overlapping(found) == []
    grouped = EntitySpan(start=0, end=4, entity="city", value="x", group="1", extractor="A")
    assert overlapping([grouped, span(0, 4, "city", extractor="B")]) == []


def test_real_overlaps_are_found_and_neighbours_are_none() -> None:
    one, other, apart = span(0, 8, "city"), span(4, 8, "state"), span(8, 10, "zip")
    assert overlapping([apart, other, one]) == [(one, other)]


def test_nothing_found_and_nothing_expected_are_zeros() -> None:
    assert score_spans([EntityCase((), (), ())]).f1 == 0.0


def judgements(rows: list[tuple[bool, float]]) -> list[Judgement]:
    return [Judgement(correct, confidence, confidence, False) for correct, confidence in rows]


def test_a_fold_without_anything_to_find_has_no_part_in_the_mean_of_folds() -> None:
    rome = span(0, 4, "city", value="Rome")
    found = EntityCase(((0, 4),), (rome,), (span(0, 4, "city", value="Rome", extractor="Crf"),), fold=0)
    missed = EntityCase(((0, 4),), (rome,), (), fold=1)
    silent = EntityCase(((0, 4),), (), (), fold=2)
    invented = EntityCase(((0, 4),), (), found.predicted, fold=3)

    def mean(*cases: EntityCase) -> float:
        return score_extractors(cases, ["Crf"])["Crf"].folds["f1"].mean

    assert mean(found, missed, silent) == mean(found, missed) == 0.5
    assert mean(found, invented) == 0.5


def test_the_curve_trades_coverage_for_precision() -> None:
    figures = score_understood(
        judgements([(True, 0.9), (True, 0.8), (False, 0.3), (True, 0.2)]), threshold=None, ambiguity_threshold=None
    )
    by_threshold = {point.threshold: point for point in figures.curve}
    assert (by_threshold[0.0].coverage, by_threshold[0.0].precision) == (1.0, 0.75)
    assert (by_threshold[0.5].coverage, by_threshold[0.5].precision) == (0.5, 1.0)
    assert max(by_threshold) == 0.9


def test_the_suggested_threshold_has_the_most_right_minus_wrong_answers_and_is_the_lowest_of_those() -> None:
    figures = score_understood(
        judgements([(True, 0.9), (True, 0.55), (False, 0.3), (False, 0.31)]), threshold=0.3, ambiguity_threshold=None
    )
    assert figures.suggested is not None
    assert figures.suggested.threshold == 0.32
    assert (figures.wrong_avoided, figures.right_lost) == (2, 0)


def test_after_the_fallback_a_sentence_is_right_wrong_or_not_understood() -> None:
    rows = [Judgement(True, 0.9, 0.8, False), Judgement(False, 0.9, 0.8, False), Judgement(True, 0.2, 0.1, True)]
    figures = score_understood(rows, threshold=0.3, ambiguity_threshold=0.1)
    assert (figures.right, figures.wrong, figures.not_understood) == (1, 1, 1)


def test_two_near_intents_fall_back_whatever_the_threshold() -> None:
    rows = [Judgement(True, 0.5, 0.05, True), Judgement(True, 0.5, 0.2, False)]
    assert score_understood(rows, threshold=0.3, ambiguity_threshold=0.1).curve[0].coverage == 0.5


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=50))
def test_the_calibration_error_lies_between_zero_and_one(rows: list[tuple[bool, float]]) -> None:
    error = expected_calibration_error([(sure, right) for right, sure in rows])
    assert error is not None
    assert -1e-9 <= error <= 1 + 1e-9


def test_without_sentences_there_is_no_calibration_error() -> None:
    assert expected_calibration_error([]) is None
