"""A suite's results as the platform's CSV report: a block of keys and values, then a row per entity.

An utterance is somebody else's text, and spreadsheets run cells that begin with ``=``, ``+``, ``-`` or ``@``. Such
cells get a leading apostrophe, which spreadsheets hide; ``raw`` leaves them as they are, and writes scores in full.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final

from turncheck.comparison.engines import folded_name
from turncheck.render.rendered import Rendered
from turncheck.report.batch import BatchSetting

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
    "Elimination Info",
)
ENGINES: Final = ("FM", "ML", "KG", "FAQ", "CS")
"""The platform's own engines; their scores of one intent cannot be compared with each other."""
RESULT_TYPES: Final = {
    "tp": "True Positive",
    "tn": "True Negative",
    "fp": "False Positive",
    "fn": "False Negative",
    "not-evaluated": "Not Evaluated",
}
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
"""The cell's own leading apostrophes are escaped too, so that reading a report again removes exactly one."""
_RUN_TYPES: Final = {"in-development": "inDevelopment", "published": "published"}


def render_batch_csv(report: Report, suite: BatchSuite, name: str, *, raw: bool = False, tested: str = "") -> Rendered:
    """Return the CSV of one suite as the file ``name``; unknown values are empty.

    ``tested``: when it was run, if the suite itself does not say.
    """
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for key, value in _block(report, suite, tested):
        writer.writerow([key, safe_cell(value, raw=raw)])
    out.write("\n")
    writer.writerow(COLUMNS)
    for case in suite.cases:
        for row in _rows(case, exact=raw):
            writer.writerow([safe_cell(cell, raw=raw) for cell in row])
    return Rendered(name, "text/csv", out.getvalue())


def safe_cell(value: str, *, raw: bool = False) -> str:
    """Return a cell that no spreadsheet runs as a formula; ``raw``: as it is."""
    return f"'{value}" if not raw and _FORMULA.match(value) else value


def _block(report: Report, suite: BatchSuite, tested: str) -> Iterator[tuple[str, str]]:
    setting = suite.setting or BatchSetting()
    counts, cases = suite.counts, len(suite.cases) or suite.counts.total + suite.not_evaluated
    yield "Bot Name:", setting.bot or report.project.name
    yield "Report name:", suite.name
    yield "Bot Language:", setting.language
    yield "Run Type:", _RUN_TYPES.get(suite.version or "", "")
    yield "Threshold Setting:", ""
    for engine in setting.thresholds:
        yield from (("Mode:" if key == "mode" else f"{key}:", value) for key, value in engine.items())
    yield "Last Tested:", setting.tested or tested
    yield "Utterance Count:", str(cases)
    yield "Success/Failure Ratio:", _percent_of(counts.tp + counts.tn, cases)
    yield "True Positive (TP):", _percent_of(counts.tp, cases)
    yield "True Negative (TN):", _percent_of(counts.tn, cases)
    yield "False Positive (FP):", _percent_of(counts.fp, cases)
    yield "False Negative (FN):", _percent_of(counts.fn, cases)
    yield "Notes:", suite.notes


def _percent_of(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}".rstrip("0").rstrip(".") if whole else "0"


def _rows(case: BatchCase, *, exact: bool) -> Iterator[tuple[str, ...]]:
    is_wrong = case.result in {"fp", "fn"}
    order = case.order
    head = (
        case.text,
        names_of_intents(case.expected, is_trait=case.kind == "trait"),
        names_of_intents(case.matched, is_trait=case.kind == "trait"),
        "||".join(case.parent),
        case.state,
        RESULT_TYPES[case.result],
    )
    tail = (
        ">".join(order.expected) if order else "",
        ">".join(order.actual) if order else "",
        _scores(case, case.matched, exact=exact) if is_wrong else "",
        _scores(case, case.expected, exact=exact) if case.result == "fp" else "",
        case.reason or "",
    )
    entities = [
        (batch_entity.name, value, batch_entity.matched or "none", "TRUE" if batch_entity.passed else "FALSE")
        for batch_entity in case.entities
        for value in batch_entity.expected
    ]
    for entity in entities or [("", "", "", "")]:
        yield (*head, *entity, *tail)


def names_of_intents(names: tuple[str, ...], *, is_trait: bool) -> str:
    """Return alternatives, or traits after their prefix, as the platform writes them; ``None`` if there is none."""
    if is_trait:
        return f"trait: {'||'.join(names)}"
    return "|".join(names) or "None"


def _scores(case: BatchCase, names: tuple[str, ...], *, exact: bool) -> str:
    """Return a number per name, or one per engine and name if they are known separately; ``-`` if there is none."""
    known = {folded_name(key): score for key, score in reversed(case.scores.items())}

    def written(key: str) -> str:
        score = case.scores.get(key, known.get(folded_name(key)))
        return "-" if score is None else f"{score!r}" if exact else f"{score:.4f}"

    by_engine = [
        f"{engine}: {written(f'{name} ({engine})')}"
        for name in names
        for engine in ENGINES
        if folded_name(f"{name} ({engine})") in known
    ]
    if by_engine or not any(folded_name(name) in known for name in names):
        return ", ".join(by_engine)
    return ", ".join(map(written, names))
