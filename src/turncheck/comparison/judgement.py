"""A metric on both sides, and what the difference means: part of ``comparison.json``."""

from __future__ import annotations

from typing import Final, Literal

from turncheck.comparison.metrics import Better, Kind
from turncheck.report.part import Part

FEWEST_CHANGES: Final = 6
"""The exact test cannot reach 5 % with fewer (2 x 0.5^5 = 6.25 %); the same floor applies where that test does not."""

Judgement = Literal["better", "worse", "noise", "same", "not judged"]
"""What a difference means: ``noise`` is one that chance alone explains."""


class Significance(Part, frozen=True, kw_only=True):
    """How a difference was judged.

    ``mcnemar`` gives a p-value, ``bootstrap`` the 95 % interval of the difference, ``counted`` neither: stories, cases
    and findings are not a sample of anything, so each one that changes matters. ``changed``: how many examples count
    differently now.
    """

    method: Literal["mcnemar", "bootstrap", "counted"]
    """The test: ``mcnemar``, ``bootstrap``, or ``counted`` if every single change matters."""
    p_value: float | None = None
    """How likely chance alone would cause such a difference (``mcnemar``)."""
    low: float | None = None
    """The lower end of the 95 % interval of the difference (``bootstrap``)."""
    high: float | None = None
    """The upper end of the 95 % interval of the difference (``bootstrap``)."""
    changed: int | None = None
    """How many examples count differently now."""
    examples: int | None = None
    """How many examples it is based on: sentences that expect the intent, or any entity; ``None``: not known."""

    @property
    def too_few(self) -> bool:
        """Whether there are too few examples to distinguish any change from chance."""
        return self.examples is not None and self.examples < FEWEST_CHANGES


class SharedDelta(Part, frozen=True, kw_only=True):
    """A metric on only those examples, stories or cases that both sides judged."""

    base: float
    """The metric of the base on what both judged."""
    value: float
    """The metric of this side on what both judged."""
    delta: float
    """Their difference."""


class MetricDelta(Part, frozen=True, kw_only=True):
    """One metric on both sides; ``None`` if a side does not have it. If the two sides judged different examples,
    stories or cases, ``shared`` has the metric on those that both judged, and ``judgement`` is about these."""

    name: str
    """The metric's name, as the gates use it."""
    better: Better
    """Which direction is better."""
    kind: Kind
    """Whether it is a score between 0 and 1 or a count."""
    value: float | None
    """The metric of this side; ``None`` if it has none."""
    base: float | None
    """The metric of the base; ``None`` if it has none."""
    delta: float | None = None
    """Their difference; ``None`` if a side has none."""
    shared: SharedDelta | None = None
    """The same on what both sides judged, if they did not judge the same examples."""
    judgement: Judgement = "not judged"
    """What the difference means."""
    significance: Significance | None = None
    """How the difference was judged."""
    agreement: float | None = None
    """The agreement of the stand-in with the team's own model on it, 0 to 1, if that is too low for a verdict."""

    @property
    def sides(self) -> tuple[float | None, float | None]:
        """The base and value that are judged: if the sides judged different examples, those on the shared ones."""
        if self.shared is not None and self.judgement != "not judged":
            return self.shared.base, self.shared.value
        return self.base, self.value
