"""``turncheck run``: the run as people start it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.ci.hosts import NOWHERE
from turncheck.messages.errors import UserError
from turncheck.process.screen import Screen
from turncheck.publishing.files import draw_plots, terminal_summary, write_file, write_results, written_line
from turncheck.publishing.publish import publish
from turncheck.publishing.result import result_of
from turncheck.report.codec import encode
from turncheck.run.prepare import baseline_finder, prepare
from turncheck.run.run import run_job
from turncheck.settings.options import from_flags

if TYPE_CHECKING:
    from collections.abc import Mapping

PUBLISHING: Final = ("comment", "check-run", "annotations", "artifact-name", "retention-days", "token")
"""Settings that say how a host is told."""


def run_from_flags(flags: Mapping[str, Any], *, json: str | None, plots: bool, quiet: bool, verbose: bool) -> int:
    """Run the main job from the command line and return its exit code.

    Args:
        flags: settings by name with dashes; ``None`` is unset.
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
    for trouble in prepared.host.run.troubles:
        screen.alarm(f"turncheck: warning: {trouble}")
    outcome = run_job(prepared.inputs, prepared.links, baseline_finder(prepared), screen)
    folder = Path(prepared.settings.out)
    on_host = bool(prepared.host.name)
    written = write_results(folder, outcome.files if on_host else outcome.renderings)
    if json:
        write_file(Path(json), encode(outcome.measured))
        written.append(Path(json))
    if plots:
        written += draw_plots(outcome, folder, screen)
    sys.stdout.write(terminal_summary(outcome, prepared.links))
    if on_host:  # summary and comment link to the artifact, so they come with it
        result, beside = result_of(outcome, folder), len(outcome.documents)
        publishing = publish(result, folder, prepared.settings, prepared.host, sys.stdout.write)
        written[beside:beside] = publishing.written
    screen.note(written_line(folder, written))
    if not on_host and (asked := [f"--{name}" for name in PUBLISHING if flags.get(name) is not None]):
        screen.note(f"{NOWHERE}: nothing is published ({', '.join(asked)}).")
    if outcome.report.stopped is not None:
        sys.stderr.write(f"turncheck: {outcome.report.stopped}\n")
    return outcome.exit_code
