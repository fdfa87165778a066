"""What was measured as far as it went: where the engine gives up or somebody interrupts, what was finished is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from turncheck.engines.base import CutShortError, EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.messages.errors import UserError

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Measured(Generic[Result]):
    """What came of measuring: ``finished`` is all, or with ``stopped`` what there was until then, or ``None``."""

    finished: Result | None
    stopped: CutShortError | None = None

    @property
    def reason(self) -> str | None:
        """Why it ended before its end, as reports have it."""
        return None if self.stopped is None else str(self.stopped)


def as_far_as_it_goes(measure: Callable[[], Result]) -> Measured[Result]:
    """Measure. Errors that are not the engine's are raised as they are."""
    try:
        return Measured(measure())
    except CutShortError as error:
        return Measured(error.finished, error)
    except (EngineError, KeyboardInterrupt) as error:
        return Measured(None, CutShortError(error))


def not_run(stopped: UserError) -> str:
    """Return why something was not run, in a line."""
    return f"not run: {stopped.what.partition(chr(10))[0]}"


def end_with(stopped: CutShortError) -> NoReturn:
    """End a command whose measuring was stopped, after all was written.

    Raises:
        CutShortError: the engine gave up.
        KeyboardInterrupt: somebody interrupted it.
    """
    if stopped.interrupted:
        raise KeyboardInterrupt
    raise stopped
