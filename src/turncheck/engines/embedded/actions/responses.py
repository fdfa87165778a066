"""Chooses and fills the domain's responses: conditions, channels, variations. Mirrors Rasa 3's response generator."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from turncheck.engines.embedded.actions.templates import fill

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from turncheck.project.model import Response, ResponseVariation

_FILLED_KEYS = ("text", "image", "custom", "buttons", "attachment", "quick_replies")


class Responses:
    """The responses of a domain, for one channel.

    If several variations fit, ``chance`` chooses; it belongs to one conversation, so that conversations do not
    affect one another.
    """

    def __init__(self, responses: Mapping[str, Response], channel: str, chance: random.Random) -> None:
        self._responses = responses
        self._channel = channel
        self._chance = chance

    @cached_property
    def _all_responses(self) -> dict[str, Any]:
        shapes = {name: [dict(v.content) for v in response.variations] for name, response in self._responses.items()}
        return {"domain_responses": shapes}

    def generate(
        self, name: str, slots: Mapping[str, Any], variables: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """Return the response's content, filled from the slots and ``variables`` (which win over slots).

        Without ``variables`` the dialogue itself says the response: Rasa then gives it all responses of the
        domain as ``domain_responses``, which ``{domain_responses}`` and ``{}`` show.

        ``None`` if there is no such response, or none of its variations fits the slots and the channel.

        Raises:
            TemplateError: the braces of a response cannot be read.
        """
        response = self._responses.get(name)
        if response is None:
            return None
        fitting = _fitting(response.variations, self._channel, slots)
        if not fitting:
            return None
        chosen = fitting[0] if len(fitting) == 1 else self._chance.choice(fitting)
        content = copy.deepcopy(dict(chosen.content))
        values = {**slots, **(self._all_responses if variables is None else variables)}
        for key in _FILLED_KEYS:
            if key in content:
                content[key] = fill(content[key], values)
        return content


def _fitting(
    variations: Sequence[ResponseVariation], channel: str, slots: Mapping[str, Any]
) -> Sequence[ResponseVariation]:
    """Return the variations to choose from: for the channel before general ones, and conditional ones first."""
    conditional = [v for v in variations if v.conditions and all(_holds(c, slots) for c in v.conditions)]
    unconditional = [v for v in variations if v.content.get("condition") is None]
    groups = (
        [v for v in conditional if v.channel == channel],
        [v for v in unconditional if v.channel == channel],
        [v for v in conditional if v.channel is None],
        [v for v in unconditional if v.channel is None],
    )
    return next((group for group in groups if group), ())


def _holds(condition: Mapping[str, Any], slots: Mapping[str, Any]) -> bool:
    """Whether the slot has the value of the condition; strings are compared ignoring case."""
    expected, value = condition.get("value"), slots.get(str(condition.get("name")))
    if isinstance(expected, str) and isinstance(value, str):
        return expected.casefold() == value.casefold()
    return bool(expected == value)
