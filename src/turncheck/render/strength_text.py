"""The strength of the tests and the robustness of the assistant in words.

Both are for a document's section, and in plain lines for the terminal and for logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.phrasing import count
from turncheck.render.phrases import confidence_text, expected_got
from turncheck.render.sinks.terminal import place, text
from turncheck.render.spans import Line, Prose, Said, Span, line, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.report.model import FailedVariant, MutantGroup, NoiseGroup, Report, Robustness, Strength
    from turncheck.report.strength import SuggestedTest

_KILLERS: Final = {
    "sentence": "test sentences",
    "story": "test stories",
    "case": "end-to-end cases",
    "validation": "validation alone",
}
_MOST_SURVIVORS: Final = 50
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


def strength_text(strength: Strength, folder: str = "") -> str:
    """Show the score, by kind and file, and the survivors with their places, relative to the current folder."""
    return "\n".join([*_figures(strength), *_survivors(strength, folder), ""])


def _figures(strength: Strength) -> Iterator[str]:
    total = strength.killed + strength.survived
    if strength.score is None:
        where = " on the lines that the change touches" if strength.scope == "changed" else ""
        none = "No planted fault changes anything" if strength.equivalent else "No fault could be planted"
        yield f"{none}{where}: there is nothing to notice."
    else:
        noticed = f"{strength.killed} of {count(total, 'planted fault')} noticed"
        alone = "" if strength.by_tests is None else f"; by tests alone {strength.by_tests:.2f}"
        yield f"Strength of the tests: {strength.score:.2f} ({noticed}{alone})"
    yield from (f"  {text(words, 400)}" for words in _lines(strength))
    yield from _table("By kind", strength.by_kind)
    yield from _table("By file", strength.by_file)


def _table(title: str, groups: Sequence[MutantGroup]) -> Iterator[str]:
    if not groups:
        return
    width = max(len(text(group.name, 60)) for group in groups)
    yield f"{title}:"
    for group in groups:
        score = " – " if group.score is None else f"{group.score:.2f}"
        # Only mentioned if it is a different one.
        alone = "" if group.by_tests in {None, group.score} else f", by tests alone {group.by_tests:.2f}"
        noticed = f"{group.killed} of {group.killed + group.survived}{alone}"
        yield f"  {text(group.name, 60):<{width}}  {score:>4}  {noticed}"


def _survivors(strength: Strength, folder: str) -> Iterator[str]:
    survived = [mutant_result for mutant_result in strength.mutants if mutant_result.outcome == "survived"]
    if survived:
        yield ""
        yield f"Faults that no test notices ({len(survived)}):"
    for mutant in survived[:_MOST_SURVIVORS]:
        yield f"  {place(mutant.location, folder)}: {text(mutant.what, 300)}"
    if len(survived) > _MOST_SURVIVORS:
        yield f"  … and {len(survived) - _MOST_SURVIVORS} more: all of them are in the report (--json)"


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
    return "\n".join([*_robustness_figures(robustness), *_worst(robustness, folder), ""])


def _robustness_figures(robustness: Robustness) -> Iterator[str]:
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
    yield from _noise_table("By family", whole)
    worst = [group for group in _worst_first(robustness.by_intent) if group.failed][:_MOST]
    yield from _noise_table("Worst intents", worst)


def _noise_table(title: str, groups: Sequence[NoiseGroup]) -> Iterator[str]:
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
