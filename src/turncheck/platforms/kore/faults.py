"""The possible faults of an export. Their descriptions are in :mod:`turncheck.platforms.kore.catalogue`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.messages.finding import NOWHERE, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.messages.finding import Location
    from turncheck.yaml_tree.json_tree import JsonFile, Step

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
"""The severities of the findings made while reading an export."""

_LONGEST: Final = 80


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is in an export; looked up on demand."""

    file: JsonFile | None = field(default=None, repr=False, compare=False)
    path: tuple[Step, ...] = ()

    @property
    def location(self) -> Location:
        """The place."""
        return NOWHERE if self.file is None else self.file.location(*self.path)


NO_PLACE: Final = Place()


class Fault(NamedTuple):
    """A fault in a part of the export, whose place is looked up when it is shown."""

    code: str
    message: str
    place: Place
    hint: str = ""

    @property
    def finding(self) -> Finding:
        """The finding, at the severity of its code."""
        return Finding(self.code, SEVERITIES[self.code], self.message, self.place.location, self.hint)


def shown(text: str) -> str:
    """Return a string in quotes, shortened if it is long."""
    return f"'{text}'" if len(text) <= _LONGEST else f"'{text[:_LONGEST]}…'"


def not_an_export(message: str, location: Location, hint: str = "Export the assistant again.") -> Finding:
    """Return the finding that a file is not an export."""
    return Finding(NOT_AN_EXPORT, SEVERITIES[NOT_AN_EXPORT], message, location, hint)
