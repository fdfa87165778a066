"""Whether all tests together fail more often than on the base: the statistics, and when all are run again."""

from __future__ import annotations

import random
from functools import lru_cache
from math import exp, isclose, log
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from coins import coin_cases
from golden_texts import Golden
from report_builder import report
from scipy.integrate import quad
from test_repeats import base_of, evaluated, losses, of, with_base
from tools.simulate_whole import InTurn, Situation, evidence

from turncheck.comparison.together import (
    Stratum,
    alarm,
    evidence_of_pairs,
    is_worth_another_look,
    level_at,
    looks,
    p_value_of_losses,
    pairs_of,
)
from turncheck.evaluations.varying.all_together import AllTogether
from turncheck.evaluations.varying.attempts import BaseRuns, BudgetShare, RepeatedTest
from turncheck.report.model import GateSettings
from turncheck.run.repeats import rules_of, worth_of
from turncheck.settings.repeats import RepeatRules, Worth, repeat_rules

if TYPE_CHECKING:
    from turncheck.report.model import EndToEnd

EIGHT = [f"case {number}" for number in range(8)]


@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (1, 0), (0, 3), (7, 2), (40, 40), (200, 0)])
def test_the_evidence_of_pairs_is_the_mean_of_likelihood_ratios(lost: int, gained: int) -> None:
    mean, _ = quad(lambda share: 2 * (2 * share) ** lost * (2 - 2 * share) ** gained, 0.5, 1)
    assert isclose(evidence_of_pairs(lost, gained), log(mean), abs_tol=1e-6)


@pytest.mark.parametrize("pairs", [1, 5, 12])
def test_the_evidence_of_pairs_that_differ_by_chance_is_one_on_average(pairs: int) -> None:
    """That is why it exceeds 1 / a once in 1 / a runs at most, whenever it is looked at."""

    @lru_cache(None)
    def mean(lost: int, gained: int) -> float:
        if lost + gained == pairs:
            return exp(evidence_of_pairs(lost, gained))
        return (mean(lost + 1, gained) + mean(lost, gained + 1)) / 2

    assert isclose(mean(0, 0), 1, abs_tol=1e-9)


@pytest.mark.parametrize(("worst", "goes_on"), [("FFPP", True), ("FFFP", False)])
def test_what_fails_in_half_of_few_runs_is_among_all_what_fails_in_most_is_found_by_itself(
    worst: str, goes_on: bool
) -> None:
    runs = [worst, "FPPP", *["PPPP"] * 6]
    tests = [RepeatedTest[str](number, runs=one, base=BaseRuns("PPPPP")) for number, one in enumerate(runs)]
    together = AllTogether(tests, RepeatRules(), BudgetShare(5000, 900, len(tests)), is_beside=lambda _: False)
    together.begin(in_turn=False, must_pass=True)
    assert together.is_open == goes_on


def test_looking_after_each_pair_raises_few_alarms() -> None:
    chance = random.Random(1)
    found = 0
    for _ in range(2000):
        lost = gained = 0
        for _ in range(100):
            worse = chance.random() < 0.5
            lost, gained = lost + worse, gained + (not worse)
            if evidence_of_pairs(lost, gained) >= alarm(0.05):
                found += 1
                break
    assert found <= 0.05 * 2000


def test_pairs_are_counted_by_which_side_failed() -> None:
    assert pairs_of(["", "FP", "PFFFPP"]) == (1, 1, 4)


@pytest.mark.parametrize(("first", "most"), [(2, 30), (1, 30), (3, 40), (20, 20), (2, 1000)])
def test_the_looks_share_the_false_alarms(first: int, most: int) -> None:
    assert isclose(sum(level_at(look, first, most, 0.005) for look in looks(first, most)), 0.005)
    assert not is_worth_another_look(0.0, most, first, most), "there are no more runs"


def test_half_of_what_was_seen_counts() -> None:
    stratum = Stratum(2, 2, 0, 2)
    assert isclose(p_value_of_losses([stratum]), 1 / 6)
    assert isclose(p_value_of_losses([stratum], middle=True), 1 / 12)
    assert p_value_of_losses([Stratum(3, 3, 3, 3)], middle=True) == 0.5, "what always fails says nothing"


# --- whole suites -----------------------------------------------------------------------------------------------------


def red(seed: int, rate: float, base_rate: float, *, in_turn: bool, runs: str = "P" * 20) -> bool:
    """Whether a run fails whose cases all fail at a rate."""
    base = with_base(evaluated(dict.fromkeys(EIGHT, 0.0)), runs)
    there = base_of(dict.fromkeys(EIGHT, base_rate), 1000 + seed) if in_turn else None
    section = evaluated(dict.fromkeys(EIGHT, rate), base, on_base=there, seed=seed)
    return losses(section).real or any(of(section, name).outcome == "regressed" for name in EIGHT)


@pytest.mark.parametrize("in_turn", [True, False])
def test_a_bot_that_is_wrong_in_a_fifth_of_its_answers_is_found_over_eight_cases(in_turn: bool) -> None:
    assert sum(red(seed, 0.2, 0.0, in_turn=in_turn) for seed in range(20)) >= 18


def test_a_report_with_five_runs_of_each_case_is_enough() -> None:
    assert sum(red(seed, 0.2, 0.0, in_turn=False, runs="PPPPP") for seed in range(20)) >= 18


def test_a_report_with_fewer_says_what_is_missing(golden: Golden) -> None:
    rules = RepeatRules()
    base = with_base(evaluated(dict.fromkeys(EIGHT, 0.0)), "PP")
    remarks = [evaluated(dict.fromkeys(EIGHT, 0.2), base, rules=rules, seed=seed).remarks for seed in range(5)]
    said = [words for words in remarks if words]
    assert len(said) >= 3
    golden(*said[0])


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_equal_bots_pass(rate: float) -> None:
    runs = "P" * 19 + "F" if rate < 0.1 else "PPPPF" * 4
    assert not any(red(seed, rate, rate, in_turn=in_turn, runs=runs) for seed in range(10) for in_turn in (True, False))


def test_a_case_that_fails_when_all_are_run_again_is_judged_by_all_of_its_runs() -> None:
    section = evaluated(dict.fromkeys(EIGHT, 0.2), on_base=base_of(dict.fromkeys(EIGHT, 0.0), 5), seed=3)
    for name in EIGHT:
        found = of(section, name)
        assert ("F" in found.runs.upper()) == (found.outcome != "passed")


# --- worse, by less than the setting asks -----------------------------------------------------------------------------


def worse_of(**more: Any) -> EndToEnd:
    """Cases that fail in a quarter of their runs, of which some stay unclear by themselves."""
    base = with_base(evaluated(dict.fromkeys(EIGHT, 0.0)), "P" * 20)
    return evaluated(dict.fromkeys(EIGHT, 0.25), base, on_base=base_of(dict.fromkeys(EIGHT, 0.0), 5), seed=1, **more)


def test_what_stays_unclear_and_differs_beyond_chance_is_worse(golden: Golden) -> None:
    section = worse_of()
    worse = [case for case in section.cases if of(section, case.name).outcome == "worse"]
    assert worse
    assert {case.outcome for case in worse} == {"failed"}
    golden(worse[0].reason)


def test_worse_by_less_than_the_base_allows_passes_and_says_so(golden: Golden) -> None:
    section = worse_of(worth=lambda: Worth(0.4, True))
    worse = [case for case in section.cases if of(section, case.name).outcome == "worse"]
    assert {case.outcome for case in worse} == {"passed"}
    golden(worse[0].warning)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "worth", "regresses"),
    [(0.55, Worth(0.7, True), False), (0.55, Worth(0.7, False), True), (1.0, Worth(0.7, True), True)],
)
def test_a_loss_below_what_is_allowed_is_no_regression_however_sure_it_is(
    rate: float, worth: Worth, regresses: bool
) -> None:
    never = dict.fromkeys(EIGHT, 0.0)
    base = with_base(evaluated(never), "P" * 20)
    found = set()
    for seed in range(4):
        now = {**never, EIGHT[0]: rate}
        section = evaluated(now, base, on_base=base_of(never, 5), seed=seed, worth=lambda: worth)
        found.add(of(section, EIGHT[0]).outcome)
    assert ("regressed" in found) == regresses
    assert regresses or "worse" in found


def test_equal_bots_have_no_case_that_is_worse() -> None:
    for seed in range(10):
        rates = dict.fromkeys(EIGHT, 0.2)
        section = evaluated(rates, on_base=base_of(rates, 500 + seed), seed=seed)
        assert not [name for name in EIGHT if of(section, name).outcome == "worse"]


def test_the_simulation_weighs_pairs_as_a_run_does() -> None:
    lost, gained = np.array([0.0, 3.0, 11.0, 40.0]), np.array([0.0, 5.0, 0.0, 22.0])
    expected = [evidence_of_pairs(one, other) for one, other in zip(lost, gained, strict=True)]
    assert np.allclose(evidence(lost, gained), expected)


def test_the_simulation_judges_cases_as_a_run_does() -> None:
    """A dead case beside a base that passes: after as many runs, and with as many of the others."""
    suite = InTurn(Situation("", 8, dead=1), 1, 0, np.random.default_rng(1))
    failed, whole, _ = suite.judged()
    rates = {name: float(name == EIGHT[0]) for name in EIGHT}
    section = evaluated(rates, on_base=base_of(dict.fromkeys(EIGHT, 0.0)))
    assert (failed, whole) == (1.0, 0.0)
    assert suite.runs[0].tolist() == [float(len(of(section, name).runs)) for name in EIGHT]


def test_whole_runs_are_judged_as_promised() -> None:
    """A few of what `python tools/simulate_whole.py` prints."""
    chance = np.random.default_rng(3)
    worse, whole, _ = InTurn(Situation("", 8, 0.2), 500, 5, chance).judged()
    small, _, _ = InTurn(Situation("", 30, 0.1), 200, 5, chance).judged()
    equal, _, runs = InTurn(Situation("", 30, most=0.2), 500, 5, chance).judged()
    one, not_all, _ = InTurn(Situation("", 8, 0.1, 0.1, dead=1), 500, 5, chance).judged()
    assert worse >= 0.94
    assert whole >= 0.9
    assert one == 1.0
    assert not_all <= 0.012
    assert small >= 0.9
    assert equal <= 0.012
    assert runs <= 6


@pytest.mark.parametrize(
    ("given", "own", "base", "worth"),
    [
        (True, "worth: 0.3", None, Worth(0.3, True)),
        (True, "first: 3", "worth: 0.3", Worth(0.4, False)),
        (False, "worth: 0.9", "worth: 0.3", Worth(0.3, True)),
        (False, "worth: 0.9", "first: 3", Worth(0.4, False)),
        (False, "worth: 0.9", "auto", Worth(0.4, False)),
        (False, "off", "worth: 0.3", Worth(0.3, True)),
        (False, "worth: 0.9", None, Worth(0.9, False)),
        (False, "auto", "a rule of another version", Worth(0.4, False)),
    ],
)
def test_a_change_does_not_say_what_it_is_worth(given: bool, own: str, base: str | None, worth: Worth) -> None:
    """A flag or an input does, or the file of the base; the change's own counts only beside nothing."""
    assert worth_of(run_with(given, own, base)) == worth


MORE = "first: 5, most: 40, false-alarms: 2%, turns: 9000, time: 30m"


@pytest.mark.parametrize(
    ("given", "own", "base", "rules"),
    [
        (False, "off", MORE, MORE),
        (False, "auto", MORE, MORE),
        (False, "first: 1, most: 8, false-alarms: 0.1%, turns: 90, time: 1m", MORE, MORE),
        (
            False,
            "first: 10, most: 12, false-alarms: 5%",
            MORE,
            "first: 10, most: 45, false-alarms: 5%, turns: 9000, time: 30m",
        ),
        (False, MORE, "auto", MORE),
        (False, MORE, "off", MORE),
        (False, "off", None, "off"),
        (False, "most: 8", "a rule of another version", "auto"),
        (True, "off", MORE, "off"),
    ],
)
def test_a_change_does_not_look_less_closely(given: bool, own: str, base: str | None, rules: str) -> None:
    """A flag or an input may; a file may once it is merged. Whoever looks more closely does so at once."""
    assert rules_of(run_with(given, own, base)) == repeat_rules(rules)


def test_how_often_a_flag_had_the_base_run_is_no_rule_of_its_files() -> None:
    assert rules_of(run_with(False, "auto", MORE, repeats_given=True)) == RepeatRules()


def run_with(given: bool, own: str, base: str | None, **more: Any) -> Any:
    """A run of a case with such settings, beside a base with others."""
    report_of_base = None if base is None else report(settings=GateSettings(repeats=base, **more))
    return SimpleNamespace(
        inputs=SimpleNamespace(given=frozenset({"repeats"} if given else ())),
        settings=SimpleNamespace(repeats=own, engine="http"),
        engines=SimpleNamespace(capabilities=SimpleNamespace(varies=True)),
        cases=SimpleNamespace(cases=coin_cases({"a": 0.0})),
        why_not=lambda _: None,
        base_report=lambda: report_of_base,
    )


@pytest.mark.parametrize("rate", [0.5, 0.6, 0.8])
@pytest.mark.parametrize("asked", [True, False])
def test_a_change_that_says_it_may_become_worse_fails_all_the_same(rate: float, asked: bool) -> None:
    """Its own file lets a case fail nearly always; the base's does not, and says what is usual."""
    for seed in range(6):
        base = with_base(evaluated(dict.fromkeys(EIGHT, 0.0)), "P" * 20)
        rates = {name: rate if name == EIGHT[0] else 0.0 for name in EIGHT}
        section = evaluated(
            rates,
            base,
            rules=RepeatRules(worth=0.97),
            on_base=base_of(dict.fromkeys(EIGHT, 0.0), 5) if asked else None,
            worth=lambda: Worth(0.4, False),
            seed=seed,
        )
        assert (of(section, EIGHT[0]).outcome in {"passed", "regressed", "worse"}) or losses(section).real
        assert section.cases[0].outcome == ("passed" if of(section, EIGHT[0]).outcome == "passed" else "failed")


def test_what_is_as_usual_only_by_what_it_is_worth_is_worse(golden: Golden) -> None:
    """It counts as passed, since that was set; and it is said, with the interval."""
    base = with_base(evaluated(dict.fromkeys(EIGHT, 0.0)), "P" * 20)
    there = base_of(dict.fromkeys(EIGHT, 0.0), 5)
    rules, worth = RepeatRules(worth=0.97), Worth(0.97, True)
    section = evaluated(dict.fromkeys(EIGHT, 0.45), base, rules=rules, on_base=there, worth=lambda: worth, seed=2)
    assert {case.outcome for case in section.cases} == {"passed"}
    worse = [case for case in section.cases if of(section, case.name).outcome == "worse"]
    assert worse
    golden(worse[0].warning)


@pytest.mark.parametrize(("lost", "regressed", "found"), [(12, False, True), (2, False, False), (12, True, False)])
def test_the_simulation_counts_what_is_worse_by_less_as_a_run_does(lost: int, regressed: bool, found: bool) -> None:
    """One case of eight, of which 28 runs in turn with the base say something."""
    suite = InTurn(Situation("", 8), 1, 0, np.random.default_rng(1))
    suite.failed[0, 0] = suite.lost[0, 0] = lost
    suite.there[0, 0], suite.worse[0, 0] = 28, regressed
    assert suite.is_worse_by_less(0) == found
