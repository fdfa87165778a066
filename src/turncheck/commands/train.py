"""``turncheck train [nlu|core]``: typed parameters in, a model file out, exit code back."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.commands.flags import shared
from turncheck.commands.flags.engine import settings_of
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, TrainingRefusedError, UserError
from turncheck.messages.plain_text import plain
from turncheck.project.config import policy_class

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from turncheck.commands.compare_policies import Configured
    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.story_steps import StoryStep
    from turncheck.engines.base import Part
    from turncheck.engines.embedded.model_archive import MemberWriter
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.model import Substitution
    from turncheck.settings.options import Settings


def add_train(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``train`` with its kinds below it."""
    parser = subparsers.add_parser(
        "train",
        help=words,
        description="Train language understanding and policies, and save them as one model.",
    )
    _add_train_flags(parser)
    shared.add_augmentation(parser)
    shared.add_verbosity(parser)
    parser.set_defaults(handler=_train_both)
    _add_validation_flags(parser)
    parts = parser.add_subparsers(title="commands for one part", metavar="PART")
    only_nlu = parts.add_parser("nlu", help="train language understanding", description="Train the NLU pipeline.")
    _add_train_flags(only_nlu)
    only_nlu.add_argument("-u", "--nlu", type=Path, metavar="PATH", help="NLU data (default: data)")
    shared.add_verbosity(only_nlu)
    only_nlu.set_defaults(handler=_train_nlu)
    add_train_core(parts)


def _add_train_flags(parser: argparse.ArgumentParser) -> None:
    shared.add_project(parser)
    shared.add_paths(parser, "--data", words="training data, files or folders (default: data)")
    shared.add_domain(parser)
    shared.add_config(parser)
    shared.add_seed(parser, "training")
    shared.add_vectors_flag(parser)
    shared.add_model_output(parser)


def _add_validation_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("validation before training")
    group.add_argument("--skip-validation", action="store_true", help="do not run `data validate` first")
    group.add_argument(
        "--fail-on-validation-warnings", action="store_true", help="do not train if the validation warns"
    )
    group.add_argument(
        "--validation-max-history",
        type=shared.at_least_one,
        metavar="N",
        help="number of turns that the story structure check looks back",
    )


def _train_both(namespace: argparse.Namespace) -> int:
    options = train_options(namespace)
    if not namespace.skip_validation:
        validation = Validation(namespace.validation_max_history, namespace.fail_on_validation_warnings)
        options = options._replace(validation=validation)
    return run_train(options, ("nlu", "core"), shared.screen_of(namespace))


def _train_nlu(namespace: argparse.Namespace) -> int:
    return run_train(train_options(namespace), ("nlu",), shared.screen_of(namespace))


def add_train_core(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``core`` below ``train``."""
    parser = subparsers.add_parser(
        "core",
        help="train the policies on stories and rules",
        description="Train the policies on stories and rules. With several configurations, train models to compare.",
    )
    add_train_core_flags(parser)
    shared.add_verbosity(parser)
    parser.set_defaults(handler=train_core)


def add_train_core_flags(parser: argparse.ArgumentParser) -> None:
    """Add what ``train core`` reads, and where its models go."""
    read = parser.add_argument_group("input")
    shared.add_project(read)
    shared.add_paths(read, "-s", "--stories", "--data", words="files or folders with stories and rules (default: data)")
    shared.add_domain(read)
    shared.add_config(read, several="with several, train models to compare")
    learn = parser.add_argument_group("training")
    shared.add_augmentation(learn)
    shared.add_seed(learn, "training")
    compare = parser.add_argument_group("comparing configurations")
    compare.add_argument("--runs", type=shared.repetitions, default=3, metavar="N", help="repetitions (default: 3)")
    compare.add_argument(
        "--percentages",
        type=shared.whole_number,
        nargs="+",
        action="extend",
        metavar="N",
        help="percentages of the stories to leave out (default: 0 25 50 75; for Rasa 0 and 1: 0 5 25 50 70 90 95)",
    )
    output = parser.add_argument_group("output")
    shared.add_model_output(output)


def train_core(namespace: argparse.Namespace) -> int:
    """Run ``train core``."""
    configs: list[Path] = namespace.config or []
    if len(configs) <= 1:
        return run_train(train_options(namespace), ("core",), shared.screen_of(namespace))

    return run_train_comparison(
        train_options(namespace),
        configs,
        shared.screen_of(namespace),
        runs=namespace.runs,
        percentages=namespace.percentages or (),
    )


def train_options(namespace: argparse.Namespace) -> TrainOptions:
    """Return what ``train`` trains, and where its model goes."""
    return TrainOptions(
        settings=settings_of(namespace),
        out=namespace.out,
        fixed_name=namespace.fixed_model_name,
        augmentation=getattr(namespace, "augmentation", 50),
    )


class Validation(NamedTuple):
    """How the project is validated before training."""

    max_history: int | None = None
    fail_on_warnings: bool = False


class TrainOptions(NamedTuple):
    """What is trained from what, and where the model goes.

    ``validation``: ``None`` checks only what training refuses.
    """

    settings: Settings
    out: Path
    fixed_name: str | None = None
    augmentation: int = 50
    validation: Validation | None = None

    @property
    def data(self) -> tuple[str, ...]:
        """All that is read as training data, ``()``: the default."""
        settings = self.settings
        return (*settings.data, *((settings.nlu,) if settings.nlu else ()), *settings.stories)

    @property
    def named(self) -> tuple[str, ...]:
        """All files that were named to train on."""
        return (*self.data, *filter(None, (self.settings.config, self.settings.domain)))


def run_train(options: TrainOptions, parts: Sequence[Part], screen: Console) -> int:
    """Train and save a model. If both parts are requested, one without data is left out with a note.

    Ends with 1 where Rasa refuses to train (rules that contradict each other …).

    Raises:
        UserError: nothing to read or to learn from, a model that cannot be written.
    """
    from turncheck.engines.embedded.model_archive import MemberWriter, write_model
    from turncheck.engines.embedded.models import DEFAULT_MODELS, model_path
    from turncheck.engines.embedded.training_key import project_fingerprint
    from turncheck.project.story_sentences import with_story_sentences
    from turncheck.render.phrases import substitution_lines
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.reading import read_assistant

    if options.out != Path(DEFAULT_MODELS):  # with `--data .` the usual place is in what is read, and no model is data
        ensure_apart_from_project(options.out, options.settings)
    project = read_assistant(options.settings, data=options.data)
    wanted = _possible(project, parts, screen)
    writer = MemberWriter()
    substitutions: list[Substitution] = []
    try:
        _ensure_accepted(project, wanted, options, screen)
        _ensure_whole(project, wanted)
        with screen.step("train", f"Training {' and '.join(wanted)}"):
            for part in wanted:
                if part == "nlu":
                    learnt = with_story_sentences(project) if "core" in wanted else project
                    substitutions.extend(_add_nlu(learnt, writer, options))
                else:
                    substitutions.extend(_add_core(project, writer, options))
    except TrainingRefusedError as error:
        sys.stderr.write(plain(f"turncheck: error: {error.for_repository(options.settings.project)}\n"))
        return EXIT_FAILED
    if "core" in wanted:
        _note_missing_rules(project, options, screen)
    for line in substitution_lines(substitutions):
        screen.note(line)
    prefix = "" if len(wanted) > 1 else f"{wanted[0]}-"
    path = model_path(options.out, options.fixed_name, prefix)
    write_model(path, writer, fingerprint=project_fingerprint(project), parts=tuple(wanted), named=options.named)
    sys.stdout.write(plain(f"The model is saved at '{path}'.\n"))
    return EXIT_OK


def _possible(project: Project, parts: Sequence[Part], screen: Console) -> list[Part]:
    """Return the parts that can be trained; a part that was requested by itself must be possible."""
    from turncheck.engines.base import NO_POLICIES, why_no_dialogue
    from turncheck.run.skipping import in_vain

    if (refusal := project.platform.no_model) is not None:
        raise UserError(refusal.what, hint=refusal.hint)
    missing: dict[Part, str] = {}
    if not project.nlu.examples:
        missing["nlu"] = "the project has no NLU examples to train on"
    nothing = why_no_dialogue(project)
    if nothing is not None and (nothing != NO_POLICIES or "nlu" in parts):  # asked for it alone, Rasa refuses to train
        missing["core"] = nothing
    wanted = [part for part in parts if part not in missing]
    if not wanted:
        reasons = "; ".join(missing[part] for part in parts)
        raise UserError(f"{reasons}{in_vain(project)}", hint="Name data with --data.")
    for part in parts:
        if part in missing:
            screen.note(f"Only {' and '.join(wanted)} is trained: {missing[part]}.")
    return wanted


def _ensure_whole(project: Project, parts: Sequence[Part]) -> None:
    """Refuse training data of which a part could not be read, although Rasa would train on the rest."""
    from turncheck.engines.base import NLU_PARTS
    from turncheck.run.reading import ensure_readable, ensure_trainable

    if "core" in parts:
        ensure_trainable(project)
    if "nlu" in parts:
        ensure_readable(project, NLU_PARTS)


def _ensure_accepted(project: Project, parts: Sequence[Part], options: TrainOptions, screen: Console) -> None:
    from turncheck.run.reading import ensure_nlu_accepted, ensure_policies_accepted, ensure_valid

    if options.validation is not None:
        asked = options.validation
        ensure_valid(project, screen, max_history=asked.max_history, fail_on_warnings=asked.fail_on_warnings)
    elif "core" in parts:
        ensure_policies_accepted(project, screen)
    else:
        ensure_nlu_accepted(project, screen)


def _note_missing_rules(project: Project, options: TrainOptions, screen: Console) -> None:
    if project.config.policies is None:
        return
    has_policy = any(policy_class(component) == "RulePolicy" for component in project.config.policies)
    if not has_policy:
        screen.note("There is no RulePolicy: nothing answers the intents 'restart', 'back' and 'session_start'.")
    if has_policy and not project.rules:
        screen.note("There is a RulePolicy, but there are no rules.")
    if not has_policy and project.rules:
        first = project.rules[0].location.below(options.settings.project)
        screen.note(f"No policy learns the rules ({first}): there is no RulePolicy.")


def _add_core(project: Project, writer: MemberWriter, options: TrainOptions) -> Sequence[Substitution]:
    from turncheck.engines.embedded.policies.trainer import train_ensemble, write_ensemble

    ensemble = train_ensemble(project, augmentation=options.augmentation)
    write_ensemble(writer, ensemble)
    return ensemble.substitutions


def _add_nlu(project: Project, writer: MemberWriter, options: TrainOptions) -> Sequence[Substitution]:
    from turncheck.engines.embedded.nlu.persistence import write_nlu
    from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer

    engine = EmbeddedNluTrainer(options.settings.seed, vectors=chosen_vectors(options.settings.vectors)).fit(project)
    write_nlu(writer, engine)
    return engine.info.substitutions


DEFAULT_PERCENTAGES: Final = (0, 25, 50, 75)
PERCENTAGES_OF_RASA_0_AND_1: Final = (0, 5, 25, 50, 70, 90, 95)
DEFAULT_RUNS: Final = 3


def run_train_comparison(
    options: TrainOptions,
    configs: Sequence[Path],
    screen: Console,
    *,
    runs: int = DEFAULT_RUNS,
    percentages: Sequence[int] = (),
) -> int:
    """Train each configuration on what is left of the stories at each percentage, as often as there are runs.

    Without ``percentages`` they are those of the Rasa that the project is written for.

    Writes Rasa's tree: ``run_1/CONFIG__percentage__25.tar.gz`` … and ``num_stories.json``. Which stories are left out
    depends on the seed, the run and the percentage, and is the same for all configurations.

    Raises:
        UserError: nothing to read or to train on, a percentage out of range, two configurations with one name.
    """
    from turncheck.commands.compare_policies import NUMBER_OF_STORIES, print_alike
    from turncheck.publishing.files import write_file
    from turncheck.render.rasa_files import as_json

    if any(not 0 <= percentage < 100 for percentage in percentages):
        raise UserError("a percentage of --percentages is not between 0 and 99")
    names = [config.stem for config in configs]
    if len(set(names)) != len(names):
        raise UserError("two configurations have the same name", hint="Models are named after them: rename one.")
    try:
        sizes, configured = _train_all(options, configs, screen, runs, percentages)
    except TrainingRefusedError as error:
        sys.stderr.write(plain(f"turncheck: error: {error.for_repository(options.settings.project)}\n"))
        return EXIT_FAILED
    write_file(options.out / NUMBER_OF_STORIES, as_json(NUMBER_OF_STORIES, sizes).encoded)
    print_alike(configured)
    return EXIT_OK


def _train_all(
    options: TrainOptions, configs: Sequence[Path], screen: Console, runs: int, percentages: Sequence[int]
) -> tuple[list[int], dict[str, Configured]]:
    """Return how many steps are left at each percentage, and what is run for each configuration."""
    from turncheck.commands.compare_policies import PERCENTAGE
    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.story_steps import story_steps
    from turncheck.engines.embedded.configured import policies_of
    from turncheck.engines.embedded.models import SUFFIX
    from turncheck.render.rasa_files import NAMED_AS_TODAY
    from turncheck.run.reading import ensure_policies_accepted, ensure_trainable, read_assistant

    configured: dict[str, Configured] = {}
    sizes: list[int] = []
    for config in configs:
        project = read_assistant(replace(options.settings, config=str(config)), data=options.data)
        ensure_trainable(project)
        ensure_policies_accepted(project, screen)
        configured[config.stem] = policies_of(project.config, rasa=project.domain.rasa)
        domain = DialogueDomain.of(project)
        steps = story_steps((*project.stories, *project.rules), domain)
        usual = DEFAULT_PERCENTAGES if project.major >= NAMED_AS_TODAY else PERCENTAGES_OF_RASA_0_AND_1
        left_out = percentages or usual
        sizes = [len(steps) - round(percentage / 100 * len(steps)) for percentage in left_out]
        for run in range(1, runs + 1):
            for percentage in left_out:
                left = _left(steps, percentage, f"{options.settings.seed}/{run}/{percentage}")
                path = options.out / f"run_{run}" / f"{config.stem}{PERCENTAGE}{percentage}{SUFFIX}"
                what = f"Training {config.stem}, run {run} of {runs}, without {percentage}% of the stories"
                with screen.step("train", what):
                    _train(project, domain, left, path, options.augmentation)
                sys.stdout.write(plain(f"The model is saved at '{path}'.\n"))
    return sizes, configured


def _left(steps: Sequence[StoryStep], percentage: int, seed: str) -> list[StoryStep]:
    """Leave out this share of the story and rule steps, the same ones however files are ordered; the rest stays in
    order."""
    import random

    number = round(percentage / 100 * len(steps))
    places = sorted(range(len(steps)), key=lambda place: _written(steps[place]))
    dropped = set(random.Random(seed).sample(places, number))
    return [step for place, step in enumerate(steps) if place not in dropped]


def _written(step: StoryStep) -> str:
    """What a step says, without its place."""
    return repr((step.is_rule, step.name, step.start, step.events, step.end))


def _train(project: Project, domain: DialogueDomain, steps: Sequence[StoryStep], path: Path, augmentation: int) -> None:
    from turncheck.dialogue.training import trackers_of_steps
    from turncheck.engines.embedded.model_archive import MemberWriter, write_model
    from turncheck.engines.embedded.policies.trainer import train_ensemble, write_ensemble
    from turncheck.engines.embedded.training_key import project_fingerprint

    trackers = trackers_of_steps(steps, domain, augmentation=augmentation)
    ensemble = train_ensemble(project, domain=domain, trackers=trackers)
    writer = MemberWriter()
    write_ensemble(writer, ensemble)
    write_model(path, writer, fingerprint=project_fingerprint(project), parts=("core",))
