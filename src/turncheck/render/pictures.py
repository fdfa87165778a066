"""Pictures of pixels, drawn by Pillow: matplotlib takes longer to start than stories to test."""

from __future__ import annotations

import math
import struct
import zlib
from bisect import bisect_right
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont


# Correct is blue and wrong is vermilion (Okabe and Ito's palette, which colour-blind people can distinguish).
RIGHT: Final = "#0072B2"
WRONG: Final = "#D55E00"

MARGIN: Final = 16
LINE: Final = 21
"""Height of a line of text, in pixels."""
_SIZE: Final = 15
_LONGEST_LABEL: Final = 40


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


def packed(width: int, height: int, bands: Iterable[Image]) -> Picture:
    """Compress a picture, which is drawn in bands from the top to the bottom."""
    packer = zlib.compressobj(3)
    parts = []
    for band in bands:
        pixels = band.tobytes()
        length = 3 * width
        lines = b"".join(b"\0" + pixels[at : at + length] for at in range(0, len(pixels), length))
        parts.append(packer.compress(lines))
    return Picture(width, height, b"".join((*parts, packer.flush())))


@cache
def font() -> FreeTypeFont:
    """Return DejaVu Sans, which comes with matplotlib; matplotlib itself is not imported."""
    from PIL import ImageFont  # only imported to draw

    found = find_spec("matplotlib")
    if found is None or not found.submodule_search_locations:
        raise UserError("there is no font to draw with: matplotlib is not installed", hint="Use --no-plot.")
    folder = Path(found.submodule_search_locations[0])
    return ImageFont.truetype(str(folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"), _SIZE)


def length(text: str) -> int:
    """Return the width of a text, in pixels."""
    return math.ceil(font().getlength(text))


def upright(name: str) -> Image:
    """Return a label that reads upwards."""
    from PIL import Image, ImageDraw  # only imported to draw

    label = Image.new("RGB", (length(name), LINE), "white")
    ImageDraw.Draw(label).text((0, LINE // 2), name, font=font(), fill="black", anchor="lm")
    return label.transpose(Image.Transpose.ROTATE_90)


def shown_label(label: str) -> str:
    """A label on one line: control characters are replaced, the middle of a long one is omitted."""
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in label) or '""'
    if len(text) <= _LONGEST_LABEL:
        return text
    half = (_LONGEST_LABEL - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


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


# Histograms of confidence: what was right above, what was wrong upside down below it. One takes 10 ms; matplotlib's
# takes 350, and a second before the first.

_BINS: Final = 25
_EDGES: Final = [step / _BINS for step in range(_BINS + 1)]
_BAR: Final = 24
"""Width of a bar, in pixels, as all lengths here."""
_SIDE: Final = 192
"""Height of each of both axes."""
_BETWEEN: Final = 38
_TICK: Final = 5
_MOST_TICKS: Final = 5
_DASH: Final = (6, 3)
"""How long the dashes of a line are, and the gaps between them."""


class Counts(Struct, frozen=True):
    """How many confidences are in each bin from 0 to 1; ``total`` is of all, ``colour`` that of the bars."""

    word: str
    colour: str
    total: int
    bins: Sequence[int]

    @classmethod
    def of(cls, word: str, colour: str, confidences: Sequence[float]) -> Counts:
        """Count; what is below 0 or above 1 is in the first or the last bin."""
        bins = [0] * _BINS
        for confidence in confidences:
            bins[min(max(bisect_right(_EDGES, confidence) - 1, 0), _BINS - 1)] += 1
        return cls(word, colour, len(confidences), bins)

    @property
    def end(self) -> float:
        """Where the axis ends, which begins at zero."""
        return 1.05 * max(self.bins) or 1.0

    @property
    def ticks(self) -> range:
        """The whole numbers that are shown beside the axis."""
        steps = (digit * 10**power for power in range(10) for digit in (1, 2, 5))
        step = next(step for step in steps if self.end / step < _MOST_TICKS)
        return range(0, int(self.end) + 1, step)


class Histogram(Struct, frozen=True):
    """The layout of a histogram; ``left`` is where its axes begin, ``tops`` are their upper edges.

    Each side has a scale of its own, since the wrong ones are (hopefully) few.
    """

    title: Sequence[str]
    right: Counts
    wrong: Counts
    threshold: float | None
    left: int
    tops: tuple[int, int]

    @classmethod
    def of(
        cls, title: Sequence[str], right: Sequence[float], wrong: Sequence[float], threshold: float | None
    ) -> Histogram:
        """Count and lay out.

        Args:
            title: the lines above.
            right: the confidences of what was right.
            wrong: the confidences of what was not.
            threshold: below which confidence a fallback takes over; None: it is not shown.
        """
        sides = Counts.of("right", RIGHT, right), Counts.of("wrong", WRONG, wrong)
        widest = max(length(str(tick)) for side in sides for tick in side.ticks)
        top = MARGIN + len(title) * LINE + MARGIN // 2
        return cls(title, *sides, threshold, MARGIN + LINE + widest + 3 * _TICK, (top, top + _SIDE + _BETWEEN))

    def drawn(self) -> Picture:
        """Draw it."""
        from PIL import Image, ImageDraw  # only imported to draw

        end = self.left + _BINS * _BAR
        width = max(end, *(self.left + length(line) for line in self.title)) + 2 * MARGIN
        height = self.tops[1] + _SIDE + _TICK + 2 * LINE + MARGIN
        image = Image.new("RGB", (width, height), "white")
        draw = ImageDraw.Draw(image)
        for number, line in enumerate(self.title):
            draw.text((self.left, MARGIN + number * LINE), line, font=font(), fill="black")
        for side, top in zip((self.right, self.wrong), self.tops, strict=True):
            label = upright(f"{side.word}: {side.total}")
            image.paste(label, (MARGIN // 2, top + (_SIDE - label.height) // 2))
            self._draw_side(draw, side, top)
        middle = (self.left + _BINS * _BAR // 2, height - MARGIN)
        draw.text(middle, "confidence", font=font(), fill="black", anchor="ms")
        return packed(width, height, [image])

    def _draw_side(self, draw: ImageDraw, side: Counts, top: int) -> None:
        foot = top + _SIDE if side is self.right else top
        upwards = -1 if side is self.right else 1

        def at(number: float) -> int:
            return foot + upwards * round(number / side.end * _SIDE)

        for place, number in enumerate(side.bins):
            if number:
                begin = self.left + place * _BAR
                upper, lower = sorted((foot, at(number)))
                draw.rectangle([(begin + 1, upper), (begin + _BAR - 1, lower)], fill=side.colour)
        self._draw_threshold(draw, top, named=side is self.right)
        draw.rectangle([(self.left, top), (self.left + _BINS * _BAR, top + _SIDE)], outline="black")
        for tick in side.ticks:
            draw.line([(self.left - _TICK, at(tick)), (self.left, at(tick))], fill="black")
            draw.text((self.left - 2 * _TICK, at(tick)), str(tick), font=font(), fill="black", anchor="rm")
        for fifth in range(6):
            across, below = self.left + fifth * _BINS * _BAR // 5, top + _SIDE
            draw.line([(across, below), (across, below + _TICK)], fill="black")
            if side is self.wrong:
                draw.text((across, below + 2 * _TICK), f"{fifth / 5:.1f}", font=font(), fill="black", anchor="mt")

    def _draw_threshold(self, draw: ImageDraw, top: int, *, named: bool) -> None:
        """Draw a dashed line, with its name on the side where there is room."""
        if self.threshold is None or not 0 <= self.threshold <= 1:
            return
        across = self.left + round(self.threshold * _BINS * _BAR)
        dash, gap = _DASH
        for begin in range(top, top + _SIDE, dash + gap):
            draw.line([(across, begin), (across, min(begin + dash, top + _SIDE) - 1)], fill="black")
        if named:
            name = f"fallback below {self.threshold:g}"
            fits = across + _TICK + length(name) < self.left + _BINS * _BAR
            place = (across + _TICK if fits else across - _TICK, top + _TICK)
            draw.text(place, name, font=font(), fill="black", anchor="lt" if fits else "rt")
