"""What metrics and evaluations of plugins measure in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, structs

from turncheck.messages.errors import UserError
from turncheck.registry import Registry, blamed_on_plugin
from turncheck.report.plugin_figures import PluginFigure

if TYPE_CHECKING:
    from turncheck.engines.base import Engine
    from turncheck.project.model import Project
    from turncheck.report.model import Report
    from turncheck.run.reading import Tests
    from turncheck.settings.options import Settings


class Subject(Struct, frozen=True):
    """What an evaluation measures: the project and its tests, with the engine that understands and answers."""

    project: Project
    tests: Tests
    engine: Engine
    settings: Settings


METRICS: Final[Registry[Callable[[Report], PluginFigure]]] = Registry("turncheck.metrics", {}, Callable)  # type: ignore[arg-type]
"""Figures computed from a finished report: :func:`counted` or :func:`of_sentences` makes one, and says how noise is
judged."""
EVALUATIONS: Final[Registry[Callable[[Subject], Mapping[str, PluginFigure]]]] = Registry(
    "turncheck.evaluations",
    {},
    Callable,  # type: ignore[arg-type]
)
"""Figures by name that need the engine or the project. Our own evaluations have sections of their own in the report."""


def evaluate_by_plugins(subject: Subject) -> dict[str, PluginFigure]:
    """Run the evaluations of the plugins in use, unless others are named.

    Raises:
        UserError: one of them failed.
    """
    figures: dict[str, PluginFigure] = {}
    asked = subject.settings.evaluations
    for name, evaluate in EVALUATIONS.added().items():
        if asked and name not in asked:
            continue
        with blamed_on_plugin(f"evaluation '{name}'"):
            found = dict(evaluate(subject))
        for metric, figure in found.items():
            whole = f"plugin.{name}.{metric}"
            figures[whole] = structs.replace(_figure(whole, figure), evaluation=name)
    return figures


def with_metrics_of_plugins(report: Report, measured: Mapping[str, PluginFigure]) -> Report:
    """Return the report with what evaluations ``measured``, and what the metrics of the plugins in use say of it.

    Raises:
        UserError: one of them failed.
    """
    figures = dict(measured)
    for name, measure in METRICS.added().items():
        with blamed_on_plugin(f"metric '{name}'"):
            figure = measure(report)
        figures[f"plugin.{name}"] = _figure(f"plugin.{name}", figure)
    for name, figure in figures.items():
        sentences = len(report.nlu.predictions) if report.nlu else 0
        if figure.noise == "sentences" and len(figure.sentences) != sentences:
            raise UserError(
                f"the plugin's metric '{name}' judges {len(figure.sentences)} sentences; the report has {sentences}",
                hint="It needs one verdict for each of report.nlu.predictions.",
            )
    return structs.replace(report, metrics=figures) if figures else report


def _figure(name: str, figure: Any) -> PluginFigure:
    if not isinstance(figure, PluginFigure):
        raise UserError(
            f"the plugin's metric '{name}' is of the type {type(figure).__name__}",
            hint="Make it with turncheck.plugins.counted() or of_sentences().",
        )
    return figure
