"""Why an evaluation does not run, as an entry of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import structs

from turncheck.messages.location import NOWHERE
from turncheck.report.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.messages.errors import UserError
    from turncheck.messages.finding import Finding
    from turncheck.project.model import Config
    from turncheck.report.model import Evaluation

_TESTS_OF: Final[Mapping[Evaluation, str]] = {"nlu": "the test sentences", "core": "the test stories"}
_REFUSED: Final[Mapping[Evaluation, str]] = {
    "nlu": "the NLU pipeline cannot be trained",
    "core": "the policies cannot be trained",
    "e2e": "the end-to-end cases cannot be run",
    "batch": "the batch suites cannot be run",
}


def unreadable(evaluation: Evaluation, findings: Iterable[Finding]) -> Skipped | None:
    """Tests that are there and cannot be read are something else than no tests: nobody would miss them."""
    fault = next((finding for finding in findings if finding.severity == "error"), None)
    if fault is None:
        return None
    reason = f"{_TESTS_OF[evaluation]} cannot be read completely: {fault.location}: {fault.message.rstrip('.')}"
    return Skipped(evaluation=evaluation, reason=reason, fault=True, location=fault.location)


def with_tests(skipped: Skipped, names: Iterable[str] | None) -> Skipped:
    """Say which tests a fault elsewhere keeps from running, so that those that are gone are told apart."""
    return structs.replace(skipped, tests=tuple(names)) if skipped.fault and names is not None else skipped


def refused_training(error: UserError, evaluation: Evaluation, config: Config) -> Skipped:
    """What cannot be trained is a fault at its place; where none is known, at that of the pipeline or the policies."""
    location = error.location
    if location is None and evaluation != "e2e":
        location = config.keys.get("pipeline" if evaluation == "nlu" else "policies", config.location)
        location = None if location == NOWHERE else location
    place = f" ({error.location})" if error.location else ""
    reason = f"{_REFUSED[evaluation]}: {error.what}{place}"
    return Skipped(evaluation=evaluation, reason=reason, fault=True, location=location)


def faulty(faults: Sequence[Finding]) -> Skipped:
    """The first fault is reported here too: validation, which tells all, may not have been asked for."""
    first, more = faults[0], f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    reason = f"the end-to-end cases are faulty: {first.location}: {first.message}{more}"
    return Skipped(evaluation="e2e", reason=reason, fault=True, location=first.location)
