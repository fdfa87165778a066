"""What can be wrong with an export. The rows of the manual are in :mod:`turncheck.validation.catalogue_kore`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.messages.location import Location

NOT_AN_EXPORT: Final = "kore-not-an-export"

SEVERITIES: Final[Mapping[str, Severity]] = {
    NOT_AN_EXPORT: "error",
    "kore-unresolved-task": "warning",
    "kore-unresolved-entity": "warning",
    "kore-span-out-of-range": "error",
    "kore-span-overlap": "warning",
    "kore-empty-sentence": "warning",
    "kore-utterances-not-exported": "warning",
    "kore-language-not-supported": "warning",
    "kore-dialog-stub": "info",
    "kore-faq-disabled": "info",
    "kore-unresolved-parent": "warning",
}
"""What is found while an export is read."""

_LONGEST: Final = 80


def fault(code: str, message: str, location: Location, hint: str = "", others: Iterable[Location] = ()) -> Finding:
    """Return a finding at the severity of its code."""
    return Finding(code, SEVERITIES[code], message, location, hint, tuple(others))


def shown(text: str) -> str:
    """Return a text in quotes, cut where it is long."""
    return f"'{text}'" if len(text) <= _LONGEST else f"'{text[:_LONGEST]}…'"
