"""``turncheck calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.commands.flags.run import add_setting
from turncheck.commands.flags.shared import add_verbosity, screen_of

if TYPE_CHECKING:
    import argparse

_READ: Final = ("project", "config", "domain", "data", "nlu", "stories")
_MEASURED: Final = ("folds", "seed", "workers", "vectors")
_RASA: Final = ("rasa-url", "rasa-token", "rasa-jwt", "rasa-command", "rasa-servers", "model", "allow-hosts", "env")


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
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
    groups = (("input", _READ), ("evaluation", _MEASURED), ("your own Rasa", _RASA))
    for title, names in groups:
        group = parser.add_argument_group(title)
        for name in names:
            add_setting(group, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_calibrate)


def _calibrate(namespace: argparse.Namespace) -> int:
    from turncheck.commands.calibrate import run_calibrate  # not for --help

    names = (*_READ, *_MEASURED, *_RASA)
    flags = {name: getattr(namespace, name.replace("-", "_")) for name in names}
    return run_calibrate(flags, namespace.results, screen_of(namespace))
