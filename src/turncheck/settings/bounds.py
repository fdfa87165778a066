"""How large the numbers may be that somebody sets: beyond that they are slips, or more than a machine bears."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turncheck.process.screen import Screen

MOST_REPETITIONS: Final = 10_000
MOST_FOLDS: Final = 10_000
MOST_RASA_SERVERS: Final = 64
MOST_SEED: Final = 2**32 - 1
"""What NumPy takes."""
MOST_WORKERS: Final = 100_000
"""That may be asked for; :data:`MOST_STARTED` are started at most, since more would not be faster."""
MOST_STARTED: Final = 64


def capped_workers(workers: int, screen: Screen) -> int:
    """Return how many of the wished workers are started; the screen says so where they are fewer."""
    if workers > MOST_STARTED:
        screen.note(f"workers: {workers} were asked for, {MOST_STARTED} are started: more would not be faster.")
    return min(workers, MOST_STARTED)
