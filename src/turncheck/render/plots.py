"""Pictures of an evaluation: confusion matrices and histograms of confidence, under the names that Rasa gives them.

What is drawn by `bars` and elsewhere as a curve is matplotlib's, which is imported for that alone.
"""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from turncheck.messages.phrasing import count
from turncheck.messages.phrasing import count as counted
from turncheck.render import pictures
from turncheck.render.phrases import how_judged
from turncheck.render.pictures import Histogram
from turncheck.render.rasa_files import active_extractors, file_part
from turncheck.render.rendered import Rendered
from turncheck.report.entities import (
    EXTRACTORS_WITH_CONFIDENCE,
    NO_ENTITY,
    read_tokens,
    token_confidences,
    token_labels,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.figure import Figure
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

    from turncheck.render.pictures import Picture
    from turncheck.report.model import Confusion, Core, Nlu, PolicyEntities, Report


# Confusion matrices: a wrong cell is never recognised only by its colour, as it is off the diagonal and shows its
# number.

_GRID: Final = "#e0e0e0"
_CELL: Final = 36
_LARGEST_SIDE: Final = 12_000
_BAND: Final = 512
"""Number of pixel rows that are drawn at once."""
_DARK: Final = 0.75
_MANY_LABELS: Final = 40
"""From this size on the labels are on all four sides, since nobody can follow a row that far."""


class Matrix(Struct, frozen=True):
    """Counts of (expected, predicted) over sorted labels; ``cells`` holds those that are not zero."""

    labels: tuple[str, ...]
    cells: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, cells: Mapping[tuple[str, str], int]) -> Matrix:
        """The matrix of all labels that were expected or predicted."""
        return cls(tuple(sorted({label for pair in cells for label in pair})), cells)


def draw_matrix(matrix: Matrix, title: Sequence[str]) -> Picture:
    """Draw a matrix below the lines of its title; the larger a cell's share of its row, the darker it is.

    It is drawn in bands: a large one at once would take more memory than the evaluation itself.
    """
    drawing = _Drawing.of(matrix, title)
    bands = (drawing.band(upper, min(_BAND, drawing.height - upper)) for upper in range(0, drawing.height, _BAND))
    return pictures.packed(drawing.width, drawing.height, bands)


class _Drawing(Struct, frozen=True):
    """The layout of a matrix's picture, in pixels.

    ``names`` are the labels as they are shown, ``room`` is what they need, ``behind`` what is beyond the cells,
    ``top`` where the cells begin, ``of_row`` the sum of each row.
    """

    matrix: Matrix
    title: Sequence[str]
    names: Sequence[str]
    of_row: Mapping[str, int]
    room: int
    behind: int
    top: int
    cell: int
    width: int
    height: int

    @classmethod
    def of(cls, matrix: Matrix, title: Sequence[str]) -> _Drawing:
        """Measure the labels and lay out the picture."""
        font = pictures.font()
        names = [pictures.shown_label(label) for label in matrix.labels]
        room = math.ceil(max(font.getlength(name) for name in names)) + 2 * pictures.MARGIN
        behind = room if len(names) > _MANY_LABELS else pictures.MARGIN
        top = len(title) * pictures.LINE + pictures.MARGIN + room
        cell = max(1, min(_CELL, (_LARGEST_SIDE - top - behind) // len(names)))
        side = cell * len(names)
        widest = math.ceil(max(font.getlength(line) for line in title))
        of_row: Counter[str] = Counter()
        for (expected, _), examples in matrix.cells.items():
            of_row[expected] += examples
        width = max(room + side + behind, widest + 2 * pictures.MARGIN)
        return cls(matrix, title, names, of_row, room, behind, top, cell, width, top + side + behind)

    def band(self, upper: int, height: int) -> Image:
        """Draw the picture's lines from ``upper`` on."""
        from PIL import Image, ImageDraw  # only imported to draw

        font = pictures.font()
        image = Image.new("RGB", (self.width, height), "white")
        draw = ImageDraw.Draw(image)
        top = self.top - upper
        side = self.cell * len(self.names)
        on_all_sides = len(self.names) > _MANY_LABELS
        for number, line in enumerate(self.title):
            draw.text(
                (pictures.MARGIN, pictures.MARGIN + number * pictures.LINE - upper), line, font=font, fill="black"
            )
        for number, name in enumerate(self.names):
            middle = number * self.cell + self.cell // 2
            if -pictures.LINE < top + middle < height + pictures.LINE:
                draw.text((self.room - pictures.MARGIN // 2, top + middle), name, font=font, fill="black", anchor="rm")
                if on_all_sides:
                    place = (self.room + side + pictures.MARGIN // 2, top + middle)
                    draw.text(place, name, font=font, fill="black", anchor="lm")
            if top > 0 or (on_all_sides and top + side < height):
                upright = pictures.upright(name)
                left = self.room + middle - upright.width // 2
                image.paste(upright, (left, top - pictures.MARGIN // 2 - upright.height))
                if on_all_sides:
                    image.paste(upright, (left, top + side + pictures.MARGIN // 2))
        self._fill(draw, top, height)
        for edge in range(0, side + 1, self.cell):
            draw.line([(self.room, top + edge), (self.room + side, top + edge)], fill=_GRID)
            draw.line([(self.room + edge, top), (self.room + edge, top + side)], fill=_GRID)
        return image

    def _fill(self, draw: ImageDraw, top: int, height: int) -> None:
        """Fill each cell of a band and write its count."""
        font = pictures.font()
        place = {label: number for number, label in enumerate(self.matrix.labels)}
        for (expected, predicted), examples in sorted(self.matrix.cells.items()):
            left, upper = self.room + place[predicted] * self.cell, top + place[expected] * self.cell
            if examples == 0 or not -self.cell - pictures.LINE < upper < height + pictures.LINE:
                continue
            strength = 0.3 + 0.7 * examples / self.of_row[expected]
            colour = _mixed(pictures.RIGHT if expected == predicted else pictures.WRONG, strength)
            draw.rectangle([(left, upper), (left + self.cell, upper + self.cell)], fill=colour)
            ink = "white" if strength > _DARK else "black"
            middle = (left + self.cell // 2, upper + self.cell // 2)
            draw.text(middle, str(examples), font=font, fill=ink, anchor="mm")


def _mixed(colour: str, strength: float) -> tuple[int, ...]:
    """Mix a colour (``#rrggbb``) with white."""
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return tuple(round(255 - strength * (255 - part)) for part in parts)


def report_state(report: Report) -> str:
    """The project, and its commit if known."""
    commit = f" at commit {pictures.shown_label(report.source.commit[:12])}" if report.source.commit else ""
    return f"{pictures.shown_label(report.project.name)}{commit}"


# matplotlib with its own defaults, whatever the machine or the current folder configures.

_BACKEND: Final = "MPLBACKEND"
"""Which backend to draw with; an unknown one ends the import."""
_DATE: Final = "SOURCE_DATE_EPOCH"
"""The date of a PDF, which ours have not; one that is not a number would end the drawing."""


@cache
def figure_class() -> type[Figure]:
    """Return matplotlib's Figure, with matplotlib's own settings.

    Imported without this, it reads a ``matplotlibrc`` of the current folder before any other. On a pull request anybody
    may have written that file, and ``text.usetex`` in it has matplotlib run LaTeX on what is drawn.
    """
    with _without(_BACKEND), _in_its_own_folder(), _without_words_about_its_cache():
        from matplotlib.figure import Figure  # only imported to draw
    return Figure


@contextmanager
def _without(variable: str) -> Iterator[None]:
    said = os.environ.pop(variable, None)
    try:
        yield
    finally:
        if said is not None:
            os.environ[variable] = said


@contextmanager
def _in_its_own_folder() -> Iterator[None]:
    """Change to the folder of matplotlib's own ``matplotlibrc``: there is no other way to make it read that."""
    found = find_spec("matplotlib")
    if found is None or not found.submodule_search_locations:
        yield
        return
    here = os.open(".", os.O_RDONLY) if hasattr(os, "fchdir") else os.getcwd()  # noqa: PTH109 - which may be gone
    os.chdir(Path(found.submodule_search_locations[0]) / "mpl-data")
    try:
        yield
    finally:
        os.chdir(here)
        if isinstance(here, int):
            os.close(here)


@contextmanager
def _without_words_about_its_cache() -> Iterator[None]:
    """Where the home folder cannot be written to, it lists fonts elsewhere, and recommends a variable of its own."""
    import logging  # as matplotlib, only where curves are drawn

    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


_DOTS_PER_INCH: Final = 110
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
        judged = [entry for entry in nlu.predictions if entry.is_judged]
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
    for confusion in confusions:
        diagonal[confusion.expected] = diagonal.get(confusion.expected, confusion.count) - confusion.count
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
        entity_spans = [entity for entity in prediction.predicted.entities if entity.extractor == extractor]
        tokens = read_tokens(prediction.predicted.tokens)
        targets = token_labels(tokens, prediction.expected.entities)
        for target, label, confidence in zip(
            targets,
            token_labels(tokens, entity_spans),
            token_confidences(tokens, entity_spans),
            strict=True,
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
    return f"{count(nlu.examples, 'sentence')}, {how_judged(nlu)}"


def _histogram(
    name: str, title: str, right: Sequence[float], wrong: Sequence[float], state: str, *, threshold: float | None = None
) -> Rendered:
    heading = (title, "right above in blue, wrong below in red", state)
    return Rendered(f"{name}_histogram.png", "image/png", Histogram.of(heading, right, wrong, threshold).drawn().png)


def bars(name: str, title: str, counts: Mapping[str, int]) -> Rendered:
    """Draw a bar for each name, the highest first; the file's ending says whether as PNG or as PDF."""
    figure = figure_class()(figsize=(7, 1 + 0.4 * len(counts)), dpi=_DOTS_PER_INCH)
    axes = figure.subplots()
    ordered = sorted(counts.items(), key=lambda pair: (pair[1], pair[0]))
    axes.barh(
        [pictures.shown_label(label) for label, _ in ordered], [number for _, number in ordered], color=pictures.RIGHT
    )
    axes.locator_params(axis="x", integer=True)
    axes.set_title(title, fontsize=10, loc="left")
    if name.endswith(".pdf"):
        return Rendered(name, "application/pdf", saved(figure, "pdf"))
    return Rendered(name, "image/png", saved(figure, "png"))


def saved(figure: Any, kind: Literal["pdf", "png"]) -> bytes:
    """Save a figure of matplotlib without date and version: the same figures give the same bytes."""
    from matplotlib.text import Text  # only imported to draw

    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a label such as "$price$" is not a formula
    content = BytesIO()
    metadata = {"CreationDate": None, "Producer": None} if kind == "pdf" else {"Software": None}
    with _boxes_for_missing_letters(), _without(_DATE):
        figure.savefig(content, format=kind, bbox_inches="tight", metadata=metadata)
    return content.getvalue()


@contextmanager
def _boxes_for_missing_letters() -> Iterator[None]:
    """The bundled font lacks some scripts, such as Chinese: their letters become boxes, without a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


# Pictures of the stories: the confusion matrix of actions, and that of the entities that policies found.

_MATRIX: Final = "story_confusion_matrix.png"
_DOCUMENTED: Final = "story_confmat.pdf"
_NAMES: Final = {0: (_DOCUMENTED,), 1: (_DOCUMENTED,), 2: (_MATRIX,), 3: (_MATRIX, _DOCUMENTED)}
"""What each major version of Rasa calls the matrix; that of Rasa 3 also under the name in its documentation."""


def story_plots(report: Report, major: int = 3) -> Iterator[Rendered]:
    """Draw the confusion matrix of actions, under the name that a major version of Rasa gives it.

    Nothing is drawn for a report without a core section.
    """
    if report.core is None:
        return
    cells = action_cells(report.core)
    if not cells:
        return
    judged = sum(not story.duplicate for story in report.core.stories)
    title = (
        "Actions: expected (rows) against predicted (columns)",
        f"blue is right, red is wrong; {judged} test stories",
        report_state(report),
    )
    picture = draw_matrix(Matrix.of(cells), title)
    if _MATRIX in _NAMES[major]:
        yield Rendered(_MATRIX, "image/png", picture.png)
    if _DOCUMENTED in _NAMES[major]:
        yield Rendered(_DOCUMENTED, "application/pdf", picture.pdf)
    if report.core.policy_entities is not None and _MATRIX in _NAMES[major]:
        yield from _policy_entities(report, report.core.policy_entities)


def _policy_entities(report: Report, policy_entities: PolicyEntities) -> Iterator[Rendered]:
    cells = Counter({(pair.expected, pair.predicted): pair.count for pair in policy_entities.labels})
    if not cells:
        return
    title = (
        "Entities by policies: expected (rows) against predicted (columns)",
        f"blue is right, red is wrong; {counted(sum(cells.values()), 'word')}",
        report_state(report),
    )
    yield Rendered("TEDPolicy_confusion_matrix.png", "image/png", draw_matrix(Matrix.of(cells), title).png)


def action_cells(core: Core) -> Counter[tuple[str, str]]:
    """Count how often each action was expected and each predicted."""
    judged = [story for story in core.stories if not story.duplicate]
    return Counter((step.expected, step.predicted) for story in judged for step in story.steps if step.kind == "action")
