"""Pictures of an evaluation: confusion matrices and histograms of confidence, under the names that Rasa gives them.

Matplotlib draws the histograms; it is only imported to draw.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.plurals import count
from turncheck.render.figures import figure_class
from turncheck.render.matrices import RIGHT, WRONG, Matrix, draw_matrix, report_state
from turncheck.render.rasa_files import active_extractors, file_part
from turncheck.render.rendered import Rendered
from turncheck.report.tags import EXTRACTORS_WITH_CONFIDENCE, NO_ENTITY, read_tokens, token_confidences, token_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.report.model import Confusion, Nlu, Report

_DOTS_PER_INCH: Final = 110
_BINS: Final = 25
_MOST_SUPPORT: Final = 1e9
"""A report that was imported may hold any number."""


def nlu_plots(report: Report) -> Iterator[Rendered]:
    """Draw every picture that ``rasa test nlu`` draws for what was measured, one after the other.

    Nothing is drawn for a report without an NLU section.
    """
    nlu = report.nlu
    if nlu is None:
        return
    state = report_state(report)
    if nlu.intents:
        yield _confusion_matrix(
            "intent", "Intents", matrix_of(nlu.intents.report, nlu.intents.confusions), _how(nlu), state
        )
        judged = [entry for entry in nlu.predictions if entry.expected.intent]
        right = [entry.predicted.confidence for entry in judged if entry.correct]
        wrong = [entry.predicted.confidence for entry in judged if not entry.correct]
        threshold = nlu.understood.threshold if nlu.understood else None
        yield _histogram("intent", "Confidence of intents", right, wrong, state, threshold=threshold)
    for extractor in active_extractors(nlu):
        yield from _extractor_plots(nlu, extractor, state)
    if nlu.response_selection:
        scores = nlu.response_selection
        matrix = matrix_of(scores.report, scores.confusions)
        yield _confusion_matrix("response_selection", "Responses", matrix, _how(nlu), state)
        answered = [entry for entry in nlu.predictions if entry.expected.response]
        right = [
            entry.predicted.response_confidence or 0.0
            for entry in answered
            if entry.predicted.response == entry.expected.response
        ]
        wrong = [
            entry.predicted.response_confidence or 0.0
            for entry in answered
            if entry.predicted.response != entry.expected.response
        ]
        yield _histogram("response_selection", "Confidence of responses", right, wrong, state)


def matrix_of(report: dict[str, Any], confusions: Sequence[Confusion], *, outside: int | None = None) -> Matrix:
    """Build the matrix of a report in Rasa's shape and the confusions beside it.

    Args:
        report: its rows' ``support`` gives what is left for the diagonal.
        confusions: the cells off the diagonal.
        outside: how often ``no_entity`` was expected, which the report of an extractor omits.
    """
    expected = {name: int(row["support"]) for name, row in report.items() if _is_label(row)}
    if outside is not None:
        expected[NO_ENTITY] = outside
    cells = {(one.expected, one.predicted): one.count for one in confusions}
    diagonal = dict(expected)
    for one in confusions:
        diagonal[one.expected] = diagonal.get(one.expected, one.count) - one.count
    cells |= {(label, label): count for label, count in diagonal.items() if count > 0}
    labels = expected.keys() | {label for pair in cells for label in pair}
    return Matrix(tuple(sorted(labels)), cells)


def _is_label(row: Any) -> bool:
    """Only labels have ``confused_with``; averages do not, and the accuracy is a number."""
    if not isinstance(row, dict) or "confused_with" not in row:
        return False
    support = row.get("support")
    return isinstance(support, int | float) and abs(support) <= _MOST_SUPPORT


def _extractor_plots(nlu: Nlu, extractor: str, state: str) -> Iterator[Rendered]:
    scores = nlu.entities[extractor]
    supports = sum(int(row["support"]) for row in scores.report.values() if _is_label(row))
    matrix = matrix_of(scores.report, scores.confusions, outside=scores.tokens - supports)
    name = file_part(extractor)
    yield _confusion_matrix(name, f"Entities of {extractor}, by token", matrix, _how(nlu), state)
    if extractor not in EXTRACTORS_WITH_CONFIDENCE:
        return
    right: list[float] = []
    wrong: list[float] = []
    for prediction in nlu.predictions:
        found = [one for one in prediction.predicted.entities if one.extractor == extractor]
        tokens = read_tokens(prediction.predicted.tokens)
        targets = token_labels(tokens, prediction.expected.entities)
        for target, label, confidence in zip(
            targets, token_labels(tokens, found), token_confidences(tokens, found), strict=True
        ):
            if target == label != NO_ENTITY:
                right.append(confidence)
            elif label not in (NO_ENTITY, target):
                wrong.append(confidence)
    yield _histogram(name, f"Confidence of {extractor}, by token", right, wrong, state)


def _confusion_matrix(name: str, title: str, matrix: Matrix, how: str, state: str) -> Rendered:
    heading = (f"{title}: expected (rows) against predicted (columns)", f"blue is right, red is wrong; {how}", state)
    return Rendered(f"{name}_confusion_matrix.png", "image/png", draw_matrix(matrix, heading).png)


def _how(nlu: Nlu) -> str:
    return f"cross-validation, {count(nlu.folds, 'fold')}" if nlu.folds else "held-out sentences"


def _histogram(
    name: str, title: str, right: Sequence[float], wrong: Sequence[float], state: str, *, threshold: float | None = None
) -> Rendered:
    """Correct above, wrong below, each to its own scale, since the wrong ones are (hopefully) few."""
    figure = figure_class()(figsize=(7, 5), dpi=_DOTS_PER_INCH)
    above, below = figure.subplots(2, 1, sharex=True)
    edges = [step / _BINS for step in range(_BINS + 1)]
    for axes, values, colour, word in ((above, right, RIGHT, "right"), (below, wrong, WRONG, "wrong")):
        axes.hist([min(max(value, 0.0), 1.0) for value in values], bins=edges, color=colour, edgecolor="white")
        axes.set_ylabel(f"{word}: {len(values)}")
        axes.yaxis.get_major_locator().set_params(integer=True)
        if threshold is not None:
            axes.axvline(threshold, color="black", linestyle="--", linewidth=1)
    if threshold is not None:
        above.text(threshold, above.get_ylim()[1], f" fallback below {threshold:g}", va="top", fontsize=8)
    below.invert_yaxis()
    below.set_xlim(0, 1)
    below.set_xlabel("confidence")
    above.set_title(f"{title}\nright above in blue, wrong below in red\n{state}", fontsize=10, loc="left")
    return Rendered(f"{name}_histogram.png", "image/png", _png(figure))


def _png(figure: Any) -> bytes:
    return _saved(figure, "png", {"Software": None})


def _saved(figure: Any, kind: str, metadata: dict[str, None]) -> bytes:
    """Save without date and version: the same figures give the same bytes."""
    from matplotlib.text import Text  # only imported to draw

    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a label such as "$price$" is not a formula
    content = BytesIO()
    with _boxes_for_missing_letters():
        figure.savefig(content, format=kind, bbox_inches="tight", metadata=metadata)
    return content.getvalue()


@contextmanager
def _boxes_for_missing_letters() -> Iterator[None]:
    """The bundled font lacks some scripts, such as Chinese: their letters become boxes, without a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield
