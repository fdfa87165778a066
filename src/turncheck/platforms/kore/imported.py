"""``turncheck report import --kore-csv``: the platform's CSV reports of suites → a Report, to be judged."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.evaluations.batch.judging import classify, how_it_fits, is_intent
from turncheck.evaluations.batch.suites import SuiteRun, batch_of, intents_of, kinds_of, outcome_of
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.finding import Location, shown_path
from turncheck.messages.phrasing import count
from turncheck.platforms.kore.model import bot_of
from turncheck.platforms.rows.kore import KORE
from turncheck.process.output_files import ensure_replaceable
from turncheck.project.batch.model import KnownNames
from turncheck.project.batch.reader import decode
from turncheck.project.batch.run_report import ReportedCase, ReportedEntity, RunReportError, read_run_report
from turncheck.project.folder import ProjectFolder
from turncheck.project.reader import read_project
from turncheck.publishing.files import write_report
from turncheck.render.sinks.terminal import text as plain
from turncheck.report import batch as batch_report
from turncheck.report.model import EngineInfo, ProjectInfo, Skipped, Source
from turncheck.run.folders import ensure_apart_from_project
from turncheck.run.report_of import report_of
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.process.screen import Console
    from turncheck.report.evaluations import Evaluation

_VERSIONS: Final = {"indevelopment": "in-development", "published": "published", "configured": "in-development"}


class ImportedSuite(Struct, frozen=True):
    """A suite's results, and the bot that was tested. ``promised``: the number of utterances that the report states."""

    suite: batch_report.BatchSuite
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
            str(error), location=Location(path, error.line), hint="Download the CSV report of a batch test."
        ) from None
    names = known or KnownNames()
    cases = tuple(_case(path, case, names) for case in read.cases)
    if not cases:
        raise UserError("holds no results", location=Location(path, 1))
    said = read.about("utterancecount")
    suite = batch_report.BatchSuite(
        **batch_report.numbers_of(cases),
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
    promised = int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else None
    return ImportedSuite(suite, read.about("botname"), promised)


def _case(path: str, row: ReportedCase, names: KnownNames) -> batch_report.BatchCase:
    found = tuple(name for name in row.matched.names if is_intent(name))
    is_trait = row.expected.is_trait or (row.matched.is_trait and not row.expected.names)
    telling = row.expected.names[:1] or found[:1]
    kind = "trait" if is_trait else names.kind_of(telling[0]) if telling else None
    of_kind: batch_report.BatchKindName = next((one for one in batch_report.BATCH_KINDS if one == kind), "dialog")
    result = row.result or classify(of_kind, row.expected.names, found)
    entities = tuple(map(_entity, row.entities))
    has_order = row.order or row.actual_order
    return batch_report.BatchCase(
        text=row.text,
        location=Location(path, row.line, 1),
        kind=of_kind,
        expected=row.expected.names,
        matched=found,
        state=row.state,
        parent=row.parent,
        result=result,
        passed=result in {"tp", "tn"} and all(entity.passed for entity in entities),
        entities=entities,
        order=batch_report.BatchOrder(expected=row.order, actual=row.actual_order, assumed=False)
        if has_order
        else None,
        scores=row.scores,
        reason=row.remark or None,
    )


def _entity(row: ReportedEntity) -> batch_report.BatchEntity:
    way = next((way for value in row.values if (way := how_it_fits(value, row.matched))), None)
    return batch_report.BatchEntity(name=row.name, expected=row.values, matched=row.matched, passed=row.passed, way=way)


_OTHERS: tuple[Evaluation, ...] = ("validate", "nlu", "core", "e2e")


def run_import_batch(
    files: Sequence[Path], project: Path, *, out: Path, source: Source, root: str, screen: Console, raw: bool = False
) -> int:
    """Read CSV reports, one per suite, and write ``report.json`` into ``out``.

    Args:
        files: the reports.
        project: the folder of an export of the assistant, which has the kinds of the intents.
        out: where to write.
        source: the state of the repository that was tested.
        root: the project's path in its repository.
        screen: says what was read.
        raw: the reports were written with ``--raw-csv``.

    Raises:
        UserError: one of them is not there, or is not such a report.
    """
    ensure_apart_from_project(out, Settings(project=str(project)))
    folder = ProjectFolder(project)
    bot = bot_of(read_project(project))
    known = None if bot is None else bot.known_names()
    imported = [import_batch_csv(folder.name(path), _text(folder, path), known, raw=raw) for path in files]
    for imported_suite in imported:
        if imported_suite.promised is not None and imported_suite.promised != len(imported_suite.suite.cases):
            promised = f"{imported_suite.promised:,} are said to be in '{plain(imported_suite.suite.name)}'"
            words = f"{promised}, its table has {len(imported_suite.suite.cases):,}"
            screen.note(f"Warning: the number of utterances differs: {words}.")
    suites = [suite.suite for suite in imported]
    reason = "imported: the platform's report says nothing about it"
    report = report_of(
        ProjectInfo(
            name=next((suite.bot for suite in imported if suite.bot), shown_path(project.resolve().name)),
            root=root,
            kind=KORE.name,
        ),
        seed=0,
        source=source,
        engine=EngineInfo(name="kore", version="unknown", notes=("Measured by the platform, imported from its CSV.",)),
        batch=batch_of(suites, SuiteRun(known)),
        skipped=tuple(Skipped(evaluation=name, reason=reason, no_tests=True) for name in _OTHERS),
    )
    ensure_replaceable(out, ["report.json"])
    write_report(out / "report.json", report)
    cases = sum(len(suite.cases) for suite in suites)
    screen.note(f"Written to {out / 'report.json'}: {count(len(suites), 'suite')} with {count(cases, 'case')}")
    return EXIT_OK


def _text(folder: ProjectFolder, path: Path) -> str:
    if not path.is_file():
        raise UserError(f"there is no file '{path}'", hint="Name the CSV report of a batch test.")
    content = folder.read_bytes(path)
    source = None if content is None else decode(folder.name(path), content)[0]
    if source is None:
        raise UserError("cannot be read as text", location=Location(folder.name(path)), hint="Save it as UTF-8.")
    return source.file_text
