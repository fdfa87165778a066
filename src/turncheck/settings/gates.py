"""The settings that gates are made of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, cast

from turncheck.messages.location import shown_path
from turncheck.report.model import GateSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.settings.options import Settings

GATES = (
    *("fail_on", "fail_on_warnings", "thresholds", "max_regression", "require", "accept_gone", "not_judged"),
    "misunderstood",
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
        strict=settings.strict,
        evaluations=settings.evaluations,
        data=_in_project(settings.data, settings),
        nlu=_in_project((settings.nlu,) if settings.nlu else (), settings),
        stories=_in_project(settings.stories, settings),
        e2e=_in_project(settings.e2e, settings),
        batch=_in_project(settings.batch, settings),
        ignore=settings.ignore,
    )


def _in_project(paths: Iterable[str], settings: Settings) -> tuple[str, ...]:
    """Paths as the report has them: relative to the project, wherever that is."""
    return tuple(shown_path(os.path.relpath(path, settings.project)) for path in paths)
