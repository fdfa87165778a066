"""Pictures of an evaluation: confusion matrices and histograms of confidence, under the names that Rasa gives them.

Matplotlib draws the histograms; it is only imported to draw.
"""

from __future__ import annotations

import logging
import math
import os
import struct
import warnings
import zlib
from collections import Counter
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.messages.phrasing import count as counted
from turncheck.render.phrases import how_judged
from turncheck.render.rasa_files import active_extractors, file_part
from turncheck.render.rendered import Rendered
from turncheck.report import understanding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.figure import Figure
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

    from turncheck.report.model import Confusion, Core, Nlu, PolicyEntities, Report


# Confusion matrices as pictures, drawn by Pillow: matplotlib takes longer to start than stories to test.
#
# Correct is blue and wrong is vermilion (Okabe and Ito's palette, which colour-blind people can distinguish), and a
# wrong cell is never recognised only by its colour: it is off the diagonal and shows its number.

RIGHT: Final = "#0072B2"
WRONG: Final = "#D55E00"

_GRID: Final = "#e0e0e0"
_CELL: Final = 36
_MARGIN: Final = 16
_SIZE: Final = 15
_LINE: Final = 21
_LARGEST_SIDE: Final = 12_000
_BAND: Final = 512
"""Number of pixel rows that are drawn at once."""
_DARK: Final = 0.75
_LONGEST_LABEL: Final = 40
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


class Picture(Struct, frozen=True):
    """A picture, as PNG and PDF both hold it: a zero before each line (no filter), compressed."""

    width: int
    height: int
    lines: bytes

    @property
    def png(self) -> bytes:
        """A PNG file of eight bits per colour (ISO/IEC 15948)."""
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        parts = _chunk(b"IHDR", header) + _chunk(b"IDAT", self.lines) + _chunk(b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + parts

    @property
    def pdf(self) -> bytes:
        """A PDF page of the picture's size: PDF reads the compressed lines of a PNG (PDF 1.7, 7.4.4.4)."""
        return _pdf(self.lines, self.width, self.height)


def draw_matrix(matrix: Matrix, title: Sequence[str]) -> Picture:
    """Draw a matrix below the lines of its title; the larger a cell's share of its row, the darker it is.

    It is drawn in bands: a large one at once would take more memory than the evaluation itself.
    """
    drawing = _Drawing.of(matrix, title)
    packer = zlib.compressobj(3)
    packed = []
    for upper in range(0, drawing.height, _BAND):
        pixels = drawing.band(upper, min(_BAND, drawing.height - upper)).tobytes()
        length = 3 * drawing.width
        lines = b"".join(b"\0" + pixels[at : at + length] for at in range(0, len(pixels), length))
        packed.append(packer.compress(lines))
    return Picture(drawing.width, drawing.height, b"".join((*packed, packer.flush())))


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
        font = _font()
        names = [shown_label(label) for label in matrix.labels]
        room = math.ceil(max(font.getlength(name) for name in names)) + 2 * _MARGIN
        behind = room if len(names) > _MANY_LABELS else _MARGIN
        top = len(title) * _LINE + _MARGIN + room
        cell = max(1, min(_CELL, (_LARGEST_SIDE - top - behind) // len(names)))
        side = cell * len(names)
        widest = math.ceil(max(font.getlength(line) for line in title))
        of_row: Counter[str] = Counter()
        for (expected, _), examples in matrix.cells.items():
            of_row[expected] += examples
        width = max(room + side + behind, widest + 2 * _MARGIN)
        return cls(matrix, title, names, of_row, room, behind, top, cell, width, top + side + behind)

    def band(self, upper: int, height: int) -> Image:
        """Draw the picture's lines from ``upper`` on."""
        from PIL import Image, ImageDraw  # only imported to draw

        font = _font()
        image = Image.new("RGB", (self.width, height), "white")
        draw = ImageDraw.Draw(image)
        top = self.top - upper
        side = self.cell * len(self.names)
        on_all_sides = len(self.names) > _MANY_LABELS
        for number, line in enumerate(self.title):
            draw.text((_MARGIN, _MARGIN + number * _LINE - upper), line, font=font, fill="black")
        for number, name in enumerate(self.names):
            middle = number * self.cell + self.cell // 2
            if -_LINE < top + middle < height + _LINE:
                draw.text((self.room - _MARGIN // 2, top + middle), name, font=font, fill="black", anchor="rm")
                if on_all_sides:
                    place = (self.room + side + _MARGIN // 2, top + middle)
                    draw.text(place, name, font=font, fill="black", anchor="lm")
            if top > 0 or (on_all_sides and top + side < height):
                upright = _upright(name, font)
                left = self.room + middle - upright.width // 2
                image.paste(upright, (left, top - _MARGIN // 2 - upright.height))
                if on_all_sides:
                    image.paste(upright, (left, top + side + _MARGIN // 2))
        self._fill(draw, top, height)
        for edge in range(0, side + 1, self.cell):
            draw.line([(self.room, top + edge), (self.room + side, top + edge)], fill=_GRID)
            draw.line([(self.room + edge, top), (self.room + edge, top + side)], fill=_GRID)
        return image

    def _fill(self, draw: ImageDraw, top: int, height: int) -> None:
        """Fill each cell of a band and write its count."""
        font = _font()
        place = {label: number for number, label in enumerate(self.matrix.labels)}
        for (expected, predicted), examples in sorted(self.matrix.cells.items()):
            left, upper = self.room + place[predicted] * self.cell, top + place[expected] * self.cell
            if examples == 0 or not -self.cell - _LINE < upper < height + _LINE:
                continue
            strength = 0.3 + 0.7 * examples / self.of_row[expected]
            colour = _mixed(RIGHT if expected == predicted else WRONG, strength)
            draw.rectangle([(left, upper), (left + self.cell, upper + self.cell)], fill=colour)
            ink = "white" if strength > _DARK else "black"
            middle = (left + self.cell // 2, upper + self.cell // 2)
            draw.text(middle, str(examples), font=font, fill=ink, anchor="mm")


def _mixed(colour: str, strength: float) -> tuple[int, ...]:
    """Mix a colour (``#rrggbb``) with white."""
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return tuple(round(255 - strength * (255 - part)) for part in parts)


def _upright(name: str, font: FreeTypeFont) -> Image:
    """Return a label that reads upwards."""
    from PIL import Image, ImageDraw  # only imported to draw

    label = Image.new("RGB", (math.ceil(font.getlength(name)), _LINE), "white")
    ImageDraw.Draw(label).text((0, _LINE // 2), name, font=font, fill="black", anchor="lm")
    return label.transpose(Image.Transpose.ROTATE_90)


@cache
def _font() -> FreeTypeFont:
    """Return DejaVu Sans, which comes with matplotlib; matplotlib itself is not imported."""
    from PIL import ImageFont  # only imported to draw

    found = find_spec("matplotlib")
    if found is None or not found.submodule_search_locations:
        raise UserError("there is no font to draw with: matplotlib is not installed", hint="Use --no-plot.")
    folder = Path(found.submodule_search_locations[0])
    return ImageFont.truetype(str(folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"), _SIZE)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _pdf(lines: bytes, width: int, height: int) -> bytes:
    """Put a picture on a PDF page of its size: PDF reads the compressed lines of a PNG (PDF 1.7, 7.4.4.4)."""
    page = f"q {width} 0 0 {height} 0 0 cm /Picture Do Q".encode()
    parts = f"/Predictor 15 /Colors 3 /BitsPerComponent 8 /Columns {width}"
    picture = (
        f"<< /Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceRGB /BitsPerComponent 8"
        f" /Filter /FlateDecode /DecodeParms << {parts} >> /Length {len(lines)} >>"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 4 0 R"
        " /Resources << /XObject << /Picture 5 0 R >> >> >>".encode(),
        f"<< /Length {len(page)} >>\nstream\n".encode() + page + b"\nendstream",
        f"{picture}\nstream\n".encode() + lines + b"\nendstream",
    ]
    content = bytearray(b"%PDF-1.7\n")
    places = []
    for number, one in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n".encode() + one + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    begin = len(content)
    content += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n".encode()
    content += f"startxref\n{begin}\n%%EOF\n".encode()
    return bytes(content)


def shown_label(label: str) -> str:
    """A label on one line: control characters are replaced, the middle of a long one is omitted."""
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in label) or '""'
    if len(text) <= _LONGEST_LABEL:
        return text
    half = (_LONGEST_LABEL - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def report_state(report: Report) -> str:
    """The project, and its commit if known."""
    commit = f" at commit {shown_label(report.source.commit[:12])}" if report.source.commit else ""
    return f"{shown_label(report.project.name)}{commit}"


# matplotlib with its own defaults, whatever the machine or the current folder configures.

_BACKEND: Final = "MPLBACKEND"
"""Which backend to draw with; an unknown one ends the import."""


@cache
def figure_class() -> type[Figure]:
    """Return matplotlib's Figure, with matplotlib's own settings.

    Imported without this, it reads a ``matplotlibrc`` of the current folder before any other. On a pull request anybody
    may have written that file, and ``text.usetex`` in it has matplotlib run LaTeX on what is drawn.
    """
    backend = os.environ.pop(_BACKEND, None)
    try:
        with _in_its_own_folder(), _without_words_about_its_cache():
            from matplotlib.figure import Figure  # only imported to draw
    finally:
        if backend is not None:
            os.environ[_BACKEND] = backend
    return Figure


@contextmanager
def _in_its_own_folder() -> Iterator[None]:
    """Change to the folder of matplotlib's own ``matplotlibrc``: there is no other way to make it read that."""
    found = find_spec("matplotlib")
    if found is None or not found.submodule_search_locations:
        yield
        return
    here = os.open(".", os.O_RDONLY)
    os.chdir(Path(found.submodule_search_locations[0]) / "mpl-data")
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)


@contextmanager
def _without_words_about_its_cache() -> Iterator[None]:
    """Where the home folder cannot be written to, it lists fonts elsewhere, and recommends a variable of its own."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


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
        expected[understanding.NO_ENTITY] = outside
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
    if extractor not in understanding.EXTRACTORS_WITH_CONFIDENCE:
        return
    right: list[float] = []
    wrong: list[float] = []
    for prediction in nlu.predictions:
        entity_spans = [entity for entity in prediction.predicted.entities if entity.extractor == extractor]
        tokens = understanding.read_tokens(prediction.predicted.tokens)
        targets = understanding.token_labels(tokens, prediction.expected.entities)
        for target, label, confidence in zip(
            targets,
            understanding.token_labels(tokens, entity_spans),
            understanding.token_confidences(tokens, entity_spans),
            strict=True,
        ):
            if target == label != understanding.NO_ENTITY:
                right.append(confidence)
            elif label not in (understanding.NO_ENTITY, target):
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
    """Correct above, wrong below, each to its own scale, since the wrong ones are (hopefully) few."""
    figure = figure_class()(figsize=(7, 5), dpi=_DOTS_PER_INCH)
    above, below = figure.subplots(2, 1, sharex=True)
    edges = [step / _BINS for step in range(_BINS + 1)]
    for axes, values, colour, word in ((above, right, RIGHT, "right"), (below, wrong, WRONG, "wrong")):
        axes.hist([min(max(value, 0.0), 1.0) for value in values], bins=edges, color=colour, edgecolor="white")
        axes.set_ylabel(f"{word}: {len(values)}")
        axes.yaxis.get_major_locator().set_params(integer=True)
        if not values:
            axes.set_ylim(0, 1)  # else it would be an axis around zero
        if threshold is not None:
            axes.axvline(threshold, color="black", linestyle="--", linewidth=1)
    if threshold is not None:
        above.text(threshold, above.get_ylim()[1], f" fallback below {threshold:g}", va="top", fontsize=8)
    below.invert_yaxis()
    below.set_xlim(0, 1)
    below.set_xlabel("confidence")
    above.set_title(f"{title}\nright above in blue, wrong below in red\n{state}", fontsize=10, loc="left")
    return Rendered(f"{name}_histogram.png", "image/png", _png(figure))


def bars(name: str, title: str, counts: Mapping[str, int]) -> Rendered:
    """Draw a bar for each name, the highest first; the file's ending says whether as PNG or as PDF."""
    figure = figure_class()(figsize=(7, 1 + 0.4 * len(counts)), dpi=_DOTS_PER_INCH)
    axes = figure.subplots()
    ordered = sorted(counts.items(), key=lambda pair: (pair[1], pair[0]))
    axes.barh([shown_label(label) for label, _ in ordered], [number for _, number in ordered], color=RIGHT)
    axes.locator_params(axis="x", integer=True)
    axes.set_title(title, fontsize=10, loc="left")
    if name.endswith(".pdf"):
        return Rendered(name, "application/pdf", _saved(figure, "pdf", {"CreationDate": None, "Producer": None}))
    return Rendered(name, "image/png", _png(figure))


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
