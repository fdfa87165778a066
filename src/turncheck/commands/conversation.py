"""``turncheck shell`` and ``turncheck test e2e``: the assistant is talked to."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.bounds import capped_workers
from turncheck.commands.rasa_flags import add_rasa_flags, rasa_settings
from turncheck.commands.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.shared_flags import (
    add_channel,
    add_config,
    add_domain,
    add_json,
    add_model,
    add_project,
    add_seed,
    add_verbosity,
    repetitions,
    screen_of,
    workers,
)
from turncheck.commands.word_order import holds_test_cases

if TYPE_CHECKING:
    from turncheck.assistants import AssistantOptions


_DEFAULT_RESULTS: Final = Path()


def add_shell(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``shell``."""
    parser = subparsers.add_parser(
        "shell",
        help="talk to the assistant",
        description="Talk to the assistant; from a pipe, one message a line.",
    )
    _add_assistant(parser)
    talk = parser.add_argument_group("the conversation")
    talk.add_argument("--format", choices=("text", "jsonl"), default="text", help="jsonl: one line of JSON a turn")
    talk.add_argument(
        "--fixture",
        action="append",
        default=[],
        metavar="SLOT=VALUE",
        help="fill a slot first; the value is JSON, else text (repeatable)",
    )
    add_channel(talk)
    add_verbosity(parser)
    parser.set_defaults(handler=_shell, remote_storage=None)


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
        help="file or folder of cases, or file.yml::name (default: tests/e2e_test_cases.yml)",
    )
    parser.recognise("paths", holds_test_cases)
    group = _add_assistant(parser)
    group.add_argument(
        "--remote-storage",
        metavar="WHERE",
        help="where the model named by --model is kept: a folder, https://…, s3://bucket/prefix, or aws",
    )
    add_rasa_flags(parser)
    run = parser.add_argument_group("how cases are run")
    run.add_argument("--fail-fast", action="store_true", help="stop after the first case that fails")
    run.add_argument(
        "--slot-order",
        choices=("any", "strict"),
        default="any",
        help="whether several slot_was_set steps of a turn must stand in the order of the slots (default: any)",
    )
    run.add_argument(
        "--repeat", type=repetitions, default=1, metavar="N", help="run each case N times, to find flaky ones"
    )
    run.add_argument("--workers", type=workers, default=0, metavar="N", help="cases at once (default: 0, four)")
    run.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="S", help="seconds a turn may take (default: 60)"
    )
    add_channel(run)
    output = parser.add_argument_group("output")
    output.add_argument(
        *("-o", "--e2e-results"),
        type=Path,
        nargs="?",
        const=_DEFAULT_RESULTS,
        metavar="PATH",
        help="write the results (without PATH: tests/e2e_results.yml of the project)",
    )
    add_json(output)
    add_verbosity(output)
    parser.set_defaults(handler=_test_e2e)


def _add_assistant(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("the assistant")
    add_project(group)
    add_domain(group)
    group.add_argument(
        "--data", type=Path, nargs="+", action="extend", default=[], metavar="PATH", help="(default: data)"
    )
    add_config(group)
    add_model(group)
    group.add_argument("--endpoints", type=Path, metavar="PATH", help="(default: endpoints.yml)")
    group.add_argument(
        "--action-endpoint", metavar="URL", help="the action server, instead of the one in endpoints.yml"
    )
    group.add_argument("--action-server", metavar="COMMAND", help="start the action server with this command")
    add_seed(group, "training and of variations")
    add_vectors_flag(group)
    add_custom_code_flag(group)
    return group


def _assistant(namespace: argparse.Namespace) -> AssistantOptions:
    from turncheck.assistants import AssistantOptions  # noqa: PLC0415 - the job's imports are not for --help

    return AssistantOptions(
        project=namespace.project,
        domain=namespace.domain,
        data=tuple(namespace.data),
        config=namespace.config,
        endpoints=namespace.endpoints,
        model=namespace.model,
        remote_storage=namespace.remote_storage,
        seed=namespace.seed,
        vectors=namespace.vectors,
        allow_custom_code=namespace.allow_custom_code,
        action_endpoint=namespace.action_endpoint,
        action_server=namespace.action_server,
    )


def _shell(namespace: argparse.Namespace) -> int:
    from turncheck.shell_command import (  # noqa: PLC0415 - see above
        ShellOptions,
        Terminal,
        run_shell,
        typed_lines,
    )

    interactive = sys.stdin.isatty() and namespace.format == "text"
    ends = Terminal(typed_lines() if interactive else sys.stdin, sys.stdout, interactive)
    shell = ShellOptions(namespace.format, namespace.fixture, namespace.channel)
    return run_shell(_assistant(namespace), shell, ends, os.environ, screen_of(namespace))


def _test_e2e(namespace: argparse.Namespace) -> int:
    from turncheck.e2e_command import E2EOptions, run_test_e2e  # noqa: PLC0415 - see above
    from turncheck.evaluation.e2e import CaseRun  # noqa: PLC0415 - see above

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
    rasa = rasa_settings(namespace, workers=at_once)
    results = namespace.e2e_results
    if results is _DEFAULT_RESULTS:
        results = namespace.project / "tests" / "e2e_results.yml"
    options = E2EOptions(tuple(namespace.paths), run, results, namespace.json, rasa)
    return run_test_e2e(options, _assistant(namespace), os.environ, screen, sys.stdout)


def _seconds(written: str) -> float:
    try:
        seconds = float(written)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, not '{written}'")
    return seconds
