"""Batch suites in plain lines: each suite's numbers, then the cases that failed, then the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.cases import batch_actual, batch_expected
from turncheck.comparison.wording import count, expected_got, figure
from turncheck.render.covered_text import KIND_NAMES, covered_lines
from turncheck.render.sinks.terminal import place, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Batch, BatchCase, BatchNumbers, BatchSuite

_MOST_FAILURES: Final = 200


def batch_text(batch: Batch, *, folder: str = "") -> str:
    """Return all lines about the batch suites; ``folder`` is the project's path from the current folder."""
    lines = [line for suite in batch.suites for line in _suite(suite, folder)]
    if len(batch.suites) > 1:
        lines += [f"all {len(batch.suites)} suites", *_numbers(batch), ""]
    lines += covered_lines(batch.coverage)
    lines += batch_remarks(batch)
    lines.append(f"{batch.failed:,} failed, {batch.passed:,} passed" if batch.failed else f"{batch.passed:,} passed")
    return "\n".join(lines) + "\n"


def batch_remarks(batch: Batch) -> Iterator[str]:
    """Yield what a reader must know before believing the figures."""
    if batch.on_training:
        of = f"{batch.on_training:,} of {count(len(batch.cases), 'batch utterance')}"
        verb = "is a training sentence" if batch.on_training == 1 else "are training sentences"
        yield f"{of} {verb}: the figures are optimistic."
    if batch.not_evaluated:
        first = next((case.reason for case in batch.cases if case.result == "not-evaluated"), None) or "no answer"
        verb = "was" if batch.not_evaluated == 1 else "were"
        yield f"{count(batch.not_evaluated, 'batch case')} {verb} not evaluated: {text(first, 300)}"


def _suite(suite: BatchSuite, folder: str) -> Iterator[str]:
    outcome = f" ({suite.outcome})"
    yield f"suite {text(suite.name)}: {count(len(suite.cases), 'case')}{outcome}"
    if suite.description:
        yield f"  {text(suite.description, 400)}"
    yield from _numbers(suite)
    kinds = {kind: numbers for kind, numbers in suite.kinds.items() if numbers.passed or numbers.failed}
    if len(kinds) > 1:
        for kind, numbers in kinds.items():
            counts = numbers.counts
            words = f"TP {counts.tp}, TN {counts.tn}, FP {counts.fp}, FN {counts.fn}"
            cases = count(counts.total + numbers.not_evaluated, "case")
            yield f"  {KIND_NAMES.get(kind, kind):<11} {cases}: {words}, F1 {figure(numbers.f1, 'score')}"
    failed = [case for case in suite.cases if not case.passed]
    if (alike := _one_reason(suite)) is not None:
        yield f"  no case was evaluated: {text(alike, 400)}"
        failed = []
    for case in failed[:_MOST_FAILURES]:
        yield f"{place(case.location, folder)}: {_failure(case)}"
    if len(failed) > _MOST_FAILURES:
        yield f"… and {len(failed) - _MOST_FAILURES:,} more failed cases in the report"
    yield ""


def _one_reason(suite: BatchSuite) -> str | None:
    """Return why no case of a suite was evaluated, if there are several with the same reason."""
    reasons = {case.reason for case in suite.cases if case.result == "not-evaluated"}
    is_whole = suite.not_evaluated == len(suite.cases) > 1
    return next(iter(reasons)) if is_whole and len(reasons) == 1 else None


def _numbers(numbers: BatchNumbers) -> Iterator[str]:
    counts = numbers.counts
    unanswered = f", not evaluated {numbers.not_evaluated}" if numbers.not_evaluated else ""
    yield f"  TP {counts.tp}, TN {counts.tn}, FP {counts.fp}, FN {counts.fn}{unanswered}"
    scores = [("precision", numbers.precision), ("recall", numbers.recall), ("F1", numbers.f1)]
    scores += [("accuracy", numbers.accuracy)] if numbers.accuracy is not None else []
    shown = (f"{name} {figure(value or 0.0, 'score')}" for name, value in scores)
    yield f"  {', '.join(shown)}"
    parts = [] if numbers.intent_success is None else [f"intents {_percent(numbers.intent_success)} right"]
    if numbers.entity_success is not None:
        found = f"{numbers.matched_entities:,} of {count(numbers.entities, 'entity', 'entities')}"
        parts.append(f"entities {_percent(numbers.entity_success)} right ({found})")
        if numbers.entity_success_of_right_intents is not None:
            parts.append(f"where the intent is right {_percent(numbers.entity_success_of_right_intents)}")
    yield f"  {', '.join(parts)}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _failure(case: BatchCase) -> str:
    said = f"'{text(case.text)}'"
    if case.result == "not-evaluated":
        return f"{said}: {text(batch_actual(case), 400)}"
    remark = f" ({text(case.reason)})" if case.reason else ""
    words = f"{said}: {expected_got(text(batch_expected(case)), text(batch_actual(case)))}{remark}"
    return f"{case.result.upper()} {words}"
