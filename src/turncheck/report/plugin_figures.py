"""The figures of plugins, with all that it takes to compare and judge them later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from turncheck.report.part import Figure, Part

if TYPE_CHECKING:
    from collections.abc import Iterable


Better = Literal["higher", "lower", "neither"]
Kind = Literal["score", "count"]
PluginNoise = Literal["counted", "sentences"]


class PluginFigure(Part, frozen=True, kw_only=True):
    """One figure of a plugin. Whoever compares reports needs no plugin: it says itself how it is to be judged."""

    value: Figure | None
    """What was measured; of sentences the share of true ones. ``None``: there was nothing to measure it on."""
    label: str = ""
    """What it is called in tables; empty: it has no row there."""
    better: Better
    """Whether a larger value is better."""
    kind: Kind
    """A share or score, or a number of things."""
    noise: PluginNoise
    """How a difference is judged: ``counted``: exactly; ``sentences``: by how many sentences changed sides."""
    sentences: tuple[bool | None, ...] = ()
    """If ``noise`` is ``sentences``: whether it is true of each of ``nlu.predictions``; ``null``: not judged."""
    evaluation: str = ""
    """The evaluation that measured it; empty: a metric, computed from the rest of the report."""


def counted(value: float | None, *, better: Better, kind: Kind = "score", label: str = "") -> PluginFigure:
    """Return a figure whose every difference is real, since it covers all there is; ``None``: nothing to measure."""
    return PluginFigure(value=value, better=better, kind=kind, noise="counted", label=label)


def of_sentences(verdicts: Iterable[bool | None], *, better: Better, label: str = "") -> PluginFigure:
    """Return the share of sentences of which something is true. Two runs are compared by those that changed sides.

    Args:
        verdicts: one for each of ``report.nlu.predictions``, in their order; ``None``: not judged.
        better: whether a larger share is better.
        label: what it is called in tables.
    """
    sentences = tuple(verdicts)
    judged = [sentence for sentence in sentences if sentence is not None]
    value = sum(judged) / len(judged) if judged else None
    return PluginFigure(value=value, better=better, kind="score", noise="sentences", sentences=sentences, label=label)
