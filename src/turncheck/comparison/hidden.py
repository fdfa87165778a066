"""What one side of a comparison cannot show and the other can: nothing in it is new, removed or repaired."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.comparison.changes import FindingChange
    from turncheck.report.model import Report, Unread

_REFUSED: Final = "training-refused"
"""Found only by training, which needs all parts."""
_NOT_THERE: Final = frozenset({"domain-not-found", "config-not-found"})
_PARTS_OF: Final[Mapping[str, frozenset[str]]] = {
    "intents": frozenset({"domain", "nlu", "stories"}),
    "entities": frozenset({"domain", "nlu", "stories"}),
    "actions": frozenset({"domain"}),
    "responses": frozenset({"domain", "responses"}),
    "slots": frozenset({"domain"}),
    "forms": frozenset({"domain"}),
    "flows": frozenset({"flows", "stories"}),
    "flow_steps": frozenset({"flows", "stories"}),
    "stories": frozenset({"stories"}),
    "rules": frozenset({"stories"}),
}
"""The parts of a project that an item of each kind may be in."""


class Hidden(Struct, frozen=True):
    """What a side hides: ``places`` that it cannot read, ``codes`` of findings that it therefore does not report.

    ``absent``: files that it does not have, under no other name either: it has no finding in them.
    """

    places: tuple[Unread, ...] = ()
    codes: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()

    @property
    def parts(self) -> frozenset[str]:
        """The parts of the project of which something is hidden."""
        return frozenset(place.part for place in self.places)

    @property
    def paths(self) -> frozenset[str]:
        """The files in which something is hidden."""
        return frozenset(place.location.path for place in self.places)

    def hides(self, finding: FindingChange) -> bool:
        """Whether this side may have a finding of the other side without reporting it."""
        if not self.places or finding.location.path in self.absent:
            return False
        where = {finding.location.path, *(place.path for place in finding.others)}
        return bool(where & self.paths) or finding.code in self.codes or finding.code == _REFUSED

    def hides_items(self, kind: str) -> bool:
        """Whether this side may have more items of a kind (``intents``, ``rules`` …) than it lists."""
        return not self.parts.isdisjoint(_PARTS_OF.get(kind, frozenset()))


def hidden_on(side: Report, other: Report) -> Hidden:
    """Return what a side hides and the other does not; a fault that both have hides the same from both."""
    left = Counter((one.location.path, one.code, one.part) for one in other.unread)
    places = []
    for one in side.unread:
        key = one.location.path, one.code, one.part
        if left[key] > 0:
            left[key] -= 1
        else:
            places.append(one)
    return Hidden(tuple(places), frozenset(side.unchecked) if places else frozenset(), _absent(side))


def _absent(side: Report) -> frozenset[str]:
    """Return the domain and configuration that a side lacks, and of which it has no file that looks like it."""
    findings = side.validation.findings if side.validation else ()
    return frozenset(one.location.path for one in findings if one.code in _NOT_THERE and not one.names)


def as_both_show(base: Report, head: Report) -> tuple[Report, Report]:
    """Return the reports without the kinds of items of which one hides some: none is known to be new or removed."""
    sides = hidden_on(base, head), hidden_on(head, base)
    kinds = {kind for kind in _PARTS_OF if any(hidden.hides_items(kind) for hidden in sides)}
    if not kinds:
        return base, head
    seen_base, seen_head = (
        replace(side, coverage={kind: items for kind, items in side.coverage.items() if kind not in kinds})
        for side in (base, head)
    )
    return seen_base, seen_head
