"""The base as it is asked in turn with this side: it runs already, or is started when a test is first run there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from turncheck.messages.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

Asked = TypeVar("Asked")
Other = TypeVar("Other")


@dataclass(eq=False)
class BaseRunner(Generic[Asked]):
    """What is asked on the base: ``open`` returns it.

    ``has_report``: whether there is a report of the base. Then a test that it lacks is not run there: the base lacks
    what the test is about, and fails for that alone. ``shares``: whether a run of a test, by its answer, used what both
    sides have in common (the action server of this change): what it breaks there fails on the base as well.
    """

    open: Callable[[], Asked]
    has_report: Callable[[], bool] = lambda: False
    shares: Callable[[Any], bool] = lambda _: False
    _opened: list[Asked] = field(default_factory=list, init=False)
    _lost: EngineError | None = field(default=None, init=False)

    @property
    def engine(self) -> Asked:
        """Return it, opened when it is first asked for; what fails is not tried again.

        Raises:
            EngineError: it cannot be opened.
        """
        if self._lost is not None:
            raise self._lost
        if not self._opened:
            try:
                self._opened.append(self.open())
            except EngineError as error:
                self._lost = error
                raise
        return self._opened[0]

    def then(self, ask: Callable[[Asked], Other]) -> BaseRunner[Other]:
        """Return what ``ask`` makes of it, as it is when it is first asked for."""
        return BaseRunner(lambda: ask(self.engine), self.has_report, self.shares)
