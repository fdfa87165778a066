"""An assistant whose answers vary by seeded coins: each of its cases fails at a rate of its own."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from turncheck.cli import run_command_line
from turncheck.engines.conversation import Turn
from turncheck.messages.finding import Location
from turncheck.project.e2e.model import CaseTurn, E2ECase, Expectation
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RIGHT, WRONG = "as expected", "something else"
EVERY_OTHER = -1.0
"""The rate of what is wrong in every other run."""


def is_wrong(rate: float, seed: str, attempt: int) -> bool:
    """Throw the coin of an attempt."""
    if rate == EVERY_OTHER:
        return attempt % 2 == 0
    return random.Random(f"{seed} {attempt}").random() < rate


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
        said = WRONG if is_wrong(self.coins.rates[text], f"{self.coins.seed} {text}", self.attempt) else RIGHT
        event = {"event": "bot", "text": said, "data": {}, "metadata": {}}
        return Turn("hi", (), {}, None, (event,))


def coin_cases(rates: Mapping[str, float]) -> list[E2ECase]:
    """One case for each message, which expects the right answer."""
    place = Location("tests/e2e_test_cases.yml", 1)
    return [E2ECase(text, place, (CaseTurn(text, place, (Expectation("bot", RIGHT, place),)),)) for text in rates]


# Runs in shards, for any assistant whose answers vary.


def in_shards(
    run: Callable[..., int],
    count: int,
    *flags: str,
    base: str,
    of_shards: str | None = None,
    gate: str = "new-failures",
) -> int:
    """Measure in shards, put together in ``results``; ``of_shards``: what they take for the base, if something else."""
    places = [f"shard-{number}" for number in range(1, count + 1)]
    for number, place in enumerate(places, 1):
        assert run("--shard", f"{number}/{count}", *flags, out=place, base=of_shards or base, gate="") == 0
    return run_command_line(["report", "merge", *places, "--baseline", base, "--fail-on", gate, "--quiet"])


def once_a_base(kept: Path, measure: Callable[[], int]) -> str:
    """The base's results in the folder ``base``: measured there once, then copied from where they are kept."""
    if not kept.exists():
        assert measure() == 0
        shutil.copytree("base", kept)
    else:
        shutil.copytree(kept, "base")
    return "base"


def as_compared(folder: str) -> dict[str, Any]:
    """What a run found, but for the times."""
    read = {name: json.loads(Path(folder, f"{name}.json").read_bytes()) for name in ("report", "verdict", "comparison")}
    del read["report"]["timings"], read["report"]["source"]["measured"]
    return read
