"""A table with a row for each label, as ``rasa_nlu.evaluate`` and the first versions of Rasa 1 print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.nlu import NOTHING_TO_FIND
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.report.model import EngineInfo, Nlu

_AVERAGES: Final = {"weighted avg": "weighted average"}
_NOTHING_EXPECTED: Final = "no judged sentence has what it found"
_FIGURES: Final = {"precision": "precision", "recall": "recall", "f1-score": "f1", "support": "support"}


def label_tables(nlu: Nlu, engine: EngineInfo | None = None) -> str:
    """Return a table with the figures of each intent, then one for each extractor and each response selector.

    An extractor of the pipeline that could not run has a line that says so in place of its table.
    """
    lines = list(_rows("Each intent", nlu.intents.report)) if nlu.intents else []
    for name, entities in nlu.entities.items():
        title = f"Each entity by {name}, by token"
        none = [f"{text(title)}:", f"  not scored: {NOTHING_TO_FIND}"]
        lines += none if entities.says_nothing else _rows(title, entities.report)
    for substitution in engine.substitutions if engine else ():
        if substitution.used is None and substitution.component.endswith("Extractor"):
            lines += [
                f"Each entity by {text(substitution.component)}, by token:",
                f"  not run: {text(substitution.reason, 400)}",
            ]
    for name, responses in nlu.responses.items():
        lines += _rows(f"Each response by selector {name}", responses.report)
    return "".join(f"{line}\n" for line in lines)


def _rows(title: str, report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{text(title)}:"
    rows = {name: row for name, row in report.items() if isinstance(row, dict) and not name.endswith(" avg")}
    rows |= {shown: report[name] for name, shown in _AVERAGES.items() if isinstance(report.get(name), dict)}
    named = {text(name): row for name, row in rows.items()}
    if not named:
        yield f"  {_NOTHING_EXPECTED}"
        return
    width = max(len(name) for name in named)
    yield "  " + " " * width + "".join(f"{shown:>11}" for shown in _FIGURES.values())
    for name, row in named.items():
        figures = (row.get(key) for key in _FIGURES)
        yield f"  {name:<{width}}" + "".join(f"{_figure(figure):>11}" for figure in figures)


def _figure(figure: Any) -> str:
    return f"{figure:.3f}" if isinstance(figure, float) else str(figure)
