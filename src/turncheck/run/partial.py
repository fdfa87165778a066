"""What is kept of an evaluation if the engine fails or somebody interrupts: the part until then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from msgspec import Struct

from turncheck.messages.errors import EngineError, IncompleteError, UserError
from turncheck.messages.phrasing import first_line
from turncheck.report.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.engines.base import Engine
    from turncheck.report.evaluations import Evaluation

Measured = TypeVar("Measured")


class PartialResult(Struct, Generic[Measured], frozen=True):
    """The outcome of an evaluation: ``finished`` is all of it or, with ``stopped``, the part until then, if any."""

    finished: Measured | None
    stopped: IncompleteError | None = None

    @property
    def reason(self) -> str | None:
        """Why it ended before its end, as in reports."""
        return None if self.stopped is None else str(self.stopped)

    def skipped(self, evaluation: Evaluation) -> tuple[Skipped, ...]:
        """Return the entry for an evaluation of which nothing was finished."""
        if self.stopped is None or self.finished is not None:
            return ()
        return (Skipped(evaluation=evaluation, reason=cause(self.stopped)),)


def run_until_failure(evaluate: Callable[[], Measured]) -> PartialResult[Measured]:
    """Evaluate. Errors that are not the engine's are passed on unchanged."""
    try:
        return PartialResult(evaluate())
    except IncompleteError as error:
        return PartialResult(error.finished, error)
    except (EngineError, KeyboardInterrupt) as error:
        return PartialResult(None, IncompleteError(error))


def require_same_model(engines: Engine, evaluate: Callable[[], Measured]) -> Measured:
    """Evaluate, and make sure that the engine used the same model throughout.

    Raises:
        IncompleteError: it had another model at the end, or could no longer answer.
    """
    result = evaluate()
    engines.ensure_same_model(result)
    return result


def cause(stopped: UserError) -> str:
    """Return on one line why something was not run."""
    return first_line(stopped.message)


def end_with(stopped: IncompleteError) -> NoReturn:
    """End a command whose evaluation was stopped, after all was written.

    Raises:
        IncompleteError: the engine failed.
        KeyboardInterrupt: somebody interrupted it.
    """
    if stopped.interrupted:
        raise KeyboardInterrupt
    raise stopped
