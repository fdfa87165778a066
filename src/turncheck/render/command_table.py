"""How well each kind of command is predicted, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UnsetType

from turncheck.messages.phrasing import count
from turncheck.render.spans import BUILT, Code, Column, NeutralSection, Row, Section, line
from turncheck.render.wording.figures import figure

if TYPE_CHECKING:
    from turncheck.report.commands import CommandCounts
    from turncheck.report.model import Report

_NAMES: Final = ("TP", "FP", "FN", "precision", "recall", "F1")
_LONGEST: Final = 80


def command_table(report: Report) -> NeutralSection:
    """Return a row for each kind of command of dialogue understanding tests, the weakest first."""
    found = report.e2e.commands if report.e2e else ()
    counted = () if isinstance(found, UnsetType) else found
    weakest = sorted(counted, key=lambda one: 1.0 if one.f1 is None else one.f1)
    columns = (Column("command"), *(Column(name, "right") for name in _NAMES))
    title = f"Commands ({count(len(weakest), 'kind')})"
    return Section("commands", title, tuple(map(_row, weakest[:BUILT])), len(weakest), 0, columns)


def _row(counts: CommandCounts) -> Row:
    scores = ("–" if one is None else figure(one, "score") for one in (counts.precision, counts.recall, counts.f1))
    numbers = (f"{number:,}" for number in (counts.tp, counts.fp, counts.fn))
    return Row((line(Code(counts.command, _LONGEST)), *map(line, numbers), *map(line, scores)))
