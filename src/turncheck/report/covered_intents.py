"""The part of the report about what of a Kore.ai assistant is tested, in the figures of the platform's health page."""

from __future__ import annotations

from turncheck.report.part import Count, Figure, Part


class CoveredKind(Part, frozen=True, kw_only=True):
    """The intents of one kind, or the entities."""

    covered: Count
    """Those that are tested."""
    total: Count
    """All of them; dialogs without utterances are left out."""


class CoveredIntents(Part, frozen=True, kw_only=True):
    """How much of the project is tested, over the kinds that it has, computed in two ways."""

    pooled: Figure | None
    """All tested dialogs, FAQs and small talk among all of them; ``None`` where there are none."""
    mean: Figure
    """The plain mean of the shares of all kinds: dialogs, FAQs, small talk, traits, entities."""
    kinds: dict[str, CoveredKind] = {}
    """Each kind that the project has."""
    without: tuple[str, ...] = ()
    """The kinds that the project does not have: they are left out of the mean."""
    uncovered: tuple[str, ...] = ()
    """The intents that nothing tests, sorted."""
