"""``turncheck report import --kore-csv``: converts the platform's CSV reports to a Report, to be compared and
judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.evaluation.batch.imported import import_batch_csv
from turncheck.evaluation.batch.suites import SuiteRun, batch_of
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.location import Location, shown_path
from turncheck.messages.plurals import count
from turncheck.process.own_files import ensure_replaceable
from turncheck.project.batch.known import known_names
from turncheck.project.batch.reader import decode
from turncheck.project.folder import ProjectFolder
from turncheck.project.reader import read_project
from turncheck.publishing.files import write_report
from turncheck.render.sinks.terminal import text
from turncheck.report.model import EngineInfo, ProjectInfo, Skipped
from turncheck.run.report_of import report_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turncheck.process.screen import Screen
    from turncheck.report.model import Evaluation, Source

_OTHERS: tuple[Evaluation, ...] = ("validate", "nlu", "core", "e2e")


def run_import_batch(
    files: Sequence[Path], project: Path, *, out: Path, source: Source, root: str, screen: Screen, raw: bool = False
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
    folder = ProjectFolder(project)
    bot = read_project(project)
    known = known_names(bot) if bot.kind.names_all else None
    imported = [import_batch_csv(folder.name(path), _text(folder, path), known, raw=raw) for path in files]
    for one in imported:
        if one.promised is not None and one.promised != len(one.suite.cases):
            words = (
                f"{one.promised:,} are said to be in '{text(one.suite.name)}', its table has {len(one.suite.cases):,}"
            )
            screen.note(f"Warning: the number of utterances differs: {words}.")
    suites = [one.suite for one in imported]
    reason = "imported: the platform's report says nothing about it"
    report = report_of(
        ProjectInfo(
            name=next((one.bot for one in imported if one.bot), shown_path(project.resolve().name)),
            root=root,
            kind="kore",
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
        raise UserError(f"there is no file '{path}'", remedy="Name the CSV report of a batch test.")
    content = folder.read_bytes(path)
    source = None if content is None else decode(folder.name(path), content)[0]
    if source is None:
        raise UserError("cannot be read as text", location=Location(folder.name(path)), remedy="Save it as UTF-8.")
    return source.file_text
