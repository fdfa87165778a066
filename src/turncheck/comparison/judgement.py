"""A metric on both sides, and what the difference is: of ``comparison.json``."""

from __future__ import annotations

from typing import Final, Literal

from turncheck.comparison.metrics import Better, Kind
from turncheck.report.part import Part

FEWEST_CHANGES: Final = 6
"""The exact test cannot reach 5 % with fewer (2 x 0.5^5 = 6.25 %); where it does not apply, the same floor does."""

Judgement = Literal["better", "worse", "noise", "same", "not judged"]
"""What a difference is: ``noise`` is one that chance alone explains."""


class Significance(Part, frozen=True, kw_only=True):
    """How a difference was judged.

    ``mcnemar`` gives a p-value, ``bootstrap`` the 95 % interval of the difference, ``counted`` neither: stories, cases,
    findings are not a sample of anything, each one that changes is a change. ``changed``: how many examples count
    differently now.
    """

    method: Literal["mcnemar", "bootstrap", "counted"]
    """The test: ``mcnemar``, ``bootstrap``, or ``counted`` where each change is one."""
    p_value: float | None = None
    """How likely chance alone makes such a difference (``mcnemar``)."""
    low: float | None = None
    """The lower end of the 95 % interval of the difference (``bootstrap``)."""
    high: float | None = None
    """The upper end of the 95 % interval of the difference (``bootstrap``)."""
    changed: int | None = None
    """How many examples count differently now."""
    examples: int | None = None
    """How many examples it rests on: sentences that expect the intent, or any entity; ``None``: not known."""

    @property
    def too_few(self) -> bool:
        """Whether no change could be distinguished from chance, with so few examples."""
        return self.examples is not None and self.examples < FEWEST_CHANGES


class SharedDelta(Part, frozen=True, kw_only=True):
    """A metric on those examples, stories or cases alone that both sides judged."""

    base: float
    """The metric of the base on what both judged."""
    value: float
    """The metric of this side on what both judged."""
    delta: float
    """Their difference."""


class MetricDelta(Part, frozen=True, kw_only=True):
    """One metric on both sides; ``None`` where a side does not have it. ``shared`` where the two sides
    judged different examples, stories or cases: then ``judgement`` is about those."""

    name: str
    """The metric's name, as the gates use it."""
    better: Better
    """Which way is better."""
    kind: Kind
    """Whether it is a score, 0 to 1, or a count."""
    value: float | None
    """The metric of this side; ``None`` where it has none."""
    base: float | None
    """The metric of the base; ``None`` where it has none."""
    delta: float | None = None
    """Their difference; ``None`` where a side has none."""
    shared: SharedDelta | None = None
    """The same on what both sides judged, where they did not judge the same."""
    judgement: Judgement = "not judged"
    """What the difference is."""
    significance: Significance | None = None
    """How that was judged."""
    agreement: float | None = None
    """How far the stand-in agrees with the team's own model on it, if that is too little for a verdict, 0 to 1."""

    @property
    def sides(self) -> tuple[float | None, float | None]:
        """Base and value that the judgement is about: where the sides judged others, those of what both judged."""
        if self.shared is not None and self.judgement != "not judged":
            return self.shared.base, self.shared.value
        return self.base, self.value
