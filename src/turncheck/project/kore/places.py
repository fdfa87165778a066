"""Where parts of an export are; looked up on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turncheck.messages.location import NOWHERE

if TYPE_CHECKING:
    from turncheck.messages.location import Location
    from turncheck.yaml_tree.json_places import JsonFile, Step


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is in an export; looked up on demand."""

    file: JsonFile | None = field(default=None, repr=False, compare=False)
    path: tuple[Step, ...] = ()

    @property
    def location(self) -> Location:
        """The place."""
        return NOWHERE if self.file is None else self.file.location(*self.path)


NO_PLACE: Final = Place()


class Texts:
    """Locates the texts of examples (see :class:`turncheck.project.nlu_data.Origin`)."""

    __slots__ = ("_file", "_paths")

    def __init__(self, file: JsonFile) -> None:
        self._file = file
        self._paths: list[tuple[Step, ...]] = []

    def add(self, path: tuple[Step, ...]) -> int:
        """Remember the path of a text, and return its index."""
        self._paths.append(path)
        return len(self._paths) - 1

    def locate(self, index: int) -> Location:
        """Return where the text begins."""
        return self._file.location(*self._paths[index])
