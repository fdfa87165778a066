"""How a run ends at the command line: its files, its summary, what is published, and the exit code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.ci.hosts import NOWHERE
from turncheck.publishing.files import (
    draw_plots,
    terminal_summary,
    warnings_of_size,
    write_report,
    write_results,
    written_line,
)
from turncheck.publishing.publish import publish
from turncheck.publishing.result import result_of
from turncheck.render.page.page import NAME as PAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.conclude import Outcome
    from turncheck.process.screen import Screen
    from turncheck.run.prepare import Prepared

PUBLISHING: Final = ("comment", "check-run", "annotations", "artifact-name", "retention-days", "token")
"""Settings of what is published on a host."""


def finish_run(
    prepared: Prepared, outcome: Outcome, given: Mapping[str, Any], screen: Screen, *, json: str | None, plots: bool
) -> int:
    """Write and publish the outcome of a run, and return the exit code; the arguments are those of
    :func:`run_from_flags`."""
    folder = Path(prepared.settings.out)
    on_host = bool(prepared.host.name)
    written = write_results(folder, outcome.files() if on_host else outcome.renderings())
    files = tuple(written)
    if json:
        write_report(Path(json), outcome.measured)
        written.append(Path(json))
    if plots:
        written += draw_plots(outcome, folder, screen)
    sys.stdout.write(terminal_summary(outcome, prepared.links))
    if on_host:  # summary and comment link to the artifact, so they come with it
        publishing = publish(
            result_of(outcome, folder, files), folder, prepared.settings, prepared.host, sys.stdout.write
        )
        beside = files.index(folder / PAGE) + 1
        written[beside:beside] = publishing.written
    screen.note(written_line(folder, written))
    if not on_host:
        for warning in warnings_of_size(files):
            screen.alarm(f"turncheck: warning: {warning}")
        say_unpublished(given, screen)
    if outcome.report.stopped is not None:
        sys.stderr.write(f"turncheck: {outcome.report.stopped}\n")
    return outcome.exit_code


def say_unpublished(given: Mapping[str, Any], screen: Screen) -> None:
    """Say which flags have no effect if nothing is published."""
    asked = [f"--{name}" for name in PUBLISHING if given.get(name.replace("-", "_")) is not None]
    if asked:
        screen.note(f"{NOWHERE}: nothing is published ({', '.join(asked)}).")
