"""The container's entrypoint: inputs and GitHub context in, job, publishing."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from turncheck.ci.github.context import GitHubContext, read_context
from turncheck.ci.github.host import GitHub
from turncheck.messages.errors import EXIT_NOT_DONE, EXIT_OK, UserError, user_error_from_os
from turncheck.process.environment import is_private, redact, remember_variables
from turncheck.process.screen import Console
from turncheck.publishing.files import draw_plots, terminal_overview, terminal_summary, write_own, write_results
from turncheck.publishing.other_run import RunReader
from turncheck.publishing.publish import Publishing, PublishTarget, publish, result_of, result_of_any, result_of_several
from turncheck.render.sinks.commands import command
from turncheck.run.inputs import NONE_PRECOMPUTED, PrecomputedAnswers
from turncheck.run.kept_cache import cache_of_host
from turncheck.run.prepare import Prepared, baseline_finder, later_baseline_finder, prepare
from turncheck.run.run import run_and_conclude
from turncheck.run.several import Chosen, SeveralRuns, choose
from turncheck.run.shards.document import refuse_shards_of_several, write_shard
from turncheck.run.shards.merge import explain_missing_answers, prepare_merge
from turncheck.settings.gates import GATES
from turncheck.settings.sources import combine, from_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from turncheck.conclude import Outcome
    from turncheck.messages.finding import Location


def main() -> int:
    """Run the action in the environment of this process and return its exit code."""
    return run_action(os.environ, _say)


def _say(text: str) -> None:
    """Write into the log at once: whatever is published next may take minutes, and the job may be ended meanwhile."""
    sys.stdout.write(redact(text))
    sys.stdout.flush()


def run_action(environment: MutableMapping[str, str], write: Callable[[str], object]) -> int:
    """Run the action.

    Args:
        environment: the variables of the process; inputs and tokens are taken out of it, so that no child gets them.
        write: prints to the log, where workflow commands are read.

    Returns:
        0 where all gates passed, 1 where one failed, 2 where the job could not be done. 0 too when publishing what
        another run measured: that run has failed itself if it had to.
    """
    variables = dict(environment)
    remember_variables(variables)  # a crash report must not show them, and nothing else holds them from now on
    for name in [name for name in environment if is_private(name)]:
        del environment[name]
    try:
        given = from_inputs(variables)
        context = read_context(variables)
        if run_id := _run_to_publish(given, context):
            return _publish_run(run_id, given, context, variables, write)
        _refuse_untrusted(context)
        for words in context.troubles if context is not None else ():
            write(command("warning", words, title="turncheck") + "\n")
        screen = Console(stream=sys.stdout)
        with cache_of_host(given, variables, screen, write) as settings:
            return _measure(settings, variables, screen, write)
    except UserError as error:
        # Publishing needs a result; without one the log and the annotation are the only places to speak.
        write(_error(str(error), error.location))
        return EXIT_NOT_DONE
    except OSError as error:
        if (trouble := user_error_from_os(error)) is None:
            raise
        write(_error(str(trouble)))
        return EXIT_NOT_DONE


def _refuse_untrusted(context: GitHubContext | None) -> None:
    if context is not None and context.event_name == "pull_request_target":
        raise UserError(
            "on `pull_request_target` the pull request's files would be used with a token that may write",
            hint="Use `pull_request`, and for forks a second workflow on `workflow_run` (docs/github.md).",
        )


def _measure(
    overrides: Mapping[str, Any], variables: Mapping[str, str], screen: Console, write: Callable[[str], object]
) -> int:
    if "shard" in overrides and "shards" in overrides:
        raise UserError("`shard` measures, `shards` merges", hint="Give one of the two.")
    if (chosen := choose(overrides)) is not None:
        refuse_shards_of_several(overrides)
        return _measure_several(chosen, overrides, variables, screen, write)
    if "shard" in overrides:
        return _measure_shard(overrides, variables, screen, write)
    prepared, known = _prepared(overrides, variables)
    with explain_missing_answers():
        outcome = run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen, known)
    folder = Path(prepared.settings.out)
    written = write_results(folder, outcome.files())
    write(terminal_summary(outcome, prepared.links))
    publishing = publish(result_of(outcome, folder, written), folder, prepared.settings, prepared.host, write)
    publishing.publish_plots(lambda: draw_plots(outcome, folder, screen))
    publishing.confirm()
    return outcome.exit_code


def _measure_several(
    chosen: Chosen,
    overrides: Mapping[str, Any],
    variables: Mapping[str, str],
    screen: Console,
    write: Callable[[str], object],
) -> int:
    def finished(name: str, outcome: Outcome) -> None:
        write(f"{name}\n{terminal_summary(outcome, outcome.links)}\n")

    runs = SeveralRuns(chosen, overrides, variables, screen, finished, in_action=True)
    several = runs.measure()
    folder = Path(chosen.settings.out)
    result = result_of_several(several, folder, write_results(folder, several.files()))
    write(terminal_overview(several.assistants))
    publishing = publish(result, folder, chosen.settings, runs.host, write)
    publishing.publish_plots(
        lambda: [
            path for member in several.members for path in draw_plots(member.outcome, folder / member.folder, screen)
        ]
    )
    publishing.confirm()
    return several.exit_code


def _prepared(overrides: Mapping[str, Any], variables: Mapping[str, str]) -> tuple[Prepared, PrecomputedAnswers]:
    """Prepare a run of one piece, or the one that shards make up."""
    if folders := overrides.get("shards"):
        return prepare_merge([Path(folder) for folder in folders], overrides, variables, in_action=True)
    return prepare(overrides, variables, in_action=True), NONE_PRECOMPUTED


def _measure_shard(
    overrides: Mapping[str, Any], variables: Mapping[str, str], screen: Console, write: Callable[[str], object]
) -> int:
    """Measure a part, and leave it in the output folder: the job that merges judges and publishes."""
    from turncheck.run.shards.measure import exit_code_of_shard, measure_shard, shard_line  # few jobs need it

    prepared = prepare(overrides, variables, in_action=True)
    find = later_baseline_finder(prepared)
    head, answers = measure_shard(overrides["shard"], prepared.inputs, overrides, find, screen)
    write_shard(Path(prepared.settings.out), head, answers)
    write(f"{shard_line(head)}\n")
    if head.stopped is not None:
        write(_error(head.stopped))
    return exit_code_of_shard(head.stopped)


def _run_to_publish(overrides: Mapping[str, Any], context: GitHubContext | None) -> str | None:
    """The run whose results are to be published, if any."""
    if run_id := overrides.get("run_id"):
        return str(run_id)
    run = context.event.get("workflow_run") if context is not None and context.event_name == "workflow_run" else None
    return str(run["id"]) if isinstance(run, dict) and isinstance(run.get("id"), int) else None


def _publish_run(
    run_id: str,
    overrides: Mapping[str, Any],
    context: GitHubContext | None,
    variables: Mapping[str, str],
    write: Callable[[str], object],
) -> int:
    """Publish what another run measured. No file of a project is read here, not even its ``turncheck.yml``."""
    settings = combine(overrides)
    if settings.token is None or context is None:
        raise UserError("publishing another run needs GitHub and a token", hint="Give the input `token`.")
    host = GitHub(context, settings.token, variables=variables)
    reader = RunReader(
        host=host,
        artifact_name=settings.artifact_name,
        gates={name: value for name, value in overrides.items() if name in GATES},
        say=lambda text: write(command("warning", text, title="turncheck") + "\n"),
        flavour=settings.junit_flavour,
        trace_url=settings.trace_url or "",
    )
    found_run = reader.read(run_id)
    folder = Path(settings.out)
    published = []
    for number, result in enumerate(found_run.results):
        below = folder if len(found_run.results) == 1 else folder / str(number + 1)
        words = result_of_any(result.outcome, below, write_own(below, result.outcome.files()))
        # Annotations by workflow command would be at this run's commit, which is the default branch's.
        place = replace(
            PublishTarget.of_this_run(host, write),
            target=lambda: found_run.target,
            stamp=found_run.stamp,
            annotate=lambda _: None,
        )
        publishing = Publishing(words, below, settings, place, artifact_url=result.artifact_url)
        publishing.publish()
        published.append(publishing)
    for publishing in published:
        publishing.confirm()
    return EXIT_OK


def _error(message: str, location: Location | None = None) -> str:
    path, line = (location.path, location.line) if location else (None, None)
    return command("error", message, title="turncheck", file=path, line=line) + "\n"
