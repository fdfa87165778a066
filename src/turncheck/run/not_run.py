"""Why an evaluation does not run, as an entry of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import structs

from turncheck.messages.location import NOWHERE
from turncheck.report.model import ON_REQUEST, Skipped
from turncheck.validation.losses import first_loss, reason_of_loss

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.engines.base import Engines
    from turncheck.messages.errors import UserError
    from turncheck.messages.finding import Finding
    from turncheck.project.model import Config, Project
    from turncheck.report.model import Evaluation
    from turncheck.settings.options import Settings

_TESTS_OF: Final[Mapping[Evaluation, str]] = {
    "nlu": "the test sentences",
    "core": "the test stories",
    "e2e": "the end-to-end cases",
}
_REFUSED: Final[Mapping[Evaluation, str]] = {
    "nlu": "the NLU pipeline cannot be trained",
    "core": "the policies cannot be trained",
    "e2e": "the end-to-end cases cannot be run",
    "batch": "the batch suites cannot be run",
    "robustness": "the test sentences cannot be varied",
    "strength": "the mutants cannot be tried",
}
_OF_PIPELINE: Final[frozenset[Evaluation]] = frozenset({"nlu", "batch", "robustness"})


def is_asked(settings: Settings, evaluation: Evaluation) -> bool:
    """Whether the settings ask for an evaluation."""
    if evaluation in ON_REQUEST:
        switched_on = {"strength": settings.strength != "off", "robustness": settings.robustness}
        return evaluation in settings.evaluations or switched_on[evaluation]
    return not settings.evaluations or evaluation in settings.evaluations


def not_asked(settings: Settings, evaluation: Evaluation) -> Skipped:
    """Other evaluations are requested."""
    return Skipped(evaluation=evaluation, reason=f"not requested (evaluations: {', '.join(settings.evaluations)})")


def elsewhere(evaluation: Evaluation, project: Project, engines: Engines) -> Skipped | None:
    """If the project's files have no dialogues, there is nothing to test."""
    if project.kind.no_dialogues is None:
        return None
    reason = engines.capabilities.why_not(evaluation) or project.kind.no_dialogues
    return Skipped(evaluation=evaluation, reason=reason, no_tests=True)


def impossible(
    evaluation: Evaluation, engines: Engines, lost: Mapping[str, Finding], *, in_folds: bool
) -> Skipped | None:
    """The engine cannot do it, or a part of the project that it needs cannot be read completely."""
    if loss := first_loss(lost, engines.needs(evaluation, in_folds=in_folds)):
        reason, place = reason_of_loss(*loss), loss[1].location
        return Skipped(evaluation=evaluation, reason=reason, fault=True, location=place)
    reason_of_engine = engines.capabilities.why_not(evaluation)
    return None if reason_of_engine is None else Skipped(evaluation=evaluation, reason=reason_of_engine)


def not_understood(
    evaluation: Evaluation, project: Project, engines: Engines, *, has_sentences: bool
) -> Skipped | None:
    """Tests whose sentences nothing understands cannot be run: every one would fail for that reason."""
    if not has_sentences or project.nlu.examples or engines.understands:
        return None
    reason = "the project has no NLU examples to understand the test sentences with"
    return Skipped(evaluation=evaluation, reason=reason, fault=True)


def unreadable(evaluation: Evaluation, findings: Iterable[Finding], *, of: Evaluation | None = None) -> Skipped | None:
    """Tests that exist but cannot be read are not the same as no tests: nobody would miss them.

    ``of``: the evaluation whose tests they are, if that is another one.
    """
    fault = next((finding for finding in findings if finding.severity == "error"), None)
    if fault is None:
        return None
    reason = f"{_TESTS_OF[of or evaluation]} cannot be read completely: {fault.location}: {fault.message.rstrip('.')}"
    return Skipped(evaluation=evaluation, reason=reason, fault=True, location=fault.location)


def with_tests(skipped: Skipped, names: Iterable[str] | None) -> Skipped:
    """Name the tests that a fault elsewhere keeps from running, to distinguish them from removed ones."""
    return structs.replace(skipped, tests=tuple(names)) if skipped.fault and names is not None else skipped


def refused_training(error: UserError, evaluation: Evaluation, config: Config) -> Skipped:
    """What cannot be trained is a fault at its place or, if none is known, at that of the pipeline or the policies."""
    location = known = None if error.location == NOWHERE else error.location
    if location is None and evaluation != "e2e":
        location = config.keys.get("pipeline" if evaluation in _OF_PIPELINE else "policies", config.location)
        location = None if location == NOWHERE else location
    place = f" ({known})" if known else ""
    reason = f"{_REFUSED[evaluation]}: {error.what}{place}"
    return Skipped(evaluation=evaluation, reason=reason, fault=True, location=location)


def faulty(faults: Sequence[Finding]) -> Skipped:
    """The first fault is reported here, too: validation, which lists all, may not have been requested."""
    first, more = faults[0], f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    reason = f"the end-to-end cases are faulty: {first.location}: {first.message}{more}"
    return Skipped(evaluation="e2e", reason=reason, fault=True, location=first.location)
