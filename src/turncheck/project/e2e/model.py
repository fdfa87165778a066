"""End-to-end test cases, read and typed. Everything has its :class:`~turncheck.messages.finding.Location`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from turncheck.messages.finding import Finding, Location
    from turncheck.project.botium.model import Part, Script

StepKind = Literal["bot", "utter", "slot_was_set", "slot_was_not_set"]
STEP_KINDS: tuple[StepKind, ...] = ("bot", "utter", "slot_was_set", "slot_was_not_set")


class Expectation(Struct, frozen=True):
    """An expectation of a turn: a message's text (``bot``), a response's name (``utter``), or a slot.

    A list of slots in the file is read as one expectation each, all of the same ``step``. ``has_value`` distinguishes
    ``x: null`` (set to nothing) from ``x``.
    """

    kind: StepKind
    name: str
    location: Location
    value: Any = None
    has_value: bool = False
    step: Location | None = None


class SlotAsserted(Struct, frozen=True):
    """A slot of an assertion. ``has_value`` distinguishes ``value: null`` from no value."""

    name: str
    value: Any = None
    has_value: bool = False


class MessageAsserted(Struct, frozen=True):
    """What one message has to match: its response, a pattern found in it, its buttons (only the written keys)."""

    utter_name: str | None = None
    text_matches: str | None = None
    buttons: tuple[Mapping[str, str], ...] | None = None


class FlowsAsserted(Struct, frozen=True):
    """What happened to flows: all of them, or ``any``; ``step``: the one at which a flow has to have ended, if any."""

    flows: tuple[str, ...]
    any: bool = False
    step: str | None = None


Asserted = str | tuple[SlotAsserted, ...] | MessageAsserted | FlowsAsserted


class Assertion(Struct, frozen=True):
    """One assertion of a user step: its type, its content (strings as in the file), and the content typed.

    ``wanted`` is an action's name, slots, a message, or flows; ``None`` for types that are not judged here. ``places``:
    where each name and value of it is written.
    """

    kind: str
    value: Any
    location: Location
    wanted: Asserted | None = None
    places: Mapping[str, Location] = field(default_factory=dict)

    def at(self, name: str) -> Location:
        """Return where a name or value of it is written."""
        return self.places.get(name, self.location)

    @classmethod
    def of(
        cls, kind: str, value: Any, location: Location, places: Mapping[str, Location] = MappingProxyType({})
    ) -> Assertion:
        """Make an assertion from the value below its type, in the shape of :mod:`turncheck.project.e2e.shapes`."""
        wanted: Asserted | None = None
        if kind == "action_executed":
            wanted = value
        elif kind in {"slot_was_set", "slot_was_not_set"}:
            wanted = tuple(SlotAsserted(slot["name"], slot.get("value"), "value" in slot) for slot in value)
        elif kind in {"bot_uttered", "bot_did_not_utter"}:
            buttons = value.get("buttons")
            shown = None if buttons is None else tuple(buttons)
            wanted = MessageAsserted(value.get("utter_name"), value.get("text_matches"), shown)
        elif kind == "flow_started":
            ids = value["flow_ids"] if isinstance(value, dict) else [value]
            wanted = FlowsAsserted(tuple(ids), any=isinstance(value, dict) and value.get("operator") == "any")
        elif kind in {"flow_completed", "flow_cancelled"}:
            wanted = FlowsAsserted((value["flow_id"],), step=value.get("flow_step_id"))
        return cls(kind, value, location, wanted, places)


class ExpectedCommand(Struct, frozen=True):
    """A command that a dialogue understanding test expects of a message, as written."""

    text: str
    location: Location


class CaseTurn(Struct, frozen=True):
    """A user message and what is expected of the turn. ``user`` is ``None`` for steps before the first message.

    ``commands``: those that a dialogue understanding test expects; nothing here runs them. ``part``: what is expected
    instead in a conversation of Botium's.
    """

    user: str | None
    location: Location
    expectations: tuple[Expectation, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    ordered: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    part: Part | None = None
    commands: tuple[ExpectedCommand, ...] = ()


class NotJudged(Struct, frozen=True):
    """Why a case is not run, and the line that is to blame."""

    why: str
    location: Location


class FilledSlot(Struct, frozen=True):
    """A slot that a fixture fills, and where that is written."""

    fixture: str
    slot: str
    location: Location


class E2ECase(Struct, frozen=True):
    """A test case. ``slots`` are those of all its fixtures; ``source`` has its steps as plain data.

    ``filled``: which fixture fills which slot, including slots that a later fixture overrides.

    ``stubs`` by action: ``{"events": […], "responses": […]}``; ``None`` if the file does not stub anything.

    ``script``: what holds for a conversation of Botium's; ``not_judged``: why it cannot be run, if it cannot.

    ``parts``: for a conversation of Botium's, what each file adds to it, by their paths.
    """

    name: str
    location: Location
    turns: tuple[CaseTurn, ...]
    fixtures: tuple[str, ...] = ()
    slots: Mapping[str, Any] = field(default_factory=dict)
    filled: tuple[FilledSlot, ...] = ()
    stubs: Mapping[str, Mapping[str, Any]] | None = None
    source: Sequence[Any] = ()
    script: Script | None = None
    not_judged: NotJudged | None = None
    parts: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """``path::name``, which distinguishes cases in different files."""
        return f"{self.location.path}::{self.name}"

    @property
    def expects_nothing(self) -> bool:
        """Whether there is nothing to judge."""
        return not any(
            turn.expectations
            or turn.assertions
            or turn.commands
            or (turn.part is not None and (turn.part.replies or turn.part.last_checks))
            for turn in self.turns
        )


class Returned(Struct, frozen=True):
    """An event or a message of a stub, in the shape of an action server's answer, and where its keys are written."""

    content: Mapping[str, Any]
    location: Location
    keys: Mapping[str, Location] = field(default_factory=dict)

    def at(self, key: str) -> Location:
        """Return where the key is written."""
        return self.keys.get(key, self.location)


class Stub(Struct, frozen=True):
    """The replacement for a custom action in a file's cases, or only in one ``case``, and where that is written."""

    action: str
    location: Location
    events: tuple[Returned, ...] = ()
    responses: tuple[Returned, ...] = ()
    case: str | None = None


class E2ECases(Struct, frozen=True):
    """The cases and stubs of some files, in the files' order, and the faults of the files.

    ``sources``: every file whose content was read for them, also what they share.
    """

    cases: tuple[E2ECase, ...] = ()
    stubs: tuple[Stub, ...] = ()
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
