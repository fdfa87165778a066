"""Pictures of pixels, drawn by Pillow: matplotlib takes longer to start than stories to test."""

from __future__ import annotations

import math
import struct
import zlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PIL.Image import Image
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
    """How many pixels a text takes."""
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
