"""The settings of gates, parsed and checked."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from turncheck.comparison.rules import Regression, Threshold, at_its_place, read_regression, read_threshold
from turncheck.gates.table import FAIL_ON
from turncheck.messages.errors import UserError
from turncheck.report.evaluations import EVALUATIONS

if TYPE_CHECKING:
    from turncheck.comparison.rules import Places
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import GateSettings


class GateRules(Struct, frozen=True):
    """All gates of a run, parsed and checked."""

    fail_on: tuple[str, ...]
    fail_on_warnings: bool
    require: tuple[Evaluation, ...]
    accept_gone: tuple[str, ...]
    thresholds: tuple[Threshold, ...]
    regressions: tuple[Regression, ...]


def read_rules(settings: GateSettings, places: Places = MappingProxyType({})) -> GateRules:
    """Parse the gate settings. Needs no report, so that a mistake is found before anything is trained.

    Raises:
        UserError: a word, line or metric that is not known.
    """
    for word in settings.fail_on:
        if word not in FAIL_ON:
            raise UserError(f"fail-on: unknown word '{word[:80]}'", hint=f"Known are: {', '.join(FAIL_ON)}.")
    for evaluation in settings.require:
        if evaluation not in EVALUATIONS:
            raise UserError(
                f"require: unknown evaluation '{evaluation[:80]}'", hint=f"Known are: {', '.join(EVALUATIONS)}."
            )
    return GateRules(
        fail_on=settings.fail_on,
        fail_on_warnings=settings.fail_on_warnings,
        require=tuple(evaluation for evaluation in EVALUATIONS if evaluation in settings.require),
        accept_gone=settings.accept_gone,
        thresholds=tuple(at_its_place(line, places, partial(read_threshold, line)) for line in settings.thresholds),
        regressions=tuple(
            at_its_place(line, places, partial(read_regression, line)) for line in settings.max_regression
        ),
    )
