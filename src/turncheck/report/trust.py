"""How far a stand-in agrees with the team's own model: what ``turncheck calibrate`` measures and a run shows."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, Literal

from turncheck.report.part import Date, Figure, Part, Whole

CALIBRATION_SCHEMA: Final = "turncheck/calibration/v1"

LEAST_AGREEMENT: Final = 0.7
"""If a stand-in agrees less with the team's model, changes of its figures say nothing about that model."""

FEWEST_COMPARED: Final = 5
"""With fewer comparisons than this the overall agreement is used instead."""


class Agreement(Part, frozen=True, kw_only=True):
    """How often both said the same, and how often each said anything."""

    both: Whole
    """How often both said the same of the same sentence or story."""
    ours: Whole
    """How often the stand-in said it."""
    theirs: Whole
    """How often the team's model said it."""

    @property
    def share(self) -> float | None:
        """Dice's coefficient, 0 to 1: the F1 of the stand-in if the team's model were the truth."""
        return 2 * self.both / (self.ours + self.theirs) if self.ours + self.theirs else None

    @property
    def few(self) -> bool:
        """Whether it rests on so little that it says nothing by itself."""
        return max(self.ours, self.theirs) < FEWEST_COMPARED

    @property
    def too_low(self) -> bool:
        """Whether changes of the stand-in's figures are shown without a verdict."""
        return self.share is not None and self.share < LEAST_AGREEMENT


class ConfidenceMap(Part, frozen=True, kw_only=True):
    """The team's confidence for one of the stand-in's: the same quantiles of both, straight lines between."""

    ours: tuple[Figure, ...]
    """Confidences of the stand-in, ascending, each once."""
    theirs: tuple[Figure, ...]
    """What the team's model has at the same share of sentences, ascending."""
    fallbacks: Figure | None = None
    """The share of the sentences that the team's model fell back on; ``None`` without a fallback."""
    thresholds: tuple[Figure, Figure] | None = None
    """The fallback's threshold and ambiguity threshold at which these were counted."""
    mode: Literal["held-out", "cross-validation"] | None = None
    """Whether they were counted on test sentences or in folds; ``None`` in older files."""

    def fallbacks_at(self, thresholds: tuple[float, float], *, in_folds: bool) -> float | None:
        """Return the share of fallbacks; ``None`` if it was counted at other thresholds, or on other sentences."""
        mode = "cross-validation" if in_folds else "held-out"
        known = self.thresholds in (None, thresholds) and self.mode in (None, mode)
        return self.fallbacks if known else None

    def of(self, confidence: float) -> float:
        """Return the confidence that the team's model would have."""
        place = bisect_right(self.ours, confidence)
        if place == 0:
            return self.theirs[0]
        if place == len(self.ours):
            return self.theirs[-1]
        left, right = self.ours[place - 1], self.ours[place]
        share = (confidence - left) / (right - left)
        return self.theirs[place - 1] + share * (self.theirs[place] - self.theirs[place - 1])


class Agreements(Part, frozen=True, kw_only=True):
    """What both models said, side by side."""

    sentences: Agreement | None = None
    """Test sentences of which both understood the same intent; ``None`` where none was compared."""
    entities: Agreement | None = None
    """Entities that both found: same type and exact borders."""
    stories: Agreement | None = None
    """Test stories that pass, or fail, with both."""
    intents: dict[str, Agreement] = {}
    """The sentences by what they were understood as."""
    entity_types: dict[str, Agreement] = {}
    """The entities by their type."""


class Calibration(Part, frozen=True, kw_only=True):
    """The file that `turncheck calibrate` writes (``.turncheck/calibration.json``)."""

    schema: Literal["turncheck/calibration/v1"] = CALIBRATION_SCHEMA
    """Which document this is, and in which version."""
    version: str
    """The turncheck that wrote it."""
    date: str
    """When the two were compared: ``2026-11-12``."""
    engine: str
    """What the team's model ran on: ``rasa 3.6.21``."""
    pipeline: str
    """A digest of the pipeline and the policies that the stand-in replaced."""
    assistant: tuple[str, ...] | None = None
    """The assistant's intents, by which it is recognised; ``None`` in older files."""
    components: tuple[str, ...] | None = None
    """The pipeline's components by name; ``None`` in older files."""
    vectors: str | None = None
    """The SHA-256 of the stand-in's sentence vectors, empty without any; ``None`` in older files."""
    agreements: Agreements
    """What both said, side by side."""
    confidences: ConfidenceMap | None = None
    """The team's confidence for each of the stand-in's; ``None`` where too few sentences were compared."""


class Trust(Part, frozen=True, kw_only=True):
    """What is known about how the stand-in compares with the team's own model."""

    path: str
    """The file it was read from, relative to the project."""
    date: Date = ""
    """When the two were compared."""
    engine: str = ""
    """What the team's model ran on."""
    agreements: Agreements = Agreements()
    """What both said, side by side."""
    outdated: bool = False
    """Whether pipeline or policies have changed since."""
    changed: str = ""
    """How the stand-in that was compared was another one, so that its confidences do not count; empty if it was not."""
    confidences: ConfidenceMap | None = None
    """The map that the fallback used; ``None`` if it used the stand-in's own confidences."""
    problem: str = ""
    """Why the file is not used; empty where it is."""

    def agreement_on(self, metric: str) -> Agreement | None:
        """Return the agreement that a metric depends on; ``None`` if there is none, or none is known.

        For an intent or an entity type that was only compared a few times it is that of all.
        """
        name = metric.rpartition("[")[2].rpartition("].")[0]
        known = self.agreements
        if metric.startswith(("nlu.intents", "nlu.understood", "nlu.calibration_error")):
            of_one = known.intents.get(name) if metric.startswith("nlu.intents[") else None
            return known.sentences if of_one is None or of_one.few else of_one
        if metric.startswith("nlu.entities."):
            of_one = known.entity_types.get(name) if name else None
            return known.entities if of_one is None or of_one.few else of_one
        if metric.startswith("core."):
            return known.stories
        return None
