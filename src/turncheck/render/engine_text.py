"""What an engine runs instead of the assistant's own components, in plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.report.model import EngineInfo, Substitution


def substitution_lines(substitutions: Iterable[Substitution]) -> Iterator[str]:
    """Yield a line for each component that was replaced or left out: by what, and why."""
    for one in substitutions:
        used = f"replaced by {text(one.used)}" if one.used else "left out"
        yield f"{text(one.component)} is {used}: {text(one.reason, 400)}"


def engine_lines(engine: EngineInfo) -> Iterator[str]:
    """Yield the substitutions, and other remarks on the engine."""
    yield from substitution_lines(engine.substitutions)
    for note in engine.notes:
        yield text(note, 400)
