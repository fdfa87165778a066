"""``config.yml`` → the model's ``Config``, also those of older Rasas."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.finding import Finding
from turncheck.process.regular_file import is_file, open_regular
from turncheck.project.components import short_name
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.model import Component, Config
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from turncheck.messages.finding import Location
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
    # dropped-import  # most projects are for Rasa 3

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


# Configurations of Rasa 0.x and 1.x: pipeline templates, and components with older names.

Written = tuple[str, "Mapping[str, Any]"]

_EMBEDDINGS: Final[tuple[Written, ...]] = (
    ("WhitespaceTokenizer", {}),
    ("RegexFeaturizer", {}),
    ("CRFEntityExtractor", {}),
    ("EntitySynonymMapper", {}),
    ("CountVectorsFeaturizer", {}),
    ("CountVectorsFeaturizer", {"analyzer": "char_wb", "min_ngram": 1, "max_ngram": 4}),
    ("EmbeddingIntentClassifier", {}),
)
_SPACY: Final[tuple[Written, ...]] = (
    ("SpacyNLP", {}),
    ("SpacyTokenizer", {}),
    ("SpacyFeaturizer", {}),
    ("RegexFeaturizer", {}),
    ("CRFEntityExtractor", {}),
    ("EntitySynonymMapper", {}),
    ("SklearnIntentClassifier", {}),
)
_MITIE: Final[tuple[Written, ...]] = (
    ("MitieNLP", {}),
    ("MitieTokenizer", {}),
    ("MitieEntityExtractor", {}),
    ("EntitySynonymMapper", {}),
    ("RegexFeaturizer", {}),
)
_CONVERT: Final[tuple[Written, ...]] = (
    ("ConveRTTokenizer", {}),
    ("ConveRTFeaturizer", {}),
    ("EmbeddingIntentClassifier", {}),
)
TEMPLATES: Final[Mapping[str, tuple[Written, ...]]] = {
    "supervised_embeddings": _EMBEDDINGS,
    "tensorflow_embedding": _EMBEDDINGS,
    "pretrained_embeddings_spacy": _SPACY,
    "spacy_sklearn": _SPACY,
    "pretrained_embeddings_convert": _CONVERT,
    "mitie": (*_MITIE, ("MitieIntentClassifier", {})),
    "mitie_sklearn": (*_MITIE, ("MitieFeaturizer", {}), ("SklearnIntentClassifier", {})),
    "keyword": (("KeywordIntentClassifier", {}),),
}
"""The pipeline templates of Rasa up to 1.x, by name."""

NAMES: Final[Mapping[str, str]] = {
    "nlp_spacy": "SpacyNLP",
    "nlp_mitie": "MitieNLP",
    "tokenizer_whitespace": "WhitespaceTokenizer",
    "tokenizer_spacy": "SpacyTokenizer",
    "tokenizer_mitie": "MitieTokenizer",
    "tokenizer_jieba": "JiebaTokenizer",
    "intent_featurizer_count_vectors": "CountVectorsFeaturizer",
    "intent_entity_featurizer_regex": "RegexFeaturizer",
    "intent_featurizer_spacy": "SpacyFeaturizer",
    "intent_featurizer_mitie": "MitieFeaturizer",
    "intent_featurizer_ngrams": "NGramFeaturizer",
    "ner_crf": "CRFEntityExtractor",
    "ner_spacy": "SpacyEntityExtractor",
    "ner_mitie": "MitieEntityExtractor",
    "ner_synonyms": "EntitySynonymMapper",
    "ner_duckling_http": "DucklingEntityExtractor",
    "ner_duckling": "DucklingEntityExtractor",
    "DucklingHTTPExtractor": "DucklingEntityExtractor",
    "intent_classifier_sklearn": "SklearnIntentClassifier",
    "intent_classifier_mitie": "MitieIntentClassifier",
    "intent_classifier_keyword": "KeywordIntentClassifier",
    "intent_classifier_tensorflow_embedding": "EmbeddingIntentClassifier",
}
"""The older names of components, and their current names."""

GONE: Final = frozenset({"ConveRTTokenizer", "HFTransformersNLP", "LanguageModelTokenizer", "NGramFeaturizer"})
"""Components that no longer exist in Rasa 3, under any name."""

_EMBEDDING: Final = "EmbeddingIntentClassifier"


def pipeline_of(template: str, location: Location) -> tuple[Component, ...] | None:
    """Return the components of a pipeline template, ``None`` if there is no such template."""
    written = TEMPLATES.get(template)
    if written is None:
        return None
    return tuple(current(Component(name, parameters, location)) for name, parameters in written)


def current(component: Component) -> Component:
    """Return a pipeline component with its current name and parameters.

    The module path of one of Rasa's own classes, which many have left since, names that class.
    """
    name = short_name(component.name)
    name = NAMES.get(name, name)
    parameters = component.parameters
    if name == _EMBEDDING:
        name, parameters = "DIETClassifier", {**parameters, "entity_recognition": False}
    return replace(component, name=name, parameters=parameters)


SECTIONS: Final = ("pipeline", "policies")
_USUAL: Final = ("nlu_config.yml", "config.json", "policies.yml", "core_config.yml")
_OTHERS: Final = ("domain", "endpoints", "credentials", "docker", "turncheck")
_SUFFIXES: Final = frozenset({".yml", ".yaml", ".json"})
_MOST: Final = 100_000


def files_apart(root: Path, sections: tuple[str, ...] = SECTIONS) -> list[Path]:
    """Return the files of a Rasa 0 project that hold these sections: any file name could be passed to Rasa then.

    If several files hold a section, the one with the usual name counts, else the first.
    """
    paths = sorted(
        path
        for path in root.glob("*")
        if path.suffix in _SUFFIXES and not path.name.startswith(_OTHERS) and is_file(path)
    )
    paths.sort(key=lambda path: _USUAL.index(path.name) if path.name in _USUAL else len(_USUAL))
    chosen = []
    for section in sections:
        key = re.compile(rf"""^[ \t]*[{{]?[ \t]*["']?{section}["']?[ \t]*:""", re.MULTILINE)
        with_section = (path for path in paths if key.search(_beginning(path)))
        chosen += [path for path in [next(with_section, None)] if path is not None and path not in chosen]
    return chosen


def _beginning(path: Path) -> str:
    try:
        with open_regular(path, most=MAX_FILE_BYTES, inside=path.parent) as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
