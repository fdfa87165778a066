"""``turncheck test e2e``: run end-to-end cases against the assistant and report the results in pytest's style."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO, cast

from turncheck.commands.flags import shared
from turncheck.commands.flags.engine import add_assistant, add_engine_flags, assistant_of
from turncheck.commands.flags.parser import holds_test_cases
from turncheck.messages.errors import EXIT_FAILED, EXIT_NOT_DONE, EXIT_OK, UserError
from turncheck.messages.phrasing import at_paths
from turncheck.render.sinks.terminal import place, text
from turncheck.settings.bounds import capped_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.evaluations.e2e.case import CaseOutcome, CaseRun
    from turncheck.messages.finding import Finding
    from turncheck.process.screen import Console
    from turncheck.project.e2e.model import E2ECase, E2ECases
    from turncheck.report.model import CaseResult, EndToEnd
    from turncheck.run.assistant import AssistantOptions
    from turncheck.run.quarantined import Quarantined

_DEFAULT_RESULTS: Final = Path()


def add_test_e2e(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``e2e`` below ``test``."""
    parser = subparsers.add_parser(
        "e2e",
        help="run end-to-end test cases",
        description="Run end-to-end test cases: whole conversations, judged turn by turn.",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files or folders of test cases, or file.yml::name (default: found in tests/ and e2e_tests/)",
    )
    parser.recognise("paths", holds_test_cases)
    group = add_assistant(parser)
    group.add_argument(
        "--remote-storage",
        metavar="WHERE",
        help="where the model named by --model is stored: a folder, https://…, s3://bucket/prefix, gs://bucket/prefix,"
        " aws, gcs or azure",
    )
    add_engine_flags(parser)
    run = parser.add_argument_group("execution")
    run.add_argument("--fail-fast", action="store_true", help="stop after the first case that fails")
    run.add_argument(
        "--slot-order",
        choices=("any", "strict"),
        default="strict",
        help="strict: consecutive slot_was_set steps must be in the order in which the slots are set, as Rasa's"
        " documentation demands; any: in any order (default: strict)",
    )
    run.add_argument(
        "--repeat", type=shared.repetitions, metavar="N", help="run each case N times, to find flaky cases"
    )
    run.add_argument(
        "--workers",
        type=shared.workers,
        default=0,
        metavar="N",
        help="number of cases run in parallel (default: 0, four)",
    )
    run.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="S", help="time limit of a turn in seconds (default: 60)"
    )
    shared.add_channel(run)
    output = parser.add_argument_group("output")
    output.add_argument(
        *("-o", "--e2e-results"),
        type=Path,
        nargs="?",
        const=_DEFAULT_RESULTS,
        metavar="PATH",
        help="write the results to PATH (without PATH: tests/e2e_results.yml in the project)",
    )
    output.add_argument(
        "--coverage-report",
        action="store_true",
        help="show and write which steps of flows, or of stories and rules, the cases that passed and failed reach",
    )
    output.add_argument(
        "--coverage-output-path",
        type=shared.output_path,
        metavar="DIR",
        help="where to write the coverage report (default: e2e_coverage_results in the project)",
    )
    shared.add_json(output)
    shared.add_verbosity(output)
    parser.set_defaults(handler=_test_e2e)


def _test_e2e(namespace: argparse.Namespace) -> int:
    from msgspec.structs import replace

    from turncheck.commands.coverage_report import DEFAULT_FOLDER
    from turncheck.evaluations.e2e.case import CaseRun

    screen = shared.screen_of(namespace)
    at_once = capped_workers(namespace.workers, screen)
    run = CaseRun(
        slot_order=namespace.slot_order,
        fail_fast=namespace.fail_fast,
        workers=at_once or 4,
        repeat=namespace.repeat or 1,
        turn_timeout=namespace.timeout,
        channel=namespace.channel,
    )
    results = namespace.e2e_results
    if results is _DEFAULT_RESULTS:
        results = namespace.project / "tests" / "e2e_results.yml"
    coverage = namespace.coverage_output_path
    if namespace.coverage_report and coverage is None:
        coverage = namespace.project / DEFAULT_FOLDER
    options = E2EOptions(tuple(namespace.paths), run, results, namespace.json, coverage)
    assistant = assistant_of(namespace, workers=at_once)
    if namespace.repeat is not None or namespace.fail_fast:
        assistant = replace(assistant, settings=dataclasses.replace(assistant.settings, repeats="off"))
    return run_test_e2e(options, assistant, os.environ, screen, sys.stdout)


def _seconds(written: str) -> float:
    try:
        seconds = float(written)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, not '{written}'")
    return seconds


DEFAULT_RESULTS: Final = "e2e_results.yml"


class E2EOptions(NamedTuple):
    """What is run and written. ``paths``: files, folders, ``file.yml::case``; without any, all cases of the project.

    ``results``: where to write the results, a file or a folder; ``coverage``: the folder of the coverage report.
    """

    paths: tuple[Path | str, ...]
    run: CaseRun
    results: Path | None = None
    json: Path | None = None
    coverage: Path | None = None


def run_test_e2e(
    options: E2EOptions,
    assistant: AssistantOptions,
    environment: Mapping[str, str],
    screen: Console,
    output: TextIO,
) -> int:
    """Run the cases: 0 if none failed, 1 if one did, 2 if all were skipped.

    Raises:
        UserError: cases that cannot be read, a path that is missing, nothing to run, an assistant that cannot be made.
            Where the engine gave up, all that was finished is written before.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    from msgspec import structs

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.evaluations.e2e.judging import none_run
    from turncheck.evaluations.e2e.measure import CaseOptions
    from turncheck.project.e2e.cases import DEFAULT_PATH, read_cases
    from turncheck.project.testfiles import find_e2e_cases, find_e2e_cases_not_looked_for
    from turncheck.publishing.files import write_report
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.partial import cause, end_with
    from turncheck.run.quarantined import with_quarantine
    from turncheck.run.reading import CASES_BELOW, NO_TESTS, read_dialogue_assistant
    from turncheck.run.single import Subject, run_single
    from turncheck.validation.case_names import check_cases

    settings = assistant.settings
    ensure_apart_from_project(options.coverage, settings, options.json, flag="--coverage-output-path")
    project = read_dialogue_assistant(settings, endpoints=assistant.endpoints)
    named = options.paths or tuple(find_e2e_cases(project.root)) or (project.root / DEFAULT_PATH,)
    read = read_cases(project.root, named)
    checked = [] if project.domain.is_empty else check_cases(read, DialogueDomain.of(project), project.flows)
    folder = settings.project
    for path in () if options.paths else find_e2e_cases_not_looked_for(project.root, ()):
        screen.note(f"Not run: '{path}' holds end-to-end cases, but it is not below {CASES_BELOW}: name it.")
    _refuse_faulty(read, checked, folder, screen)
    if not read.cases:
        what = f"there are no end-to-end test cases{at_paths(options.paths)}"
        raise UserError(what, hint=f"Name a file, or write {DEFAULT_PATH}.")
    progress = Progress(output, len(read.cases), folder)
    outcomes: list[CaseOutcome] = []

    tests = structs.replace(NO_TESTS, e2e=tuple(map(str, named)))
    subject = Subject(settings, project, tests, assistant.models, environment)
    asked = CaseOptions(read, options.run, progress.finished, outcomes.append)
    try:
        single = run_single("e2e", subject, screen, asked)
    finally:
        progress.end()
    stopped, report = single.stopped, single.report
    if report.e2e is None:
        none = none_run(read.cases, cause(stopped) if stopped is not None else "")
        report = structs.replace(report, e2e=none, skipped=())
    result = cast("EndToEnd", report.e2e)
    held = with_quarantine(report, project.root, screen, environment)
    report = held.report
    _print(held, folder, output)
    _write(options, read.cases, result, screen)
    if options.coverage is not None:
        from turncheck.commands.coverage_report import write_coverage_report  # only on request

        output.write(write_coverage_report(project, read.cases, outcomes, options.coverage))
        screen.note(f"The coverage report is in {options.coverage}")
    if options.json is not None:
        write_report(options.json, report)
    if stopped is not None:
        end_with(stopped)
    return _exit_code(held, screen)


def _print(held: Quarantined, folder: str, output: TextIO) -> None:
    """Print the differences of the cases that fail and count, then what a run prints."""
    from turncheck.publishing.files import terminal_results
    from turncheck.render.case_differences import case_differences

    cases = held.report.e2e.cases if held.report.e2e else ()
    failed = [case for case in cases if case.outcome in {"failed", "error"}]
    counting = [case for case in failed if held.held.entry_of(case.name, case.location) is None]
    output.write(case_differences(counting, folder, colour=output.isatty()))
    output.write(terminal_results(held.report, folder))


def _write(options: E2EOptions, cases: Sequence[E2ECase], result: EndToEnd, screen: Console) -> None:
    from turncheck.publishing.files import write_file

    if options.results is not None:
        path = options.results / DEFAULT_RESULTS if options.results.is_dir() else options.results
        write_file(path, results_yaml(cases, result))
        screen.note(f"The results are in {path}")


def _exit_code(held: Quarantined, screen: Console) -> int:
    from turncheck.comparison.tally import tallies

    tally = next((tally for tally in tallies(held.report) if tally.evaluation == "e2e"), None)
    if tally is None or not tally.ran:
        screen.note("Nothing was tested: all cases were skipped.")
        return EXIT_NOT_DONE
    if tally.failed or tally.unexpected or held.is_faulty:
        return EXIT_FAILED
    if tally.ran == tally.in_quarantine + len(tally.unclear):
        screen.note(f"Nothing was tested: every case that ran is {'unclear' if tally.unclear else 'in quarantine'}.")
        return EXIT_NOT_DONE
    return EXIT_OK


def _refuse_faulty(read: E2ECases, checked: Sequence[Finding], folder: str, screen: Console) -> None:
    """Report what is wrong with the files; errors stop the command before anything runs."""
    findings = sorted((*read.findings, *checked), key=lambda finding: finding.location.sort_key)
    errors = [finding for finding in findings if finding.severity == "error"]
    for finding in findings:
        if finding.severity == "warning":
            screen.note(f"Warning: {_fault_text(finding, folder)}")
    if errors:
        faults = "\n".join(_fault_text(finding, folder) for finding in errors)
        raise UserError(f"the test cases have {len(errors)} faults:\n{faults}" if len(errors) > 1 else faults)


def _fault_text(finding: Finding, folder: str) -> str:
    hint = f" {finding.hint}" if finding.hint else ""
    return f"{place(finding.location, folder)}: {text(f'{finding.message}{hint}', 600)}"


MARKS: Final = {"passed": ".", "failed": "F", "misunderstood": "m", "error": "E", "skipped": "s", "unclear": "?"}


class Progress:
    """One sign per case, one line per file."""

    def __init__(self, output: TextIO, total: int, folder: str = "") -> None:
        self._output = output
        self._total = total
        self._folder = folder
        self._done = 0
        self._path: str | None = None

    def finished(self, case: CaseResult) -> None:
        """Show the case."""
        from turncheck.messages.finding import Location

        if case.location.path != self._path:
            self.end()
            self._path = case.location.path
            self._output.write(f"{place(Location(self._path), self._folder)} ")
        self._done += 1
        self._output.write(MARKS[case.outcome])
        self._output.flush()

    def end(self) -> None:
        """End the line."""
        if self._path is not None:
            self._output.write(f" [{self._done * 100 // self._total:3}%]\n")
            self._output.flush()  # before what is shown elsewhere


def results_yaml(cases: Sequence[E2ECase], result: EndToEnd) -> bytes:
    """Return the results as the file that Rasa Pro writes: ``test_results`` with one entry per case."""
    import yaml

    entries = [_entry(case, case_result) for case, case_result in zip(cases, result.cases, strict=True)]
    document = yaml.safe_dump({"test_results": entries}, allow_unicode=True, sort_keys=False, width=120)
    return document.encode()


def _entry(case: E2ECase, result: CaseResult) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": result.name,
        "pass_status": result.passed,
        "expected_steps": list(case.source),
        "difference": list(result.difference),
    }
    entry.update(_more(result))
    return entry


def _more(result: CaseResult) -> Iterator[tuple[str, Any]]:
    failed = next((s.location for s in result.steps if s.outcome == "failed" and s.location is not None), None)
    if failed is not None:
        yield "error_path", f"{result.location.path}:{failed.line}"
    if result.outcome == "skipped":
        yield "skipped", result.reason or ""
    elif result.reason:
        yield "reason", result.reason
    if result.attempts is not None:
        yield "pass_rate", result.attempts.passed / result.attempts.of
