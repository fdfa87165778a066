"""The platform's CSV report of a run of a suite → what it says about each case.

It is a block of keys and values, then a table whose header begins with ``Utterance``: one row per entity, with the
utterance repeated; cells may span lines. Columns are found by their names, whose spelling varies between versions.
"""

from __future__ import annotations

import csv
import io
import math
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from turncheck.project.batch.model import THRESHOLDS
from turncheck.project.batch.rules import IntentField, read_intent, read_order, read_parent
from turncheck.report.batch import BatchResult, BatchSetting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_RESULTS: Final[Mapping[str, BatchResult]] = {
    "truepositive": "tp",
    "truenegative": "tn",
    "falsepositive": "fp",
    "falsenegative": "fn",
    "notevaluated": "not-evaluated",
    "tp": "tp",
    "tn": "tn",
    "fp": "fp",
    "fn": "fn",
}
_FIRST: Final = frozenset({"utterance", "utterances"})
_NOTHING: Final = frozenset({"", "none"})
_DELIMITERS: Final = ",;\t"
"""The platform's delimiter, and those of spreadsheets that have saved its report."""
_LARGEST_CELL: Final = 1 << 20
_ESCAPED: Final = re.compile(r"'(?='*[=+\-@\t\r])")
_ENTITY: Final = ("entityname", "expectedentityvalue", "matchedentityvalue", "entityresult")
_THRESHOLDS: Final = {name.lower(): name for name in THRESHOLDS}
_SCORE: Final = re.compile(
    r"(?:(?P<engine>[A-Za-z][A-Za-z ]{0,30}?)\s*[:=]\s*)?(?P<score>\d{1,15}(?:\.\d{1,20})?(?:e[+-]\d{2,3})?|-)"
)


class RunReportError(ValueError):
    """A file that is not the platform's report; the message says why. ``line``: where, if there is such a line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class ReportedEntity(Struct):
    """An expected entity. ``values``: the expected alternatives; ``matched``: ``None`` if none was found."""

    name: str
    values: tuple[str, ...]
    matched: str | None
    passed: bool


class ReportedCase(Struct):
    """A case as the platform judged it. ``result``: its class, ``None`` if the report has none that is known.

    ``state``: of the matched task. ``scores``: those of the matched and expected intents by name, and, if the report
    distinguishes engines, by name and engine: ``Order Tea (ML)``. ``remark``: why the platform excluded the expected
    intent.
    """

    text: str
    line: int
    expected: IntentField
    matched: IntentField
    parent: tuple[str, ...]
    state: str
    result: BatchResult | None
    order: tuple[str, ...]
    actual_order: tuple[str, ...]
    scores: dict[str, float]
    remark: str
    entities: list[ReportedEntity] = field(default_factory=list)


class RunReport(Struct, frozen=True):
    """``block``: what precedes the table, by only the letters of its keys (``reportname``).

    ``thresholds``: the settings of each engine in the block, its ``mode`` first.
    """

    block: Mapping[str, str]
    cases: tuple[ReportedCase, ...]
    thresholds: tuple[dict[str, str], ...] = ()

    def about(self, key: str) -> str:
        """Return the value of a key, empty if the key is missing."""
        return self.block.get(key, "").strip()

    @property
    def setting(self) -> BatchSetting:
        """What it says about the assistant that was tested."""
        return BatchSetting(
            bot=self.about("botname"),
            language=self.about("botlanguage"),
            thresholds=self.thresholds,
            tested=self.about("lasttested"),
        )


def read_run_report(text: str, *, raw: bool = False) -> RunReport:
    """Read a report.

    Args:
        text: the content of the file.
        raw: an apostrophe before what a spreadsheet would run as a formula belongs to the cell; otherwise
            ``turncheck test batch --csv`` put it there, and it is removed.

    Raises:
        RunReportError: it has no table.
    """
    block: dict[str, str] = {}
    thresholds: list[dict[str, str]] = []
    header: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    for line, record in _records(text.removeprefix("\ufeff")):
        cells = record if raw else [cell[1:] if _ESCAPED.match(cell) else cell for cell in record]
        if header:
            rows.append((line, cells))
        elif cells and _letters(cells[0]) in _FIRST:
            header = [_letters(cell) for cell in cells]
        elif len(cells) > 1:
            key = _letters(cells[0])
            block.setdefault(key, cells[1])
            if key == "mode":
                thresholds.append({"mode": cells[1].strip()})
            elif key in _THRESHOLDS and thresholds and cells[1].strip():
                thresholds[-1].setdefault(_THRESHOLDS[key], cells[1].strip())
    if not header:
        raise RunReportError("has no table of results: no row begins with 'Utterance'")
    return RunReport(block, tuple(_cases(header, rows)), tuple(thresholds))


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not empty, each with the line where it begins."""
    before = csv.field_size_limit(_LARGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    begin = 1
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                yield begin, record
            begin = reader.line_num + 1
    except csv.Error as error:
        raise RunReportError(f"is not CSV: {error}", begin) from None
    finally:
        csv.field_size_limit(before)


def _delimiter(text: str) -> str:
    """Return the delimiter between the first two columns of the header."""
    match = re.search(r'^"?utterances?"?[ \u00a0]*([,;\t])', text, re.IGNORECASE | re.MULTILINE)
    return match[1] if match else _DELIMITERS[0]


def _letters(cell: str) -> str:
    return re.sub(r"[^a-z]", "", cell.casefold())


def _cases(header: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> Iterator[ReportedCase]:
    """Rows that differ only in their entity are one case; an entity that the case already has begins another one."""
    current: ReportedCase | None = None
    head: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for line, record in rows:
        cells = {name: cell.strip() for name, cell in reversed(list(zip(header, record, strict=False)))}
        cells.setdefault("utterance", cells.pop("utterances", ""))
        name, value, matched, passed = (cells.pop(key, "") for key in _ENTITY)
        continues = name and seen and (name, value) not in seen and (cells == head or not any(cells.values()))
        if current is None or not continues:
            if current is not None:
                yield current
            current, head, seen = _case(cells, line), cells, set()
        if name:
            seen.add((name, value))
            _add(current.entities, name, value, matched, passed=passed.casefold() == "true")
    if current is not None:
        yield current


def _case(cells: Mapping[str, str], line: int) -> ReportedCase:
    expected, matched = (read_intent(cells.get(key, "")) for key in ("expectedintent", "matchedintent"))
    scores = _scores(cells.get("matchedintentsscore", ""), matched.names)
    scores |= _scores(cells.get("expectedintentsscore", ""), expected.names)
    return ReportedCase(
        cells["utterance"],
        line,
        expected,
        matched,
        read_parent(cells.get("parentintent", "")),
        cells.get("taskstate", ""),
        _RESULTS.get(_letters(cells.get("resulttype", ""))),
        read_order(cells.get("expectedentityorder", "")),
        read_order(cells.get("actualentityorder", "")),
        scores,
        cells.get("eliminationinfo") or cells.get("eliminationreason") or "",
    )


def _add(entities: list[ReportedEntity], name: str, value: str, matched: str, *, passed: bool) -> None:
    """Add a row's entity; a repeated name is an alternative value."""
    found = None if matched.casefold() in _NOTHING and not (passed and matched) else matched
    for entity in entities:
        if entity.name == name:
            entity.values = (*entity.values, value)
            entity.matched = entity.matched or found
            entity.passed = entity.passed or passed
            return
    entities.append(ReportedEntity(name, (value,), found, passed))


def _scores(written: str, names: Sequence[str]) -> dict[str, float]:
    """Read one number per name (``0.71, -``), or per name and engine (``FM: 11643.33, ML: 0.71``)."""
    parts = list(_SCORE.finditer(written))
    engines = [part["engine"] for part in parts]
    if not any(engines):
        keys = names if len(parts) == len(names) else ()
    elif all(engines):  # the next intent begins where the first engine is repeated
        intents = accumulate(engine == engines[0] for engine in engines)
        keys = [
            f"{names[number - 1]} ({engine})"
            for number, engine in zip(intents, engines, strict=True)
            if number <= len(names)
        ]
    else:
        keys = ()
    scores = {key: float(part["score"]) for key, part in zip(keys, parts, strict=False) if part["score"] != "-"}
    return {key: score for key, score in scores.items() if math.isfinite(score)}
