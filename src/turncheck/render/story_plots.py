"""The confusion matrix of actions as a picture, by Pillow: matplotlib takes longer to start than stories to test."""

from __future__ import annotations

import math
import struct
import zlib
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError
from turncheck.messages.plurals import count as counted
from turncheck.render.plots import RIGHT, WRONG, report_state, shown_label
from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

    from turncheck.report.model import Core, PolicyEntities, Report

_GRID: Final = "#e0e0e0"
_CELL: Final = 36
_MARGIN: Final = 16
_SIZE: Final = 15
_LINE: Final = 21
_LARGEST_SIDE: Final = 12_000
_DARK: Final = 0.6

Cells = Counter[tuple[str, str]]


def story_plots(report: Report) -> Iterator[Rendered]:
    """Draw the confusion matrix of actions, under the name that Rasa gives it and under that of its documentation.

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
    image = _drawn(cells, title)
    lines = _compressed_lines(image)
    yield Rendered("story_confusion_matrix.png", "image/png", _png(lines, image.width, image.height))
    yield Rendered("story_confmat.pdf", "application/pdf", _pdf(lines, image.width, image.height))
    if report.core.policy_entities is not None:
        yield from _policy_entities(report, report.core.policy_entities)


def _policy_entities(report: Report, found: PolicyEntities) -> Iterator[Rendered]:
    cells = Counter({(pair.expected, pair.predicted): pair.count for pair in found.labels})
    if not cells:
        return
    title = (
        "Entities by policies: expected (rows) against predicted (columns)",
        f"blue is right, red is wrong; {counted(sum(cells.values()), 'word')}",
        report_state(report),
    )
    image = _drawn(cells, title)
    lines = _compressed_lines(image)
    yield Rendered("TEDPolicy_confusion_matrix.png", "image/png", _png(lines, image.width, image.height))


def action_cells(core: Core) -> Cells:
    """Count how often each action was expected and each predicted."""
    judged = [story for story in core.stories if not story.duplicate]
    return Counter((step.expected, step.predicted) for story in judged for step in story.steps if step.kind == "action")


def _drawn(cells: Cells, title: Sequence[str]) -> Image:
    from PIL import Image, ImageDraw  # imported on drawing alone

    font = _font()
    labels = sorted({label for pair in cells for label in pair})
    names = [shown_label(label) for label in labels]
    room = math.ceil(max(font.getlength(name) for name in names)) + 2 * _MARGIN
    top = len(title) * _LINE + _MARGIN + room
    cell = max(1, min(_CELL, (_LARGEST_SIDE - top) // len(labels)))
    side = cell * len(labels)
    widest = math.ceil(max(font.getlength(line) for line in title))
    image = Image.new("RGB", (max(room + side, widest + _MARGIN) + _MARGIN, top + side + _MARGIN), "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(title):
        draw.text((_MARGIN, _MARGIN + number * _LINE), line, font=font, fill="black")
    for number, name in enumerate(names):
        middle = number * cell + cell // 2
        draw.text((room - _MARGIN // 2, top + middle), name, font=font, fill="black", anchor="rm")
        upright = _upright(name, font)
        image.paste(upright, (room + middle - upright.width // 2, top - _MARGIN // 2 - upright.height))
    _fill(draw, labels, cells, room=room, top=top, cell=cell)
    for edge in range(0, side + 1, cell):
        draw.line([(room, top + edge), (room + side, top + edge)], fill=_GRID)
        draw.line([(room + edge, top), (room + edge, top + side)], fill=_GRID)
    return image


def _fill(draw: ImageDraw, labels: Sequence[str], cells: Cells, *, room: int, top: int, cell: int) -> None:
    """Fill each cell, the darker the larger its share of its row, and write its count."""
    font = _font()
    place = {label: number for number, label in enumerate(labels)}
    of_row: Counter[str] = Counter()
    for (expected, _), count in cells.items():
        of_row[expected] += count
    for (expected, predicted), count in sorted(cells.items()):
        strength = 0.3 + 0.7 * count / of_row[expected]
        left, upper = room + place[predicted] * cell, top + place[expected] * cell
        colour = _mixed(RIGHT if expected == predicted else WRONG, strength)
        draw.rectangle([(left, upper), (left + cell, upper + cell)], fill=colour)
        ink = "white" if strength > _DARK else "black"
        draw.text((left + cell // 2, upper + cell // 2), str(count), font=font, fill=ink, anchor="mm")


def _mixed(colour: str, strength: float) -> tuple[int, ...]:
    """Mix a colour (``#rrggbb``) with white."""
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return tuple(round(255 - strength * (255 - part)) for part in parts)


def _upright(name: str, font: FreeTypeFont) -> Image:
    """Return a label that is read from below."""
    from PIL import Image, ImageDraw  # imported on drawing alone

    label = Image.new("RGB", (math.ceil(font.getlength(name)), _LINE), "white")
    ImageDraw.Draw(label).text((0, _LINE // 2), name, font=font, fill="black", anchor="lm")
    return label.transpose(Image.Transpose.ROTATE_90)


@cache
def _font() -> FreeTypeFont:
    """Return DejaVu Sans, which comes with matplotlib; matplotlib itself is not imported."""
    from PIL import ImageFont  # imported on drawing alone

    found = find_spec("matplotlib")
    if found is None or not found.submodule_search_locations:
        raise UserError("there is no font to draw with: matplotlib is not installed", remedy="Use --no-plot.")
    folder = Path(found.submodule_search_locations[0])
    return ImageFont.truetype(str(folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"), _SIZE)


def _compressed_lines(image: Image) -> bytes:
    """Return the picture as PNG and PDF both hold it: a zero before each line (no filter), compressed.

    Written here since Pillow loads six formats before it saves one.
    """
    pixels = image.tobytes()
    length = 3 * image.width
    return zlib.compress(b"".join(b"\0" + pixels[at : at + length] for at in range(0, len(pixels), length)), 3)


def _png(lines: bytes, width: int, height: int) -> bytes:
    """Return a PNG file of eight bits a colour (ISO/IEC 15948)."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", lines) + _chunk(b"IEND", b"")


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
