"""What an engine that can answer no more raises."""

from __future__ import annotations

from typing import Any, Final

from turncheck.messages.errors import UserError

INTERRUPTED: Final = "interrupted"
"""Why something was not finished, where a person or a cancelled job ended it."""


class EngineError(UserError):
    """The engine can answer no more (a server that is gone or refuses): the rest of a run is not run."""


class PassingError(EngineError):
    """What went wrong may be over the next moment: a conversation that is begun anew may succeed."""


class CutShortError(EngineError):
    """An engine could answer no more in the middle of something, or somebody interrupted it.

    ``finished``: what was done before, in the shape of the result that would have been returned, or ``None``. Of
    several answers those that are missing are ``None``. ``interrupted``: a person or a cancelled job ended it.
    """

    def __init__(self, cause: UserError | KeyboardInterrupt, finished: Any = None) -> None:
        if isinstance(cause, KeyboardInterrupt):
            super().__init__(INTERRUPTED)
        else:
            super().__init__(cause.what, location=cause.location, remedy=cause.remedy)
        self.interrupted = isinstance(cause, KeyboardInterrupt) or getattr(cause, "interrupted", False)
        self.finished = finished

    def __reduce__(self) -> Any:
        """It comes back from other processes, too."""
        cause = UserError(self.what, location=self.location, remedy=self.remedy)
        return CutShortError, (KeyboardInterrupt() if self.interrupted else cause, self.finished)
