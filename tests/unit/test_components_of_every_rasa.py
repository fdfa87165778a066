"""Every pipeline component and template that any version of Rasa shipped is run once, and answers after loading."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
from turncheck.engines.embedded.nlu.persistence import read_nlu, write_nlu
from turncheck.engines.embedded.nlu.plan import make_plan
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.project.model import Project

NLU = """
## intent:greet
- hi
- hello there
- good morning
- hey you
- greetings

## intent:inform
- I live in [Rome](city)
- from [Paris](city)
- [Berlin](city) please
- in [London](city)
- [Oslo](city) it is
"""
SPACY = ("SpacyNLP", "SpacyTokenizer")
MITIE = ("MitieNLP", "MitieTokenizer")
COUNTS = ("WhitespaceTokenizer", "CountVectorsFeaturizer")
OLD_SPACY = ("nlp_spacy", "tokenizer_spacy")
OLD_MITIE = ("nlp_mitie", "tokenizer_mitie")
OLD_COUNTS = ("tokenizer_whitespace", "intent_featurizer_count_vectors")
DATA_OF = {0: "nlu.md", 1: "nlu.md", 2: "nlu.yml", 3: "nlu.yml"}

OF_RASA_0 = [
    OLD_SPACY,
    OLD_MITIE,
    ("tokenizer_whitespace", "intent_classifier_keyword"),
    (*OLD_SPACY, "intent_featurizer_spacy", "intent_classifier_sklearn"),
    (*OLD_SPACY, "intent_featurizer_spacy", "intent_featurizer_ngrams", "intent_classifier_sklearn"),
    (*OLD_MITIE, "intent_featurizer_mitie", "intent_classifier_sklearn"),
    (*OLD_MITIE, "ner_mitie", "intent_classifier_mitie"),
    (*OLD_SPACY, "ner_spacy", "ner_duckling", "ner_duckling_http"),
    ("tokenizer_whitespace", "intent_entity_featurizer_regex", "ner_crf", "ner_synonyms"),
    (*OLD_COUNTS, "intent_classifier_tensorflow_embedding"),
    ("intent_featurizer_count_vectors", "intent_classifier_tensorflow_embedding"),
    (*OLD_COUNTS, "intent_classifier_sklearn"),
]
OF_RASA_1 = [
    (*SPACY, "SpacyFeaturizer", "NGramFeaturizer", "SklearnIntentClassifier"),
    ("ConveRTTokenizer", "ConveRTFeaturizer", "EmbeddingIntentClassifier"),
    (*COUNTS, "EmbeddingIntentClassifier", "DucklingHTTPExtractor"),
    ("rasa.nlu.tokenizers.whitespace_tokenizer.WhitespaceTokenizer", "CountVectorsFeaturizer", "DIETClassifier"),
    (*COUNTS, "rasa.nlu.classifiers.embedding_intent_classifier.EmbeddingIntentClassifier"),
]
OF_RASA_2 = [
    ("HFTransformersNLP", "LanguageModelTokenizer", "LanguageModelFeaturizer", "DIETClassifier"),
    ("ConveRTTokenizer", "ConveRTFeaturizer", "DIETClassifier", "FallbackClassifier"),
]
OF_RASA_3 = [
    (*COUNTS, "RegexFeaturizer", "LexicalSyntacticFeaturizer", "DIETClassifier", "FallbackClassifier"),
    (*COUNTS, "LogisticRegressionClassifier", "RegexEntityExtractor", "EntitySynonymMapper", "ResponseSelector"),
    ("RegexMessageHandler", *COUNTS, "LogisticRegressionClassifier"),
    (*SPACY, "SpacyFeaturizer", "SklearnIntentClassifier", "SpacyEntityExtractor", "DucklingEntityExtractor"),
    (*MITIE, "MitieFeaturizer", "MitieIntentClassifier", "MitieEntityExtractor"),
    ("WhitespaceTokenizer", "ConveRTFeaturizer", "LanguageModelFeaturizer", "DIETClassifier", "CRFEntityExtractor"),
    ("WhitespaceTokenizer", "KeywordIntentClassifier"),
]
TEMPLATES = [
    *((0, name) for name in ("tensorflow_embedding", "spacy_sklearn", "mitie", "mitie_sklearn", "keyword")),
    *((1, f"{kind}_embeddings{of}") for kind, of in (("supervised", ""), ("pretrained", "_spacy"))),
    *((1, name) for name in ("pretrained_embeddings_convert", "spacy_sklearn", "tensorflow_embedding", "keyword")),
]
PIPELINES = [
    *((0, one) for one in OF_RASA_0),
    *((1, one) for one in OF_RASA_1),
    *((2, one) for one in OF_RASA_2),
    *((3, one) for one in OF_RASA_3),
    *TEMPLATES,
]


def named(pipeline: object) -> str:
    if isinstance(pipeline, tuple):
        return "+".join(name.rpartition(".")[2] for name in pipeline)
    return str(pipeline)


def in_yaml(markdown: str) -> str:
    lines = ['version: "3.1"', "nlu:"]
    for block in markdown.strip().split("## intent:")[1:]:
        name, *sentences = block.strip().splitlines()
        lines += [f"- intent: {name}", "  examples: |", *(f"    {sentence}" for sentence in sentences)]
    return "\n".join(lines) + "\n"


def project_of(folder: Path, major: int, pipeline: tuple[str, ...] | str) -> Project:
    steps = pipeline if isinstance(pipeline, str) else [{"name": name} for name in pipeline]
    config: dict[str, object] = {"language": "en", "pipeline": steps}
    domain: dict[str, object] = {"intents": ["greet", "inform"], "entities": ["city"]}
    if major == 3:
        config |= {"recipe": "default.v1", "assistant_id": "bot"}
        domain["version"] = "3.1"
    elif major == 2:
        domain["version"] = "2.0"
    else:
        if major == 1:
            config["policies"] = [{"name": "MemoizationPolicy"}]
        domain["templates"] = {"utter_hi": [{"text": "hi"}]}
    content = NLU if major < 2 else in_yaml(NLU).replace("3.1", f"{major}.0")
    data = folder / "data" / DATA_OF[major]
    data.parent.mkdir(parents=True)
    data.write_text(content, encoding="utf-8")
    (folder / "config.yml").write_text(json.dumps(config), encoding="utf-8")
    (folder / "domain.yml").write_text(json.dumps(domain), encoding="utf-8")
    if major == 0:
        (folder / "policies.yml").write_text("policies: [{name: MemoizationPolicy}]\n", encoding="utf-8")
    return read_project(folder)


@pytest.mark.parametrize(("major", "pipeline"), PIPELINES, ids=named)
def test_every_pipeline_is_run_and_answers_the_same_after_loading(
    major: int, pipeline: tuple[str, ...] | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_of(tmp_path, major, pipeline)
    assert project.major == major
    trained = EmbeddedNluTrainer(seed=1).fit(project)
    writer = MemberWriter()
    write_nlu(writer, trained)
    texts = ["hello", "I live in Oslo", "/greet"]
    assert read_nlu(MemberReader(dict(writer.members))).parse(texts) == trained.parse(texts)
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["data", "validate"]) == EXIT_OK


@pytest.mark.parametrize(
    ("major", "pipeline", "gone"),
    [
        (1, ("ConveRTTokenizer", "ConveRTFeaturizer", "DIETClassifier"), "ConveRTTokenizer"),
        (2, ("HFTransformersNLP", "WhitespaceTokenizer", "DIETClassifier"), "HFTransformersNLP"),
        (2, ("LanguageModelTokenizer", "LanguageModelFeaturizer", "DIETClassifier"), "LanguageModelTokenizer"),
        (1, (*SPACY, "SpacyFeaturizer", "NGramFeaturizer", "SklearnIntentClassifier"), "NGramFeaturizer"),
    ],
)
def test_what_stands_in_is_said_and_rasa_3_still_refuses_it(
    major: int, pipeline: tuple[str, ...], gone: str, tmp_path: Path, golden: Golden
) -> None:
    project = project_of(tmp_path, major, pipeline)
    plan = make_plan(project.config, rasa=major)
    assert gone in {one.component for one in plan.substitutions}
    with pytest.raises(UserError, match=f"{gone}") as refused:
        make_plan(project.config)
    golden(refused.value)
