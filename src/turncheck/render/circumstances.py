"""What is below a wrong step of a story: where it is, what else was considered, slots and active loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import StoryStep

_LONGEST: Final = 120
_LONGEST_VALUE: Final = 40


class Shown(Protocol):
    """Fits text into the place where it is shown: one line, at most this many characters."""

    def __call__(self, value: str, limit: int, /) -> str:
        """Return the text."""


def circumstances(step: StoryStep, shown: Shown) -> Iterator[str]:
    """Yield a line for each thing that is known about the point where a prediction went wrong."""

    def short(value: str) -> str:
        return shown(value, _LONGEST)

    if step.location:
        yield f"at {short(str(step.location))}"
    if step.alternatives:
        others = (f"{short(other.action)} {other.confidence:.2f}" for other in step.alternatives)
        yield f"also considered: {', '.join(others)}"
    if step.slots:
        values = (f"{short(name)}={shown(repr(value), _LONGEST_VALUE)}" for name, value in step.slots.items())
        yield f"slots: {', '.join(values)}"
    if step.active_loop:
        yield f"active loop: {short(step.active_loop)}"
    if step.text:
        yield f"said: {short(step.text)}"
