"""Recognises a CALM project (Rasa Pro's flows and language-model commands), which Rasa's open source cannot run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.project.model import Flow
from turncheck.yaml_tree.tree import YamlMapping

if TYPE_CHECKING:
    from turncheck.messages.location import Location
    from turncheck.project.model import Component, Config

_CALM_POLICIES: Final = frozenset({"FlowPolicy", "IntentlessPolicy", "EnterpriseSearchPolicy"})
_CALM_COMPONENTS: Final = frozenset({"NLUCommandAdapter"})
_COMMAND_GENERATOR: Final = "CommandGenerator"


def calm_reason(config: Config, flows: Location | None) -> str | None:
    """Say what shows that the project is CALM, and where, else return ``None``; ``flows``: where it has any."""
    for component in config.policies or ():
        if _class_name(component) in _CALM_POLICIES:
            return f"CALM: {component.name} at {component.location}"
    for component in config.pipeline or ():
        name = _class_name(component)
        if name in _CALM_COMPONENTS or name.endswith(_COMMAND_GENERATOR):
            return f"CALM: {component.name} at {component.location}"
    return None if flows is None else f"CALM: flows at {flows}"


def read_flows(root: YamlMapping) -> tuple[tuple[Flow, ...], Location | None]:
    """Return the flows of a file, and where they are."""
    section = root.items.get("flows")
    if section is None:
        return (), None
    flows: tuple[Flow, ...] = ()
    if isinstance(section, YamlMapping):
        flows = tuple(Flow(str(name), node.data, section.key_location(name)) for name, node in section.items.items())
    return flows, root.key_location("flows")


def _class_name(component: Component) -> str:
    """Return the class name without its module, which a configuration may include."""
    return component.name.rpartition(".")[2]
