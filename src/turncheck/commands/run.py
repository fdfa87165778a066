"""``turncheck run``: the run as started from the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.finished_run import finish_run, say_unpublished
from turncheck.messages.errors import UserError
from turncheck.process.screen import Screen
from turncheck.publishing.files import (
    draw_plots,
    terminal_overview,
    terminal_summary,
    write_own,
    write_results,
    written_line,
)
from turncheck.publishing.publish import publish
from turncheck.publishing.result import result_of_several
from turncheck.run.prepare import baseline_finder, prepare
from turncheck.run.run import run_and_conclude
from turncheck.run.several import SeveralRuns, choose
from turncheck.run.shards.identity import refuse_shards_of_several
from turncheck.settings.sources import from_flags

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.conclude import Outcome
    from turncheck.run.several import Chosen


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
    if flags.get("run-id") is not None:
        raise UserError("run-id: `run` measures", remedy="Use `turncheck report publish --run-id ID`.")
    given = from_flags(flags)
    if (chosen := choose(given)) is not None:
        refuse_shards_of_several(given)
        return _run_several(chosen, given, json=json, plots=plots, quiet=quiet, verbose=verbose)
    prepared = prepare(given, os.environ)
    screen = Screen(quiet=quiet, verbose=verbose)
    for trouble in prepared.host.run.troubles:
        screen.alarm(f"turncheck: warning: {trouble}")
    if prepared.settings.shard is not None:
        from turncheck.commands.shards import run_shard  # most runs have no shards

        return run_shard(prepared.settings.shard, prepared, given, screen, wants_report=bool(json or plots))
    outcome = run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen)
    return finish_run(prepared, outcome, given, screen, json=json, plots=plots)


def _run_several(
    chosen: Chosen, given: Mapping[str, Any], *, json: str | None, plots: bool, quiet: bool, verbose: bool
) -> int:
    """Measure several assistants: files for each, files for all, and one publication."""
    if json:
        raise UserError(
            "--json writes one report, but several assistants are measured",
            remedy="Each has its own report.json, in its folder below --out.",
        )
    screen = Screen(quiet=quiet, verbose=verbose)

    def finished(name: str, outcome: Outcome) -> None:
        sys.stdout.write(f"{name}\n{'-' * len(name)}\n{terminal_summary(outcome, outcome.links)}\n")
        if outcome.report.stopped is not None:
            sys.stderr.write(f"turncheck: {outcome.report.stopped}\n")

    runs = SeveralRuns(chosen, given, os.environ, screen, finished)
    for trouble in runs.host.run.troubles:
        screen.alarm(f"turncheck: warning: {trouble}")
    several = runs.measure()
    folder = Path(chosen.settings.out)
    written = write_results(folder, several.files())
    result = result_of_several(several, folder, written)
    for one in several.members if plots else ():
        written += draw_plots(one.outcome, folder / one.folder, screen)
    sys.stdout.write(terminal_overview(several.assistants))
    if runs.host.name:
        written += publish(result, folder, chosen.settings, runs.host, sys.stdout.write).written
    else:
        written += write_own(folder, several.texts())
        say_unpublished(given, screen)
    screen.note(written_line(folder, written))
    return several.exit_code
