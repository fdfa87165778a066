"""An evaluation as far as it got: if the engine fails or somebody interrupts, what was finished is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from turncheck.messages.errors import CutShortError, EngineError
from turncheck.messages.phrasing import first_line
from turncheck.report.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.engines.base import Engine
    from turncheck.messages.errors import UserError
    from turncheck.report.evaluations import Evaluation

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class PartialResult(Generic[Result]):
    """The outcome of an evaluation: ``finished`` is all of it or, with ``stopped``, the part until then, if any."""

    finished: Result | None
    stopped: CutShortError | None = None

    @property
    def reason(self) -> str | None:
        """Why it ended before its end, as in reports."""
        return None if self.stopped is None else str(self.stopped)

    def skipped(self, evaluation: Evaluation) -> tuple[Skipped, ...]:
        """Return the entry for an evaluation of which nothing was finished."""
        if self.stopped is None or self.finished is not None:
            return ()
        return (Skipped(evaluation=evaluation, reason=cause(self.stopped)),)


def run_until_failure(evaluate: Callable[[], Result]) -> PartialResult[Result]:
    """Evaluate. Errors that are not the engine's are passed on unchanged."""
    try:
        return PartialResult(evaluate())
    except CutShortError as error:
        return PartialResult(error.finished, error)
    except (EngineError, KeyboardInterrupt) as error:
        return PartialResult(None, CutShortError(error))


def require_same_model(engines: Engine, evaluate: Callable[[], Result]) -> Result:
    """Evaluate, and make sure that the engine used the same model throughout.

    Raises:
        CutShortError: it had another model at the end, or could no longer answer.
    """
    result = evaluate()
    engines.ensure_same_model(result)
    return result


def cause(stopped: UserError) -> str:
    """Return on one line why something was not run."""
    return first_line(stopped.what)


def end_with(stopped: CutShortError) -> NoReturn:
    """End a command whose evaluation was stopped, after all was written.

    Raises:
        CutShortError: the engine failed.
        KeyboardInterrupt: somebody interrupted it.
    """
    if stopped.interrupted:
        raise KeyboardInterrupt
    raise stopped
