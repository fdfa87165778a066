"""Training data and test stories in the YAML of Rasa 2 → that of Rasa 3: the file with its comments stays as it is,
except for what has another name in Rasa 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.project.conversion.core import new_action
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.project.conversion.result import Converted
    from turncheck.project.files import DataFile
    from turncheck.yaml_tree.tree import YamlNode

YAML_SUFFIXES: Final = (".yml", ".yaml")
_VERSION: Final = 'version: "3.1"'
_ACTION: Final = "action"
_UTTER: Final = "utter_"


@dataclass(frozen=True, slots=True)
class _Edit:
    """A replacement for a part of the file's text."""

    start: int
    end: int
    text: str


def convert_yaml_data(file: DataFile, converted: Converted, *, is_nlu: bool, keep: bool = False) -> None:
    """Convert a file; one that holds both NLU data and stories is treated as NLU data.

    ``keep``: also include a file that Rasa 3 reads as it is.
    """
    root, document = file.file.mapping, file.file.document
    if root is None or document is None or not _is_this_kind(file, converted, is_nlu=is_nlu):
        return
    edits = sorted(_edits(root), key=lambda edit: edit.start)
    if not edits and not keep:
        return
    text = document.source.text
    parts, done = [], 0
    for edit in edits:
        parts += [text[done : edit.start], edit.text]
        done = edit.end
    converted.add(file.file.path, "".join([*parts, text[done:]]))


def _is_this_kind(file: DataFile, converted: Converted, *, is_nlu: bool) -> bool:
    has_nlu = not file.file.kinds.isdisjoint(NLU_KEYS)
    has_stories = not file.file.kinds.isdisjoint(STORY_KEYS)
    if not is_nlu and has_nlu and has_stories and file.parts.stories:
        what = "The file holds NLU data as well: it is converted with them."
        converted.note(what, file.parts.stories[0].location, "Run `turncheck data convert nlu`.")
    return has_nlu if is_nlu else has_stories and not has_nlu


def _edits(root: YamlMapping) -> Iterator[_Edit]:
    version = root.items.get("version")
    written = str(version.value) if isinstance(version, YamlScalar) else ""
    if isinstance(version, YamlScalar) and not written.startswith("3"):
        yield _Edit(version.start, version.end, _VERSION.partition(": ")[2])
    for key in STORY_KEYS:
        yield from _edits_of_steps(root.items.get(key))
    yield from _edits_of_responses(root.items.get("responses"))


def _edits_of_steps(section: YamlNode | None) -> Iterator[_Edit]:
    for scalar in _actions(_items(section)):
        name = str(scalar.value)
        if new_action(name) != name:
            yield _Edit(scalar.start, scalar.end, new_action(name))


def _actions(stories: Iterable[YamlNode]) -> Iterator[YamlScalar]:
    for story in stories:
        for step in _items(story.at("steps")):
            action = step.at(_ACTION)
            if isinstance(action, YamlScalar) and isinstance(action.value, str):
                yield action


def _items(section: YamlNode | None) -> list[YamlNode]:
    return section.items if isinstance(section, YamlSequence) else []


def _edits_of_responses(section: YamlNode | None) -> Iterator[_Edit]:
    """Responses of retrieval intents are named like the intent until Rasa 2.0, and like an action since."""
    for key in section.key_nodes if isinstance(section, YamlMapping) else ():
        if isinstance(key, YamlScalar) and new_response(str(key.value)) != key.value:
            yield _Edit(key.start, key.end, new_response(str(key.value)))


def new_response(name: str) -> str:
    """Return the name of a response since Rasa 2."""
    return f"{_UTTER}{name}" if "/" in name and not name.startswith(_UTTER) else name
