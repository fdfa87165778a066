"""Why an engine cannot do an evaluation of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.report.model import Skipped
from turncheck.validation.losses import reason_of_loss

if TYPE_CHECKING:
    from turncheck.messages.finding import Finding
    from turncheck.report.model import Evaluation


NOTHING_TO_LEARN: Final = "the project has neither stories nor rules to learn from"


def skipped_for_loss(evaluation: Evaluation, part: str, finding: Finding) -> Skipped:
    """Say that an evaluation needs a part of the project that cannot be read completely."""
    return Skipped(evaluation=evaluation, reason=reason_of_loss(part, finding), fault=True, location=finding.location)
