"""Which newly wrong sentence is read first."""

from __future__ import annotations

from turncheck.comparison.changes import CaseChange, TrainingChange
from turncheck.messages.finding import Location
from turncheck.render.grouping import caused_first

_PLACE = Location("data/nlu.yml", 4)
_REASON = TrainingChange(change="added", text="pay", intent="pay", location=_PLACE, similarity=0.9)


def wrong(name: str, confidence: float, *, old: bool, caused: bool) -> CaseChange:
    return CaseChange(
        name=name,
        location=_PLACE,
        base_location=_PLACE if old else None,
        passed=False,
        base_passed=True if old else None,
        confidence=confidence,
        because=(_REASON,) if caused else (),
    )


def test_what_the_change_explains_comes_first_and_of_that_what_was_right_before() -> None:
    listed = caused_first(
        [
            wrong("new, not explained", 0.99, old=False, caused=False),
            wrong("old, not explained", 0.98, old=True, caused=False),
            wrong("new", 0.97, old=False, caused=True),
            wrong("old, unsure", 0.2, old=True, caused=True),
            wrong("old, sure", 0.7, old=True, caused=True),
        ]
    )
    assert [case.name for case in listed] == [
        *("old, sure", "old, unsure", "new"),
        *("old, not explained", "new, not explained"),
    ]
