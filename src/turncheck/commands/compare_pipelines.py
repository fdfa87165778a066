"""``turncheck test nlu --config a.yml b.yml``: several pipelines on the same data, in parallel, resumable."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import defaultdict
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import combinations
from math import fsum, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck import __version__
from turncheck.commands.compare_policies import Configured, alike_in_words, alike_to
from turncheck.commands.nlu import NluOutput, NluTestOptions, ensure_examples, ensure_trainable_by_config, read_judged
from turncheck.commands.split import needed_responses
from turncheck.comparison.changed_parts import differences, run_the_same
from turncheck.engines.base import NLU_PARTS
from turncheck.engines.embedded.model_archive import MemberWriter, write_model
from turncheck.engines.embedded.models import SUFFIX, has_custom_components
from turncheck.evaluations.nlu.judging import evaluate_held_out
from turncheck.evaluations.nlu.splits import FEWEST_EXAMPLES, WORTHWHILE, Advice, RunPlan, Score, advise, plan_runs
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import plain
from turncheck.process.one_thread import one_thread
from turncheck.process.output_files import temporary_folder
from turncheck.process.regular_file import read_regular
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml, write_responses_yaml
from turncheck.project.nlu_data import NluData
from turncheck.project.rasa_components import pipeline_of
from turncheck.project.reader import read_project
from turncheck.publishing.files import write_all, write_file
from turncheck.render.curves import CurvePoint, draw_curves, figures_json, results_json
from turncheck.render.rasa_files import NAMED_AS_TODAY, major_of_files, nlu_files
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import text
from turncheck.report.model import ConfiguredComponent, ProjectInfo
from turncheck.run.folders import ensure_apart_from_project
from turncheck.run.reading import ensure_readable, ensure_there, read_assistant
from turncheck.run.report_of import project_info, report_of
from turncheck.work.workplace import Executor, workplace_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from turncheck.comparison.changes import UnseenChange
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
    from turncheck.process.screen import Console
    from turncheck.project.model import Component, Config, Project, Response
    from turncheck.settings.options import Settings


# In what pipelines that are compared differ, and which of that the embedded engine can judge.

_Pair = tuple["Component", "ConfiguredComponent"]
_MOST_NAMED: Final = 8


class PipelineDifference(Struct, frozen=True):
    """In what two pipelines differ: what runs differently here, as in Rasa or as a stand-in, and what is ignored."""

    one: str
    other: str
    judged: tuple[str, ...]
    by_stand_ins: tuple[str, ...]
    not_judged: tuple[str, ...]

    @property
    def as_data(self) -> dict[str, Any]:
        """As it is written to ``nlu_comparison.json``."""
        return {
            "between": [self.one, self.other],
            "judged": list(self.judged),
            "by_stand_ins": list(self.by_stand_ins),
            "not_judged": list(self.not_judged),
        }

    @property
    def in_words(self) -> str:
        """As one sentence; of pipelines that are the same, or of which nothing is judged, others speak."""
        between = f"{text(self.one)} and {text(self.other)}"
        if self.is_all_judged:
            return f"Between {between} all differences are judged: {_listed(self.judged)}."
        parts = [f"judges {_listed(self.judged)}"] if self.judged else []
        parts += [f"has only stand-ins for {_listed(self.by_stand_ins)}"] if self.by_stand_ins else []
        parts += [f"cannot judge {_listed(self.not_judged)}"] if self.not_judged else []
        return f"Between {between} the embedded engine {'; it '.join(parts)}."

    @property
    def is_all_judged(self) -> bool:
        """Whether figures say which of the two is better: all that differs runs as in Rasa."""
        return not (self.by_stand_ins or self.not_judged)


def pipeline_differences(
    pipelines: Mapping[str, Config], configured: Mapping[str, Configured], replaced: Mapping[str, Collection[str]]
) -> list[PipelineDifference]:
    """Return the differences of each two pipelines that can be run.

    Args:
        pipelines: the configurations by name.
        configured: what the engine runs for each.
        replaced: the names of the components of each for which something else runs.
    """
    return [
        _difference(one, other, pipelines, configured, {*replaced[one], *replaced[other]})
        for one, other in combinations(configured, 2)
    ]


def _difference(
    one: str,
    other: str,
    pipelines: Mapping[str, Config],
    configured: Mapping[str, Configured],
    replaced: Collection[str],
) -> PipelineDifference:
    found = list(_run_differently(pipelines[one], pipelines[other], configured[one], configured[other]))
    return PipelineDifference(
        one,
        other,
        tuple(dict.fromkeys(words for words, component in found if component not in replaced)),
        tuple(dict.fromkeys(words for words, component in found if component in replaced)),
        tuple(dict.fromkeys(map(_name, differences(configured[one], configured[other])))),
    )


def _run_differently(
    config: Config, other: Config, of_one: Configured, of_other: Configured
) -> Iterator[tuple[str, str]]:
    """Yield what the engine runs differently, in words, and the name of its component, as it is written."""
    if config.language != other.language:
        yield "language", ""
    before, after = _pairs(config, of_one), _pairs(other, of_other)
    matcher = SequenceMatcher(None, [_class(pair) for pair in before], [_class(pair) for pair in after], autojunk=False)
    for kind, first, end, start, stop in matcher.get_opcodes():
        if kind == "equal":
            for left, right in zip(before[first:end], after[start:stop], strict=True):
                yield from _of_component(left, right)
            continue
        same = run_the_same([pair[1] for pair in before[first:end]], [pair[1] for pair in after[start:stop]])
        known = {id(component) for both in same for component in both}
        yield from (
            (pair[0].written, pair[0].written)
            for pair in (*before[first:end], *after[start:stop])
            if pair[1].runs is not None and id(pair[1]) not in known
        )


def _of_component(left: _Pair, right: _Pair) -> Iterator[tuple[str, str]]:
    if left[1].runs == right[1].runs:
        return
    name = left[0].written
    if left[1].runs is None or right[1].runs is None:
        yield name, name
        return
    parameters = dict.fromkeys((*left[0].parameters, *right[0].parameters))
    ignored = left[1].ignored.keys() | right[1].ignored.keys()
    changed = [
        f"{key} of {name}"
        for key in parameters
        if key not in ignored and left[0].parameters.get(key) != right[0].parameters.get(key)
    ]
    yield from ((words, name) for words in changed or [name])


def _pairs(config: Config, configured: Configured) -> list[_Pair]:
    own = [component for component in configured if component.section == "pipeline"]
    return list(zip(pipeline_of(config), own, strict=True))


def _class(pair: _Pair) -> str:
    return pair[0].name.rpartition(".")[2] if pair[0].name.startswith("rasa.") else pair[0].name


def _name(change: UnseenChange) -> str:
    if change.parameter:
        return f"{change.parameter} of {change.component}"
    return f"{change.base} against {change.component}" if change.change == "replaced" else change.component


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(text(name) for name in names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else shown or "nothing"


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


# The fits of a comparison of pipelines: what each one is, and how they run, here or elsewhere.
#
# Each fit is written as soon as it is done, with a key of everything that it depends on; a fit with the same key is
# not repeated. The results do not depend on where the fits ran: here, in other processes, or on a Dask cluster.

_MOST_OF_STATE: Final = 1 << 30
_DONE: Final = "done.json"


class Task(Struct, frozen=True):
    """One fit: a pipeline in one run at one percentage. ``project`` holds what it trains on."""

    pipeline: str
    run: int
    percentage: int
    project: Project
    test: NluData
    seed: int
    key: str
    output: NluOutput
    allow_custom_code: bool
    vectors: SentenceVectors | None

    @property
    def model(self) -> str:
        """Where its model goes, below the output folder: Rasa's path."""
        return f"run_{self.run}/{self.percentage}%_exclusion/{self.pipeline}{SUFFIX}"

    @property
    def folder(self) -> str:
        """Where its report goes: Rasa's path."""
        return f"run_{self.run}/{self.percentage}%_exclusion/{self.pipeline}_report"


class Outcome(Struct, frozen=True):
    """The result of a fit: its score, and the files to write."""

    score: Score
    files: tuple[Rendered, ...]


def new_task(
    project: Project,
    data: NluData,
    pipeline: str,
    plan: RunPlan,
    percentage: int,
    *,
    settings: Settings,
    output: NluOutput,
    vectors: SentenceVectors | None,
) -> Task:
    """The project goes to other processes, and what it trains on with it."""
    test = NluData(tuple(dataclasses.replace(example, origin=None) for example in plan.test))
    light = project.light(replace(data, examples=plan.included[percentage]))
    pieces = (
        __version__,
        str(settings.seed),
        repr([(component.name, dict(component.parameters)) for component in project.config.pipeline or ()]),
        repr(project.config.language),
        write_nlu_yaml(light.nlu),
        write_nlu_yaml(test),
        write_responses_yaml(project.domain.responses.values()),
        repr((output.plots, output.errors, output.successes, settings.allow_custom_code, vectors and vectors.digest)),
    )
    key = sha256("\0".join(pieces).encode("utf-8", "surrogatepass")).hexdigest()
    custom = settings.allow_custom_code
    return Task(pipeline, plan.number, percentage, light, test, settings.seed, key, output, custom, vectors)


def run_tasks(tasks: Sequence[Task], folder: Path, screen: Console, work: Executor) -> list[Score]:
    """Run the missing fits; return the scores in the order of the tasks."""
    done = {task.key: score for task in tasks if (score := _finished(task, folder)) is not None}
    if done:
        screen.note(f"{len(done)} of {count(len(tasks), 'fit')} already done.")
    missing = [task for task in tasks if task.key not in done]
    with screen.step("fits", f"Fitting {count(len(missing), 'engine')}"):
        # As they come, so that an interrupted comparison keeps what is finished.
        for number, outcome in work.each(_fit, None, missing, total=len(missing), kind="fit"):
            task, score = missing[number], outcome.score
            state = json.dumps(
                {"key": task.key, "f1": score.f1, "correct": score.correct, "failed": score.failed}, indent=None
            )
            write_all(folder, outcome.files)
            write_file(folder / task.folder / _DONE, state.encode())
            done[task.key] = score
            why = f" (cannot be trained: {text(score.failed)})" if score.failed else ""
            screen.note(f"run {task.run}, {task.percentage} % left out, {task.pipeline}: F1 {score.f1:.3f}{why}")
    return [replace(done[task.key], pipeline=task.pipeline, run=task.run, percentage=task.percentage) for task in tasks]


def _finished(task: Task, folder: Path) -> Score | None:
    """Return the score of a fit that was finished earlier; any other is repeated."""
    path = folder / task.folder / _DONE
    try:
        state = json.loads(read_regular(path, most=_MOST_OF_STATE))
        if state["key"] != task.key:
            return None
        correct = tuple(bool(entry) for entry in state["correct"])
        return Score(task.pipeline, task.run, task.percentage, float(state["f1"]), correct, state["failed"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _fit(_: None, task: Task) -> Outcome:
    return fit_and_judge(task)


def fit_and_judge(task: Task) -> Outcome:
    """Train one pipeline, judge the run's test sentences, render its report."""
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # imports scikit-learn

    trainer = EmbeddedNluTrainer(task.seed, task.allow_custom_code, vectors=task.vectors)
    with one_thread():
        try:
            engine = trainer.fit(task.project)
        except UserError as error:
            return Outcome(Score(task.pipeline, task.run, task.percentage, 0.0, (), str(error)), ())
        measured = evaluate_held_out(task.project, engine, task.test)
    section = measured.section
    major = max(task.output.rasa_files or 0, 1)
    files = nlu_files(section, successes=task.output.successes, errors=task.output.errors, major=major)
    if task.output.plots:
        from turncheck.render.plots import nlu_plots  # only imported to draw

        name = f"{task.project.name}, {task.pipeline}, {task.percentage} % left out"
        files += nlu_plots(report_of(ProjectInfo(name=name), task.seed, nlu=section))
    correct = tuple(prediction.correct for prediction in section.predictions)
    score = Score(task.pipeline, task.run, task.percentage, section.intents.f1 if section.intents else 0.0, correct)
    # Written out here, where the sentences are: it is bytes that go back to the process that asked.
    report_files = (replace(file, name=f"{task.folder}/{file.name}", content=file.encoded) for file in files)
    return Outcome(score, (*_model(engine, task), *report_files))


def _model(engine: EmbeddedNluEngine, task: Task) -> tuple[Rendered, ...]:
    """Return the model file; none if the project's own code is used, which a model cannot hold."""
    if task.allow_custom_code and has_custom_components(task.project):
        return ()
    from turncheck.engines.embedded.nlu.persistence import write_nlu

    writer = MemberWriter()
    write_nlu(writer, engine)
    with temporary_folder("model") as folder:
        path = Path(folder) / "model"
        write_model(path, writer, fingerprint=task.key, parts=("nlu",))
        return (Rendered(task.model, "application/gzip", path.read_bytes()),)


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
    ensure_trainable_by_config(project, options, NLU_PARTS if data is project.nlu else NLU_PARTS - {"nlu"})
    ensure_examples(data, options, project)
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
