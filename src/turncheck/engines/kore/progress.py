"""Progress of many calls: how long they may take, then how many are done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turncheck.messages.plurals import count
from turncheck.process.screen import duration

if TYPE_CHECKING:
    from turncheck.engines.kore.client import KoreClient
    from turncheck.process.screen import Screen

EVERY: Final = 15.0
"""Seconds between two progress messages."""


@dataclass(slots=True)
class Progress:
    """Reports before ``total`` calls how long they may take, and during them how many are done."""

    total: int
    client: KoreClient
    screen: Screen
    _done: int = field(default=0, init=False)
    _shown_at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """Say how long it may take."""
        seconds = duration(self.client.pace().seconds_for(self.total))
        self.screen.note(
            f"{count(self.total, 'utterance')} by Find Intent: up to about {seconds}"
            " (the platform takes 60 calls a minute, and 1,800 an hour)."
        )
        self._shown_at = self.client.clock.now()

    def step(self) -> None:
        """Count one more."""
        self._done += 1
        now = self.client.clock.now()
        if self._done < self.total and now - self._shown_at >= EVERY:
            self._shown_at = now
            left = duration(self.client.pace().seconds_for(self.total - self._done))
            self.screen.progress(f"{self._done:,} of {self.total:,} utterances, up to about {left} left")
