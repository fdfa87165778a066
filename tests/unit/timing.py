"""How long something may take: asserted by ``make bench``, on an idle machine, and not by ``make test``."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Timing:
    """The fixture ``timing``. What a test asserts beside the time always counts."""

    asserted: bool

    @contextmanager
    def at_most(self, seconds: float, clock: Callable[[], float] = time.process_time) -> Iterator[None]:
        """Assert that the block takes less, in processor time unless another clock is named."""
        begin = clock()
        yield
        taken = clock() - begin
        assert taken < seconds or not self.asserted, f"took {taken:.2f} s, and at most {seconds} s were expected"
