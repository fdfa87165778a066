"""Cases of an assistant that varies: the statistics of their runs, and the rounds in which they are run."""

from __future__ import annotations

import random
import re
from itertools import combinations, product
from math import comb, exp, prod
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from coins import EVERY_OTHER, Coins, CoinTalk, coin_cases
from golden_texts import Golden
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from report_builder import batch, example, nlu, report, suite
from tools.simulate_repeats import exact_case

from turncheck.comparison.losses import many_losses, without_runs_before_losses
from turncheck.comparison.model import ManyLosses
from turncheck.comparison.repeats import (
    RateTest,
    RunBesideBase,
    alarms,
    base_is_too_short,
    rate_test,
    typical_rate,
    upper_limit,
    weigh_pairs,
)
from turncheck.comparison.shares import runs_needed, wilson
from turncheck.comparison.together import Stratum, p_value_of_losses
from turncheck.evaluations.answers import LocalAnswers
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.evaluations.kind import share_of_all_passing
from turncheck.evaluations.varying.attempts import BaseRuns, BudgetShare, RepeatedTest, Run, Sign
from turncheck.evaluations.varying.base_runner import BaseRunner
from turncheck.evaluations.varying.e2e import base_runs, evaluate_repeatedly
from turncheck.evaluations.varying.rounds import Rounds
from turncheck.messages.errors import EngineError, IncompleteError, TransientError, UnansweredError
from turncheck.messages.finding import Location
from turncheck.report.model import CaseResult, Repeats
from turncheck.settings.repeats import RepeatRules, read_repeats, repeat_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.engines.conversation import Turn
    from turncheck.report.model import EndToEnd, Outcome, RepeatedOutcome

RULES = RepeatRules()


class KeptAnswers(LocalAnswers):
    """What was asked once is known from then on."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}

    def known(self, unit: str) -> Any:
        return self.answers.get(unit)

    def keep(self, unit: str, answer: Any) -> None:
        self.answers[unit] = answer


def evaluated(
    rates: Mapping[str, float], base: EndToEnd | None = None, *, rules: RepeatRules = RULES, **more: Any
) -> EndToEnd:
    coins = Coins(rates, more.pop("seed", 0), more.pop("on_call", lambda _: None))
    return evaluate_repeatedly(coins, coin_cases(rates), CaseRun(workers=2), rules, lambda: base, **more)


def base_of(*args: Any, **more: Any) -> BaseRunner[Coins]:
    """A base that can be asked, whose cases are such coins."""
    return BaseRunner(lambda: Coins(*args, **more))


def with_base(section: EndToEnd, runs: str) -> EndToEnd:
    """The section as that of a base whose cases have these runs."""
    verdict: RepeatedOutcome = "passed" if "F" not in runs else "flaky" if "P" in runs else "failed"
    outcome: Outcome = "failed" if verdict == "failed" else "passed"
    cases = tuple(
        msgspec.structs.replace(
            case, outcome=outcome, passed=outcome == "passed", repeats=Repeats(runs=runs, outcome=verdict)
        )
        for case in section.cases
    )
    return msgspec.structs.replace(section, cases=cases)


def of(section: EndToEnd, name: str) -> Repeats:
    found = next(case.repeats for case in section.cases if case.name == name)
    assert isinstance(found, Repeats)
    return found


# --- the test of one case ---------------------------------------------------------------------------------------------


def test_the_limit_of_a_rate_is_the_upper_end_of_its_jeffreys_interval() -> None:
    assert [round(upper_limit(failed, 20), 3) for failed in (0, 1, 4)] == [0.090, 0.180, 0.373]
    assert upper_limit(0, 500) < 0.02
    assert upper_limit(5, 5) == 1.0


def test_what_never_failed_is_worse_after_six_failures_and_as_usual_after_passes() -> None:
    test = rate_test(0, 20, 0.4)
    assert test is not None
    assert test.worse == 0.5
    level = 0.01 / 100
    assert [test.decide(failed, 0, level) for failed in range(1, 7)] == ["open"] * 5 + ["worse"]
    assert test.decide(1, 8, level) == "usual"
    assert test.decide(1, 5, level) == "open"


@pytest.mark.parametrize(("rate", "found", "by_six"), [(1.0, 1.0, 1.0), (0.8, 0.95, 0.0), (0.5, 0.7, 0.0)])
def test_twenty_runs_that_passed_on_the_base_find_what_fails_now(rate: float, found: float, by_six: float) -> None:
    worse, within_six, _, _ = exact_case(rate, 0, 20, 100, RepeatRules())
    assert worse >= found
    assert within_six >= by_six


@pytest.mark.parametrize("rate", [0.01, 0.02, 0.05])
def test_a_suite_takes_fewer_than_three_runs_a_case_and_fails_without_a_change_in_less_than_one_of_a_hundred(
    rate: float,
) -> None:
    alarm = runs = 0.0
    for failed in range(21):
        weight = comb(20, failed) * rate**failed * (1 - rate) ** (20 - failed)
        found, _, mean, _ = exact_case(rate, failed, 20, 100, RepeatRules())
        alarm, runs = alarm + weight * found, runs + weight * mean
    assert 1 - (1 - alarm) ** 100 <= 0.01
    assert runs <= 2.8


def test_no_rate_is_above_one() -> None:
    often = rate_test(10, 20, 0.4)
    assert often is not None
    assert often.usual + 0.4 > 1
    assert often.worse == 0.99
    assert often.decide(1, 1, 0.0001) == "usual", "one pass is much for a case that never passes"


@pytest.mark.parametrize("runs", [1, 2, 20])
def test_what_always_failed_cannot_become_worse(runs: int) -> None:
    assert rate_test(runs, runs, 0.4) is None


def test_without_runs_of_the_base_a_case_is_expected_to_pass() -> None:
    test = rate_test(0, 0, 0.4)
    assert test is not None
    assert (round(test.usual, 3), test.worse) == (0.1, 0.5)
    wide = rate_test(0, 0, 0.9)
    assert wide is not None
    assert (wide.usual, wide.worse) == (0.02, 0.92)


def test_few_runs_of_the_base_need_more_here() -> None:
    needed = []
    for runs in (2, 4, 20):
        test = rate_test(0, runs, 0.4)
        assert test is not None
        needed.append(next(n for n in range(1, 100) if test.decide(n, 0, 0.0001) == "worse"))
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] == 6


def test_each_case_that_is_found_leaves_more_room_for_the_others() -> None:
    test = RateTest(0.1, 0.5)
    evidence = {0: test.evidence(6, 0), 1: test.evidence(4, 0), 2: test.evidence(1, 1)}
    assert alarms(evidence, 0.01, 100, 0) == [0]
    assert alarms(evidence, 0.01, 2, 0) == [0, 1]
    assert alarms({1: evidence[1]}, 0.01, 2, 1) == [1]
    assert alarms({}, 0.01, 0, 0) == []


# --- a case beside its base -------------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
    st.lists(st.sampled_from([RunBesideBase(False, None), RunBesideBase(True, None)]), max_size=3),
    st.integers(0, 20),
    st.sampled_from([0.1, 0.4, 0.9]),
)
@settings(max_examples=60)
def test_pairs_that_fail_alike_bear_no_evidence_on_average_however_a_model_drifts(
    rates: list[float], first: list[RunBesideBase], base_failed: int, worth: float
) -> None:
    """The mean of an e-variable is at most 1, which bounds its false alarms (Ville's inequality)."""
    mean = 0.0
    for pairs in product(product([False, True], repeat=2), repeat=len(rates)):
        weight = prod(
            (rate if here else 1 - rate) * (rate if there else 1 - rate)
            for rate, (here, there) in zip(rates, pairs, strict=True)
        )
        runs = [*first, *(RunBesideBase(here, there) for here, there in pairs)]
        mean += weight * exp(weigh_pairs(runs, base_failed, 20, worth, 0.0001).evidence)
    assert mean <= 1 + 1e-9


def beside(rate: float, base_rate: float, base: str, chance: random.Random, first: float | None = None) -> str:
    """Return what becomes of one of a hundred cases, and in how many runs; ``first``: the rate of the first two."""
    test: RepeatedTest[bool] = RepeatedTest(0)

    def run_at(rate: float) -> Run[bool]:
        failed = chance.random() < rate
        return Run(failed, "failed" if failed else "passed")

    def here(number: int, attempt: int) -> Run[bool]:
        return run_at(rate if first is None or attempt >= 2 else first)

    def on_base(number: int, attempt: int) -> Run[bool]:
        return run_at(base_rate)

    def find_base(tests: Sequence[RepeatedTest[bool]]) -> float:
        for one in tests:
            one.base = BaseRuns(base)
        return typical_rate([base])

    rounds = Rounds([test], RULES, here, find_base, 1, BaseRunner(lambda: on_base), BudgetShare(5000, 900.0, 100))
    rounds.run()
    return f"{test.verdict or 'unclear'} {len(test.runs)}"


@pytest.mark.parametrize("base", ["", "PP", "P" * 20])
def test_a_case_that_is_dead_beside_a_base_that_passes_is_found_in_ten_runs(base: str) -> None:
    assert beside(1.0, 0.0, base, random.Random(1)) == "regressed 10"


@pytest.mark.parametrize("base", ["", "PP", "P" * 20])
def test_a_case_that_fails_now_and_then_beside_a_base_that_passes_is_found_without_its_history(base: str) -> None:
    found = [beside(0.7, 0.0, base, random.Random(seed), 1.0).split()[0] for seed in range(30)]
    assert found.count("regressed") >= 27


@pytest.mark.parametrize("base", ["PP", "P" * 20, "P" * 100])
@pytest.mark.parametrize("now", [0.5, 1.0])
def test_a_model_that_drifts_while_it_is_tested_is_no_regression(base: str, now: float) -> None:
    found = [beside(now, now, base, random.Random(seed), 1.0).split()[0] for seed in range(20)]
    assert "regressed" not in found


# --- all cases --------------------------------------------------------------------------------------------------------


def by_all_permutations(cases: list[Stratum]) -> float:
    """The same p-value from every way to say whose runs failed."""
    ways = {0: 1}
    total = 1
    for case in cases:
        runs = case.runs + case.base_runs
        failing = set(range(case.failed + case.base_failed))
        found: dict[int, int] = {}
        for mine in combinations(range(runs), case.runs):
            lost = len(failing & set(mine))
            for before, number in ways.items():
                found[before + lost] = found.get(before + lost, 0) + number
        ways = found
        total *= comb(runs, case.runs)
    failed = sum(case.failed for case in cases)
    return sum(number for lost, number in ways.items() if lost >= failed) / total


def test_the_permutation_test_is_exact() -> None:
    chance = random.Random(3)
    for _ in range(30):
        cases = [
            Stratum(chance.randint(0, here), here, chance.randint(0, there), there)
            for here, there in ((chance.randint(1, 3), chance.randint(1, 4)) for _ in range(3))
        ]
        assert p_value_of_losses(cases) == pytest.approx(by_all_permutations(cases))
    assert p_value_of_losses([]) == 1.0
    assert p_value_of_losses([Stratum(0, 2, 0, 20)] * 50) == 1.0


def test_many_small_losses_add_up() -> None:
    assert p_value_of_losses([Stratum(1, 2, 2, 20)] * 40) < 1e-6
    assert p_value_of_losses([Stratum(0, 2, 2, 20)] * 32 + [Stratum(1, 2, 2, 20)] * 8) > 0.3


def test_a_share_is_shown_by_enough_runs() -> None:
    assert runs_needed(0.9) == 35
    assert wilson(35, 35)[0] >= 0.9 > wilson(34, 34)[0]
    assert runs_needed(1.0) is None
    assert runs_needed(0.0) == 1
    assert wilson(0, 0) == (0.0, 1.0)


def test_passing_k_times_is_estimated_as_tau_bench_does() -> None:
    assert share_of_all_passing(3, 4, 3) == 0.25
    assert share_of_all_passing(2, 4, 3) == 0


# --- rounds -----------------------------------------------------------------------------------------------------------


def test_what_never_fails_is_run_as_often_as_first_says() -> None:
    section = evaluated({"a": 0.0, "b": 0.0})
    assert [of(section, name).runs for name in "ab"] == ["PP", "PP"]
    assert (section.passed, section.failed) == (2, 0)


def test_a_dead_case_regresses_after_five_runs_and_the_others_are_run_a_few_times() -> None:
    base = with_base(evaluated({"a": 0.0, "b": 0.0}), "P" * 20)
    section = evaluated({"a": 1.0, "b": 0.0}, base)
    found = of(section, "a")
    assert (found.runs, found.outcome, found.base) == ("F" * len(found.runs), "regressed", "P" * 20)
    assert len(found.runs) <= 6
    assert set(of(section, "b").runs) == {"P"}
    assert len(of(section, "b").runs) <= 4, "it says nothing of the others"
    assert (section.passed, section.failed) == (1, 1)
    reason = section.cases[0].reason or ""
    assert reason.startswith(f"regressed: 0 of {len(found.runs)} runs pass; base 20 of 20")


def test_a_flaky_case_passes_as_on_the_base() -> None:
    rates = {f"case {number}": 0.3 for number in range(12)}
    base = with_base(evaluated(rates), "PPFPPPFPPFPPPFPPPFPP")
    section = evaluated(rates, base)
    found = {of(section, name).outcome for name in rates}
    assert found <= {"passed", "flaky"}
    assert "flaky" in found
    flaky = next(case for case in section.cases if of(section, case.name).outcome == "flaky")
    assert flaky.passed
    assert flaky.warning is not None
    assert all(step.outcome == "passed" for step in flaky.steps), "a run that passed is shown"


def test_a_new_case_that_never_passes_fails_and_one_that_the_base_fails_stays_failed() -> None:
    new = evaluated({"a": 1.0})
    assert (of(new, "a").outcome, of(new, "a").base) == ("failed", "")
    old = evaluated({"a": 1.0}, new)
    assert (of(old, "a").outcome, of(old, "a").runs) == ("failed", "FF"), "no more runs: it cannot become worse"
    assert of(old, "a").base == of(new, "a").runs


def test_what_failed_on_the_base_and_passes_is_passed() -> None:
    repaired = evaluated({"a": 0.0}, with_base(evaluated({"a": 1.0}), "FFFF"))
    assert of(repaired, "a").outcome == "passed"


def test_what_failed_on_the_base_is_flaky_once_it_fails_rarely() -> None:
    """Not for ever failed, since it once was; nor mended by a run that happens to pass."""
    base = with_base(evaluated({"a": 1.0}), "FFFF")
    found = of(evaluated({"a": EVERY_OTHER}, base), "a")
    assert found.passed
    assert found.outcome == "failed"
    outcomes = []
    for seed in range(30):
        section = evaluated({"a": 0.1}, base, seed=seed)
        outcomes.append(of(section, "a").outcome)
        base = section
    assert "F" in of(base, "a").usual_runs
    assert not [one for one in outcomes[10:] if one == "failed"]


def test_runs_add_up_from_base_to_base_until_a_case_regresses() -> None:
    section = evaluated({"a": 0.0})
    for number in range(2, 5):
        section = evaluated({"a": 0.0}, section)
        assert of(section, "a").usual_runs == "PP" * number
    for _ in range(48):
        section = evaluated({"a": 0.0}, section)
    assert len(of(section, "a").usual_runs) == 100
    regressed = evaluated({"a": 1.0}, section)
    assert of(regressed, "a").outcome == "regressed"
    assert of(regressed, "a").usual_runs == of(regressed, "a").runs


def test_a_base_that_ran_once_is_one_run() -> None:
    rates = {"a": 0.0, "b": 1.0}
    base = evaluate_cases(Coins(rates), coin_cases(rates), CaseRun())
    section = evaluated(rates, base)
    assert (of(section, "a").base, of(section, "b").base) == ("P", "F")
    assert of(section, "b").outcome == "failed"


def test_another_expectation_is_another_test() -> None:
    section = evaluated({"a": 0.0})
    (case,) = section.cases
    other = msgspec.structs.replace(case, steps=(msgspec.structs.replace(case.steps[0], expected="else"),))
    moved = msgspec.structs.replace(case, location=Location("tests/other.yml", 1))
    assert [one.runs for one in base_runs([case], msgspec.structs.replace(section, cases=(other,)))] == [""]
    assert [one.runs for one in base_runs([case], msgspec.structs.replace(section, cases=(moved,)))] == ["PP"]
    assert [one.runs for one in base_runs([case, case], section)] == ["PP", ""], "each test has its own"


def test_a_test_that_was_renamed_keeps_its_runs() -> None:
    """If nobody has its old name now, and nobody else its runs; of several, that of the same file."""
    section = with_base(evaluated({"a": 0.0}), "PF")
    (case,) = section.cases
    renamed = msgspec.structs.replace(case, name="b")
    elsewhere = msgspec.structs.replace(
        case, name="c", location=Location("tests/other.yml", 1), repeats=Repeats(runs="PPP", outcome="passed")
    )
    edited = msgspec.structs.replace(renamed, steps=(msgspec.structs.replace(case.steps[0], expected="else"),))
    two = msgspec.structs.replace(section, cases=(elsewhere, case))

    def runs(of_base: EndToEnd, *cases: CaseResult, **more: Any) -> list[str]:
        return [one.runs for one in base_runs(cases, of_base, **more)]

    assert runs(section, renamed) == ["PF"]
    assert runs(section, edited) == [""]
    assert runs(two, renamed) == ["PF"]
    assert runs(two, renamed, msgspec.structs.replace(renamed, name="d")) == ["PF", "PPP"]
    assert runs(section, renamed, case) == ["", "PF"]
    assert runs(section, renamed, names=["a", "b"]) == [""], "another shard runs it"


def test_where_the_budget_ends_a_case_that_never_passed_has_failed_and_none_is_lost(golden: Golden) -> None:
    rates = {"a": 1.0, "b": 0.0, "c": 1.0}
    base = with_base(evaluated(dict.fromkeys(rates, 0.0)), "P" * 20)
    section = evaluated(rates, base, rules=RepeatRules(turns=6))
    assert [case.outcome for case in section.cases] == ["failed", "passed", "failed"]
    golden(section.cases[0].reason)
    assert sum(len(of(section, name).runs) for name in rates) == 6


def test_one_run_and_one_turn_are_singular(golden: Golden) -> None:
    section = evaluated({"dead": 1.0}, rules=RepeatRules(first=1, turns=1))
    golden(section.cases[0].reason)


def test_time_is_a_budget_as_well(golden: Golden) -> None:
    seconds = iter(range(1000))
    section = evaluated({"a": 1.0}, rules=RepeatRules(seconds=9), clock=lambda: float(next(seconds)))
    assert section.cases[0].outcome == "failed"
    golden(section.cases[0].reason)


def test_looking_for_the_base_takes_nothing_of_the_budget() -> None:
    now = [0.0]

    def slow() -> None:
        now[0] += 10_000

    coins = Coins({"a": 1.0})
    section = evaluate_repeatedly(coins, coin_cases({"a": 1.0}), CaseRun(), RULES, slow, clock=lambda: now[0])
    assert of(section, "a").outcome == "failed"


def test_a_case_that_its_runs_do_not_decide_is_unclear_unless_it_never_passed(golden: Golden) -> None:
    base = with_base(evaluated({"a": 0.0}), "PF")
    rules = RepeatRules(first=2, most=4)
    few = evaluated({"a": 1.0}, base, rules=rules)
    assert (few.cases[0].outcome, of(few, "a").runs.upper()) == ("failed", "FFFF")
    golden(few.cases[0].reason)
    mixed = evaluated({"a": EVERY_OTHER}, with_base(evaluated({"a": 0.0}), "P" * 20), rules=rules)
    assert (mixed.cases[0].outcome, of(mixed, "a").runs.upper()) == ("unclear", "FPFP")


def test_a_case_that_never_passes_on_either_side_any_more_has_failed() -> None:
    """Whoever answers for the base now: its report passed."""
    base = with_base(evaluated({"a": 0.0}), "P" * 6)
    drifted = evaluated({"a": 1.0}, base, on_base=base_of({"a": 1.0}))
    assert (drifted.cases[0].outcome, len(of(drifted, "a").runs)) == ("failed", 30)


def gone(on_call: Callable[[int], None], rates: Mapping[str, float]) -> IncompleteError:
    """How a run ends whose base passed all cases, and now does this when it is called; case a fails here."""
    base = with_base(evaluated(dict.fromkeys(rates, 0.0)), "P" * 20)
    with pytest.raises(IncompleteError) as cut:
        evaluated(rates, base, on_base=base_of(dict.fromkeys(rates, 0.0), on_call=on_call))
    finished = cast("EndToEnd", cut.value.finished)
    assert of(finished, "a").outcome == "regressed", "its report says how the base fares"
    return cut.value


@pytest.mark.parametrize("rates", [{"a": 1.0}, {"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0, "c": 0.0}])
@pytest.mark.parametrize("error", [UnansweredError("500"), EngineError("refused"), TransientError("cut")])
def test_a_base_that_does_not_answer_any_more_fails_the_run(
    rates: Mapping[str, float], error: Exception, golden: Golden
) -> None:
    def erring(_: int) -> None:
        raise error

    golden(gone(erring, rates).message)


def test_a_base_that_ends_after_some_answers_fails_the_run() -> None:
    def ending(number: int) -> None:
        if number > 4:
            raise EngineError("it has ended")

    gone(ending, {"a": 1.0, "b": 0.0})


def test_a_base_that_errs_in_one_case_and_answers_others_is_there() -> None:
    class OneErring(CoinTalk):
        def say(self, text: str, metadata: Any = None) -> Turn:
            if text == "a":
                raise UnansweredError("500")
            return super().say(text, metadata)

    class Base(Coins):
        def conversation(self, **given: Any) -> CoinTalk:
            return OneErring(self, given["attempt"])

    rates = {"a": 1.0, "b": 0.0}
    base = with_base(evaluated(dict.fromkeys(rates, 0.0)), "P" * 20)
    section = evaluated(rates, base, on_base=BaseRunner(lambda: Base(dict.fromkeys(rates, 0.0))))
    assert of(section, "a").outcome == "regressed"
    assert section.remarks


def test_a_base_that_answers_otherwise_than_in_its_report_is_no_reason_to_fail() -> None:
    rates = {"a": 0.3, "b": 0.0}
    base = with_base(evaluated(dict.fromkeys(rates, 0.0)), "P" * 20)
    for seed in range(3):
        section = evaluated(rates, base, on_base=base_of(rates, 50 + seed), seed=seed)
        assert of(section, "a").outcome != "regressed"


def test_runs_that_end_in_errors_take_more_that_pass() -> None:
    def evaluated_with(errors: str, base: str | None) -> EndToEnd:
        signs = iter(errors.replace("E", "EE"))  # one that errs is asked once more

        def on_call(_: int) -> None:
            if next(signs, ".") == "E":
                raise UnansweredError("500")

        before = None if base is None else with_base(evaluated({"a": 0.0}), base)
        return evaluated({"a": 0.0}, before, on_call=on_call, rules=RepeatRules(first=2))

    for errors, runs, outcome in (
        ("E", "PPPP", "passed"),
        ("E.E", "PPPPPP", "passed"),
        ("E.E.E", "PPPPPPPP", "passed"),
        ("E.E.E.E.E", "PPPP", "error"),
        ("EEE", "", "error"),
        ("....", "PP", "passed"),
    ):
        for base in (None, "PP", "FFffFF", "P" * 20):
            section = evaluated_with(errors, base)
            assert (of(section, "a").runs.upper(), section.cases[0].outcome) == (runs, outcome), (errors, base)


@pytest.mark.parametrize(
    ("signs", "verdict", "runs"),
    [
        ("-PP", "passed", "PP"),
        ("P-P", "passed", "PP"),
        ("---", None, ""),
        ("P---P", "passed", "PP"),
        ("F------", "failed", "F"),
        ("FF------------", "failed", "FF"),
    ],
)
def test_a_run_that_cannot_be_judged_is_no_run(signs: str, verdict: str | None, runs: str) -> None:
    named: dict[str, Sign] = {"P": "passed", "F": "failed", "-": "left out"}
    test: RepeatedTest[bool] = RepeatedTest(0)

    def here(number: int, attempt: int) -> Run[bool]:
        return Run(True, named[signs[min(attempt, len(signs) - 1)]])

    Rounds([test], RULES, here, lambda _: 0.0).run()
    assert (test.verdict, test.runs.upper()) == (verdict, runs)


def test_errors_are_no_runs() -> None:
    section = evaluated({"a": 0.0}, rules=RepeatRules(first=2))
    case = coin_cases({"a": 0.0})[0]
    assert of(section, "a").errors == 0

    def lost(number: int) -> None:
        if number in {1, 2}:
            raise TransientError("it is away for a moment")

    with pytest.raises(IncompleteError):
        evaluated({"a": 0.0}, on_call=lost)
    again = evaluated({"a": 0.0}, on_call=lambda number: lost(2) if number == 1 else None)
    assert of(again, "a").runs == "PP", "asked once more"
    assert case.name == "a"


def test_when_the_engine_is_gone_what_was_measured_is_kept() -> None:
    def gone(number: int) -> None:
        if number > 3:
            raise EngineError("it hung up")

    with pytest.raises(IncompleteError) as stopped:
        evaluated({"a": 0.0, "b": 0.0}, on_call=gone)
    section = stopped.value.finished
    runs = [case.repeats for case in section.cases]
    assert sum(len(one.runs) for one in runs if one is not UNSET) == 3
    assert {case.outcome for case in section.cases} <= {"passed", "unclear", "skipped"}
    assert any("it hung up" in (case.reason or "") for case in section.cases)


def test_an_interrupt_keeps_what_was_measured() -> None:
    def interrupted(number: int) -> None:
        if number > 4:
            raise KeyboardInterrupt

    with pytest.raises(IncompleteError) as stopped:
        evaluated({"a": 0.0, "b": 0.0, "c": 0.0}, on_call=interrupted)
    assert stopped.value.interrupted
    section = stopped.value.finished
    assert len(section.cases) == 3
    assert section.remarks
    later = pytest.raises(IncompleteError)
    with later as stopped:
        evaluated({"a": 0.0, "b": 1.0}, on_call=lambda number: interrupted(number) if number > 4 else None)
    assert [case.outcome for case in stopped.value.finished.cases] == ["passed", "unclear"]


def test_nothing_is_said_of_a_base_that_was_not_looked_up(golden: Golden) -> None:
    def interrupted(number: int) -> None:
        if number > 4:
            raise KeyboardInterrupt

    with pytest.raises(IncompleteError) as stopped:
        evaluated(dict.fromkeys("abc", 1.0), on_call=interrupted)
    golden(stopped.value.finished.cases[0].reason)


def progress(
    rates: Mapping[str, float], a_message: float = 1.0, rules: RepeatRules = RULES, every: float = 0.0
) -> list[str]:
    """What is said of cases whose messages take some seconds each, one after the other."""
    now, said = [0.0], list[str]()

    def take_time(number: int) -> None:
        now[0] += a_message

    how = CaseRun(workers=1)
    bot = Coins(rates, 0, take_time)
    told: dict[str, Any] = {"clock": lambda: now[0], "say": said.append, "every": every}
    evaluate_repeatedly(bot, coin_cases(rates), how, rules, lambda: None, **told)
    return said


def test_progress_says_runs_cases_and_time_left(golden: Golden) -> None:
    """On a terminal, after each case."""
    said = progress({"a": 1.0, "b": 0.0, "c": 0.0})
    assert [re.findall(r"\d+", one)[:2] for one in said[:7]] == [[str(runs + 1), "3"] for runs in range(6)] + [
        ["7", "1"]
    ]
    golden(*said[2:7])


def test_a_log_has_one_line_in_ten_seconds() -> None:
    """Also of a slow first pass; none of rounds that take less."""
    said = progress(dict.fromkeys(map(str, range(12)), 0.0), 3.0, every=10.0)
    assert 2 <= len(said) <= 7, "in 72 seconds"
    assert not progress({"a": 1.0, "b": 0.0}, 0.1, every=10.0)


def test_progress_knows_the_budgets(golden: Golden) -> None:
    said = progress({"a": 1.0, "b": 0.0, "c": 0.0}, 20.0, rules=RepeatRules(turns=10))
    golden(said[6])
    golden(progress({"a": 1.0}, 10.0, rules=RepeatRules(seconds=60))[2])


# --- in turn with the base --------------------------------------------------------------------------------------------


def test_a_dead_case_is_found_without_any_history_if_the_base_can_be_asked() -> None:
    rates = {"a": 0.0, "b": 0.0}
    section = evaluated({"a": 1.0, "b": 0.0}, on_base=base_of(rates, 7))
    found = of(section, "a")
    assert found.outcome == "regressed"
    assert found.base == "p" * (len(found.runs) - 2)
    assert len(of(section, "b").base) <= 4, "the others are run there until it is known that they fail no more often"


def test_a_base_that_has_to_be_started_is_opened_once_for_a_case_that_its_report_has_and_costs_no_time() -> None:
    now, opened = [0.0], []

    def coins() -> Coins:
        opened.append(now[0])
        now[0] += 3600
        return Coins({"a": 0.0})

    def judged(base: EndToEnd | None, rates: Mapping[str, float]) -> EndToEnd:
        return evaluated(rates, base, on_base=BaseRunner(coins, lambda: True), clock=lambda: now[0])

    known = with_base(evaluated({"a": 0.0}), "P" * 20)
    assert of(judged(None, {"a": 1.0}), "a").outcome == "failed"
    assert of(judged(known, {"a": 0.0}), "a").outcome == "passed"
    assert not opened
    assert of(judged(known, {"a": 1.0}), "a").outcome == "regressed", "its start takes nothing of the budget"
    assert len(opened) == 1


def test_what_the_report_of_the_base_lacks_is_judged_alone_whoever_could_be_asked() -> None:
    """It is about something that the base cannot do, and fails there for that alone."""
    base = with_base(evaluated({"a": 0.0}), "P" * 20)
    rates = {"a": 0.0, "new": 0.7}
    for seed in range(10):
        beside = BaseRunner(lambda: Coins({"a": 0.0, "new": 1.0}), lambda: True)
        found = of(evaluated(rates, base, on_base=beside, seed=seed), "new")
        alone = of(evaluated(rates, base, seed=seed), "new")
        assert (found.outcome, found.runs, found.base) == (alone.outcome, alone.runs, "")


def test_a_round_in_turn_is_kept_for_what_seems_to_be_a_loss() -> None:
    """Else those that fail now and then would use up the budget, and a drifted model would count as a loss."""
    base = with_base(evaluated(STEADY), "P" * 100)
    rules = RepeatRules(turns=7 * len(MANY))
    for seed in range(5):
        section = evaluated(MANY, base, rules=rules, on_base=base_of(MANY, 50 + seed), seed=seed)
        assert losses(section).base_runs <= 5 * len(MANY), "in turn"
        assert not losses(section).real


def test_rounds_in_turn_are_runs_of_undecided_cases_as_well() -> None:
    base = with_base(evaluated(STEADY), "P" * 100)
    rules = RepeatRules(turns=4 * len(MANY) + 1)
    for seed in range(5):
        section = evaluated(MANY, base, rules=rules, on_base=base_of(MANY, 50 + seed), seed=seed)
        assert losses(section).base_runs == len(MANY), "one round"
        failed_before = [runs for name in MANY if "F" in (runs := of(section, name).runs)[:2]]
        assert min(map(len, failed_before)) > 2


def test_where_all_cannot_be_run_again_what_failed_has_the_budget() -> None:
    rates = {"dead": 1.0, **{f"steady {number}": 0.0 for number in range(39)}}
    base = with_base(evaluated(dict.fromkeys(rates, 0.0)), "P" * 20)
    rules = RepeatRules(turns=3 * len(rates))
    section = evaluated(rates, base, rules=rules, on_base=base_of(dict.fromkeys(rates, 0.0)))
    assert of(section, "dead").outcome == "regressed"
    assert {len(of(section, name).runs) for name in rates if name != "dead"} == {2}


def test_an_interrupt_while_the_base_starts_keeps_what_was_run() -> None:
    def interrupted() -> Coins:
        raise KeyboardInterrupt

    known = with_base(evaluated({"a": 0.0, "b": 0.0}), "P" * 20)
    with pytest.raises(IncompleteError) as cut:
        evaluated({"a": 1.0, "b": 0.0}, known, on_base=BaseRunner(interrupted))
    finished = cast("EndToEnd", cut.value.finished)
    assert [of(finished, name).runs for name in "ab"] == ["FF", "PP"]


def test_what_fails_on_both_sides_does_not_regress() -> None:
    rates = {f"case {number}": 0.5 for number in range(10)}
    for seed in range(5):
        section = evaluated(rates, on_base=base_of(rates, 100 + seed), seed=seed)
        assert not [one for one in rates if of(section, one).outcome == "regressed"]


def test_what_never_passes_on_either_side_has_failed() -> None:
    section = evaluated({"a": 1.0}, on_base=base_of({"a": 1.0}))
    assert (section.cases[0].outcome, of(section, "a").outcome) == ("failed", "failed")
    assert len(of(section, "a").base) == 5
    assert of(evaluated({"a": 1.0}, on_base=base_of({"a": 0.9}, 3)), "a").outcome != "passed"


def losses(section: EndToEnd) -> ManyLosses:
    found = many_losses(msgspec.structs.replace(report(), e2e=section))
    assert isinstance(found, ManyLosses)
    return found


MANY = {f"case {number}": 0.2 for number in range(40)}
STEADY = dict.fromkeys(MANY, 0.02)


def test_many_losses_since_the_report_of_the_base_are_none_if_the_base_has_them_as_well() -> None:
    """The model has drifted since."""
    base = with_base(evaluated(STEADY), "P" * 20)
    assert losses(evaluated(MANY, base)).real
    for seed in range(5):
        section = evaluated(MANY, base, on_base=base_of(MANY, 50 + seed), seed=seed)
        found = losses(section)
        assert not found.real
        assert found.runs == found.base_runs >= len(MANY), "each side was asked as often as the other"
        assert not section.remarks


def test_many_losses_are_found_in_turn_with_a_base_that_has_none() -> None:
    base = with_base(evaluated(STEADY), "P" * 20)
    for seed in range(5):
        section = evaluated(MANY, base, on_base=base_of(STEADY, 50 + seed), seed=seed)
        assert losses(section).real
        assert all(of(section, name).in_turn for name in MANY)


def history(section: EndToEnd) -> set[str]:
    """The runs of earlier bases that count for a change that is compared with this section."""
    found = without_runs_before_losses(msgspec.structs.replace(report(), e2e=section)).e2e
    assert found is not None
    return {(runs := of(found, case.name)).usual_runs.removesuffix(runs.runs) for case in found.cases}


def test_a_loss_that_was_accepted_is_none_in_what_follows() -> None:
    """Also if the base was asked in turn, and had it as well: the model is another one than that of the reports."""
    base = with_base(evaluated(STEADY), "P" * 49 + "F")
    assert history(evaluated(STEADY, base)) == {"P" * 49 + "F"}
    assert history(evaluated(MANY, base)) == {""}
    assert history(evaluated(MANY, base, on_base=base_of(MANY, 50))) == {""}


def test_what_regressed_by_itself_leaves_the_history_of_others() -> None:
    base = with_base(evaluated(STEADY), "P" * 20)
    section = evaluated({**STEADY, "case 0": 1.0}, base)
    assert of(section, "case 0").outcome == "regressed"
    assert losses(section).real
    assert history(section) == {"", "P" * 20}, "only that of the case itself"


def test_a_loss_over_all_tests_is_one_of_each_kind_of_test() -> None:
    """The assistant is another one, whatever it is asked."""
    steady = Repeats(runs="PP", outcome="passed", base="P" * 20)
    asked = suite("faq", ("hello", True))
    asked = msgspec.structs.replace(asked, cases=(msgspec.structs.replace(asked.cases[0], repeats=steady),))
    sentences = nlu([msgspec.structs.replace(example("hello", "greet"), repeats=steady)])
    lost = evaluated(MANY, with_base(evaluated(STEADY), "P" * 20))
    found = without_runs_before_losses(msgspec.structs.replace(report(), e2e=lost, nlu=sentences, batch=batch(asked)))
    assert found.nlu is not None
    assert found.batch is not None
    for repeats in (found.nlu.predictions[0].repeats, found.batch.cases[0].repeats):
        assert repeats == msgspec.structs.replace(steady, base="")


def test_the_base_is_not_asked_about_all_tests_without_a_reason() -> None:
    """If as many fail as before; what is worse by itself is a reason until the others are known to do as well."""
    base = with_base(evaluated(STEADY), "P" * 19 + "F")
    section = evaluated(STEADY, base, on_base=base_of(STEADY, 7))
    assert {name for name in MANY if of(section, name).in_turn} <= {n for n in MANY if "F" in of(section, n).runs}
    section = evaluated({**dict.fromkeys(MANY, 0.0), "case 0": 1.0}, base, on_base=base_of(STEADY, 7))
    others = {len(of(section, name).runs) for name in MANY if name != "case 0"}
    assert max(others) <= 4
    assert of(section, "case 0").outcome == "regressed"
    assert not section.remarks


def test_without_a_budget_for_the_base_its_report_alone_says_how_it_fares(golden: Golden) -> None:
    base = with_base(evaluated(STEADY), "P" * 20)
    rules = RepeatRules(turns=2 * len(MANY) + 8)
    section = evaluated(MANY, base, rules=rules, on_base=base_of(MANY, 50))
    assert losses(section).real
    assert losses(section).base_runs == 20 * len(MANY)
    golden(section.remarks[-1])


@pytest.mark.parametrize("erring", ["here", "there"])
def test_errors_in_turn_with_the_base_leave_it_to_its_report(erring: str, golden: Golden) -> None:
    """A side that answers few of these runs could choose which of them count."""

    def later(number: int) -> None:
        if number > (2 * len(MANY) if erring == "here" else 0) and number % 5 < 3:
            raise UnansweredError("400")

    base = with_base(evaluated(STEADY), "P" * 20)
    there = base_of(MANY, 50, later if erring == "there" else lambda _: None)
    section = evaluated(MANY, base, on_base=there, on_call=later if erring == "here" else lambda _: None)
    assert losses(section).real
    assert not any(of(section, name).in_turn for name in MANY)
    golden(re.sub("[0-9]+ runs", "N runs", section.remarks[-1]))


def test_what_was_asked_in_turn_elsewhere_is_judged_alike() -> None:
    """As a shard does, whose runs are judged where those of all are known."""
    kept = KeptAnswers()
    base = with_base(evaluated(STEADY), "P" * 20)
    section = evaluated(MANY, base, on_base=base_of(MANY, 50), answers=kept)
    again = evaluated(MANY, base, answers=kept)
    assert [of(again, name) for name in MANY] == [of(section, name) for name in MANY]
    assert losses(again) == losses(section)


def test_runs_of_the_base_cost_turns() -> None:
    section = evaluated({"a": 1.0}, on_base=base_of({"a": 0.0}), rules=RepeatRules(turns=8))
    assert (of(section, "a").runs, of(section, "a").base) == ("FFfff", "ppp")


# --- a suite ----------------------------------------------------------------------------------------------------------


def test_suites_without_a_change_pass_and_a_dead_case_is_always_found() -> None:
    alarms_raised = 0
    chance = random.Random(1)
    rates = {f"case {number}": chance.uniform(0.02, 0.12) for number in range(20)}
    first = evaluated(rates, rules=RepeatRules(first=20, most=20), seed=99)
    base = msgspec.structs.replace(
        first, cases=tuple(case for case in first.cases if case.repeats is not UNSET and case.passed)
    )
    for seed in range(6):
        section = evaluated(rates, base, seed=seed)
        alarms_raised += any(case.outcome == "failed" and of(section, case.name).base for case in section.cases)
        dead = evaluated({**rates, "case 0": 1.0}, base, seed=seed)
        assert of(dead, "case 0").outcome == "regressed"
    assert alarms_raised == 0


# --- the report and the setting ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        {"runs": "PX", "outcome": "flaky"},
        {"runs": "P" * 1001, "outcome": "passed"},
        {"runs": "PF\n", "outcome": "flaky"},
        {"runs": "PF", "outcome": "passed"},
        {"runs": "FF", "outcome": "flaky"},
        {"runs": "PP", "outcome": "failed"},
        {"runs": "FF", "outcome": "regressed"},
        {"runs": "PP", "outcome": "great"},
        {"runs": "PP", "outcome": "passed", "errors": -1},
        {"runs": "PP", "outcome": "passed", "base": "?"},
    ],
)
def test_a_forged_report_of_runs_is_refused(fault: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fault, Repeats)


@pytest.mark.parametrize(("outcome", "verdict"), [("passed", "failed"), ("failed", "flaky"), ("unclear", "flaky")])
def test_an_outcome_that_its_runs_contradict_is_refused(outcome: str, verdict: str) -> None:
    (case,) = evaluated({"a": 0.0}).cases
    plain = msgspec.to_builtins(case)
    plain |= {"outcome": outcome, "repeats": {"runs": "PF", "outcome": verdict}}
    with pytest.raises(msgspec.ValidationError, match="cannot be"):
        msgspec.convert(plain, CaseResult)


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ({"first": 3}, RepeatRules(first=3)),
        ({"false-alarms": "2%", "worth": 0.3}, RepeatRules(false_alarms=0.02, worth=0.3)),
        ({"budget": {"turns": 100, "time": "90s"}}, RepeatRules(turns=100, seconds=90)),
        ("first: 3, most: 40, time: 1h", RepeatRules(first=3, most=40, seconds=3600)),
        ("first: 3\nmost: 40\n", RepeatRules(first=3, most=40)),
        ("auto", RepeatRules()),
        ("off", RepeatRules(first=1, most=1)),
        (False, RepeatRules(first=1, most=1)),
    ],
)
def test_the_setting_is_read(given: Any, rules: RepeatRules) -> None:
    text = read_repeats(given)
    assert repeat_rules(text) == rules
    assert read_repeats(text) == text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"first": 5, "most": 4}, "`first` (5) is more than `most` (4)"),
        ({"firts": 5}, "Did you mean 'first'?"),
        ({"first": 0, "most": 4}, "`first`: expected a whole number from 1 to 1,000, not 0"),
        ({"first": True}, "`first`: expected a whole number"),
        ({"most": 100000}, "`most`: expected a whole number from 1 to 1,000"),
        ({"worth": "150%"}, "`worth`: expected a share above 0"),
        ({"false-alarms": 0}, "`false-alarms`: expected a share above 0"),
        ({"budget": 5}, "`budget` takes `turns` and `time`"),
        ({"budget": {"time": "15"}}, "`time`: expected a duration"),
        ("turns: 5, budget: 15m", "the budget is written without its name: `turns: 5000, time: 15m`"),
        ("first: 2, most: 9, first: 3", "`first` appears twice"),
        ("often", "expected `auto`, `off`, or rules"),
        ("", "expected `auto`, `off`, or rules"),
        (True, "expected `auto`, `off`, or rules"),
        (7, "expected `auto`, `off`, or rules"),
    ],
)
def test_what_is_no_rule_is_refused(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        read_repeats(given)


def test_a_lucky_case_of_a_base_whose_cases_fail_is_no_measure() -> None:
    """Of 100 cases that fail in a fifth of their runs, one passes all of twenty: it fails again without a change."""
    lucky, typical = rate_test(0, 20, 0.4), rate_test(0, 20, 0.4, typical_rate(["FPPPP" * 4] * 99 + ["P" * 20]))
    assert lucky is not None
    assert typical is not None
    assert (lucky.worse, typical.usual, round(typical.worse, 3)) == (0.5, 0.2, 0.6)
    assert lucky.evidence(6, 4) > typical.evidence(6, 4)


def test_a_few_broken_cases_of_the_base_say_nothing_of_others() -> None:
    assert typical_rate(["F" * 20] * 40 + ["P" * 20] * 60) == 0.0
    assert rate_test(0, 20, 0.4, 0.0) == rate_test(0, 20, 0.4)


@pytest.mark.parametrize(
    ("here", "there", "is_usual"),
    [
        ("FPPPP", ".FPPP", True),  # as often on both sides
        ("FFPPP", ".PFPP", True),
        ("FFFPP", ".FPPP", False),  # more often here
        ("FPPP", ".FPP", False),  # too few pairs
        ("FFFFF", ".FFFF", False),  # what never passes must not pass for a base that does not either
        ("FPFPF", ".PPPP", False),  # a base that never fails excuses nothing
    ],
)
def test_a_case_whose_base_fails_beside_it_as_often_is_as_usual(here: str, there: str, is_usual: bool) -> None:
    """The base is asked after the first run."""
    runs = [
        RunBesideBase(one == "F", None if other == "." else other == "F")
        for one, other in zip(here, there, strict=True)
    ]
    assert weigh_pairs(runs, 0, 0, 0.4, 0.0001).is_usual == is_usual


def test_a_base_with_few_runs_does_not_make_a_case_usual_that_mostly_fails() -> None:
    """Two runs that passed allow for a rate of one in two: only more runs of the base say more."""
    rates = rate_test(0, 2, 0.4)
    assert rates is not None
    assert rates.weigh(4, 2, 0.0025).is_usual
    assert base_is_too_short(4, 6, "PP", 0.4)
    assert not base_is_too_short(4, 6, "PF", 0.4)
    assert not base_is_too_short(4, 6, "", 0.4)  # the base has none: it is judged as a new one
    assert not base_is_too_short(4, 6, "PP", 0.4, typical=0.3)
