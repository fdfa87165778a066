"""What turns of a bot over HTTP take: their figures, what a limit needs, and when a difference is more than chance."""

from __future__ import annotations

from math import comb

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from report_builder import report
from tools.simulate_turns import Situation, simulated

from turncheck.comparison import turns
from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import NotMeasured, find_metric, metrics_of
from turncheck.comparison.model import Present
from turncheck.comparison.rules import read_threshold
from turncheck.comparison.turns import permuted
from turncheck.evaluations.turns import LEAST_TURNS, P50, P95, interval_of, percentile_of
from turncheck.gates.rules import read_rules
from turncheck.gates.verdict import judge_gates
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.report.measured import MeasuredRun, MeasuredTurn
from turncheck.report.model import CaseResult, EndToEnd, GateSettings, HowRepeated, Report


def case(name: str, *runs: MeasuredRun) -> CaseResult:
    place = Location("tests/e2e_test_cases.yml", 1)
    return CaseResult(name=name, location=place, passed=True, outcome="passed", measured=runs)


def of(*cases: CaseResult) -> Report:
    how = HowRepeated(first=2, most=30, false_alarms=0.01)
    return replace(report(), e2e=EndToEnd(cases=cases, passed=len(cases), failed=0, repeats=how))


def run(*milliseconds: float, tokens: int | None = None, base: float | None = None) -> MeasuredRun:
    there = () if base is None else (MeasuredTurn(ms=base),)
    return MeasuredRun(turns=tuple(MeasuredTurn(ms=one, tokens_in=tokens) for one in milliseconds), base=there)


def values(of_report: Report) -> dict[str, float]:
    return {name: one.value for name, one in metrics_of(of_report).items() if one.kind == "amount"}


def test_figures_are_of_the_runs_that_every_case_gets() -> None:
    """How many more a case gets depends on whether it fails: with those, one that fails would count most."""
    measured = of(case("a", run(100, tokens=10), run(300, tokens=20), run(9000, tokens=900)), case("b", run(200)))

    assert values(measured) == {P50: 200, "tokens.in": 15}


def test_what_is_not_known_has_no_figure_and_a_reason(golden: Golden) -> None:
    nothing, some = of(case("a")), of(case("a", run(100), run(100)))
    for name in (P50, P95, "tokens.in", "tokens.out", "cost"):
        for one in (nothing, some):
            found = find_metric(one, metrics_of(one), name)
            golden(f"{name}: {found.reason if isinstance(found, NotMeasured) else found.value}")


@given(st.integers(1, 300), st.sampled_from([P50, P95]))
def test_the_interval_of_a_percentile_is_right_at_both_ends(number: int, name: str) -> None:
    """The lowest time that is not too low for it, and the highest: by how many times may be below it (binomial)."""
    times = [float(one) for one in range(number)]
    share = {P50: 0.5, P95: 0.95}[name]
    interval = interval_of(times, name)
    if interval is None:
        assert share**number > 0.05 or number < LEAST_TURNS[name]
        return
    low, high = interval

    def at_most(below: int) -> float:
        return sum(comb(number, one) * share**one * (1 - share) ** (number - one) for one in range(below + 1))

    found = percentile_of(times, name)
    assert found is not None
    assert low <= found <= high
    assert 1 - at_most(int(high)) <= 0.05  # so many or more are rarely below it
    assert low == 0 or at_most(int(low)) <= 0.05


def test_with_58_turns_nothing_is_said_of_the_slowest_twentieth() -> None:
    assert 0.95**58 > 0.05 > 0.95**59
    assert [percentile_of([1.0] * number, P95) for number in (58, 59)] == [None, 1.0]


@pytest.mark.parametrize(("slow", "outcome"), [(0, "passed"), (2, "not judged"), (9, "not judged"), (30, "failed")])
def test_a_limit_holds_if_so_few_turns_are_above_it_that_chance_does_not_explain_them(slow: int, outcome: str) -> None:
    measured = of(*(case(f"{one}", run(2000.0 if one < slow else 500.0)) for one in range(100)))

    gates = judge_gates(measured, None, GateSettings(thresholds=("turns.ms.p95 <= 1000",)))
    assert [gate.outcome for gate in gates if gate.metric == "turns.ms.p95"] == [outcome]


def test_pairs_that_differ_by_chance_are_alike_and_others_are_not() -> None:
    assert permuted([([1, 0], 1), ([0, 1], 1)] * 10, 1) == 1.0
    assert permuted([([1, 0], 1)] * 20, 1) < 0.001
    assert permuted([([13, 13, 10, 10], 2)] * 3, 1) < 0.02  # each way to divide them is as likely
    assert permuted([([10, 10], 1)] * 20, 1) == 1.0


def test_milliseconds_of_another_time_are_not_compared_and_tokens_are() -> None:
    before = [case(f"{one}", run(100, tokens=100), run(100, tokens=100)) for one in range(8)]
    now = [case(f"{one}", run(900, tokens=130), run(900, tokens=130)) for one in range(8)]

    tested = turns.tested_turns(zip(before, now, strict=True), 42)

    assert list(tested) == ["tokens.in"]
    assert tested["tokens.in"][3]


def test_turns_that_one_side_does_not_say_are_compared_with_nothing() -> None:
    """A bot that says only what its cheap turns took is no cheaper."""
    before = [case(f"{one}", run(100, 100, tokens=100)) for one in range(12)]
    silent = [
        case(f"{one}", MeasuredRun(turns=(MeasuredTurn(ms=100.0, tokens_in=100), MeasuredTurn(ms=100.0))))
        for one in range(12)
    ]

    base, value, significance, is_real = turns.tested_turns(zip(before, silent, strict=True), 42)["tokens.in"]

    assert (base, value, significance.changed, is_real) == (100, 100, 0, False)


def test_runs_in_turn_say_how_much_slower_it_is() -> None:
    now = [case(f"{one}", run(120.0 + one, base=100.0 + one)) for one in range(20)]

    base, value, _, is_real = turns.tested_turns([(one, one) for one in now], 42)[P50]

    assert (base, value, is_real) == (109.0, 129.0, True)


def test_a_turn_in_no_time_is_no_error() -> None:
    now = [case(f"{one}", run(0.0, base=0.0)) for one in range(60)]

    assert not any(tested[3] for tested in turns.tested_turns([(one, one) for one in now], 42).values())


@pytest.mark.parametrize(("prices", "judgement"), [("2.5", "better"), ("0.1", "not judged")])
def test_with_other_prices_nothing_is_cheaper(prices: str, judgement: str) -> None:
    def side(cost: float, price: str) -> Report:
        turn = MeasuredTurn(ms=100.0, tokens_in=100, tokens_out=10, cost=cost)
        made = of(*(case(f"{one}", MeasuredRun(turns=(turn,)), MeasuredRun(turns=(turn,))) for one in range(12)))
        return replace(made, settings=replace(made.settings, bot=("kind: rest", f"prices.m.input: {price}")))

    compared = compare(side(0.5, prices), Present(side(1.0, "2.5"), "file"))

    cost = compared.metric("cost")
    assert cost is not None
    assert (cost.base, cost.value, cost.judgement) == (1.0, 0.5, judgement)


@pytest.mark.parametrize("line", ["turns.ms.p50 <= 50%", "cost > 5 %"])
def test_a_percentage_is_no_limit_of_an_amount(line: str) -> None:
    with pytest.raises(UserError):
        read_threshold(line)


def test_a_rise_may_be_given_in_percent_and_counts_only_if_it_is_more_than_chance() -> None:
    settings = GateSettings(max_regression=("turns.ms.p50: 20%", "cost: 0.01", "nlu.intents.f1: 2%"))

    first, second, third = read_rules(settings).regressions

    assert (first.largest(400), first.significant, first.limit_in_words) == (80, True, "20 %")
    assert (second.largest(400), second.significant) == (0.01, True)
    assert (third.largest(0.8), third.significant) == (0.02, False)


@pytest.mark.parametrize(("limit", "outcome"), [("10%", "failed"), ("29%", "failed"), ("40%", "passed")])
@pytest.mark.parametrize("name", [P50, "tokens.in", "cost"])
def test_a_rise_is_held_against_the_percentage_of_what_the_base_has(name: str, limit: str, outcome: str) -> None:
    """Also where the rise is smaller than the percentage as a number, as one of a cost below a cent is."""

    def side(times: float) -> Report:
        turn = MeasuredTurn(ms=0.2 * times, tokens_in=round(100 * times), cost=0.0005 * times)
        there = (MeasuredTurn(ms=0.2, tokens_in=100, cost=0.0005),)
        runs = [MeasuredRun(turns=(turn,), base=there)] * 2
        return of(*(case(f"{one}", *runs) for one in range(12)))

    now, before = side(1.3), side(1.0)
    gates = judge_gates(now, compare(now, Present(before, "file")), GateSettings(max_regression=(f"{name}: {limit}",)))

    assert [gate.outcome for gate in gates if gate.metric == name] == [outcome]


def test_a_few_of_the_simulated_runs() -> None:
    """A few of what `python tools/simulate_turns.py` prints."""
    assert simulated(Situation("", 50), 60, 7)["either milliseconds"] <= 3 / 60
    assert simulated(Situation("", 50, slower=1.2), 20, 7)[P50] >= 18 / 20
    assert simulated(Situation("", 8, longer=1.3), 20, 7)["tokens.in"] == 1
    assert simulated(Situation("", 8, longer=1.3, in_turn=False), 20, 7)["tokens.in"] == 1
