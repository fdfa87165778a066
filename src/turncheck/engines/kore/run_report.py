"""The CSV of a run on the platform → answers to a suite's cases, with the platform's own verdict on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.engines.suite_answers import UtteranceAnswer
from turncheck.project.batch.model import comparable
from turncheck.project.batch.run_report import ReportedCase, RunReport, RunReportError, read_run_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.project.batch.model import SuiteCase

NO_ROW: Final = "the platform's report has no row for it"


class ReportError(ValueError):
    """A file that is not the platform's report; the message says why."""


def read_report(content: bytes) -> RunReport:
    """Return what precedes the table, and the table's cases in its order.

    Raises:
        ReportError: there is no such table.
    """
    try:
        return read_run_report(content.decode("utf-8-sig", "replace"), raw=True)
    except RunReportError as error:
        raise ReportError(f"the platform's report {error}") from None


def answers_to(cases: Sequence[SuiteCase], reported: Iterable[ReportedCase]) -> tuple[UtteranceAnswer, ...]:
    """Return the answers to a suite's cases: by utterance and expectation, else only by utterance, in order."""
    by_text: dict[str, list[ReportedCase]] = {}
    for row in reported:
        by_text.setdefault(_text(row.text), []).append(row)
    chosen: dict[int, ReportedCase] = {}
    for is_exact in (True, False):
        for number, case in enumerate(cases):
            if number in chosen:
                continue
            left = by_text.get(_text(case.text), [])
            fitting = (row for row in left if not is_exact or _expects(case, row))
            if (taken := next(fitting, None)) is not None:
                chosen[number] = taken
                left[:] = [row for row in left if row is not taken]
    return tuple(_answer(case, chosen.get(number)) for number, case in enumerate(cases))


def _text(text: str) -> str:
    return " ".join(text.split())


def _expects(case: SuiteCase, row: ReportedCase) -> bool:
    expected = {comparable(name) for name in row.expected.names}
    return expected == {comparable(name) for name in case.intents}


def _answer(case: SuiteCase, row: ReportedCase | None) -> UtteranceAnswer:
    if row is None:
        return UtteranceAnswer(error=NO_ROW)
    if row.result is None or row.result == "not-evaluated":
        return UtteranceAnswer(error=row.remark or "the platform could not evaluate it")
    names, is_trait = row.matched.names, case.is_trait or row.matched.is_trait
    return UtteranceAnswer(
        matched=() if is_trait else names,
        traits=names if is_trait else (),
        entities={entity.name: entity.matched for entity in row.entities if entity.matched is not None},
        order=row.actual_order or None,
        scores=row.scores,
        result=row.result,
        fits={entity.name: entity.passed for entity in row.entities},
        remark=row.remark or None,
    )
