"""Configurations of Rasa 0.x and 1.x: pipeline templates, and components with older names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from turncheck.process.existing import is_file
from turncheck.process.regular_file import open_regular
from turncheck.project.components import short_name
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.model import Component

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from turncheck.messages.location import Location

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


def pipeline_of(template: str, place: Location) -> tuple[Component, ...] | None:
    """Return the components of a pipeline template, ``None`` if there is no such template."""
    written = TEMPLATES.get(template)
    if written is None:
        return None
    return tuple(current(Component(name, parameters, place)) for name, parameters in written)


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
    found = sorted(
        path
        for path in root.glob("*")
        if path.suffix in _SUFFIXES and not path.name.startswith(_OTHERS) and is_file(path)
    )
    found.sort(key=lambda path: _USUAL.index(path.name) if path.name in _USUAL else len(_USUAL))
    chosen = []
    for section in sections:
        key = re.compile(rf"""^[ \t]*[{{]?[ \t]*["']?{section}["']?[ \t]*:""", re.MULTILINE)
        with_section = (path for path in found if key.search(_beginning(path)))
        chosen += [path for path in [next(with_section, None)] if path is not None and path not in chosen]
    return chosen


def _beginning(path: Path) -> str:
    try:
        with open_regular(path, most=MAX_FILE_BYTES, inside=path.parent) as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
