"""``turncheck train [nlu|core]``: typed parameters in, a model file out, exit code back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from turncheck.engines.embedded.fingerprint import project_fingerprint
from turncheck.engines.embedded.model_archive import MemberWriter, write_model
from turncheck.errors import EXIT_FAILED, EXIT_OK, TrainingRefusedError, UserError
from turncheck.model_choice import DEFAULT_MODELS, model_path
from turncheck.trainable import ensure_readable, ensure_trainable, read_given_project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.project.model import Project
    from turncheck.report.model import Substitution
    from turncheck.screen import Screen

Part = Literal["nlu", "core"]


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """What is trained from what, and where the model goes. ``data``: files and folders instead of ``data``."""

    project: Path
    domain: Path | None = None
    config: Path | None = None
    data: Sequence[Path] = ()
    out: Path = Path(DEFAULT_MODELS)
    fixed_name: str | None = None
    augmentation: int = 50
    seed: int = 42


def run_train(options: TrainOptions, parts: Sequence[Part], screen: Screen) -> int:
    """Train and save a model. With both parts asked for, one that the project has no data for is left out, and said.

    Ends with 1 where Rasa refuses to train (rules that contradict each other …).

    Raises:
        UserError: nothing to read or to learn from, a model that cannot be written.
    """
    project = read_given_project(options.project, options.domain, options.data or None, options.config)
    wanted = _possible(project, parts, screen)
    writer = MemberWriter()
    substitutions: list[Substitution] = []
    try:
        with screen.step("train", f"Training {' and '.join(wanted)}"):
            for part in wanted:
                add = _add_nlu if part == "nlu" else _add_core
                substitutions.extend(add(project, writer, options))
    except TrainingRefusedError as error:
        sys.stderr.write(f"turncheck: error: {error}\n")
        return EXIT_FAILED
    for one in substitutions:
        screen.note(f"{one.component}: {one.used or 'left out'} ({one.reason})")
    prefix = "" if len(wanted) > 1 else f"{wanted[0]}-"
    path = model_path(options.out, options.fixed_name, prefix)
    write_model(path, writer, fingerprint=project_fingerprint(project), parts=tuple(wanted))
    sys.stdout.write(f"The model is saved at '{path}'.\n")
    return EXIT_OK


def _possible(project: Project, parts: Sequence[Part], screen: Screen) -> list[Part]:
    """Return the parts that can be trained; a part that was asked for by itself must be possible."""
    missing: dict[Part, str] = {}
    if not project.nlu.examples:
        missing["nlu"] = "the project has no NLU examples to learn from"
    if not project.stories and not project.rules:
        missing["core"] = "the project has neither stories nor rules to learn from"
    wanted = [part for part in parts if part not in missing]
    if not wanted:
        raise UserError("; ".join(missing[part] for part in parts), remedy="Name data with --data.")
    for part in parts:
        if part in missing:
            screen.note(f"Only {' and '.join(wanted)} is trained: {missing[part]}.")
    if "core" in wanted:
        ensure_trainable(project)
    if "nlu" in wanted:
        ensure_readable(project, {"nlu", "config"})
    return wanted


def _add_core(project: Project, writer: MemberWriter, options: TrainOptions) -> Sequence[Substitution]:
    from turncheck.engines.embedded.policies.archive import write_ensemble  # noqa: PLC0415 - where it is needed
    from turncheck.engines.embedded.policies.trainer import train_ensemble  # noqa: PLC0415

    ensemble = train_ensemble(project, augmentation=options.augmentation)
    write_ensemble(writer, ensemble, project.config)
    return ensemble.substitutions


def _add_nlu(project: Project, writer: MemberWriter, options: TrainOptions) -> Sequence[Substitution]:
    from turncheck.engines.embedded.nlu.persistence import write_nlu  # noqa: PLC0415 - heavy
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # noqa: PLC0415

    engine = EmbeddedNluTrainer(seed=options.seed).fit(project)
    write_nlu(writer, engine)
    return engine.info.substitutions
