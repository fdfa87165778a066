"""``turncheck test nlu --config a.yml b.yml``: several pipelines on the same data, in parallel, resumable."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.commands.alike import Configured, alike_in_words, alike_to
from turncheck.commands.nlu import NluTestOptions, needed_responses, read_judged
from turncheck.commands.pipeline_fits import new_task, run_tasks
from turncheck.commands.pipeline_results import advice_text, write_results
from turncheck.engines.capabilities import NLU_PARTS
from turncheck.evaluation.pipelines import FEWEST_EXAMPLES, RunPlan, advise, plan_runs
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml, write_responses_yaml
from turncheck.project.reader import read_project
from turncheck.publishing.files import write_all
from turncheck.render.rasa_files import NAMED_AS_TODAY, major_of_files
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import text
from turncheck.run.output_folder import ensure_apart_from_project
from turncheck.run.reading import ensure_there
from turncheck.run.report_of import project_info
from turncheck.run.trainable import ensure_readable, read_assistant
from turncheck.work.choice import workplace_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from turncheck.commands.nlu_output import NluOutput
    from turncheck.process.screen import Screen
    from turncheck.project.model import Config, Project, Response
    from turncheck.project.nlu_data import NluData


def run_compare_nlu(
    options: NluTestOptions,
    configs: Sequence[Path],
    output: NluOutput,
    screen: Screen,
    *,
    runs: int = 3,
    percentages: Sequence[int] = (0, 25, 50, 75),
) -> int:
    """Compare pipelines, write Rasa's tree of files, print advice. Returns 0 whatever the scores are.

    Raises:
        UserError: no usable configuration or too little data, a bad number, the cluster cannot be used.
    """
    if runs < 1:
        raise UserError(f"--runs is {runs}, and must be 1 or more")
    if not percentages or any(not 0 <= percentage < 100 for percentage in percentages):
        raise UserError("--percentages must be whole numbers from 0 to 99")
    ensure_apart_from_project(output.folder, options.settings)
    from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # imports NumPy

    settings = replace(options.settings, config=str(configs[0]))
    project = read_assistant(settings)
    data = read_judged(replace(options, settings=settings, cross_validation=True), project, NLU_PARTS)
    pipelines = _pipelines(options, configs, screen)
    responses = project.domain.responses
    steps = tuple(dict.fromkeys(percentages))
    plans = plan_runs(data.examples, responses, runs=runs, percentages=steps, seed=settings.seed)
    if not plans[0].test:
        raise UserError(
            f"there is nothing to compare on: no intent has {FEWEST_EXAMPLES} examples",
            remedy="Name more NLU data with --nlu.",
        )
    major = major_of_files(project_info(project), output.rasa_files)
    _write_data(data, responses, plans, output.folder, major)
    # Until Rasa 1 only the curves were drawn.
    of_each = replace(output, rasa_files=major, plots=output.plots and major >= NAMED_AS_TODAY)
    vectors = chosen_vectors(settings.vectors, data)
    tasks = [
        new_task(
            replace(project, config=config),
            data,
            name,
            plan,
            percentage,
            settings=settings,
            output=of_each,
            vectors=vectors,
        )
        for plan in plans
        for percentage in steps
        for name, config in pipelines.items()
    ]
    with workplace_of(settings, screen) as work:
        scores = run_tasks(tasks, output.folder, screen, work)
    configured = _configured(pipelines, project, allow_custom_code=settings.allow_custom_code)
    alike = [line for group in configured for line in alike_in_words(group, "pipeline")]
    advice = advise(plans, scores, lambda name: [one for group in configured for one in alike_to(name, group)])
    write_results(plans, scores, advice, output, screen, alike=alike)
    sys.stdout.write("\n".join([*advice_text(advice, alike), ""]))
    return EXIT_OK


def _pipelines(options: NluTestOptions, configs: Sequence[Path], screen: Screen) -> dict[str, Config]:
    """Read each configuration; one without a pipeline is left out and named, as in Rasa."""
    pipelines: dict[str, Config] = {}
    for path in configs:
        ensure_there("config", [path])
        if path.stem in pipelines:
            raise UserError(
                f"two configurations are called '{path.stem}'", remedy="Rename one: results are filed under that name."
            )
        project = read_project(
            options.project, domain=Path(options.settings.domain) if options.settings.domain else None, config=path
        )
        ensure_readable(project, {"config"})
        config = project.config
        if config.pipeline is None:
            screen.note(f"{text(str(path))} is left out: it has no pipeline.")
        else:
            pipelines[path.stem] = config
    if not pipelines:
        raise UserError("none of the configurations has a pipeline", remedy="Correct --config.")
    return pipelines


def _configured(
    pipelines: Mapping[str, Config], project: Project, *, allow_custom_code: bool
) -> Collection[Mapping[str, Configured]]:
    """Return what is run for each pipeline, those for one language together."""
    from turncheck.engines.embedded.configured import configured_components

    found: dict[str | None, dict[str, Configured]] = defaultdict(dict)
    for name, config in pipelines.items():
        pipeline_alone = replace(config, policies=())
        made = configured_components(pipeline_alone, rasa=project.domain.rasa, allow_custom_code=allow_custom_code)
        if made is not None:
            found[config.language][name] = made
    return found.values()


def _write_data(
    data: NluData, responses: Mapping[str, Response], plans: Sequence[RunPlan], folder: Path, major: int
) -> None:
    """Write the training and test data of each run: YAML, until Rasa 1 Markdown."""
    write_nlu, write_responses, suffix = write_nlu_yaml, write_responses_yaml, "yml"
    if major < NAMED_AS_TODAY:
        from turncheck.project.formats import markdown_writer  # most projects are newer

        write_nlu, write_responses, suffix = (
            markdown_writer.write_nlu_markdown,
            markdown_writer.write_responses_markdown,
            "md",
        )
    kind = "text/markdown" if suffix == "md" else "application/yaml"
    for plan in plans:
        files = [Rendered(f"run_{plan.number}/test.{suffix}", kind, write_nlu(replace(data, examples=plan.test)))]
        for percentage, kept in plan.included.items():
            train = f"run_{plan.number}/{percentage}%_exclusion/train"
            needed = write_responses(needed_responses(kept, responses))
            files += [
                Rendered(f"{train}/train.{suffix}", kind, write_nlu(replace(data, examples=kept))),
                Rendered(f"{train}/responses.{suffix}", kind, needed),
            ]
        write_all(folder, files)
