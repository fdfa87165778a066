"""Is a test case worse than on its base, if the assistant's answers vary? Statistics of runs that pass or fail.

One case: Wald's sequential test of the rate at which it fails (A. Wald, Sequential Analysis, 1947), which asks after
each run whether the runs speak for its usual rate or for a worse one. The usual rate is the upper end of the 90 %
Jeffreys interval of the base's rate, since the base's runs are a sample as well: with the mean, a suite without any
change would fail far more often than it is allowed to. Several cases at once: Holm's step-down method (S. Holm, 1979).

One case whose base is asked in turn: a sequential test of pairs of runs (R. Turner, A. Ly, P. Grünwald: Generic
E-variables for exact sequential k-sample tests that allow for optional stopping, 2024). Each pair is weighed against
one rate that both have in common, whatever it is. So the bound on false alarms also holds if a model drifts while it is
tested, which hits both runs of a pair alike, and it needs to know nothing of the base's rate.

All cases together: :mod:`turncheck.comparison.together`.
"""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec import Struct

from turncheck.comparison.shares import ENOUGH_OF_A_BASE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Decision = Literal["usual", "worse", "open"]

_FLOOR: Final = 0.02
"""No case is taken for one that fails more rarely."""
_DEAD: Final = 0.99
"""The rate of a case that never passes, unless by accident: nothing is worse."""
_EVEN: Final = 0.5
"""A case that fails in half of its runs is worse than one may be, however well it did."""
_MOST_OF_A_NEW: Final = 0.1
"""A case that fails in so few runs is not said to fail."""
_MISSES: Final = 0.05
"""How often a case that is worse may be taken for as usual (Wald's beta)."""
_DOUBTFUL: Final = 2
"""Runs that are so many times likelier at the worse rate leave it open whether a case is worse."""
_MISSES_BESIDE: Final = 0.2
"""The same where the base is asked in turn: what is missed so counts for all cases together."""
_RUNS_BEFORE: Final = 4
"""What is known of the base when pairs begin counts as so many runs: a model may have drifted since."""
_PAIRS_THAT_TELL: Final = 4
"""After so many pairs, a case whose base fails as often as it does is as usual."""
_MOST_USUAL: Final = 0.9
"""The usual rate of pairs is at most this, so that a worse one is above it."""
_JEFFREYS: Final = 0.95
"""The upper end of a 90 % interval, of which 5 % are above."""


# One case.


class Weighed(NamedTuple):
    """What the runs of a case say: how strongly they speak for something worse, and whether for its usual rate.

    ``is_doubtful``: whether they rather speak for the worse rate.
    """

    evidence: float
    is_usual: bool
    is_doubtful: bool


class RateTest(Struct, frozen=True):
    """The sequential test of one case: the rate at which it usually fails, and a worse one."""

    usual: float
    worse: float

    def evidence(self, failed: int, passed: int) -> float:
        """Return how strongly runs speak for the worse rate, as the logarithm of a likelihood ratio."""
        return failed * log(self.worse / self.usual) + passed * log((1 - self.worse) / (1 - self.usual))

    def weigh(self, failed: int, passed: int, false_alarms: float, misses: float = _MISSES) -> Weighed:
        """Return what the runs so far say; ``false_alarms``: how often a usual case may be called worse."""
        evidence = self.evidence(failed, passed)
        return Weighed(evidence, evidence <= log(misses / (1 - false_alarms)), evidence > log(_DOUBTFUL))

    def decide(self, failed: int, passed: int, false_alarms: float) -> Decision:
        """Return what the runs so far say in a word, if there is no other case."""
        weighed = self.weigh(failed, passed, false_alarms)
        return "worse" if weighed.evidence >= alarm_at(false_alarms) else "usual" if weighed.is_usual else "open"

    def can_tell(self, runs: int, false_alarms: float) -> bool:
        """Whether a case that fails in all of so many runs would be found to be worse."""
        return self.evidence(runs, 0) >= alarm_at(false_alarms)


def rate_test(failed: int, runs: int, worth: float, typical: float = 0.0) -> RateTest | None:
    """Return the test of a case that failed in some of its runs on the base; ``None``: nothing could be worse.

    Without any runs there, it is expected to pass: it may fail as often as is still ``worth`` less than half the time.

    Args:
        failed: how many runs of the base failed.
        runs: how many the base has.
        worth: by how much it must fail more often to matter.
        typical: how often cases of the base fail. Among many that do, some were lucky in all of their runs.
    """
    usual = max(_FLOOR, typical, upper_limit(failed, runs) if runs else _EVEN - worth)
    worse = _worse_than(usual, worth)
    return RateTest(usual, worse) if usual < worse else None


def base_is_too_short(failed: int, runs: int, base: str, worth: float, typical: float = 0.0) -> bool:
    """Whether runs fail more often than those of the base by what matters, and only their number there excuses that.

    The base of a case that has run twice, say, could fail in half of its runs: nobody knows. Such a case is not as
    usual, however many of its runs pass.

    >>> base_is_too_short(4, 6, "PP", 0.4), base_is_too_short(4, 6, "PPPPP", 0.4), base_is_too_short(1, 6, "PP", 0.4)
    (True, False, False)
    """
    if not 0 < len(base) < ENOUGH_OF_A_BASE:
        return False
    return failed / runs - max(typical, base.upper().count("F") / len(base)) >= worth


def typical_rate(bases: Iterable[str]) -> float:
    """Return the median of the rates at which the cases of the base failed, by the runs of each; 0 if there are none.

    >>> typical_rate(["PPPF", "PPPP", "FFFF", ""]), typical_rate([])
    (0.25, 0.0)
    """
    rates = sorted(runs.upper().count("F") / len(runs) for runs in bases if runs)
    return rates[len(rates) // 2] if rates else 0.0


def fails_rarely(runs: str) -> bool:
    """Whether runs, ``P`` or ``F`` each, speak for a rate that a new case may have.

    >>> fails_rarely("FF" + "P" * 10), fails_rarely("FF" + "P" * 18)
    (False, True)
    """
    return RateTest(_MOST_OF_A_NEW, _EVEN).weigh(runs.count("F"), runs.count("P"), _MISSES).is_usual


def _worse_than(usual: float, worth: float) -> float:
    """Return the least rate that matters."""
    return min(max(_EVEN, usual + worth), _DEAD)


class RunBesideBase(NamedTuple):
    """Whether a run failed, and whether the one on the base beside it did; ``None``: there is none."""

    failed: bool
    base_failed: bool | None


def weigh_pairs(
    runs: Iterable[RunBesideBase], base_failed: int, base_runs: int, worth: float, false_alarms: float
) -> Weighed:
    """Weigh the runs of a case whose base is asked in turn.

    Args:
        runs: its runs in their order. Those that have none of the base beside them are no evidence of something worse:
            they made it suspicious.
        base_failed: how many runs of the base failed before.
        base_runs: how many there were.
        worth: by how much it must fail more often to matter.
        false_alarms: how often a case that is as on the base may be called worse.
    """
    known = base_failed / base_runs if base_runs else _EVEN - worth
    evidence, failed, in_all, there_failed, there_in_all, in_turn = 0.0, 0, 0, 0, 0, 0

    def rates() -> RateTest:
        usual = (known * _RUNS_BEFORE + there_failed) / (_RUNS_BEFORE + there_in_all)
        usual = min(max(_FLOOR, usual), _MOST_USUAL)
        return RateTest(usual, _worse_than(usual, worth))

    for here, there in runs:
        if there is not None:
            expected = rates()
            here_now = min(_DEAD, (failed + 0.5) / (in_all + 1))
            evidence += _evidence_of_pair(here, there, max(expected.worse, here_now), expected.usual)
            there_failed, there_in_all, in_turn = there_failed + there, there_in_all + 1, in_turn + here
        failed, in_all = failed + here, in_all + 1
    weighed = rates().weigh(failed, in_all - failed, false_alarms, _MISSES_BESIDE)
    is_alike = there_in_all >= _PAIRS_THAT_TELL and 0 < there_failed >= in_turn < there_in_all
    return weighed._replace(evidence=evidence, is_usual=weighed.is_usual or is_alike)


def _evidence_of_pair(here: bool, there: bool, worse: float, usual: float) -> float:
    """Return how much better two rates explain a pair of runs than their mean does, as the logarithm of a ratio."""

    def likelihood(failed: bool, rate: float) -> float:
        return log(rate if failed else 1 - rate)

    both = (worse + usual) / 2
    apart = likelihood(here, worse) + likelihood(there, usual)
    return apart - likelihood(here, both) - likelihood(there, both)


@lru_cache(maxsize=10_000)
def upper_limit(failed: int, runs: int) -> float:
    """Return the upper end of the 90 % Jeffreys interval of a rate; 1 if every run failed.

    >>> round(upper_limit(0, 20), 3), upper_limit(3, 3)
    (0.09, 1.0)
    """
    if failed >= runs:
        return 1.0
    from scipy.special import betaincinv  # only where cases are run several times

    return float(betaincinv(failed + 0.5, runs - failed + 0.5, _JEFFREYS))


def alarm_at(false_alarms: float) -> float:
    """Return the evidence at which a case is worse (Wald's upper boundary)."""
    return log((1 - _MISSES) / false_alarms)


def alarms(evidence: Mapping[int, float], false_alarms: float, cases: int, before: int) -> list[int]:
    """Return the cases that are worse, by Holm's method: each that is found leaves more room for the others.

    Args:
        evidence: how strongly the runs of each open case, by its number, speak for something worse.
        false_alarms: how often any case of an unchanged assistant may be called worse.
        cases: how many cases there are in all.
        before: how many were found to be worse before.
    """
    found: list[int] = []
    for case in sorted(evidence, key=lambda case: -evidence[case]):
        if evidence[case] < alarm_at(false_alarms / max(1, cases - before - len(found))):
            break
        found.append(case)
    return found
