"""The CSV of a run on the platform → answers to a suite's cases, with the platform's own judgement of each.

A block of keys and values, then a table with a row per entity; found by its header, whose words vary between versions.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turncheck.engines.base import UtteranceAnswer
from turncheck.project.batch.fields import read_intent
from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.project.batch.model import SuiteCase
    from turncheck.report.batch import BatchResult

NO_ROW: Final = "the platform's report has no row for it"
_NOT_FOUND: Final = frozenset({"", "none"})
_LARGEST_CELL: Final = 1 << 20
_RESULTS: Final[Mapping[str, BatchResult]] = {
    "truepositive": "tp",
    "truenegative": "tn",
    "falsepositive": "fp",
    "falsenegative": "fn",
    "tp": "tp",
    "tn": "tn",
    "fp": "fp",
    "fn": "fn",
}


class ReportError(ValueError):
    """A file that is not the platform's report; the message says why."""


@dataclass(slots=True)
class ReportedCase:
    """An utterance as the platform judged it. ``result``: its class, ``None`` where it could not be evaluated.

    ``entities``: those found, by name; ``fits``: whether each expected one is as expected. ``order``: as extracted.
    """

    text: str
    expected: str
    matched: str
    result: BatchResult | None
    entities: dict[str, str] = field(default_factory=dict)
    fits: dict[str, bool] = field(default_factory=dict)
    order: tuple[str, ...] | None = None
    remark: str = ""


def read_report(content: bytes) -> list[ReportedCase]:
    """Return the table's utterances, in its order.

    Raises:
        ReportError: there is no such table.
    """
    text = content.decode("utf-8-sig", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    csv.field_size_limit(_LARGEST_CELL)
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise ReportError(f"the platform's report cannot be read: {error}") from None
    begin = next(
        (number for number, row in enumerate(rows) if row and _key(row[0]) in {"utterance", "utterances"}), None
    )
    if begin is None:
        raise ReportError("the platform's report has no line that begins with `Utterance`")
    columns = {_key(name): place for place, name in reversed(list(enumerate(rows[begin])))}
    cases: list[ReportedCase] = []
    for row in rows[begin + 1 :]:
        _add(cases, {name: row[place].strip() for name, place in columns.items() if place < len(row)})
    return cases


def _add(cases: list[ReportedCase], row: Mapping[str, str]) -> None:
    """Add a row: of the last case where only the entity is another one."""
    text = row.get("utterance") or row.get("utterances") or ""
    if not any(row.values()):
        return
    judged = _key(row.get("resulttype", ""))
    case = ReportedCase(
        text,
        row.get("expectedintent", ""),
        row.get("matchedintent", ""),
        _RESULTS.get(judged),
        remark=row.get("eliminationinfo", ""),
    )
    entity = row.get("entityname", "")
    last = cases[-1] if cases else case
    if last is case or not (entity and last.fits and (not text or _same(last, case))):
        cases.append(case)
        last = case
    if entity:
        fits = row.get("entityresult", "").casefold() == "true"
        last.fits[entity] = fits or last.fits.get(entity, False)
        found = row.get("matchedentityvalue", "")
        if found.casefold() not in _NOT_FOUND:
            last.entities[entity] = found
    if order := row.get("actualentityorder", ""):
        last.order = tuple(name.strip() for name in order.split(">") if name.strip())


def _same(one: ReportedCase, other: ReportedCase) -> bool:
    return (one.text, one.expected, one.matched, one.result) == (
        other.text,
        other.expected,
        other.matched,
        other.result,
    )


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def answers_to(cases: Sequence[SuiteCase], reported: Iterable[ReportedCase]) -> tuple[UtteranceAnswer, ...]:
    """Return the answers to a suite's cases: by utterance and expectation, else by utterance alone, in their order."""
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
    expected = {comparable(name) for name in read_intent(row.expected).names}
    return expected == {comparable(name) for name in case.intents}


def _answer(case: SuiteCase, row: ReportedCase | None) -> UtteranceAnswer:
    if row is None:
        return UtteranceAnswer(error=NO_ROW)
    if row.result is None:
        return UtteranceAnswer(error="the platform could not evaluate it")
    matched = read_intent(row.matched)
    names = () if [comparable(name) for name in matched.names] == ["none"] else matched.names
    return UtteranceAnswer(
        matched=() if case.is_trait else names,
        traits=names if case.is_trait else (),
        entities=row.entities,
        order=row.order,
        result=row.result,
        fits=row.fits,
        remark=row.remark or None,
    )
