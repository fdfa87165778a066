"""How well repeated runs are judged: simulated suites without a change, and with one case that fails more often.

python tools/simulate_repeats.py [--suites 10000] [--cases 100] [--base-runs 20] [--seed 1]
python tools/simulate_repeats.py --exact
python tools/simulate_repeats.py --beside [--suites 10000]

``--exact`` computes how one case fares, ``--beside`` simulates one whose base, of which nothing is known, is asked in
turn.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from math import comb
from typing import TYPE_CHECKING

from turncheck.comparison.repeats import RateTest, RunBesideBase, alarm_at, rate_test, typical_rate, weigh_pairs
from turncheck.comparison.together import Stratum, allowed, level_at, p_value_of_losses
from turncheck.settings.repeats import RepeatRules

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST, MOST = 0.02, 0.2
CHANGED = (1.0, 0.8, 0.5)


@cache
def rates_of(base_failed: int, base_runs: int, worth: float, typical: float = 0.0) -> RateTest | None:
    """Return the test of a case."""
    return rate_test(base_failed, base_runs, worth, typical)


@dataclass
class Seen:
    """What became of a case: its outcome, and its runs."""

    outcome: str
    runs: int
    first_failed: int


@dataclass
class Totals:
    """What became of all simulated cases."""

    suites: int = 0
    by_case: int = 0
    by_all: int = 0
    either: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    cases: int = 0
    changed: dict[float, Counter[str]] = field(default_factory=lambda: {rate: Counter() for rate in CHANGED})


def run_case(rate: float, test: RateTest | None, rules: RepeatRules, cases: int, chance: random.Random) -> Seen:
    """Run one case as a run does; Holm's method, which finds a little more, is left out."""
    level = rules.false_alarms / cases
    failed = sum(chance.random() < rate for _ in range(rules.first))
    first, runs = failed, rules.first
    if not failed:
        return Seen("passed", runs, 0)
    if test is None or not test.can_tell(rules.most, level):
        return Seen("flaky", runs, first)
    while True:
        passed = runs - failed
        if test.evidence(failed, passed) >= alarm_at(level):
            return Seen("regressed", runs, first)
        if test.decide(failed, passed, level) == "usual":
            return Seen("flaky", runs, first)
        if runs >= rules.most:
            return Seen("unclear", runs, first)
        failed += chance.random() < rate
        runs += 1


def simulate(suites: int, cases: int, base_runs: int, rules: RepeatRules, seed: int) -> Totals:
    """Simulate suites without a change; of each, one case also with higher rates."""
    chance = random.Random(seed)
    totals = Totals()
    for _ in range(suites):
        rates = [chance.uniform(LEAST, MOST) for _ in range(cases)]
        base = [sum(chance.random() < rate for _ in range(base_runs)) for rate in rates]
        typical = typical_rate("F" * failed + "P" * (base_runs - failed) for failed in base)
        tests = [rates_of(failed, base_runs, rules.worth, typical) for failed in base]
        seen = [run_case(rate, test, rules, cases, chance) for rate, test in zip(rates, tests, strict=True)]
        by_case = any(one.outcome == "regressed" for one in seen)
        strata = (
            Stratum(one.first_failed, rules.first, failed, base_runs) for one, failed in zip(seen, base, strict=True)
        )
        level = level_at(rules.first, rules.first, rules.most, allowed(rules.false_alarms, 1))
        by_all = p_value_of_losses(strata, middle=True) <= level
        totals.suites += 1
        totals.by_case += by_case
        totals.by_all += by_all
        totals.either += by_case or by_all
        totals.outcomes.update(one.outcome for one in seen)
        totals.runs += sum(one.runs for one in seen)
        totals.cases += cases
        for rate in CHANGED:
            one = run_case(rate, tests[0], rules, cases, chance)
            totals.changed[rate][one.outcome] += 1
            totals.changed[rate]["by six"] += one.outcome == "regressed" and one.runs <= 6
    return totals


# The same for one case, computed.

RATES = (0.0, 0.02, 0.05, 0.1, 0.2)


@cache
def decisions(
    base_failed: int, base_runs: int, cases: int, rules: RepeatRules, typical: float
) -> dict[tuple[int, int], str]:
    """Return what the runs of a case say, by how many failed and how many passed."""
    test, level = rates_of(base_failed, base_runs, rules.worth, typical), rules.false_alarms / cases
    if test is None or not test.can_tell(rules.most, level):
        return {}
    return {
        (failed, runs - failed): test.decide(failed, runs - failed, level)
        for runs in range(rules.first, rules.most + 1)
        for failed in range(1, runs + 1)
    }


def exact_case(
    rate: float, base_failed: int, base_runs: int, cases: int, rules: RepeatRules, *, typical: float = 0.0
) -> tuple[float, ...]:
    """Return how likely a case is found to be worse, that within six runs, how many runs it takes, and how likely it
    stays unclear."""
    says = decisions(base_failed, base_runs, cases, rules, typical)
    worse = by_six = mean = 0.0
    going = {(0, 0): 1.0}
    for runs in range(1, rules.most + 1):
        after: defaultdict[tuple[int, int], float] = defaultdict(float)
        for (failed, passed), weight in going.items():
            mean += weight
            after[failed + 1, passed] += weight * rate
            after[failed, passed + 1] += weight * (1 - rate)
        if runs < rules.first:
            going = dict(after)
            continue
        found = sum(weight for state, weight in after.items() if says.get(state) == "worse")
        worse += found
        by_six += found if runs <= 6 else 0.0
        going = {state: weight for state, weight in after.items() if says.get(state) == "open" and weight > 1e-16}
    return worse, by_six, mean, sum(going.values())


def exact(base_runs: int, cases: int, rules: RepeatRules) -> str:
    """Return a table by the rate of the base, as Markdown."""
    heads = ("fails on the base", "false alarms of a suite", "runs of a case", "dead: found (in 6 runs)")
    lines = [f"| {' | '.join((*heads, '80 %: found', '50 %: found'))} |", "|---|---|---|---|---|---|"]
    for base_rate in RATES:
        weights = [
            comb(base_runs, failed) * base_rate**failed * (1 - base_rate) ** (base_runs - failed)
            for failed in range(base_runs + 1)
        ]

        def mean(rate: float, weights: Sequence[float] = weights, typical: float = base_rate) -> list[float]:
            each = [
                exact_case(rate, failed, base_runs, cases, rules, typical=typical) for failed in range(base_runs + 1)
            ]
            return [sum(w * one[n] for w, one in zip(weights, each, strict=True)) for n in range(4)]

        alarm, _, runs, _ = mean(base_rate)
        dead, often, half = (mean(rate) for rate in CHANGED)
        fails = f"{base_rate:.0%}" if base_rate else "never"
        lines.append(
            f"| {fails} | {1 - (1 - alarm) ** cases:.2%} | {runs:.2f} | {dead[0]:.0%} ({dead[1]:.0%}) |"
            f" {often[0]:.0%} ({often[3]:.0%} unclear) | {half[0]:.0%} ({half[3]:.0%} unclear) |"
        )
    return "\n".join(lines)


# A case whose base is asked in turn.


def beside_base(rate: float, base_rate: float, cases: int, rules: RepeatRules, chance: random.Random) -> Seen:
    """Run one case as a run does, of whose base nothing is known but what is found beside it."""
    level = rules.false_alarms / cases
    runs = [RunBesideBase(chance.random() < rate, None) for _ in range(rules.first)]
    first = sum(run.failed for run in runs)
    if not first:
        return Seen("passed", len(runs), 0)
    while True:
        weighed = weigh_pairs(runs, 0, 0, rules.worth, level)
        if weighed.evidence >= alarm_at(level):
            return Seen("regressed", len(runs), first)
        if weighed.is_usual:
            return Seen("flaky", len(runs), first)
        if len(runs) >= rules.most:
            return Seen("unclear", len(runs), first)
        runs.append(RunBesideBase(chance.random() < rate, chance.random() < base_rate))


def beside(suites: int, cases: int, rules: RepeatRules, seed: int) -> str:
    """Return a table by the rate of the base, as Markdown; a suite's false alarms are those of as many cases."""
    chance = random.Random(seed)
    lines = [
        f"| {' | '.join(('fails on the base', 'false alarms of a suite', *(f'{rate:.0%}' for rate in CHANGED)))} |"
    ]
    lines.append("|---|---|---|---|---|")
    for base_rate in RATES:
        cells = []
        for rate in (base_rate, *CHANGED):
            seen = Counter(beside_base(rate, base_rate, cases, rules, chance).outcome for _ in range(suites))
            found, unclear = seen["regressed"] / suites, seen["unclear"] / suites
            is_same = rate == base_rate
            cells.append(f"{1 - (1 - found) ** cases:.2%}" if is_same else f"{found:.0%} ({unclear:.0%} unclear)")
        lines.append(f"| {base_rate:.0%} | {' | '.join(cells)} |")
    return "\n".join(lines)


def report(totals: Totals) -> str:
    """Say what was found."""
    alarms = f"{totals.by_case / totals.suites:.2%} by a case, {totals.by_all / totals.suites:.2%} by all together"
    lines = [f"false alarms: {totals.either / totals.suites:.2%} of {totals.suites:,} suites ({alarms})"]
    unclear = totals.outcomes["unclear"] / totals.cases
    lines.append(f"runs: {totals.runs / totals.cases:.2f} a case; unclear: {unclear:.2%} of cases")
    for rate, found in totals.changed.items():
        shares = {name: found[name] / totals.suites for name in ("regressed", "by six", "unclear")}
        words = f"regressed {shares['regressed']:.1%} (after six runs at most: {shares['by six']:.1%})"
        lines.append(f"a case that fails in {rate:.0%} of its runs: {words}, unclear {shares['unclear']:.1%}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", type=int, default=10_000)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--base-runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--beside", action="store_true")
    given = parser.parse_args(arguments)
    if given.exact:
        print(exact(given.base_runs, given.cases, RepeatRules()))
        return
    if given.beside:
        print(beside(given.suites, given.cases, RepeatRules(), given.seed))
        return
    print(report(simulate(given.suites, given.cases, given.base_runs, RepeatRules(), given.seed)))


if __name__ == "__main__":
    main()
