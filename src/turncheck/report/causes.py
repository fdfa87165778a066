"""The part of the report about causes: which changed parts make tests end otherwise than on the base, found by trying.

It is about one base: beside another one it says nothing.
"""

from __future__ import annotations

from typing import Literal

from turncheck.messages.finding import Location
from turncheck.report.part import Count, Part


class Cause(Part, frozen=True, kw_only=True):
    """A changed part of the project that has to do with a test, a figure or a finding."""

    kind: str
    """What it is: ``rules``, ``stories``, ``intents``, ``slots``, ``policies`` …"""
    name: str
    """What it is called."""
    change: Literal["changed", "removed", "added", "moved", "renamed", "replaced"]
    """What the change did to it."""
    location: Location | None
    """Its first changed line; ``None`` if it was removed."""
    base_location: Location | None = None
    """Where it was on the base; ``None`` if it is new."""
    old_name: str = ""
    """What it was called, if it was renamed; the story that it replaces."""
    proved: bool = False
    """Whether it was tried: without this change, or those that are named together, the result is that of the base."""

    @property
    def place(self) -> Location | None:
        """Where to look: its changed line, or where it was."""
        return self.location or self.base_location


Asked = Literal["core", "e2e", "batch", "intents", "entities", "responses"]
"""The kinds of tests: of evaluations, and test sentences by what of them is judged."""


class CausesOfTest(Part, frozen=True, kw_only=True):
    """A test whose result changed, and the parts that it takes to change it back."""

    evaluation: Asked
    """Which kind of test it is; of a test sentence, what of it is judged."""
    name: str
    """What it is called."""
    path: str
    """The file that it is in."""
    causes: tuple[Cause, ...]
    """What has to be taken back together; empty: nothing of the project makes it end as on the base."""


class CausesOfIntent(Part, frozen=True, kw_only=True):
    """An intent whose F1 really dropped, and the parts without which its sentences are understood as on the base."""

    intent: str
    """Its name."""
    causes: tuple[Cause, ...]
    """What has to be taken back together."""


class CausesOfFinding(Part, frozen=True, kw_only=True):
    """A finding that only this side has, and the parts without which it is gone."""

    code: str
    """What kind of finding it is."""
    location: Location
    """Where it is."""
    causes: tuple[Cause, ...]
    """What has to be taken back together."""
    contradicted: tuple[tuple[str, ...], ...] = ()
    """The rules and stories that each of these contradicts there."""


class MutualContradiction(Part, frozen=True, kw_only=True):
    """Changed rules and stories that contradict each other, of which none alone is to blame."""

    causes: tuple[Cause, ...]
    """The rules and stories."""
    code: str = "rule-contradiction"
    """What kind of findings they are."""
    locations: tuple[Location, ...]
    """Where the findings are that it explains."""


class Causes(Part, frozen=True, kw_only=True):
    """What was found by taking changed parts back and trying."""

    base: str
    """The commit of the base that they were taken back to."""
    tests: tuple[CausesOfTest, ...] = ()
    """The tests for which it is known."""
    intents: tuple[CausesOfIntent, ...] = ()
    """The intents for which it is known."""
    findings: tuple[CausesOfFinding, ...] = ()
    """The findings for which it is known."""
    mutual: tuple[MutualContradiction, ...] = ()
    """What contradicts each other."""
    trials: Count = 0
    """How many times something was taken back and tried."""
    work: Count = 0
    """How much work that was, in training sentences and steps of stories that were learnt from again."""
    all_tried: bool = True
    """Whether nothing was left out because it would have been too much work."""
