"""``turncheck run --shard`` and ``turncheck report merge``: one run, spread over several jobs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.finished_run import finish_run
from turncheck.messages.errors import UserError
from turncheck.publishing.files import written_line
from turncheck.run.prepare import baseline_finder
from turncheck.run.run import run_and_conclude
from turncheck.run.shards.document import write_shard
from turncheck.run.shards.measure import exit_code_of_shard, measure_shard, shard_line
from turncheck.run.shards.merge import prepare_merge, said_what_is_missing
from turncheck.settings.sources import from_flags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.process.screen import Screen
    from turncheck.run.prepare import Prepared
    from turncheck.settings.shard import Shard


def run_shard(shard: Shard, prepared: Prepared, given: Mapping[str, Any], screen: Screen, *, wants_report: bool) -> int:
    """Measure a part of a run, and return the exit code. ``wants_report``: a report or pictures are asked for.

    Raises:
        UserError: nothing could be measured, or something is asked for that only the whole has.
    """
    if wants_report:
        raise UserError(
            "--json and --plots need a report, and a shard writes none",
            remedy="Give them to `turncheck report merge`.",
        )
    head, answers = measure_shard(shard, prepared.inputs, given, screen)
    folder = Path(prepared.settings.out)
    written = write_shard(folder, head, answers)
    sys.stdout.write(f"{shard_line(head)}\n")
    screen.note(written_line(folder, written))
    if head.stopped is not None:
        sys.stderr.write(f"turncheck: {head.stopped}\n")
    return exit_code_of_shard(head.stopped)


def merge_from_flags(
    folders: Sequence[Path], flags: Mapping[str, Any], *, json: str | None, plots: bool, screen: Screen
) -> int:
    """Merge the shards of a run, judge and publish as ``turncheck run`` does, and return the exit code.

    Raises:
        UserError: the shards do not make up one run.
    """
    own = from_flags(flags)
    prepared, known = prepare_merge(folders, own, os.environ)
    for trouble in prepared.host.run.troubles:
        screen.alarm(f"turncheck: warning: {trouble}")
    with said_what_is_missing():
        outcome = run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen, known)
    return finish_run(prepared, outcome, own, screen, json=json, plots=plots)
