"""Recognises a CALM project (Rasa Pro's flows and language-model commands), which Rasa's open source cannot run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.project.model import Flow
from turncheck.yaml_tree.tree import YamlMapping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.project.model import Component, Config
    from turncheck.project.project_file import ProjectFile

_CALM_POLICIES: Final = frozenset({"FlowPolicy", "IntentlessPolicy", "EnterpriseSearchPolicy"})
_CALM_COMPONENTS: Final = frozenset({"NLUCommandAdapter"})
_COMMAND_GENERATOR: Final = "CommandGenerator"


def calm_reason(config: Config, files: Iterable[ProjectFile]) -> str | None:
    """Say by what one knows the project as CALM, with the place, or return ``None``."""
    for component in config.policies or ():
        if _class_name(component) in _CALM_POLICIES:
            return f"CALM: {component.name} at {component.location}"
    for component in config.pipeline or ():
        name = _class_name(component)
        if name in _CALM_COMPONENTS or name.endswith(_COMMAND_GENERATOR):
            return f"CALM: {component.name} at {component.location}"
    for file in files:
        if "flows" in file.kinds and file.mapping is not None and "flows" in file.mapping.items:
            return f"CALM: flows at {file.mapping.key_location('flows')}"
    return None


def read_flows(files: Iterable[ProjectFile]) -> dict[str, Flow]:
    """Return the flows by name; of two with one name the first."""
    flows: dict[str, Flow] = {}
    for file in files:
        section = file.mapping.items.get("flows") if "flows" in file.kinds and file.mapping is not None else None
        if isinstance(section, YamlMapping):
            for name, node in section.items.items():
                flows.setdefault(str(name), Flow(str(name), node.data, section.key_location(name)))
    return flows


def _class_name(component: Component) -> str:
    """Return the class's own name; a configuration may give it with its module."""
    return component.name.rpartition(".")[2]
