"""The container's entrypoint: inputs and GitHub context in, job, publishing."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.environment import is_private
from turncheck.errors import EXIT_NOT_DONE, UserError
from turncheck.files import write_all
from turncheck.github.file_commands import write_outputs, write_summary
from turncheck.job import run_job
from turncheck.main_job import baseline_finder, draw_plots, prepare, terminal_summary
from turncheck.publish import Publisher, publish_all
from turncheck.render.annotations import find_annotations, within_limit, workflow_commands
from turncheck.render.sinks.workflow_command import command
from turncheck.screen import Screen
from turncheck.settings import from_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from turncheck.job import Outcome
    from turncheck.location import Location
    from turncheck.main_job import Prepared


def main() -> int:
    """Run the action in the environment of this process and return its exit code."""
    return run_action(os.environ, sys.stdout.write)


def run_action(environment: MutableMapping[str, str], write: Callable[[str], object]) -> int:
    """Run the action.

    Args:
        environment: the variables of the process; inputs and tokens are taken out of it, so that no child gets them.
        write: prints to the log, where workflow commands are read.

    Returns:
        0 where all gates passed, 1 where one failed, 2 where the job could not be done.
    """
    variables = dict(environment)
    for name in [name for name in environment if is_private(name)]:
        del environment[name]
    try:
        prepared = prepare(from_inputs(variables), variables, in_action=True)
        screen = Screen(stream=sys.stdout)
        outcome = run_job(prepared.inputs, prepared.links, baseline_finder(prepared), screen)
        folder = Path(prepared.settings.out)
        write_all(folder, outcome.renderings)
    except UserError as error:
        # Publishing needs a result; without one the log and the annotation are the only places to speak.
        write(_error(str(error), error.location))
        return EXIT_NOT_DONE
    write(terminal_summary(outcome, prepared.links))
    _publish(prepared, outcome, folder, write)
    draw_plots(outcome, folder, screen)
    return outcome.exit_code


def _publish(prepared: Prepared, outcome: Outcome, folder: Path, write: Callable[[str], object]) -> None:
    """Tell GitHub: annotations, job summary, outputs. What fails is a notice in the log."""
    variables = prepared.inputs.environment
    rendered = {rendering.name: rendering for rendering in outcome.renderings}
    publishers = []
    if prepared.settings.annotations:
        publishers.append(Publisher("annotations", lambda: _annotate(outcome, write)))
    if summary := variables.get("GITHUB_STEP_SUMMARY"):
        summary_file = Path(summary)
        publishers.append(Publisher("job summary", lambda: write_summary(summary_file, rendered["summary.md"].encoded)))
    if output := variables.get("GITHUB_OUTPUT"):
        output_file = Path(output)
        publishers.append(Publisher("outputs", lambda: write_outputs(output_file, outputs_of(outcome, folder))))

    def warn(text: str) -> None:
        write(command("warning", text, title="turncheck") + "\n")

    publish_all(publishers, warn)


def _error(message: str, location: Location | None = None) -> str:
    path, line = (location.path, location.line) if location else (None, None)
    return command("error", message, title="turncheck", file=path, line=line) + "\n"


def _annotate(outcome: Outcome, write: Callable[[str], object]) -> None:
    for gate in outcome.verdict.gates:
        if gate.outcome == "failed":
            write(_error(f"{gate.name}: {gate.reason}"))
    shown, _ = within_limit(find_annotations(outcome.report, outcome.comparison))
    for line in workflow_commands(shown):
        write(f"{line}\n")


def outputs_of(outcome: Outcome, folder: Path) -> dict[str, str]:
    """Return the action's outputs: the verdict, figures by name, and where everything was written."""
    metrics = outcome.comparison.metrics
    return {
        "verdict": outcome.verdict.outcome,
        "summary": outcome.verdict.summary,
        "metrics": json.dumps({metric.name: metric.value for metric in metrics if metric.value is not None}),
        "deltas": json.dumps({metric.name: metric.delta for metric in metrics if metric.delta is not None}),
        "results": str(folder),
        "report": str(folder / "report.json"),
        "comparison": str(folder / "comparison.json") if outcome.comparison.judged else "",
        "junit": str(folder / "junit.xml"),
        "comment-url": "",
        "artifact-url": "",
    }
