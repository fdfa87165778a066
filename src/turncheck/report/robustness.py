"""The report's section on how language understanding copes with the noise of real users."""

from __future__ import annotations

from typing import Literal

from turncheck.messages.finding import Location
from turncheck.report.part import Count, Figure, Part


class NoiseGroup(Part, frozen=True, kw_only=True):
    """Variants of one family or one intent: how many that were right before are wrong after."""

    name: str
    """The family, or the intent."""
    variants: Count
    """How many variants there are of sentences that were right."""
    failed: Count
    """How many of these are wrong."""
    failure_rate: Figure | None
    """failed / variants, 0 to 1; ``None`` without any."""
    low: Figure | None
    """The lower end of its 95 % interval (Wilson)."""
    high: Figure | None
    """The upper end."""


class FailedVariant(Part, frozen=True, kw_only=True):
    """A variant that is not understood as its sentence is."""

    family: str
    """What was done to the sentence: ``typo``, ``casing`` …"""
    text: str
    """The variant."""
    predicted: str | None
    """The intent it is understood as."""
    confidence: Figure
    """How sure the engine is of that, 0 to 1."""
    intent_failed: bool
    """Whether its intent is wrong, and was right."""
    entities_failed: bool
    """Whether its entities are, and were right."""


class SentenceUnderNoise(Part, frozen=True, kw_only=True):
    """A sentence, and those of its variants that are wrong."""

    text: str
    """The sentence."""
    intent: str
    """Its intent."""
    location: Location
    """Where it is."""
    failed: tuple[FailedVariant, ...]
    """The variants that are wrong."""


class Robustness(Part, frozen=True, kw_only=True):
    """How often a sentence that is understood is not any more when people write it otherwise."""

    mode: Literal["held-out", "cross-validation"]
    """Whether test sentences were varied, or those of the training data, by folds."""
    sentences: Count
    """How many sentences were varied."""
    variants: Count
    """How many variants there are of sentences whose intent was right."""
    failed: Count
    """How many of these have a wrong intent."""
    failure_rate: Figure | None
    """failed / variants, 0 to 1; ``None`` without any."""
    low: Figure | None
    """The lower end of its 95 % interval (Wilson)."""
    high: Figure | None
    """The upper end."""
    entities: NoiseGroup
    """The same for entities: of sentences whose entities were all found."""
    by_family: tuple[NoiseGroup, ...]
    """Wrong intents by family of variants."""
    entities_by_family: tuple[NoiseGroup, ...]
    """Wrong entities by family of variants."""
    by_intent: tuple[NoiseGroup, ...]
    """Wrong intents by intent."""
    worst: tuple[SentenceUnderNoise, ...]
    """The sentences with the most variants that are wrong."""
    remarks: tuple[str, ...] = ()
    """What else a reader must know."""
