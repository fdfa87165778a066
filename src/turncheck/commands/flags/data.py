"""``turncheck data``: validate, split, convert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.commands.flags.shared import (
    add_config,
    add_domain,
    add_json,
    add_out,
    add_paths,
    add_project,
    add_verbosity,
)

if TYPE_CHECKING:
    import argparse


_KINDS: Final = ("validate", "split", "convert")


def add_parsers(subparsers: argparse._SubParsersAction[Any], kind: str | None = None) -> None:
    """Add ``data`` and what is below it: one kind, or all if none is named or the name is unknown."""
    wanted = (kind,) if kind in _KINDS else _KINDS
    words = "validate, split and convert the project's data"
    data = subparsers.add_parser("data", help=words, description=f"{words[0].upper()}{words[1:]}.")
    kinds = data.add_subparsers(title="commands", metavar="WHAT", required=True, prog=data.prog)
    if "validate" in wanted:
        _add_validate(kinds)
    if "split" in wanted:
        from turncheck.commands.flags.nlu import add_data_split  # each kind is imported on demand

        add_data_split(kinds)
    if "convert" in wanted:
        from turncheck.commands.flags.suite import add_convert

        add_convert(kinds)


def _add_validate(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "validate",
        help="check domain, data and configuration, as `rasa data validate` does",
        description="Check domain, data and configuration. The exit code is 0 where Rasa's is 0, otherwise 1.",
    )
    parser.add_argument("kind", nargs="?", choices=("stories",), help="check only story structure and configuration")
    read = parser.add_argument_group("input")
    add_project(read)
    add_domain(read)
    add_paths(read, "--data", words="training data (default: data)")
    add_config(read)
    how = parser.add_argument_group("checks")
    how.add_argument("--max-history", metavar="N", help="number of states that the story structure check looks back")
    how.add_argument("--fail-on-warnings", action="store_true", help="fail on the warnings on which Rasa fails")
    how.add_argument("--strict", action="store_true", help="show findings beyond Rasa's at their true severity")
    how.add_argument(
        "--target", choices=("3",), help="in a project of an older Rasa, report what Rasa 3 refuses as errors"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format",
        choices=("text", "json", "github", "sarif"),
        default="text",
        help="output format of the findings (default: text)",
    )
    add_out(output, "report.json", "junit.xml")
    add_json(output)
    output.add_argument("--explain", metavar="CODE", help="print the manual for this code, and check nothing")
    add_verbosity(output)
    parser.set_defaults(handler=_validate)


def _validate(namespace: argparse.Namespace) -> int:
    from turncheck.commands.validate import ReportFiles, Request, run_data_validate  # not for --help

    request = Request(
        project=namespace.project,
        domain=namespace.domain,
        data=namespace.data,
        config=namespace.config,
        max_history=namespace.max_history,
        stories_only=namespace.kind == "stories",
        fail_on_warnings=namespace.fail_on_warnings,
        strict=namespace.strict,
        targets_3=namespace.target == "3",
        language=namespace.language,
    )
    return run_data_validate(
        request,
        output_format=namespace.format,
        notes="all" if namespace.verbose else "none" if namespace.quiet else "some",
        explain_code=namespace.explain,
        files=ReportFiles(namespace.json, namespace.out),
    )
