"""What the manual says about each code, as SARIF needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.render.sarif import RuleText
from turncheck.validation.registry import CHECKS

if TYPE_CHECKING:
    from collections.abc import Mapping


def rule_texts() -> Mapping[str, RuleText]:
    """Return the text of each code of a finding."""
    return {
        code: RuleText(check.title, f"{check.title}. {check.text} {check.details}".strip(), check.severity)
        for code, check in CHECKS.items()
    }
