"""Upper bounds of numeric settings: larger numbers are typos, or more than a machine can take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turncheck.process.screen import Console

MOST_REPETITIONS: Final = 10_000
MOST_BOT_PARALLEL: Final = 256
MOST_FOLDS: Final = 10_000
MOST_RASA_SERVERS: Final = 64
MOST_SEED: Final = 2**32 - 1
"""The largest seed of NumPy."""
MOST_WORKERS: Final = 100_000
"""Workers that may be requested; at most :data:`MOST_STARTED` are started, since more would not be faster."""
MOST_STARTED: Final = 64


def capped_workers(workers: int, screen: Console) -> int:
    """Return how many of the requested workers are started; the screen says so if they are fewer."""
    if workers > MOST_STARTED:
        screen.note(f"workers: {workers} were asked for, {MOST_STARTED} are started: more would not be faster.")
    return min(workers, MOST_STARTED)
