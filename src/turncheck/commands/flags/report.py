"""``turncheck report``: compare, render, import, publish."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.run import add_setting
from turncheck.commands.flags.shared import add_verbosity, at_least_one, existing_folder, output_path, screen_of
from turncheck.messages.errors import UserError
from turncheck.settings.options import options
from turncheck.settings.sources import PATHS, combine, from_flags

if TYPE_CHECKING:
    import argparse


GATES = (
    *("fail-on", "fail-on-warnings", "thresholds", "max-regression", "require", "accept-gone", "not-judged"),
    *("misunderstood", "batch-failures"),
)


OF_MERGING = (
    *("base", "baseline", "comment", "check-run", "annotations", "artifact-name", "retention-days", "token"),
    *("junit-flavour", "output-format"),
)
"""Settings of the merging job itself: what is compared with, and where it is published."""


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``report`` and what is below it."""
    report = subparsers.add_parser(
        "report",
        help="compare, render, import, publish and merge reports",
        description="Compare, render, import, publish and merge reports, and add notes to them.",
    )
    kinds = report.add_subparsers(title="commands", metavar="WHAT", required=True)
    _add_compare(kinds)
    _add_render(kinds)
    _add_import(kinds)
    _add_publish(kinds)
    _add_merge(kinds)
    _add_notes(kinds)


def _add_compare(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "compare",
        help="compare two reports and judge the second",
        description="Compare two reports, and judge the second by the gates given here, otherwise by its own.",
    )
    parser.add_argument("base", type=Path, metavar="BASE", help="a report.json, or its folder")
    parser.add_argument("head", type=Path, metavar="HEAD", help="the newer one: a report.json, or its folder")
    parser.add_argument(
        "--out", type=output_path, default=Path("results"), metavar="DIR", help="output folder (default: results)"
    )
    gates = parser.add_argument_group("gates (default: those of HEAD)")
    for name in GATES:
        add_setting(gates, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_compare)


def _add_render(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "render",
        help="write the outputs of a report again, or one page of several reports",
        description="Write all outputs of REPORT again, or with --html one page of all REPORTs. The comparison"
        " and the verdict are"
        " read from comparison.json and verdict.json beside each report.",
    )
    parser.add_argument("reports", type=Path, nargs="+", metavar="REPORT", help="a report.json, or its folder")
    parser.add_argument(
        "--html", action="store_true", help="write only the page; for several reports, with an overview"
    )
    parser.add_argument("--baseline", metavar="WHAT", help="a report.json to compare with (path or https URL)")
    parser.add_argument(
        "--out",
        type=output_path,
        metavar="PATH",
        help="output folder (default: results); with --html a file (default: report.html)",
    )
    add_setting(parser, "junit-flavour", options()["junit-flavour"])
    add_setting(parser, "output-format", options()["output-format"])
    add_verbosity(parser)
    parser.set_defaults(handler=_render)


def _add_import(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "import",
        help="convert the results of `rasa test` or of Kore.ai's platform into a report",
        description="Convert the results of `rasa test` or of Kore.ai's platform into a report.json, to compare"
        " and judge it.",
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="the folder that `rasa test --out` named")
    parser.recognise("folder", os.path.isdir)
    parser.add_argument(
        "--project",
        type=existing_folder,
        default=Path(),
        metavar="DIR",
        help="the assistant's folder, to find the lines of its test files (default: .)",
    )
    for flag, short, what in (("--nlu", "-u", "sentences"), ("--stories", "-s", "stories")):
        parser.add_argument(
            *(short, flag),
            type=Path,
            nargs="+",
            action="extend",
            default=[],
            metavar="PATH",
            help=f"the test {what} (default: found below tests/)",
        )
    parser.add_argument(
        "--kore-csv",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="instead of DIR: CSV reports of the platform's batch tests",
    )
    parser.add_argument(
        "--raw-csv",
        action="store_true",
        help="the CSV comes from --raw-csv or from the platform: keep a ' before = + - @",
    )
    parser.add_argument(
        "--out", type=output_path, default=Path("results"), metavar="DIR", help="output folder (default: results)"
    )
    add_verbosity(parser)
    parser.set_defaults(handler=_import)


PUBLISHED = ("run-id", "artifact-name", "comment", "check-run", "token", "out", "junit-flavour")


def _add_publish(kinds: argparse._SubParsersAction[Any]) -> None:
    from turncheck.ci.hosts import OF_CODE  # not for the commands beside this one

    parser = kinds.add_parser(
        "publish",
        help="publish a report, or what a workflow run uploaded, on a pull request",
        description="Publish from a laptop or another CI: REPORT on --pull-request N, or the reports of --run-id ID.",
    )
    parser.add_argument("report", nargs="?", type=Path, metavar="REPORT", help="a report.json, or its folder")
    parser.add_argument(
        "--host",
        choices=tuple(OF_CODE),
        help="the pull request's host (default: the host of this job, else github)",
    )
    parser.add_argument(
        "--repository",
        metavar="OWNER/NAME",
        help="repository on that host (default: this job's; on GitHub, GITHUB_REPOSITORY)",
    )
    parser.add_argument(
        "--pull-request", type=at_least_one, metavar="N", help="pull request to publish REPORT on (default: this job's)"
    )
    parser.add_argument("--baseline", metavar="WHAT", help="a report.json to compare REPORT with (path or https URL)")
    for name in PUBLISHED:
        add_setting(parser, name, options()[name])
    gates = parser.add_argument_group("gates (default: those of the report)")
    for name in GATES:
        add_setting(gates, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_publish)


def _compare(namespace: argparse.Namespace) -> int:
    from turncheck.commands.report import compare_reports  # not for --help

    gates = from_flags({name: getattr(namespace, name.replace("-", "_")) for name in GATES})
    return compare_reports(
        namespace.base,
        namespace.head,
        gates=gates,
        out=namespace.out,
        write=sys.stdout.write,
        screen=screen_of(namespace),
    )


def _add_merge(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "merge",
        help="merge the shards of a run",
        description="Put together what `turncheck run --shard N/OF` left, in a checkout of the commit that was"
        " measured; compare, judge and publish as `turncheck run` does.",
    )
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="the output folder of a shard, or the folder that contains them all",
    )
    add_setting(parser, "out", options()["out"])
    parser.add_argument("--json", metavar="FILE", help="also write the report to this file")
    parser.add_argument("--plots", action="store_true", help="draw the plots of `rasa test`, too")
    parser.add_argument(
        "--project",
        metavar="DIR",
        help="the assistant's folder (default: that of the shards; on a CI host the current one)",
    )
    gates = parser.add_argument_group("gates (never those of the shards)")
    for name in (*GATES, "strict"):
        add_setting(gates, name, options()[name])
    measured = parser.add_argument_group("files outside the project, as for the shards")
    for name in PATHS:
        add_setting(measured, name, options()[name])
    publishing = parser.add_argument_group("comparison and publishing")
    for name in OF_MERGING:
        add_setting(publishing, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_merge)


def _add_notes(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "notes",
        help="add notes on a run of batch suites to its report, or change them",
        description="Add notes on a run of batch suites to its report, or change them. `turncheck report render`"
        " then writes the report's other outputs with them.",
    )
    parser.add_argument("report", type=Path, metavar="REPORT", help="a report.json, or its folder; it is changed")
    parser.add_argument("notes", metavar="TEXT", help="the notes, up to 1,024 characters; empty to remove them")
    parser.add_argument("--suite", metavar="NAME", help="only those of this suite (default: of all)")
    add_verbosity(parser)
    parser.set_defaults(handler=_notes)


def _notes(namespace: argparse.Namespace) -> int:
    from turncheck.commands.report import change_notes  # not for --help

    return change_notes(namespace.report, namespace.notes, namespace.suite, screen_of(namespace))


def _merge(namespace: argparse.Namespace) -> int:
    from turncheck.commands.run import merge_from_flags  # not for --help

    names = ("project", "out", *GATES, "strict", *PATHS, *OF_MERGING)
    flags = {name: getattr(namespace, name.replace("-", "_")) for name in names}
    screen = screen_of(namespace)
    return merge_from_flags(namespace.folders, flags, json=namespace.json, plots=namespace.plots, screen=screen)


def _import(namespace: argparse.Namespace) -> int:
    from turncheck.ci.hosts import find_host
    from turncheck.commands.import_results import run_import  # not for --help
    from turncheck.run.prepare import locate_in_repository

    source, root = locate_in_repository(namespace.project, find_host(os.environ))
    if bool(namespace.kore_csv) == (namespace.folder is not None):
        raise UserError("name either a folder or --kore-csv", hint="See `turncheck report import --help`.")
    if namespace.raw_csv and not namespace.kore_csv:
        raise UserError("--raw-csv is only valid with --kore-csv", hint="Omit it.")
    if namespace.kore_csv:
        from turncheck.platforms.registry import parts

        out, screen = namespace.out, screen_of(namespace)
        more = {"out": out, "source": source, "root": root, "screen": screen, "raw": namespace.raw_csv}
        return int(parts("imported")["kore"].run_import_batch(namespace.kore_csv, namespace.project, **more))
    return run_import(
        namespace.folder,
        namespace.project,
        nlu=namespace.nlu,
        stories=namespace.stories,
        out=namespace.out,
        source=source,
        root=root,
        screen=screen_of(namespace),
    )


def _render(namespace: argparse.Namespace) -> int:
    from turncheck.commands.report import render_pages, render_report  # not for --help

    screen = screen_of(namespace)
    if namespace.html:
        return render_pages(namespace.reports, namespace.baseline, namespace.out, screen)
    if len(namespace.reports) > 1:
        raise UserError("several reports are only for --html", hint="Add --html, or give one report.")
    given = {"junit-flavour": namespace.junit_flavour, "output-format": namespace.output_format}
    out = namespace.out or Path("results")
    return render_report(namespace.reports[0], namespace.baseline, out, screen, combine(from_flags(given)))


def _publish(namespace: argparse.Namespace) -> int:
    from turncheck.commands.report import PublishRequest, publish_report  # not for --help

    settings = combine(from_flags({name: getattr(namespace, name.replace("-", "_")) for name in PUBLISHED}))
    request = PublishRequest(
        host=namespace.host or "",
        repository=namespace.repository or "",
        token=settings.token,
        settings=settings,
        gates=from_flags({name: getattr(namespace, name.replace("-", "_")) for name in GATES}),
        report=namespace.report,
        pull_request=namespace.pull_request,
        baseline=namespace.baseline,
    )
    return publish_report(request, os.environ, screen_of(namespace))
