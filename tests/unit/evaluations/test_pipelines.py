"""The plan of a comparison, and what its scores say."""

from __future__ import annotations

from collections import Counter

import pytest

from turncheck.evaluations.nlu.splits import RunPlan, Score, advise, plan_runs
from turncheck.project.nlu_data import Example

EXAMPLES = [Example(f"{intent} {number}", intent) for intent in ("a", "b") for number in range(20)]


@pytest.mark.follows(
    page="rasa-1", sentence="The data are split, and a share of the training data is left out for each percentage."
)
@pytest.mark.follows(
    page="rasa-3", sentence="A comparison splits off 20 % for testing, and leaves out a percentage of the rest."
)
def test_each_run_trains_on_four_fifths_and_leaves_out_a_share_of_each_intent() -> None:
    plans = plan_runs([*EXAMPLES, Example("odd", "rare")], {}, runs=2, percentages=(0, 50), seed=5)
    assert [plan.seed for plan in plans] == [5, 6]
    for plan in plans:
        assert Counter(example.intent for example in plan.test) == {"a": 4, "b": 4}
        assert Counter(example.intent for example in plan.included[0]) == {"a": 16, "b": 16}
        assert Counter(example.intent for example in plan.included[50]) == {"a": 8, "b": 8}
        assert not {one.text for one in plan.test} & {one.text for one in plan.included[0]}
        assert {one.text for one in plan.included[50]} < {one.text for one in plan.included[0]}
    assert plans[0].test != plans[1].test


def plan(number: int, sizes: dict[int, int]) -> RunPlan:
    test = tuple(EXAMPLES[:10])
    return RunPlan(number, number, test, {share: tuple(EXAMPLES[:size]) for share, size in sizes.items()})


def score(pipeline: str, percentage: int, right: int, *, run: int = 1) -> Score:
    return Score(pipeline, run, percentage, right / 10, tuple(place < right for place in range(10)))


def test_a_clear_lead_is_no_noise_and_a_small_one_is() -> None:
    clear = advise([plan(1, {0: 40})], [score("good", 0, 9), score("bad", 0, 1)])
    assert (clear.pipelines, clear.better, clear.worse, clear.is_noise) == (("good", "bad"), 8, 0, False)
    small = advise([plan(1, {0: 40})], [score("good", 0, 9), score("bad", 0, 8)])
    assert small.is_noise


def test_a_sentence_that_is_tested_in_several_runs_votes_once() -> None:
    plans = [plan(1, {0: 40}), plan(2, {0: 40})]
    scores = [score(name, 0, right, run=run) for run in (1, 2) for name, right in (("good", 9), ("bad", 5))]
    assert advise(plans, scores).better == 4


def test_one_pipeline_has_nobody_to_be_compared_with() -> None:
    alone = advise([plan(1, {0: 40})], [score("only", 0, 9)])
    assert alone.p_value is None
    assert not alone.is_noise


def test_the_slope_is_the_gain_for_twice_the_data() -> None:
    plans = [plan(run, {0: 40, 50: 20, 75: 10}) for run in (1, 2)]
    scores = [score("one", share, right, run=run) for run in (1, 2) for share, right in ((0, 8), (50, 7), (75, 6))]
    curve = advise(plans, scores).curves["one"]
    assert curve is not None
    assert curve.slope == pytest.approx(0.1)
    assert curve.low == pytest.approx(0.1)


def test_with_one_size_there_is_no_slope() -> None:
    assert advise([plan(1, {0: 40})], [score("one", 0, 8)]).curves["one"] is None


def test_a_pipeline_that_could_not_be_trained_comes_last_and_has_no_slope() -> None:
    failed = Score("broken", 1, 0, 0.0, (), "no")
    told = advise([plan(1, {0: 40})], [failed, score("good", 0, 9)])
    assert told.pipelines == ("good", "broken")
    assert told.curves["broken"] is None
    assert (told.second, told.p_value, told.failed) == (None, None, {"broken": "no"})
    three = advise([plan(1, {0: 40})], [failed, score("good", 0, 9), score("poor", 0, 1)])
    assert three.second == "poor"
    assert advise([plan(1, {0: 40})], [failed]).failed == {"broken": "no"}
    once = [failed, score("broken", 0, 9, run=2), score("good", 0, 9), score("good", 0, 9, run=2)]
    assert advise([plan(1, {0: 40}), plan(2, {0: 40})], once).failed == {}
