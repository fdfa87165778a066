"""The platform's CSV report of a suite → the report's own types."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.batch.judging import classify, how_it_fits, is_intent
from turncheck.evaluation.batch.suites import intents_of, kinds_of, outcome_of
from turncheck.messages.errors import UserError
from turncheck.messages.location import Location
from turncheck.project.batch.model import KnownNames
from turncheck.project.batch.run_report import RunReportError, read_run_report
from turncheck.report.batch import (
    BATCH_KINDS,
    BatchCase,
    BatchEntity,
    BatchKindName,
    BatchOrder,
    BatchSuite,
    numbers_of,
)

if TYPE_CHECKING:
    from turncheck.project.batch.run_report import ReportedCase, ReportedEntity

_VERSIONS: Final = {"indevelopment": "in-development", "published": "published", "configured": "in-development"}


@dataclass(frozen=True, slots=True)
class ImportedSuite:
    """A suite's results, and the bot that was tested. ``promised``: the number of utterances that the report states."""

    suite: BatchSuite
    bot: str
    promised: int | None = None


def import_batch_csv(path: str, text: str, known: KnownNames | None = None, *, raw: bool = False) -> ImportedSuite:
    """Return the results in a CSV report of the platform.

    Args:
        path: the file, as locations name it.
        text: its content.
        known: the project's names, which show the kinds of intents.
        raw: as :func:`turncheck.project.batch.run_report.read_run_report`.

    Raises:
        UserError: it has no table, or its table has no rows.
    """
    try:
        read = read_run_report(text, raw=raw)
    except RunReportError as error:
        raise UserError(
            str(error), location=Location(path, error.line), remedy="Download the CSV report of a batch test."
        ) from None
    names = known or KnownNames()
    cases = tuple(_case(path, one, names) for one in read.cases)
    if not cases:
        raise UserError("holds no results", location=Location(path, 1))
    count = read.about("utterancecount")
    suite = BatchSuite(
        **numbers_of(cases),
        name=read.about("reportname") or PurePath(path).stem,
        notes=read.about("notes"),
        version=_VERSIONS.get("".join(read.about("runtype").split()).replace("-", "").casefold()),
        path=path,
        setting=read.setting,
        outcome=outcome_of(cases),
        kinds=kinds_of(cases, known),
        intents=intents_of(cases),
        cases=cases,
    )
    promised = int(count) if count.isascii() and count.isdecimal() and len(count) < 10 else None
    return ImportedSuite(suite, read.about("botname"), promised)


def _case(path: str, row: ReportedCase, names: KnownNames) -> BatchCase:
    found = tuple(name for name in row.matched.names if is_intent(name))
    is_trait = row.expected.is_trait or (row.matched.is_trait and not row.expected.names)
    telling = row.expected.names[:1] or found[:1]
    kind = "trait" if is_trait else names.kind_of(telling[0]) if telling else None
    of_kind: BatchKindName = next((one for one in BATCH_KINDS if one == kind), "dialog")
    result = row.result or classify(of_kind, row.expected.names, found)
    entities = tuple(map(_entity, row.entities))
    has_order = row.order or row.actual_order
    return BatchCase(
        text=row.text,
        location=Location(path, row.line, 1),
        kind=of_kind,
        expected=row.expected.names,
        matched=found,
        parent=row.parent,
        result=result,
        passed=result in {"tp", "tn"} and all(entity.passed for entity in entities),
        entities=entities,
        order=BatchOrder(expected=row.order, actual=row.actual_order, assumed=False) if has_order else None,
        scores=row.scores,
        reason=row.remark or None,
    )


def _entity(row: ReportedEntity) -> BatchEntity:
    way = next((way for value in row.values if (way := how_it_fits(value, row.matched))), None)
    return BatchEntity(name=row.name, expected=row.values, matched=row.matched, passed=row.passed, way=way)
