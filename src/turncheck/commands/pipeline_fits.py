"""The fits of a comparison of pipelines: what each one is, and how they run, here or elsewhere.

Each fit is written as soon as it is done, with a key of everything that it depends on; a fit with the same key is not
repeated. The results do not depend on where the fits ran: here, in other processes, or on a Dask cluster.
"""

from __future__ import annotations

import dataclasses
import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck import __version__
from turncheck.engines.embedded.model_archive import MemberWriter, write_model
from turncheck.engines.embedded.models import SUFFIX, has_custom_components
from turncheck.evaluations.nlu.judging import evaluate_held_out
from turncheck.evaluations.nlu.splits import RunPlan, Score
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.process.one_thread import one_thread
from turncheck.process.output_files import temporary_folder
from turncheck.process.regular_file import read_regular
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml, write_responses_yaml
from turncheck.project.nlu_data import NluData
from turncheck.publishing.files import write_all, write_file
from turncheck.render.rasa_files import nlu_files
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import text
from turncheck.report.model import ProjectInfo
from turncheck.run.report_of import report_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.commands.nlu import NluOutput
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.settings.options import Settings
    from turncheck.work.workplace import Executor


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
