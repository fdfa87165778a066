"""The container's entrypoint: inputs and GitHub context in, job, publishing."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.ci.github.comment import NO_RUN, Stamp
from turncheck.ci.github.context import read_context
from turncheck.ci.github.pull_request import find_target
from turncheck.ci.github.results_service import find_service
from turncheck.messages.errors import EXIT_NOT_DONE, EXIT_OK, UserError, trouble_of_system
from turncheck.process.environment import is_private
from turncheck.process.screen import Screen
from turncheck.process.secret import redact, remember_variables
from turncheck.publishing.files import draw_plots, terminal_summary, write_all, write_results
from turncheck.publishing.other_run import RunReader
from turncheck.publishing.publish import Place, Publishing
from turncheck.render.sinks.workflow_command import command
from turncheck.run.prepare import baseline_finder, client_of, prepare
from turncheck.run.run import run_job
from turncheck.settings.gates import GATES
from turncheck.settings.options import combine, from_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from turncheck.ci.github.client import GitHubClient
    from turncheck.ci.github.context import GitHubContext
    from turncheck.conclude import Outcome
    from turncheck.messages.location import Location
    from turncheck.run.prepare import Prepared

_PATIENCE: Final = 300.0
"""Seconds that publishing may wait in all, for limits and for a server in trouble."""


def main() -> int:
    """Run the action in the environment of this process and return its exit code."""
    return run_action(os.environ, lambda text: sys.stdout.write(redact(text)))


def run_action(environment: MutableMapping[str, str], write: Callable[[str], object]) -> int:
    """Run the action.

    Args:
        environment: the variables of the process; inputs and tokens are taken out of it, so that no child gets them.
        write: prints to the log, where workflow commands are read.

    Returns:
        0 where all gates passed, 1 where one failed, 2 where the job could not be done. Where it publishes what another
        run measured: 0, that run has failed already if it had to.
    """
    variables = dict(environment)
    remember_variables(variables)  # a fault must not show them, and there is no other trace of them from now on
    for name in [name for name in environment if is_private(name)]:
        del environment[name]
    try:
        given = from_inputs(variables)
        context = read_context(variables)
        if run_id := _run_to_publish(given, context):
            return _publish_run(run_id, given, context, variables, write)
        return _measure(given, context, variables, write)
    except UserError as error:
        # Publishing needs a result; without one the log and the annotation are the only places to speak.
        write(_error(str(error), error.location))
        return EXIT_NOT_DONE
    except OSError as error:
        if (trouble := trouble_of_system(error)) is None:
            raise
        write(_error(str(trouble)))
        return EXIT_NOT_DONE


def _measure(
    given: Mapping[str, Any],
    context: GitHubContext | None,
    variables: Mapping[str, str],
    write: Callable[[str], object],
) -> int:
    if context is not None and context.event_name == "pull_request_target":
        raise UserError(
            "on `pull_request_target` the pull request's files would be used with a token that may write",
            remedy="Use `pull_request`, and for forks a second workflow on `workflow_run` (docs/github.md).",
        )
    for trouble in context.troubles if context is not None else ():
        write(command("warning", trouble, title="turncheck") + "\n")
    prepared = prepare(given, variables, in_action=True)
    screen = Screen(stream=sys.stdout)
    outcome = run_job(prepared.inputs, prepared.links, baseline_finder(prepared), screen)
    folder = Path(prepared.settings.out)
    write_results(folder, outcome.renderings)
    write(terminal_summary(outcome, prepared.links))
    publishing = publish(prepared, outcome, variables, write)
    publishing.publish_plots(lambda: draw_plots(outcome, folder, screen))
    publishing.confirm()
    return outcome.exit_code


def publish(
    prepared: Prepared, outcome: Outcome, variables: Mapping[str, str], write: Callable[[str], object]
) -> Publishing:
    """Tell GitHub what was measured: artifact, comment, check run or annotations, job summary, outputs.

    Args:
        prepared: the settings and the context of the run.
        outcome: what was measured; its files are written already.
        variables: of the job, with what its steps may use.
        write: prints to the log.
    """
    client = client_of(prepared.settings, prepared.context, _PATIENCE)
    publishing = Publishing(
        outcome=outcome,
        folder=Path(prepared.settings.out),
        settings=prepared.settings,
        place=_place(prepared.context, client, variables, write),
        service=find_service(variables, lambda secret: write(command("add-mask", secret) + "\n")),
    )
    publishing.publish()
    return publishing


def _place(
    context: GitHubContext | None,
    client: GitHubClient | None,
    variables: Mapping[str, str],
    write: Callable[[str], object],
) -> Place:
    number = context.run_number if context is not None else None
    return Place(
        repository=context.repository if context is not None else "",
        client=client,
        target=lambda: find_target(context, client) if context is not None else "this is no run on GitHub",
        stamp=Stamp(number, context.run_attempt) if context is not None and number is not None else NO_RUN,
        say=lambda level, text: write(command(level, text, title="turncheck") + "\n"),
        annotate=lambda line: write(f"{line}\n"),
        summary_file=_path(variables.get("GITHUB_STEP_SUMMARY")),
        output_file=_path(variables.get("GITHUB_OUTPUT")),
    )


def _run_to_publish(given: Mapping[str, Any], context: GitHubContext | None) -> str | None:
    """The run whose results are to be published, if this is what is asked for."""
    if run_id := given.get("run_id"):
        return str(run_id)
    run = context.event.get("workflow_run") if context is not None and context.event_name == "workflow_run" else None
    return str(run["id"]) if isinstance(run, dict) and isinstance(run.get("id"), int) else None


def _publish_run(
    run_id: str,
    given: Mapping[str, Any],
    context: GitHubContext | None,
    variables: Mapping[str, str],
    write: Callable[[str], object],
) -> int:
    """Publish what another run measured. No file of a project is read here, not even its ``turncheck.yml``."""
    settings = combine(given)
    client = client_of(settings, context, _PATIENCE)
    if client is None or context is None:
        raise UserError("publishing another run needs GitHub and a token", remedy="Give the input `token`.")
    reader = RunReader(
        client=client,
        repository=context.repository,
        server_url=context.server_url,
        artifact_name=settings.artifact_name,
        gates={name: value for name, value in given.items() if name in GATES},
        say=lambda text: write(command("warning", text, title="turncheck") + "\n"),
        flavour=settings.junit_flavour,
    )
    found = reader.read(run_id)
    folder = Path(settings.out)
    published = []
    for number, result in enumerate(found.results):
        below = folder if len(found.results) == 1 else folder / str(number + 1)
        write_all(below, result.outcome.renderings)
        # Annotations by workflow command would stand at this run's commit, which is the default branch's.
        place = _place(context, client, variables, write)
        place = replace(place, target=lambda: found.target, stamp=found.stamp, annotate=lambda _: None)
        publishing = Publishing(result.outcome, below, settings, place, artifact_url=result.artifact_url)
        publishing.publish()
        published.append(publishing)
    for publishing in published:
        publishing.confirm()
    return EXIT_OK


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _error(message: str, location: Location | None = None) -> str:
    path, line = (location.path, location.line) if location else (None, None)
    return command("error", message, title="turncheck", file=path, line=line) + "\n"
