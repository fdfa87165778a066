"""What of the project conversations come by."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from turncheck.evaluation.e2e_steps import response_name

if TYPE_CHECKING:
    from turncheck.engines.base import Turn

_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Exercised:
    """Names by kind, as the report's coverage has them."""

    intents: frozenset[str] = _NOBODY
    entities: frozenset[str] = _NOBODY
    actions: frozenset[str] = _NOBODY
    responses: frozenset[str] = _NOBODY
    slots: frozenset[str] = _NOBODY
    forms: frozenset[str] = _NOBODY
    flows: frozenset[str] = _NOBODY

    def with_turn(self, turn: Turn) -> Exercised:
        """Return these names and those of the turn."""
        found: dict[str, set[str | None]] = {field.name: set() for field in fields(self)}
        for event in turn.events:
            match event["event"]:
                case "user":
                    found["intents"].add(event["parse_data"]["intent"].get("name"))
                    found["entities"].update(entity.get("entity") for entity in event["parse_data"]["entities"])
                case "action":
                    found["actions"].add(event["name"])
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
        return self.with_all(
            Exercised(**{kind: frozenset(name for name in names if name) for kind, names in found.items()})
        )

    def with_all(self, other: Exercised) -> Exercised:
        """Return the names of both."""
        return Exercised(
            **{field.name: getattr(self, field.name) | getattr(other, field.name) for field in fields(self)}
        )

    def by_kind(self) -> dict[str, tuple[str, ...]]:
        """Return sorted names by kind, without kinds that have none."""
        return {
            field.name: tuple(sorted(getattr(self, field.name))) for field in fields(self) if getattr(self, field.name)
        }
