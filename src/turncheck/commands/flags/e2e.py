"""``turncheck test e2e``: its flags."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Final

from turncheck.commands.flags.engine import add_assistant, add_engine_flags, assistant_of
from turncheck.commands.flags.parser import holds_test_cases
from turncheck.commands.flags.shared import (
    add_channel,
    add_json,
    add_verbosity,
    output_path,
    repetitions,
    screen_of,
    workers,
)
from turncheck.settings.bounds import capped_workers

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
        "--repeat", type=repetitions, default=1, metavar="N", help="run each case N times, to find flaky cases"
    )
    run.add_argument(
        "--workers", type=workers, default=0, metavar="N", help="number of cases run in parallel (default: 0, four)"
    )
    run.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="S", help="time limit of a turn in seconds (default: 60)"
    )
    add_channel(run)
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
        type=output_path,
        metavar="DIR",
        help="where to write the coverage report (default: e2e_coverage_results in the project)",
    )
    add_json(output)
    add_verbosity(output)
    parser.set_defaults(handler=_test_e2e)


def _test_e2e(namespace: argparse.Namespace) -> int:
    from turncheck.commands.coverage_report import DEFAULT_FOLDER
    from turncheck.commands.e2e import E2EOptions, run_test_e2e
    from turncheck.evaluation.e2e_case import CaseRun

    screen = screen_of(namespace)
    at_once = capped_workers(namespace.workers, screen)
    run = CaseRun(
        slot_order=namespace.slot_order,
        fail_fast=namespace.fail_fast,
        workers=at_once or 4,
        repeat=namespace.repeat,
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
    return run_test_e2e(options, assistant_of(namespace, workers=at_once), os.environ, screen, sys.stdout)


def _seconds(written: str) -> float:
    try:
        seconds = float(written)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, not '{written}'")
    return seconds
