"""``turncheck suite`` and ``turncheck data convert batch``: their flags."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.commands.flags.shared import add_paths, add_project, add_verbosity, at_least_one, output_path, screen_of

if TYPE_CHECKING:
    import argparse


# ``turncheck data convert nlu|core|domain|config``: its flags.

_KINDS: Final = {
    "nlu": "NLU data and responses in Markdown or JSON, or in the YAML of Rasa 2",
    "core": "stories in Markdown, or in the YAML of Rasa 2",
    "domain": "a domain of Rasa 0.x, 1.x or 2.x",
    "config": "a configuration of Rasa 0.x, 1.x or 2.x",
}


def add_older(kinds: argparse._SubParsersAction[Any]) -> None:
    """Add the kinds of files of an older Rasa below ``convert``."""
    for kind, what in _KINDS.items():
        parser = kinds.add_parser(
            kind,
            help=f"{what}: to the YAML of Rasa 3",
            description=f"Convert {what} to the YAML of Rasa 3, and list what could not be converted.",
        )
        parser.add_argument(
            "files", nargs="*", type=Path, metavar="FILE", help="files or folders (default: those of the project)"
        )
        add_project(parser)
        parser.add_argument(
            "--out",
            type=output_path,
            default=Path("converted"),
            metavar="DIR",
            help="output folder (default: converted)",
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="train on both forms, and end with exit code 1 if they behave differently",
        )
        parser.add_argument("--dry-run", action="store_true", help="write nothing, show what would change")
        add_verbosity(parser)
        parser.set_defaults(handler=_convert_older, kind=kind)


def _convert_older(namespace: argparse.Namespace) -> int:
    from turncheck.commands.convert import Conversion, run_data_convert  # not for --help

    conversion = Conversion(
        namespace.kind, namespace.files, namespace.project, namespace.out, namespace.check, namespace.dry_run
    )
    return run_data_convert(conversion, screen_of(namespace))


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``suite`` and what is below it."""
    suite = subparsers.add_parser(
        "suite",
        help="make batch suites",
        description="Make batch suites: labelled utterances, as Kore.ai's platform tests them.",
    )
    kinds = suite.add_subparsers(title="commands", metavar="WHAT", required=True)
    _add_from_data(kinds)
    _add_from_conversations(kinds)
    _add_suggest(kinds)
    _add_add(kinds)
    _add_sample(kinds)


def add_convert(kinds: argparse._SubParsersAction[Any]) -> None:
    """Add ``convert batch`` below ``data``."""
    words = "convert data from one format into another"
    convert = kinds.add_parser("convert", help=words, description=f"{words[0].upper()}{words[1:]}.")
    what = convert.add_subparsers(title="commands", metavar="KIND", required=True, prog=convert.prog)
    parser = what.add_parser(
        "batch",
        help="convert batch suites between JSON, CSV and NLU data",
        description="Convert batch suites between JSON and CSV, and to and from NLU data in YAML.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="suites (.json, .csv), or NLU data (.yml)")
    parser.add_argument(
        "--out", type=output_path, required=True, metavar="PATH", help="a folder; for one FILE, a file also works"
    )
    add_verbosity(parser)
    parser.set_defaults(handler=_convert)
    add_older(what)


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=output_path, required=True, metavar="FILE", help="the suite to write: .json or .csv"
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_project(parser)
    add_paths(parser, "--data", words="training data (default: data)")


def _add_from_data(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "from-data",
        help="make a suite of all training utterances",
        description="Make a suite of all training utterances, with their intents and annotated entities. It shows which"
        " of them the assistant confuses; held-out utterances show how well it understands users.",
    )
    _add_reading(parser)
    _add_out(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_from_data)


def _add_from_conversations(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "from-conversations",
        help="make a suite of the utterances whose task was completed",
        description="Make a suite from a log that has, for each utterance, what was matched and whether the"
        " task was completed.",
    )
    parser.add_argument("log", type=Path, metavar="FILE", help="the log: JSON, one object per line, or CSV")
    _add_out(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_from_conversations)


def _add_suggest(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "suggest",
        help="generate cases, for review",
        description="Generate cases for review: the project's sentences with other values of their entities, and those"
        " without entities (dialogs, FAQs, small talk) as real users write them.",
    )
    _add_reading(parser)
    parser.add_argument("--intent", metavar="NAME", help="only for this intent")
    parser.add_argument(
        "--number", type=at_least_one, default=50, metavar="N", help="maximum number of cases (default: 50)"
    )
    _add_out(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_suggest)


def _add_add(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "add",
        help="add utterances of one intent to a suite",
        description="Add utterances to a suite, all with the same expected intent and entities. Those that it already"
        " has are not added again.",
    )
    parser.add_argument(
        "suite", type=Path, metavar="SUITE", help="the suite (.json or .csv); created if it does not exist"
    )
    parser.add_argument(
        "--from",
        dest="utterances",
        metavar="FILE",
        default="-",
        help="file with one utterance per line (default: standard input)",
    )
    words = "the intent of the utterances; alternatives with |, traits after trait:"
    parser.add_argument("--intent", required=True, metavar="NAME", help=words)
    words = "the intents in whose context they are said, topmost first, separated by || or >>"
    parser.add_argument("--parent", default="", metavar="NAME", help=words)
    parser.add_argument(
        "--entity",
        dest="entities",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="an entity to be found in them; a repeated name gives an alternative value",
    )
    words = "the order in which the entities are to be extracted"
    parser.add_argument("--entity-order", default="", metavar="NAME>NAME", help=words)
    words = "for a universal bot, the bot of each intent, separated by |"
    parser.add_argument("--bot", default="", metavar="NAME", help=words)
    add_verbosity(parser)
    parser.set_defaults(handler=_add)


def _add_sample(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "sample",
        help="write a sample suite in JSON or CSV",
        description="Write a small suite that shows what a suite can hold: entities, alternatives, traits, parent"
        " intents.",
    )
    _add_out(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_sample)


def _convert(namespace: argparse.Namespace) -> int:
    from turncheck.commands.suites import run_convert  # not for --help

    return run_convert(namespace.files, namespace.out, screen_of(namespace))


def _from_data(namespace: argparse.Namespace) -> int:
    from turncheck.commands.suites import run_from_data  # not for --help

    given = namespace.project, namespace.data, namespace.language
    return run_from_data(*given, namespace.out, screen_of(namespace))


def _from_conversations(namespace: argparse.Namespace) -> int:
    from turncheck.commands.suites import run_from_conversations  # not for --help

    return run_from_conversations(namespace.log, namespace.out, screen_of(namespace))


def _suggest(namespace: argparse.Namespace) -> int:
    from turncheck.commands.suites import run_suggest  # not for --help

    given = namespace.project, namespace.data, namespace.language, namespace.out
    return run_suggest(*given, namespace.intent, namespace.number, screen_of(namespace))


def _add(namespace: argparse.Namespace) -> int:
    from turncheck.commands.suites import Expectation, run_add  # not for --help
    from turncheck.messages.errors import UserError
    from turncheck.process.regular_file import read_regular
    from turncheck.process.streams import lines_of_input
    from turncheck.project.folder import MAX_FILE_BYTES

    try:
        if namespace.utterances == "-":
            lines = "".join(lines_of_input(sys.stdin))
        else:
            lines = read_regular(Path(namespace.utterances), most=MAX_FILE_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"'{namespace.utterances}' is not UTF-8", hint="Save it in UTF-8.") from None
    entities, order = tuple(namespace.entities), namespace.entity_order
    expected = Expectation(namespace.intent, namespace.parent, entities, order, namespace.bot)
    return run_add(namespace.suite, expected, lines, screen_of(namespace))


def _sample(namespace: argparse.Namespace) -> int:
    from turncheck.commands.suites import run_sample  # not for --help

    return run_sample(namespace.out, screen_of(namespace))
