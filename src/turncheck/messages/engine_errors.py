"""What an engine raises when it can no longer answer."""

from __future__ import annotations

from typing import Any, Final

from turncheck.messages.errors import UserError

INTERRUPTED: Final = "interrupted"
"""Why something was not finished, if a person or a cancelled job ended it."""


class EngineError(UserError):
    """The engine can no longer answer (a server that is gone or refuses): the rest of a run is skipped."""


class PassingError(EngineError):
    """The problem may be temporary: a conversation that is started again may succeed."""


class CutShortError(EngineError):
    """An engine stopped answering in the middle of something, or it was interrupted.

    ``finished``: what was done before, in the shape of the result that would have been returned, or ``None``. Missing
    answers among several are ``None``. ``interrupted``: a person or a cancelled job ended it.
    """

    def __init__(self, cause: UserError | KeyboardInterrupt, finished: Any = None) -> None:
        if isinstance(cause, KeyboardInterrupt):
            super().__init__(INTERRUPTED)
        else:
            super().__init__(cause.what, location=cause.location, remedy=cause.remedy)
        self.interrupted = isinstance(cause, KeyboardInterrupt) or getattr(cause, "interrupted", False)
        self.finished = finished

    def __reduce__(self) -> Any:
        """It is also sent back from other processes."""
        cause = UserError(self.what, location=self.location, remedy=self.remedy)
        return CutShortError, (KeyboardInterrupt() if self.interrupted else cause, self.finished)
