"""``turncheck test batch``: its flags."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.engine import add_cache_flags, add_engine_flags, models_of, settings_of
from turncheck.commands.flags.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.flags.shared import (
    add_config,
    add_domain,
    add_json,
    add_model,
    add_out,
    add_paths,
    add_project,
    add_seed,
    add_verbosity,
    screen_of,
)

if TYPE_CHECKING:
    import argparse


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
    add_project(group)
    add_domain(group)
    add_paths(group, "--data", words="training data, files or folders (default: data)")
    add_config(group)
    add_model(group)
    add_seed(group, "training")
    add_vectors_flag(group)
    add_custom_code_flag(group)
    add_cache_flags(group)
    add_engine_flags(parser)
    run = parser.add_argument_group("suites")
    run.add_argument("--name", metavar="NAME", help="name of the suite (default: the file's name)")
    run.add_argument("--description", default="", metavar="TEXT", help="what the suite is for")
    run.add_argument("--notes", default="", metavar="TEXT", help="notes on this run, up to 1,024 characters")
    run.add_argument("--strict", action="store_true", help="treat unknown keys as errors, and advise on names")
    output = parser.add_argument_group("output")
    output.add_argument("--csv", type=Path, metavar="FILE", help="write the results in the platform's report layout")
    output.add_argument(
        "--raw-csv", action="store_true", help="do not put ' before cells that a spreadsheet would run as formulas"
    )
    add_out(output, "report.json", "junit.xml", "the CSV files")
    add_json(output)
    add_verbosity(output)
    parser.set_defaults(handler=_test_batch)


def _test_batch(namespace: argparse.Namespace) -> int:
    from turncheck.commands.batch import BatchOptions, run_test_batch  # not for --help
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
    )
    return run_test_batch(options, settings, models, os.environ, screen_of(namespace), sys.stdout)
