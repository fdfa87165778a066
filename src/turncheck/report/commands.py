"""The part of the report about the commands that a language model gives for messages, as dialogue understanding tests
count them."""

from __future__ import annotations

from turncheck.report.part import Count, Part


class CommandCounts(Part, frozen=True, kw_only=True):
    """How often commands of a kind were expected and given, over all messages of the tests."""

    command: str
    """The kind of command: ``start flow``, ``set slot`` …"""
    tp: Count
    """True positives: expected and given."""
    fp: Count
    """False positives: given, not expected."""
    fn: Count
    """False negatives: expected, not given."""

    @property
    def precision(self) -> float | None:
        """The share of given commands that were expected; ``None`` where none was given."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else None

    @property
    def recall(self) -> float | None:
        """The share of expected commands that were given; ``None`` where none was expected."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; ``None`` where there was nothing to expect or give."""
        total = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / total if total else None
