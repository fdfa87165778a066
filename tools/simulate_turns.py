"""How well it is judged whether turns became slower or dearer: simulated turns of a change and of its base.

python tools/simulate_turns.py [--runs 1000] [--seed 1]

Milliseconds are log-normal (σ = 0.3) around 800, in turn with the base; they are judged as in a run, by
`turncheck.comparison.turns`. Tokens are those of cases whose messages differ in length, and vary a little.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from turncheck.comparison.turns import tested_turns
from turncheck.messages.finding import Location
from turncheck.report.measured import MeasuredRun, MeasuredTurn
from turncheck.report.model import CaseResult

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGMA, MEDIAN = 0.3, 800.0


class Situation(NamedTuple):
    """How many cases of one turn are run twice, and what of this side is how many times as much."""

    name: str
    cases: int
    slower: float = 1.0
    longer: float = 1.0
    tail: float = 1.0
    """How many times as long one turn in ten takes."""
    in_turn: bool = True
    drift: float = 1.0
    """How many times as slow both are in the end as in the beginning."""


SITUATIONS = (
    Situation("nothing changed", 30),
    Situation("nothing changed", 50),
    Situation("nothing changed", 100),
    Situation("nothing changed, both become three times as slow", 50, drift=3.0),
    Situation("20 % slower", 30, slower=1.2),
    Situation("20 % slower", 50, slower=1.2),
    Situation("one turn in ten takes four times as long", 50, tail=4.0),
    Situation("30 % more tokens", 8, longer=1.3),
    Situation("30 % more tokens", 50, longer=1.3),
    Situation("nothing changed, against the base's report", 50, in_turn=False),
    Situation("30 % more tokens, against the base's report", 8, longer=1.3, in_turn=False),
)


def results(situation: Situation, chance: np.random.Generator) -> list[tuple[CaseResult, CaseResult]]:
    """Return the cases of the base and of this side."""
    found = []
    number = situation.cases
    for case in range(number):
        words = int(chance.integers(100, 1000))

        def turn(slower: float, longer: float, tail: float, words: int = words, case: int = case) -> MeasuredTurn:
            drift = 1 + (situation.drift - 1) * case / number
            times = slower * drift * (tail if chance.random() < 0.1 else 1.0)
            milliseconds = round(MEDIAN * times * float(np.exp(SIGMA * chance.standard_normal())), 1)
            tokens = round(words * longer * (1 + 0.05 * float(chance.standard_normal())))
            return MeasuredTurn(first_ms=milliseconds, ms=milliseconds, tokens_in=max(1, tokens))

        here = [(turn(situation.slower, situation.longer, situation.tail),) for _ in range(2)]
        there = [(turn(1.0, 1.0, 1.0),) for _ in range(2)]
        runs = [
            MeasuredRun(turns=one, base=other if situation.in_turn else ())
            for one, other in zip(here, there, strict=True)
        ]
        found.append((_case(case, [MeasuredRun(turns=one) for one in there]), _case(case, runs)))
    return found


def _case(number: int, runs: Sequence[MeasuredRun]) -> CaseResult:
    place = Location("tests/e2e_test_cases.yml", number + 1)
    return CaseResult(name=f"case {number}", location=place, passed=True, outcome="passed", measured=tuple(runs))


def simulated(situation: Situation, runs: int, seed: int) -> dict[str, float]:
    """Return in which part of the runs each figure is called worse, and in which any is."""
    chance = np.random.default_rng(seed)
    worse: dict[str, int] = {"turns.ms.p50": 0, "turns.ms.p95": 0, "tokens.in": 0}
    any_time = 0
    for _ in range(runs):
        tested = tested_turns(results(situation, chance), seed)
        found = [name for name, (base, value, _, is_real) in tested.items() if is_real and value > base]
        for name in found:
            worse[name] += 1
        any_time += any(name.startswith("turns.ms") for name in found)
    return {name: number / runs for name, number in {**worse, "either milliseconds": any_time}.items()}


def table(runs: int, seed: int) -> str:
    """Return which part of the runs is called worse, as Markdown."""
    heads = ("the bot", "turns", "`turns.ms.p50`", "`turns.ms.p95`", "one of them", "`tokens.in`")
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for situation in SITUATIONS:
        found = simulated(situation, runs, seed)
        names = ("turns.ms.p50", "turns.ms.p95", "either milliseconds", "tokens.in")
        cells = " | ".join(f"{found[name]:.1%}" for name in names)
        lines.append(f"| {situation.name} | {2 * situation.cases} | {cells} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    print(table(given.runs, given.seed))


if __name__ == "__main__":
    main()
