"""A file of a project as it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from turncheck.yaml_tree.tree import YamlDocument, YamlMapping

NLU_KEYS: Final = ("nlu", "responses")


STORY_KEYS: Final = ("stories", "rules")


DATA_KEYS: Final = (*NLU_KEYS, *STORY_KEYS, "flows", "e2e_tests", "test_cases")


DOMAIN_KEYS: Final = ("slots", "forms", "actions", "entities", "intents", "responses", "e2e_actions", "session_config")


Role = Literal["domain", "data", "config", "endpoints"]


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file that belongs to the project. ``document`` is ``None`` where its text could not even be got.

    ``kinds``: which of the keys ``nlu``, ``responses``, ``stories``, ``rules`` … Rasa would see in it (data files);
    of JSON its own key.
    """

    path: str
    role: Role
    document: YamlDocument | None
    kinds: frozenset[str] = frozenset()

    @property
    def mapping(self) -> YamlMapping | None:
        """The top level, if it could be parsed and is a mapping."""
        root = self.document.root if self.document else None
        return root if isinstance(root, YamlMapping) else None

    @property
    def has_nlu(self) -> bool:
        """Whether Rasa reads NLU data or responses from it."""
        return self.role == "data" and not self.kinds.isdisjoint((*NLU_KEYS, TOP_KEY))

    @property
    def is_json(self) -> bool:
        """Whether it is NLU data in Rasa's JSON format, to which nothing applies that is said of YAML files."""
        return TOP_KEY in self.kinds

    @property
    def has_stories(self) -> bool:
        """Whether Rasa reads stories or rules from it."""
        return self.role == "data" and not self.kinds.isdisjoint(STORY_KEYS)


TOP_KEY: Final = "rasa_nlu_data"
