"""Robustness in words: for a document's section, and in plain lines for the terminal and for logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.render.phrases import confidence_text, expected_got
from turncheck.render.sinks.terminal import place, text
from turncheck.render.spans import Said, line, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.render.spans import Line
    from turncheck.report.model import FailedVariant, NoiseGroup, Robustness

_MOST: Final = 20


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
    rates = [f"{group.name} {_rate(group)}" for group in _worst_first(robustness.by_family)]
    return line(f"Misunderstood variants by family: {'; '.join(rates)}.")


def _worst_first(groups: Sequence[NoiseGroup]) -> list[NoiseGroup]:
    judged = [group for group in groups if group.failure_rate is not None]
    return sorted(judged, key=lambda noise_group: -(noise_group.failure_rate or 0.0))


def _rate(group: NoiseGroup) -> str:
    if group.failure_rate is None or group.low is None or group.high is None:
        return "–"
    interval = f"95 % interval {group.low:.1%} to {group.high:.1%}"
    return f"{group.failure_rate:.1%} ({group.failed} of {group.variants}, {interval})"


def robustness_text(robustness: Robustness, folder: str = "") -> str:
    """Show the rates, by family and intent, and the worst sentences with their places from the current folder."""
    return "\n".join([*_figures(robustness), *_worst(robustness, folder), ""])


def _figures(robustness: Robustness) -> Iterator[str]:
    of = "test sentences" if robustness.mode == "held-out" else "sentences of the training data, by folds"
    yield from robustness.remarks
    if robustness.failure_rate is None:
        yield "No sentence that is understood could be varied: there is nothing to measure."
        return
    whole = [group for group in robustness.by_family if group.variants]
    interval = f"95 % interval {robustness.low or 0:.1%} to {robustness.high or 0:.1%}"
    counted = f"{robustness.failed} of {robustness.variants} variants of {robustness.sentences} {of}"
    yield f"Misunderstood under noise: {robustness.failure_rate:.1%} ({counted}; {interval})"
    if robustness.entities.variants:
        yield f"Entities lost under noise: {_rate(robustness.entities)}"
    yield from _table("By family", whole)
    worst = [group for group in _worst_first(robustness.by_intent) if group.failed][:_MOST]
    yield from _table("Worst intents", worst)


def _table(title: str, groups: Sequence[NoiseGroup]) -> Iterator[str]:
    if groups:
        yield f"{title}:"
        width = max(len(text(group.name, 40)) for group in groups)
        yield from (f"  {text(group.name, 40):<{width}}  {_rate(group)}" for group in groups)


def _worst(robustness: Robustness, folder: str) -> Iterator[str]:
    if robustness.worst:
        yield ""
        yield "Sentences misunderstood under noise:"
    for sentence in robustness.worst[:_MOST]:
        yield f"  {place(sentence.location, folder)}: {text(sentence.text, 100)} ({text(sentence.intent)})"
        yield from (f"    {text(plain(variant_line(variant, sentence.intent)), 300)}" for variant in sentence.failed)
    if len(robustness.worst) > _MOST:
        yield f"  … and {len(robustness.worst) - _MOST} more: they are in the report (--json)"
