"""Batch suites: classes, values, numbers, held against the recorded assertions."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from timing import Timing

from turncheck.engines.base import Capabilities, UtteranceAnswer
from turncheck.engines.conversation import Parse, PredictedIntent
from turncheck.evaluations.batch.judging import (
    as_composite,
    classify,
    flatten,
    how_it_fits,
    is_intent,
    judged_case,
    shown_value,
)
from turncheck.evaluations.batch.suites import answer_of, intents_of, kinds_of
from turncheck.messages.finding import Location
from turncheck.project.batch.model import ExpectedEntity, KnownIntent, KnownNames, SuiteCase, comparable
from turncheck.report.batch import BatchCase, BatchNumbers, harmonic, numbers_of

SCORING: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "oracle" / "kore" / "scoring.json").read_text(encoding="utf-8")
)


def platform_numbers(numbers: BatchNumbers) -> dict[str, Any]:
    """Return the numbers as the platform's API writes them: two decimals, half up, F1 from the rounded two."""
    precision, recall = _rounded(numbers.precision), _rounded(numbers.recall)
    counts, right = numbers.counts, numbers.counts.tp + numbers.counts.tn
    return {
        "precision": f"{precision:.2f}",
        "recall": f"{recall:.2f}",
        "f1_score": f"{_rounded(harmonic(precision, recall)):.2f}",
        "results": {
            "TP": counts.tp,
            "TN": counts.tn,
            "FP": counts.fp,
            "FN": counts.fn,
            "success": right,
            "failure": counts.fp + counts.fn + numbers.not_evaluated,
            "totalEntitiesCount": numbers.entities,
            "matchedEntitiesCount": numbers.matched_entities,
            "failedUtteranceCount": numbers.not_evaluated,
        },
    }


def _rounded(value: float) -> float:
    """As JavaScript's ``Math.round(x * 100) / 100``."""
    return math.floor(value * 100 + 0.5) / 100


def judged(assertion: dict[str, Any]) -> BatchCase:
    entities = tuple(ExpectedEntity(one["name"], tuple(one["expected"])) for one in assertion["entities"])
    case = SuiteCase(
        f"utterance {assertion['id']}",
        tuple(assertion["expected"]),
        is_trait=assertion["kind"] == "trait",
        entities=entities,
        location=Location("a.json", 1, 1),
    )
    matched = tuple(assertion["matched"] or ())
    answer = UtteranceAnswer(
        matched=() if case.is_trait else matched,
        traits=matched if case.is_trait else (),
        entities={one["name"]: one["actual"] for one in assertion["entities"]},
        error=assertion.get("error"),
    )
    told = {comparable(name): KnownIntent(name, assertion["kind"]) for name in (*case.intents[:1], *matched)}
    return judged_case(case, answer, KnownNames(intents=told))


@pytest.mark.parametrize("assertion", SCORING["assertions"], ids=lambda one: str(one["id"]))
def test_an_assertion_is_judged_as_expected(assertion: dict[str, Any]) -> None:
    case = judged(assertion)
    assert case.kind == assertion["kind"]
    assert case.result == assertion["class"]
    assert case.passed == assertion["passed"]
    for entity, expected in zip(case.entities, assertion["entities"], strict=True):
        assert (entity.matched, entity.passed) == (expected["flat"], expected["passed"])


def test_what_the_project_knows_as_a_trait_alone_is_judged_as_one() -> None:
    known = KnownNames(
        intents={"order tea": KnownIntent("Order Tea", "dialog")},
        traits={name: KnownIntent(name.title(), "trait") for name in ("urgent", "angry")},
    )
    answer = UtteranceAnswer(matched=("Order Tea",), traits=("Urgent", "Angry"))
    wanted = {("Urgent",): "tp", ("Urgent", "Angry"): "tp", ("Order Tea",): "tp", ("Order Tea", "Urgent"): "tp"}
    for intents, result in wanted.items():
        case = judged_case(SuiteCase("x", intents), answer, known)
        assert (case.result, case.kind) == (result, "dialog" if "Order Tea" in intents else "trait")
    only_one = UtteranceAnswer(traits=("Angry",))
    assert judged_case(SuiteCase("x", ("Urgent", "Angry")), only_one, known).result == "tp"
    assert judged_case(SuiteCase("x", ("Urgent",)), only_one, known).result == "fp"
    assert judged_case(SuiteCase("x", ("Urgent", "Angry"), is_trait=True), only_one, known).result == "fp"


def agrees(numbers: BatchNumbers, expected: dict[str, Any]) -> None:
    counts = numbers.counts
    assert {"tp": counts.tp, "tn": counts.tn, "fp": counts.fp, "fn": counts.fn} == expected["counts"]
    for key in ("not_evaluated", "passed", "failed"):
        assert getattr(numbers, key) == expected[key]
    for key in ("precision", "recall", "f1", "accuracy", "intent_success", "entity_success"):
        assert getattr(numbers, key) == pytest.approx(expected[key], abs=1e-9)
    assert platform_numbers(numbers) == expected["platform"]


@pytest.mark.parametrize("group", SCORING["groups"])
def test_a_suites_numbers_are_as_expected(group: str) -> None:
    cases = [judged(one) for one in SCORING["assertions"] if one["group"] == group]
    expected = SCORING["groups"][group]
    agrees(BatchNumbers(**numbers_of(cases)), expected)
    kinds = kinds_of(cases)
    assert kinds.keys() == expected["kinds"].keys()
    for kind, numbers in kinds.items():
        agrees(numbers, expected["kinds"][kind])


@pytest.mark.parametrize(
    ("expected", "scored"),
    [((), "abc"), (("a",), "abc"), (("E",), "abce"), (("d", "f"), "abcdf"), (("not there",), "abc")],
)
def test_the_best_intents_have_scores_and_each_that_is_expected(expected: tuple[str, ...], scored: str) -> None:
    ranking = tuple(PredictedIntent(name, 0.5 - place / 10) for place, name in enumerate("abcdef"))
    answer = answer_of(SuiteCase("x", expected), Parse("x", ranking[0], ranking), Capabilities())
    assert list(answer.scores) == list(scored)


def test_the_usual_scores_count_a_wrong_match_for_both_intents() -> None:
    cases = [judged(one) for one in SCORING["assertions"] if one["group"] == "one_third"]
    scores = intents_of(cases)
    assert (scores["Order Tea"].precision, scores["Order Tea"].recall, scores["Order Tea"].support) == (0.5, 1 / 3, 3)
    assert (scores["Cancel Order"].precision, scores["Cancel Order"].recall) == (0.0, 0.0)


def test_entities_with_the_right_intent_alone_are_a_number_of_their_own() -> None:
    cases = [judged(one) for one in SCORING["assertions"] if one["group"] == "entities"]
    numbers = BatchNumbers(**numbers_of(cases))
    assert (numbers.matched_entities, numbers.entities) == (9, 13)
    assert numbers.entity_success_of_right_intents == pytest.approx(9 / 12)


@pytest.mark.follows(
    page="kore-batch",
    sentence="Entity values are flattened to a string, with the keys of each type in a fixed order.",
)
@pytest.mark.parametrize(
    ("value", "flat"),
    [
        (None, None),
        ([], None),
        ("", None),
        (True, "true"),
        (0.25, "0.25"),
        (1e300, "1e+300"),
        (["a", None, "b"], "a||b"),
        ({"toDate": "b", "fromDate": "a"}, "a b"),
        ({"lng": 2, "lat": 1.5}, "1.5 2"),
        ({"shortName": "India", "alpha2": "IN", "alpha3": "IND"}, "IN IND India"),
        ({"City": "X", "IATA": "IAD", "AirportName": "Dulles"}, "Dulles IAD X"),
        ({"z": 1, "a": {"b": 2}}, "1 2"),
        ([{"code": "USD", "amount": 10}], "10 USD"),
        ({"source": "10 miles", "type": "length", "unit": "meter", "amount": 16093.4}, "16093.4 meter length 10 miles"),
        ({"lat": 28.4, "lng": -81.4, "formatted_address": "8529 Park"}, "8529 Park 28.4 -81.4"),
        (
            {"localName": "d", "shortName": "e", "numericalCode": 356, "alpha3": "b", "alpha2": "a"},
            "a b 356 d e",
        ),
        (
            {
                "CityLocal": "g",
                "City": "f",
                "Longitude": 5,
                "Latitude": 4,
                "ICAO": "c",
                "IATA": "b",
                "AirportName": "a",
            },
            "a b c 4 5 f g",
        ),
    ],
)
def test_values_are_flattened_as_the_manual_says(value: Any, flat: str | None) -> None:
    assert flatten(value) == flat


@pytest.mark.parametrize(
    ("expected", "found", "way"),
    [
        ("green||black", "green", None),
        ("green||black", "", None),
        ("Lyon|Lille", "Lille", "pattern"),
        ("200 USD", "200 USDx", None),
        ("a.c", "abc", "pattern"),
        ("A:1|B:2", "B:2|A:1", "components in another order"),
        ("A:1|B:2", "A:1", None),
        ("+91", "+91", "equal"),
        ("+91", "91", None),
        ("x", None, None),
    ],
)
def test_a_value_fits_in_one_of_four_ways(expected: str, found: str | None, way: str | None) -> None:
    assert how_it_fits(expected, found) == way


def test_a_value_of_an_unknown_type_is_told(golden: Golden) -> None:
    case = SuiteCase("x", ("A",), entities=(ExpectedEntity("Odd", ("1 2",)),))
    answer = UtteranceAnswer(matched=("A",), entities={"odd": [{"z": 1, "a": 2}]})
    found = judged_case(case, answer, KnownNames())
    assert found.passed
    golden(found.reason)


def test_a_pattern_that_never_ends_and_one_that_is_huge_are_cut_short(timing: Timing) -> None:
    with timing.at_most(5, time.monotonic):
        assert how_it_fits("(a|aa|a?)+$b", "a" * 60) is None
        assert how_it_fits("(a+)+b", "a" * 3000) is None
        assert how_it_fits("a" * 600 + "?", "a" * 600) is None


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_pattern_and_any_value_are_compared(expected: str, found: str) -> None:
    way = how_it_fits(expected, found)
    assert way == "equal" if expected.strip() == found else way in {None, "pattern"} or "|" in expected


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_any_value_is_flattened(value: Any) -> None:
    flat = flatten(value)
    assert flat is None or flat


def test_what_engines_say_for_none_is_no_intent() -> None:
    assert not any(map(is_intent, (None, "", "None", "Default Fallback Intent", "nlu_fallback")))
    assert is_intent("none of these")
    assert classify("dialog", ("A",), ()) == "fn"


TRIP = {"City": "Oslo", "Day": "2026-01-31", "Price": {"code": "NOK", "amount": 10}}


@pytest.mark.parametrize("value", [TRIP, [TRIP], [{name: value} for name, value in TRIP.items()]])
@pytest.mark.parametrize(
    ("expected", "way"),
    [
        ("City:Oslo|Day:2026-01-31|Price:10 NOK", "equal"),
        ("Price:10 NOK|City:Oslo|Day:2026-01-31", "components in another order"),
        ("City:Bergen|Day:2026-01-31|Price:10 NOK", None),
        ("Day:Oslo|City:2026-01-31|Price:10 NOK", None),
        ("City:Oslo|Day:2026-01-31", None),
    ],
)
def test_a_composite_value_keeps_the_names_of_its_components(value: Any, expected: str, way: str | None) -> None:
    case = SuiteCase("x", ("A",), entities=(ExpectedEntity("Trip", (expected,)),))
    found = judged_case(case, UtteranceAnswer(matched=("A",), entities={"Trip": value}), KnownNames())
    (entity,) = found.entities
    assert (entity.matched, entity.way) == ("City:Oslo|Day:2026-01-31|Price:10 NOK", way)
    assert found.passed == (way is not None)
    assert found.reason is None


def test_two_composite_values_of_one_entity_are_two_items() -> None:
    assert as_composite([{"City": "Oslo"}, {"City": "Bergen"}]) is None
    assert shown_value([{"City": "Oslo", "Day": None}]) == "City:Oslo"
    assert shown_value({"amount": 2, "unit": "kg"}) == "2 kg"


@pytest.mark.follows(
    page="kore-batch",
    sentence=(
        "The actual order of entities: as given; if none is given, that of the system (entities that are "
        "learned or found by a pattern first); if some are, both combined."
    ),
)
@pytest.mark.parametrize(
    ("given", "extracted", "expected", "assumed"),
    [
        ((), None, ("Draught", "Pier", "Ship", "Day"), True),
        (("Day",), None, ("Day", "Draught", "Pier", "Ship"), True),
        (("Ship", "Day", "Pier", "Draught"), None, ("Ship", "Day", "Pier", "Draught"), True),
        ((), ("Ship", "Pier"), ("Ship", "Pier"), False),
    ],
)
def test_the_order_of_entities_is_the_engines_or_that_of_the_platforms_rule(
    given: tuple[str, ...], extracted: tuple[str, ...] | None, expected: tuple[str, ...], assumed: bool
) -> None:
    names = KnownNames(extracted_first=frozenset({"pier", "draught"}))
    entities = tuple(ExpectedEntity(name, ("x",)) for name in ("Ship", "Draught", "Day", "Pier"))
    case = SuiteCase("moor it", ("Moor",), entities=entities, order=given)
    order = judged_case(case, UtteranceAnswer(matched=("Moor",), order=extracted), names).order
    assert order is not None
    assert (order.actual, order.assumed) == (expected, assumed)
    assert judged_case(case, UtteranceAnswer(error="no answer"), names).passed is False
