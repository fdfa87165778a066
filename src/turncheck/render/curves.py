"""What a comparison of pipelines or policies writes: Rasa's ``results.json``, the figures, and the curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.render.plots import figure_class, saved
from turncheck.render.rasa_files import as_json
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CURVE_NAME: Final = "nlu_model_comparison_graph"

_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette; with more pipelines the markers distinguish them."""

_MARKS: Final = "osD^vPX*"


class CurvePoint(Struct, frozen=True):
    """A score's mean and spread over the runs, at one size of the training data (sentences, or story steps)."""

    sentences: int
    mean: float
    deviation: float


def results_json(scores: Mapping[str, Sequence[Sequence[float]]]) -> Rendered:
    """Return Rasa's file: for each pipeline, for each run, the weighted F1 at each percentage."""
    return as_json("results.json", {name: [list(run) for run in runs] for name, runs in scores.items()})


def figures_json(figures: Mapping[str, Any]) -> Rendered:
    """Return what Rasa's file has no place for: seeds, sizes, tests, slopes."""
    return as_json("nlu_comparison.json", dict(figures))


class CurveTexts(Struct, frozen=True):
    """A curve: the name of its files, its axes and its title."""

    name: str = CURVE_NAME
    x: str = "training sentences"
    y: str = "weighted F1 of intents on the test sentences"
    title: str = "Pipelines compared: mean and standard deviation over the runs"


NLU_CURVE: Final = CurveTexts()
CORE_CURVE: Final = CurveTexts(
    "core_model_comparison_graph",
    "story and rule steps trained on",
    "test stories that are right",
    "Policies compared: mean and standard deviation over the runs",
)


def draw_curves(curves: Mapping[str, Sequence[CurvePoint]], texts: CurveTexts = NLU_CURVE) -> list[Rendered]:
    """Draw the mean score with its spread over the size of the training data, as PDF (Rasa's name) and PNG."""
    figure = figure_class()(figsize=(7.5, 5), dpi=110)
    axes = figure.add_subplot()
    for number, (name, points) in enumerate(curves.items()):
        axes.errorbar(
            [point.sentences for point in points],
            [point.mean for point in points],
            yerr=[point.deviation for point in points],
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKS[number % len(_MARKS)],
            capsize=3,
            label=text(name, 40).lstrip("_"),
        )
    axes.set_xlabel(texts.x)
    axes.set_ylabel(texts.y)
    axes.set_title(texts.title, fontsize=10, loc="left")
    axes.grid(color="#e0e0e0", linewidth=0.5)
    axes.legend()
    return [
        Rendered(f"{texts.name}.pdf", "application/pdf", saved(figure, "pdf")),
        Rendered(f"{texts.name}.png", "image/png", saved(figure, "png")),
    ]
