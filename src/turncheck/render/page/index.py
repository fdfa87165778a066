"""Names that the page's data repeat a thousand times, each written once: files with their addresses, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.location import Location
from turncheck.render.links import repository_path
from turncheck.render.page.model import File, Place

if TYPE_CHECKING:
    from turncheck.render.links import Links

_LINE: Final = 987_654_321
"""A placeholder line number, to find where the line is in an address."""
NONE: Final = -1


class Files:
    """Numbers the files of a report, with their addresses in the measured commit and in the base's."""

    def __init__(self, root: str, links: Links) -> None:
        self._root = root
        self._links = links
        self._numbers: dict[str, int] = {}
        self.listed: list[File] = []

    def place(self, location: Location) -> Place:
        """Return a place as it is in the page's data."""
        return Place(file=self.number(location.path), line=location.line or 0)

    def number(self, path: str) -> int:
        """Return the index of a file."""
        if path not in self._numbers:
            self._numbers[path] = len(self.listed)
            self.listed.append(self._file(path))
        return self._numbers[path]

    def _file(self, path: str) -> File:
        whole, line = Location(path), Location(path, _LINE)
        return File(
            path=repository_path(self._root, whole) or path,
            address=self._links.file(self._root, whole),
            line_address=_with_blank(self._links.file(self._root, line)),
            base_address=_with_blank(self._links.file(self._root, line, base=True)),
        )


class Labels:
    """Numbers the intents of a report; no intent is -1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str | None) -> int:
        """Return the index of an intent."""
        return NONE if name is None else self._numbers.setdefault(name, len(self._numbers))

    @property
    def listed(self) -> list[str]:
        """All names, in the order of their numbers."""
        return list(self._numbers)


def _with_blank(address: str | None) -> str | None:
    """Replace the line in the address by ``{line}``."""
    if address is None:
        return None
    before, _, after = address.rpartition(str(_LINE))
    return f"{before}{{line}}{after}"
