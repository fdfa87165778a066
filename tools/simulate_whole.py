"""How well whole runs are judged: bots that are worse in every case, in one case, or as on the base.

python tools/simulate_whole.py [--suites 1000] [--seed 1]

The rules are those of `turncheck.comparison.repeats` and `together`, for all suites at once, with Holm's method for
what regresses by itself and for what is worse by less than `worth`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betainc, gammaln

from turncheck.comparison import together
from turncheck.settings.repeats import RepeatRules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[Any]

RULES = RepeatRules()
FLOOR, DEAD, MOST_USUAL, BEFORE, MISSES, PAIRS = 0.02, 0.99, 0.9, 4, 0.2, 4
"""As in `turncheck.comparison.repeats`; a test compares what follows from them."""


class Situation(NamedTuple):
    """How often each case fails here and on the base; ``most``: both alike, at rates of their own up to this."""

    name: str
    cases: int
    here: float = 0.0
    base: float = 0.0
    most: float = 0.0
    dead: int = 0
    drift: float = 0.0
    """By how much both fail more often in the end than in the beginning."""


SITUATIONS = (
    *(Situation("20 % worse", cases, 0.2) for cases in (8, 30, 100)),
    Situation("10 % worse", 30, 0.1),
    *(Situation("one dead case", cases, dead=1) for cases in (8, 30, 100)),
    *(Situation("one dead case, both 10 % wrong in the others", cases, 0.1, 0.1, dead=1) for cases in (8, 30)),
    *(Situation("one dead case, 20 % worse in the others", cases, 0.2, dead=1) for cases in (8, 30)),
    *(Situation("equal, never wrong", cases) for cases in (8, 30)),
    *(Situation(f"equal, {rate:.0%} wrong", cases, rate, rate) for rate in (0.05, 0.1, 0.2) for cases in (8, 30, 100)),
    *(Situation("equal, 0 to 20 % wrong", cases, most=0.2) for cases in (8, 30, 100)),
    *(Situation("equal, drifting from 5 % to 35 %", cases, 0.05, 0.05, drift=0.3) for cases in (8, 30)),
)


def evidence(lost: Floats, gained: Floats) -> Floats:
    """Return the evidence of pairs, see :func:`together.evidence_of_pairs`."""
    pairs = lost + gained
    above = np.log(np.maximum(1e-300, betainc(gained + 1, lost + 1, 0.5)))
    found: Floats = (pairs + 1) * np.log(2) + gammaln(lost + 1) + gammaln(gained + 1) - gammaln(pairs + 2) + above
    return found


class InTurn:
    """Suites whose base is asked in turn; of ``reports`` runs of each case in the base's report, if it has one."""

    def __init__(self, situation: Situation, suites: int, reports: int, chance: np.random.Generator) -> None:
        self.situation, self.chance = situation, chance
        size = (suites, situation.cases)
        rates = chance.uniform(0, situation.most, size) if situation.most else None
        self.here = np.full(size, situation.here) if rates is None else rates.copy()
        self.base = np.full(size, situation.base) if rates is None else rates
        self.here[:, : situation.dead] = 1.0
        self.failed, self.runs, self.there_failed, self.there, self.evidence, self.lost, self.gained = (
            np.zeros(size) for _ in range(7)
        )
        of_report = chance.binomial(reports, self.base)
        self.known = of_report / reports if reports else np.full(size, 0.5 - RULES.worth)
        self.level = RULES.false_alarms / situation.cases
        self.alarm = -np.log(together.allowed(RULES.false_alarms, 1))
        self.worse = np.zeros(size, dtype=bool)
        for _ in range(RULES.first):
            self.failed += chance.random(size) < self.here
            self.runs += 1
        self.suspicious = self.failed > 0
        self.usual = np.zeros(size, dtype=bool)
        self.all: Floats = np.asarray(self.suspicious.any(axis=1))
        if reports:
            for suite in np.flatnonzero(self.all):
                strata = [
                    together.Stratum(int(failed), RULES.first, int(before), reports)
                    for failed, before in zip(self.failed[suite], of_report[suite], strict=True)
                ]
                chance_of_it = together.p_value_of_losses(strata, middle=True)
                self.all[suite] = chance_of_it < together.EVEN_CHANCE

    def _rates(self) -> tuple[Floats, Floats]:
        usual = np.clip((self.known * BEFORE + self.there_failed) / (BEFORE + self.there), FLOOR, MOST_USUAL)
        return usual, np.minimum(np.maximum(0.5, usual + RULES.worth), DEAD)

    def ask(self, drift: float) -> bool:
        """Make a round of those that are wanted; return whether there were any."""
        wanted = (self.suspicious & ~self.usual & ~self.worse) | self.all[:, None]
        if not wanted.any():
            return False
        here, there = (
            self.chance.random(wanted.shape) < np.minimum(1, rate + drift) for rate in (self.here, self.base)
        )
        usual, worse = self._rates()
        worse = np.maximum(worse, np.minimum(DEAD, (self.failed + 0.5) / (self.runs + 1)))
        both = (worse + usual) / 2
        of_pair = np.where(here, np.log(worse / both), np.log((1 - worse) / (1 - both)))
        of_pair += np.where(there, np.log(usual / both), np.log((1 - usual) / (1 - both)))
        self.evidence += np.where(wanted, of_pair, 0)
        self.failed += wanted & here
        self.runs += wanted
        self.there_failed += wanted & there
        self.there += wanted
        self.lost += wanted & here & ~there
        self.gained += wanted & ~here & there
        self._decide()
        return True

    def _decide(self) -> None:
        self._find_regressed()
        usual, worse = self._rates()
        ratio = self.failed * np.log(worse / usual) + (self.runs - self.failed) * np.log((1 - worse) / (1 - usual))
        is_usual = ratio <= np.log(MISSES / (1 - self.level))
        here = self.lost + self.there_failed - self.gained
        is_usual |= (self.there >= PAIRS) & (self.there_failed > 0) & (self.there_failed >= here) & (here < self.there)
        self.usual |= self.suspicious & ~self.worse & is_usual
        self.all &= ~(evidence(self.lost.sum(axis=1), self.gained.sum(axis=1)) >= self.alarm)
        others = 2 * self.failed < self.runs
        lost, gained = (self.lost * others).sum(axis=1), (self.gained * others).sum(axis=1)
        pairs = np.where(self.worse, 0, self.there).sum(axis=1)
        enough = pairs >= min(30, 4 * self.situation.cases)
        more = np.maximum(1, (RULES.most - RULES.first) * self.situation.cases / np.maximum(1, pairs))
        self.all &= np.where(
            enough, evidence(lost * more, gained * more) >= self.alarm, (lost > gained) | (gained == 0)
        )
        self.suspicious |= ~self.all[:, None] & (self.failed > 0) & (ratio > np.log(2))

    def _find_regressed(self) -> None:
        """Find what regressed, by Holm's method: each case that is found leaves more room for the others."""
        found = -1
        while found != (found := int(self.worse.sum())):
            left = np.maximum(1, self.situation.cases - self.worse.sum(axis=1, keepdims=True))
            alarm = np.log((1 - 0.05) * left / RULES.false_alarms)
            self.worse |= (self.evidence >= alarm) & (self.failed > 0) & self.suspicious & ~self.usual

    def is_worse_by_less(self, suite: int) -> bool:
        """Whether a case that did not regress differs from the base beyond chance, see `AllTogether.worse`."""
        cases = np.flatnonzero(~self.worse[suite] & (self.failed[suite] > 0) & (self.there[suite] > 0))
        chances = (
            together.p_value_of_losses(
                [
                    together.Stratum(
                        int(self.lost[suite, case] + self.there_failed[suite, case] - self.gained[suite, case]),
                        int(self.there[suite, case]),
                        int(self.there_failed[suite, case]),
                        int(self.there[suite, case]),
                    )
                ],
                middle=True,
            )
            for case in cases
        )
        return min(chances, default=1.0) <= together.allowed(RULES.false_alarms, 1) / self.situation.cases

    def judged(self) -> tuple[float, float, float]:
        """Return which part of the runs fails, of which the whole bot is said to be worse, and the runs of a case."""
        rounds = RULES.most - RULES.first
        for number in range(rounds):
            if not self.ask(self.situation.drift * number / rounds):
                break
        losses = evidence(self.lost.sum(axis=1), self.gained.sum(axis=1)) >= self.alarm
        others = evidence((self.lost * ~self.worse).sum(axis=1), (self.gained * ~self.worse).sum(axis=1))
        is_whole = losses & (others >= -np.log(RULES.false_alarms))
        found = losses | self.worse.any(axis=1)
        for suite in np.flatnonzero(~found & (self.failed.sum(axis=1) > 0)):
            found[suite] = self.is_worse_by_less(int(suite))
        return float(found.mean()), float(is_whole.mean()), float(self.runs.mean())


def against_report(situation: Situation, suites: int, reports: int, chance: np.random.Generator) -> float:
    """Return which part of the runs fails by all cases together, if only the base's report says how it fares."""
    level = together.allowed(RULES.false_alarms, 1)
    found = 0
    for _ in range(suites):
        rates = chance.uniform(0, situation.most, situation.cases) if situation.most else None
        here = np.full(situation.cases, situation.here) if rates is None else rates
        base = chance.binomial(reports, np.full(situation.cases, situation.base) if rates is None else rates)
        failed, runs = np.zeros(situation.cases, dtype=int), 0
        for look in together.looks(RULES.first, RULES.most):
            failed, runs = failed + chance.binomial(look - runs, here), look
            strata = [
                together.Stratum(int(one), runs, int(two), reports) for one, two in zip(failed, base, strict=True)
            ]
            p_value = together.p_value_of_losses(strata, middle=True)
            if p_value <= together.level_at(runs, RULES.first, RULES.most, level):
                found += 1
                break
            if runs > RULES.first:  # what fails in most of its runs is found by itself
                others = [stratum for stratum in strata if 2 * stratum.failed <= stratum.runs]
                p_value = together.p_value_of_losses(others, middle=True)
            if not failed.any() or not together.is_worth_another_look(p_value, runs, RULES.first, RULES.most):
                break
    return found / suites


def table(suites: int, seed: int) -> str:
    """Return how many runs fail (and say so of the whole bot), and how many runs a case has, as Markdown."""
    heads = ("the bot", "cases", "in turn with the base", "the same, 5 runs in its report", "against 5 runs", "20 runs")
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for situation in SITUATIONS:
        chance = np.random.default_rng(seed)
        cells = []
        for reports in (0, 5):
            failed, whole, runs = InTurn(situation, suites, reports, chance).judged()
            cells.append(f"{failed:.1%} ({whole:.1%}), {runs:.1f} runs a case")
        is_for_one = situation.dead or situation.drift  # by itself, or not to be told apart
        cells += ["" if is_for_one else f"{against_report(situation, suites, runs, chance):.1%}" for runs in (5, 20)]
        lines.append(f"| {situation.name} | {situation.cases} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    print(table(given.suites, given.seed))


if __name__ == "__main__":
    main()
