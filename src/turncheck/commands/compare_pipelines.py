"""``turncheck test nlu --config a.yml b.yml``: several pipelines on the same data, in parallel, resumable."""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from math import fsum, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from turncheck.commands.compare_policies import Configured, alike_in_words, alike_to
from turncheck.commands.nlu import NluOutput, NluTestOptions, looked_in, read_judged
from turncheck.commands.pipeline_differences import PipelineDifference, pipeline_differences
from turncheck.commands.pipeline_fits import new_task, run_tasks
from turncheck.commands.split import needed_responses
from turncheck.engines.base import NLU_PARTS
from turncheck.evaluations.nlu.measure import ensure_examples
from turncheck.evaluations.nlu.splits import FEWEST_EXAMPLES, WORTHWHILE, Advice, RunPlan, Score, advise, plan_runs
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import plain
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml, write_responses_yaml
from turncheck.project.reader import read_project
from turncheck.publishing.files import write_all
from turncheck.render.curves import CurvePoint, draw_curves, figures_json, results_json
from turncheck.render.rasa_files import NAMED_AS_TODAY, major_of_files
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import text
from turncheck.run.folders import ensure_apart_from_project
from turncheck.run.reading import ensure_readable, ensure_there, ensure_trainable_by_config, read_assistant
from turncheck.run.report_of import project_info
from turncheck.work.workplace import workplace_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from turncheck.process.screen import Console
    from turncheck.project.model import Config, Project, Response
    from turncheck.project.nlu_data import NluData
    from turncheck.settings.options import Settings


PERCENTAGES: Final = (0, 25, 50, 75)
_FEWEST_INTENTS: Final = 2
"""With fewer, intents are not scored, here as in Rasa."""
MOST_LEFT_OUT_BY_RASA_0_AND_1: Final = 90


# What a comparison of pipelines says in the end: figures, curves and advice.


def write_results(
    plans: Sequence[RunPlan],
    scores: Sequence[Score],
    advice: Advice,
    output: NluOutput,
    screen: Console,
    *,
    alike: Sequence[str] = (),
    different: Sequence[PipelineDifference] = (),
) -> None:
    """Write figures, curves and advice; ``alike`` says which pipelines no figure tells apart, ``different`` in what
    each two differ.
    """
    table: dict[str, list[list[float]]] = {}
    for score in scores:
        rows = table.setdefault(score.pipeline, [[] for _ in plans])
        rows[score.run - 1].append(score.f1)
    figures = _figures(plans, scores, advice, [*alike, *different_in_words(advice, different)], different)
    figures["differences"] = [difference.as_data for difference in different]
    files = [results_json(table), figures_json(figures)]
    if output.plots:
        with screen.step("plots", "Drawing"):
            files += draw_curves(_curves(plans, scores))
    write_all(output.folder, files)
    screen.note(f"Results are in {output.folder}")


def _curves(plans: Sequence[RunPlan], scores: Sequence[Score]) -> dict[str, list[CurvePoint]]:
    by_point: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        by_point[score.pipeline][score.percentage].append(score.f1)
    sizes = {
        percentage: round(fsum(len(plan.included[percentage]) for plan in plans) / len(plans))
        for percentage in plans[0].included
    }
    curves = {}
    for name, points in by_point.items():
        curve = []
        for percentage, values in points.items():
            mean = fsum(values) / len(values)
            deviation = sqrt(fsum((value - mean) ** 2 for value in values) / len(values))
            curve.append(CurvePoint(sizes[percentage], mean, deviation))
        curves[name] = sorted(curve, key=lambda point: point.sentences)
    return curves


def _figures(
    plans: Sequence[RunPlan],
    scores: Sequence[Score],
    advice: Advice,
    alike: Sequence[str],
    different: Sequence[PipelineDifference],
) -> dict[str, Any]:
    return {
        "runs": [
            {
                "run": plan.number,
                "seed": plan.seed,
                "test": len(plan.test),
                "training": {str(percentage): len(kept) for percentage, kept in plan.included.items()},
            }
            for plan in plans
        ],
        "failed": [
            {"config": score.pipeline, "run": score.run, "percentage": score.percentage, "reason": score.failed}
            for score in scores
            if score.failed
        ],
        "pipelines": [
            {
                "config": name,
                "mean_f1": advice.mean_f1[name],
                "deviation": advice.deviation[name],
                "gain_from_twice_the_data": None
                if (curve := advice.curves[name]) is None
                else {"f1": curve.slope, "low": curve.low, "high": curve.high},
            }
            for name in advice.pipelines
        ],
        "best_against_second": None
        if advice.p_value is None
        else {"p_value": advice.p_value, "better": advice.better, "worse": advice.worse},
        "advice": advice_text(advice, alike, different),
    }


_WITH_RASA: Final = "Compare the two with Rasa itself before you choose."


def different_in_words(advice: Advice, different: Sequence[PipelineDifference]) -> list[str]:
    """Say what the engine can judge of that in which the best pipeline differs from each other one."""
    best = advice.pipelines[0]
    fitted = [
        difference for difference in different if advice.failed.keys().isdisjoint({difference.one, difference.other})
    ]
    return [
        difference.in_words
        for difference in fitted
        if best in {difference.one, difference.other} and (difference.judged or difference.by_stand_ins)
    ]


def advice_text(advice: Advice, alike: Sequence[str] = (), different: Sequence[PipelineDifference] = ()) -> list[str]:
    """Return the figures and what to do, line by line.

    ``alike`` says which pipelines no figure tells apart, ``different`` in what each two differ: what Rasa runs
    differently from the engine, only Rasa can compare.
    """
    data = (
        f"{advice.left_out} % of the training sentences left out" if advice.left_out else "all the training sentences"
    )
    lines = [f"With {data} (weighted F1 of intents, mean ± standard deviation over the runs):"]
    for name in advice.pipelines:
        figures = f"{advice.mean_f1[name]:.3f} ± {advice.deviation[name]:.3f}"
        lines.append(f"  {name}: {f'not trained: {text(why, 400)}' if (why := advice.failed.get(name)) else figures}")
    lines += alike
    if advice.p_value is not None:
        best, second = advice.pipelines[0], advice.second
        counts = (
            f"it is right more often about {count(advice.better, 'sentence')}, less often about {advice.worse:,} "
            f"(sign test, p {'< 0.001' if advice.p_value < 0.001 else f'= {advice.p_value:.3f}'})"
        )
        judged = all(one.is_all_judged for one in different if {one.one, one.other} == {best, second})
        simpler = "Take the simpler one." if judged else _WITH_RASA
        if second is not None and advice.mean_f1[best] == advice.mean_f1[second]:
            lines.append(f"{best} and {second} are equally good: {counts}. {simpler}")
        elif advice.is_noise:
            lines.append(f"{best} is ahead of {second}, but that may be noise: {counts}. {simpler}")
        elif judged:
            lines.append(f"Take {best}. Its lead over {second} is not noise: {counts}.")
        else:
            lines.append(f"{best} is ahead of {second} here, and that is not noise: {counts}. {_WITH_RASA}")
    for name in (pipeline for pipeline in advice.pipelines if pipeline not in advice.failed):
        curve = advice.curves[name]
        if curve is None:
            lines.append(
                f"Whether more data would help {name} cannot be said: it takes several --percentages and fits."
            )
            continue
        gain = f"twice the sentences bring {curve.slope:+.3f} F1 (95 %: {curve.low:+.3f} to {curve.high:+.3f})"
        if curve.low > WORTHWHILE:
            lines.append(f"More data would help {name}: {gain}.")
        elif curve.high < WORTHWHILE:
            lines.append(f"More data would hardly help {name}: {gain}.")
        else:
            lines.append(f"Whether more data would help {name} is open: {gain}.")
    return lines


def run_compare_nlu(
    options: NluTestOptions,
    configs: Sequence[Path],
    output: NluOutput,
    screen: Console,
    *,
    runs: int = 3,
    percentages: Sequence[int] | None = None,
) -> int:
    """Compare pipelines, write Rasa's tree of files, print advice. Returns 0 whatever the scores are.

    ``percentages``: those of the training data to leave out; without any, those of the Rasa that the project is for.

    Raises:
        UserError: no usable configuration or too little data, a bad number, the cluster cannot be used.
    """
    if runs < 1:
        raise UserError(f"--runs is {runs}, and must be 1 or more")
    if percentages is not None and not all(0 <= percentage < 100 for percentage in percentages):
        raise UserError("--percentages must be whole numbers from 0 to 99")
    ensure_apart_from_project(output.folder, options.settings)
    from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # imports NumPy

    settings = dataclasses.replace(options.settings, config=str(configs[0]))
    project = read_assistant(settings)
    data = read_judged(options := options._replace(settings=settings, cross_validation=True), project)
    ensure_trainable_by_config(project, options.settings, NLU_PARTS if data is project.nlu else NLU_PARTS - {"nlu"})
    ensure_examples(data, looked_in(options, project))
    pipelines = _pipelines(options, configs, screen)
    responses = project.domain.responses
    usual = PERCENTAGES if project.major >= NAMED_AS_TODAY else (*PERCENTAGES, MOST_LEFT_OUT_BY_RASA_0_AND_1)
    steps = tuple(dict.fromkeys(percentages or usual))
    plans = plan_runs(data.examples, responses, runs=runs, percentages=steps, seed=settings.seed)
    if len(tested := sorted({example.base_intent or "" for example in plans[0].test})) < _FEWEST_INTENTS:
        who = f"only '{text(tested[0])}' has" if tested else "no intent has"
        raise UserError(
            f"there is nothing to compare on: {who} {FEWEST_EXAMPLES} examples, and at least two intents are judged",
            hint="Name more NLU data with --nlu.",
        )
    major = major_of_files(project_info(project), output.rasa_files)
    _write_data(data, responses, plans, output.folder, major)
    # Until Rasa 1 only the curves were drawn.
    of_each = output._replace(rasa_files=major, plots=output.plots and major >= NAMED_AS_TODAY)
    vectors = chosen_vectors(settings.vectors, data)
    tasks = [
        new_task(
            dataclasses.replace(project, config=config),
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
    of_all = {name: one for group in configured for name, one in group.items()}
    replaced = {name: _replaced(pipelines[name], project, settings) for name in of_all}
    different = pipeline_differences(pipelines, of_all, replaced)
    write_results(plans, scores, advice, output, screen, alike=alike, different=different)
    said = [*alike, *different_in_words(advice, different)]
    sys.stdout.write(plain("\n".join([*advice_text(advice, said, different), ""])))
    return EXIT_OK


def _pipelines(options: NluTestOptions, configs: Sequence[Path], screen: Console) -> dict[str, Config]:
    """Read each configuration; one without a pipeline is left out and named, as in Rasa."""
    pipelines: dict[str, Config] = {}
    for path in configs:
        ensure_there("config", [path])
        if path.stem in pipelines:
            raise UserError(
                f"two configurations are called '{path.stem}'", hint="Rename one: results are filed under that name."
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
        raise UserError("none of the configurations has a pipeline", hint="Correct --config.")
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


def _replaced(config: Config, project: Project, settings: Settings) -> frozenset[str]:
    """Return the names of the components for which something else runs here."""
    from turncheck.engines.embedded.nlu.plan import make_plan  # imports NumPy

    plan = make_plan(config, rasa=project.domain.rasa, allow_custom_code=settings.allow_custom_code)
    return frozenset(one.component for one in plan.substitutions if one.used is not None)


def _write_data(
    data: NluData, responses: Mapping[str, Response], plans: Sequence[RunPlan], folder: Path, major: int
) -> None:
    """Write the training and test data of each run: YAML, until Rasa 1 Markdown."""
    write_nlu, write_responses, suffix = write_nlu_yaml, write_responses_yaml, "yml"
    if major < NAMED_AS_TODAY:
        from turncheck.project.formats import rasa_nlu_writer as markdown_writer  # most projects are newer

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
