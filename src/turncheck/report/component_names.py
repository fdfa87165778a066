"""What components of Rasa's pipeline were called, for whoever reads a configuration and for whoever compares two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

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
