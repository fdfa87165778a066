"""Where parts of an export are; looked for when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turncheck.messages.location import NOWHERE

if TYPE_CHECKING:
    from turncheck.messages.location import Location
    from turncheck.yaml_tree.json_places import JsonFile, Step


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is in an export; looked for when somebody asks."""

    file: JsonFile | None = field(default=None, repr=False, compare=False)
    path: tuple[Step, ...] = ()

    @property
    def location(self) -> Location:
        """The place."""
        return NOWHERE if self.file is None else self.file.location(*self.path)


NO_PLACE: Final = Place()


class Texts:
    """Says where the texts of examples are (see :class:`turncheck.project.model.Origin`)."""

    __slots__ = ("_file", "_paths")

    def __init__(self, file: JsonFile) -> None:
        self._file = file
        self._paths: list[tuple[Step, ...]] = []

    def add(self, path: tuple[Step, ...]) -> int:
        """Remember one, and return its index."""
        self._paths.append(path)
        return len(self._paths) - 1

    def locate(self, index: int) -> Location:
        """Return where it begins."""
        return self._file.location(*self._paths[index])
