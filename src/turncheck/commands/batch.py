"""``turncheck test batch``: run batch suites against the assistant and report the results."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from turncheck.commands.flags import shared
from turncheck.commands.flags.engine import add_cache_flags, add_engine_flags, models_of, settings_of
from turncheck.messages.errors import EXIT_FAILED, EXIT_NOT_DONE, EXIT_OK, UserError
from turncheck.messages.phrasing import at_paths
from turncheck.render.sinks.terminal import place, text
from turncheck.settings.parsers import MAX_NOTES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from turncheck.engines.base import Models
    from turncheck.messages.finding import Finding
    from turncheck.process.screen import Console
    from turncheck.project.batch.model import Suites
    from turncheck.project.batch.reader import HowToRead
    from turncheck.report.model import Report
    from turncheck.run.quarantined import Quarantined
    from turncheck.settings.options import Settings


def add_test_batch(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``batch`` below ``test``."""
    parser = subparsers.add_parser(
        "batch",
        help="run batch suites",
        description="Run batch suites of Kore.ai's platform: labelled utterances in JSON or CSV, with any engine.",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="SUITE",
        help="files or folders of suites (default: those found in tests/ and batch/ of the project)",
    )
    parser.recognise("paths", os.path.exists)
    group = parser.add_argument_group("the assistant")
    shared.add_project(group)
    shared.add_domain(group)
    shared.add_paths(group, "--data", words="training data, files or folders (default: data)")
    shared.add_config(group)
    shared.add_model(group)
    shared.add_seed(group, "training")
    shared.add_vectors_flag(group)
    shared.add_custom_code_flag(group)
    add_cache_flags(group)
    add_engine_flags(parser)
    run = parser.add_argument_group("suites")
    run.add_argument("--name", metavar="NAME", help="name of the suite (default: the file's name)")
    run.add_argument("--description", default="", metavar="TEXT", help="what the suite is for")
    run.add_argument("--notes", default="", metavar="TEXT", help="notes on this run, up to 1,024 characters")
    run.add_argument(
        "--repeat",
        type=shared.repetitions,
        metavar="N",
        help="ask for each utterance N times, to find flaky ones",
    )
    run.add_argument("--strict", action="store_true", help="treat unknown keys as errors, and advise on names")
    output = parser.add_argument_group("output")
    output.add_argument("--csv", type=Path, metavar="FILE", help="write the results in the platform's report layout")
    output.add_argument(
        "--raw-csv", action="store_true", help="do not put ' before cells that a spreadsheet would run as formulas"
    )
    shared.add_out(output, "report.json", "junit.xml", "the CSV files")
    shared.add_json(output)
    shared.add_verbosity(output)
    parser.set_defaults(handler=_test_batch)


def _test_batch(namespace: argparse.Namespace) -> int:
    from turncheck.project.batch.reader import HowToRead
    from turncheck.settings.engines import ENGINES

    settings, models = settings_of(namespace), models_of(namespace)
    uploads = ENGINES[settings.engine].uploads
    upload = uploads is not None and getattr(settings, uploads[0]) == uploads[1]
    options = BatchOptions(
        tuple(namespace.paths),
        HowToRead(namespace.name, namespace.description, strict=namespace.strict, upload=upload),
        namespace.notes,
        namespace.csv,
        namespace.raw_csv,
        namespace.json,
        namespace.out,
        namespace.repeat,
    )
    return run_test_batch(options, settings, models, os.environ, shared.screen_of(namespace), sys.stdout)


class BatchOptions(NamedTuple):
    """What is run and written. ``paths``: suites, files or folders; without any, those of the project.

    ``csv``: the platform's report layout; ``raw_csv``: without apostrophes before what spreadsheets take for formulas.
    ``out``: a folder for all of it, ``None``: none. ``repeat``: how often each suite is run;
    ``None``: as in a run.
    """

    paths: tuple[str, ...]
    how: HowToRead
    notes: str = ""
    csv: Path | None = None
    raw_csv: bool = False
    json: Path | None = None
    out: Path | None = None
    repeat: int | None = None


def run_test_batch(  # noqa: PLR0917 - what a command is given, as `run_test_e2e`
    options: BatchOptions,
    settings: Settings,
    models: Models,
    environment: Mapping[str, str],
    screen: Console,
    output: TextIO,
) -> int:
    """Run the suites: 0 if all cases passed, 1 if one failed, 2 if none could be judged.

    Raises:
        UserError: suites that cannot be read, nothing to run, an assistant that cannot be made. Where the engine gave
            up, all that was finished is written before.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    from msgspec import structs

    from turncheck.evaluations.batch.measure import SuiteOptions
    from turncheck.project.batch.known import known_names
    from turncheck.project.batch.reader import find_suites, read_suites
    from turncheck.publishing.files import terminal_results
    from turncheck.report.model import Source
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.partial import end_with
    from turncheck.run.quarantined import with_quarantine
    from turncheck.run.reading import NO_TESTS, read_answered_elsewhere, read_assistant
    from turncheck.run.report_of import now
    from turncheck.run.single import Subject, run_single
    from turncheck.validation.case_names import unknown_names

    if len(options.notes) > MAX_NOTES:
        raise UserError(f"--notes has {len(options.notes):,} characters; at most {MAX_NOTES:,} are allowed")
    ensure_apart_from_project(options.out, settings, options.json, options.csv)
    project = read_answered_elsewhere(settings) if options.paths else read_assistant(settings)
    paths = options.paths or find_suites(project.root)
    read = read_suites(project.root, paths, options.how)
    faults = unknown_names(read, known_names(project))
    refuse_faulty(read, faults, named_as(project.root, paths), settings.project, screen, paths=options.paths)
    if options.how.name is not None and len(read.suites) > 1:
        raise UserError("--name is for one suite", hint="Run the suites one by one to name them.")
    measured = now()
    settings = dataclasses.replace(settings, notes=options.notes)
    if options.repeat is not None:
        settings = dataclasses.replace(settings, repeats="off")

    subject = Subject(settings, project, structs.replace(NO_TESTS, batch=tuple(paths)), models, environment)
    asked = SuiteOptions(read, options.repeat)
    single = run_single("batch", subject, screen, asked, source=Source(measured=measured))
    batch = single.report.batch
    held = with_quarantine(single.report, project.root, screen, environment)
    report = held.report
    if batch is not None:
        output.write(terminal_results(report, settings.project))
    write_batch(report, options, screen)
    if single.stopped is not None:
        end_with(single.stopped)
    return _exit_code(held, screen)


def _exit_code(held: Quarantined, screen: Console) -> int:
    from turncheck.comparison.tally import tallies

    batch = held.report.batch
    if batch is None or all(case.result == "not-evaluated" for case in batch.cases):
        screen.note("Nothing was tested: no case could be evaluated.")
        return EXIT_NOT_DONE
    if any(suite.outcome in {"failed", "cancelled"} for suite in batch.suites):
        return EXIT_NOT_DONE
    tally = next(tally for tally in tallies(held.report) if tally.evaluation == "batch")
    if held.is_faulty or tally.unexpected or tally.failed or tally.tolerated:
        return EXIT_FAILED
    if tally.ran == tally.in_quarantine + len(tally.unclear):
        screen.note(f"Nothing was tested: every case that ran is {'unclear' if tally.unclear else 'in quarantine'}.")
        return EXIT_NOT_DONE
    return EXIT_OK


def named_as(root: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return, by the names that findings have, the names under which files were given."""
    from turncheck.project.folder import ProjectFolder

    folder = ProjectFolder(root)
    return {folder.name(Path(path)): path for path in paths if Path(path).is_file()}


def refuse_faulty(
    read: Suites,
    checked: Sequence[Finding],
    named: Mapping[str, str],
    folder: str,
    screen: Console,
    *,
    paths: Sequence[str] = (),
    empty_is_fine: bool = False,
) -> None:
    """Report what is wrong with suites; errors stop the command before anything runs.

    Raises:
        UserError: all errors, or that there are no suites.
    """
    findings = sorted((*read.findings, *checked), key=lambda finding: finding.location.sort_key)
    errors = [finding for finding in findings if finding.severity == "error"]
    for finding in findings:
        if finding.severity != "error":
            screen.note(f"{finding.severity.capitalize()}: {_fault_line(finding, named, folder)}")
    if errors:
        faults = "\n".join(_fault_line(finding, named, folder) for finding in errors)
        raise UserError(f"the suites have {len(errors)} faults:\n{faults}" if len(errors) > 1 else faults)
    if not read.suites and not empty_is_fine:
        raise UserError(
            f"there are no batch suites{at_paths(paths)}",
            hint="Name a suite (.json or .csv), or put it into tests/ or batch/.",
        )


def _fault_line(finding: Finding, named: Mapping[str, str], folder: str) -> str:
    from turncheck.messages.finding import Location

    where = finding.location
    shown = named.get(where.path)
    at = place(where, folder) if shown is None else text(str(Location(shown, where.line, where.column)), 400)
    hint = f" {finding.hint}" if finding.hint else ""
    return f"{at}: {text(f'{finding.message}{hint}', 600)} ({finding.code})"


def write_batch(report: Report, options: BatchOptions, screen: Console) -> None:
    """Write the requested files; as on the platform, a suite whose run was cancelled has no CSV.

    Raises:
        UserError: a file cannot be written.
    """
    from turncheck.publishing.files import write_file, write_report, write_results
    from turncheck.render.batch_csv import render_batch_csv
    from turncheck.report.codec import encode

    suites = report.batch.suites if report.batch else ()
    tested = report.source.measured or ""
    if options.csv is not None:
        several = len(suites) > 1
        for number, suite in enumerate(suites, start=1):
            if suite.outcome == "cancelled":
                screen.note(f"'{text(suite.name)}' was cancelled: it has no CSV.")
                continue
            path = options.csv.with_stem(f"{options.csv.stem}-{number}") if several else options.csv
            rendered = render_batch_csv(report, suite, path.name, raw=options.raw_csv, tested=tested)
            write_file(path, rendered.encoded)
            screen.note(f"The results of '{text(suite.name)}' are in {path}")
    if options.json is not None:
        write_report(options.json, report)
    if options.out is not None:
        from turncheck.render.junit import render_junit
        from turncheck.render.links import Links
        from turncheck.render.rendered import Rendered
        from turncheck.render.wording.gates import judge

        junit = render_junit(report, None, judge(report, None, report.settings), Links())
        files = [Rendered("report.json", "application/json", encode(report)), junit]
        files += [
            render_batch_csv(report, suite, f"batch/{number}.csv", raw=options.raw_csv, tested=tested)
            for number, suite in enumerate(suites, start=1)
            if suite.outcome != "cancelled"
        ]
        write_results(options.out, files)
