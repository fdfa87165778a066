"""The exact place of a finding's subject, if the typed project only knows what is around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.messages.finding import Location
from turncheck.project.formats.annotations import AnnotationError, WrittenSentence, parse_annotations
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example


class Places:
    """Looks places up in the files of a project."""

    def __init__(self, project: Project) -> None:
        self._documents = {file.path: file.document for file in project.files if file.document is not None}
        self._sources = {file.path: file.source for file in project.files if file.source is not None}
        self._entity_lists: dict[str, dict[Location, YamlNode]] = {}
        self._intents: dict[str, dict[str, Location]] = {}
        self._example: Location | None = None
        self._written: WrittenSentence | None = None

    def of_entry(self, entry: Any, around: Location, *path: str | int) -> Location:
        """Where ``entry`` is in the file of ``around``, below ``path``: as a value, in a list, or as a key.

        A name in ``path`` leads into a mapping, or into the item of a list that has it as a key. What is not found
        (it is from another file, or in an older format) is at ``around``.
        """
        node = self.written(around.path, *path)
        if isinstance(node, YamlMapping) and entry in node.items:
            return node.key_location(entry)
        candidates = node.items if isinstance(node, YamlSequence) else [node]
        for candidate in candidates:
            if isinstance(candidate, YamlScalar) and candidate.value == entry:
                return candidate.location
        return around

    def written(self, file: str, *path: str | int) -> YamlNode | None:
        """Return what is in a file below ``path``."""
        document = self._documents.get(file)
        node = document.root if document is not None else None
        for step in path:
            node = _below(node, step)
        return node

    def of_story_entity(self, name: str, step: Location) -> Location:
        """Where a user step lists an entity, else where the step is (it is annotated in the step's text)."""
        if step.path not in self._entity_lists:
            document = self._documents.get(step.path)
            root = document.root if document is not None else None
            self._entity_lists[step.path] = dict(_entity_lists(root))
        listed = self._entity_lists[step.path].get(step)
        return _named_in(listed, name) or step

    def of_intent(self, name: str, example: Location) -> Location:
        """Where the file of an example first names its intent (without a response key), else the place of the example.

        A sentence in a story, or in NLU data in JSON, has no such place.
        """
        if example.path not in self._intents:
            listed = self.written(example.path, "nlu")
            named: dict[str, Location] = {}
            for item in listed.items if isinstance(listed, YamlSequence) else ():
                node = item.at("intent")
                if isinstance(node, YamlScalar):
                    named.setdefault(str(node.value).strip().partition("/")[0], node.location)
            self._intents[example.path] = named
        return self._intents[example.path].get(name, example)

    def in_example(self, example: Example, offset: int) -> Location:
        """The place in the file of a character of the plain text; the sentence's place if it is quoted or folded."""
        location = example.location
        if self._example != location:
            self._example, self._written = location, self._as_written(example)
        if self._written is None or location.column is None:
            return location
        return Location(location.path, location.line, location.column + self._written.offset(offset))

    def _as_written(self, example: Example) -> WrittenSentence | None:
        location = example.location
        source = self._sources.get(location.path)
        if source is None or location.line is None or location.column is None:
            return None
        written = source.line(location.line)[location.column - 1 :]
        try:
            plain, _ = parse_annotations(written)
        except AnnotationError:
            return None
        # In quotes, with escapes, or folded over several lines, it is written differently.
        return WrittenSentence(written) if plain.startswith(example.text) else None


def _entity_lists(root: YamlNode | None) -> Iterator[tuple[Location, YamlNode]]:
    """Each list of entities in a file of stories, with the place of its step."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, YamlMapping):
            if "entities" in node.items:
                yield node.location, node.items["entities"]
            waiting.extend(node.items.values())
        elif isinstance(node, YamlSequence):
            waiting.extend(node.items)


def _named_in(entities: YamlNode | None, name: str) -> Location | None:
    for item in entities.items if isinstance(entities, YamlSequence) else ():
        if isinstance(item, YamlMapping) and name in item.items:
            return item.key_location(name)
        if isinstance(item, YamlScalar) and item.value == name:
            return item.location
    return None


def _below(node: YamlNode | None, step: str | int) -> YamlNode | None:
    if isinstance(node, YamlSequence) and isinstance(step, str):
        return next(
            (item.items[step] for item in node.items if isinstance(item, YamlMapping) and step in item.items), None
        )
    return node.at(step) if node is not None else None
