"""``turncheck run``: the run as people start it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from turncheck.conclude import Outcome
from turncheck.messages.errors import UserError
from turncheck.process.screen import Screen
from turncheck.publishing.files import draw_plots, terminal_summary, write_file, write_results, written_line
from turncheck.report.codec import encode
from turncheck.run.prepare import Prepared, baseline_finder, prepare
from turncheck.run.run import run_job
from turncheck.settings.options import from_flags

PUBLISHING: Final = ("comment", "check-run", "annotations", "artifact-name", "retention-days", "token")
"""Settings that say how GitHub is told."""


def run_from_flags(
    flags: Mapping[str, Any], publish: Publish, *, json: str | None, plots: bool, quiet: bool, verbose: bool
) -> int:
    """Run the main job from the command line and return its exit code.

    Args:
        flags: settings by name with dashes; ``None`` is unset.
        publish: tells GitHub, where this runs in a workflow.
        json: a further file for the report.
        plots: draw the pictures too.
        quiet: print nothing but the result.
        verbose: print more.

    Raises:
        UserError: the job could not be done.
    """
    if flags.get("run-id") is not None:
        raise UserError("run-id: `run` measures", remedy="Use `turncheck report publish --run-id ID`.")
    prepared = prepare(from_flags(flags), os.environ)
    screen = Screen(quiet=quiet, verbose=verbose)
    for trouble in prepared.context.troubles if prepared.context is not None else ():
        screen.alarm(f"turncheck: warning: {trouble}")
    outcome = run_job(prepared.inputs, prepared.links, baseline_finder(prepared), screen)
    folder = Path(prepared.settings.out)
    written = write_results(folder, outcome.renderings)
    if json:
        write_file(Path(json), encode(outcome.measured))
        written.append(Path(json))
    if plots:
        written += draw_plots(outcome, folder, screen)
    sys.stdout.write(terminal_summary(outcome, prepared.links))
    screen.note(written_line(folder, written))
    if prepared.context is not None:
        publish(prepared, outcome, os.environ, sys.stdout.write)
    elif asked := [name for name in PUBLISHING if flags.get(name) is not None]:
        screen.note(f"This is no workflow run on GitHub: nothing is published ({', '.join(f'--{a}' for a in asked)}).")
    if outcome.report.stopped is not None:
        sys.stderr.write(f"turncheck: {outcome.report.stopped}\n")
    return outcome.exit_code


Publish = Callable[[Prepared, Outcome, Mapping[str, str], Callable[[str], object]], object]
"""Tells GitHub what was measured: :func:`turncheck.action.publish`."""
