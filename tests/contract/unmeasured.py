"""A report without what turns took: that differs between two measurements of the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

if TYPE_CHECKING:
    from turncheck.report.model import Batch, CaseResult, EndToEnd, Nlu, Report


def without_times(report: Report) -> Report:
    """Return the report without milliseconds, tokens and traces, and without the timings of its parts."""
    return replace(
        report,
        timings={},
        nlu=report.nlu and _of_sentences(report.nlu),
        e2e=report.e2e and of_cases(report.e2e),
        batch=report.batch and _of_suites(report.batch),
    )


def of_cases(e2e: EndToEnd) -> EndToEnd:
    """Return the section of the end-to-end cases without it."""
    return replace(e2e, cases=tuple(map(_of_case, e2e.cases)))


def _of_case(case: CaseResult) -> CaseResult:
    messages = tuple(replace(message, measured=UNSET) for message in case.messages)
    return replace(case, messages=messages, measured=UNSET)


def _of_sentences(nlu: Nlu) -> Nlu:
    return replace(nlu, predictions=tuple(replace(one, measured=UNSET) for one in nlu.predictions))


def _of_suites(batch: Batch) -> Batch:
    suites = (
        replace(suite, cases=tuple(replace(case, measured=UNSET) for case in suite.cases)) for suite in batch.suites
    )
    return replace(batch, suites=tuple(suites))
