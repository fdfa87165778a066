"""Flows, read and typed. Everything has its :class:`~turncheck.messages.finding.Location`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Location

StepKind = Literal["action", "collect", "link", "call", "set_slots", "noop", "unknown"]
STEP_KINDS: Final[tuple[StepKind, ...]] = ("action", "collect", "link", "call", "set_slots", "noop")
END: Final = "END"
START: Final = "START"
PATTERN: Final = "pattern_"
"""How the names of the flows begin that Rasa has for conversation repair, and that a project may override."""


class Named(Struct, frozen=True):
    """A name that a flow uses: of a flow, step, action, slot, response or intent."""

    name: str
    location: Location

    @property
    def is_computed(self) -> bool:
        """Whether it is only known when the flow runs (``{{context.utter}}``)."""
        return "{{" in self.name or "{%" in self.name


class Condition(Struct, frozen=True):
    """A condition as written. ``constant``: it is ``true`` or ``false`` in YAML, not text."""

    text: str
    location: Location
    constant: bool | None = None


class Rejection(Struct, frozen=True):
    """A condition under which a collected value is refused, and what is said then."""

    location: Location
    condition: Condition | None = None
    utter: Named | None = None


class Assignment(Struct, frozen=True):
    """A slot that a step sets, and its value."""

    slot: Named
    value: Any


class Branch(Struct, frozen=True):
    """An alternative of ``next``: with no condition for ``else``, and with ``steps`` unless it names a ``step``."""

    location: Location
    condition: Condition | None = None
    step: Named | None = None
    steps: tuple[Step, ...] = ()


class Step(Struct, frozen=True):
    """A step. ``name``: the action, slot or flow that its kind names; ``next``: the named step, or the alternatives.

    ``reads``, ``fills``: the slots of a call's ``mapping``. ``server``: the MCP server that has the called tool.
    ``kept``: where it says whether its slot is reset after the flow.
    """

    kind: StepKind
    location: Location
    name: Named | None = None
    id: Named | None = None
    next: Named | None = None
    branches: tuple[Branch, ...] = ()
    utter: Named | None = None
    collect_action: Named | None = None
    rejections: tuple[Rejection, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    exits: tuple[Condition, ...] = ()
    reads: tuple[Named, ...] = ()
    fills: tuple[Named, ...] = ()
    server: Named | None = None
    kept: Location | None = None
    is_agent: bool = False

    @property
    def on_server(self) -> bool:
        """Whether it calls a tool of an MCP server, which no file of the project lists."""
        return self.server is not None

    @property
    def conditions(self) -> Iterator[Condition]:
        """The conditions that are written in it, without those of nested steps."""
        yield from (branch.condition for branch in self.branches if branch.condition is not None)
        yield from (rejection.condition for rejection in self.rejections if rejection.condition is not None)
        yield from self.exits


class Trigger(Struct, frozen=True):
    """An intent that starts a flow."""

    intent: Named
    threshold: float | None = None


class Flow(Struct, frozen=True):
    """A flow. ``description`` is empty if there is none.

    ``digressions``: the flows that it says not to turn to, or only if the user confirms it.

    ``slot``: it is no flow, but what the domain has to validate this slot by: one step, with rejections.
    ``response``: it is none either, but the condition of a variation of this response: a guard.
    """

    name: str
    location: Location
    steps: tuple[Step, ...] = ()
    title: str = ""
    description: str = ""
    description_location: Location | None = None
    guard: Condition | None = None
    triggers: tuple[Trigger, ...] = ()
    digressions: tuple[Named, ...] = ()
    persisted: tuple[Named, ...] = ()
    slot: str = ""
    response: str = ""

    @property
    def what(self) -> str:
        """What it is, with its name."""
        if self.response:
            return f"response '{self.response}'"
        return f"validation of the slot '{self.slot}'" if self.slot else f"flow '{self.name}'"

    @property
    def is_pattern(self) -> bool:
        """Whether it overrides one of Rasa's patterns, by its name."""
        return self.name.startswith(PATTERN)

    @property
    def all_steps(self) -> Iterator[Step]:
        """Its steps with the nested ones, in the order of the file."""
        yield from _with_nested(self.steps)

    @property
    def conditions(self) -> Iterator[Condition]:
        """All its conditions, the guard first."""
        if self.guard is not None:
            yield self.guard
        for step in self.all_steps:
            yield from step.conditions


def _with_nested(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        for branch in step.branches:
            yield from _with_nested(branch.steps)


class FlowFault(Struct, frozen=True):
    """Something in a file of flows that could not be read. ``code`` is that of the finding."""

    code: str
    message: str
    location: Location
    hint: str = ""


class FlowFile(Struct, frozen=True):
    """The flows of one file, and what could not be read in it."""

    path: str
    flows: tuple[Flow, ...] = ()
    faults: tuple[FlowFault, ...] = ()
