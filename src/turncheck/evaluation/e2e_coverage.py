"""Which parts of the project conversations exercise."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.e2e_steps import response_name

if TYPE_CHECKING:
    from turncheck.engines.conversation import Turn

_NOBODY: frozenset[str] = frozenset()
_BETWEEN_STEPS: Final = frozenset({"action_listen", "action_session_start", "action_extract_slots"})
"""Actions that stories and rules omit between their steps."""


@dataclass(frozen=True, slots=True)
class Exercised:
    """Names by kind, as in the report's coverage.

    ``steps`` are pairs of consecutive steps, ``"intent greet > action utter_greet"``; ``last`` is the step that the
    next one follows.
    """

    intents: frozenset[str] = _NOBODY
    entities: frozenset[str] = _NOBODY
    actions: frozenset[str] = _NOBODY
    responses: frozenset[str] = _NOBODY
    slots: frozenset[str] = _NOBODY
    forms: frozenset[str] = _NOBODY
    flows: frozenset[str] = _NOBODY
    steps: frozenset[str] = _NOBODY
    last: str = ""

    def with_turn(self, turn: Turn) -> Exercised:
        """Return these names and those of the turn."""
        found: dict[str, set[str | None]] = {kind: set() for kind in _KINDS}
        walked = [self.last]
        for event in turn.events:
            match event["event"]:
                case "user":
                    found["intents"].add(event["parse_data"]["intent"].get("name"))
                    walked.append(f"intent {event['parse_data']['intent'].get('name')}")
                    found["entities"].update(entity.get("entity") for entity in event["parse_data"]["entities"])
                case "action":
                    found["actions"].add(event["name"])
                    if event["name"] not in _BETWEEN_STEPS:
                        walked.append(f"action {event['name']}")
                case "bot":
                    found["responses"].add(response_name(event))
                case "slot":
                    found["slots"].add(event["name"])
                case "active_loop":
                    found["forms"].add(event["name"])
                case "flow_started":
                    found["flows"].add(event.get("flow_id"))
                case _:
                    pass
        found["actions"].update(action.name for action in turn.custom_actions if not action.missing)
        found["actions"].update(turn.unseen_actions)
        found["steps"].update(f"{one} > {other}" for one, other in pairwise(walked) if one)
        both = {kind: getattr(self, kind) | {name for name in names if name} for kind, names in found.items()}
        return Exercised(**both, last=walked[-1])

    def with_all(self, other: Exercised) -> Exercised:
        """Return the names of both."""
        return Exercised(**{kind: getattr(self, kind) | getattr(other, kind) for kind in _KINDS})

    def by_kind(self) -> dict[str, tuple[str, ...]]:
        """Return sorted names by kind, without kinds that have none."""
        return {kind: tuple(sorted(getattr(self, kind))) for kind in _KINDS if getattr(self, kind)}


_KINDS: Final = tuple(field.name for field in fields(Exercised) if field.name != "last")
