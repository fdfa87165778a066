"""Batch suites in plain lines, and as the platform's CSV."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final

from msgspec import UnsetType

from turncheck.comparison.cases import batch_actual, batch_expected
from turncheck.comparison.engines import folded_name
from turncheck.messages.phrasing import count
from turncheck.render.phrases import KIND_NAMES, covered_lines, moment
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import place, text
from turncheck.render.wording.figures import expected_got, figure
from turncheck.report.batch import BatchSetting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Batch, BatchCase, BatchNumbers, BatchSuite, Report


_MOST_FAILURES: Final = 200


def batch_text(batch: Batch, *, folder: str = "", measured: str | None = None) -> str:
    """Return all lines about the batch suites.

    Args:
        batch: the suites.
        folder: the project's path from the current folder.
        measured: when they were run, if a suite itself does not say.
    """
    lines = [line for suite in batch.suites for line in _suite(suite, folder, measured)]
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


_RUN: Final = {
    "success": "",
    "success with warning": " (not all could be evaluated)",
    "failed": " (its run failed)",
    "cancelled": " (its run was cancelled)",
}
"""What became of a suite's run, which says nothing of the results."""


def _suite(suite: BatchSuite, folder: str, measured: str | None) -> Iterator[str]:
    passed = sum(case.passed for case in suite.cases)
    yield f"suite {text(suite.name)}: {passed:,} of {count(len(suite.cases), 'case')} passed{_RUN[suite.outcome]}"
    if suite.description:
        yield f"  {text(suite.description, 400)}"
    if facts := [fact for fact in (suite.version, tested_at(suite, measured)) if fact]:
        yield f"  tested: {', '.join(facts)}"
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
    if not isinstance(case.attempts, UnsetType) and not case.attempts.passed:
        words += f"; passed 0 of {case.attempts.of} times"
    return f"{case.result.upper()} {words}"


# A suite's results as the platform's CSV report: a block of keys and values, then a row per entity.
#
# An utterance is somebody else's text, and spreadsheets run cells that begin with ``=``, ``+``, ``-`` or ``@``. Such
# cells get a leading apostrophe, which spreadsheets hide; ``raw`` leaves them as they are, and writes scores in full.

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
