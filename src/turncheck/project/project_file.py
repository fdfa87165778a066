"""A project file as it was read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from turncheck.yaml_tree.tree import YamlDocument, YamlMapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from turncheck.yaml_tree.source import Source

NLU_KEYS: Final = ("nlu", "responses")
STORY_KEYS: Final = ("stories", "rules")
ANY_KIND: Final = frozenset((*NLU_KEYS, *STORY_KEYS))
"""The kinds of a file that cannot be read: it may hold anything."""
SHARED_FILE: Final = "conftest.yml"
"""The file with fixtures that files of end-to-end cases share."""
CONVO: Final = ".convo.txt"
BOTIUM_FILES: Final = (CONVO, ".pconvo.txt", ".utterances.txt", ".scriptingmemory.txt")
"""How the names of Botium's files end: conversations, partial ones, utterance lists, tables of values."""
BOTIUM_SETTINGS: Final = "botium.json"
_OBJECT_KEYS: Final = rb"convos|partialConvos|utterances|scriptingMemory"
_IN_YAML: Final = re.compile(rb"^(?:\xef\xbb\xbf)?['\"]?(" + _OBJECT_KEYS + rb")['\"]?[ \t]*:", re.MULTILINE)
_IN_JSON: Final = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"(?:' + _OBJECT_KEYS + rb')"\s*:')
_CONVOS_IN_JSON: Final = re.compile(rb'"convos"\s*:')


def is_in_objects(name: str, content: Callable[[], bytes]) -> bool:
    """Whether a file is a suite of Botium's in YAML or JSON, as far as its keys say."""
    if name.endswith((".yml", ".yaml")):
        return _IN_YAML.search(content()) is not None
    return name.endswith(".json") and name != BOTIUM_SETTINGS and _IN_JSON.search(content()) is not None


def holds_convos(name: str, content: Callable[[], bytes]) -> bool:
    """Whether such a file has conversations."""
    if name.endswith(".json"):
        return is_in_objects(name, content) and _CONVOS_IN_JSON.search(content()) is not None
    return name.endswith((".yml", ".yaml")) and any(key == b"convos" for key in _IN_YAML.findall(content()))


CONVO_FOLDER: Final = "spec/convo"
"""Where Botium itself looks for conversations."""
SUITE_FOLDERS: Final = (CONVO_FOLDER, "tests", "e2e_tests")
"""Folders whose files of Botium's belong together."""
DATA_KEYS: Final = (*NLU_KEYS, *STORY_KEYS, "flows", "e2e_tests", "test_cases")
DOMAIN_KEYS: Final = ("slots", "forms", "actions", "entities", "intents", "responses", "e2e_actions", "session_config")

Role = Literal["domain", "data", "config", "endpoints"]


class ProjectFile(NamedTuple):
    """A file that belongs to the project.

    ``source``: its text, ``None`` if it could not be read. ``kinds``: what it holds, by the keys ``nlu``,
    ``responses``, ``stories``, ``rules`` … of Rasa's YAML (data files). ``document``: only for YAML.
    ``has_errors``: for any other format, whether something in it could not be read. ``has_annotations``: whether its
    sentences are written with marks such as ``[Rome](city)``.
    """

    path: str
    role: Role
    source: Source | None = None
    document: YamlDocument | None = None
    kinds: frozenset[str] = frozenset()
    has_errors: bool = False
    has_annotations: bool = True

    @property
    def mapping(self) -> YamlMapping | None:
        """The top level, if it could be parsed and is a mapping."""
        root = self.document.root if self.document else None
        return root if isinstance(root, YamlMapping) else None

    @property
    def is_empty(self) -> bool:
        """Whether it was read, and there is nothing in it."""
        return self.source is not None and not self.source.text.strip()

    @property
    def is_complete(self) -> bool:
        """Whether all of it could be read. YAML values of another type than expected do not matter."""
        if self.document is not None:
            return self.document.root is not None and not self.document.findings
        return self.source is not None and not self.has_errors

    @property
    def has_nlu(self) -> bool:
        """Whether NLU data or responses are read from it."""
        return self.role == "data" and not self.kinds.isdisjoint(NLU_KEYS)

    @property
    def has_stories(self) -> bool:
        """Whether stories or rules are read from it."""
        return self.role == "data" and not self.kinds.isdisjoint(STORY_KEYS)


def unreadable_parts(files: Iterable[ProjectFile]) -> frozenset[str]:
    """Return the parts of a project that are not read completely; see :class:`~turncheck.project.model.Project`."""
    parts: set[str] = set()
    for file in files:
        if file.is_complete and not (file.is_empty and file.role == "config"):
            continue
        if file.role != "data":
            parts.add(file.role)
        if file.has_nlu:
            parts.add("nlu")
        if file.has_stories:
            parts.add("stories")
    return frozenset(parts)
