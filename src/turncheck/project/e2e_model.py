"""End-to-end test cases, read and typed. Everything knows its :class:`~turncheck.location.Location`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.finding import Finding
    from turncheck.location import Location

StepKind = Literal["bot", "utter", "slot_was_set", "slot_was_not_set"]
STEP_KINDS: tuple[StepKind, ...] = ("bot", "utter", "slot_was_set", "slot_was_not_set")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of a turn: a message's text (``bot``), a response's name (``utter``), a slot.

    A list of slots in the file is one expectation each. ``has_value`` tells ``x: null`` (set to nothing) from ``x``.
    """

    kind: StepKind
    name: str
    location: Location
    value: Any = None
    has_value: bool = False


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion of a user step: its type and what stands there, as written."""

    kind: str
    value: Any
    location: Location


@dataclass(frozen=True, slots=True)
class CaseTurn:
    """A user message and what is expected of the turn. ``user`` is ``None`` for what comes before the first message."""

    user: str | None
    location: Location
    expectations: tuple[Expectation, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    ordered: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class E2ECase:
    """A test case. ``slots`` are those of its fixtures, together; ``source`` its steps as plain data.

    ``stubs`` by action: ``{"events": […], "responses": […]}``; ``None`` where the file stubs nothing.
    """

    name: str
    location: Location
    turns: tuple[CaseTurn, ...]
    fixtures: tuple[str, ...] = ()
    slots: Mapping[str, Any] = field(default_factory=dict)
    stubs: Mapping[str, Mapping[str, Any]] | None = None
    source: Sequence[Any] = ()

    @property
    def key(self) -> str:
        """``path::name``: what tells cases of several files apart."""
        return f"{self.location.path}::{self.name}"

    @property
    def expects_nothing(self) -> bool:
        """Whether there is nothing to judge."""
        return not any(turn.expectations or turn.assertions for turn in self.turns)


@dataclass(frozen=True, slots=True)
class E2ECases:
    """The cases of some files, in the files' order, and what is wrong with the files."""

    cases: tuple[E2ECase, ...] = ()
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
