"""``turncheck run``, ``action`` and ``report merge``: a run as a whole, as one shard or merged, and how it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck import __version__
from turncheck.ci.hosts import NOWHERE
from turncheck.commands.flags.parser import PROJECT, looks_like_project
from turncheck.commands.flags.shared import add_setting, add_verbosity, screen_of
from turncheck.messages.errors import UserError
from turncheck.messages.plain_text import plain
from turncheck.process.screen import Console
from turncheck.settings.declared import of_scope, options
from turncheck.settings.sources import PATHS, from_flags

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from turncheck.conclude import Outcome
    from turncheck.run.prepare import Prepared
    from turncheck.run.several import Chosen
    from turncheck.settings.parsers import Shard

ORDER: Final = ("input", "evaluation", "gates", "comparison and publishing", "engine and action server", "output")
"""The groups of flags, as --help has them."""


def add_run(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``run``."""
    run = subparsers.add_parser(
        "run",
        help=words,
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
    groups = {title: run.add_argument_group(title) for title in ORDER}
    for name, option in options().items():
        if option.group:
            add_setting(groups[option.group], name, option)
    output = groups["output"]
    output.add_argument("--json", metavar="FILE", help="also write the report to this file")
    output.add_argument(
        "--plots",
        action="store_true",
        help="draw the plots of `rasa test`, too: confusion matrices and histograms",
    )
    add_verbosity(output)
    run.set_defaults(handler=_run)


def add_action(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``action``."""
    action = subparsers.add_parser(
        "action",
        help=words,
        description="Do what `turncheck run` does, as the GitHub Action: settings come from the INPUT_* variables that"
        " GitHub makes of the action's inputs; outputs, the job summary and the artifact go to GitHub. It takes no"
        " flags.",
    )
    action.set_defaults(handler=_action)


def _run(namespace: argparse.Namespace) -> int:
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


def add_merge(kinds: argparse._SubParsersAction[Any]) -> None:
    """Add ``merge`` below ``report``."""
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
    for name in of_scope("judging"):
        add_setting(gates, name, options()[name])
    measured = parser.add_argument_group("files outside the project, as for the shards")
    for name in PATHS:
        add_setting(measured, name, options()[name])
    publishing = parser.add_argument_group("comparison and publishing")
    for name in of_scope("comparing", "publishing", "files"):
        add_setting(publishing, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_merge)


def _merge(namespace: argparse.Namespace) -> int:
    names = ("project", "out", *PATHS, *of_scope("judging", "comparing", "publishing", "files"))
    flags = {name: getattr(namespace, name.replace("-", "_")) for name in names}
    screen = screen_of(namespace)
    return merge_from_flags(namespace.folders, flags, json=namespace.json, plots=namespace.plots, screen=screen)


# How a run ends at the command line: its files, its summary, what is published, and the exit code.


def finish_run(
    prepared: Prepared,
    outcome: Outcome,
    overrides: Mapping[str, Any],
    screen: Console,
    *,
    json: str | None,
    plots: bool,
) -> int:
    """Write and publish the outcome of a run, and return the exit code; the arguments are those of
    :func:`run_from_flags`."""
    from turncheck.publishing.files import (
        draw_plots,
        terminal_summary,
        warnings_of_size,
        write_report,
        write_results,
        written_line,
    )
    from turncheck.publishing.publish import publish, result_of
    from turncheck.render.page.page import NAME as PAGE

    folder = Path(prepared.settings.out)
    on_host = bool(prepared.host.name)
    written = write_results(folder, outcome.files() if on_host else outcome.renderings())
    files = tuple(written)
    if json:
        write_report(Path(json), outcome.report)
        written.append(Path(json))
    if plots:
        written += draw_plots(outcome, folder, screen)
    _say(terminal_summary(outcome, prepared.links))
    if on_host:  # summary and comment link to the artifact, so they come with it
        publishing = publish(result_of(outcome, folder, files), folder, prepared.settings, prepared.host, _say)
        beside = files.index(folder / PAGE) + 1
        written[beside:beside] = publishing.written
    screen.note(written_line(folder, written))
    if not on_host:
        for warning in warnings_of_size(files):
            screen.alarm(f"turncheck: warning: {warning}")
        say_unpublished(overrides, screen)
    if outcome.report.stopped is not None:
        sys.stderr.write(plain(f"turncheck: {outcome.report.stopped}\n"))
    return outcome.exit_code


def _say(text: str) -> None:
    """Print at once: publishing may take minutes, and the job may be ended meanwhile."""
    sys.stdout.write(text)
    sys.stdout.flush()


def say_unpublished(overrides: Mapping[str, Any], screen: Console) -> None:
    """Say which flags have no effect if nothing is published."""
    asked = [f"--{name}" for name in of_scope("publishing") if overrides.get(name.replace("-", "_")) is not None]
    if asked:
        screen.note(f"{NOWHERE}: nothing is published ({', '.join(asked)}).")


def run_from_flags(flags: Mapping[str, Any], *, json: str | None, plots: bool, quiet: bool, verbose: bool) -> int:
    """Run the main job from the command line and return its exit code.

    Args:
        flags: settings by name with dashes; ``None`` is unset.
        json: a further file for the report.
        plots: also draw the plots.
        quiet: print only the result.
        verbose: print more.

    Raises:
        UserError: the job could not be done.
    """
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.prepare import baseline_finder, prepare
    from turncheck.run.run import run_and_conclude
    from turncheck.run.several import choose
    from turncheck.run.shards.document import refuse_shards_of_several

    if flags.get("run-id") is not None:
        raise UserError("run-id: `run` measures", hint="Use `turncheck report publish --run-id ID`.")
    given = from_flags(flags)
    if (chosen := choose(given)) is not None:
        refuse_shards_of_several(given)
        return _run_several(chosen, given, json=json, plots=plots, quiet=quiet, verbose=verbose)
    prepared = prepare(given, os.environ)
    ensure_apart_from_project(None, prepared.settings, Path(json) if json else None)
    screen = Console(quiet=quiet, verbose=verbose)
    for trouble in prepared.host.run.troubles:
        screen.alarm(f"turncheck: warning: {trouble}")
    if prepared.settings.shard is not None:
        return run_shard(prepared.settings.shard, prepared, given, screen, wants_report=bool(json or plots))
    outcome = run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen)
    return finish_run(prepared, outcome, given, screen, json=json, plots=plots)


def _run_several(
    chosen: Chosen, overrides: Mapping[str, Any], *, json: str | None, plots: bool, quiet: bool, verbose: bool
) -> int:
    """Measure several assistants: files for each, files for all, and one publication."""
    from turncheck.publishing.files import (
        draw_plots,
        terminal_overview,
        terminal_summary,
        write_own,
        write_results,
        written_line,
    )
    from turncheck.publishing.publish import publish, result_of_several
    from turncheck.run.several import SeveralRuns

    if json:
        raise UserError(
            "--json writes one report, but several assistants are measured",
            hint="Each has its own report.json, in its folder below --out.",
        )
    screen = Console(quiet=quiet, verbose=verbose)

    def finished(name: str, outcome: Outcome) -> None:
        _say(f"{plain(name)}\n{'-' * len(name)}\n{terminal_summary(outcome, outcome.links)}\n")
        if outcome.report.stopped is not None:
            sys.stderr.write(plain(f"turncheck: {outcome.report.stopped}\n"))

    runs = SeveralRuns(chosen, overrides, os.environ, screen, finished)
    for trouble in runs.host.run.troubles:
        screen.alarm(f"turncheck: warning: {trouble}")
    several = runs.measure()
    folder = Path(chosen.settings.out)
    written = write_results(folder, several.files())
    result = result_of_several(several, folder, written)
    for member in several.members if plots else ():
        written += draw_plots(member.outcome, folder / member.folder, screen)
    _say(terminal_overview(several.assistants))
    if runs.host.name:
        written += publish(result, folder, chosen.settings, runs.host, _say).written
    else:
        written += write_own(folder, several.texts())
        say_unpublished(overrides, screen)
    screen.note(written_line(folder, written))
    return several.exit_code


# ``turncheck run --shard`` and ``turncheck report merge``: one run, spread over several jobs.


def run_shard(
    shard: Shard, prepared: Prepared, overrides: Mapping[str, Any], screen: Console, *, wants_report: bool
) -> int:
    """Measure a part of a run, and return the exit code. ``wants_report``: a report or pictures are asked for.

    Raises:
        UserError: nothing could be measured, or something is asked for that only the whole has.
    """
    from turncheck.publishing.files import written_line
    from turncheck.run.prepare import later_baseline_finder
    from turncheck.run.shards.document import write_shard
    from turncheck.run.shards.measure import exit_code_of_shard, measure_shard, shard_line

    if wants_report:
        raise UserError(
            "--json and --plots need a report, and a shard writes none",
            hint="Give them to `turncheck report merge`.",
        )
    head, answers = measure_shard(shard, prepared.inputs, overrides, later_baseline_finder(prepared), screen)
    folder = Path(prepared.settings.out)
    written = write_shard(folder, head, answers)
    sys.stdout.write(plain(f"{shard_line(head)}\n"))
    screen.note(written_line(folder, written))
    if head.stopped is not None:
        sys.stderr.write(plain(f"turncheck: {head.stopped}\n"))
    return exit_code_of_shard(head.stopped)


def merge_from_flags(
    folders: Sequence[Path], flags: Mapping[str, Any], *, json: str | None, plots: bool, screen: Console
) -> int:
    """Merge the shards of a run, judge and publish as ``turncheck run`` does, and return the exit code.

    Raises:
        UserError: the shards do not make up one run.
    """
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.prepare import baseline_finder
    from turncheck.run.run import run_and_conclude
    from turncheck.run.shards.merge import explain_missing_answers, prepare_merge

    own = from_flags(flags)
    prepared, known = prepare_merge(folders, own, os.environ)
    ensure_apart_from_project(None, prepared.settings, Path(json) if json else None)
    for trouble in prepared.host.run.troubles:
        screen.alarm(f"turncheck: warning: {trouble}")
    with explain_missing_answers():
        outcome = run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen, known)
    return finish_run(prepared, outcome, own, screen, json=json, plots=plots)
