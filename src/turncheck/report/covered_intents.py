"""The part of the report about what of a Kore.ai assistant is tested, in the figures of the platform's health page."""

from __future__ import annotations

from turncheck.report.part import Part


class CoveredKind(Part, frozen=True, kw_only=True):
    """The intents of one kind."""

    covered: int
    """Those that are tested."""
    total: int
    """All of them; dialogs without utterances are left out."""


class CoveredIntents(Part, frozen=True, kw_only=True):
    """How many of the project's intents are tested, over all kinds that it has, computed in two ways."""

    pooled: float
    """All tested intents among all intents."""
    mean: float
    """The plain mean of the kinds' shares."""
    kinds: dict[str, CoveredKind] = {}
    """Each kind of which the project has intents."""
    without: tuple[str, ...] = ()
    """The kinds of which the project has no intents: they are left out."""
    uncovered: tuple[str, ...] = ()
    """The intents that nothing tests, sorted."""
