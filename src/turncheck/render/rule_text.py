"""What a rule is called in SARIF, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from turncheck.messages.finding import Severity


class RuleText(Struct, frozen=True):
    """What is said about a code: a title, an explanation in Markdown, and its default severity.

    ``in_manual``: whether the manual of findings explains it.
    """

    title: str
    help: str
    severity: Severity
    in_manual: bool = True
