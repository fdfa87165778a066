"""The settings that gates are made of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, cast

from msgspec import UNSET

from turncheck.messages.finding import shown_path
from turncheck.report.model import GateSettings
from turncheck.settings.engines import ENGINES
from turncheck.settings.file import read_settings_file
from turncheck.settings.repeats import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from turncheck.settings.options import Settings

GATES = (
    *("fail_on", "fail_on_warnings", "thresholds", "max_regression", "require", "accept_gone", "not_judged"),
    *("misunderstood", "batch_failures"),
    "strict",
)
"""Settings that judge, and are in the report."""


def gate_settings(settings: Settings) -> GateSettings:
    """Return the settings that judge or choose what is judged, and are in the report."""
    return GateSettings(
        fail_on=settings.fail_on,
        fail_on_warnings=settings.fail_on_warnings,
        thresholds=settings.thresholds,
        max_regression=settings.max_regression,
        require=settings.require,
        accept_gone=settings.accept_gone,
        not_judged=cast("Literal['auto', 'pass', 'fail']", settings.not_judged),
        misunderstood="fail" if settings.misunderstood == "fail" else "warn",
        batch_failures="fail" if settings.batch_failures == "fail" else "auto",
        strict=settings.strict,
        evaluations=settings.evaluations,
        data=_in_project(settings.data, settings),
        nlu=_in_project((settings.nlu,) if settings.nlu else (), settings),
        stories=_in_project(settings.stories, settings),
        e2e=_in_project(settings.e2e, settings),
        batch=_in_project(settings.batch, settings),
        ignore=settings.ignore,
        config=_in_project((settings.config,) if settings.config else (), settings),
        domain=_in_project((settings.domain,) if settings.domain else (), settings),
        language=settings.language or "",
        engine=settings.engine,
        folds=settings.folds,
        seed=settings.seed,
        slot_order="any" if settings.slot_order == "any" else "strict",
        vectors=_vectors(settings),
        today=settings.today,
        strength=settings.strength,
        strength_budget=settings.strength_budget,
        robustness=settings.robustness,
        kore_version=settings.kore_version,
        bot=() if settings.bot is None else settings.bot.lines,
        artifact_name=settings.artifact_name,
        repeats=UNSET if settings.repeats == AUTO and ENGINES[settings.engine].from_files else settings.repeats,
    )


def named_projects(folder: Path) -> tuple[str, ...]:
    """Return the assistants that the ``turncheck.yml`` of a folder names, as the report has them.

    Raises:
        UserError: the file cannot be read.
    """
    named = read_settings_file(folder).values.get("projects", ()) if folder.is_dir() else ()
    return tuple(shown_path(os.path.relpath(path, folder)) for path in named)


def _vectors(settings: Settings) -> str:
    if isinstance(settings.vectors, bool):
        return "true" if settings.vectors else "false"
    return _in_project((settings.vectors,), settings)[0]


def _in_project(paths: Iterable[str], settings: Settings) -> tuple[str, ...]:
    """Paths as the report has them: relative to the project, wherever that is."""
    return tuple(shown_path(os.path.relpath(path, settings.project)) for path in paths)
