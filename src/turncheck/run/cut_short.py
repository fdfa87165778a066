"""An evaluation as far as it went: where the engine gives up or somebody interrupts, what was finished is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from turncheck.messages.engine_errors import CutShortError, EngineError
from turncheck.report.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.engines.base import Engines
    from turncheck.messages.errors import UserError
    from turncheck.report.model import Evaluation

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class PartialResult(Generic[Result]):
    """What came of an evaluation: ``finished`` is all, or with ``stopped`` what there was until then, or ``None``."""

    finished: Result | None
    stopped: CutShortError | None = None

    @property
    def reason(self) -> str | None:
        """Why it ended before its end, as reports have it."""
        return None if self.stopped is None else str(self.stopped)

    def skipped(self, evaluation: Evaluation) -> tuple[Skipped, ...]:
        """Return that an evaluation was not run, where nothing of it was finished."""
        if self.stopped is None or self.finished is not None:
            return ()
        return (Skipped(evaluation=evaluation, reason=cause(self.stopped)),)


def as_far_as_it_goes(evaluate: Callable[[], Result]) -> PartialResult[Result]:
    """Evaluate. Errors that are not the engine's are raised as they are."""
    try:
        return PartialResult(evaluate())
    except CutShortError as error:
        return PartialResult(error.finished, error)
    except (EngineError, KeyboardInterrupt) as error:
        return PartialResult(None, CutShortError(error))


def with_one_model(engines: Engines, evaluate: Callable[[], Result]) -> Result:
    """Evaluate, and make sure that the engine had the same model all the time.

    Raises:
        CutShortError: it had another one in the end, or could answer no more.
    """
    result = evaluate()
    engines.ensure_same_model(result)
    return result


def cause(stopped: UserError) -> str:
    """Return why something was not run, in a line."""
    return stopped.what.partition("\n")[0]


def end_with(stopped: CutShortError) -> NoReturn:
    """End a command whose evaluation was stopped, after all was written.

    Raises:
        CutShortError: the engine gave up.
        KeyboardInterrupt: somebody interrupted it.
    """
    if stopped.interrupted:
        raise KeyboardInterrupt
    raise stopped
