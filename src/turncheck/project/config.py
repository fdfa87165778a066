"""``config.yml`` → the model's ``Config``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.finding import Finding
from turncheck.project.model import Component, Config
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.project.project_file import ProjectFile

_HINT: Final = "See Rasa's documentation of the model configuration."


def config_from_file(file: ProjectFile, *, major: int = 3) -> tuple[Config, tuple[Finding, ...]]:
    """Read the model configuration; ``importers:`` is reported as ignored (``importers-ignored``).

    ``major``: the version of Rasa that it is written for.
    """
    document = file.document
    if document is None or document.root is None:
        return Config(), ()
    findings: list[Finding] = []
    root = document.root
    if not isinstance(root, YamlMapping):
        findings.append(_schema(root, "the configuration must be a mapping"))
        return Config(location=root.location), tuple(findings)
    importers = _components(findings, root, "importers") or ()
    others = [importer.name for importer in importers if importer.name.rpartition(".")[2] != "RasaFileImporter"]
    if others:
        names = ", ".join(others)
        message = (
            f"The importers of the configuration ({names}) are ignored; the files are read as Rasa's own importer does."
        )
        findings.append(Finding("importers-ignored", "info", message, root.key_location("importers")))
    config = Config(
        language=_text(findings, root, "language"),
        recipe=_text(findings, root, "recipe"),
        assistant_id=_text(findings, root, "assistant_id"),
        pipeline=_components(findings, root, "pipeline") if major >= 3 else _older_pipeline(findings, root),
        policies=_components(findings, root, "policies"),
        importers=importers,
        keys={str(key): root.key_location(key) for key in root.keys},
        location=root.location,
    )
    return config, tuple(findings)


def smallest_max_history(config: Config) -> int | None:
    """The smallest ``max_history`` of the configured policies, which forgets first; ``None`` if no policy has one."""
    return min(filter(None, (max_history_of(policy.parameters) for policy in config.policies or ())), default=None)


def max_history_of(parameters: Mapping[str, Any]) -> int | None:
    """How many states a policy looks back at, ``None`` if it does not say.

    As in Rasa, the key of its first featurizer has priority over its own, and a featurizer of full dialogues has none.
    """
    value = parameters.get("max_history")
    featurizers = parameters.get("featurizer")
    first = featurizers[0] if isinstance(featurizers, list) and featurizers else None
    if isinstance(first, dict):
        if str(first.get("name")).endswith("FullDialogueTrackerFeaturizer"):
            return None
        value = first.get("max_history", value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _older_pipeline(findings: list[Finding], root: YamlMapping) -> tuple[Component, ...] | None:
    """Return the components of an older pipeline, which may be a template's name, under their current names."""
    from turncheck.project.older_config import current, pipeline_of  # most projects are for Rasa 3

    section = root.items.get("pipeline")
    if isinstance(section, YamlScalar) and isinstance(section.value, str):
        found = pipeline_of(section.value, section.location)
        if found is not None:
            return found
    components = _components(findings, root, "pipeline", take_names=True)
    return None if components is None else tuple(map(current, components))


def _components(
    findings: list[Finding], root: YamlMapping, key: str, *, take_names: bool = False
) -> tuple[Component, ...] | None:
    """Return the components of a section, ``None`` if it is absent or empty (``pipeline:`` without a value).

    ``take_names``: an entry may be only a name, as in Rasa NLU 0.11.
    """
    section = root.items.get(key)
    if section is None or _is_nothing(section):
        return None
    if not isinstance(section, YamlSequence):
        findings.append(_schema(section, f"'{key}' must be a list of components"))
        return None
    components = []
    for node in section.items:
        data: dict[Any, Any] = node.data if isinstance(node, YamlMapping) else {}
        values = node.items if isinstance(node, YamlMapping) else {}
        name = data.pop("name", None)
        if take_names and isinstance(node, YamlScalar):
            name = node.value
        if isinstance(name, str):
            parameters = {str(parameter): value for parameter, value in data.items()}
            places = {str(key): value.location for key, value in values.items()}
            components.append(Component(name, parameters, node.location, places))
        else:
            findings.append(_schema(node, f"an entry of '{key}' must be a mapping with the key 'name'"))
    return tuple(components)


def _text(findings: list[Finding], root: YamlMapping, key: str) -> str | None:
    node = root.items.get(key)
    if node is None or _is_nothing(node):
        return None
    if isinstance(node, YamlScalar) and isinstance(node.value, str):
        return node.value
    findings.append(_schema(node, f"'{key}' must be a string"))
    return None


def _is_nothing(node: YamlNode) -> bool:
    return isinstance(node, YamlScalar) and node.value is None


def _schema(node: YamlNode, what: str) -> Finding:
    return Finding("schema-violation", "error", f"In '{node.source.path}' {what}.", node.location, _HINT)
