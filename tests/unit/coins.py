"""An assistant whose answers vary by seeded coins: each of its cases fails at a rate of its own."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from turncheck.engines.conversation import Turn
from turncheck.messages.finding import Location
from turncheck.project.e2e.model import CaseTurn, E2ECase, Expectation
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RIGHT, WRONG = "as expected", "something else"


@dataclass
class Coins:
    """Says the right thing unless a coin says otherwise. ``rates``: how often it is wrong, by the message.

    ``on_call`` is called with the number of each message, and may raise what an engine raises.
    """

    rates: Mapping[str, float]
    seed: int = 0
    on_call: Callable[[int], None] = lambda _: None
    has_flows: bool = False
    calls: int = 0
    info: EngineInfo = field(default_factory=lambda: EngineInfo(name="coins", version="1"))
    _lock: Lock = field(default_factory=Lock)

    def conversation(self, **given: Any) -> CoinTalk:
        return CoinTalk(self, given["attempt"])


@dataclass
class CoinTalk:
    """One conversation: its answers depend on the seed, the message and the attempt alone."""

    coins: Coins
    attempt: int

    def open(self, metadata: Any = None) -> Turn:
        return Turn("", (), {}, None, ())

    def say(self, text: str, metadata: Any = None) -> Turn:
        with self.coins._lock:
            self.coins.calls += 1
            number = self.coins.calls
        self.coins.on_call(number)
        chance = random.Random(f"{self.coins.seed} {text} {self.attempt}").random()
        said = WRONG if chance < self.coins.rates[text] else RIGHT
        event = {"event": "bot", "text": said, "data": {}, "metadata": {}}
        return Turn("hi", (), {}, None, (event,))


def coin_cases(rates: Mapping[str, float]) -> list[E2ECase]:
    """One case for each message, which expects the right answer."""
    place = Location("tests/e2e_test_cases.yml", 1)
    return [E2ECase(text, place, (CaseTurn(text, place, (Expectation("bot", RIGHT, place),)),)) for text in rates]
