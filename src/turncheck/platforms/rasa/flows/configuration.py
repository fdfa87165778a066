"""The configuration of a CALM assistant: what runs its flows, and the models that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.finding import Location, Name
from turncheck.messages.phrasing import suggestion
from turncheck.platforms.rasa.flows import vocabulary
from turncheck.validation.findings import found
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.platforms.rasa.flows.facts import FlowFacts
    from turncheck.yaml_tree.tree import YamlNode

_POLICY: Final = "FlowPolicy"
_STARTS_FLOWS: Final = ("CommandGenerator", "NLUCommandAdapter")
_ROUTER: Final = "IntentBasedRouter"
_ROUTED: Final = (("nlu_entry", "sticky"), ("nlu_entry", "non_sticky"), ("calm_entry", "sticky"))
"""Where its intents are listed."""


def configuration(facts: FlowFacts) -> Iterator[Finding]:
    """Flows without what runs or starts them; model groups and intents that are named and not defined."""
    config = facts.project.config
    if facts.flows and config.policies is not None and config.recipe in {None, "default.v1"}:
        names = [component.name.rpartition(".")[2] for component in config.policies]
        if not any(name.endswith(_POLICY) or "." in one.name for name, one in zip(names, config.policies, strict=True)):
            message = (
                f"There are flows, and the policies of '{config.location.path or 'config.yml'}' have no {_POLICY}."
            )
            yield found("flow-policy-missing", message, config.keys.get("policies", config.location))
    if facts.flows and config.pipeline is not None and config.recipe in {None, "default.v1"}:
        starting = [one for one in config.pipeline if one.name.endswith(_STARTS_FLOWS) or "." in one.name]
        if not starting and not any(flow.triggers for flow in facts.flows.values()):
            message = "There are flows, and no component of the pipeline turns messages into commands for them."
            yield found("flow-policy-missing", message, config.keys.get("pipeline", config.location))
    yield from _model_groups(facts)
    yield from _routed_intents(facts)


def _routed_intents(facts: FlowFacts) -> Iterator[Finding]:
    """Intents that the router between flows and stories decides by, and that nothing defines, each once."""
    known = facts.facts.intents | facts.facts.nlu_intents.keys() | vocabulary.INTENTS
    places: dict[str, list[Location]] = {}
    for name, location in _intents_of_router(facts):
        if name.partition("/")[0] not in known:
            places.setdefault(name, []).append(location)
    for name, (first, *others) in places.items():
        message = f"The {_ROUTER} decides by the intent '{name}', which the domain does not list."
        near, names = facts.meant("intent", name, known), (Name("intent", name),)
        yield found("flow-router-intent-undefined", message, first, near, others, names=names)


def _intents_of_router(facts: FlowFacts) -> Iterator[tuple[str, Location]]:
    """The same keys of an ``LLMBasedRouter`` describe to its model, in words, what belongs where."""
    pipelines = (file.mapping.at("pipeline") for file in facts.project.files if file.role == "config" and file.mapping)
    for component in (one for pipeline in pipelines for one in _items(pipeline)):
        name = component.at("name")
        if isinstance(name, YamlScalar) and str(name.value).rpartition(".")[2] == _ROUTER:
            for entry, kind in _ROUTED:
                for intent in _items(component.at(entry, kind)):
                    if isinstance(intent, YamlScalar) and isinstance(intent.value, str):
                        yield intent.value, intent.location


def _items(node: YamlNode | None) -> tuple[YamlNode, ...]:
    return tuple(node.items) if isinstance(node, YamlSequence) else ()


def _model_groups(facts: FlowFacts) -> Iterator[Finding]:
    groups = set(_group_ids(facts))
    places: dict[str, list[Location]] = {}
    for file in facts.project.files:
        if file.role in {"config", "endpoints"} and file.mapping is not None:
            for name, location in _named_groups(file.mapping):
                places.setdefault(name, []).append(location)
    if not any(file.role == "endpoints" for file in facts.project.files):
        return
    for name, (first, *others) in places.items():
        if name not in groups and "${" not in name:
            message = f"The model group '{name}' is not in 'endpoints.yml'."
            yield found(
                "flow-model-group-undefined",
                message,
                first,
                suggestion(name, groups),
                others,
                names=(Name("model group", name),),
            )


def _group_ids(facts: FlowFacts) -> Iterator[str]:
    for file in facts.project.files:
        groups = file.mapping.items.get("model_groups") if file.mapping is not None else None
        for item in groups.items if isinstance(groups, YamlSequence) else ():
            name = item.at("id")
            if isinstance(name, YamlScalar):
                yield str(name.value)


def _named_groups(root: YamlMapping) -> Iterator[tuple[str, Location]]:
    waiting: list[Any] = [root]
    while waiting:
        node: YamlNode = waiting.pop()
        if isinstance(node, YamlMapping):
            named = node.items.get("model_group")
            if isinstance(named, YamlScalar) and named.value:
                yield str(named.value), named.location
            waiting.extend(reversed([below for key, below in node.items.items() if key != "model_groups"]))
        elif isinstance(node, YamlSequence):
            waiting.extend(reversed(node.items))
