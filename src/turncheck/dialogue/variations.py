"""Which variations of a response may be said: those for the channel, and whose conditions hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.project.model import ResponseVariation


def fitting(
    variations: Sequence[ResponseVariation], channel: str | None, slots: Mapping[str, Any]
) -> Sequence[ResponseVariation]:
    """Return the variations to choose from: for the channel before general ones, and conditional ones first.

    As Rasa 3.6.21's ``ResponseVariationFilter``: a variation with an empty list of conditions is never said.
    """
    conditional = [v for v in variations if v.conditions and all(holds(c, slots) for c in v.conditions)]
    unconditional = [v for v in variations if v.content.get("condition") is None]
    groups = (
        [v for v in conditional if v.channel == channel],
        [v for v in unconditional if v.channel == channel],
        [v for v in conditional if v.channel is None],
        [v for v in unconditional if v.channel is None],
    )
    return next((group for group in groups if group), ())


def holds(condition: Mapping[str, Any], slots: Mapping[str, Any]) -> bool:
    """Whether the slot has the value of the condition; strings are compared ignoring case."""
    expected, value = condition.get("value"), slots.get(str(condition.get("name")))
    if isinstance(expected, str) and isinstance(value, str):
        return expected.casefold() == value.casefold()
    return bool(expected == value)
