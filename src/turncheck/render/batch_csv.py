"""A suite's results as the platform's CSV report: a block of keys and values, then a row per entity.

An utterance is somebody else's text, and spreadsheets run cells that begin with ``=``, ``+``, ``-`` or ``@``. So these
get an apostrophe in front, which spreadsheets hide; ``raw`` leaves them as they are.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import BatchCase, BatchSuite, Report

COLUMNS: Final = (
    "Utterance",
    "ExpectedIntent",
    "MatchedIntent",
    "Parent Intent",
    "Task State",
    "Result Type",
    "Entity Name",
    "Expected EntityValue",
    "Matched EntityValue",
    "Entity Result",
    "Expected Entity Order",
    "Actual Entity Order",
    "Matched Intent's Score",
    "Expected Intent's Score",
)
RESULT_TYPES: Final = {
    "tp": "True Positive",
    "tn": "True Negative",
    "fp": "False Positive",
    "fn": "False Negative",
    "not-evaluated": "Not Evaluated",
}
FORMULA_SIGNS: Final = ("=", "+", "-", "@", "\t", "\r")
_STATES: Final = {"in-development": "Configured", "published": "Published"}
_RUN_TYPES: Final = {"in-development": "inDevelopment", "published": "published"}


def render_batch_csv(report: Report, suite: BatchSuite, name: str, *, raw: bool = False) -> Rendered:
    """Return the CSV of one suite as the file ``name``. What nobody measured (thresholds, the time) is empty."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for key, value in _block(report, suite):
        writer.writerow([key, _cell(value, raw)])
    out.write("\n")
    writer.writerow(COLUMNS)
    for case in suite.cases:
        for row in _rows(case, _STATES.get(suite.version or "", "")):
            writer.writerow([_cell(cell, raw) for cell in row])
    return Rendered(name, "text/csv", out.getvalue())


def _cell(value: str, raw: bool) -> str:
    return value if raw or not value.startswith(FORMULA_SIGNS) else f"'{value}"


def _block(report: Report, suite: BatchSuite) -> Iterator[tuple[str, str]]:
    counts, cases = suite.counts, len(suite.cases) or suite.counts.total + suite.not_evaluated
    yield "Bot Name:", report.project.name
    yield "Report name:", suite.name
    yield "Bot Language:", ""
    yield "Run Type:", _RUN_TYPES.get(suite.version or "", "")
    yield "Threshold Setting:", ""
    yield "Last Tested:", ""
    yield "Utterance Count:", str(cases)
    yield "Success/Failure Ratio:", _percent(counts.tp + counts.tn, cases)
    yield "True Positive (TP):", _percent(counts.tp, cases)
    yield "True Negative (TN):", _percent(counts.tn, cases)
    yield "False Positive (FP):", _percent(counts.fp, cases)
    yield "False Negative (FN):", _percent(counts.fn, cases)
    yield "Notes:", suite.notes


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}".rstrip("0").rstrip(".") if whole else "0"


def _rows(case: BatchCase, state: str) -> Iterator[tuple[str, ...]]:
    is_wrong = case.result in {"fp", "fn"}
    order = case.order
    head = (
        case.text,
        names_of_intents(case.expected, is_trait=case.kind == "trait"),
        names_of_intents(case.matched, is_trait=case.kind == "trait"),
        "||".join(case.parent),
        state,
        RESULT_TYPES[case.result],
    )
    tail = (
        ">".join(order.expected) if order else "",
        ">".join(order.actual) if order else "",
        _scores(case, case.matched) if is_wrong else "",
        _scores(case, case.expected) if case.result == "fp" else "",
    )
    entities = [
        (one.name, value, one.matched or "none", "TRUE" if one.passed else "FALSE")
        for one in case.entities
        for value in one.expected
    ]
    for entity in entities or [("", "", "", "")]:
        yield (*head, *entity, *tail)


def names_of_intents(names: tuple[str, ...], *, is_trait: bool) -> str:
    """Return alternatives, or traits behind their prefix, as the platform writes them; ``None`` where there is none."""
    if is_trait:
        return f"trait: {'||'.join(names)}"
    return "|".join(names) or "None"


def _scores(case: BatchCase, names: tuple[str, ...]) -> str:
    return ", ".join(f"{case.scores[name]:.4f}" for name in names if name in case.scores)
