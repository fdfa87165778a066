"""Confusion matrices as pictures, drawn by Pillow: matplotlib takes longer to start than stories to test.

Correct is blue and wrong is vermilion (Okabe and Ito's palette, which colour-blind people can distinguish), and a wrong
cell is never recognised only by its colour: it is off the diagonal and shows its number.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

    from turncheck.report.model import Report

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


@dataclass(frozen=True, slots=True)
class Matrix:
    """Counts of (expected, predicted) over sorted labels; ``cells`` holds those that are not zero."""

    labels: tuple[str, ...]
    cells: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, cells: Mapping[tuple[str, str], int]) -> Matrix:
        """The matrix of all labels that were expected or predicted."""
        return cls(tuple(sorted({label for pair in cells for label in pair})), cells)


@dataclass(frozen=True, slots=True)
class Picture:
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


@dataclass(frozen=True, slots=True)
class _Drawing:
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
        for (expected, _), count in matrix.cells.items():
            of_row[expected] += count
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
        for (expected, predicted), count in sorted(self.matrix.cells.items()):
            left, upper = self.room + place[predicted] * self.cell, top + place[expected] * self.cell
            if count == 0 or not -self.cell - _LINE < upper < height + _LINE:
                continue
            strength = 0.3 + 0.7 * count / self.of_row[expected]
            colour = _mixed(RIGHT if expected == predicted else WRONG, strength)
            draw.rectangle([(left, upper), (left + self.cell, upper + self.cell)], fill=colour)
            ink = "white" if strength > _DARK else "black"
            middle = (left + self.cell // 2, upper + self.cell // 2)
            draw.text(middle, str(count), font=font, fill=ink, anchor="mm")


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
        raise UserError("there is no font to draw with: matplotlib is not installed", remedy="Use --no-plot.")
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
