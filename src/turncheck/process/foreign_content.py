"""Files that are something else than their names say: a pointer of Git LFS, git's conflict markers, a web page.

Most of them are YAML of a sort, so that reading them would report everything but what happened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.messages.finding import Finding, Location

if TYPE_CHECKING:
    from collections.abc import Iterator

FOREIGN: Final = "file-not-as-named"
"""The code of the finding about such a file."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_PAGE: Final = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_XML: Final = re.compile(rb"\s*<\?xml\s", re.IGNORECASE)
_START: Final = 4096
"""This many bytes are inspected to recognise a page."""
_TEXT: Final = (".yml", ".yaml", ".json", ".csv", ".tsv", ".txt", ".lst", ".md")
"""The endings of files that may be no page."""
_MARKER: Final = re.compile(rb"^[ \t]*(?:(<{7}|>{7}|\|{7})(?:[ \t][^\r\n]*)?|(={7})[ \t]*)\r?$", re.MULTILINE)
"""A line that git leaves in a file that it could not merge; editors may have indented it."""
_ENOUGH: Final = 2
"""Of the kinds of markers: one line of ``=======`` alone may be anything."""


class _Nature(NamedTuple):
    """What a file is, where that shows, and what to do."""

    what: str
    line: int
    hint: str


def foreign_content(name: str, content: bytes) -> Finding | None:
    """Return what a file is if it is not what its name says, as an error; ``None`` if nothing speaks against it."""
    nature = _pointer_or_page(name, content) or _conflict(content)
    if nature is None:
        return None
    location = Location(name, nature.line, 1)
    return Finding("file-not-as-named", "error", f"'{name}' {nature.what}.", location, nature.hint)


def _pointer_or_page(name: str, content: bytes) -> _Nature | None:
    start = content[:_START].removeprefix(_BYTE_ORDER_MARK)
    if start.startswith(_POINTER):
        hint = "Check it out with Git LFS: `lfs: true` for actions/checkout, or `git lfs pull`."
        return _Nature("is a pointer of Git LFS, not the file itself", 1, hint)
    if not name.lower().endswith(_TEXT):
        return None
    what = "an HTML page" if _PAGE.match(start) else "an XML document" if _XML.match(start) else None
    hint = "Fetch the file again: a server may have sent this in its place, and it may say why."
    return None if what is None else _Nature(f"is {what}, not what its name says", 1, hint)


def _conflict(content: bytes) -> _Nature | None:
    """Return the first conflict of a merge that nobody has resolved."""
    if b"<<<<<<<" not in content and b">>>>>>>" not in content:
        return None
    markers = list(_markers(content))
    if len({kind for kind, _ in markers}) < _ENOUGH:
        return None
    first, last = markers[0][1], _end_of_first(markers)
    hint = "Resolve the conflict: keep the lines that are right, and remove the markers."
    return _Nature(f"has git's conflict markers in it (lines {first} to {last})", first, hint)


def _markers(content: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the kind of each marker, and its line."""
    line, before = 1, 0
    for match in _MARKER.finditer(content):
        line += content.count(b"\n", before, match.start())
        before = match.start()
        yield match[1] or match[2], line


def _end_of_first(markers: list[tuple[bytes, int]]) -> int:
    return next((line for kind, line in markers if kind.startswith(b">")), markers[-1][1])
