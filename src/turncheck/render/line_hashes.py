"""The hash by which GitHub's code scanning recognises a line that has moved.

Source: github/codeql-action, ``src/fingerprints.ts``. The hash of a line covers the 100 characters (UTF-16 code
units) from its start on: blanks and tabs are omitted, line ends are line feeds, and the last character is followed by
65535 and zeros. It is their polynomial in 37 modulo 2⁶⁴, in hexadecimal, followed by a number: lines with the same hash
count from 1.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from typing import Final

_BLOCK: Final = 100
_FACTOR: Final = 37
_MASK: Final = 2**64 - 1
_OUT_OF_BLOCK: Final = pow(_FACTOR, _BLOCK, 2**64)
_END_OF_FILE: Final = 0xFFFF
_LINE_FEED: Final = 0x0A
_BLANKS: Final = {ord(" "): None, ord("\t"): None}
_UTF_16: Final = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


def line_hashes(content: bytes) -> list[str]:
    """Return the hash of each line of a file, ``a7f2ff13bc495cf2:1``. Bytes that are not UTF-8 count as replaced."""
    text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").translate(_BLANKS)
    units = array("H", f"\n{text}".encode(_UTF_16))  # a line begins after a line feed: so does the first
    units.append(_END_OF_FILE)
    zeros = array("H", bytes(2 * _BLOCK))
    lines: Counter[int] = Counter()
    hashes = []
    value = 0
    for gone, come in zip(zeros + units[:-1], units + zeros[1:], strict=True):
        value = (value * _FACTOR + come - gone * _OUT_OF_BLOCK) & _MASK
        if gone == _LINE_FEED:
            lines[value] += 1
            hashes.append(f"{value:x}:{lines[value]}")
    return hashes
