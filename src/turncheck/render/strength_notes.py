"""The strength of the tests and the robustness of the assistant in words, for the sections about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.phrasing import count
from turncheck.render.phrases import confidence_text, expected_got
from turncheck.render.spans import Line, Prose, Said, Span, line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.report.model import FailedVariant, NoiseGroup, Report, Robustness, Strength
    from turncheck.report.strength import SuggestedTest

_KILLERS: Final = {
    "sentence": "test sentences",
    "story": "test stories",
    "case": "end-to-end cases",
    "validation": "validation alone",
}
_NAMED: Final = 3
"""This many suggested tests are named in a document."""


def judged_mutants(report: Report) -> int:
    """Return how many mutants there were to notice."""
    strength = report.strength
    return strength.killed + strength.survived if strength else 0


def strength_note(report: Report) -> Line:
    """Say which mutants were noticed by what, and which do not count."""
    strength = report.strength
    if strength is None:
        return ()
    by_validation = strength.by_tests is not None and strength.killed_by.get("validation")
    alone = [f"By tests alone: {strength.by_tests:.2f}."] if by_validation else []
    said = [part for words in (*alone, *_lines(strength)) for part in (" ", Prose(words))]
    return line(*said[1:], *_to_write_next(strength.suggested))


def strength_in_words(strength: Strength) -> str:
    """Return the score in one line, or why there is none."""
    if strength.score is None:
        where = " on the lines that the change touches" if strength.scope == "changed" else ""
        none = "No planted fault changes anything" if strength.equivalent else "No fault could be planted"
        return f"{none}{where}: there is nothing to notice."
    noticed = f"{strength.killed} of {count(strength.killed + strength.survived, 'planted fault')} noticed"
    alone = "" if strength.by_tests is None else f"; by tests alone {strength.by_tests:.2f}"
    return f"Strength of the tests: {strength.score:.2f} ({noticed}{alone})"


def _to_write_next(suggested: Sequence[SuggestedTest]) -> Iterator[Span | str]:
    """Name the tests that would notice the most."""
    if suggested:
        yield " To write next: "
    for number, suggestion in enumerate(suggested[:_NAMED]):
        yield "; " if number else ""
        yield from ("a case along " if suggestion.kind == "case" else "a test story along ", Prose(suggestion.along))
        yield f" (would notice {count(len(suggestion.notices), 'fault')})"
    if suggested:
        yield "."


def _lines(strength: Strength) -> Iterator[str]:
    noticed = [f"{number:,} by {_KILLERS[name]}" for name, number in strength.killed_by.items() if number]
    yield f"Noticed: {', '.join(noticed) or 'none'}."
    if strength.equivalent:
        yield f"Left out, since they change nothing: {count(strength.equivalent, 'fault')}."
    if strength.survived:
        does = "writes" if strength.suggested else "looks for"
        yield f"`turncheck suggest` {does} tests that would notice the rest."
    yield from strength.remarks


def variant_line(failed_variant: FailedVariant, intent: str) -> Line:
    """Say what became of a variant: ``typo: 'ordwr a pizza': expected order, got inform (0.41)``."""
    head = line(f"{failed_variant.family}: ", Said(failed_variant.text), ": ")
    if failed_variant.intent_failed:
        return line(
            head,
            expected_got(intent, failed_variant.predicted or "no intent"),
            confidence_text(failed_variant.confidence),
        )
    return line(head, "its entities are no longer found")


def robustness_note(robustness: Robustness) -> Line:
    """Show the rate of each family, the worst first."""
    rates = [f"{group.name} {rate_in_words(group)}" for group in worst_first(robustness.by_family)]
    return line(f"Misunderstood variants by family: {'; '.join(rates)}.")


def robustness_in_words(robustness: Robustness) -> str:
    """Return the rate in one line, or why there is none."""
    if robustness.failure_rate is None:
        return "No sentence that is understood could be varied: there is nothing to measure."
    of = "test sentences" if robustness.mode == "held-out" else "sentences of the training data, by folds"
    interval = f"95 % interval {robustness.low or 0:.1%} to {robustness.high or 0:.1%}"
    counted = f"{robustness.failed} of {robustness.variants} variants of {robustness.sentences} {of}"
    entities = robustness.entities
    lost = f"; entities lost: {rate_in_words(entities)}" if entities.variants else ""
    return f"Misunderstood under noise: {robustness.failure_rate:.1%} ({counted}; {interval}){lost}"


def worst_first(groups: Sequence[NoiseGroup]) -> list[NoiseGroup]:
    """Return the groups that have a rate, the highest first."""
    judged = [group for group in groups if group.failure_rate is not None]
    return sorted(judged, key=lambda noise_group: -(noise_group.failure_rate or 0.0))


def rate_in_words(group: NoiseGroup) -> str:
    """Say how many of its variants are misunderstood, with the interval that this leaves."""
    if group.failure_rate is None or group.low is None or group.high is None:
        return "–"
    interval = f"95 % interval {group.low:.1%} to {group.high:.1%}"
    return f"{group.failure_rate:.1%} ({group.failed} of {group.variants}, {interval})"
