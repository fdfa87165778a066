"""``turncheck compare-engines`` and ``turncheck calibrate``: their flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.commands.flags.run import add_setting
from turncheck.commands.flags.shared import add_verbosity, screen_of

if TYPE_CHECKING:
    import argparse

_READ: Final = ("project", "config", "domain", "data", "nlu", "stories", "e2e", "batch", "language", "evaluations")
_MEASURED: Final = ("seed", "workers", "vectors", "today", "out")
_RASA: Final = ("rasa-url", "rasa-token", "rasa-jwt", "rasa-command", "rasa-servers", "model")
_KORE: Final = (
    *("kore-host", "kore-bot-id", "kore-bot-name", "kore-client-id", "kore-client-secret", "kore-version", "kore-way"),
    *("kore-timeout", "notes"),
)
_HTTP: Final = ("bot-url", "bot-callback", "bot-token", "bot-parallel")
_OTHERS: Final = ("plugins", "action-endpoint", "action-server", "allow-hosts", "env")


def add_compare_engines(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``compare-engines``."""
    from turncheck.settings.options import options  # not for the commands beside this one

    parser = subparsers.add_parser(
        "compare-engines",
        help="ask several engines the same tests, side by side",
        description="Ask several engines the same test sentences, stories, end-to-end cases and batch suites, and show"
        " per test what each made of it, how far they agree, and which changed sides.",
    )
    parser.add_argument(
        "--engines",
        nargs="+",
        action="extend",
        required=True,
        metavar="NAME",
        help="the engines: embedded, rasa, kore, kore:published, kore:in-development, http; the first one that answers"
        " is what the others are compared with",
    )
    parser.add_argument(
        "--thresholds",
        nargs="+",
        action="extend",
        default=[],
        metavar="RULE",
        help="what must hold: 'agreement >= 0.9', 'agreement[kore:published] >= 0.95', 'right[rasa] >= 0.8'",
    )
    groups = (
        ("input", _READ),
        ("evaluation", _MEASURED),
        ("engine rasa", _RASA),
        ("engine kore", _KORE),
        ("engine http", _HTTP),
        ("all engines", _OTHERS),
    )
    for title, names in groups:
        group = parser.add_argument_group(title)
        for name in names:
            add_setting(group, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_compare_engines)


def _compare_engines(namespace: argparse.Namespace) -> int:
    from turncheck.commands.compare_engines import run_compare_engines  # not for --help

    names = (*_READ, *_MEASURED, *_RASA, *_KORE, *_HTTP, *_OTHERS)
    flags = {name: getattr(namespace, name.replace("-", "_")) for name in names}
    return run_compare_engines(flags, namespace.engines, namespace.thresholds, screen_of(namespace))


_READ_TO_CALIBRATE: Final = ("project", "config", "domain", "data", "nlu", "stories")
_MEASURED_TO_CALIBRATE: Final = ("folds", "seed", "workers", "vectors")
_OWN_RASA: Final = ("rasa-url", "rasa-token", "rasa-jwt", "rasa-command", "rasa-servers", "model", "allow-hosts", "env")


def add_calibrate(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``calibrate``."""
    from turncheck.settings.options import options  # not for the commands beside this one

    parser = subparsers.add_parser(
        "calibrate",
        help="measure how far the embedded engine agrees with your own Rasa model, for later runs",
        description="Judge the same sentences and stories with your own Rasa model and with the embedded"
        " engine, and write how far"
        " they agree into .turncheck/calibration.json, which later runs read. Commit that file.",
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="PATH",
        help="results of your Rasa from before: the folder of `rasa test --successes`, or a report.json of"
        " --engine rasa",
    )
    groups = (("input", _READ_TO_CALIBRATE), ("evaluation", _MEASURED_TO_CALIBRATE), ("your own Rasa", _OWN_RASA))
    for title, names in groups:
        group = parser.add_argument_group(title)
        for name in names:
            add_setting(group, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_calibrate)


def _calibrate(namespace: argparse.Namespace) -> int:
    from turncheck.commands.compare_engines import run_calibrate  # not for --help

    names = (*_READ_TO_CALIBRATE, *_MEASURED_TO_CALIBRATE, *_OWN_RASA)
    flags = {name: getattr(namespace, name.replace("-", "_")) for name in names}
    return run_calibrate(flags, namespace.results, screen_of(namespace))
