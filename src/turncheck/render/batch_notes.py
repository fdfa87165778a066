"""Batch suites in words: what to know before believing their figures, and when they were run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.messages.phrasing import count
from turncheck.render.phrases import moment
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Batch, BatchSuite


def batch_remarks(batch: Batch) -> Iterator[str]:
    """Yield what a reader must know before believing the figures."""
    if batch.on_training:
        of = f"{batch.on_training:,} of {count(len(batch.cases), 'batch utterance')}"
        verb = "is a training sentence" if batch.on_training == 1 else "are training sentences"
        yield f"{of} {verb}: the figures are optimistic."
    for suite in batch.suites:
        if suite.outcome == "cancelled":
            yield f"The run of the suite '{text(suite.name)}' was cancelled on the platform."
        if suite.notes:
            yield f"Notes on the suite '{text(suite.name)}': {text(suite.notes, 1_100)}"
    if batch.not_evaluated:
        first = next((case.reason for case in batch.cases if case.result == "not-evaluated"), None) or "no answer"
        verb = "was" if batch.not_evaluated == 1 else "were"
        yield f"{count(batch.not_evaluated, 'batch case')} {verb} not evaluated: {text(first, 300)}"


def tested_at(suite: BatchSuite, measured: str | None) -> str:
    """Return date and time of a suite's run: the platform's own, else that of the report; "" if neither is known."""
    own = suite.setting.tested if suite.setting else ""
    return moment(own or measured or "")
