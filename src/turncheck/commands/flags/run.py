"""``turncheck run``: the main job. Its flags are made from the settings, one for each."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from turncheck import __version__
from turncheck.commands.flags.parser import PROJECT, looks_like_project
from turncheck.commands.flags.shared import add_verbosity
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from turncheck.settings.options import Option

SHORT_FORMS = {"config": "-c", "domain": "-d", "nlu": "-u", "stories": "-s", "model": "-m"}
"""As in Rasa."""

GROUPS = {
    "input": ("config", "domain", "data", "nlu", "stories", "e2e", "batch", "language", "plugins", "evaluations"),
    "evaluation": (
        *(
            "engine",
            "model",
            "folds",
            "seed",
            "workers",
            "cluster",
            "cache",
            "cache-folder",
            "cache-key",
            "shard",
            "strict",
            "slot-order",
            "repeats",
            "vectors",
            "today",
            "allow-custom-code",
        ),
        *("strength", "strength-budget", "robustness"),
    ),
    "gates": (
        *("fail-on", "fail-on-warnings", "thresholds", "max-regression", "require", "accept-gone", "not-judged"),
        *("misunderstood", "batch-failures"),
    ),
    "comparison and publishing": (
        *(
            "base",
            "baseline",
            "comment",
            "check-run",
            "annotations",
            "artifact-name",
            "retention-days",
            "token",
            "run-id",
        ),
    ),
    "engine and action server": (
        *("rasa-url", "rasa-token", "rasa-jwt", "rasa-command", "rasa-servers"),
        *("kore-host", "kore-bot-id", "kore-bot-name", "kore-client-id", "kore-client-secret"),
        *("kore-version", "kore-way", "kore-timeout", "notes"),
        *("bot-url", "bot-url-base", "bot-callback", "bot-token", "bot-parallel"),
        *("action-endpoint", "action-server", "allow-hosts", "env"),
    ),
}


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``run`` and ``action``."""
    from turncheck.settings.options import options  # other commands take only the flags below from here

    run = subparsers.add_parser(
        "run",
        help="validate, run every evaluation that the project has files for, compare, and judge",
        description="Validate the data, run every evaluation that the project has files for, compare with a"
        " base, judge the gates, and write the report.",
    )
    run.add_argument(
        "folder",
        nargs="*",
        metavar=PROJECT,
        help="the assistant's folder (default: .); several, or a pattern such as 'bots/*', are measured in one run",
    )
    run.recognise("folder", looks_like_project)
    run.add_argument("--project", nargs="+", action="extend", metavar="DIR", help="the same, as an option")
    for title, names in GROUPS.items():
        group = run.add_argument_group(title)
        for name in names:
            add_setting(group, name, options()[name])
    output = run.add_argument_group("output")
    add_setting(output, "out", options()["out"])
    add_setting(output, "junit-flavour", options()["junit-flavour"])
    add_setting(output, "output-format", options()["output-format"])
    output.add_argument("--json", metavar="FILE", help="also write the report to this file")
    output.add_argument(
        "--plots",
        action="store_true",
        help="draw the plots of `rasa test`, too: confusion matrices and histograms",
    )
    add_verbosity(output)
    run.set_defaults(handler=_run)

    action = subparsers.add_parser(
        "action",
        help="entrypoint of the container: reads its settings from INPUT_* variables",
        description="Do what `turncheck run` does, as the GitHub Action: settings come from the INPUT_* variables that"
        " GitHub makes of the action's inputs; outputs, the job summary and the artifact go to GitHub. It takes no"
        " flags.",
    )
    action.set_defaults(handler=_action)


def add_setting(group: argparse._ArgumentGroup | argparse.ArgumentParser, name: str, option: Option) -> None:
    """Add the flag of one setting. Unset is ``None``: the settings have the defaults.

    ``project`` is one folder here: only ``run`` takes several, with a flag of its own.
    """
    from turncheck.settings.options import default_of

    names = [*([SHORT_FORMS[name]] if name in SHORT_FORMS else []), f"--{name}"]
    default = default_of(name)
    text = "the assistant's folder" if name == "project" else option.help
    if default not in (None, (), False, 0, "") and "default:" not in text:
        text += f" (default: {', '.join(default) if isinstance(default, tuple) else str(default).lower()})"
    text = text.replace("%", "%%")
    if option.switch and option.metavar is not None:  # a switch that may have a value
        group.add_argument(*names, nargs="?", const="true", default=None, metavar=option.metavar, help=text)
        group.add_argument(
            f"--no-{name}",
            dest=name.replace("-", "_"),
            action="store_const",
            const="false",
            help="no sentence vectors (the default)",
        )
    elif option.switch:
        group.add_argument(*names, action=argparse.BooleanOptionalAction, default=None, help=text)
    elif option.many:
        group.add_argument(*names, nargs="+", action="extend", metavar=option.metavar or "WORD", help=text)
    else:
        metavar = option.metavar or ("{" + ",".join(option.choices) + "}" if option.choices else None)
        group.add_argument(*names, metavar=metavar, help=text)


def add_custom_code_flag(parser: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add ``--allow-custom-code`` to a command that trains without writing a model: a model holds no code."""
    parser.add_argument(
        "--allow-custom-code",
        action="store_true",
        help="load components from the project's own modules; this runs its code",
    )


def add_vectors_flag(parser: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add ``--vectors`` to a command that trains."""
    parser.add_argument(
        "--vectors",
        nargs="?",
        const=True,
        default=False,
        metavar="FOLDER",
        help="use sentence vectors beside n-grams, from the installed package (English) or from this"
        " sentence-transformers"
        " folder; needs turncheck[vectors]",
    )


def _run(namespace: argparse.Namespace) -> int:
    from turncheck.commands.run import run_from_flags  # the job's imports are not for --help
    from turncheck.settings.options import options

    flags = {name: getattr(namespace, name.replace("-", "_"), None) for name in options() if options()[name].flag}
    if namespace.folder:
        if namespace.project not in (None, namespace.folder):
            named = f"{' '.join(namespace.folder)} and --project {' '.join(namespace.project)}"
            raise UserError(f"projects are named in two ways: {named}", hint="Name all of them in one place.")
        namespace.project = namespace.folder
    flags["project"] = "\n".join(namespace.project) if namespace.project else None
    return run_from_flags(
        flags,
        json=namespace.json,
        plots=namespace.plots,
        quiet=namespace.quiet,
        verbose=bool(namespace.verbose),
    )


def _action(namespace: argparse.Namespace) -> int:  # noqa: ARG001 - the container takes no arguments
    sys.stdout.write(f"turncheck {__version__}\n")  # the log says at once what runs: the imports take seconds
    sys.stdout.flush()
    from turncheck.action import main  # the job's imports are not for --help

    return main()
