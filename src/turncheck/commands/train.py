"""``turncheck train [nlu|core]``: typed parameters in, a model file out, exit code back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.engines.base import NLU_PARTS, NOTHING_TO_LEARN, Part
from turncheck.engines.embedded.model_archive import MemberWriter, write_model
from turncheck.engines.embedded.models import DEFAULT_MODELS, model_path
from turncheck.engines.embedded.training_key import project_fingerprint
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, TrainingRefusedError, UserError
from turncheck.messages.plain_text import plain
from turncheck.project.story_sentences import with_story_sentences
from turncheck.render.phrases import substitution_lines
from turncheck.run.folders import ensure_apart_from_project
from turncheck.run.reading import (
    ensure_nlu_accepted,
    ensure_policies_accepted,
    ensure_readable,
    ensure_trainable,
    ensure_valid,
    in_vain,
    read_assistant,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.model import Substitution
    from turncheck.settings.options import Settings


@dataclass(frozen=True, slots=True)
class Validation:
    """How the project is validated before training."""

    max_history: int | None = None
    fail_on_warnings: bool = False


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """What is trained from what, and where the model goes.

    ``validation``: ``None`` checks only what training refuses.
    """

    settings: Settings
    out: Path = Path(DEFAULT_MODELS)
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
    if (refusal := project.platform.no_model) is not None:
        raise UserError(refusal.what, hint=refusal.hint)
    missing: dict[Part, str] = {}
    if not project.nlu.examples:
        missing["nlu"] = "the project has no NLU examples to train on"
    if not project.stories and not project.rules:
        missing["core"] = NOTHING_TO_LEARN
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
    if "core" in parts:
        ensure_trainable(project)
    if "nlu" in parts:
        ensure_readable(project, NLU_PARTS)


def _ensure_accepted(project: Project, parts: Sequence[Part], options: TrainOptions, screen: Console) -> None:
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
    has_policy = any(component.name.endswith("RulePolicy") for component in project.config.policies)
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
