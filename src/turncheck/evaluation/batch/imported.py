"""The platform's CSV report of a suite → the report's own types.

The file has a block of keys and values, and a table whose header begins with ``Utterance``; cells may span lines. One
row per entity, the utterance repeated. An apostrophe that :mod:`turncheck.render.batch_csv` put before a formula goes.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.batch.classes import classify, is_intent
from turncheck.evaluation.batch.numbers import intents_of, kinds_of
from turncheck.messages.errors import UserError
from turncheck.messages.location import Location
from turncheck.project.batch.fields import read_intent, read_order, read_parent
from turncheck.project.batch.known import KnownNames
from turncheck.report.batch import BATCH_KINDS, BatchCase, BatchEntity, BatchKindName, BatchOrder, BatchSuite
from turncheck.report.batch_numbers import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.report.batch import BatchResult

_RESULTS: Final[Mapping[str, BatchResult]] = {
    "truepositive": "tp",
    "truenegative": "tn",
    "falsepositive": "fp",
    "falsenegative": "fn",
    "notevaluated": "not-evaluated",
}
_VERSIONS: Final = {"indevelopment": "in-development", "published": "published", "configured": "in-development"}
_BARE: Final = re.compile(r"[^a-z]")
_ESCAPED: Final = re.compile(r"'(?=[=+\-@\t\r])")
_FIRST: Final = frozenset({"utterance", "utterances"})
_NOTHING: Final = frozenset({"", "none"})


@dataclass(frozen=True, slots=True)
class ImportedSuite:
    """A suite's results, and the bot they are of."""

    suite: BatchSuite
    bot: str


@dataclass(slots=True)
class _Rows:
    """The rows of one case."""

    cells: dict[str, str]
    location: Location
    entities: list[dict[str, str]] = field(default_factory=list)


def import_batch_csv(path: str, text: str, known: KnownNames | None = None) -> ImportedSuite:
    """Return the results in a CSV report of the platform.

    Args:
        path: the file, as places name it.
        text: what it holds.
        known: the project's names, by which kinds are told.

    Raises:
        UserError: it has no table, or its table no rows.
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    block: dict[str, str] = {}
    header: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    begin = 1
    try:
        for record in reader:
            cells = [_ESCAPED.sub("", cell, count=1) if _ESCAPED.match(cell) else cell for cell in record]
            if header and any(cell.strip() for cell in cells):
                rows.append((begin, cells))
            elif cells and _bare(cells[0]) in _FIRST:
                header = [_bare(cell) for cell in cells]
            elif len(cells) > 1:
                block.setdefault(_bare(cells[0]), cells[1])
            begin = reader.line_num + 1
    except csv.Error as error:
        raise UserError(f"is not CSV: {error}", location=Location(path, begin)) from None
    if not header:
        raise UserError(
            "has no table of results: no row begins with 'Utterance'",
            location=Location(path),
            remedy="Download the CSV report of a batch test from the platform.",
        )
    names = known or KnownNames()
    cases = tuple(_case(one, names) for one in _grouped(path, header, rows))
    if not cases:
        raise UserError("holds no results", location=Location(path, 1))
    unanswered = sum(case.result == "not-evaluated" for case in cases)
    suite = BatchSuite(
        **numbers_of(cases),
        name=block.get("reportname", "").strip() or PurePath(path).stem,
        notes=block.get("notes", "").strip(),
        version=_VERSIONS.get(_bare(block.get("runtype", ""))),
        path=path,
        outcome="success with warning" if unanswered else "success",
        kinds=kinds_of(cases, known),
        intents=intents_of(cases),
        cases=cases,
    )
    return ImportedSuite(suite, block.get("botname", "").strip())


def _bare(cell: str) -> str:
    return _BARE.sub("", cell.casefold())


def _grouped(path: str, header: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> Iterator[_Rows]:
    """Rows that differ in their entity alone are one case."""
    current: _Rows | None = None
    for line, record in rows:
        cells = dict(zip(header, (cell.strip() for cell in record), strict=False))
        cells.setdefault("utterance", cells.get("utterances", ""))
        entity = {key: cells.pop(key, "") for key in _ENTITY}
        if current is not None and current.entities and entity["entityname"] and cells == current.cells:
            current.entities.append(entity)
            continue
        if current is not None:
            yield current
        current = _Rows(cells, Location(path, line, 1), [entity] if entity["entityname"] else [])
    if current is not None:
        yield current


_ENTITY: Final = ("entityname", "expectedentityvalue", "matchedentityvalue", "entityresult")


def _case(rows: _Rows, names: KnownNames) -> BatchCase:
    cells = rows.cells
    expected, matched = (read_intent(cells.get(key, "")) for key in ("expectedintent", "matchedintent"))
    found = tuple(name for name in matched.names if is_intent(name))
    is_trait = expected.is_trait or (matched.is_trait and not expected.names)
    telling = expected.names[:1] or found[:1]
    kind = "trait" if is_trait else names.kind_of(telling[0]) if telling else None
    of_kind: BatchKindName = next((one for one in BATCH_KINDS if one == kind), "dialog")
    result = _RESULTS.get(_bare(cells.get("resulttype", ""))) or classify(of_kind, expected.names, found)
    entities = _entities(rows.entities)
    return BatchCase(
        text=cells["utterance"],
        location=rows.location,
        kind=of_kind,
        expected=expected.names,
        matched=found,
        parent=read_parent(cells.get("parentintent", "")),
        result=result,
        passed=result in {"tp", "tn"} and all(entity.passed for entity in entities),
        entities=entities,
        order=_order(cells),
        scores=_scores(cells.get("matchedintentsscore", ""), found)
        | _scores(cells.get("expectedintentsscore", ""), expected.names),
        reason=cells.get("eliminationinfo") or cells.get("eliminationreason") or None,
    )


def _entities(rows: Sequence[Mapping[str, str]]) -> tuple[BatchEntity, ...]:
    """The same name again is an alternative value."""
    found: dict[str, BatchEntity] = {}
    for row in rows:
        name, value = row["entityname"], row["expectedentityvalue"]
        matched = None if row["matchedentityvalue"].casefold() in _NOTHING else row["matchedentityvalue"]
        passed = row["entityresult"].casefold() == "true"
        one = found.get(name)
        if one is None:
            found[name] = BatchEntity(name=name, expected=(value,), matched=matched, passed=passed)
        else:
            values = tuple(dict.fromkeys((*one.expected, value)))
            found[name] = BatchEntity(
                name=name, expected=values, matched=one.matched or matched, passed=one.passed or passed
            )
    return tuple(found.values())


def _order(cells: Mapping[str, str]) -> BatchOrder | None:
    expected, actual = (read_order(cells.get(key, "")) for key in ("expectedentityorder", "actualentityorder"))
    return BatchOrder(expected=expected, actual=actual, assumed=False) if expected or actual else None


def _scores(written: str, names: Sequence[str]) -> dict[str, float]:
    numbers = re.findall(r"\d+(?:\.\d+)?", written)
    return dict(zip(names, map(float, numbers), strict=False)) if len(numbers) == len(names) else {}
