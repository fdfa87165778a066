"""Where a definition of the domain begins to differ: at its first key or item that the base does not have so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.project.project_file import DOMAIN_KEYS
from turncheck.yaml_tree.tree import YamlMapping, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Location
    from turncheck.project.model import Project
    from turncheck.yaml_tree.tree import YamlNode


_SESSION: Final = "session_config"


class Definitions:
    """What a project's domain files define, by the places of its names."""

    def __init__(self, project: Project) -> None:
        self._found: dict[Location, YamlNode] = {}
        for mapping in (file.mapping for file in project.files if file.mapping is not None):
            for section in DOMAIN_KEYS:
                self._found |= _named(mapping, section)

    def at(self, place: Location | None) -> YamlNode | None:
        """Return what is defined under the name at a place; ``None`` if the format has no such places."""
        return None if place is None else self._found.get(place)


def place_of_session(project: Project) -> Location | None:
    """Return where the domain says when a new session starts."""
    mappings = (file.mapping for file in project.files if file.mapping is not None and file.role == "domain")
    return next((one.key_location(_SESSION) for one in mappings if _SESSION in one.items), None)


def _named(mapping: YamlMapping, section: str) -> Iterator[tuple[Location, YamlNode]]:
    node = mapping.items.get(section)
    if section == _SESSION and node is not None:
        yield mapping.key_location(section), node
    for one in node.items if isinstance(node, YamlSequence) else [node]:
        if isinstance(one, YamlMapping):
            yield from ((one.key_location(name), value) for name, value in one.items.items())


def first_changed_line(before: YamlNode, after: YamlNode) -> Location | None:
    """Return the place of the first value that is new or different; ``None`` if only something is gone."""
    if isinstance(before, YamlMapping) and isinstance(after, YamlMapping):
        for key, value in after.items.items():
            if key not in before.items:
                return after.key_location(key)
            if before.items[key].data != value.data:
                return first_changed_line(before.items[key], value) or after.key_location(key)
        return None
    if isinstance(before, YamlSequence) and isinstance(after, YamlSequence):
        known = [item.data for item in before.items]
        new = next((place for place, item in enumerate(after.items) if item.data not in known), None)
        if new is not None and len(known) == len(after.items):
            return first_changed_line(before.items[new], after.items[new]) or after.items[new].location
        pairs = zip(before.items, after.items, strict=False)
        moved = next((place for place, (one, other) in enumerate(pairs) if one.data != other.data), None)
        first = moved if new is None else new
        return None if first is None else after.items[first].location
    return after.location
