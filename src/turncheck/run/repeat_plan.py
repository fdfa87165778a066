"""Which tests of a run are repeated, and what is left of the budget that they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turncheck.evaluation.repeats import Share
from turncheck.settings.repeats import ONCE, RepeatRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.report.evaluations import Evaluation


@dataclass(frozen=True, slots=True)
class RepeatedTests:
    """The tests of an evaluation that are repeated.

    ``turns``: how many messages their first runs send within the budget. That of the first time that a sentence or
    utterance is asked is not: it is what a run without repeats costs.
    """

    number: int
    turns: int
    rules: RepeatRules


@dataclass(eq=False)
class RepeatPlan:
    """Which tests of a run are repeated, and what is left of the budget that they share.

    Each evaluation may use what its first runs take, and of the rest a part in proportion to these; what one leaves is
    for those after it.
    """

    rules: RepeatRules = ONCE
    tests: Mapping[Evaluation, RepeatedTests] = field(default_factory=dict)
    turns: int = 0
    seconds: float = 0.0
    done: set[Evaluation] = field(default_factory=set)

    def share(self, evaluation: Evaluation) -> Share:
        """Return what the tests of an evaluation may cost, and how many tests share the false alarms."""
        weights = {name: max(1, tests.turns) for name, tests in self.tests.items() if name not in self.done}
        part = weights[evaluation] / sum(weights.values())
        own = self.tests[evaluation].turns
        others = sum(self.tests[name].turns for name in weights if name != evaluation)
        rest = max(0, self.rules.turns - self.turns - own - others)
        seconds = max(0.0, self.rules.seconds - self.seconds)
        return Share(own + int(rest * part), seconds * part, sum(tests.number for tests in self.tests.values()))

    def spend(self, evaluation: Evaluation, turns: int, seconds: float) -> None:
        """Take what an evaluation used from the budget; it is done."""
        self.turns += turns
        self.seconds += seconds
        self.done.add(evaluation)
